//! The shell agent: a message is a command line. No model, always there.

mod running;
mod session;
mod turn;

use std::path::Path;
use std::sync::Arc;

use agenthost_protocol::root::{AgentCapabilities, AgentInfo, MultipleChatsCapability};
use agenthost_workspace::sweep;

use crate::agent::{Agent, Session, SessionFuture};

/// Runs what it is told, after asking.
#[derive(Debug, Clone, Default)]
pub struct ShellAgent {
    /// Where it notes what runs, so that the next host can end it if this one
    /// is killed.
    notes: Option<Arc<Path>>,
}

impl ShellAgent {
    /// One that leaves nothing running behind, even if its host is killed: the
    /// next host with the same directory ends it.
    pub fn with_notes(directory: &Path) -> Self {
        ShellAgent {
            notes: Some(directory.into()),
        }
    }
}

impl Agent for ShellAgent {
    // What it is told is a command.
    fn is_customizable(&self) -> bool {
        false
    }

    fn info(&self) -> AgentInfo {
        let description = "Runs each message as a command, after asking. Try `help`.";
        AgentInfo {
            capabilities: Some(AgentCapabilities {
                multiple_chats: Some(MultipleChatsCapability {
                    // There is nothing that a copy would have to remember.
                    fork: Some(true),
                    side_chat: None,
                }),
                multiple_working_directories: None,
            }),
            ..AgentInfo::new("shell", "Shell", description)
        }
    }

    fn begin(&self) {
        if let Some(notes) = &self.notes {
            sweep(notes);
        }
    }

    fn work(&self, session: Session) -> SessionFuture {
        Box::pin(session::work(session, self.notes.clone()))
    }
}
