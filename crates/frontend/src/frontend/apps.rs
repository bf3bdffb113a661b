//! MCP Apps: the HTML of an app, its tool call, and its requests to its own server.
//!
//! The page names only the tool call. The channel is looked up for each request, so an app
//! reaches no other server than the one that executed the call.

use agenthost_client::ClientResponse;
use agenthost_protocol::chat::ToolCall;
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::rpc::RpcError;
use agenthost_protocol::wire::{Json, Object};
use agenthost_view::mcp_app::{
    AppCall, AppDocument, AppServer, app_of_call, app_servers, find_call,
};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::Frontend;
use super::responses::{PendingResponse, RequestError, ResponsePurpose, encode};
use crate::input::AppCommand;

/// Maximum number of requests of apps that are pending at once.
pub(super) const MAX_PENDING: usize = 64;

/// An app with its server.
struct AppTarget {
    uri: String,
    server: AppServer,
}

/// Result of `app.call`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AppCallView {
    #[serde(flatten)]
    call: AppCall,
    /// `true` if the app can call tools of its server.
    serves_tools: bool,
}

impl Frontend {
    pub(super) fn execute_app(&mut self, id: u64, command: AppCommand) {
        match command {
            AppCommand::Open { turn, call } => match self.find_app(&turn, &call) {
                Ok((_, target)) => {
                    let params = json!({"uri": target.uri});
                    let purpose = ResponsePurpose::OpenApp {
                        command: id,
                        uri: target.uri,
                    };
                    self.ask_server(&target.server, "resources/read", params, purpose);
                }
                Err(reason) => self.fail(id, reason.to_owned()),
            },
            AppCommand::Call { turn, call } => match self.find_app(&turn, &call) {
                Ok((call, target)) => {
                    let view = AppCallView {
                        call: AppCall::of_call(call),
                        serves_tools: target.server.serves_tools,
                    };
                    self.reply(id, &view);
                }
                Err(reason) => self.fail(id, reason.to_owned()),
            },
            AppCommand::Request {
                turn,
                call,
                method,
                params,
            } => {
                let target = match self.find_app(&turn, &call) {
                    Ok((_, target)) => target,
                    Err(reason) => return self.fail(id, reason.to_owned()),
                };
                if !may_request(&method, &target.server) {
                    return self.fail(id, format!("apps may not use `{method}`"));
                }
                let purpose = ResponsePurpose::AppRequest { command: id };
                self.ask_server(&target.server, &method, Json::Object(params), purpose);
            }
        }
    }

    fn find_app(&self, turn: &str, call: &str) -> Result<(&ToolCall, AppTarget), &'static str> {
        let chat = self.chat_state().ok_or("no chat is selected")?;
        let found = find_call(chat, &TurnId::from(turn), &ToolCallId::from(call));
        let found = found.ok_or("the chat has no such tool call")?;
        let app = found.head().and_then(app_of_call);
        let (uri, id) = app.ok_or("the tool call has no app")?;
        let session = self.session.as_ref();
        let session = session.and_then(|session| self.session_state(session));
        let mut servers = session.into_iter().flat_map(app_servers);
        let server = servers.find(|(server, _)| *server == id);
        let (_, server) = server.ok_or("the MCP server of the app is not running")?;
        let uri = uri.to_owned();
        Ok((found, AppTarget { uri, server }))
    }

    /// Sends a request to an MCP server. An app cannot name a channel itself.
    fn ask_server(
        &mut self,
        server: &AppServer,
        method: &str,
        params: Json,
        purpose: ResponsePurpose,
    ) {
        let pending = self.responses.iter();
        let pending = pending
            .filter(|pending| pending.purpose.is_of_app())
            .count();
        let mut params = match params {
            Json::Object(params) => params,
            _ => Object::default(),
        };
        params.insert("channel".to_owned(), Json::from(server.channel.as_str()));
        let sent = match &mut self.engine {
            Some(_) if pending >= MAX_PENDING => Err("too many requests of apps".to_owned()),
            Some(engine) if self.link.is_live() => engine
                .request_method(method, &params)
                .map_err(|error| error.to_string()),
            _ => Err("there is no connection to the host".to_owned()),
        };
        match (sent, purpose.command()) {
            (Ok(id), _) => self.responses.push(PendingResponse { id, purpose }),
            (Err(error), Some(command)) => self.fail(command, error),
            (Err(error), None) => self.add_note(error, None),
        }
    }
}

/// Returns `true` for the requests of MCP that an app may send to its server. The page checks
/// which tools are for apps.
fn may_request(method: &str, server: &AppServer) -> bool {
    match method {
        "tools/list" | "tools/call" => server.serves_tools,
        "resources/read" => true,
        _ => false,
    }
}

/// Returns the HTML of an app for the page.
pub(super) fn to_document(
    response: ClientResponse,
    uri: &str,
) -> Result<Option<Box<RawValue>>, RequestError> {
    let result = match response.decode_result::<Json>()? {
        Some(Ok(result)) => result,
        Some(Err(error)) => return Err(RequestError::Refused(error.message)),
        None => return Err(RequestError::Interrupted),
    };
    let document = AppDocument::of_result(uri, &result);
    encode(&document.map_err(|error| RequestError::Refused(error.to_string()))?)
}

/// Passes the answer of a server on to its app, with its error code.
pub(super) fn to_app_reply(
    response: ClientResponse,
) -> Result<Option<Box<RawValue>>, RequestError> {
    match response.decode_result::<Json>()? {
        Some(Ok(result)) => encode(&json!({"result": result})),
        Some(Err(RpcError { code, message, .. })) => {
            encode(&json!({"error": {"code": code.number(), "message": message}}))
        }
        None => Err(RequestError::Interrupted),
    }
}
