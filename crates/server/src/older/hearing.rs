//! What a client of an older version says, in the words of the host's.

use agenthost_core::{Answer, ConnectionId, Host, Input, Received, RefusedDispatch};
use agenthost_protocol::action::RawAction;
use agenthost_protocol::ids::ClientSeq;
use agenthost_protocol::rpc::{ErrorCode, RequestId, RpcError};
use agenthost_protocol::uri::{OLD_ROOTS, Uri};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Document, Json, Limits, Object};
use agenthost_versions::{Call, Dispatch, Refused, turns};

use super::names;
use super::world::Live;
use super::{OPEN, Older, Open, Peer, Sent, greeting};
use crate::connection::decode;

/// The id of what is asked in a client's name without its knowing. Nobody
/// waits for the answer.
pub(super) const UNASKED: &str = "agenthost:unasked";

/// What to do with a message.
#[derive(Debug)]
pub(crate) enum Heard {
    /// It can be read as it is.
    Plain,
    /// It can be read like this.
    Corrected(String),
    /// It has to be put into other words.
    Older(Object),
}

impl Older {
    /// Finds out what a message is written in.
    pub(crate) fn hear(
        &mut self,
        host: &Host,
        connection: ConnectionId,
        text: &str,
        limits: Limits,
    ) -> Heard {
        // What can't be read can't be read in any version.
        let Ok(document) = Document::parse(text, limits) else {
            return Heard::Plain;
        };
        let Json::Object(mut message) = document.root().to_json() else {
            return Heard::Plain;
        };
        let method = message.get("method").and_then(Json::as_str);
        if let Some(method @ ("initialize" | "reconnect")) = method
            && host.client_at(connection).is_none()
        {
            self.peers.remove(&connection);
            let params = message.get("params").and_then(Json::as_object);
            let peer = params.and_then(|params| greeting::peer(host, method, params));
            self.peers.extend(peer.map(|peer| (connection, peer)));
            if !self.has(connection) {
                return match greeting::correct(&mut message) {
                    true => Heard::Corrected(Json::Object(message).to_string()),
                    false => Heard::Plain,
                };
            }
        }
        self.refresh_aliases(host);
        match self.peers.get(&connection) {
            Some(peer) => {
                names::restore(&mut message, &|name| peer.meant(host, &self.aliases, name));
                Heard::Older(message)
            }
            None => Heard::Plain,
        }
    }

    /// Says what a message means. Several, if more has to happen for it than
    /// the client knows of.
    pub(crate) fn understand(
        &mut self,
        host: &Host,
        connection: ConnectionId,
        message: Object,
        limits: Limits,
    ) -> Vec<Input> {
        let Some(peer) = self.peers.get_mut(&connection) else {
            return Vec::new();
        };
        let id = message.get("id").map(request_id);
        let method = message.get("method").and_then(Json::as_str);
        let method = method.map(str::to_owned);
        let said = match (method.as_deref(), &id) {
            (None, _) => Ok(vec![peer.answer(host, message)]),
            (Some("dispatchAction"), _) => match peer.dispatch(host, message) {
                Ok(message) => Ok(vec![message]),
                Err(refused) => {
                    return vec![Input::Received {
                        connection,
                        message: Received::Refused(refused),
                    }];
                }
            },
            (Some("fetchTurns"), Some(id)) if !peer.release().capabilities().pages => {
                match peer.read_turns(host, message) {
                    Ok(found) => {
                        let found = Answer::OfServer(Box::new(found));
                        return vec![Input::Answered {
                            connection,
                            id: id.clone(),
                            answer: Box::new(Ok(found)),
                        }];
                    }
                    Err(refused) => Err(refused),
                }
            }
            (Some(method), _) => peer.call(host, method, message),
        };
        let received: Vec<_> = match said {
            Ok(messages) => {
                let texts = messages
                    .into_iter()
                    .map(|message| Json::Object(message).to_string());
                texts.filter_map(|text| decode(&text, limits)).collect()
            }
            // Only what wants an answer gets one.
            Err(refused) => id.map(|id| refusal(id, &refused)).into_iter().collect(),
        };
        let input = |message| Input::Received {
            connection,
            message,
        };
        received.into_iter().map(input).collect()
    }

