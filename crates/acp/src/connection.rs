//! An agent that runs, as a session sees it: the way to it, and what it can do.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agenthost_agents::SessionGateway;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::agent::AcpAgent;
use super::error::{AcpError, UnsupportedFeature};
use super::process_pool::router::{AgentConnectionId, AgentMessages, SessionClaim, TaggedCall};
use super::process_pool::{PooledProcess, ProcessOrigin, ProcessRequest};
use super::registry::probe::sign_in;
use super::registry::probe::sign_in::SignInMethod;
use super::registry::profile::SessionMultiplicity;
use super::services::AcpService;
use super::session::mcp_servers::{AgentMcpServer, SupportedServers};
use super::session::prompt::PromptFeatures;
use super::session::replay::ReplayPurpose;
use super::transport::{AUTH_REQUIRED_CODE, AgentCallError, JsonParams};

/// How long an agent may take to start, or to begin a session. The first start
/// of some takes ten seconds.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// What an agent was asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AgentCall {
    /// What it can do.
    Initialize,
    /// A session, for a chat or for whichever needs one first. By when it has
    /// to be there tells it from others that were asked for.
    Open(Option<Uri>, Instant),
    /// To take up a session of this name for a chat that it had before.
    Resume(Uri, String, Instant),
    /// A session for a chat that knows what another knows.
    Fork(Uri, Instant),
    /// To answer a message.
    Prompt(Uri, TurnId),
    /// To take a choice into account.
    SetOption {
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

/// A way to an agent that runs. Dropped, its sessions are let go of; with the
/// last one the agent is killed.
#[derive(Debug)]
pub(crate) struct AgentConnection {
    id: AgentConnectionId,
    process: Arc<PooledProcess>,
    pub(crate) messages: AgentMessages,
    pub(crate) phase: StartPhase,
    pub(crate) prompt_features: PromptFeatures,
    features: SessionFeatures,
    /// Servers of tools that it is to use.
    mcp_servers: Arc<[AgentMcpServer]>,
    /// Those of them that it can.
    supported_servers: SupportedServers,
    /// The tools that the host offers.
    gateway: Option<SessionGateway>,
    /// The ways to sign in that it offers.
    pub(crate) sign_in_methods: Vec<SignInMethod>,
    /// How to sign in, for people.
    sign_in_hint: Option<String>,
    agent_id: String,
}

/// How far the start of an agent got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartPhase {
    /// It has to answer until then.
    Starting(Instant),
    /// It can be asked for sessions.
    Ready,
}

/// What an agent can do that not all can.
#[derive(Debug, Clone, Copy, Default)]
struct SessionFeatures {
    has_close: bool,
    has_delete: bool,
    has_directories: bool,
    has_fork: bool,
    has_load: bool,
    has_resume: bool,
}

impl AgentConnection {
    /// Starts an agent, or joins one that works in the same folder, and asks
    /// what it can do.
    pub(crate) async fn start(agent: &AcpAgent, folder: &Path) -> Result<Self, AcpError> {
        let pool = match agent.profile.sessions {
            SessionMultiplicity::Many => Some(&*agent.process_pool),
            SessionMultiplicity::One => None,
        };
        let joined = PooledProcess::acquire(&ProcessRequest {
            launch: &agent.launch(),
            folder,
            pid_dir: agent.pid_dir.as_deref(),
            pool,
        })
        .await?;
        let version = env!("CARGO_PKG_VERSION");
        let has_files = agent.services.contains(&AcpService::Files);
        let has_terminals = agent.services.contains(&AcpService::Terminals);
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": {
                "fs": {"readTextFile": has_files, "writeTextFile": has_files},
                "terminal": has_terminals,
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
        let connection = AgentConnection {
            id: joined.connection,
            process: joined.process,
            messages: joined.messages,
            phase: StartPhase::Starting(start_deadline()),
            prompt_features: PromptFeatures::default(),
            features: SessionFeatures::default(),
            mcp_servers: Arc::clone(&agent.mcp_servers),
            supported_servers: SupportedServers::default(),
            gateway: agent.gateway.clone(),
            sign_in_methods: Vec::new(),
            sign_in_hint: agent.profile.sign_in_hint.clone(),
            agent_id: agent.id().to_owned(),
        };
        match joined.origin {
            ProcessOrigin::Started => {
                connection.call(AgentCall::Initialize, "initialize", &params);
            }
            // The answer is there already.
            ProcessOrigin::Joined => {}
        }
        Ok(connection)
    }

