//! Simulates clients that connect, leave, lag and race, agents that stream and fail, and a host
//! that is killed at any moment. A seed determines each run.
//!
//! `TestHost` checks its invariants on every step. Set `SIMULATION_SEEDS=100000` for a long run;
//! `SIMULATION_FIRST` is the first seed, so that a single one can be repeated.

mod agents;
mod customizations;
mod dispatches;
mod files;
mod host_requests;
mod reconnects;

use std::collections::BTreeMap;

use agenthost_core::agent::AgentEvent;
use agenthost_core::{
    CommandLine, ConnectionId, Effects, Input, ResponseBody, TerminalEnd, TerminalEvent,
};
use agenthost_protocol::action::{Action, Dispatcher};
use agenthost_protocol::channel::{ChannelKind, ChannelState};
use agenthost_protocol::ids::{ClientId, ServerSeq, TurnId};
use agenthost_protocol::rpc::ClientRequest;
use agenthost_protocol::terminal::TerminalData;
use agenthost_protocol::terminal::TerminalLifecycle;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use agenthost_testkit::{Generator, GeneratorOptions};
use serde_json::json;

use crate::invariants::{Verdicts, check_at_rest};
use crate::script::{received, uri};
use crate::test_host::{Backup, TestHost};

const STEPS: u32 = 300;

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a person chooses how long it runs"
)]
fn random_runs_keep_all_invariants() {
    let variable = |name| std::env::var(name).ok().map(|value| value.parse().unwrap());
    let seeds: u64 = variable("SIMULATION_SEEDS").unwrap_or(200);
    let first: u64 = variable("SIMULATION_FIRST").unwrap_or(0);
    let mut verdicts = Verdicts::default();
    let mut restored = 0;
    for seed in first..seeds {
        let mut simulation = Simulation::new(seed);
        let _told = SeedPrinter(seed);
        for _ in 0..STEPS {
            simulation.step();
        }
        simulation.test_host.check_mirrors();
        simulation.finish_everything();
        verdicts.add(&simulation.test_host.verdicts);
        restored += simulation
            .unreliable
            .map_or(0, |unreliable| unreliable.restored);
    }
    // A simulation without effect would prove nothing: every action that a client can dispatch was
    // both accepted and refused.
    if seeds >= first + 200 {
        assert!(restored > 20, "copies were restored {restored} times");
        let rare: Vec<_> = Action::table()
            .filter(|info| info.dispatcher == Dispatcher::Client && is_possible(info.name))
            .filter(|info| verdicts.of(info.name).contains(&0))
            .map(|info| format!("{}: {:?}", info.name, verdicts.of(info.name)))
            .collect();
        assert!(rare.is_empty(), "accepted, refused: {}", rare.join(", "));
    }
}

/// Prints the seed if the simulation panics.
struct SeedPrinter(u64);

impl Drop for SeedPrinter {
    #[expect(clippy::print_stderr, reason = "for who looks into it")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("with seed {}", self.0);
        }
    }
}

/// Automations are not implemented yet.
fn is_possible(name: &str) -> bool {
    !name.starts_with("automation")
}

/// Creates a world; customizations are enabled for every other seed.
fn customized_now_and_then(seed: u64) -> TestHost {
    let mut config = crate::test_host::config();
    if seed % 2 == 1 {
        let agents = config
            .catalog
            .agents
            .iter()
            .map(|agent| agent.provider.clone());
        config.catalog.customizable = Some(agents.collect());
    }
    TestHost::with(config)
}

/// State of a machine whose clock jumps and whose data directory is restored from backups.
#[derive(Default)]
struct Unreliable {
    names: BTreeMap<ConnectionId, String>,
    backup: Option<Backup>,
    /// The latest value of the clock, in microseconds.
    clock: u64,
    restored: u64,
}

pub(crate) struct Simulation {
    pub(crate) test_host: TestHost,
    /// Set in some worlds, in which the end of the log is sometimes lost and clocks jump. There,
    /// every client has a client id of its own.
    unreliable: Option<Unreliable>,
    chance: Generator,
    next_connection: u32,
    requests: u64,
}

impl Simulation {
    pub(crate) fn new(seed: u64) -> Self {
        let options = GeneratorOptions {
            optional: 0.3,
            unknown: 0.0,
            name_count: 3,
            max_items: 2,
            max_depth: 4,
            excluded_variants: &[],
        };
        let unreliable = seed % 4 >= 2;
        Simulation {
            unreliable: unreliable.then(Unreliable::default),
            test_host: customized_now_and_then(seed),
            chance: Generator::new(seed, options),
            next_connection: 0,
            requests: 0,
        }
    }

