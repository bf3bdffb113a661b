//! The way from an agent to the tools that the host offers.
//!
//! Agents start servers of tools themselves. So what they are given is a program
//! that passes on what they say to the host, and that finds in its environment
//! for which chat it does so. Some start none, and are told an address instead.

use std::sync::Arc;

use agenthost_core::uris;
use agenthost_protocol::uri::Uri;
use serde::Deserialize;
use serde_json::{Value, json};

/// What agents call the server of the tools that the host offers.
pub const HOST_TOOLS: &str = "agenthost";

/// An address, and what has to be sent there.
pub type WebEntry = (String, Vec<(String, String)>);

type Web = dyn Fn(&Uri, &Uri) -> Option<WebEntry> + Send + Sync;
type Environment = dyn Fn(&Uri, &Uri) -> Vec<(String, String)> + Send + Sync;

/// A program that brings agents to the tools that the host offers. Every
/// session that an agent has of its own is given one, for its chat.
#[derive(Clone)]
pub struct ToolRelay {
    program: String,
    arguments: Vec<String>,
    environment: Arc<Environment>,
    web: Option<Arc<Web>>,
}

/// How an agent takes servers of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TakesServers {
    /// It starts them itself.
    #[default]
    Stdio,
    /// It goes where they are.
    Http,
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
            web: None,
        }
    }

    /// One that is also reached by HTTP: where for a chat of a session, and with
    /// what headers. None if that can't be.
    #[must_use]
    pub fn with_web(
        mut self,
        web: impl Fn(&Uri, &Uri) -> Option<WebEntry> + Send + Sync + 'static,
    ) -> Self {
        self.web = Some(Arc::new(web));
        self
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
    takes: TakesServers,
}

impl Gateway {
    /// Those of a session, for an agent that takes servers in some way.
    pub(crate) fn new(relay: ToolRelay, session: Uri, takes: TakesServers) -> Self {
        Gateway {
            relay,
            session,
            takes,
        }
    }

    /// How an agent is told of them, in the words of ACP; none if it could not
    /// get there. Without a chat it is for the one that every session has from
    /// the start.
    pub(crate) fn told(&self, chat: Option<&Uri>, reaches: Reaches) -> Option<Value> {
        let first = uris::default_chat(&self.session);
        let chat = chat.unwrap_or(&first);
        match (self.takes, reaches) {
            (TakesServers::Stdio, _) => Some(json!({
                "name": HOST_TOOLS,
                "command": self.relay.program,
                "args": self.relay.arguments,
                "env": pairs((self.relay.environment)(&self.session, chat)),
            })),
            (TakesServers::Http, Reaches::Web) => {
                let (url, headers) = self.relay.web.as_ref()?(&self.session, chat)?;
                let headers = pairs(headers);
                Some(json!({"type": "http", "name": HOST_TOOLS, "url": url, "headers": headers}))
            }
            (TakesServers::Http, Reaches::Programs) => None,
        }
    }
}

/// Which servers of tools an agent says that it can reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Reaches {
    /// Programs, as all do.
    #[default]
    Programs,
    /// Addresses, too.
    Web,
}

fn pairs(pairs: Vec<(String, String)>) -> Vec<Value> {
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relay() -> ToolRelay {
        ToolRelay::new("relay", vec!["-x".to_owned()], |session, chat| {
            vec![("KEY".to_owned(), format!("$secret {session} {chat}"))]
        })
    }

    #[test]
    fn each_chat_has_a_way_of_its_own_and_what_it_is_stays_unseen() {
        let session = Uri::from("ahp-session:/1");
        let gateway = Gateway::new(relay(), session, TakesServers::Stdio);
        let chat = Uri::from("ahp-chat:/2");
        // A value is what it is, also if it looks like a reference.
        assert_eq!(
            gateway.told(Some(&chat), Reaches::Web).unwrap(),
            json!({"name": "agenthost", "command": "relay", "args": ["-x"],
                "env": [{"name": "KEY", "value": "$secret ahp-session:/1 ahp-chat:/2"}]})
        );
        let first = uris::default_chat(&Uri::from("ahp-session:/1"));
        let told = |chat| gateway.told(chat, Reaches::Programs);
        assert_eq!(told(None), told(Some(&first)));
        let shown = format!("{gateway:?}");
        assert!(!shown.contains("secret"), "{shown}");
    }

    #[test]
    fn an_agent_that_starts_none_is_told_an_address_if_it_can_go_there() {
        let session = Uri::from("ahp-session:/1");
        let chat = Uri::from("ahp-chat:/2");
        let without = Gateway::new(relay(), session.clone(), TakesServers::Http);
        assert_eq!(without.told(Some(&chat), Reaches::Web), None);
        let web = relay().with_web(|session, chat| {
            let header = ("Authorization".to_owned(), format!("{session} {chat}"));
            Some(("http://127.0.0.1:1/mcp".to_owned(), vec![header]))
        });
        let gateway = Gateway::new(web, session, TakesServers::Http);
        assert_eq!(gateway.told(Some(&chat), Reaches::Programs), None);
        assert_eq!(
            gateway.told(Some(&chat), Reaches::Web).unwrap(),
            json!({"type": "http", "name": "agenthost", "url": "http://127.0.0.1:1/mcp",
                "headers": [{"name": "Authorization", "value": "ahp-session:/1 ahp-chat:/2"}]})
        );
    }
}
