//! A command that runs in a terminal.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use agenthost_core::{TerminalCommand, TerminalEnd, TerminalEvent};
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{Terminal, TerminalError, TerminalStart};
use tokio::sync::mpsc;

/// How long a command may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// Events that wait for the turn. When there are more, the terminal waits, and
/// with it whatever writes to it.
const EVENTS: usize = 8;

/// A running command. Dropped, it is killed with all it started.
#[derive(Debug)]
pub(super) struct Running {
    terminal: Arc<Terminal>,
    events: mpsc::Receiver<TerminalEvent>,
}

/// The way to the terminal of a turn, for who wants to type into it. There is
/// none before the command runs and after it has ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Keyboard(Arc<OnceLock<(Uri, Weak<Terminal>)>>);

impl Running {
    /// Starts a command.
    pub(super) fn start(start: &TerminalStart) -> Result<Self, TerminalError> {
        let (sender, events) = mpsc::channel(EVENTS);
        let tell = move |event| {
            // When the turn is over, nobody wants to know.
            sender.blocking_send(event).unwrap_or_default();
        };
        let terminal = Arc::new(Terminal::open(start, tell)?);
        Ok(Running { terminal, events })
    }

    /// Lets others type into it, by its address.
    pub(super) fn connect(&self, keyboard: &Keyboard, address: &Uri) {
        let terminal = Arc::downgrade(&self.terminal);
        // A turn runs one command, so nothing was connected before.
        drop(keyboard.0.set((address.clone(), terminal)));
    }

    /// The next thing that happens; the last is its end.
    pub(super) async fn next(&mut self) -> TerminalEvent {
        let event = self.events.recv().await;
        event.unwrap_or_else(|| TerminalEvent::Exited(TerminalEnd::default()))
    }

    /// Ends the command and all it started: politely, then not.
    pub(super) async fn stop(mut self) {
        self.terminal.hang_up();
        let ended = async { while self.events.recv().await.is_some() {} };
        // Whether it went or not, what is left of it goes with the terminal.
        drop(tokio::time::timeout(GRACE, ended).await);
    }
}

impl Keyboard {
    /// Does with a terminal what somebody wants of it.
    pub(super) fn apply(&self, address: &Uri, command: TerminalCommand) {
        let connected = self.0.get().filter(|(own, _)| own == address);
        if let Some(terminal) = connected.and_then(|(_, terminal)| terminal.upgrade()) {
            terminal.apply(command);
        }
    }
}
