//! A host, its log, and clients that mirror what they receive.
//!
//! Every step checks that what is sent to a client is already in the log, comes in order, and only
//! on channels that the client is subscribed to, and that every request gets one response.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use agenthost_core::agent::AgentCommand;
use agenthost_core::customization::driver::CustomizationCommand;
use agenthost_core::tools::mcp::driver::{GatewayCallId, McpCommand};
use agenthost_core::{
    AccessScope, AgentCatalog, AppVisibility, ChangeJob, ChangeTask, ChannelNeed, CheckpointId,
    ClientMessage, ConnectionId, Effect, Effects, Env, FileJob, FileSearch, GracePeriodId, Host,
    HostConfig, HostMemory, Input, LoadExtent, PeerIdentity, Principal, PtyCommand,
    RecoveryOutcome, RememberedClient, ResponseBody, StoreWrite, StoredHost, WatchRequest,
    strip_apps_from_action, strip_apps_from_state,
};
use agenthost_protocol::action::{Action, ActionEnvelope};
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::common::SessionConfigSchema;
use agenthost_protocol::connection::Implementation;
use agenthost_protocol::ids::{ClientId, ProviderId, ServerSeq, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::root::{
    AgentCapabilities, AgentInfo, MultipleChatsCapability, MultipleWorkingDirectoriesCapability,
};
use agenthost_protocol::rpc::HostNotification;
use agenthost_protocol::rpc::{ClientNotification, RequestId};
use agenthost_protocol::session::{SessionAction, SessionInputRequest};
use agenthost_protocol::uri::Uri;

use crate::change_results;
use crate::digest::StepDigest;
use crate::full_disk::FullDisk;
use crate::invariants::{self, Listing, Queues, Verdicts};
use crate::log::{Log, cut};

pub(crate) struct TestHost {
    /// Pending commands for customizations and MCP servers.
    pub(crate) customize: VecDeque<CustomizationCommand>,
    pub(crate) tools: VecDeque<McpCommand>,
    /// Gateway calls that agents wait for.
    pub(crate) called: BTreeSet<GatewayCallId>,
    /// Gateway calls that agents may still announce.
    pub(crate) untold: VecDeque<GatewayCallId>,
    config: HostConfig,
    pub(crate) host: Host,
    pub(crate) log: Log,
    pub(crate) clients: BTreeMap<ConnectionId, Mirror>,
    /// Mirrors of clients whose connection has ended.
    pub(crate) memories: BTreeMap<ConnectionId, Mirror>,
    /// Pending searches for files.
    pub(crate) searches: VecDeque<Box<FileSearch>>,
    /// Scheduled previews of terminal output.
    pub(crate) previews: VecDeque<Input>,
    /// Scheduled expirations of access tokens.
    pub(crate) tokens: VecDeque<Input>,
    pub(crate) errands: VecDeque<Box<FileJob>>,
    pub(crate) watches: VecDeque<Box<WatchRequest>>,
    pub(crate) changes: VecDeque<Box<ChangeJob>>,
    pub(crate) looks: VecDeque<(Uri, u64)>,
    pub(crate) grants: VecDeque<(ConnectionId, RequestId)>,
    pub(crate) awaited: VecDeque<(Uri, Arc<SessionInputRequest>)>,
    /// Host requests without an answer; `unanswered` has those that have not timed out.
    pub(crate) asked: VecDeque<(ConnectionId, RequestId)>,
    pub(crate) unanswered: VecDeque<(ConnectionId, RequestId)>,
    /// Turns that were sent to agents, with their chats.
    pub(crate) told: BTreeSet<(Uri, TurnId)>,
    /// Terminals that the host has opened, the latest last.
    pub(crate) opened: Vec<Uri>,
    pub(crate) queues: Queues,
    pub(crate) verdicts: Verdicts,
    pub(crate) now: i64,
    pub(crate) steps: u128,
    pub(crate) digest: Option<StepDigest>,
    /// The stored memory of the host.
    pub(crate) memory: BTreeMap<String, String>,
    /// Set while the disk is full.
    pub(crate) full: Option<FullDisk>,
}

/// A copy of the data directory, with the state that tests keep about it.
#[derive(Debug, Clone)]
pub(crate) struct Backup {
    log: Log,
    queues: Queues,
}

/// A client's copy of the state of the host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mirror {
    pub(crate) channels: BTreeMap<Uri, ChannelState>,
    pub(crate) seen: ServerSeq,
    /// The last sequence number that the client has seen of each channel.
    pub(crate) cursors: BTreeMap<Uri, ServerSeq>,
    pub(crate) waiting: BTreeSet<RequestId>,
    pub(crate) closed: bool,
    /// The list of sessions, if the client is subscribed to the root channel.
    pub(crate) listing: Option<Listing>,
}

