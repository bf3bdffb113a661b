//! The host: all state, and the one function that changes it.

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
use crate::session::index::SessionIndex;
use crate::session::list::{ListChanges, RemovedSession};
use crate::terminal::TerminalTable;
use crate::tools::ToolState;

/// What the log remembers.
#[derive(Debug, Clone, Default)]
pub struct StoredHost {
    /// The host's own state; none if this is its first start.
    pub root: Option<RootState>,
    /// The last number that was given out.
    pub seq: ServerSeq,
    /// Everything after this is in the log; a client that has seen less gets
    /// snapshots.
    pub log_start: ServerSeq,
    /// Which numbers were given out.
    pub epochs: WriterEpochs,
    /// All sessions.
    pub sessions: Vec<SessionSummary>,
    /// All channels. Their states are read when they are needed.
    pub channels: Vec<StoredChannel>,
    /// All clients.
    pub clients: Vec<(ClientId, ClientRecord)>,
    /// What agents offered when they last ran.
    pub agent_options: Vec<(ProviderId, AgentOptions)>,
    /// The last sessions that were removed from the list.
    pub removed_sessions: Vec<RemovedSession>,
    /// What should be there and could not be read, in words.
    pub unreadable: Vec<String>,
}

/// A channel whose state is in the log.
#[derive(Debug, Clone)]
pub struct StoredChannel {
    /// The channel.
    pub channel: Uri,
    /// The session it belongs to; none for the host's own.
    pub session: Option<Uri>,
    /// The last action before it came into being.
    pub created_seq: ServerSeq,
}

/// The host as a state machine.
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
    /// A host that goes on where the log ends.
    pub fn new(mut config: HostConfig, stored_host: StoredHost) -> Self {
        clean_agents(&mut config.agents);
        config.schemas.values_mut().for_each(clean_schema);
        options::restore_agent_options(&mut config, stored_host.agent_options);
        offer_models(&mut config.agents, stored_host.root.as_ref());
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

    /// Channels that have to be restored before anything else happens: chats
    /// with a turn that was running when the host stopped, and their sessions.
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
        found
    }

    /// Clients that are not here, and when they left. The grace periods of those
    /// who were here when the host stopped have to be started.
    pub fn absent_clients(&self) -> Vec<(ClientId, GracePeriodId)> {
        self.clients.absent_clients()
    }

    /// The last number that was given out.
    pub fn seq(&self) -> ServerSeq {
        self.log.seq
    }

    /// How long a client may be gone before it is forgotten.
    pub fn grace_period(&self) -> Millis {
        self.config.grace_period
    }

    /// Brings the host's own state up to date with what it was started with.
    /// Clients that were here before get to know by the same actions as
    /// everyone else.
    pub(crate) fn start(&mut self, out: &mut Effects) {
        let root = Uri::from(RootChannel);
        if !self.channels.contains(&root) {
            let state = RootState {
                agents: self.config.agents.clone(),
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
        if state.agents != self.config.agents {
            let agents = self.config.agents.clone();
            let changed = RootAction::AgentsChanged(AgentsChanged { agents });
            self.originate(&root, changed, out);
        }
        self.refresh_settings(out);
        self.sync_trusted_code(out);
        self.publish_access_requests(out);
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

    /// The state of a channel, if the host has it in memory.
    pub fn state(&self, channel: &Uri) -> Option<&ChannelState> {
        self.loaded(channel).map(|loaded| &loaded.state)
    }

    /// What the host has of a channel in memory, if anything.
    pub fn loaded(&self, channel: &Uri) -> Option<&LoadedChannel> {
        self.channels.get(channel)?.loaded()
    }

    /// Turns of a chat that are in the log only.
    pub(crate) fn evicted_turns(&self, chat: &Uri) -> &[TurnId] {
        self.loaded(chat)
            .map_or(&[], |loaded| &loaded.evicted_turns)
    }

    /// The host's own state.
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

    /// The session that a channel belongs to.
    pub fn session_of(&self, channel: &Uri) -> Option<&Uri> {
        self.channels.get(channel)?.session.as_ref()
    }
}
