//! Upgrades messages of legacy clients to the current version.

use agenthost_core::{ClientMessage, ConnectionId, Host, Input, RejectedDispatch, ResponseBody};
use agenthost_protocol::action::RawAction;
use agenthost_protocol::ids::ClientSeq;
use agenthost_protocol::rpc::{ErrorCode, RequestId, RpcError};
use agenthost_protocol::uri::{LEGACY_ROOT_URIS, Uri};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Document, Json, Limits, Object};
use agenthost_versions::{JsonCall, JsonDispatch, UpgradeRefusal, answer_fetch_turns};

use super::channel_recovery;
use super::channel_recovery::NamedCursor;
use super::live_state::LiveState;
use super::{DispatchedAction, LegacyClient, LegacyClients, OpenLegacyRequest, aliases, handshake};
use crate::connection::message::decode_message;

/// The id of requests that the server sends to the host for a client, without a request of the
/// client. Their responses are dropped.
pub(super) const SYNTHETIC_REQUEST_ID: &str = "agenthost:unasked";

/// The translation that a message needs.
#[derive(Debug)]
pub(crate) enum InboundKind {
    /// The message can be decoded unchanged.
    Current,
    /// The message can be decoded after this correction.
    Repaired(String),
    /// The message has to be upgraded.
    Legacy(Object),
}

impl LegacyClients {
    /// Determines the version of a message. A handshake registers its connection as a legacy
    /// client.
    pub(crate) fn classify(
        &mut self,
        host: &Host,
        connection: ConnectionId,
        text: &str,
        limits: Limits,
    ) -> InboundKind {
        // Text that can't be parsed is invalid in every version.
        let Ok(document) = Document::parse(text, limits) else {
            return InboundKind::Current;
        };
        let Json::Object(mut message) = document.root().to_json() else {
            return InboundKind::Current;
        };
        let method = message.get("method").and_then(Json::as_str);
        let is_new = host.client_at(connection).is_none();
        if let Some(method @ ("initialize" | "reconnect")) = method
            && is_new
        {
            self.clients.remove(&connection);
            let params = message.get("params").and_then(Json::as_object);
            let client = params.and_then(|params| handshake::legacy_client(host, method, params));
            self.clients
                .extend(client.map(|client| (connection, client)));
            if !self.contains(connection) {
                return if handshake::repair_handshake(&mut message) {
                    InboundKind::Repaired(Json::Object(message).to_string())
                } else {
                    InboundKind::Current
                };
            }
        }
        self.refresh_aliases(host);
        match self.clients.get_mut(&connection) {
            Some(client) => {
                let client_names = channel_recovery::cursor_channels(&message);
                aliases::restore_addresses(&mut message, &|name| {
                    client.original_address(host, &self.aliases, name)
                });
                if is_new {
                    let host_names = channel_recovery::cursor_channels(&message);
                    client.cursors = NamedCursor::pair_names(client_names, host_names);
                }
                InboundKind::Legacy(message)
            }
            None => InboundKind::Current,
        }
    }

    /// Upgrades a message to inputs. There are several if the message needs further requests
    /// that the client does not know about.
    pub(crate) fn upgrade_message(
        &mut self,
        host: &Host,
        connection: ConnectionId,
        message: Object,
        limits: Limits,
    ) -> Vec<Input> {
        let Some(client) = self.clients.get_mut(&connection) else {
            return Vec::new();
        };
        let id = message.get("id").map(request_id);
        let method = message.get("method").and_then(Json::as_str);
        let method = method.map(str::to_owned);
        let upgraded = match (method.as_deref(), &id) {
            (None, _) => Ok(vec![client.upgrade_response(host, message)]),
            (Some("dispatchAction"), _) => match client.upgrade_dispatch(host, message) {
                Ok(message) => Ok(vec![message]),
                Err(refused) => {
                    return vec![Input::Received {
                        connection,
                        message: ClientMessage::Rejected(refused),
                    }];
                }
            },
            (Some("fetchTurns"), Some(id)) if !client.release().capabilities().pages => {
                match client.fetch_turns(host, message) {
                    Ok(found) => {
                        let found = ResponseBody::McpResult(Box::new(found));
                        return vec![Input::RequestCompleted {
                            connection,
                            id: id.clone(),
                            result: Box::new(Ok(found)),
                        }];
                    }
                    Err(refused) => Err(refused),
                }
            }
            (Some(method), _) => client.upgrade_call(host, method, message),
        };
        let received: Vec<_> = match upgraded {
            Ok(messages) => {
                let texts = messages
                    .into_iter()
                    .map(|message| Json::Object(message).to_string());
                texts
                    .filter_map(|text| decode_message(&text, limits))
                    .collect()
            }
            // A notification has no response that could report the error.
            Err(refused) => id
                .map(|id| to_error_message(id, &refused))
                .into_iter()
                .collect(),
        };
        let input = |message| Input::Received {
            connection,
            message,
        };
        received.into_iter().map(input).collect()
    }