/// Returns the description of an agent without capabilities.
pub(crate) fn agent_info(name: &str) -> AgentInfo {
    AgentInfo {
        provider: ProviderId::from(name),
        display_name: name.to_owned(),
        description: String::new(),
        models: Vec::new(),
        protected_resources: None,
        customizations: None,
        capabilities: None,
    }
}

pub(crate) fn config() -> HostConfig {
    let chatty = AgentInfo {
        capabilities: Some(AgentCapabilities {
            multiple_chats: Some(MultipleChatsCapability {
                fork: Some(true),
                side_chat: Some(true),
            }),
            multiple_working_directories: None,
        }),
        ..agent_info("shell")
    };
    let resource = serde_json::json!({"resource": "https://example.org/api", "required": false});
    let resource = agenthost_protocol::wire::from_str(&resource.to_string()).unwrap();
    let roaming = AgentInfo {
        protected_resources: Some(vec![resource]),
        capabilities: Some(AgentCapabilities {
            multiple_chats: Some(MultipleChatsCapability::default()),
            multiple_working_directories: Some(MultipleWorkingDirectoriesCapability {
                immutable_primary: Some(true),
                primary_replacement: Some(true),
            }),
        }),
        ..agent_info("roaming")
    };
    HostConfig {
        server: Implementation {
            name: "agenthost".to_owned(),
            version: None,
            title: None,
        },
        catalog: AgentCatalog {
            agents: vec![chatty, agent_info("other"), roaming],
            schemas: BTreeMap::from([(ProviderId::from("roaming"), schema())]),
            steerable: BTreeSet::from([ProviderId::from("shell")]),
            ..AgentCatalog::default()
        },
        granted_roots: Vec::new(),
        default_directory: None,
        grace_period: Millis(30_000),
        client_retention: Millis(24 * 60 * 60 * 1_000),
        max_remembered_clients: 2,
        max_subscriptions: 8,
        max_sessions: 1_000,
    }
}

/// Returns the configuration schema of the agent `roaming`.
fn schema() -> SessionConfigSchema {
    let schema = serde_json::json!({
        "type": "object",
        "properties": {
            "mode": {"type": "string", "title": "Mode", "enum": ["ask", "do"], "default": "ask", "sessionMutable": true},
            "branch": {"type": "string", "title": "Branch"},
        },
        "required": ["mode"],
    });
    agenthost_protocol::wire::from_str(&schema.to_string()).unwrap()
}

impl TestHost {
    /// Returns the current grace period of a client that is away.
    pub(crate) fn departure_of(&self, client: &ClientId) -> GracePeriodId {
        let absent = self.host.absent_clients();
        let mut absent = absent.into_iter().filter(|(other, _)| other == client);
        absent
            .next()
            .map(|(_, departure)| departure)
            .unwrap_or_default()
    }

    pub(crate) fn new() -> Self {
        Self::with(config())
    }

    pub(crate) fn with(config: HostConfig) -> Self {
        let log = Log::default();
        let mut test_host = TestHost {
            host: Host::new(config.clone(), log.remember()),
            config,
            log,
            clients: BTreeMap::new(),
            memories: BTreeMap::new(),
            searches: VecDeque::new(),
            tokens: VecDeque::new(),
            previews: VecDeque::new(),
            errands: VecDeque::new(),
            watches: VecDeque::new(),
            changes: VecDeque::new(),
            looks: VecDeque::new(),
            grants: VecDeque::new(),
            awaited: VecDeque::new(),
            asked: VecDeque::new(),
            unanswered: VecDeque::new(),
            told: BTreeSet::new(),
            customize: VecDeque::new(),
            tools: VecDeque::new(),
            called: BTreeSet::new(),
            untold: VecDeque::new(),
            opened: Vec::new(),
            queues: Queues::default(),
            verdicts: Verdicts::default(),
            now: 1_767_603_600_000,
            steps: 0,
            digest: None,
            memory: BTreeMap::new(),
            full: None,
        };
        test_host.take(Input::Started, &mut Effects::default());
        test_host
    }

