//! What clients say to a server by its `mcp:` channel.
//!
//! They may do what the server can do itself, as far as apps need it, and
//! nothing else (MCP-13, MCP-14). What is said goes through as it is.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agenthost_core::tool_servers::Forwarded;
use agenthost_protocol::rpc::{AuthRequiredData, ErrorCode, RequestId, RpcError};
use agenthost_protocol::wire::{Json, Object};
use rmcp::model::{ProgressToken, ServerCapabilities};
use tokio_util::sync::CancellationToken;

use super::link::{LinkError, Listener};
use super::metadata::{Shown, requirement};
use super::room::Standing;

/// How long a server may take to answer a client.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// Most that clients can wait for at once. More is refused.
const MOST: usize = 256;

/// What clients wait for.
#[derive(Debug, Default)]
pub(super) struct Forwards(Mutex<Vec<(RequestId, CancellationToken)>>);

impl Forwards {
    fn begin(&self, id: &RequestId) -> Option<CancellationToken> {
        let mut all = self.lock();
        let cancel = CancellationToken::new();
        (all.len() < MOST).then(|| all.push((id.clone(), cancel.clone())))?;
        Some(cancel)
    }

    fn end(&self, id: &RequestId) {
        let mut all = self.lock();
        if let Some(at) = all.iter().position(|(one, _)| one == id) {
            all.swap_remove(at);
        }
    }

    /// Cancels what has an id. Ids are chosen by connections; where two chose
    /// the same, it is not known who does not want to wait, and both do.
    fn cancel(&self, id: &Json) {
        let all = self.lock();
        let mut named = all.iter().filter(|(one, _)| is(one, id));
        if let (Some((_, cancel)), None) = (named.next(), named.next()) {
            cancel.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(RequestId, CancellationToken)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks a server what a client wants to know.
pub(super) async fn forward(
    standing: Option<Standing>,
    client: &reqwest::Client,
    asked: Forwarded,
) -> Result<Json, RpcError> {
    let Some(standing) = standing else {
        let reason = "the server does not run";
        return Err(RpcError::new(ErrorCode::InternalError, reason));
    };
    if !served(&asked.method, &standing.link.capabilities()) {
        let reason = "the channel does not serve this method";
        return Err(RpcError::new(ErrorCode::MethodNotFound, reason));
    }
    if let Some(wrong) = wrong_params(&asked.method, &asked.params) {
        return Err(RpcError::new(ErrorCode::InvalidParams, wrong));
    }
    let Some(cancel) = standing.forwards.begin(&asked.id) else {
        let reason = "too many requests wait for the server";
        return Err(RpcError::new(ErrorCode::InternalError, reason));
    };
    let listener = match progress_token(&asked.params) {
        Some(token) => Listener::Clients(token),
        None => Listener::Nobody,
    };
    let link = &standing.link;
    let answer = link.request(&asked.method, asked.params, listener, PATIENCE, &cancel);
    let answer = answer.await;
    standing.forwards.end(&asked.id);
    match (answer, &standing.door) {
        (Ok(result), _) => Ok(result),
        (Err(LinkError::Refused(error)), _) => Err(RpcError {
            code: ErrorCode::from_number(i64::from(error.code.0)),
            message: error.message.into_owned(),
            data: error.data,
        }),
        (Err(LinkError::Challenged(challenge)), Some(door)) => {
            let shown = match door.bearer.shown() {
                Some(_) => Shown::Token,
                None => Shown::Nothing,
            };
            let needed = requirement(client, &door.url, &challenge, shown).await;
            let data = AuthRequiredData {
                resources: vec![needed.resource],
            };
            Err(RpcError::auth_required("the server wants a token", &data))
        }
        (Err(error), _) => Err(RpcError::new(ErrorCode::InternalError, error.to_string())),
    }
}

/// Tells a server what a client has to say. All that makes sense here is that
/// it does not wait for an answer any more.
pub(super) fn tell(standing: Option<Standing>, method: &str, params: &Object) {
    match (standing, method, params.get("requestId")) {
        (Some(standing), "notifications/cancelled", Some(id)) => standing.forwards.cancel(id),
        _ => tracing::debug!("a notification that no server needs"),
    }
}

fn served(method: &str, capabilities: &ServerCapabilities) -> bool {
    match method {
        "tools/list" | "tools/call" => capabilities.tools.is_some(),
        "resources/list" | "resources/templates/list" | "resources/read" => {
            capabilities.resources.is_some()
        }
        "logging/setLevel" => capabilities.logging.is_some(),
        _ => false,
    }
}

/// What a request has that it can't have. Many servers would say that there is
/// no such method.
fn wrong_params(method: &str, params: &Object) -> Option<&'static str> {
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

fn is(id: &RequestId, json: &Json) -> bool {
    match id {
        RequestId::Null => false,
        RequestId::Number(digits) => {
            let number = json.as_number().map(ToString::to_string);
            number.as_deref() == Some(digits)
        }
        RequestId::Text(text) => json.as_str() == Some(text),
    }
}
