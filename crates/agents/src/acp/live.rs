//! An agent that runs: its process, the connection, and what it can do.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::agent::AcpAgent;
use super::process::Process;
use super::prompt::Senses;
use super::sign_in::{self, SignInMethod};
use super::tail::Tail;
use super::wire::{AUTHENTICATION_REQUIRED, CallError, Connection, Incoming};

/// How long an agent may take to start, or to begin a session. The first start
/// of some takes ten seconds.
const START: Duration = Duration::from_secs(60);

/// Updates that wait for the session they belong to. When there are more, the
/// oldest are forgotten.
const EARLY: usize = 500;

/// What an agent was asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Call {
    /// What it can do.
    Initialize,
    /// A session, for a chat or for whichever needs one first.
    Open(Option<Uri>),
    /// To answer a message.
    Prompt(Uri, TurnId),
    /// To take a choice into account.
    Set {
        /// The agent session.
        agent_session: String,
        /// What is chosen about it.
        key: String,
        /// What was chosen.
        value: Value,
    },
    /// Something whose answer nobody needs.
    Close,
}

/// An agent that runs.
#[derive(Debug)]
pub(crate) struct Live {
    process: Process,
    connection: Connection<Call>,
    pub(crate) incoming: mpsc::Receiver<Incoming<Call>>,
    noise: Arc<Tail>,
    pub(crate) phase: Phase,
    pub(crate) senses: Senses,
    can: Can,
    /// The ways to sign in that it offers.
    pub(crate) methods: Vec<SignInMethod>,
    /// How to sign in, for people.
    sign_in: Option<String>,
    id: String,
    /// Updates of sessions that nobody knows yet: agents talk of a session
    /// before they say that it is there.
    early: Vec<(String, Value)>,
}

/// How far the start of an agent got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It has to answer until then.
    Starting(Instant),
    /// It can be asked for sessions.
    Ready,
}

/// What an agent can do that not all can.
#[derive(Debug, Clone, Copy, Default)]
struct Can {
    close: Option<()>,
    delete: Option<()>,
    directories: Option<()>,
}

impl Live {
    /// Starts an agent, and asks what it can do.
    pub(crate) async fn start(agent: &AcpAgent, folder: &Path) -> Result<Self, String> {
        let started = Process::spawn(&agent.launch(), folder, agent.notes.as_deref());
        let (process, pipes) = started.map_err(|error| error.to_string())?;
        let opened = Connection::open(pipes.stdin, pipes.stdout).await;
        let (connection, incoming, noise) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let complaint = process.end().await;
                return Err(match complaint {
                    Some(complaint) => format!("{error}: {complaint}"),
                    None => error.to_string(),
                });
            }
        };
        let version = env!("CARGO_PKG_VERSION");
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": {
                // Files and terminals are the agent's own business.
                "fs": {"readTextFile": false, "writeTextFile": false},
                "terminal": false,
                "session": {"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}},
                "elicitation": {"form": {}, "url": {}},
                // `agenthost agents sign-in` has a terminal.
                "auth": {"terminal": true},
            },
            "clientInfo": {"name": "agenthost", "title": "agenthost", "version": version},
        });
        connection.call(Call::Initialize, "initialize", &params);
        Ok(Live {
            process,
            connection,
            incoming,
            noise,
            phase: Phase::Starting(patience()),
            senses: Senses::default(),
            can: Can::default(),
            methods: Vec::new(),
            sign_in: agent.profile.sign_in.clone(),
            id: agent.id().to_owned(),
            early: Vec::new(),
        })
    }

    /// It said what it can do.
    pub(crate) fn initialized(&mut self, answer: &Value) -> Result<(), String> {
        let version = answer.get("protocolVersion").and_then(Value::as_u64);
        if version != Some(1) {
            return Err("it speaks another version of the protocol".to_owned());
        }
        let can = |key: &str| {
            let place = answer.pointer("/agentCapabilities/sessionCapabilities")?;
            place.get(key).filter(|can| !can.is_null()).map(drop)
        };
        self.can = Can {
            close: can("close"),
            delete: can("delete"),
            directories: can("additionalDirectories"),
        };
        self.senses = Senses::read(answer);
        self.methods = sign_in::read(answer);
        self.phase = Phase::Ready;
        Ok(())
    }

    /// Asks for a session. Says until when it has to be there.
    pub(crate) fn open_session(&self, chat: Option<Uri>, folders: &[PathBuf]) -> Instant {
        let mut folders = folders.iter();
        let mut params = json!({"cwd": folders.next(), "mcpServers": []});
        let more: Vec<_> = folders.collect();
        if let (Some(()), false, Some(params)) = (
            self.can.directories,
            more.is_empty(),
            params.as_object_mut(),
        ) {
            params.insert("additionalDirectories".to_owned(), json!(more));
        }
        self.connection
            .call(Call::Open(chat), "session/new", &params);
        patience()
    }

    /// Lets go of a session.
    pub(crate) fn close_session(&self, id: &str) {
        if self.can.close.is_some() {
            let params = json!({"sessionId": id});
            self.connection.call(Call::Close, "session/close", &params);
        }
    }

    /// Has a session forgotten that was only for trying.
    pub(crate) fn delete_session(&self, id: &str) {
        if self.can.delete.is_some() {
            let params = json!({"sessionId": id});
            self.connection.call(Call::Close, "session/delete", &params);
        }
    }

    /// Asks for something else.
    pub(crate) fn call(&self, call: Call, method: &str, params: &impl Serialize) {
        self.connection.call(call, method, params);
    }

    /// Tells it to stop what it does in a session.
    pub(crate) fn cancel(&self, id: &str) {
        let params = json!({"sessionId": id});
        self.connection.tell("session/cancel", &params);
    }

    /// Keeps an update of a session that nobody knows yet.
    pub(crate) fn keep_early(&mut self, id: String, update: Value) {
        if self.early.len() >= EARLY {
            self.early.remove(0);
        }
        self.early.push((id, update));
    }

    /// What came early for a session.
    pub(crate) fn take_early(&mut self, id: &str) -> Vec<Value> {
        let (found, others) = std::mem::take(&mut self.early)
            .into_iter()
            .partition(|(of, _)| of == id);
        self.early = others;
        let found: Vec<(String, Value)> = found;
        found.into_iter().map(|(_, update)| update).collect()
    }

    /// Why it did not do what it was asked, for people.
    pub(crate) fn explain(&self, error: &CallError) -> String {
        match error {
            CallError::Refused { code, message } if *code == AUTHENTICATION_REQUIRED => {
                let hint = self.how_to_sign_in();
                format!("the agent wants you to sign in first: {message}\nhint: {hint}")
            }
            CallError::Refused { message, .. } => message.clone(),
            CallError::Gone => error.to_string(),
        }
    }

    /// What to do to sign in, for people.
    pub(crate) fn how_to_sign_in(&self) -> String {
        let itself = "sign in with the agent itself".to_owned();
        let hint = self.sign_in.clone().unwrap_or(itself);
        match sign_in::list(&self.methods) {
            ways if ways.is_empty() => hint,
            ways => format!(
                "{hint}, or run `agenthost agents sign-in {}`: {ways}",
                self.id
            ),
        }
    }

    /// Ends it. Says what it complained of last, or else what it wrote where
    /// messages should be.
    pub(crate) async fn end(self) -> Option<String> {
        // Its input is closed by this.
        drop(self.connection);
        let complaint = self.process.end().await;
        complaint.or_else(|| self.noise.last_line())
    }
}

fn patience() -> Instant {
    Instant::now() + START
}
