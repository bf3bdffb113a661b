//! Clients that come, go, lag and race; agents that stream and fail; a host
//! that is killed at any moment. All by chance, and by the same chance again
//! for the same seed.
//!
//! `World` checks on every step what has to hold on every step. Set
//! `SIMULATION_SEEDS=100000` for a long run.

use agenthost_core::agent::AgentEvent;
use agenthost_core::{ConnectionId, Input};
use agenthost_protocol::action::{Action, Dispatcher};
use agenthost_protocol::channel::{ChannelKind, ChannelState};
use agenthost_protocol::chat::ErrorPart;
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::{ClientId, ServerSeq, TurnId};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{self, Json};
use agenthost_testkit::{Generator, Options};
use serde_json::json;

use crate::script::{received, uri};
use crate::world::World;

const STEPS: u32 = 300;

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a person chooses how long it runs"
)]
fn nothing_is_lost_whatever_happens() {
    let seeds = std::env::var("SIMULATION_SEEDS").ok();
    let seeds = seeds.map_or(60, |seeds| seeds.parse().unwrap());
    let mut actions = 0;
    for seed in 0..seeds {
        let mut simulation = Simulation::new(seed);
        for _ in 0..STEPS {
            simulation.step();
        }
        simulation.world.check_mirrors();
        actions += simulation.world.log.actions.len();
    }
    // A simulation in which nothing happens would prove nothing.
    assert!(actions > 20 * usize::try_from(seeds).unwrap(), "{actions}");
}

