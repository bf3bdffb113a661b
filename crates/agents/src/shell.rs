//! The shell agent: a message is a command line. No model, always there.

pub(crate) mod command;
mod session;
mod turn;

use std::path::Path;
use std::sync::Arc;

use agenthost_process::kill_leftovers;
use agenthost_protocol::root::{AgentCapabilities, AgentInfo, MultipleChatsCapability};

use crate::agent::{Agent, SessionContext, SessionFuture};

/// Runs what it is told, after asking.
#[derive(Debug, Clone, Default)]
pub struct ShellAgent {
    /// Where it notes what runs, so that the next host can end it if this one
    /// is killed.
    pid_dir: Option<Arc<Path>>,
}

impl ShellAgent {
    /// One that leaves nothing running behind, even if its host is killed: the
    /// next host with the same directory ends it.
    pub fn with_pid_dir(directory: &Path) -> Self {
        ShellAgent {
            pid_dir: Some(directory.into()),
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

    fn on_host_start(&self) {
        if let Some(pid_dir) = &self.pid_dir {
            kill_leftovers(pid_dir);
        }
    }

    fn run_session(&self, session: SessionContext) -> SessionFuture {
        let session = session::run_session(session, self.pid_dir.clone());
        Box::pin(async { session.await.map_err(|error| error.to_string()) })
    }
}
