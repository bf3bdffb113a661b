//! Task of one MCP server: connects to it, lists its tools, and ends it.

pub(crate) mod failure;
pub(crate) mod handle;
pub(crate) mod raw_result;
pub(crate) mod registry;
pub(crate) mod tool_list;

use std::sync::Arc;

use agenthost_core::tools::mcp::driver::McpEvent;
use agenthost_core::tools::mcp::transport::{McpServerSpec, McpTransport};
use agenthost_protocol::common::{ErrorInfo, McpAuthReason, McpAuthRequirement};
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use rmcp::service::{RoleClient, RunningService, serve_client};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::io::BufReader;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::auth::challenge::AuthChallenge;
use super::auth::metadata::{PresentedToken, fetch_requirement};
use super::auth::origin::parse_web_url;
use super::manager::{McpContext, SERVER_FAILED_CODE};
use super::server::failure::{
    ChallengeError, HTTP_PING_DELAYS, STDIO_PING_DELAYS, ServerExit, build_headers, check_alive,
    describe_list_error, describe_start_error,
};
use super::server::handle::{NotificationHandler, ServerCallError, ServerHandle};
use super::server::tool_list::ToolListError;
use super::session_tools::{AuthEndpoint, RunningServer, SessionTools};
use super::transport::http::{BearerToken, HttpTransport};
use super::transport::process::ServerProcess;
use super::transport::stdio::{LineTransport, StreamEnd};

/// The state that the host wants a server to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DesiredState {
    Running,
    /// The server is to stop, and its end is reported.
    Stopped,
    /// The server is to end without an event.
    Removed,
}

/// Connects to one server, serves requests to it and handles its authentication.
pub(super) struct ServerTask {
    shared: Arc<McpContext>,
    session_tools: Arc<SessionTools>,
    server: CustomizationId,
    spec: McpServerSpec,
    desired: watch::Receiver<DesiredState>,
    process: Option<ServerProcess>,
    /// End of the output stream of a server with pipes.
    stream_end: StreamEnd,
    auth: Option<AuthEndpoint>,
    /// Set after the first challenge of the server.
    requirement: Option<McpAuthRequirement>,
    /// Number of the presented token, 0 if there is none.
    presented_number: u64,
    /// The last reported problem with the tool list.
    list_problem: Option<String>,
}

/// Sends events about one server to the host.
pub(super) struct ServerReporter {
    shared: Arc<McpContext>,
    session: Uri,
    server: CustomizationId,
}

type McpService = RunningService<RoleClient, NotificationHandler>;

impl ServerReporter {
    pub(super) async fn report(&self, event: McpEvent) {
        self.shared.send_event(&self.session, event).await;
    }

    pub(super) async fn report_stopped(&self) {
        let server = self.server.clone();
        self.report(McpEvent::ServerStopped { server }).await;
    }
}

impl ServerTask {
    pub(super) fn new(
        shared: Arc<McpContext>,
        session_tools: Arc<SessionTools>,
        server: CustomizationId,
        spec: McpServerSpec,
        desired: watch::Receiver<DesiredState>,
    ) -> Self {
        ServerTask {
            shared,
            session_tools,
            server,
            spec,
            desired,
            process: None,
            stream_end: StreamEnd::default(),
            auth: None,
            requirement: None,
            presented_number: 0,
            list_problem: None,
        }
    }

    pub(super) fn reporter(&self) -> ServerReporter {
        ServerReporter {
            shared: Arc::clone(&self.shared),
            session: self.session_tools.session.clone(),
            server: self.server.clone(),
        }
    }

    /// Runs the server until it fails or is no longer wanted. Returns the event to send after
    /// its process has ended.
    pub(super) async fn run(mut self) -> Option<McpEvent> {
        let mut desired = self.desired.clone();
        let stopping = self.shared.stopping.clone();
        let failed = tokio::select! {
            biased;
            () = stopping.cancelled() => None,
            // The registry holds the sender until this task has ended.
            _ = desired.wait_for(|desired| *desired != DesiredState::Running) => None,
            failed = self.run_until_failed() => Some(failed),
        };
        self.session_tools.remove_server(&self.server);
        let complaints = match self.process.take() {
            Some(process) => process.shutdown().await,
            None => String::new(),
        };
        self.session_tools.wait_published().await;
        let mut message = failed?;
        if self.stream_end.is_line_too_long() {
            message = "the server sent a message of more than 16 MiB".to_owned();
        }
        if !complaints.is_empty() {
            message = format!("{message}\n{complaints}");
        }
        let server = self.server.clone();
        let error = ErrorInfo::new(SERVER_FAILED_CODE, message);
        Some(McpEvent::ServerFailed { server, error })
    }

