//! Runs a command of a turn in a terminal.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use agenthost_core::{PtyCommand, TerminalEnd, TerminalEvent};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_workspace::{Terminal, TerminalError, TerminalOptions};
use tokio::sync::mpsc;

/// Time that a command has to exit after the termination signal, before it is killed.
const TERMINATE_GRACE: Duration = Duration::from_secs(2);

/// Capacity of the event queue of a command. When it is full, the terminal blocks, and with
/// it the processes that write to it.
const COMMAND_EVENT_QUEUE: usize = 8;

/// A running command. When it is dropped, the command and all its descendants are killed.
#[derive(Debug)]
pub(super) struct RunningCommand {
    terminal: Arc<Terminal>,
    events: mpsc::Receiver<TerminalEvent>,
}

/// A handle for input to the terminal of a turn. It is empty before the command runs, and
/// the terminal is dropped after the command has ended.
#[derive(Debug, Clone, Default)]
pub(super) struct TerminalHandle(Arc<OnceLock<(Uri, Weak<Terminal>)>>);

impl RunningCommand {
    /// Starts a command in a new terminal.
    pub(super) fn start(start: &TerminalOptions) -> Result<Self, TerminalError> {
        let (sender, events) = mpsc::channel(COMMAND_EVENT_QUEUE);
        let send_event = move |event| {
            sender.blocking_send(event).ignore_closed();
        };
        let terminal = Arc::new(Terminal::open(start, send_event)?);
        Ok(RunningCommand { terminal, events })
    }

    /// Connects a handle to the terminal, under its URI.
    pub(super) fn attach_handle(&self, handle: &TerminalHandle, address: &Uri) {
        let terminal = Arc::downgrade(&self.terminal);
        // A turn runs one command, so the handle was not connected before.
        let attached = handle.0.set((address.clone(), terminal));
        attached.ignore_infallible();
    }

    /// Returns the next event; the last one is the exit of the command.
    pub(super) async fn next_event(&mut self) -> TerminalEvent {
        let event = self.events.recv().await;
        event.unwrap_or_else(|| TerminalEvent::Exited(TerminalEnd::default()))
    }

    /// Ends the command and all its descendants: first with a termination signal, then by
    /// killing them.
    pub(super) async fn stop(mut self) {
        self.terminal.terminate();
        let ended = async { while self.events.recv().await.is_some() {} };
        // If the command has not exited by then, dropping the terminal kills it.
        let waited = tokio::time::timeout(TERMINATE_GRACE, ended).await;
        waited.ignore_elapsed();
    }
}

impl TerminalHandle {
    /// Returns `true` if the handle is connected to the terminal at this URI.
    pub(super) fn is_attached_to(&self, address: &Uri) -> bool {
        self.0.get().is_some_and(|(own, _)| own == address)
    }

    /// Executes a command, such as input or a resize, on the terminal at this URI.
    pub(super) fn execute(&self, address: &Uri, command: PtyCommand) {
        let connected = self.0.get().filter(|(own, _)| own == address);
        if let Some(terminal) = connected.and_then(|(_, terminal)| terminal.upgrade()) {
            terminal.execute(command);
        }
    }
}