struct Simulation {
    world: World,
    chance: Generator,
    next_connection: u32,
    requests: u64,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let options = Options {
            optional: 0.3,
            unknown: 0.0,
            names: 3,
            items: 2,
            depth: 4,
            without: &[],
        };
        Simulation {
            world: World::new(),
            chance: Generator::new(seed, options),
            next_connection: 0,
            requests: 0,
        }
    }

    fn step(&mut self) {
        self.world.now += self.chance.rng.i64(0..2_000);
        match self.chance.rng.u32(0..100) {
            0..8 => self.connect(),
            8..12 => self.disconnect(),
            12..18 => self.subscribe(),
            18..20 => self.fetch_turns(),
            20..23 => self.unsubscribe(),
            23..30 => self.create_session(),
            30..32 => self.dispose_session(),
            32..35 => self.create_chat(),
            35 => self.dispose_chat(),
            36..38 => self.move_chat(),
            38..62 => self.dispatch(),
            62..96 => self.agent(),
            96 => self.end_grace(),
            97 => drop(self.world.step(Input::Quiet)),
            98..99 => self.restart(),
            _ => self.world.check_mirrors(),
        }
        for (connection, client) in &self.world.clients {
            assert!(
                client.waiting.is_empty(),
                "{connection:?} waits for an answer"
            );
        }
    }

    fn connection(&mut self) -> Option<ConnectionId> {
        let connections: Vec<_> = self.world.clients.keys().copied().collect();
        self.chance.pick(&connections).copied()
    }

    fn channel(&mut self) -> Uri {
        let names = [
            "root",
            "s1",
            "s2",
            "s3",
            "s1.chat",
            "s2.chat",
            "s3.chat",
            "nowhere",
            "ahp-chat:/1",
            "ahp-chat:/2",
            "ahp-session:/s1/annotations",
        ];
        uri(self.chance.pick(&names).unwrap())
    }

    fn request(&mut self, connection: ConnectionId, method: &str, params: Json) {
        self.requests += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params});
        self.world.step(Input::Received {
            connection,
            message: received(&message.to_string()),
        });
    }

    fn notify(&mut self, connection: ConnectionId, method: &str, params: Json) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.world.step(Input::Received {
            connection,
            message: received(&message.to_string()),
        });
    }

    /// A new client, or one that was here before and goes on where it was.
    fn connect(&mut self) {
        if self.world.clients.len() >= 5 {
            return;
        }
        self.next_connection += 1;
        let connection = ConnectionId(self.next_connection);
        let lost: Vec<_> = self.world.memories.keys().copied().collect();
        let before = self.chance.pick(&lost).copied();
        match before.filter(|_| self.chance.chance(0.7)) {
            None => {
                self.world.connect(connection, "me", None);
                let client = self.client_id(connection);
                self.initialize(connection, &client);
            }
            Some(before) => {
                let client = self.client_id(before);
                let memory = &self.world.memories[&before];
                let (seen, channels) = (memory.seen, memory.channels.keys());
                let params = json!({
                    "channel": "ahp-root://", "clientId": client, "lastSeenServerSeq": seen,
                    "subscriptions": channels.collect::<Vec<_>>(),
                });
                self.world.connect(connection, "me", Some(before));
                self.request(connection, "reconnect", params);
                // Forgotten in the meantime: start over, as a client does.
                if !self.is_known(connection) {
                    self.world.clients.insert(connection, Default::default());
                    self.initialize(connection, &client);
                }
            }
        }
    }

    /// Three names for all connections, so that some have two.
    fn client_id(&self, connection: ConnectionId) -> String {
        format!("client-{}", connection.0 % 3)
    }

    fn initialize(&mut self, connection: ConnectionId, client: &str) {
        let params = json!({
            "channel": "ahp-root://", "clientId": client, "protocolVersions": ["1.0.0"],
            "initialSubscriptions": ["ahp-root://"],
        });
        self.request(connection, "initialize", params);
    }

    /// Whether the host takes requests on a connection.
    fn is_known(&mut self, connection: ConnectionId) -> bool {
        self.requests += 1;
        let message = json!({
            "jsonrpc": "2.0", "id": self.requests, "method": "listSessions",
            "params": {"channel": "ahp-root://"},
        });
        let effects = self.world.step(Input::Received {
            connection,
            message: received(&message.to_string()),
        });
        let refused = |effect: &agenthost_core::Effect| {
            matches!(effect, agenthost_core::Effect::Reply { answer: Err(_), .. })
        };
        !effects.effects.iter().any(refused)
    }

    fn disconnect(&mut self) {
        if let Some(connection) = self.connection() {
            self.world.disconnect(connection);
        }
    }

    fn subscribe(&mut self) {
        if let Some(connection) = self.connection() {
            let channel = self.channel();
            let mut params = json!({"channel": channel});
            if self.chance.chance(0.4) {
                params["view"] = json!({"turns": self.chance.rng.u32(0..3)});
            }
            self.request(connection, "subscribe", params);
        }
    }

    fn fetch_turns(&mut self) {
        if let Some(connection) = self.connection() {
            let channel = self.channel();
            self.request(connection, "fetchTurns", json!({"channel": channel}));
        }
    }

    fn unsubscribe(&mut self) {
        if let Some(connection) = self.connection() {
            let channel = self.channel();
            self.notify(connection, "unsubscribe", json!({"channel": channel}));
        }
    }

    fn create_session(&mut self) {
        if let Some(connection) = self.connection() {
            let session = uri(self.chance.pick(&["s1", "s2", "s3"]).unwrap());
            self.request(connection, "createSession", json!({"channel": session}));
        }
    }

    fn dispose_session(&mut self) {
        if let Some(connection) = self.connection() {
            let session = uri(self.chance.pick(&["s1", "s2", "s3"]).unwrap());
            self.request(connection, "disposeSession", json!({"channel": session}));
        }
    }

    fn create_chat(&mut self) {
        if let Some(connection) = self.connection() {
            let session = uri(self.chance.pick(&["s1", "s2", "s3"]).unwrap());
            let chat = self.chance.pick(&["ahp-chat:/1", "ahp-chat:/2"]).unwrap();
            let mut params = json!({"channel": session, "chat": chat});
            if self.chance.chance(0.5) {
                params["initialMessage"] = json!({"text": "do it", "origin": {"kind": "user"}});
            }
            if self.chance.chance(0.4) {
                let source = uri(self
                    .chance
                    .pick(&["s1.chat", "s2.chat", "s3.chat"])
                    .unwrap());
                let turn = self.some_turn(&source);
                let kind = *self.chance.pick(&["fork", "sideChat"]).unwrap();
                params["source"] = json!({"kind": kind, "chat": source, "turnId": turn});
            }
            self.request(connection, "createChat", params);
        }
    }

    /// A turn of a chat, running or not.
    fn some_turn(&mut self, chat: &Uri) -> TurnId {
        let none = TurnId::from("no such turn");
        let Some(ChannelState::Chat(state)) = self.world.log.channels.get(chat) else {
            return none;
        };
        let turns = state.turns.items().map(|turn| turn.id.clone());
        let active = state.active_turn.as_ref().map(|turn| turn.id.clone());
        let turns: Vec<_> = turns.chain(active).collect();
        self.chance.pick(&turns).cloned().unwrap_or(none)
    }

    fn move_chat(&mut self) {
        if let Some(connection) = self.connection() {
            let chat = *self
                .chance
                .pick(&["ahp-chat:/1", "ahp-chat:/2", "s1.chat"])
                .unwrap();
            let session = *self.chance.pick(&["s1", "s2", "s3"]).unwrap();
            let mut destination = json!({"kind": "session", "session": uri(session)});
            if self.chance.chance(0.5) {
                destination["after"] = json!(uri(&format!("{session}.chat")));
            }
            if self.chance.chance(0.1) {
                destination = json!({"kind": "newSession"});
            }
            let params = json!({"channel": uri(chat), "destination": destination});
            self.request(connection, "moveChat", params);
        }
    }

    fn dispose_chat(&mut self) {
        if let Some(connection) = self.connection() {
            let channel = self.channel();
            self.request(connection, "disposeChat", json!({"channel": channel}));
        }
    }

    /// Any action at all, more often one that fits.
    fn dispatch(&mut self) {
        let Some(connection) = self.connection() else {
            return;
        };
        let channel = self.channel();
        let kind = match self.world.log.channels.get(&channel) {
            Some(state) if self.chance.chance(0.95) => Some(state.kind()),
            _ => None,
        };
        let action = self.action(&channel, |info| {
            kind.is_none_or(|kind| info.channel == kind && info.dispatcher == Dispatcher::Client)
        });
        self.requests += 1;
        let params = json!({"channel": channel, "clientSeq": self.requests, "action": action});
        self.notify(connection, "dispatchAction", params);
    }

    fn action(
        &mut self,
        channel: &Uri,
        fits: impl Fn(&agenthost_protocol::action::ActionInfo) -> bool,
    ) -> Json {
        let names: Vec<_> = Action::table()
            .filter(|info| fits(info))
            .map(|info| info.name)
            .collect();
        let mut name = *self.chance.pick(&names).unwrap();
        let active = self.active_turn(channel);
        if active.is_none() && name.starts_with("chat/") && self.chance.chance(0.5) {
            name = "chat/turnStarted";
        }
        let mut action = self.chance.action(name);
        if action.get("turnId").is_some() {
            action["turnId"] = match active {
                Some(active) if self.chance.chance(0.9) => json!(active),
                _ => json!(format!("turn-{}", self.chance.rng.u32(..))),
            };
        }
        for field in ["message", "draft"] {
            if action.get(field).is_some() && self.chance.chance(0.9) {
                action[field] = json!({"text": "do it", "origin": {"kind": "user"}});
            }
        }
        if name == "chat/turnStarted" {
            action.as_object_mut().unwrap().remove("queuedMessageId");
        }
        if name == "session/activeClientSet" {
            let client = self.chance.rng.u32(0..3);
            action["activeClient"] = json!({"clientId": format!("client-{client}"), "tools": []});
        }
        action
    }

    fn active_turn(&self, channel: &Uri) -> Option<TurnId> {
        match self.world.log.channels.get(channel)? {
            ChannelState::Chat(chat) => Some(chat.active_turn.as_ref()?.id.clone()),
            _ => None,
        }
    }

    fn agent(&mut self) {
        let name = *self.chance.pick(&["s1", "s2", "s3"]).unwrap();
        let session = uri(name);
        let chat = match self.chance.rng.u32(0..4) {
            0 => uri("ahp-chat:/1"),
            _ => uri(&format!("{name}.chat")),
        };
        let turn = self.active_turn(&chat);
        let turn = turn.unwrap_or_else(|| TurnId::from("no such turn"));
        let error = ErrorInfo {
            error_type: "test".to_owned(),
            message: "it broke".to_owned(),
            stack: None,
            meta: None,
        };
        let event = match self.chance.rng.u32(0..100) {
            0..20 => AgentEvent::Opened { tools: Vec::new() },
            20..22 => AgentEvent::Stopped { error },
            22 => AgentEvent::Steered {
                chat,
                id: "PendingMessageId-1".into(),
            },
            23..30 => AgentEvent::TurnEnded {
                chat,
                turn,
                error: None,
            },
            30..33 => AgentEvent::TurnEnded {
                chat,
                turn,
                error: Some(ErrorPart {
                    error,
                    resumable: Some(self.chance.chance(0.5)),
                }),
            },
            _ => {
                let action = self.action(&chat, |info| info.channel == ChannelKind::Chat);
                match wire::from_str(&action.to_string()).unwrap() {
                    Action::Chat(action) => AgentEvent::Chat {
                        chat,
                        action: Box::new(action),
                    },
                    other => panic!("not of a chat: {other:?}"),
                }
            }
        };
        self.world.step(Input::Agent { session, event });
    }

    fn end_grace(&mut self) {
        let client = ClientId::from(format!("client-{}", self.chance.rng.u32(0..3)));
        self.world.step(Input::GraceEnded { client });
    }

    /// Killed, and started again. Sometimes old actions are gone from the log.
    fn restart(&mut self) {
        if self.chance.chance(0.3) {
            let last = self.world.log.actions.last();
            let last = last.map_or(0, |envelope| envelope.server_seq.0);
            let start = self.world.log.start.0.max(last.saturating_sub(20));
            self.world.log.start = ServerSeq(start);
        }
        self.world.restart();
    }
}