    /// Called after a message was decoded unchanged. If it completed a handshake, later
    /// messages of the connection skip this module.
    pub(crate) fn confirm_current(&mut self, host: &Host, connection: ConnectionId) {
        if host.client_at(connection).is_some() && !self.contains(connection) {
            self.mark_current(connection);
        }
    }
}

/// Returns the channels that a message names, with the default chats of the sessions among
/// them. Channels of cursors are left out: no version step reads them, and a replay needs no
/// states.
pub(crate) fn named_channels(host: &Host, message: &Object) -> Vec<Uri> {
    let mut found = Vec::new();
    let params = message.get("params").and_then(Json::as_object);
    let action = params.and_then(|params| params.get("action")?.as_object());
    for object in params.into_iter().chain(action) {
        for field in ["channel", "session", "resource", "terminal"] {
            found.extend(object.get(field).and_then(Json::as_str).map(Uri::from));
        }
        for field in ["initialSubscriptions", "subscriptions"] {
            let list = object.get(field).and_then(Json::as_array);
            let uris = list.into_iter().flatten().filter_map(Json::as_str);
            found.extend(uris.map(Uri::from));
        }
    }
    let chats = found
        .iter()
        .filter_map(|session| default_chat(host, session));
    let chats: Vec<_> = chats.collect();
    found.extend(chats);
    found
}

fn default_chat(host: &Host, session: &Uri) -> Option<Uri> {
    host.session_summary(session)?.default_chat.clone()
}

fn to_error_message(id: RequestId, refusal: &UpgradeRefusal) -> ClientMessage {
    let code = match refusal {
        UpgradeRefusal::Unknown(_) => ErrorCode::NotFound,
        UpgradeRefusal::Invalid(_) => ErrorCode::InvalidParams,
    };
    ClientMessage::Invalid(id, RpcError::new(code, refusal.to_string()))
}

fn request_id(id: &Json) -> RequestId {
    match id {
        Json::String(text) => RequestId::Text(text.as_str().into()),
        Json::Number(number) => RequestId::Number(number.to_string().into()),
        _ => RequestId::Null,
    }
}

/// Builds a message in the current version.
fn to_message(id: Option<&Json>, call: JsonCall) -> Object {
    let mut message = Object::new();
    message.insert("jsonrpc".to_owned(), Json::from("2.0"));
    message.extend(id.map(|id| ("id".to_owned(), id.clone())));
    message.insert("method".to_owned(), Json::from(call.method));
    message.insert("params".to_owned(), Json::Object(call.params));
    message
}

fn channel_call(method: &str, channel: &Uri) -> JsonCall {
    let mut params = Object::new();
    params.insert("channel".to_owned(), Json::from(channel.as_str()));
    JsonCall {
        method: method.to_owned(),
        params,
    }
}

fn take_params(message: &mut Object) -> Object {
    match message.shift_remove("params") {
        Some(Json::Object(params)) => params,
        _ => Object::new(),
    }
}

