//! The host: all state, and the one function that changes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ChatState;
use agenthost_protocol::ids::{ClientId, ProviderId, ServerSeq, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::root::{AgentsChanged, RootAction, RootState};
use agenthost_protocol::session::{SessionState, SessionSummary};
use agenthost_protocol::terminal::TerminalInfo;
use agenthost_protocol::uri::{RootChannel, Uri};

use crate::agent::SlashCommand;
use crate::agent_content::{clean_agents, clean_schema};
use crate::agent_options::{self, AgentOptions};
use crate::changesets::Looking;
use crate::clients::{Client, ClientRecord, Clients, Departure, Presence};
use crate::config::Config;
use crate::customizations::Customizing;
use crate::effect::Effects;
use crate::epochs::WriterEpochs;
use crate::grants::AccessRequest;
use crate::input::{ConnectionId, Loaded};
use crate::list_changes::ListChanges;
use crate::models::offer_models;
use crate::output_previews::OutputPreview;
use crate::questions::Questions;
use crate::readings::{Reading, Senders};
use crate::response_usage::ResponseUsages;
use crate::servers::ToolCalls;
use crate::terminal_commands::SilentCommand;
use crate::terminal_turns::Run;
use crate::tool_checks::ToolChecks;
use crate::turn_edits::TurnEdits;
use crate::whose_tokens::TokenBook;

/// What the log remembers.
#[derive(Debug, Clone, Default)]
pub struct Remembered {
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
    pub born: ServerSeq,
}

/// The host as a state machine.
#[derive(Debug, Clone)]
pub struct Host {
    pub(crate) config: Config,
    pub(crate) seq: ServerSeq,
    pub(crate) log_start: ServerSeq,
    pub(crate) epochs: WriterEpochs,
    pub(crate) channels: BTreeMap<Uri, Channel>,
    pub(crate) sessions: BTreeMap<Uri, Arc<SessionSummary>>,
    /// Sessions whose agent was told to open since the host started.
    pub(crate) opened: BTreeSet<Uri>,
    pub(crate) clients: Clients,
    /// Terminals that clients opened, as lists show them.
    pub(crate) terminals: BTreeMap<Uri, TerminalInfo>,
    /// Commands that run for turns, by their terminal.
    pub(crate) runs: BTreeMap<Uri, Run>,
    /// Commands that have written nothing so far, by their terminal.
    pub(crate) silent_commands: BTreeMap<Uri, SilentCommand>,
    /// Output that calls show besides their terminal, by that.
    pub(crate) previews: BTreeMap<Uri, OutputPreview>,
    /// Chats from the log with a turn that was running when the host stopped,
    /// until the terminals are loaded that the turn shows.
    pub(crate) interrupted: BTreeSet<Uri>,
    /// Clients that wait for access to files.
    pub(crate) requests: Vec<AccessRequest>,
    /// Changesets that are being computed, or will be.
    pub(crate) looking: BTreeMap<Uri, Looking>,
    /// What clients were asked.
    pub(crate) questions: Questions,
    /// Turns that their agents have not heard of yet, by chat.
    pub(crate) readings: BTreeMap<Uri, Reading>,
    pub(crate) senders: Senders,
    /// What agents said they understand, by session.
    pub(crate) slash_commands: BTreeMap<Uri, Vec<SlashCommand>>,
    /// Titles that no person gave, by session. Any other is left alone.
    pub(crate) given_titles: BTreeMap<Uri, String>,
    /// Which tokens there are, and who may use them.
    pub(crate) tokens: TokenBook,
    /// What is known of the customizations of sessions that are followed.
    pub(crate) customizing: BTreeMap<Uri, Customizing>,
    /// How large the responses of running turns are.
    pub(crate) responses: ResponseUsages,
    pub(crate) tool_calls: ToolCalls,
    pub(crate) tool_checks: ToolChecks,
    pub(crate) turn_edits: TurnEdits,
    /// Code that may run, as it was last told.
    pub(crate) trusted_told: BTreeSet<String>,
    pub(crate) list_changes: ListChanges,
}

/// Something that can be subscribed to.
#[derive(Debug, Clone)]
pub(crate) struct Channel {
    /// The session it belongs to; none for the host's own.
    pub(crate) session: Option<Uri>,
    /// The last action before it came into being. A client that has seen no
    /// more than this knows another channel of the same address, if any.
    pub(crate) born: ServerSeq,
    pub(crate) held: Held,
    pub(crate) subscribers: BTreeMap<ConnectionId, Subscription>,
}

/// How someone watches a channel.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Subscription {
    /// How long the host may wait to say several things at once.
    pub(crate) patience: Millis,
    /// Of a chat, how many of the oldest turns it has not been shown.
    pub(crate) hidden: usize,
    /// Whether it speaks an older version than the host, or calls sessions
    /// otherwise: asked for every action.
    pub(crate) older: bool,
}

/// Where the state of a channel is.
#[derive(Debug, Clone)]
pub(crate) enum Held {
    Here(Loaded),
    /// In the log, until someone needs it.
    Stored,
}

impl Channel {
    /// What of it is in memory.
    pub(crate) fn loaded(&self) -> Option<&Loaded> {
        match &self.held {
            Held::Here(loaded) => Some(loaded),
            Held::Stored => None,
        }
    }
}

