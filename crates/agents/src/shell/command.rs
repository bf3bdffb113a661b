//! A command that runs in a terminal.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use agenthost_core::{PtyCommand, TerminalEnd, TerminalEvent};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_workspace::{Terminal, TerminalError, TerminalOptions};
use tokio::sync::mpsc;

/// How long a command may take to end when it is asked to.
const TERMINATE_GRACE: Duration = Duration::from_secs(2);

/// Events that wait for the turn. When there are more, the terminal waits, and
/// with it whatever writes to it.
const COMMAND_EVENT_QUEUE: usize = 8;

/// A running command. Dropped, it is killed with all it started.
#[derive(Debug)]
pub(super) struct RunningCommand {
    terminal: Arc<Terminal>,
    events: mpsc::Receiver<TerminalEvent>,
}

/// The way to the terminal of a turn, for who wants to type into it. There is
/// none before the command runs and after it has ended.
#[derive(Debug, Clone, Default)]
pub(super) struct TerminalHandle(Arc<OnceLock<(Uri, Weak<Terminal>)>>);

impl RunningCommand {
    /// Starts a command.
    pub(super) fn start(start: &TerminalOptions) -> Result<Self, TerminalError> {
        let (sender, events) = mpsc::channel(COMMAND_EVENT_QUEUE);
        let send_event = move |event| {
            sender.blocking_send(event).ignore_closed();
        };
        let terminal = Arc::new(Terminal::open(start, send_event)?);
        Ok(RunningCommand { terminal, events })
    }

    /// Lets others type into it, by its address.
    pub(super) fn attach_handle(&self, handle: &TerminalHandle, address: &Uri) {
        let terminal = Arc::downgrade(&self.terminal);
        // A turn runs one command, so nothing was connected before.
        let attached = handle.0.set((address.clone(), terminal));
        attached.ignore_infallible();
    }

    /// The next thing that happens; the last is its end.
    pub(super) async fn next_event(&mut self) -> TerminalEvent {
        let event = self.events.recv().await;
        event.unwrap_or_else(|| TerminalEvent::Exited(TerminalEnd::default()))
    }

    /// Ends the command and all it started: politely, then not.
    pub(super) async fn stop(mut self) {
        self.terminal.terminate();
        let ended = async { while self.events.recv().await.is_some() {} };
        // Whether it went or not, what is left of it goes with the terminal.
        let waited = tokio::time::timeout(TERMINATE_GRACE, ended).await;
        waited.ignore_elapsed();
    }
}

impl TerminalHandle {
    /// Returns `true` if it is connected to the terminal at this address.
    pub(super) fn is_attached_to(&self, address: &Uri) -> bool {
        self.0.get().is_some_and(|(own, _)| own == address)
    }

    /// Does with a terminal what somebody wants of it.
    pub(super) fn execute(&self, address: &Uri, command: PtyCommand) {
        let connected = self.0.get().filter(|(own, _)| own == address);
        if let Some(terminal) = connected.and_then(|(_, terminal)| terminal.upgrade()) {
            terminal.execute(command);
        }
    }
}