impl LegacyClient {
    /// Upgrades the response to a host request.
    fn upgrade_response(&mut self, host: &Host, mut message: Object) -> Object {
        let id = message.get("id").map(request_id);
        let method = id.and_then(|id| self.host_requests.remove(&id));
        if let (Some(method), Some(result)) = (method, message.get_mut("result")) {
            let live_state = LiveState(host);
            let at = self.translation_context(&live_state);
            self.chain.upgrade_response(&at, method, result);
        }
        message
    }

    /// Upgrades an action that the client dispatched. Fails if the current version has no such
    /// action.
    fn upgrade_dispatch(
        &mut self,
        host: &Host,
        mut message: Object,
    ) -> Result<Object, Box<RejectedDispatch>> {
        let mut params = take_params(&mut message);
        let channel = params.get("channel").and_then(Json::as_str);
        let channel = channel.map(str::to_owned);
        if let Some(Json::Object(action)) = params.get("action") {
            let mut dispatch = JsonDispatch {
                channel: channel.clone().unwrap_or_default(),
                action: action.clone(),
            };
            let live_state = LiveState(host);
            let at = self.translation_context(&live_state);
            let sent = DispatchedAction {
                channel,
                action: action.clone(),
            };
            let number = params.get("clientSeq").cloned().unwrap_or_default();
            if let Err(refused) = self.chain.upgrade_dispatch(&at, &mut dispatch) {
                let action = RawAction(Json::Object(sent.action.clone()));
                let client_seq = ClientSeq(number.as_i64().unwrap_or_default());
                self.push_dispatched(number, sent);
                return Err(Box::new(RejectedDispatch {
                    channel: Uri::from(dispatch.channel),
                    client_seq,
                    action,
                    reason: refused.to_string(),
                }));
            }
            self.push_dispatched(number, sent);
            params.insert("channel".to_owned(), Json::from(dispatch.channel));
            params.insert("action".to_owned(), Json::Object(dispatch.action));
        }
        message.insert("params".to_owned(), Json::Object(params));
        Ok(message)
    }

    /// Answers `fetchTurns` of clients up to 0.5.0. They expect the turns in the response; now
    /// the turns arrive in an action.
    fn fetch_turns(&mut self, host: &Host, mut message: Object) -> Result<Json, UpgradeRefusal> {
        let params = take_params(&mut message);
        let mut call = JsonCall {
            method: "fetchTurns".to_owned(),
            params: params.clone(),
        };
        let live_state = LiveState(host);
        let at = self.translation_context(&live_state);
        self.chain.upgrade_params(&at, &mut call)?;
        for field in ["before", "limit"] {
            let given = params.get(field).cloned();
            call.params
                .extend(given.map(|given| (field.to_owned(), given)));
        }
        answer_fetch_turns(self.chain, &at, &call.params)
    }