    /// A message was heard as it was. If it was a greeting, no other needs to
    /// be looked at.
    pub(crate) fn settle(&mut self, host: &Host, connection: ConnectionId) {
        if host.client_at(connection).is_some() && !self.has(connection) {
            self.speaks_current(connection);
        }
    }
}

/// Channels that a message is about, with the default chats of the sessions
/// among them.
pub(crate) fn named(host: &Host, message: &Object) -> Vec<Uri> {
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
    host.listed(session)?.default_chat.clone()
}

fn refusal(id: RequestId, refused: &Refused) -> Received {
    let code = match refused {
        Refused::Unknown(_) => ErrorCode::NotFound,
        Refused::Invalid(_) => ErrorCode::InvalidParams,
    };
    Received::Invalid(id, RpcError::new(code, refused.to_string()))
}

fn request_id(id: &Json) -> RequestId {
    match id {
        Json::String(text) => RequestId::Text(text.as_str().into()),
        Json::Number(number) => RequestId::Number(number.to_string().into()),
        _ => RequestId::Null,
    }
}

/// A message in the words of the host.
fn message(id: Option<&Json>, call: Call) -> Object {
    let mut message = Object::new();
    message.insert("jsonrpc".to_owned(), Json::from("2.0"));
    message.extend(id.map(|id| ("id".to_owned(), id.clone())));
    message.insert("method".to_owned(), Json::from(call.method));
    message.insert("params".to_owned(), Json::Object(call.params));
    message
}

