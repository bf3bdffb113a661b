//! The host: all state of the program, and its restoration from the store at startup.

pub(crate) mod channels;
pub(crate) mod commit;
pub(crate) mod config;
pub(crate) mod effect;
pub(crate) mod error;
pub(crate) mod eviction;
pub(crate) mod input;
pub(crate) mod load_plan;
pub(crate) mod react;
pub(crate) mod recovery;
pub(crate) mod settings;
pub(crate) mod step;

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_protocol::changeset::ChangesetState;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ChatState;
use agenthost_protocol::ids::{ClientId, ProviderId, ServerSeq, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::root::{AgentsChanged, RootAction, RootState};
use agenthost_protocol::session::{SessionState, SessionSummary};
use agenthost_protocol::terminal::TerminalState;
use agenthost_protocol::uri::{RootChannel, Uri};

use crate::agent::content::{clean_agents, clean_schema};
use crate::agent::models::offer_models;
use crate::agent::options;
use crate::agent::options::AgentOptions;
use crate::changeset::ChangesetTable;
use crate::chat::turn::TurnTable;
use crate::connection::epochs::{HostLog, WriterEpochs};
use crate::connection::host_requests::OpenRequests;
use crate::connection::registry::{
    ClientEntry, ClientPresence, ClientRecord, ClientRegistry, GracePeriodId,
};
use crate::connection::token_registry::TokenRegistry;
use crate::customization::CustomizationRegistry;
use crate::host::channels::{ChannelEntry, ChannelResidency, ChannelTable};
use crate::host::config::HostConfig;
use crate::host::effect::Effects;
use crate::host::input::LoadedChannel;
use crate::host::recovery::memory::HostMemory;
use crate::session::index::SessionIndex;
use crate::session::list::{ListChanges, RemovedSession};
use crate::terminal::TerminalTable;
use crate::tools::ToolState;

/// The host as the store returns it at startup.
#[derive(Debug, Clone, Default)]
pub struct StoredHost {
    /// The state of the root channel; `None` at the first start.
    pub root: Option<RootState>,
    /// The last sequence number in use.
    pub seq: ServerSeq,
    /// The log is complete after this number. A client with an earlier cursor gets snapshots
    /// instead of a replay.
    pub log_start: ServerSeq,
    /// The ranges of sequence numbers of earlier runs.
    pub epochs: WriterEpochs,
    /// Summaries of all stored sessions.
    pub sessions: Vec<SessionSummary>,
    /// All stored channels. Their states are loaded on demand.
    pub channels: Vec<StoredChannel>,
    /// The clients that were present when the host stopped.
    pub clients: Vec<(ClientId, ClientRecord)>,
    /// The options that each agent reported in its last run.
    pub agent_options: Vec<(ProviderId, AgentOptions)>,
    /// The sessions that were removed from the list most recently.
    pub removed_sessions: Vec<RemovedSession>,
    /// The memory of the previous process of the host, if its work continues.
    pub memory: Option<HostMemory>,
    /// Rows that could not be decoded, as text for the log.
    pub unreadable: Vec<String>,
}

/// A channel whose state is in the store.
#[derive(Debug, Clone)]
pub struct StoredChannel {
    pub channel: Uri,
    /// The session that owns the channel; `None` for channels of the host itself.
    pub session: Option<Uri>,
    /// The last sequence number before the channel was created.
    pub created_seq: ServerSeq,
}

/// The host as a state machine. See [`Host::step`].
#[derive(Debug, Clone)]
pub struct Host {
    pub(crate) config: HostConfig,
    pub(crate) log: HostLog,
    pub(crate) channels: ChannelTable,
    pub(crate) sessions: SessionIndex,
    pub(crate) clients: ClientRegistry,
    pub(crate) requests: OpenRequests,
    pub(crate) tokens: TokenRegistry,
    pub(crate) turns: TurnTable,
    pub(crate) terminals: TerminalTable,
    pub(crate) changesets: ChangesetTable,
    pub(crate) customizations: CustomizationRegistry,
    pub(crate) tools: ToolState,
}

impl Host {
    /// Creates a host that continues after the last stored action.
    pub fn new(mut config: HostConfig, stored_host: StoredHost) -> Self {
        clean_agents(&mut config.catalog.agents);
        config.catalog.schemas.values_mut().for_each(clean_schema);
        options::restore_agent_options(&mut config, stored_host.agent_options);
        offer_models(&mut config.catalog.agents, stored_host.root.as_ref());
        let list_changes = ListChanges::since(stored_host.seq, stored_host.removed_sessions);
        let mut host = Host {
            config,
            log: HostLog {
                seq: stored_host.seq,
                log_start: stored_host.log_start,
                epochs: stored_host.epochs,
            },
            channels: ChannelTable::default(),
            sessions: SessionIndex::new(list_changes),
            clients: ClientRegistry::default(),
            requests: OpenRequests::default(),
            tokens: TokenRegistry::default(),
            turns: TurnTable::default(),
            terminals: TerminalTable::default(),
            changesets: ChangesetTable::default(),
            customizations: CustomizationRegistry::default(),
            tools: ToolState::default(),
        };
        if let Some(memory) = stored_host.memory {
            host.restore_memory(memory);
        }
        for stored in stored_host.channels {
            host.insert_channel(stored, ChannelResidency::Evicted);
        }
        for summary in stored_host.sessions {
            let summary = Arc::new(summary);
            host.sessions.insert(summary.resource.clone(), summary);
        }
        if let Some(root) = stored_host.root {
            let stored = StoredChannel {
                channel: RootChannel.into(),
                session: None,
                created_seq: ServerSeq(0),
            };
            host.insert_channel(
                stored,
                ChannelResidency::Resident(LoadedChannel::whole(root)),
            );
        }
        for (id, record) in stored_host.clients {
            let presence = ClientPresence::Grace(GracePeriodId::default());
            host.clients
                .clients
                .insert(id, ClientEntry { record, presence });
        }
        host
    }

    /// Returns the channels to load before any other input: chats whose turn was active when
    /// the host stopped, other channels with running work, and their sessions. `Input::Recovered`
    /// follows.
    pub fn channels_to_recover(&self) -> Vec<Uri> {
        let in_progress = agenthost_protocol::common::SessionStatus::IN_PROGRESS;
        let mut found = Vec::new();
        for (session, summary) in self.sessions.iter() {
            let chats = summary.chats.iter().flatten();
            let running = chats.filter(|chat| {
                chat.status
                    .is_none_or(|status| status.contains(in_progress))
            });
            let running: Vec<_> = running.map(|chat| chat.resource.clone()).collect();
            if !running.is_empty() {
                found.push(session.clone());
                found.extend(running);
            }
        }
        for channel in self.channels_with_work() {
            found.extend(self.session_of(channel).cloned());
            found.push(channel.clone());
        }
        found
    }

    /// Returns the disconnected clients with their grace periods. At startup the caller has to
    /// start the timers of these periods.
    pub fn absent_clients(&self) -> Vec<(ClientId, GracePeriodId)> {
        self.clients.absent_clients()
    }

    /// Returns `true` if a turn runs or waits for a user, in any session.
    pub fn has_running_turn(&self) -> bool {
        let in_progress = agenthost_protocol::common::SessionStatus::IN_PROGRESS;
        let mut sessions = self.sessions.summaries();
        sessions.any(|summary| summary.metadata.status.contains(in_progress))
    }

    /// Returns the last sequence number in use.
    pub fn seq(&self) -> ServerSeq {
        self.log.seq
    }

    /// Returns the time after which the host releases a disconnected client.
    pub fn grace_period(&self) -> Millis {
        self.config.grace_period
    }

    /// Updates the root channel to the configuration of this run. Clients that reconnect
    /// receive these changes as ordinary actions.
    pub(crate) fn start(&mut self, out: &mut Effects) {
        let root = Uri::from(RootChannel);
        if !self.channels.contains(&root) {
            let state = RootState {
                agents: self.config.catalog.agents.clone(),
                active_sessions: Some(0),
                terminals: None,
                config: None,
                meta: None,
            };
            self.create_channel(&root, None, state.into(), out);
        }
        let Some(state) = self.root() else {
            return;
        };
        if state.agents != self.config.catalog.agents {
            let agents = self.config.catalog.agents.clone();
            let changed = RootAction::AgentsChanged(AgentsChanged { agents });
            self.originate(&root, changed, out);
        }
        self.refresh_settings(out);
        self.sync_trusted_code(out);
        self.publish_access_requests(out);
        self.publish_storage_problem(None, out);
        self.remove_stale_watches(out);
        self.mark_terminals_exited(out);
        self.dispose_orphaned_provisional(out);
    }

    pub(crate) fn insert_channel(&mut self, stored: StoredChannel, residency: ChannelResidency) {
        let channel = ChannelEntry {
            session: stored.session,
            created_seq: stored.created_seq,
            residency,
            subscribers: BTreeMap::new(),
        };
        self.channels.insert(stored.channel, channel);
    }

    /// Returns the state of a channel, if it is resident.
    pub fn state(&self, channel: &Uri) -> Option<&ChannelState> {
        self.loaded(channel).map(|loaded| &loaded.state)
    }

    /// Returns the resident part of a channel, if any.
    pub fn loaded(&self, channel: &Uri) -> Option<&LoadedChannel> {
        self.channels.get(channel)?.loaded()
    }

    /// Returns the turns of a chat that are only in the store.
    pub(crate) fn evicted_turns(&self, chat: &Uri) -> &[TurnId] {
        self.loaded(chat)
            .map_or(&[], |loaded| &loaded.evicted_turns)
    }

    /// Returns the state of the root channel.
    pub(crate) fn root(&self) -> Option<&RootState> {
        self.state(&RootChannel.into())?.as_root()
    }

    pub(crate) fn session(&self, channel: &Uri) -> Option<&SessionState> {
        self.state(channel)?.as_session()
    }

    pub(crate) fn chat(&self, channel: &Uri) -> Option<&ChatState> {
        self.state(channel)?.as_chat()
    }

    pub(crate) fn terminal(&self, channel: &Uri) -> Option<&TerminalState> {
        self.state(channel)?.as_terminal()
    }

    pub(crate) fn changeset(&self, channel: &Uri) -> Option<&ChangesetState> {
        self.state(channel)?.as_changeset()
    }

    /// Returns the session that owns a channel.
    pub fn session_of(&self, channel: &Uri) -> Option<&Uri> {
        self.channels.get(channel)?.session.as_ref()
    }
}