    /// Takes a step: loads the channels that it needs, and delivers its effects. Returns the
    /// effects.
    pub(crate) fn step(&mut self, input: Input) -> Effects {
        if self.full.is_some() {
            return self.step_full(input);
        }
        let mut all = Effects::default();
        if let Some(client) = self.host.missing_client(&input) {
            let remembered = self.log.load_client(&client);
            self.load_client(client, remembered);
        }
        loop {
            let needs = self.host.missing_channels(&input);
            if needs.is_empty() {
                break;
            }
            for need in needs {
                self.restore(need, &mut all);
            }
        }
        self.note_message(&input);
        self.take(input, &mut all);
        all
    }

    /// Records what a client expects after a message.
    pub(crate) fn note_message(&mut self, input: &Input) {
        if let Input::Received {
            connection,
            message:
                ClientMessage::Request(id, _)
                | ClientMessage::Invalid(id, _)
                | ClientMessage::ToMcpServer(Some(id), _),
        } = input
        {
            let client = self.clients.entry(*connection).or_default();
            assert!(client.waiting.insert(id.clone()), "{id:?} is used twice");
        }
        if let Input::Received {
            connection,
            message: ClientMessage::Notification(notification),
        } = input
            && let ClientNotification::Unsubscribe(params) = &**notification
            && let Some(client) = self.clients.get_mut(connection)
        {
            client.channels.remove(&params.channel);
        }
    }

    /// Takes the checkpoints that turns wait for.
    pub(crate) fn take_checkpoints(&mut self) -> Vec<Effects> {
        let is_awaited = |job: &ChangeJob| {
            matches!(
                &job.task,
                ChangeTask::TakeCheckpoint {
                    checkpoint: CheckpointId::BeforeTurn(_),
                    ..
                }
            )
        };
        let mut all = Vec::new();
        while let Some(index) = self.changes.iter().position(|job| is_awaited(job)) {
            let job = self.changes.remove(index).unwrap();
            all.push(self.step(change_results::taken(*job)));
        }
        all
    }

    fn restore(&mut self, need: ChannelNeed, all: &mut Effects) {
        let loaded = self.log.load(&need);
        let channel = need.channel;
        self.take(Input::ChannelLoaded { channel, loaded }, all);
    }

    /// Passes the record of a client to the host. Unlike other inputs, it has no effects.
    pub(crate) fn load_client(
        &mut self,
        client: ClientId,
        remembered: Option<Box<RememberedClient>>,
    ) {
        let env = Env {
            now: Millis(self.now),
            nonce: self.steps,
        };
        let mut out = Effects::default();
        let loaded = Input::ClientLoaded { client, remembered };
        self.host.step(&env, loaded, &mut out);
        assert!(out.writes.is_empty() && out.effects.is_empty());
    }

    /// Returns the environment of the next step.
    pub(crate) fn next_env(&mut self) -> Env {
        self.steps += 1;
        Env {
            now: Millis(self.now),
            nonce: self.steps,
        }
    }

    pub(crate) fn take(&mut self, input: Input, all: &mut Effects) {
        let env = self.next_env();
        let mut out = Effects::default();
        self.host.step(&env, input, &mut out);
        if let Some(digest) = &mut self.digest {
            digest.record(&out);
        }
        for write in &out.writes {
            self.log.append(write);
            match write {
                StoreWrite::Action(envelope) => {
                    self.queues.observe(envelope);
                    if envelope.origin.is_some() {
                        let name = envelope.action.info().name;
                        *self.verdicts.accepted.entry(name).or_default() += 1;
                    }
                }
                StoreWrite::ChannelRemoved { channel, .. } => self.queues.gone(channel),
                _ => {}
            }
        }
        self.deliver_all(&out);
        for write in &out.writes {
            // The root channel is created again with its subscribers when its schema changes.
            if let StoreWrite::ChannelRemoved { channel, .. } = write
                && *channel != Uri::from("ahp-root://")
            {
                for client in self.clients.values_mut() {
                    client.channels.remove(channel);
                }
            }
        }
        all.writes.append(&mut out.writes);
        all.effects.append(&mut out.effects);
    }

