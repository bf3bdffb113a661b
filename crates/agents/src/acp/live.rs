//! An agent that runs, as a session sees it: the way to it, and what it can do.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::agent::AcpAgent;
use super::mcp::{AcpMcpServer, Usable};
use super::profile::AgentSessions;
use super::prompt::Senses;
use super::replay::Purpose;
use super::services::AcpService;
use super::shared::{Claim, Incomings, Line, Start, Wanted};
use super::sign_in::{self, SignInMethod};
use super::wire::{AUTHENTICATION_REQUIRED, CallError};
use crate::relay::Gateway;

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
    /// A session, for a chat or for whichever needs one first. By when it has
    /// to be there tells it from others that were asked for.
    Open(Option<Uri>, Instant),
    /// To take up a session of this name for a chat that it had before.
    TakeUp(Uri, String, Instant),
    /// A session for a chat that knows what another knows.
    Copy(Uri, Instant),
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
    /// Anything else. Whoever needs the answer waits for it alone.
    Other,
}

/// An agent that runs.
#[derive(Debug)]
pub(crate) struct Live {
    line: Line,
    pub(crate) incoming: Incomings,
    pub(crate) phase: Phase,
    pub(crate) senses: Senses,
    can: Can,
    /// Servers of tools that it is to use.
    offered: Arc<[AcpMcpServer]>,
    /// Those of them that it can.
    mcp: Usable,
    /// The tools that the host offers.
    gateway: Option<Gateway>,
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
    close: bool,
    delete: bool,
    directories: bool,
    fork: bool,
    load: bool,
    resume: bool,
}

