//! The way from an agent to the tools that the host offers.
//!
//! Agents start servers of tools themselves. So what they are given is a program
//! that passes on what they say to the host, and that finds in its environment
//! for which chat it does so.

use std::sync::Arc;

use agenthost_core::uris;
use agenthost_protocol::uri::Uri;
use serde_json::{Value, json};

/// What agents call the server of the tools that the host offers.
pub const HOST_TOOLS: &str = "agenthost";

type Environment = dyn Fn(&Uri, &Uri) -> Vec<(String, String)> + Send + Sync;

/// A program that brings agents to the tools that the host offers. Every
/// session that an agent has of its own is given one, for its chat.
#[derive(Clone)]
pub struct ToolRelay {
    program: String,
    arguments: Vec<String>,
    environment: Arc<Environment>,
}

impl ToolRelay {
    /// A program, its arguments, and what it finds in its environment for a
    /// chat of a session: the session comes first.
    pub fn new(
        program: impl Into<String>,
        arguments: Vec<String>,
        environment: impl Fn(&Uri, &Uri) -> Vec<(String, String)> + Send + Sync + 'static,
    ) -> Self {
        ToolRelay {
            program: program.into(),
            arguments,
            environment: Arc::new(environment),
        }
    }
}

/// Leaves out what the environment holds: it is how the host knows who it is.
impl std::fmt::Debug for ToolRelay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolRelay")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

/// The tools that the host offers, for the chats of one session.
#[derive(Debug, Clone)]
pub(crate) struct Gateway {
    relay: ToolRelay,
    session: Uri,
}

impl Gateway {
    /// Those of a session.
    pub(crate) fn new(relay: ToolRelay, session: Uri) -> Self {
        Gateway { relay, session }
    }

    /// How an agent is told of them, in the words of ACP. Without a chat it is
    /// for the one that every session has from the start.
    pub(crate) fn told(&self, chat: Option<&Uri>) -> Value {
        let first = uris::default_chat(&self.session);
        let environment = (self.relay.environment)(&self.session, chat.unwrap_or(&first));
        let environment = environment.into_iter();
        let environment = environment.map(|(name, value)| json!({"name": name, "value": value}));
        json!({
            "name": HOST_TOOLS,
            "command": self.relay.program,
            "args": self.relay.arguments,
            "env": environment.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chat_has_a_way_of_its_own_and_what_it_is_stays_unseen() {
        let relay = ToolRelay::new("relay", vec!["-x".to_owned()], |session, chat| {
            vec![("KEY".to_owned(), format!("$secret {session} {chat}"))]
        });
        let gateway = Gateway::new(relay, Uri::from("ahp-session:/1"));
        let chat = Uri::from("ahp-chat:/2");
        // A value is what it is, also if it looks like a reference.
        assert_eq!(
            gateway.told(Some(&chat)),
            json!({"name": "agenthost", "command": "relay", "args": ["-x"],
                "env": [{"name": "KEY", "value": "$secret ahp-session:/1 ahp-chat:/2"}]})
        );
        let first = uris::default_chat(&Uri::from("ahp-session:/1"));
        assert_eq!(gateway.told(None), gateway.told(Some(&first)));
        let shown = format!("{gateway:?}");
        assert!(!shown.contains("secret"), "{shown}");
    }
}