    pub(crate) fn deliver_all(&mut self, out: &Effects) {
        for effect in &out.effects {
            if let Effect::PublishToOne { envelope, .. } = effect
                && envelope.origin.is_some()
            {
                let name = envelope.action.info().name;
                *self.verdicts.accepted.entry(name).or_default() += 1;
            }
            self.verdicts.observe(effect);
            self.deliver(effect);
        }
    }

    fn deliver(&mut self, effect: &Effect) {
        match effect {
            Effect::Respond {
                connection,
                id,
                result: answer,
            } => {
                let client = self.clients.get_mut(connection).unwrap();
                assert!(client.waiting.remove(id), "{id:?} was answered twice");
                match answer {
                    Ok(ResponseBody::Initialize(result)) => {
                        client.seen = result.server_seq;
                        client.start(&result.snapshots);
                    }
                    Ok(ResponseBody::Subscribe(result)) => {
                        client.start(result.snapshot.as_slice());
                    }
                    Ok(ResponseBody::Snapshots(result)) => {
                        client.channels.clear();
                        client.seen = ServerSeq(0);
                        client.start(&result.snapshots);
                    }
                    Ok(ResponseBody::Replay {
                        after,
                        until,
                        channels,
                        missing,
                        apps: seen,
                    }) => {
                        for gone in missing {
                            client.channels.remove(gone);
                        }
                        for envelope in self.log.replay(*after, *until, channels) {
                            let plain = strip_apps_from_action(&envelope)
                                .filter(|_| *seen != AppVisibility::Visible);
                            client.apply(plain.as_ref().unwrap_or(&envelope));
                        }
                    }
                    Ok(ResponseBody::Recoveries {
                        channels,
                        until,
                        apps: seen,
                    }) => client.recover(channels, *until, *seen, &self.log),
                    Ok(
                        ResponseBody::Null
                        | ResponseBody::Empty
                        | ResponseBody::ListSessions(_)
                        | ResponseBody::MoveChat(_)
                        | ResponseBody::ChangesetOperation(_)
                        | ResponseBody::ResolveSessionConfig(_)
                        | ResponseBody::SessionConfigCompletions(_)
                        | ResponseBody::Completions(_)
                        | ResponseBody::CreateResourceWatch(_)
                        | ResponseBody::ResourceRead(_)
                        | ResponseBody::ResourceList(_)
                        | ResponseBody::ResourceResolve(_)
                        | ResponseBody::McpResult(_),
                    )
                    | Err(_) => {}
                }
                // A client that subscribes to the root channel requests the list of sessions.
                let joined = matches!(
                    answer,
                    Ok(ResponseBody::Initialize(_)
                        | ResponseBody::Subscribe(_)
                        | ResponseBody::Snapshots(_)
                        | ResponseBody::Replay { .. }
                        | ResponseBody::Recoveries { .. })
                );
                if joined && client.is_subscribed_to_root() {
                    client.listing = Some(match answer {
                        Ok(ResponseBody::Subscribe(_)) => Listing::of(&self.log),
                        _ => Listing::of_reconnected_client(&self.log),
                    });
                }
            }
            Effect::Publish { envelope, to } => {
                assert!(
                    self.log.actions.iter().any(|logged| logged == envelope),
                    "published before it was logged: {envelope:?}"
                );
                for recipient in to {
                    let client = self.clients.get_mut(&recipient.connection).unwrap();
                    client.apply(envelope);
                }
            }
            Effect::PublishLegacy {
                envelope,
                before,
                view: scene,
                to,
            } => {
                for connection in to {
                    let client = self.clients.get_mut(connection).unwrap();
                    client.apply(envelope);
                }
                // The states that come with an action are those right after it.
                if let Some(before) = before {
                    let mut after = before.clone();
                    let outcome = after.reduce(&envelope.action);
                    assert!(matches!(outcome, Outcome::Applied | Outcome::NoOp));
                    let found = scene
                        .channels
                        .iter()
                        .find(|(uri, ..)| *uri == envelope.channel);
                    let mut found = found.unwrap().2.clone();
                    // MCP apps are hidden from some clients.
                    strip_apps_from_state(&mut found);
                    strip_apps_from_state(&mut after);
                    assert_eq!(found, after);
                }
            }
            Effect::PublishToOne {
                connection,
                envelope,
            } => {
                self.clients.get_mut(connection).unwrap().apply(envelope);
            }
            Effect::RejectAction {
                connection,
                rejection,
            } => {
                let client = self.clients.get_mut(connection).unwrap();
                assert!(rejection.server_seq > client.seen);
                client.seen = rejection.server_seq;
                if let Some(cursor) = client.cursors.get_mut(&rejection.channel) {
                    *cursor = rejection.server_seq;
                }
            }
            Effect::CloseConnection { connection } => {
                self.clients.get_mut(connection).unwrap().closed = true;
            }
            Effect::Customization(errand) => self.customize.push_back((**errand).clone()),
            Effect::Mcp(errand) => {
                if let McpCommand::CompleteCall { call, .. }
                | McpCommand::ResolveApproval { call, .. } = &**errand
                {
                    self.called.remove(call);
                }
                self.tools.push_back((**errand).clone());
            }
            Effect::ForwardMcpNotification { .. } | Effect::TrustCode { .. } => {}
            Effect::SearchFiles(search) => self.searches.push_back(search.clone()),
            Effect::AccessFiles(errand) => self.errands.push_back(errand.clone()),
            // Only agents use tokens.
            Effect::StoreToken { .. } | Effect::SetTokenPrincipals { .. } => {}
            Effect::Watch(errand) => self.watches.push_back(errand.clone()),
            Effect::TrackChanges(errand) => self.changes.push_back(errand.clone()),
            Effect::Schedule { input, .. } => match &**input {
                Input::CallAnnouncementTimedOut { call } => self.untold.push_back(*call),
                Input::ClientToolTimedOut { session, call } => {
                    self.awaited.push_back((session.clone(), Arc::clone(call)));
                }
                Input::ChangesetRefreshDue { channel, round } => {
                    self.looks.push_back((channel.clone(), *round));
                }
                Input::PreviewDue { .. } => self.previews.push_back((**input).clone()),
                Input::TokenExpired { .. } => self.tokens.push_back((**input).clone()),
                Input::HostRequestTimedOut { connection, id } => {
                    self.unanswered.push_back((*connection, id.clone()));
                }
                Input::AccessRequestTimedOut { connection, id } => {
                    self.grants.push_back((*connection, id.clone()));
                }
                _ => {}
            },
            Effect::SendRequest { connection, id, .. } => {
                assert!(self.clients.contains_key(connection), "nobody is there");
                let asked = (*connection, id.clone());
                assert!(!self.asked.contains(&asked), "{asked:?} is used twice");
                self.asked.push_back(asked);
            }
            Effect::Notify { notification, to } => {
                for connection in to {
                    let client = self.clients.get_mut(connection).unwrap();
                    // `auth/required` also goes to clients without a list of sessions.
                    if !matches!(**notification, HostNotification::AuthRequired(_)) {
                        client.listing.as_mut().unwrap().observe(notification);
                    }
                }
            }
            Effect::Terminal {
                terminal, command, ..
            } => {
                if let PtyCommand::Open { .. } = &**command {
                    self.opened.push(terminal.clone());
                }
            }
            Effect::Agent { command, .. } => {
                if let AgentCommand::Prompt { chat, turn, .. }
                | AgentCommand::Resume { chat, turn } = &**command
                {
                    self.told.insert((chat.clone(), turn.clone()));
                }
            }
            Effect::ReportDiscarded { .. }
            | Effect::ReportRemoved { .. }
            | Effect::StoreContent(_)
            | Effect::DeleteContent { .. }
            | Effect::ShareContent { .. }
            | Effect::Unwatch { .. } => {}
        }
    }