    /// It said what it can do.
    pub(crate) fn handle_initialized(&mut self, response: &Value) -> Result<(), AcpError> {
        let version = response.get("protocolVersion").and_then(Value::as_u64);
        if version != Some(1) {
            return Err(UnsupportedFeature::ProtocolVersion.into());
        }
        let capabilities = response.pointer("/agentCapabilities/sessionCapabilities");
        let has_capability = |key: &str| {
            let capability = capabilities.and_then(|capabilities| capabilities.get(key));
            capability.is_some_and(|capability| !capability.is_null())
        };
        let load_session = response.pointer("/agentCapabilities/loadSession");
        self.features = SessionFeatures {
            has_close: has_capability("close"),
            has_delete: has_capability("delete"),
            has_directories: has_capability("additionalDirectories"),
            has_fork: has_capability("fork"),
            has_load: load_session.and_then(Value::as_bool) == Some(true),
            has_resume: has_capability("resume"),
        };
        self.prompt_features = PromptFeatures::parse(response);
        self.supported_servers = SupportedServers::select(&self.mcp_servers, response);
        self.sign_in_methods = sign_in::parse_methods(response);
        self.phase = StartPhase::Ready;
        Ok(())
    }

    /// Asks for a session. Says until when it has to be there.
    pub(crate) fn open_session(&self, chat: Option<Uri>, folders: &[PathBuf]) -> Instant {
        let deadline = start_deadline();
        let params = self.session_params(chat.as_ref(), folders);
        self.call(AgentCall::Open(chat, deadline), "session/new", &params);
        deadline
    }

    /// Asks it to take up a session that it had before, and says until when
    /// that has to be done; `None` if it can't. For some purposes it has to
    /// tell again what was said.
    pub(crate) fn resume_session(
        &self,
        chat: &Uri,
        id: &str,
        purpose: ReplayPurpose,
        folders: &[PathBuf],
    ) -> Option<Instant> {
        let method = match purpose {
            ReplayPurpose::Resume if self.features.has_resume => "session/resume",
            ReplayPurpose::Resume | ReplayPurpose::Import if self.features.has_load => {
                "session/load"
            }
            ReplayPurpose::Resume | ReplayPurpose::Import => return None,
        };
        let mut params = self.session_params(Some(chat), folders);
        params.insert("sessionId".to_owned(), json!(id));
        if self.claim_session(id) == SessionClaim::Taken {
            return None;
        }
        let deadline = start_deadline();
        let call = AgentCall::Resume(chat.clone(), id.to_owned(), deadline);
        self.call(call, method, &params);
        Some(deadline)
    }

    /// Asks for a session that knows what another knows, and says until when
    /// that has to be there; `None` if it can't.
    pub(crate) fn fork_session(
        &self,
        chat: &Uri,
        id: &str,
        folders: &[PathBuf],
    ) -> Option<Instant> {
        if !self.features.has_fork {
            return None;
        }
        let mut params = self.session_params(Some(chat), folders);
        params.insert("sessionId".to_owned(), json!(id));
        let deadline = start_deadline();
        let call = AgentCall::Fork(chat.clone(), deadline);
        self.call(call, "session/fork", &params);
        Some(deadline)
    }

    /// Whether a session can be taken up again, by its name.
    pub(crate) fn can_resume(&self) -> bool {
        self.features.has_resume || self.features.has_load
    }