    fn upgrade_call(
        &mut self,
        host: &Host,
        method: &str,
        mut given: Object,
    ) -> Result<Vec<Object>, UpgradeRefusal> {
        let params = take_params(&mut given);
        let id = given.get("id").cloned();
        self.record_root_name(&params);
        let offers = params.get("protocolVersions").cloned();
        let has_channel = params.contains_key("channel");
        if method == "reconnect" && handshake::is_other_program(self.release(), &params) {
            // The only error after which every client initializes again (REC-9).
            let reason = "another protocol version was negotiated: send `initialize`";
            return Err(UpgradeRefusal::Unknown(reason.to_owned()));
        }
        let mut call = JsonCall {
            method: method.to_owned(),
            params,
        };
        let live_state = LiveState(host);
        let at = self.translation_context(&live_state);
        let after = self.chain.upgrade_params(&at, &mut call)?;
        if let Some(id) = &id {
            let open = OpenLegacyRequest {
                follow_ups: after,
                ..OpenLegacyRequest::default()
            };
            self.open_requests.insert(request_id(id), open);
        }
        let mut all = Vec::new();
        match call.method.as_str() {
            "initialize" => {
                let offers = offers.unwrap_or_else(|| Release::V0_1.to_string().into());
                let offers = handshake::plausible_offers(offers, has_channel);
                call.params.insert("protocolVersions".to_owned(), offers);
                self.subscribe_default_chats(host, &mut call.params, "initialSubscriptions");
            }
            "reconnect" => self.subscribe_default_chats(host, &mut call.params, "subscriptions"),
            "subscribe" => {
                let channel = call.params.get("channel").and_then(Json::as_str);
                let channel = Uri::from(channel.unwrap_or_default());
                let Some(chat) = self.subscribe_default_chat(host, &channel) else {
                    let version = self.release();
                    return Err(UpgradeRefusal::Unknown(format!(
                        "AHP {version} has no channels of this kind"
                    )));
                };
                let synthetic_id = Json::from(SYNTHETIC_REQUEST_ID);
                all.extend(
                    chat.map(|chat| {
                        to_message(Some(&synthetic_id), channel_call("subscribe", &chat))
                    }),
                );
            }
            "unsubscribe" => {
                let channel = call.params.get("channel").and_then(Json::as_str);
                let channel = Uri::from(channel.unwrap_or_default());
                self.subscriptions.remove(&channel);
                // The chat stays subscribed, because the state of its session depends on it.
                if self.target.session_of(&channel).is_some() {
                    return Ok(Vec::new());
                }
                let chat = self.target.unmap_session(&channel);
                let chat = chat.filter(|chat| !self.subscriptions.contains(chat));
                all.extend(chat.map(|chat| to_message(None, channel_call("unsubscribe", &chat))));
            }
            _ => {}
        }
        all.push(to_message(id.as_ref(), call));
        Ok(all)
    }

    /// Records the URI that the client uses for the root channel.
    fn record_root_name(&mut self, params: &Object) {
        let lists = ["initialSubscriptions", "subscriptions"];
        let lists = lists
            .iter()
            .filter_map(|field| params.get(*field)?.as_array());
        let named = lists.flatten().chain(params.get("resource"));
        let mut named = named.filter_map(Json::as_str);
        if let Some(root) = named.find(|uri| LEGACY_ROOT_URIS.contains(uri)) {
            self.target.set_root_uri(root);
        }
    }

    /// Subscribes the client to a channel. Returns the default chat that has to be subscribed
    /// with it, if there is one; the outer `None` if the release has no such channels.
    fn subscribe_default_chat(&mut self, host: &Host, channel: &Uri) -> Option<Option<Uri>> {
        let kind = host.state(channel).map(|state| state.kind());
        if kind.is_some_and(|kind| !self.chain.can_subscribe(kind)) {
            return None;
        }
        self.subscriptions.insert(channel.clone());
        let chat = default_chat(host, channel).filter(|_| self.needs_default_chat());
        if let Some(chat) = &chat {
            self.target.map_session(channel.clone(), chat.clone());
        }
        Some(chat.filter(|chat| !self.subscriptions.contains(chat)))
    }

    fn subscribe_default_chats(&mut self, host: &Host, params: &mut Object, field: &str) {
        let Some(Json::Array(channels)) = params.get_mut(field) else {
            return;
        };
        let mut all = Vec::new();
        for uri in channels.drain(..) {
            let Some(channel) = uri.as_str().map(Uri::from) else {
                // The entry is a cursor. Only clients of the current version send them, and
                // those can subscribe to every channel directly.
                let channel = uri.get("channel").and_then(Json::as_str);
                self.subscriptions.extend(channel.map(Uri::from));
                all.push(uri);
                continue;
            };
            // A chat that only stands for its session is added with the session; the client did
            // not subscribe to it.
            let chats = self.release().capabilities().chats;
            if !chats && self.target.session_of(&channel).is_some() {
                continue;
            }
            if let Some(chat) = self.subscribe_default_chat(host, &channel) {
                let chat = chat.map(|chat| Json::from(chat.as_str()));
                for one in chat.into_iter().chain([uri]) {
                    if !all.contains(&one) {
                        all.push(one);
                    }
                }
            }
        }
        *channels = all;
    }
}
