//! A client that uses raw JSON, mirrors a session and its chat with the official reducers, and
//! serves files that only it has.

use std::collections::BTreeMap;
use std::time::Duration;

use agenthost_server::Server;
use ahp::reducers::{apply_action_to_chat, apply_action_to_session};
use ahp_types::actions::StateAction;
use ahp_types::state::{ChatState, SessionState};
use serde_json::{Value, json};

use crate::raw_messages::Raw;
use crate::test_server::{SESSION, chat_uri};

/// Placeholder in served files that is sent as a lone surrogate (`\ud800`), which is invalid in a
/// string.
pub(crate) const LONE_SURROGATE: &str = "(half a character)";

pub(crate) struct Peer {
    raw: Raw,
    name: String,
    asked: u64,
    /// Served files, by URI. Folders exist implicitly.
    pub(crate) files: BTreeMap<String, String>,
    /// Requests of the host: method and URI.
    pub(crate) served: Vec<String>,
    session: Option<SessionState>,
    chat: Option<ChatState>,
    /// Actions on the session and the chat, oldest first.
    pub(crate) actions: Vec<Value>,
}

impl Peer {
    pub(crate) async fn join(server: &Server, name: &str) -> Self {
        Self::with(server, name, json!({})).await
    }

    /// Connects a client with additional capabilities.
    pub(crate) async fn with(server: &Server, name: &str, capabilities: Value) -> Self {
        let mut peer = Peer {
            raw: Raw::connect(server).await,
            name: name.to_owned(),
            asked: 0,
            files: BTreeMap::new(),
            served: Vec::new(),
            session: None,
            chat: None,
            actions: Vec::new(),
        };
        let hello = json!({"channel": "ahp-root://", "clientId": name, "protocolVersions": ["1.0.0"], "capabilities": capabilities});
        peer.request("initialize", hello).await.unwrap();
        peer
    }

    /// Creates a session in a folder and subscribes to it and its chat.
    pub(crate) async fn open(&mut self, folder: &std::path::Path) {
        let folder = format!("file://{}", folder.display());
        let params = json!({"channel": SESSION, "workingDirectories": [folder]});
        self.request("createSession", params).await.unwrap();
        self.subscribe_session().await;
        self.until("the agent to be up", |peer| {
            peer.session()["lifecycle"] == "ready"
        })
        .await;
    }

    /// Subscribes to the session and its chat.
    pub(crate) async fn subscribe_session(&mut self) {
        let session = self.subscribe(SESSION).await;
        self.session = Some(serde_json::from_value(session).unwrap());
        let chat = self.subscribe(&chat_uri()).await;
        self.chat = Some(serde_json::from_value(chat).unwrap());
    }

    async fn subscribe(&mut self, channel: &str) -> Value {
        let params = json!({"channel": channel});
        let answer = self.request("subscribe", params).await.unwrap();
        answer["snapshot"]["state"].clone()
    }

    pub(crate) fn session(&self) -> Value {
        serde_json::to_value(self.session.as_ref().unwrap()).unwrap()
    }

    pub(crate) fn chat(&self) -> Value {
        serde_json::to_value(self.chat.as_ref().unwrap()).unwrap()
    }

    /// Returns the customization with this name, at the top level or nested.
    pub(crate) fn customization(&self, name: &str) -> Option<Value> {
        let session = self.session();
        let all = session["customizations"].as_array()?;
        let inside = |one: &Value| one["children"].as_array().cloned().unwrap_or_default();
        let all = all.iter().cloned().chain(all.iter().flat_map(inside));
        let mut named = all.filter(|one| one["name"] == name);
        named.next()
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.asked += 1;
        let id = self.asked;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.raw.send(&request.to_string()).await;
        loop {
            let message = self.receive().await;
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
        }
    }

    pub(crate) async fn dispatch(&mut self, channel: &str, action: Value) {
        self.asked += 1;
        let params = json!({"channel": channel, "clientSeq": self.asked, "action": action});
        let message = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
        self.raw.send(&message.to_string()).await;
    }

    pub(crate) async fn start_turn(&mut self, turn: &str, text: &str) {
        let message = json!({"text": text, "origin": {"kind": "user"}});
        let start = json!({"type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-01-05T09:00:00Z", "message": message});
        self.dispatch(&chat_uri(), start).await;
    }

    /// Runs a turn and returns the agent's response.
    pub(crate) async fn run_turn(&mut self, turn: &str, text: &str) -> String {
        self.start_turn(turn, text).await;
        self.end(turn).await
    }