impl Live {
    /// Starts an agent, or joins one that works in the same folder, and asks
    /// what it can do.
    pub(crate) async fn start(agent: &AcpAgent, folder: &Path) -> Result<Self, String> {
        let shares = match agent.profile.sessions {
            AgentSessions::Many => Some(&*agent.processes),
            AgentSessions::One => None,
        };
        let (line, incoming, start) = Line::to(&Wanted {
            launch: &agent.launch(),
            folder,
            notes: agent.notes.as_deref(),
            processes: shares,
        })
        .await?;
        let version = env!("CARGO_PKG_VERSION");
        let files = agent.services.contains(&AcpService::Files);
        let terminals = agent.services.contains(&AcpService::Terminals);
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": {
                "fs": {"readTextFile": files, "writeTextFile": files},
                "terminal": terminals,
                // What agents run themselves, they may show: these are words
                // of several agents for how.
                "_meta": {"terminal_output": true, "terminal_output_delta": true},
                "session": {"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}},
                "elicitation": {"form": {}, "url": {}},
                // `agenthost agents sign-in` has a terminal.
                "auth": {"terminal": true},
            },
            "clientInfo": {"name": "agenthost", "title": "agenthost", "version": version},
        });
        match start {
            Start::Started => line.call(Call::Initialize, "initialize", &params),
            // The answer is there already.
            Start::Joined => {}
        }
        Ok(Live {
            line,
            incoming,
            phase: Phase::Starting(patience()),
            senses: Senses::default(),
            can: Can::default(),
            offered: Arc::clone(&agent.mcp_servers),
            mcp: Usable::default(),
            gateway: agent.gateway.clone(),
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
        let able = answer.pointer("/agentCapabilities/sessionCapabilities");
        let can = |key: &str| {
            let ability = able.and_then(|able| able.get(key));
            ability.is_some_and(|ability| !ability.is_null())
        };
        let load = answer.pointer("/agentCapabilities/loadSession");
        self.can = Can {
            close: can("close"),
            delete: can("delete"),
            directories: can("additionalDirectories"),
            fork: can("fork"),
            load: load.and_then(Value::as_bool) == Some(true),
            resume: can("resume"),
        };
        self.senses = Senses::read(answer);
        self.mcp = Usable::of(&self.offered, answer);
        self.methods = sign_in::read(answer);
        self.phase = Phase::Ready;
        Ok(())
    }

    /// Asks for a session. Says until when it has to be there.
    pub(crate) fn open_session(&self, chat: Option<Uri>, folders: &[PathBuf]) -> Instant {
        let by = patience();
        let params = self.surroundings(chat.as_ref(), folders);
        self.line.call(Call::Open(chat, by), "session/new", &params);
        by
    }

    /// Asks it to take up a session that it had before, and says until when
    /// that has to be done; `None` if it can't. For some purposes it has to
    /// tell again what was said.
    pub(crate) fn take_up(
        &self,
        chat: &Uri,
        id: &str,
        purpose: Purpose,
        folders: &[PathBuf],
    ) -> Option<Instant> {
        let method = match purpose {
            Purpose::GoOn if self.can.resume => "session/resume",
            Purpose::GoOn | Purpose::Adopt if self.can.load => "session/load",
            Purpose::GoOn | Purpose::Adopt => return None,
        };
        let mut params = self.surroundings(Some(chat), folders);
        params.insert("sessionId".to_owned(), json!(id));
        if self.line.claim(id) == Claim::Taken {
            return None;
        }
        let by = patience();
        let call = Call::TakeUp(chat.clone(), id.to_owned(), by);
        self.line.call(call, method, &params);
        Some(by)
    }

    /// Asks for a session that knows what another knows, and says until when
    /// that has to be there; `None` if it can't.
    pub(crate) fn copy(&self, chat: &Uri, id: &str, folders: &[PathBuf]) -> Option<Instant> {
        if !self.can.fork {
            return None;
        }
        let mut params = self.surroundings(Some(chat), folders);
        params.insert("sessionId".to_owned(), json!(id));
        let by = patience();
        let call = Call::Copy(chat.clone(), by);
        self.line.call(call, "session/fork", &params);
        Some(by)
    }

    /// Whether a session can be taken up again, by its name.
    pub(crate) fn can_take_up(&self) -> bool {
        self.can.resume || self.can.load
    }

    /// What every session has around it. One that is for no chat yet is for the
    /// first that there is.
    fn surroundings(&self, chat: Option<&Uri>, folders: &[PathBuf]) -> Map<String, Value> {
        let mut folders = folders.iter();
        let mut params = Map::new();
        params.insert("cwd".to_owned(), json!(folders.next()));
        let mut servers = self.mcp.servers.clone();
        let gateway = self.gateway.as_ref();
        servers.extend(gateway.and_then(|gateway| gateway.told(chat, self.mcp.reaches)));
        params.insert("mcpServers".to_owned(), Value::Array(servers));
        let more: Vec<_> = folders.collect();
        if self.can.directories && !more.is_empty() {
            params.insert("additionalDirectories".to_owned(), json!(more));
        }
        params
    }

    /// What is about a session is of no interest any more.
    pub(crate) fn forget(&self, id: &str) {
        self.line.release(id);
    }

    /// Lets go of a session.
    pub(crate) fn close_session(&self, id: &str) {
        self.line.release(id);
        if self.can.close {
            let params = json!({"sessionId": id});
            self.line.call(Call::Other, "session/close", &params);
        }
    }

    /// Has a session forgotten that was only for trying.
    pub(crate) fn delete_session(&self, id: &str) {
        if self.can.delete {
            let params = json!({"sessionId": id});
            self.line.call(Call::Other, "session/delete", &params);
        }
    }

    /// Asks for something else.
    pub(crate) fn call(&self, call: Call, method: &str, params: &impl Serialize) {
        self.line.call(call, method, params);
    }

    /// Tells it to stop what it does in a session.
    pub(crate) fn cancel(&self, id: &str) {
        let params = json!({"sessionId": id});
        self.line.tell("session/cancel", &params);
    }

    /// The servers of tools that it can't use, for people; once.
    pub(crate) fn take_left_out(&mut self) -> Option<String> {
        let names = std::mem::take(&mut self.mcp.left_out);
        let names = names.join(", ");
        (!names.is_empty()).then(|| {
            format!("The agent can't reach servers by HTTP, and does without these: {names}.")
        })
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

    /// Ends it, if nobody else uses it. Says what it complained of last, or else what it wrote where
    /// messages should be.
    pub(crate) async fn end(self) -> Option<String> {
        // Nobody listens any more, so nobody waits to be heard.
        drop(self.incoming);
        self.line.leave().await
    }

    /// Ends it at once, for all that use it.
    pub(crate) fn kill(self, reason: &str) {
        self.line.kill(reason);
    }
}

fn patience() -> Instant {
    Instant::now() + START
}