    pub(crate) fn step(&mut self) {
        self.test_host.now += self.chance.rng.i64(0..2_000);
        if self.test_host.clients.is_empty() {
            self.connect();
        }
        match self.chance.rng.u32(0..100) {
            0..7 => self.connect(),
            7..10 => self.disconnect(),
            10..16 => self.subscribe(),
            16..18 => self.fetch_turns(),
            18..20 => self.unsubscribe(),
            20..25 => self.create_session(),
            25 => self.dispose_session(),
            26..30 => self.create_chat(),
            30 => self.dispose_chat(),
            31..33 => self.move_chat(),
            33..35 => self.any_request(),
            35..39 => self.use_changeset(),
            39..62 => self.dispatch(),
            62..90 => self.agent(),
            90..94 => self.terminal_event(),
            94 => self.end_grace(),
            95 => self.time_out_client_tool(),
            96 => drop(self.test_host.step(Input::EvictionDue)),
            97 if self.unreliable.is_some() || self.chance.chance(0.3) => self.restart(),
            98 => drop(self.test_host.fill_disk()),
            _ => self.test_host.check_mirrors(),
        }
        // A full disk lasts for about ten steps.
        if self.test_host.full.is_some() && self.chance.chance(0.1) {
            self.test_host.free_disk();
        }
        self.finish_searches();
        self.finish_change_jobs();
        self.answer_request();
        self.customize();
        for (connection, client) in &self.test_host.clients {
            assert!(
                client.waiting.is_empty(),
                "{connection:?} waits for an answer"
            );
        }
    }

    /// Ends everything that runs, and checks that no turn and no pending input is left.
    fn finish_everything(&mut self) {
        self.test_host.free_disk();
        self.next_connection += 1;
        let connection = ConnectionId(self.next_connection);
        self.test_host.connect(connection, "me", None);
        self.initialize(connection, "the last");
        self.open_agents();
        // Preparations may wait for host requests to clients.
        loop {
            self.end_preparations();
            if self.test_host.unanswered.is_empty() {
                break;
            }
            self.time_out_requests();
        }
        self.test_host.take_checkpoints();
        self.check_prompts_sent();
        // Ending a turn may start a queued message in another chat.
        let chats: Vec<_> = self.test_host.log.channels.keys().cloned().collect();
        for chat in chats {
            if let Some(turn) = self.active_turn(&chat) {
                let cancel = json!({"type": "chat/turnCancelled", "turnId": turn, "duration": 0});
                let params = json!({"channel": chat, "clientSeq": 1, "action": cancel});
                self.notify(connection, "dispatchAction", params);
            }
        }
        self.test_host.check_mirrors();
        check_at_rest(&self.test_host.log);
        let open = &self.test_host.called;
        assert!(open.is_empty(), "agents wait for {open:?}");
    }

    fn connection(&mut self) -> Option<ConnectionId> {
        let connections: Vec<_> = self.test_host.clients.keys().copied().collect();
        self.chance.pick(&connections).copied()
    }