    /// Connects a client, with the mirror that it had on another connection.
    pub(crate) fn connect(
        &mut self,
        connection: ConnectionId,
        principal: &str,
        memory: Option<ConnectionId>,
    ) -> Effects {
        let memory = memory.and_then(|before| self.memories.remove(&before));
        let mut mirror = memory.unwrap_or_default();
        mirror.waiting.clear();
        self.clients.insert(connection, mirror);
        self.step(Input::Connected {
            connection,
            peer: peer_named(principal),
        })
    }

    pub(crate) fn disconnect(&mut self, connection: ConnectionId) -> Effects {
        if let Some(mirror) = self.clients.remove(&connection) {
            self.memories.insert(connection, mirror);
        }
        self.step(Input::Disconnected { connection })
    }

    /// Kills the host and starts it again. Only the log and the mirrors of the clients are kept.
    pub(crate) fn restart(&mut self) -> Effects {
        self.memories.append(&mut self.clients);
        self.searches.clear();
        self.errands.clear();
        self.watches.clear();
        self.grants.clear();
        self.awaited.clear();
        self.asked.clear();
        self.unanswered.clear();
        self.opened.clear();
        self.customize.clear();
        self.tools.clear();
        self.called.clear();
        self.untold.clear();
        // What could not be stored is lost. The host begins an epoch, as after every start.
        if self.full.take().is_some() {
            let now = u64::try_from(self.now).unwrap();
            self.log.begin_epoch(now * 1_000);
        }
        self.host = Host::new(self.config.clone(), self.log.remember());
        let mut all = Effects::default();
        self.take(Input::Started, &mut all);
        for channel in self.host.channels_to_recover() {
            let extent = LoadExtent::Tail;
            self.restore(ChannelNeed { channel, extent }, &mut all);
        }
        all
    }

