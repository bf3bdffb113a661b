//! The shell agent: runs each message as a command line. It needs no model and is always
//! available.

pub(crate) mod command;
mod session;
mod turn;

use std::path::Path;
use std::sync::Arc;

use agenthost_process::kill_leftovers;
use agenthost_protocol::root::{AgentCapabilities, AgentInfo, MultipleChatsCapability};

use crate::agent::{Agent, SessionContext, SessionFuture};

/// A built-in agent that runs messages as commands after the user's approval.
#[derive(Debug, Clone, Default)]
pub struct ShellAgent {
    /// The folder for pid files of running commands, so that the next host can end them if
    /// this one is killed.
    pid_dir: Option<Arc<Path>>,
}

impl ShellAgent {
    /// Creates an agent with pid files. If its host is killed, the next host with the same
    /// directory ends the running commands.
    pub fn with_pid_dir(directory: &Path) -> Self {
        ShellAgent {
            pid_dir: Some(directory.into()),
        }
    }
}

impl Agent for ShellAgent {
    // Messages are command lines, which rules and prompts would break.
    fn is_customizable(&self) -> bool {
        false
    }

    fn info(&self) -> AgentInfo {
        let description = "Runs each message as a command, after your approval. Try `help`.";
        AgentInfo {
            capabilities: Some(AgentCapabilities {
                multiple_chats: Some(MultipleChatsCapability {
                    // The agent has no history that a fork would have to copy.
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