    /// Connects and serves until the server fails. Returns the error message.
    async fn run_until_failed(&mut self) -> String {
        loop {
            let exit = match self.connect().await {
                Ok((service, ears)) => self.serve(service, ears).await,
                Err(exit) => exit,
            };
            self.session_tools.remove_server(&self.server);
            match exit {
                ServerExit::Failed(why) => return why,
                ServerExit::AuthRequired(challenge) => {
                    if let Err(error) = self.answer_challenge(&challenge).await {
                        return error.to_string();
                    }
                }
                ServerExit::TokenRevoked => self.await_replacement_token().await,
            }
        }
    }

    async fn connect(&mut self) -> Result<(McpService, NotificationHandler), ServerExit> {
        let session = self.session_tools.session.clone();
        let handler =
            NotificationHandler::new(session, self.server.clone(), self.shared.events.clone());
        let failed = |why: &dyn std::fmt::Display| ServerExit::Failed(why.to_string());
        let within = self.shared.config.start_timeout;
        let begun = match &self.spec.transport {
            way @ McpTransport::Stdio { .. } => {
                let notes = self.shared.config.pid_dir.as_deref();
                let (process, pipes) =
                    ServerProcess::spawn(way, notes).map_err(|error| failed(&error))?;
                self.process = Some(process);
                let ending = self.stream_end.clone();
                let lines = LineTransport::new(BufReader::new(pipes.stdout), pipes.stdin, ending);
                let serving = serve_client(handler.clone(), lines);
                tokio::time::timeout(within, serving).await
            }
            McpTransport::Http { url, headers } => {
                let Some(address) = parse_web_url(url) else {
                    return Err(failed(
                        &"the server has no valid `https://` or `http://` URL",
                    ));
                };
                let headers = build_headers(headers).map_err(|error| failed(&error))?;
                let auth = self.auth.get_or_insert_with(|| AuthEndpoint {
                    url: address,
                    bearer: BearerToken::default(),
                });
                let http = HttpTransport {
                    client: self.shared.client.clone(),
                    bearer: auth.bearer.clone(),
                    suspicion: handler.suspicion_notify(),
                };
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                    .custom_headers(headers);
                let transport = StreamableHttpClientTransport::with_client(http, config);
                let serving = serve_client(handler.clone(), transport);
                tokio::time::timeout(within, serving).await
            }
        };
        match begun {
            Ok(Ok(service)) => Ok((service, handler)),
            Ok(Err(error)) => Err(describe_start_error(&error)),
            Err(_) => {
                let seconds = within.as_secs();
                Err(failed(&format!(
                    "the server was not ready within {seconds} s"
                )))
            }
        }
    }

