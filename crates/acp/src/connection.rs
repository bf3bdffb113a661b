//! The connection of one session of the host to a running agent, with the agent's capabilities.

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

/// The timeout for the `initialize` request and for requests that open a session. The first
/// start of some agents takes ten seconds.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A request to the agent, stored until its response arrives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AgentCall {
    /// The `initialize` request, which returns the agent's capabilities.
    Initialize,
    /// A request for a new session, for a chat or as a spare session. The deadline of the
    /// response distinguishes this request from others for the same chat.
    Open(Option<Uri>, Instant),
    /// A request to resume the agent session with this id for a chat. The instant is its
    /// deadline.
    Resume(Uri, String, Instant),
    /// A request to fork an agent session for a chat. The instant is its deadline.
    Fork(Uri, Instant),
    /// A request to answer the message of a turn.
    Prompt(Uri, TurnId),
    /// A request to change an option of an agent session.
    SetOption {
        /// The id of the agent session.
        agent_session: String,
        /// The key of the option that changes.
        key: String,
        /// The new value of the option.
        value: Value,
    },
    /// Any other request. The bridge ignores its response; a caller that needs the response
    /// waits for it directly.
    Other,
}

/// A connection to a running agent. Dropping it releases its sessions; the agent is killed with
/// its last connection.
#[derive(Debug)]
pub(crate) struct AgentConnection {
    id: AgentConnectionId,
    process: Arc<PooledProcess>,
    pub(crate) messages: AgentMessages,
    pub(crate) phase: StartPhase,
    pub(crate) prompt_features: PromptFeatures,
    features: SessionFeatures,
    /// The configured MCP servers for this agent.
    mcp_servers: Arc<[AgentMcpServer]>,
    /// The configured servers that the agent supports.
    supported_servers: SupportedServers,
    /// The gateway with the tools that the host offers.
    gateway: Option<SessionGateway>,
    /// The sign-in methods that the agent offers.
    pub(crate) sign_in_methods: Vec<SignInMethod>,
    /// Instructions for signing in, for users.
    sign_in_hint: Option<String>,
    /// Texts in errors with which the agent says that it is not set up.
    sign_in_errors: Vec<String>,
    agent_id: String,
}

/// The progress of the startup of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartPhase {
    /// The `initialize` request was sent; the response is due at this deadline.
    Starting(Instant),
    /// The agent accepts requests for sessions.
    Ready,
}

