//! Drives a host on a store, as the server does: step, append, then inspect.

use std::collections::BTreeMap;
use std::path::Path;

use agenthost_core::agent::AgentEvent;
use agenthost_core::resource::uris;
use agenthost_core::{
    AgentCatalog, ChannelNeed, ClientMessage, ConnectionId, Effect, Effects, Env, Host, HostConfig,
    Input, LoadExtent, PeerIdentity, Principal, StoreWrite,
};
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::connection::Implementation;
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::number::Millis;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::rpc::{ClientNotification, ClientRequest, Message};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Document, Json, Limits};
use agenthost_store::{Durability, Store};

pub(crate) const NOW: Millis = Millis(1_767_603_600_000);

pub(crate) struct Driver {
    pub(crate) host: Host,
    pub(crate) store: Store,
    /// Published actions, as a client would receive them.
    pub(crate) published: BTreeMap<ServerSeq, String>,
    steps: u128,
}

fn config() -> HostConfig {
    HostConfig {
        server: Implementation {
            name: "agenthost".to_owned(),
            version: None,
            title: None,
        },
        catalog: AgentCatalog {
            agents: vec![AgentInfo {
                provider: "shell".into(),
                display_name: "Shell".to_owned(),
                description: String::new(),
                models: Vec::new(),
                protected_resources: None,
                customizations: None,
                capabilities: None,
            }],
            ..AgentCatalog::default()
        },
        granted_roots: Vec::new(),
        default_directory: None,
        grace_period: Millis(30_000),
        client_retention: Millis(24 * 60 * 60 * 1_000),
        max_remembered_clients: 1_000,
        max_subscriptions: 100,
        max_sessions: 100,
    }
}

pub(crate) fn session() -> Uri {
    Uri::from("ahp-session:/s1")
}

pub(crate) fn chat() -> Uri {
    uris::default_chat_uri(&session())
}

impl Driver {
    pub(crate) fn open(directory: &Path) -> Self {
        let mut store = Store::open(directory, Durability::Process).unwrap();
        let host = Host::new(config(), store.load_host().unwrap());
        let mut driver = Driver {
            host,
            store,
            published: BTreeMap::new(),
            // Nonces of one run never repeat in another.
            steps: u128::from(fastrand::u64(..)) << 64,
        };
        driver.step(Input::Started);
        for channel in driver.host.channels_to_recover() {
            let extent = LoadExtent::Tail;
            driver.restore(ChannelNeed { channel, extent });
        }
        driver
    }

    /// Returns a host with a ready session and a client that is subscribed to it.
    pub(crate) fn ready(directory: &Path) -> Self {
        let mut driver = Driver::open(directory);
        driver.connect(1);
        driver.request(1, "createSession", session().as_str(), "{}");
        driver.agent(AgentEvent::Opened { tools: Vec::new() });
        driver.request(1, "subscribe", session().as_str(), "{}");
        driver.request(1, "subscribe", chat().as_str(), "{}");
        driver
    }

    pub(crate) fn connect(&mut self, connection: u32) {
        let connection_id = ConnectionId(connection);
        let principal = Principal("me".to_owned());
        self.step(Input::Connected {
            connection: connection_id,
            peer: PeerIdentity::with_all_rights(principal),
        });
        let params = r#"{"protocolVersions": ["1.0.0"], "clientId": "a"}"#;
        self.request(connection, "initialize", "ahp-root://", params);
    }

    pub(crate) fn step(&mut self, input: Input) -> Effects {
        for need in self.host.missing_channels(&input) {
            self.restore(need);
        }
        self.take(input)
    }

    fn restore(&mut self, need: ChannelNeed) {
        let ChannelNeed { channel, extent } = need;
        let loaded = self.store.load(&channel, extent).unwrap().unwrap();
        self.take(Input::ChannelLoaded { channel, loaded });
    }

    fn take(&mut self, input: Input) -> Effects {
        self.steps += 1;
        let env = Env {
            now: NOW,
            nonce: self.steps,
        };
        let mut out = Effects::default();
        self.host.step(&env, input, &mut out);
        for channel in self.store.append(&out.writes, NOW).unwrap().snapshots_due {
            let loaded = self.host.loaded(&channel).unwrap();
            let seq = last_seq(&out.writes).unwrap();
            self.store.snapshot(&channel, loaded, seq).unwrap();
        }
        for effect in &out.effects {
            if let Effect::Publish { envelope, .. } = effect {
                let text = serde_json::to_string(&**envelope).unwrap();
                self.published.insert(envelope.server_seq, text);
            }
        }
        out
    }