    /// Kills the host and starts it again, while agents and terminals go on in the runner. Jobs and
    /// timers of the host are lost.
    pub(crate) fn take_over(&mut self) -> Effects {
        self.memories.append(&mut self.clients);
        self.searches.clear();
        self.previews.clear();
        self.tokens.clear();
        self.errands.clear();
        self.watches.clear();
        self.changes.clear();
        self.looks.clear();
        self.grants.clear();
        self.awaited.clear();
        self.asked.clear();
        self.unanswered.clear();
        self.untold.clear();
        for part in self.host.memory_parts() {
            match part.content {
                Some(content) => self.memory.insert(part.name, content),
                None => self.memory.remove(&part.name),
            };
        }
        let memory = HostMemory::decode(self.memory.clone()).unwrap();
        let stored = StoredHost {
            memory: Some(memory),
            ..self.log.remember()
        };
        self.host = Host::new(self.config.clone(), stored);
        let mut all = Effects::default();
        self.take(Input::Started, &mut all);
        for channel in self.host.channels_to_recover() {
            let extent = LoadExtent::Tail;
            self.restore(ChannelNeed { channel, extent }, &mut all);
        }
        self.take(Input::Recovered, &mut all);
        all
    }

    /// Copies the data directory.
    pub(crate) fn back_up(&self) -> Backup {
        Backup {
            log: self.log.clone(),
            queues: self.queues.clone(),
        }
    }

    /// Replaces the data directory by a copy: everything that was written later is lost. The host
    /// has to be restarted.
    pub(crate) fn restore_backup(&mut self, backup: &Backup) {
        self.log = backup.log.clone();
        self.queues = backup.queues.clone();
    }

    /// Checks that every mirror and the host match the log.
    pub(crate) fn check_mirrors(&self) {
        for (channel, logged) in &self.log.channels {
            let Some(here) = self.host.loaded(channel) else {
                continue;
            };
            let expected = cut(logged, here.evicted_turns.len());
            assert_eq!(*here, expected, "the host and the log differ on {channel}");
        }
        invariants::check(&self.log);
        self.queues.check(&self.log.channels);
        for (connection, mirror) in &self.clients {
            if let Some(listing) = mirror
                .listing
                .as_ref()
                .filter(|_| mirror.is_subscribed_to_root())
            {
                listing.check(&self.log);
            }
            for (channel, state) in &mirror.channels {
                let host = self.log.channels.get(channel);
                let host = host.unwrap_or_else(|| panic!("{channel} is gone"));
                let host = windowed(host, state);
                assert_eq!(
                    comparable(state),
                    comparable(&host),
                    "{connection:?} and the host differ on {channel}"
                );
            }
        }
    }
}

/// Returns the host's state of a channel, without the turns that the client has not been sent.
fn windowed(host: &ChannelState, mirror: &ChannelState) -> ChannelState {
    let (ChannelState::Chat(whole), ChannelState::Chat(part)) = (host, mirror) else {
        return host.clone();
    };
    let mut whole = (**whole).clone();
    let hidden = whole.turns.len().saturating_sub(part.turns.len());
    if part.turns_next_cursor.is_some() {
        assert!(hidden > 0 || whole.turns.is_empty() || part.turns.len() <= whole.turns.len());
        whole.turns = whole.turns.iter().skip(hidden).cloned().collect();
        whole.turns_next_cursor.clone_from(&part.turns_next_cursor);
    }
    whole.into()
}

