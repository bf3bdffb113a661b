//! The shell agent: a message is a command line. No model, always there.

mod command;
mod session;
mod turn;

use agenthost_protocol::root::{AgentCapabilities, AgentInfo, MultipleChatsCapability};

use crate::agent::{Agent, Session, SessionFuture};

/// Runs what it is told, after asking.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShellAgent;

impl Agent for ShellAgent {
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

    fn work(&self, session: Session) -> SessionFuture {
        Box::pin(session::work(session))
    }
}