    pub(crate) fn request(&mut self, connection: u32, method: &str, channel: &str, params: &str) {
        let mut params: Json = serde_json::from_str(params).unwrap();
        params["channel"] = channel.into();
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let document = Document::parse(&text, Limits::default()).unwrap();
        let Ok(Message::Request(id, call)) = Message::decode(&document) else {
            panic!("expected a request");
        };
        let request = ClientRequest::decode(&call).unwrap();
        let effects = self.step(Input::Received {
            connection: ConnectionId(connection),
            message: ClientMessage::Request(id, Box::new(request)),
        });
        let failed = effects.effects.iter().find_map(|effect| match effect {
            Effect::Respond {
                result: Err(error), ..
            } => Some(error),
            _ => None,
        });
        assert_eq!(failed, None, "{method}");
    }

    pub(crate) fn dispatch(&mut self, channel: &Uri, action: &str) {
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"dispatchAction","params":{{"channel":"{channel}","clientSeq":1,"action":{action}}}}}"#
        );
        let document = Document::parse(&text, Limits::default()).unwrap();
        let Ok(Message::Notification(call)) = Message::decode(&document) else {
            panic!("expected a notification");
        };
        let notification = ClientNotification::decode(&call).unwrap();
        self.step(Input::Received {
            connection: ConnectionId(1),
            message: ClientMessage::Notification(Box::new(notification)),
        });
    }

    pub(crate) fn agent(&mut self, event: AgentEvent) {
        self.step(Input::Agent {
            session: session(),
            event,
        });
    }

    pub(crate) fn agent_action(&mut self, action: &str) {
        let Ok(Action::Chat(action)) = wire::from_str(action) else {
            panic!("not of a chat: {action}");
        };
        let action = Box::new(action);
        self.agent(AgentEvent::Chat {
            chat: chat(),
            action,
        });
    }

    /// Starts a turn with a text part to stream to.
    pub(crate) fn start_turn(&mut self, turn: &str) {
        self.dispatch(
            &chat(),
            &format!(
                r#"{{"type":"chat/turnStarted","turnId":"{turn}","startedAt":"2026-01-05T09:00:00Z","message":{{"text":"go","origin":{{"kind":"user"}}}}}}"#
            ),
        );
        self.agent_action(&format!(
            r#"{{"type":"chat/responsePart","turnId":"{turn}","part":{{"kind":"markdown","id":"p","content":""}}}}"#
        ));
    }

    pub(crate) fn stream(&mut self, turn: &str, text: &str) {
        self.agent_action(&delta(turn, text));
    }

    /// Streams text without storing it. Returns what is to be stored.
    pub(crate) fn writes_of_stream(&mut self, turn: &str, text: &str) -> Vec<StoreWrite> {
        let Ok(Action::Chat(action)) = wire::from_str(&delta(turn, text)) else {
            panic!("not of a chat");
        };
        self.steps += 1;
        let env = Env {
            now: NOW,
            nonce: self.steps,
        };
        let event = AgentEvent::Chat {
            chat: chat(),
            action: Box::new(action),
        };
        let mut out = Effects::default();
        let session = session();
        self.host
            .step(&env, Input::Agent { session, event }, &mut out);
        out.writes
    }

    /// Checks that the store and the host have the same states.
    pub(crate) fn check(&mut self) {
        for channel in [Uri::from("ahp-root://"), session(), chat()] {
            let stored = self.store.load(&channel, LoadExtent::Whole).unwrap();
            let stored = stored.map(|stored| stored.state);
            assert_eq!(stored.as_ref(), self.host.state(&channel), "{channel}");
        }
    }

    /// Checks that every channel can be loaded.
    pub(crate) fn check_stored(&mut self) {
        for stored in self.store.load_host().unwrap().channels {
            let loaded = self.store.load(&stored.channel, LoadExtent::Whole);
            assert!(loaded.unwrap().is_some());
        }
    }

    pub(crate) fn chat_text(&mut self) -> String {
        let loaded = self.store.load(&chat(), LoadExtent::Whole).unwrap();
        let Some(ChannelState::Chat(chat)) = loaded.map(|loaded| loaded.state) else {
            panic!("expected a chat");
        };
        serde_json::to_string(&*chat).unwrap()
    }
}

fn delta(turn: &str, text: &str) -> String {
    format!(r#"{{"type":"chat/delta","turnId":"{turn}","partId":"p","content":"{text}"}}"#)
}

fn last_seq(writes: &[StoreWrite]) -> Option<ServerSeq> {
    writes.iter().rev().find_map(|write| match write {
        StoreWrite::Action(envelope) => Some(envelope.server_seq),
        StoreWrite::SeqUsed(seq) => Some(*seq),
        _ => None,
    })
}