/// Optional session capabilities of an agent.
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
    /// Starts an agent and sends `initialize`, or joins a running agent in the same folder.
    pub(crate) async fn start(agent: &AcpAgent, folder: &Path) -> Result<Self, AcpError> {
        let pool = match agent.profile.sessions {
            SessionMultiplicity::Many => Some(&*agent.process_pool),
            SessionMultiplicity::One => None,
        };
        let joined = PooledProcess::acquire(&ProcessRequest {
            launch: &agent.launch(),
            environment: &agent.environment,
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
                // Agents may send the output of commands that they run themselves. Several
                // agents read these keys to find out if the client accepts such output.
                "_meta": {"terminal_output": true, "terminal_output_delta": true},
                "session": {"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}},
                "elicitation": {"form": {}, "url": {}},
                // `agenthost agents sign-in` provides a terminal.
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
            sign_in_errors: agent.profile.sign_in_errors.clone(),
            agent_id: agent.id().to_owned(),
        };
        match joined.origin {
            ProcessOrigin::Started => {
                connection.call(AgentCall::Initialize, "initialize", &params);
            }
            // The routing table has already queued the stored response.
            ProcessOrigin::Joined => {}
        }
        Ok(connection)
    }

    /// Stores the capabilities that the agent reports in its `initialize` response.
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

    /// Requests a new session. Returns the deadline of the response.
    pub(crate) fn open_session(&self, chat: Option<Uri>, folders: &[PathBuf]) -> Instant {
        let deadline = start_deadline();
        let params = self.session_params(chat.as_ref(), folders);
        self.call(AgentCall::Open(chat, deadline), "session/new", &params);
        deadline
    }

    /// Requests that the agent resume a session, and returns the deadline of the response;
    /// `None` if the agent can't, or if another connection has the session. For an import, the
    /// agent has to replay the conversation.
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

    /// Requests a fork of a session, and returns the deadline of the response; `None` if the
    /// agent can't fork.
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

    /// Returns `true` if the agent can resume a session by its id.
    pub(crate) fn can_resume(&self) -> bool {
        self.features.has_resume || self.features.has_load
    }

    /// Returns the parameters that all session requests share. A session without a chat gets
    /// the gateway of the first chat.
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

    /// Stops the routing of messages about an agent session to this connection.
    pub(crate) fn release_session(&self, id: &str) {
        self.process.lock_routing().release_session(self.id, id);
    }

    fn claim_session(&self, id: &str) -> SessionClaim {
        self.process.lock_routing().claim_session(self.id, id)
    }

    /// Releases an agent session, and closes it if the agent supports that.
    pub(crate) fn close_session(&self, id: &str) {
        self.release_session(id);
        if self.features.has_close {
            let params = json!({"sessionId": id});
            self.call(AgentCall::Other, "session/close", &params);
        }
    }

    /// Deletes an agent session, if the agent supports that.
    pub(crate) fn delete_session(&self, id: &str) {
        if self.features.has_delete {
            let params = json!({"sessionId": id});
            self.call(AgentCall::Other, "session/delete", &params);
        }
    }

    /// Sends a request. The response arrives with `call` as a message.
    pub(crate) fn call(&self, call: AgentCall, method: &str, params: &impl Serialize) {
        let connection = self.id;
        let tagged = TaggedCall { connection, call };
        self.process.rpc.call(tagged, method, params);
    }

    /// Sends a notification that cancels the running prompt of a session.
    pub(crate) fn cancel_prompt(&self, id: &str) {
        let params = json!({"sessionId": id});
        self.process.rpc.notify("session/cancel", &params);
    }

    /// Returns a notice about the MCP servers that the agent does not support; only once.
    pub(crate) fn take_unsupported_notice(&mut self) -> Option<String> {
        let names = std::mem::take(&mut self.supported_servers.unsupported);
        let names = names.join(", ");
        (!names.is_empty()).then(|| {
            format!("The agent does not support MCP servers over HTTP. It cannot use: {names}.")
        })
    }

    /// Returns the updates that arrived before the session was known.
    pub(crate) fn take_early_updates(&self, id: &str) -> Vec<JsonParams> {
        self.process.lock_routing().take_early_updates(id)
    }

    /// Returns `true` if an error says that the user has to sign in, or to set the agent up.
    pub(crate) fn requires_sign_in(&self, error: &AgentCallError) -> bool {
        match error {
            AgentCallError::Rejected { code, message } => {
                let mut texts = self.sign_in_errors.iter();
                *code == AUTH_REQUIRED_CODE || texts.any(|text| message.contains(text))
            }
            AgentCallError::Gone => false,
        }
    }

    /// Adds instructions to an error that says that the user has to sign in.
    pub(crate) fn explain(&self, error: AgentCallError) -> AgentCallError {
        if self.requires_sign_in(&error) {
            AgentCallError::Rejected {
                code: AUTH_REQUIRED_CODE,
                message: self.to_acp_error(&error).to_string(),
            }
        } else {
            error
        }
    }

    /// Returns the error of a request, with instructions if the agent requires the user to sign
    /// in.
    pub(crate) fn to_acp_error(&self, error: &AgentCallError) -> AcpError {
        match error {
            AgentCallError::Rejected { message, .. } if self.requires_sign_in(error) => {
                AcpError::AuthRequired {
                    message: message.clone(),
                    hint: self.sign_in_instructions(),
                }
            }
            AgentCallError::Rejected { .. } | AgentCallError::Gone => error.clone().into(),
        }
    }

    /// Returns the instructions for signing in, for users.
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

    /// Shuts the agent down if no other connection uses it. Returns the last line on stderr, or
    /// else the last line on stdout that is not a message.
    pub(crate) async fn shutdown(self) -> Option<String> {
        let process = Arc::clone(&self.process);
        // Leaves the process first: this connection no longer receives messages, and the router
        // must not block on its queue.
        drop(self);
        process.shutdown().await
    }

    /// Kills the agent immediately, for all of its connections.
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
