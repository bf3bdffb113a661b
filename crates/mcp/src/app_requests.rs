//! Forwards requests that clients send to an MCP server through its `mcp:` channel.
//!
//! Clients may use only the methods that MCP Apps need, and only if the server has the
//! capability for them (MCP-13, MCP-14). Parameters and results are forwarded unchanged.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use agenthost_core::tools::mcp::driver::McpForward;
use agenthost_protocol::rpc::{AuthRequiredData, ErrorCode, RequestId, RpcError};
use agenthost_protocol::wire::{Json, Object};
use agenthost_stdx::sync::lock;
use rmcp::model::{ProgressToken, ServerCapabilities};
use tokio_util::sync::CancellationToken;

use super::auth::metadata::{PresentedToken, fetch_requirement};
use super::server::handle::{ProgressListener, ServerCallError};
use super::server::tool_list::ListedTool;
use super::session_tools::RunningServer;

/// Timeout for the response of a server to a forwarded request.
const FORWARD_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Maximum number of forwarded requests that are pending at one server. Further ones get an
/// error.
const MAX_FORWARDS: usize = 256;

/// The pending forwarded requests of one server, each with the token that cancels it.
#[derive(Debug, Default)]
pub(super) struct ForwardedRequests(Mutex<Vec<(RequestId, CancellationToken)>>);

impl ForwardedRequests {
    fn start(&self, id: &RequestId) -> Option<CancellationToken> {
        let mut all = self.lock();
        let cancel = CancellationToken::new();
        (all.len() < MAX_FORWARDS).then(|| all.push((id.clone(), cancel.clone())))?;
        Some(cancel)
    }

    fn finish(&self, id: &RequestId) {
        let mut all = self.lock();
        if let Some(at) = all.iter().position(|(one, _)| one == id) {
            all.swap_remove(at);
        }
    }

    /// Cancels the pending request with this id. Each connection chooses its own ids. If two
    /// connections chose the same one, the sender is ambiguous and neither request is
    /// cancelled.
    fn cancel(&self, id: &Json) {
        let all = self.lock();
        let mut named = all.iter().filter(|(one, _)| matches_id(one, id));
        if let (Some((_, cancel)), None) = (named.next(), named.next()) {
            cancel.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(RequestId, CancellationToken)>> {
        lock(&self.0)
    }
}

/// Forwards a client's request to a server and returns its result. A server that requires a
/// token results in an error with the data to obtain one.
pub(super) async fn forward_request(
    server: Option<RunningServer>,
    client: &reqwest::Client,
    request: McpForward,
) -> Result<Json, RpcError> {
    let Some(server) = server else {
        let reason = "the MCP server is not running";
        return Err(RpcError::new(ErrorCode::InternalError, reason));
    };
    if !is_served(&request.method, &server.handle.capabilities()) {
        let reason = "the channel does not support this method";
        return Err(RpcError::new(ErrorCode::MethodNotFound, reason));
    }
    if let Some(wrong) = find_invalid_param(&request.method, &request.params) {
        return Err(RpcError::new(ErrorCode::InvalidParams, wrong));
    }
    if request.method == "tools/call" && !is_callable(&server, &request.params) {
        let reason = "name: the server offers this tool to agents only";
        return Err(RpcError::new(ErrorCode::InvalidParams, reason));
    }
    let Some(cancel) = server.forwarded_requests.start(&request.id) else {
        let reason = "too many pending requests to the MCP server";
        return Err(RpcError::new(ErrorCode::InternalError, reason));
    };
    let listener = match progress_token(&request.params) {
        Some(token) => ProgressListener::Clients(token),
        None => ProgressListener::Ignored,
    };
    let handle = &server.handle;
    let answer = handle.request(
        &request.method,
        request.params,
        listener,
        FORWARD_TIMEOUT,
        &cancel,
    );
    let answer = answer.await;
    server.forwarded_requests.finish(&request.id);
    match (answer, &server.auth) {
        (Ok(result), _) => Ok(result),
        (Err(ServerCallError::Rejected(error)), _) => Err(RpcError {
            code: ErrorCode::from_number(i64::from(error.code.0)),
            message: error.message.into_owned(),
            data: error.data,
        }),
        (Err(ServerCallError::AuthRequired(challenge)), Some(auth)) => {
            let shown = match auth.bearer.current() {
                Some(_) => PresentedToken::Rejected,
                None => PresentedToken::Absent,
            };
            let needed = fetch_requirement(client, &auth.url, &challenge, shown).await;
            let data = AuthRequiredData {
                resources: vec![needed.resource],
            };
            Err(RpcError::auth_required(
                "the server requires a token",
                &data,
            ))
        }
        (Err(error), _) => Err(RpcError::new(ErrorCode::InternalError, error.to_string())),
    }
}

/// Handles a client's notification to a server. The host supports only
/// `notifications/cancelled`, which cancels a pending forwarded request.
pub(super) fn forward_notification(server: Option<RunningServer>, method: &str, params: &Object) {
    match (server, method, params.get("requestId")) {
        (Some(server), "notifications/cancelled", Some(id)) => server.forwarded_requests.cancel(id),
        _ => tracing::debug!(
            "dropped a notification to an MCP server: not supported, or the server is not running"
        ),
    }
}

fn is_served(method: &str, capabilities: &ServerCapabilities) -> bool {
    match method {
        "tools/list" | "tools/call" => capabilities.tools.is_some(),
        "resources/list" | "resources/templates/list" | "resources/read" => {
            capabilities.resources.is_some()
        }
        "logging/setLevel" => capabilities.logging.is_some(),
        _ => false,
    }
}

/// Returns `true` unless the called tool is for agents only. The server itself refuses a name that
/// it does not know.
fn is_callable(server: &RunningServer, params: &Object) -> bool {
    let name = params.get("name").and_then(Json::as_str);
    let tool = server.tools.iter().find(|tool| Some(&*tool.name) == name);
    tool.is_none_or(ListedTool::is_for_apps)
}

/// Returns an error message for a parameter of the wrong type. Many servers would respond to
/// such a request with "method not found".
fn find_invalid_param(method: &str, params: &Object) -> Option<&'static str> {
    let is_text = |key: &str| params.get(key).is_some_and(Json::is_string);
    match method {
        "tools/call" if !is_text("name") => Some("name: expected a string"),
        "tools/call" => {
            let arguments = params.get("arguments");
            let wrong = arguments.is_some_and(|arguments| !arguments.is_object());
            wrong.then_some("arguments: expected an object")
        }
        "resources/read" if !is_text("uri") => Some("uri: expected a string"),
        _ => None,
    }
}

fn progress_token(params: &Object) -> Option<ProgressToken> {
    let token = params.get("_meta")?.get("progressToken")?;
    serde_json::from_value(token.clone()).ok()
}

fn matches_id(id: &RequestId, json: &Json) -> bool {
    match id {
        RequestId::Null => false,
        RequestId::Number(digits) => {
            let number = json.as_number().map(ToString::to_string);
            number.as_deref() == Some(digits)
        }
        RequestId::Text(text) => json.as_str() == Some(text),
    }
}