    /// Serves a connected server until it fails, requires a token, or its token is revoked.
    async fn serve(&mut self, service: McpService, handler: NotificationHandler) -> ServerExit {
        let handle = ServerHandle::new(service.peer().clone(), &handler);
        let mut closed = std::pin::pin!(service.waiting());
        let forever = CancellationToken::new();
        let capabilities = handle.capabilities();
        let mut running = RunningServer {
            name: self.spec.name.clone(),
            handle: handle.clone(),
            forwarded_requests: Arc::default(),
            auth: self.auth.clone(),
            tools: Vec::new(),
        };
        let listed = tokio::select! {
            listed = tool_list::list_tools(&handle, &forever) => match listed {
                Ok(listed) => listed,
                Err(ToolListError::Call(ServerCallError::AuthRequired(challenge))) => {
                    return ServerExit::AuthRequired(challenge);
                }
                Err(error) => return ServerExit::Failed(describe_list_error(&error)),
            },
            _ = &mut closed => return ServerExit::Failed("the server closed the connection".to_owned()),
        };
        running.tools = listed.tools;
        self.session_tools
            .insert_server(&self.server, running.clone());
        self.session_tools.wait_published().await;
        let ready = McpEvent::ServerReady {
            server: self.server.clone(),
            apps: tool_list::app_capabilities(&capabilities),
        };
        self.reporter().report(ready).await;
        // The problem was reported before the server was ready, so it must be reported again.
        self.list_problem = None;
        self.report_problem(listed.problem).await;
        let pauses = match self.auth {
            Some(_) => HTTP_PING_DELAYS,
            None => STDIO_PING_DELAYS,
        };
        let mut tokens = self.shared.tokens.subscribe_changes();
        // The token may have been removed since the connection was made.
        tokens.mark_changed();
        loop {
            tokio::select! {
                _ = &mut closed => return ServerExit::Failed("the server closed the connection".to_owned()),
                () = handler.wait_for_tool_change() => match tool_list::list_tools(&handle, &forever).await {
                    Ok(listed) => {
                        running.tools = listed.tools;
                        self.session_tools.insert_server(&self.server, running.clone());
                        self.report_problem(listed.problem).await;
                    }
                    // The previous tools stay in use.
                    Err(error) => self.report_problem(Some(describe_list_error(&error))).await,
                },
                () = handler.wait_for_suspicion() => {
                    if let Some(exit) = check_alive(&handle, pauses, &forever).await {
                        return exit;
                    }
                }
                _ = tokens.changed() => {
                    if self.present_token() == TokenStatus::Missing {
                        return ServerExit::TokenRevoked;
                    }
                }
            }
        }
    }

    /// Reports a problem with the tool list if it differs from the last reported one.
    async fn report_problem(&mut self, about: Option<String>) {
        if self.list_problem != about {
            self.list_problem.clone_from(&about);
            let server = self.server.clone();
            let complaint = McpEvent::ToolListProblem {
                server,
                problem: about,
            };
            self.reporter().report(complaint).await;
        }
    }

    /// Fetches the requirement of a challenge. Presents a token that the server has not
    /// rejected yet, or requests one.
    async fn answer_challenge(&mut self, challenge: &AuthChallenge) -> Result<(), ChallengeError> {
        let Some(auth) = self.auth.clone() else {
            return Err(ChallengeError::NoAuthEndpoint);
        };
        let shown = match self.presented_number {
            0 => PresentedToken::Absent,
            _ => PresentedToken::Rejected,
        };
        let needed = fetch_requirement(&self.shared.client, &auth.url, challenge, shown).await;
        let session = &self.session_tools.session;
        let tokens = &self.shared.tokens;
        let ours = tokens.token_for(session, &needed.resource.resource);
        let refused = self.presented_number;
        self.requirement = Some(needed);
        match ours {
            // The session has a token that the server has not rejected yet.
            Some(given) if given.number != refused => {
                self.present_token();
            }
            Some(_) | None => self.request_token().await,
        }
        Ok(())
    }

    /// Requests another token after the accepted one was removed.
    async fn await_replacement_token(&mut self) {
        if let Some(needed) = &mut self.requirement {
            needed.reason = McpAuthReason::Expired;
        }
        self.request_token().await;
    }

    async fn request_token(&mut self) {
        let Some(needed) = self.requirement.clone() else {
            return;
        };
        let resource = needed.resource.resource.clone();
        let wanted = McpEvent::ServerAuthRequired {
            server: self.server.clone(),
            requirement: Box::new(needed),
        };
        self.reporter().report(wanted).await;
        let tokens = &self.shared.tokens;
        tokens
            .wait_for_new_token(
                &self.session_tools.session,
                &resource,
                self.presented_number,
            )
            .await;
        self.present_token();
    }

    /// Sets the bearer token to the session's current one, if the server requires a token.
    fn present_token(&mut self) -> TokenStatus {
        let (Some(needed), Some(auth)) = (&self.requirement, &self.auth) else {
            return TokenStatus::NotNeeded;
        };
        let tokens = &self.shared.tokens;
        match tokens.token_for(&self.session_tools.session, &needed.resource.resource) {
            Some(given) => {
                self.presented_number = given.number;
                auth.bearer.set(Some(given));
                TokenStatus::Presented
            }
            None => {
                auth.bearer.set(None);
                TokenStatus::Missing
            }
        }
    }
}

/// State of the bearer token after [`ServerTask::present_token`].
#[derive(Debug, PartialEq, Eq)]
enum TokenStatus {
    NotNeeded,
    Presented,
    Missing,
}