    fn channel(&mut self) -> Uri {
        let channels = self.test_host.log.channels.iter();
        let running = channels.filter(|(_, state)| {
            let running = TerminalLifecycle::Running;
            matches!(state, ChannelState::Terminal(state) if state.lifecycle == running)
        });
        let running: Vec<_> = running.map(|(uri, _)| uri.clone()).collect();
        if let Some(terminal) = self.chance.pick(&running)
            && self.chance.chance(0.15)
        {
            return terminal.clone();
        }
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
            "ahp-chat:/w1",
            "ahp-chat:/w2",
            "ahp-terminal:/1",
            "ahp-session:/s1/annotations",
        ];
        uri(self.chance.pick(&names).unwrap())
    }

    fn request(&mut self, connection: ConnectionId, method: &str, params: Json) {
        self.send_request(connection, method, params);
    }

    /// Sends a request and returns its effects.
    fn send_request(&mut self, connection: ConnectionId, method: &str, params: Json) -> Effects {
        self.requests += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params});
        self.test_host.step(Input::Received {
            connection,
            message: received(&message.to_string()),
        })
    }

    fn notify(&mut self, connection: ConnectionId, method: &str, params: Json) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.test_host.step(Input::Received {
            connection,
            message: received(&message.to_string()),
        });
    }

    /// Connects a new client, or one that returns with its earlier state.
    fn connect(&mut self) {
        if self.test_host.clients.len() >= 5 {
            return;
        }
        self.next_connection += 1;
        let connection = ConnectionId(self.next_connection);
        let lost: Vec<_> = self.test_host.memories.keys().copied().collect();
        let before = self.chance.pick(&lost).copied();
        match before.filter(|_| self.chance.chance(0.7)) {
            None => {
                self.test_host.connect(connection, "me", None);
                let client = self.client_id(connection);
                self.initialize(connection, &client);
            }
            Some(before) => {
                let client = self.client_id(before);
                if let Some(unreliable) = &mut self.unreliable {
                    unreliable.names.insert(connection, client.clone());
                }
                let memory = self.test_host.memories[&before].clone();
                self.test_host.connect(connection, "me", Some(before));
                self.reconnect(connection, &client, &memory);
                // The host has forgotten the client, which therefore starts over with `initialize`.
                if !self.is_known(connection) {
                    self.test_host
                        .clients
                        .insert(connection, Default::default());
                    self.initialize(connection, &client);
                }
            }
        }
    }

    /// Returns the client id of a connection. There are only three, so that some have two
    /// connections.
    fn client_id(&self, connection: ConnectionId) -> String {
        if let Some(unreliable) = &self.unreliable {
            let name = unreliable.names.get(&connection).cloned();
            return name.unwrap_or_else(|| format!("client-{}", connection.0));
        }
        format!("client-{}", connection.0 % 3)
    }

    fn initialize(&mut self, connection: ConnectionId, client: &str) {
        // Legacy clients get the same in another encoding, and VS Code is allowed more.
        let (version, program) = match self.chance.rng.u8(..8) {
            0 | 1 => ("0.4.0", "old"),
            2 | 3 => ("0.9.0", "vscode-editor-window"),
            _ => ("1.0.0", "new"),
        };
        let params = json!({
            "channel": "ahp-root://", "clientId": client, "protocolVersions": [version],
            "clientInfo": {"name": program}, "initialSubscriptions": ["ahp-root://"],
        });
        self.request(connection, "initialize", params);
    }

    /// Returns `true` if the host accepts requests on a connection.
    fn is_known(&mut self, connection: ConnectionId) -> bool {
        let list = json!({"channel": "ahp-root://"});
        let effects = self.send_request(connection, "listSessions", list);
        let refused = |effect: &agenthost_core::Effect| {
            matches!(
                effect,
                agenthost_core::Effect::Respond { result: Err(_), .. }
            )
        };
        !effects.effects.iter().any(refused)
    }

    fn disconnect(&mut self) {
        if let Some(connection) = self.connection() {
            self.test_host.disconnect(connection);
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

    /// Creates a session. `s2` uses the agent with several directories and a configuration.
    fn create_session(&mut self) {
        if let Some(connection) = self.connection() {
            let name = *self.chance.pick(&["s1", "s2", "s3"]).unwrap();
            let mut params = json!({"channel": uri(name)});
            if name == "s2" {
                params["provider"] = json!("roaming");
                params["workingDirectories"] = json!(["file:///a", "file:///b"]);
            }
            if name == "s1" && self.chance.chance(0.7) {
                params["workingDirectories"] = json!(["file:///w"]);
                if self.chance.chance(0.2) {
                    params["config"] = json!({"isolation": "worktree"});
                }
            }
            if self.chance.chance(0.6) {
                let client = self.client_id(connection);
                params["activeClient"] = json!({"clientId": client, "tools": [{"name": "look"}]});
            }
            self.request(connection, "createSession", params);
            if self.chance.chance(0.8) {
                let session = uri(name);
                let event = AgentEvent::Opened { tools: Vec::new() };
                self.test_host.step(Input::Agent { session, event });
            }
        }
    }

    /// Sends an event of a terminal that the host has opened.
    fn terminal_event(&mut self) {
        let opened = self.test_host.opened.clone();
        let Some(terminal) = self.chance.pick(&opened).cloned() else {
            return;
        };
        let event = match self.chance.rng.u32(0..7) {
            0 => TerminalEvent::CommandDetectionEnabled,
            1 => TerminalEvent::CommandExecuted(CommandLine("ls".to_owned())),
            2 => TerminalEvent::CommandFinished(Some(0)),
            3 => TerminalEvent::Failed("no such folder".to_owned()),
            4 => TerminalEvent::Exited(TerminalEnd::default()),
            _ => TerminalEvent::Output(TerminalData {
                data: "x".to_owned(),
            }),
        };
        self.test_host.step(Input::Terminal { terminal, event });
    }

    /// Sends a random request that matches its shape, on some channel.
    fn any_request(&mut self) {
        let Some(connection) = self.connection() else {
            return;
        };
        let shapes = ClientRequest::shapes();
        let (method, shape) = *self.chance.pick(&shapes).unwrap();
        // These have methods of their own.
        if ["initialize", "reconnect", "subscribe"].contains(&method) {
            return;
        }
        let mut params = self.chance.generate(&shape());
        if self.chance.chance(0.9) {
            params["channel"] = json!(self.channel());
        }
        if method == "completions" && self.chance.chance(0.7) {
            params["text"] = json!("🦀 @ma");
            params["offset"] = json!(self.chance.rng.u32(0..8));
        }
        self.request(connection, method, params);
    }

    /// Completes all pending searches, file jobs and watches; access requests time out.
    fn finish_searches(&mut self) {
        while let Some((connection, id)) = self.test_host.grants.pop_front() {
            self.test_host
                .step(Input::AccessRequestTimedOut { connection, id });
        }
        while let Some(errand) = self.test_host.watches.pop_front() {
            let begun = Ok(());
            self.test_host.step(Input::WatchStarted {
                request: errand,
                outcome: begun,
            });
        }
        while let Some(errand) = self.test_host.errands.pop_front() {
            self.test_host.step(Input::RequestCompleted {
                connection: errand.connection,
                id: errand.id,
                result: Box::new(Ok(ResponseBody::Empty)),
            });
        }
        while let Some(search) = self.test_host.searches.pop_front() {
            let files = Vec::new();
            self.test_host
                .step(Input::FileSearchFinished { search, files });
        }
    }

    /// Lets a client tool call time out, if there is one.
    fn time_out_client_tool(&mut self) {
        if let Some((session, call)) = self.test_host.awaited.pop_front() {
            self.test_host
                .step(Input::ClientToolTimedOut { session, call });
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
                params["initialMessage"] = self.message();
            }
            if self.chance.chance(0.4) {
                let source = uri(self
                    .chance
                    .pick(&["s1.chat", "s2.chat", "s3.chat"])
                    .unwrap());
                let turn = self.random_turn(&source);
                let kind = *self.chance.pick(&["fork", "sideChat"]).unwrap();
                params["source"] = json!({"kind": kind, "chat": source, "turnId": turn});
            }
            self.request(connection, "createChat", params);
        }
    }

    /// Returns a turn of a chat, running or not.
    fn random_turn(&mut self, chat: &Uri) -> TurnId {
        let none = TurnId::from("no such turn");
        let Some(ChannelState::Chat(state)) = self.test_host.log.channels.get(chat) else {
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

    fn active_turn(&self, channel: &Uri) -> Option<TurnId> {
        match self.test_host.log.channels.get(channel)? {
            ChannelState::Chat(chat) => Some(chat.active_turn.as_ref()?.id.clone()),
            _ => None,
        }
    }

    fn end_grace(&mut self) {
        // For a client that is not away, this is a grace period that does not exist.
        let client = ClientId::from(format!("client-{}", self.chance.rng.u32(0..3)));
        let departure = self.test_host.departure_of(&client);
        self.test_host.step(Input::GraceExpired {
            client,
            grace_period: departure,
        });
    }

    /// Kills the host and starts it again. Sometimes old actions are gone from the log.
    fn restart(&mut self) {
        if self.chance.chance(0.3) {
            let last = self.test_host.log.actions.last();
            let last = last.map_or(0, |envelope| envelope.server_seq.0);
            let start = self.test_host.log.start.0.max(last.saturating_sub(20));
            self.test_host.log.start = ServerSeq(start);
        }
        if let Some(unreliable) = &mut self.unreliable {
            let rng = &mut self.chance.rng;
            if let Some(backup) = unreliable.backup.as_ref().filter(|_| rng.u8(..2) == 0) {
                self.test_host.restore_backup(backup);
                unreliable.restored += 1;
            }
            if rng.u8(..2) == 0 {
                unreliable.backup = Some(self.test_host.back_up());
            }
            // Small jumps are the hardest case, because the numbers of epochs overlap.
            let now = u64::try_from(self.test_host.now).unwrap() * 1_000;
            let micros = match rng.u8(..4) {
                0 => now,
                1 => rng.u64(0..now + 1),
                2 => rng.u64(0..200),
                _ => unreliable.clock,
            };
            unreliable.clock = micros;
            self.test_host.log.begin_epoch(micros);
        }
        self.test_host.restart();
    }
}