impl Host {
    /// A host that goes on where the log ends.
    pub fn new(mut config: Config, remembered: Remembered) -> Self {
        clean_agents(&mut config.agents);
        config.schemas.values_mut().for_each(clean_schema);
        agent_options::recall(&mut config, remembered.agent_options);
        offer_models(&mut config.agents, remembered.root.as_ref());
        let mut host = Host {
            config,
            seq: remembered.seq,
            log_start: remembered.log_start,
            epochs: remembered.epochs,
            channels: BTreeMap::new(),
            sessions: BTreeMap::new(),
            opened: BTreeSet::new(),
            clients: Clients::default(),
            terminals: BTreeMap::new(),
            runs: BTreeMap::new(),
            silent_commands: BTreeMap::new(),
            previews: BTreeMap::new(),
            interrupted: BTreeSet::new(),
            requests: Vec::new(),
            looking: BTreeMap::new(),
            questions: Questions::default(),
            readings: BTreeMap::new(),
            senders: Senders::default(),
            slash_commands: BTreeMap::new(),
            given_titles: BTreeMap::new(),
            tokens: TokenBook::default(),
            customizing: BTreeMap::new(),
            responses: ResponseUsages::default(),
            tool_calls: ToolCalls::default(),
            tool_checks: ToolChecks::default(),
            turn_edits: TurnEdits::default(),
            trusted_told: BTreeSet::new(),
            list_changes: ListChanges::since(remembered.seq),
        };
        for stored in remembered.channels {
            host.hold(stored, Held::Stored);
        }
        for summary in remembered.sessions {
            let summary = Arc::new(summary);
            host.sessions.insert(summary.resource.clone(), summary);
        }
        if let Some(root) = remembered.root {
            let stored = StoredChannel {
                channel: RootChannel.into(),
                session: None,
                born: ServerSeq(0),
            };
            host.hold(stored, Held::Here(Loaded::whole(root)));
        }
        for (id, record) in remembered.clients {
            let presence = Presence::Grace(Departure::default());
            host.clients.clients.insert(id, Client { record, presence });
        }
        host
    }

    /// Channels that have to be restored before anything else happens: chats
    /// with a turn that was running when the host stopped, and their sessions.
    pub fn unfinished(&self) -> Vec<Uri> {
        let in_progress = agenthost_protocol::common::SessionStatus::IN_PROGRESS;
        let mut found = Vec::new();
        for (session, summary) in &self.sessions {
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
    pub fn absent_clients(&self) -> Vec<(ClientId, Departure)> {
        self.clients.absent()
    }

    /// The last number that was given out.
    pub fn seq(&self) -> ServerSeq {
        self.seq
    }

    /// How long a client may be gone before it is forgotten.
    pub fn grace(&self) -> Millis {
        self.config.grace
    }

    /// Brings the host's own state up to date with what it was started with.
    /// Clients that were here before get to know by the same actions as
    /// everyone else.
    pub(crate) fn start(&mut self, out: &mut Effects) {
        let root = Uri::from(RootChannel);
        if !self.channels.contains_key(&root) {
            let state = RootState {
                agents: self.config.agents.clone(),
                active_sessions: Some(0),
                terminals: None,
                config: None,
                meta: None,
            };
            self.create(&root, None, state.into(), out);
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
        self.tell_trusted(out);
        self.show_requests(out);
        self.drop_watches(out);
        self.remember_terminals(out);
        self.end_orphaned(out);
    }

    pub(crate) fn hold(&mut self, stored: StoredChannel, held: Held) {
        let channel = Channel {
            session: stored.session,
            born: stored.born,
            held,
            subscribers: BTreeMap::new(),
        };
        self.channels.insert(stored.channel, channel);
    }

    /// The state of a channel, if the host has it in memory.
    pub fn state(&self, channel: &Uri) -> Option<&ChannelState> {
        self.loaded(channel).map(|loaded| &loaded.state)
    }

    /// What the host has of a channel in memory, if anything.
    pub fn loaded(&self, channel: &Uri) -> Option<&Loaded> {
        self.channels.get(channel)?.loaded()
    }

    /// Turns of a chat that are in the log only.
    pub(crate) fn earlier(&self, chat: &Uri) -> &[TurnId] {
        self.loaded(chat).map_or(&[], |loaded| &loaded.earlier)
    }

    /// The host's own state.
    pub(crate) fn root(&self) -> Option<&RootState> {
        match self.state(&RootChannel.into())? {
            ChannelState::Root(root) => Some(root),
            _ => None,
        }
    }

    pub(crate) fn session(&self, channel: &Uri) -> Option<&SessionState> {
        match self.state(channel)? {
            ChannelState::Session(session) => Some(session),
            _ => None,
        }
    }

    pub(crate) fn chat(&self, channel: &Uri) -> Option<&ChatState> {
        match self.state(channel)? {
            ChannelState::Chat(chat) => Some(chat),
            _ => None,
        }
    }

    /// The session that a channel belongs to.
    pub(crate) fn owner(&self, channel: &Uri) -> Option<&Uri> {
        self.channels.get(channel)?.session.as_ref()
    }
}