/// Removes what no action carries. A snapshot has the schema of the settings and derives the
/// activity of a session, and a mirror keeps what the snapshot has.
fn comparable(state: &ChannelState) -> ChannelState {
    let mut state = state.clone();
    strip_apps_from_state(&mut state);
    if let ChannelState::Root(root) = &mut state {
        let config = &mut Arc::make_mut(root).config;
        config
            .iter_mut()
            .for_each(|config| config.schema.properties.clear());
    }
    if let ChannelState::Session(session) = &mut state {
        let session = Arc::make_mut(session);
        let idle = agenthost_protocol::common::SessionStatus::IDLE;
        session.metadata.status = session.metadata.status.with_activity(idle);
        session.metadata.annotations = None;
    }
    if let ChannelState::Chat(chat) = &mut state {
        Arc::make_mut(chat).summary.changes = None;
    }
    state
}

impl Mirror {
    fn is_subscribed_to_root(&self) -> bool {
        self.channels.contains_key(&Uri::from("ahp-root://"))
    }

    fn start(&mut self, snapshots: &[Snapshot]) {
        for snapshot in snapshots {
            self.seen = self.seen.max(snapshot.from_seq);
            let channel = &snapshot.resource;
            self.cursors.insert(channel.clone(), snapshot.from_seq);
            self.channels
                .insert(channel.clone(), snapshot.state.clone());
        }
    }

    /// Recovers each channel on its own, and drops those without an outcome.
    fn recover(
        &mut self,
        outcomes: &[RecoveryOutcome],
        until: ServerSeq,
        seen: AppVisibility,
        log: &Log,
    ) {
        let mut before = std::mem::take(&mut self.channels);
        let cursors = std::mem::take(&mut self.cursors);
        for outcome in outcomes {
            match outcome {
                RecoveryOutcome::Replay { channel, after } => {
                    assert_eq!(cursors.get(channel), Some(after), "{channel}");
                    let state = before.remove(channel).unwrap();
                    self.channels.insert(channel.clone(), state);
                    self.cursors.insert(channel.clone(), *after);
                    for envelope in log.replay(*after, until, std::slice::from_ref(channel)) {
                        let plain = strip_apps_from_action(&envelope)
                            .filter(|_| seen != AppVisibility::Visible);
                        self.advance(plain.as_ref().unwrap_or(&envelope));
                    }
                }
                RecoveryOutcome::Snapshot(snapshot) => self.start(std::slice::from_ref(snapshot)),
                RecoveryOutcome::Stateless(_) | RecoveryOutcome::Missing(_) => {}
            }
        }
        // Everything that the client has seen is part of the current history, up to here.
        self.seen = self.cursors.values().max().copied().unwrap_or_default();
    }

    fn apply(&mut self, envelope: &ActionEnvelope) {
        assert!(
            envelope.server_seq > self.seen,
            "out of order, or twice: {envelope:?} after {:?}",
            self.seen
        );
        self.seen = envelope.server_seq;
        self.advance(envelope);
    }

    /// Applies an action to its channel.
    fn advance(&mut self, envelope: &ActionEnvelope) {
        let cursor = self.cursors.entry(envelope.channel.clone()).or_default();
        assert!(
            envelope.server_seq > *cursor,
            "out of order, or twice: {envelope:?} after {cursor:?}"
        );
        *cursor = envelope.server_seq;
        let state = self.channels.get_mut(&envelope.channel);
        let state = state.unwrap_or_else(|| panic!("not subscribed: {envelope:?}"));
        let outcome = state.reduce(&envelope.action);
        // VS Code renames a session on its chat, and waits for the echo there.
        let renames = matches!(
            *envelope.action,
            Action::Session(SessionAction::TitleChanged(_))
        );
        assert!(
            matches!(outcome, Outcome::Applied | Outcome::NoOp) || renames,
            "{outcome:?}: {envelope:?}"
        );
    }
}

/// Returns the peer of a name: `NAME`, or `NAME/SCOPE` for a paired device.
fn peer_named(name: &str) -> PeerIdentity {
    match name.split_once('/') {
        None => PeerIdentity::with_all_rights(Principal(name.to_owned())),
        Some((name, scope)) => PeerIdentity {
            principal: Principal(format!("device:{name}")),
            scope: AccessScope::named(scope).unwrap(),
            device_name: Some(name.to_owned()),
        },
    }
}