fn about(method: &str, channel: &Uri) -> Call {
    let mut params = Object::new();
    params.insert("channel".to_owned(), Json::from(channel.as_str()));
    Call {
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

impl Peer {
    /// An answer to what the host asked.
    fn answer(&mut self, host: &Host, mut message: Object) -> Object {
        let id = message.get("id").map(request_id);
        let method = id.and_then(|id| self.asked.remove(&id));
        if let (Some(method), Some(result)) = (method, message.get_mut("result")) {
            let world = Live(host);
            let at = self.at(&world);
            self.chain.response(&at, method, result);
        }
        message
    }

    /// An action; or why there is no such thing.
    fn dispatch(
        &mut self,
        host: &Host,
        mut message: Object,
    ) -> Result<Object, Box<RefusedDispatch>> {
        let mut params = take_params(&mut message);
        let channel = params.get("channel").and_then(Json::as_str);
        let channel = channel.map(str::to_owned);
        if let Some(Json::Object(action)) = params.get("action") {
            let mut dispatch = Dispatch {
                channel: channel.clone().unwrap_or_default(),
                action: action.clone(),
            };
            let world = Live(host);
            let at = self.at(&world);
            let sent = Sent {
                channel,
                action: action.clone(),
            };
            let number = params.get("clientSeq").cloned().unwrap_or_default();
            if let Err(refused) = self.chain.dispatch(&at, &mut dispatch) {
                let action = RawAction(Json::Object(sent.action.clone()));
                let client_seq = ClientSeq(number.as_i64().unwrap_or_default());
                self.remember(number, sent);
                return Err(Box::new(RefusedDispatch {
                    channel: Uri::from(dispatch.channel),
                    client_seq,
                    action,
                    reason: refused.to_string(),
                }));
            }
            self.remember(number, sent);
            params.insert("channel".to_owned(), Json::from(dispatch.channel));
            params.insert("action".to_owned(), Json::Object(dispatch.action));
        }
        message.insert("params".to_owned(), Json::Object(params));
        Ok(message)
    }

    /// Up to 0.5.0 old turns were the answer; now they are an action.
    fn read_turns(&mut self, host: &Host, mut message: Object) -> Result<Json, Refused> {
        let params = take_params(&mut message);
        let mut call = Call {
            method: "fetchTurns".to_owned(),
            params: params.clone(),
        };
        let world = Live(host);
        let at = self.at(&world);
        self.chain.params(&at, &mut call)?;
        for field in ["before", "limit"] {
            let given = params.get(field).cloned();
            call.params
                .extend(given.map(|given| (field.to_owned(), given)));
        }
        turns(self.chain, &at, &call.params)
    }

    fn call(
        &mut self,
        host: &Host,
        method: &str,
        mut given: Object,
    ) -> Result<Vec<Object>, Refused> {
        let params = take_params(&mut given);
        let id = given.get("id").cloned();
        self.hear_root(&params);
        let offers = params.get("protocolVersions").cloned();
        let has_channel = params.contains_key("channel");
        if method == "reconnect" && greeting::is_other_program(self.release(), &params) {
            // The only error after which every client initializes (REC-9).
            let reason = "another version was agreed on: initialize again";
            return Err(Refused::Unknown(reason.to_owned()));
        }
        let mut call = Call {
            method: method.to_owned(),
            params,
        };
        let world = Live(host);
        let at = self.at(&world);
        let after = self.chain.params(&at, &mut call)?;
        if let Some(id) = &id {
            if self.open.len() >= OPEN {
                self.open.pop_first();
            }
            let open = Open {
                after,
                ..Open::default()
            };
            self.open.insert(request_id(id), open);
        }
        let mut all = Vec::new();
        match call.method.as_str() {
            "initialize" => {
                let offers = offers.unwrap_or_else(|| Release::V0_1.to_string().into());
                let offers = greeting::meant(offers, has_channel);
                call.params.insert("protocolVersions".to_owned(), offers);
                self.follow_all(host, &mut call.params, "initialSubscriptions");
            }
            "reconnect" => self.follow_all(host, &mut call.params, "subscriptions"),
            "subscribe" => {
                let channel = call.params.get("channel").and_then(Json::as_str);
                let channel = Uri::from(channel.unwrap_or_default());
                let Some(chat) = self.follow(host, &channel) else {
                    let version = self.release();
                    return Err(Refused::Unknown(format!(
                        "there are no such channels in version {version}"
                    )));
                };
                let unasked = Json::from(UNASKED);
                all.extend(chat.map(|chat| message(Some(&unasked), about("subscribe", &chat))));
            }
            "unsubscribe" => {
                let channel = call.params.get("channel").and_then(Json::as_str);
                let channel = Uri::from(channel.unwrap_or_default());
                self.follows.remove(&channel);
                // Its session is told by it.
                if self.viewer.session_of(&channel).is_some() {
                    return Ok(Vec::new());
                }
                let chat = self.viewer.hide(&channel);
                let chat = chat.filter(|chat| !self.follows.contains(chat));
                all.extend(chat.map(|chat| message(None, about("unsubscribe", &chat))));
            }
            _ => {}
        }
        all.push(message(id.as_ref(), call));
        Ok(all)
    }

    /// Remembers what the client calls the root.
    fn hear_root(&mut self, params: &Object) {
        let lists = ["initialSubscriptions", "subscriptions"];
        let lists = lists
            .iter()
            .filter_map(|field| params.get(*field)?.as_array());
        let named = lists.flatten().chain(params.get("resource"));
        let mut named = named.filter_map(Json::as_str);
        if let Some(root) = named.find(|uri| OLD_ROOTS.contains(uri)) {
            self.viewer.call_root(root);
        }
    }

    /// The client wants a channel: the chat that it has to hear of as well, if
    /// there is one. `None` if its version has no such channels.
    fn follow(&mut self, host: &Host, channel: &Uri) -> Option<Option<Uri>> {
        let kind = host.state(channel).map(|state| state.kind());
        if kind.is_some_and(|kind| !self.chain.follows(kind)) {
            return None;
        }
        self.follows.insert(channel.clone());
        let chat = default_chat(host, channel).filter(|_| self.hears_chats());
        if let Some(chat) = &chat {
            self.viewer.show(channel.clone(), chat.clone());
        }
        Some(chat.filter(|chat| !self.follows.contains(chat)))
    }

    fn follow_all(&mut self, host: &Host, params: &mut Object, field: &str) {
        let Some(Json::Array(wanted)) = params.get_mut(field) else {
            return;
        };
        let mut all = Vec::new();
        for uri in wanted.drain(..) {
            let Some(channel) = uri.as_str().map(Uri::from) else {
                all.push(uri);
                continue;
            };
            // A chat that only stands for its session is in the list with it,
            // and nothing that the client asked for.
            let chats = self.release().capabilities().chats;
            if !chats && self.viewer.session_of(&channel).is_some() {
                continue;
            }
            if let Some(chat) = self.follow(host, &channel) {
                let chat = chat.map(|chat| Json::from(chat.as_str()));
                for one in chat.into_iter().chain([uri]) {
                    if !all.contains(&one) {
                        all.push(one);
                    }
                }
            }
        }
        *wanted = all;
    }
}