    /// What every session has around it. One that is for no chat yet is for the
    /// first that there is.
    fn session_params(&self, chat: Option<&Uri>, folders: &[PathBuf]) -> Map<String, Value> {
        let mut folders = folders.iter();
        let mut params = Map::new();
        params.insert("cwd".to_owned(), json!(folders.next()));
        let mut servers = self.supported_servers.servers.clone();
        let gateway = self.gateway.as_ref();
        servers.extend(
            gateway.and_then(|gateway| gateway.to_acp_server(chat, self.supported_servers.reach)),
        );
        params.insert("mcpServers".to_owned(), Value::Array(servers));
        let additional: Vec<_> = folders.collect();
        if self.features.has_directories && !additional.is_empty() {
            params.insert("additionalDirectories".to_owned(), json!(additional));
        }
        params
    }

    /// What is about a session is of no interest any more.
    pub(crate) fn release_session(&self, id: &str) {
        self.process.lock_routing().release_session(self.id, id);
    }

    fn claim_session(&self, id: &str) -> SessionClaim {
        self.process.lock_routing().claim_session(self.id, id)
    }

    /// Lets go of a session.
    pub(crate) fn close_session(&self, id: &str) {
        self.release_session(id);
        if self.features.has_close {
            let params = json!({"sessionId": id});
            self.call(AgentCall::Other, "session/close", &params);
        }
    }

    /// Has a session forgotten that was only for trying.
    pub(crate) fn delete_session(&self, id: &str) {
        if self.features.has_delete {
            let params = json!({"sessionId": id});
            self.call(AgentCall::Other, "session/delete", &params);
        }
    }

    /// Asks for something else.
    pub(crate) fn call(&self, call: AgentCall, method: &str, params: &impl Serialize) {
        let connection = self.id;
        let tagged = TaggedCall { connection, call };
        self.process.rpc.call(tagged, method, params);
    }

    /// Tells it to stop what it does in a session.
    pub(crate) fn cancel_prompt(&self, id: &str) {
        let params = json!({"sessionId": id});
        self.process.rpc.notify("session/cancel", &params);
    }

    /// The servers of tools that it can't use, for people; once.
    pub(crate) fn take_unsupported_notice(&mut self) -> Option<String> {
        let names = std::mem::take(&mut self.supported_servers.unsupported);
        let names = names.join(", ");
        (!names.is_empty()).then(|| {
            format!("The agent can't reach servers by HTTP, and does without these: {names}.")
        })
    }

    /// What came early for a session.
    pub(crate) fn take_early_updates(&self, id: &str) -> Vec<JsonParams> {
        self.process.lock_routing().take_early_updates(id)
    }

    /// Returns the error of a request, with instructions if it requires that a
    /// person signs in.
    pub(crate) fn to_acp_error(&self, error: &AgentCallError) -> AcpError {
        match error {
            AgentCallError::Rejected { code, message } if *code == AUTH_REQUIRED_CODE => {
                AcpError::AuthRequired {
                    message: message.clone(),
                    hint: self.sign_in_instructions(),
                }
            }
            AgentCallError::Rejected { .. } | AgentCallError::Gone => error.clone().into(),
        }
    }

    /// What to do to sign in, for people.
    pub(crate) fn sign_in_instructions(&self) -> String {
        let default_hint = "sign in with the agent itself".to_owned();
        let hint = self.sign_in_hint.clone().unwrap_or(default_hint);
        match sign_in::describe_methods(&self.sign_in_methods) {
            methods if methods.is_empty() => hint,
            methods => format!(
                "{hint}, or run `agenthost agents sign-in {}`: {methods}",
                self.agent_id
            ),
        }
    }

    /// Ends it, if nobody else uses it. Says what it complained of last, or else what it wrote where
    /// messages should be.
    pub(crate) async fn shutdown(self) -> Option<String> {
        let process = Arc::clone(&self.process);
        // Leaves the process: nobody listens any more, so nobody waits to be heard.
        drop(self);
        process.shutdown().await
    }

    /// Ends it at once, for all that use it.
    pub(crate) fn kill(self, reason: &str) {
        self.process.kill(reason);
    }
}

impl Drop for AgentConnection {
    fn drop(&mut self) {
        self.process.remove_connection(self.id);
    }
}

fn start_deadline() -> Instant {
    Instant::now() + START_TIMEOUT
}
