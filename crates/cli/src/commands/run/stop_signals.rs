//! Signals that end the turn of `agenthost run` early.

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::dialog::printer::TurnPrinter;

/// An event that ends the turn early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    Interrupt,
    StdoutClosed,
    /// A signal that ends this process, with its number.
    Signal(i32),
}

/// The signals that a turn handles.
pub(super) struct TurnSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl TurnSignals {
    pub(super) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("listen for signals");
        Ok(TurnSignals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }
}

/// Waits for a signal, or until stdout has been closed.
pub(super) async fn wait_for_stop(
    signals: &mut TurnSignals,
    printer: &TurnPrinter,
    interrupted: bool,
) -> StopReason {
    let closed = async {
        printer.wait_closed().await;
        // The turn is being cancelled already; only a signal may end the command sooner.
        if interrupted {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        _ = signals.interrupt.recv() => StopReason::Interrupt,
        _ = signals.terminate.recv() => StopReason::Signal(SignalKind::terminate().as_raw_value()),
        _ = signals.hangup.recv() => StopReason::Signal(SignalKind::hangup().as_raw_value()),
        () = closed => StopReason::StdoutClosed,
    }
}