    /// Waits for the end of a turn and returns the agent's response.
    pub(crate) async fn end(&mut self, turn: &str) -> String {
        self.until(turn, |peer| {
            let chat = peer.chat();
            let turns = chat["turns"].as_array().unwrap();
            turns.iter().any(|one| one["id"] == turn)
        })
        .await;
        let chat = self.chat();
        let last = chat["turns"].as_array().unwrap().last().unwrap().clone();
        let parts = last["responseParts"].as_array().unwrap().clone();
        let said = parts.iter().map(|part| match part["kind"].as_str() {
            Some("markdown") => part["content"].as_str().unwrap().to_owned(),
            Some("error") => format!("error: {}", part["error"]["message"].as_str().unwrap()),
            _ => String::new(),
        });
        said.collect()
    }

    /// Registers as an active client with these tools and customizations.
    pub(crate) async fn be_active(&mut self, tools: Value, customizations: Value) {
        let active =
            json!({"clientId": self.name, "tools": tools, "customizations": customizations});
        let set = json!({"type": "session/activeClientSet", "activeClient": active});
        self.dispatch(SESSION, set).await;
    }

    /// Waits until a condition holds.
    pub(crate) async fn until(&mut self, what: &str, holds: impl Fn(&Peer) -> bool) {
        let wait = async {
            while !holds(self) {
                self.receive().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), wait).await;
        assert!(waited.is_ok(), "waited for {what}: {:#}", self.session());
    }

    /// Waits for an action of this type, and removes it and all earlier ones.
    pub(crate) async fn action(&mut self, name: &str) -> Value {
        loop {
            let found = self
                .actions
                .iter()
                .position(|action| action["type"] == name);
            if let Some(found) = found {
                return self.actions.drain(..=found).next_back().unwrap();
            }
            self.receive().await;
        }
    }

    /// Returns the next message, after answering it if it is a request, or applying it if it is an
    /// action.
    async fn receive(&mut self) -> Value {
        let message = self.raw.receive().await.unwrap();
        if let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) {
            let answer = self.serve(method, &message["params"]);
            let answer = match answer {
                Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                Err(code) => {
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no"}})
                }
            };
            // A Rust string can't contain a lone surrogate, but its JSON escape can be sent.
            let answer = answer.to_string().replace(LONE_SURROGATE, "\\ud800");
            self.raw.send(&answer).await;
        }
        if message["method"] == "action" {
            self.apply(&message["params"]);
        }
        message
    }

    fn apply(&mut self, envelope: &Value) {
        let reason = &envelope["rejectionReason"];
        assert_eq!(*reason, Value::Null, "{envelope}");
        let action: StateAction = serde_json::from_value(envelope["action"].clone()).unwrap();
        if envelope["channel"] == SESSION
            && let Some(session) = &mut self.session
        {
            apply_action_to_session(session, &action);
        } else if envelope["channel"] == chat_uri()
            && let Some(chat) = &mut self.chat
        {
            apply_action_to_chat(chat, &action);
        }
        self.actions.push(envelope["action"].clone());
    }

    /// Answers a request of the host for files that only this client has (CUS-8).
    fn serve(&mut self, method: &str, params: &Value) -> Result<Value, i64> {
        let uri = params["uri"].as_str().unwrap();
        self.served.push(format!("{method} {uri}"));
        match method {
            "resourceRead" => {
                let found = self.files.get(uri).ok_or(-32008)?;
                Ok(json!({"data": found, "encoding": "utf-8"}))
            }
            "resourceList" => {
                let folder = format!("{}/", uri.trim_end_matches('/'));
                let inside = self
                    .files
                    .keys()
                    .filter_map(|file| file.strip_prefix(&folder));
                let entries: BTreeMap<_, _> = inside
                    .map(|path| match path.split_once('/') {
                        Some((folder, _)) => (folder, "directory"),
                        None => (path, "file"),
                    })
                    .collect();
                if entries.is_empty() {
                    return Err(-32008);
                }
                let entries = entries.iter();
                let entries = entries.map(|(name, kind)| json!({"name": name, "type": kind}));
                Ok(json!({"entries": entries.collect::<Vec<_>>()}))
            }
            _ => Err(-32601),
        }
    }

    /// Asserts that customizations and active clients of the mirror equal those of a new snapshot.
    pub(crate) async fn check(&mut self) {
        let before = self.session();
        let fresh = self.subscribe(SESSION).await;
        let fresh: SessionState = serde_json::from_value(fresh).unwrap();
        let fresh = serde_json::to_value(fresh).unwrap();
        assert_eq!(before["customizations"], fresh["customizations"]);
        assert_eq!(before["activeClients"], fresh["activeClients"]);
    }
}
