//! A log in memory: the simplest implementation of what the store does.

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_core::{
    AgentOptions, AuditEntry, ChannelNeed, ClientRecord, ClosedEpoch, LoadExtent, LoadedChannel,
    RememberedClient, RemovedSession, SessionEnvironment, StoreWrite, StoredChannel, StoredHost,
    WriterEpochs,
};
use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::{ClientId, ProviderId, ServerSeq};
use agenthost_protocol::number::Millis;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;

/// Number of turns in the tail of a chat.
const TAIL: usize = 2;

/// Returns a channel without its first turns.
pub(crate) fn cut(state: &ChannelState, earlier: usize) -> LoadedChannel {
    let ChannelState::Chat(chat) = state else {
        return LoadedChannel::whole(state.clone());
    };
    let (early, late) = chat.turns.split_at(earlier);
    let mut shown = (**chat).clone();
    shown.turns = late.iter().cloned().collect();
    LoadedChannel {
        state: shown.into(),
        evicted_turns: early.iter().map(|turn| turn.id.clone()).collect(),
    }
}

/// Everything that was written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    pub(crate) actions: Vec<Arc<ActionEnvelope>>,
    pub(crate) channels: BTreeMap<Uri, ChannelState>,
    stored: BTreeMap<Uri, StoredChannel>,
    pub(crate) sessions: BTreeMap<Uri, SessionSummary>,
    clients: BTreeMap<ClientId, ClientRecord>,
    /// Clients whose grace period has ended, with its end.
    released: BTreeMap<ClientId, RememberedClient>,
    agent_options: BTreeMap<ProviderId, AgentOptions>,
    removed: Vec<RemovedSession>,
    seq: ServerSeq,
    epochs: WriterEpochs,
    pub(crate) environments: BTreeMap<Uri, SessionEnvironment>,
    /// The entries of the audit log.
    pub(crate) audit: Vec<AuditEntry>,
    /// Actions up to this number were compacted.
    pub(crate) start: ServerSeq,
}

impl Log {
    pub(crate) fn append(&mut self, write: &StoreWrite) {
        match write {
            StoreWrite::Action(envelope) => {
                assert!(envelope.server_seq > self.seq, "numbers only rise");
                self.seq = envelope.server_seq;
                if let Some(state) = self.channels.get_mut(&envelope.channel) {
                    let outcome = state.reduce(&envelope.action);
                    assert!(
                        matches!(outcome, Outcome::Applied | Outcome::NoOp),
                        "{outcome:?} was logged: {envelope:?}"
                    );
                }
                self.actions.push(Arc::clone(envelope));
            }
            StoreWrite::SeqUsed(seq) => {
                assert!(*seq > self.seq, "numbers only rise");
                self.seq = *seq;
            }
            StoreWrite::ChannelCreated {
                channel,
                session,
                state,
                seq,
            } => {
                let stored = StoredChannel {
                    channel: channel.clone(),
                    session: session.clone(),
                    created_seq: *seq,
                };
                self.stored.insert(channel.clone(), stored);
                let before = self.channels.insert(channel.clone(), state.clone());
                assert!(before.is_none(), "{channel} was created twice");
            }
            StoreWrite::ChannelRemoved { channel, .. } => {
                self.channels.remove(channel);
                self.stored.remove(channel);
            }
            StoreWrite::ChannelMoved { channel, session } => {
                let stored = self.stored.get_mut(channel).unwrap();
                stored.session = Some(session.clone());
            }
            StoreWrite::Session(summary) => {
                self.sessions
                    .insert(summary.resource.clone(), (**summary).clone());
            }
            StoreWrite::SessionRemoved(session) => {
                self.sessions.remove(session);
                self.environments.remove(session);
            }
            StoreWrite::SessionEnvironment {
                session,
                environment,
            } => {
                self.environments
                    .insert(session.clone(), environment.clone());
            }
            StoreWrite::SessionEnvironmentCopied { from, to } => {
                if let Some(environment) = self.environments.get(from).cloned() {
                    self.environments.insert(to.clone(), environment);
                }
            }
            StoreWrite::Audit(entry) => self.audit.push((**entry).clone()),
            StoreWrite::SessionUnlisted(removed) => self.removed.push(removed.clone()),
            StoreWrite::Client(id, record) => {
                self.released.remove(id);
                self.clients.insert(id.clone(), (**record).clone());
            }
            StoreWrite::ClientReleased(id, left_at) => {
                let record = self.clients.remove(id).unwrap();
                let left_at = *left_at;
                let remembered = RememberedClient { record, left_at };
                self.released.insert(id.clone(), remembered);
            }
            StoreWrite::ClientsPruned {
                left_until,
                max_clients,
            } => self.prune_clients(*left_until, *max_clients),
            StoreWrite::ClientRemoved(id) => {
                self.clients.remove(id);
                self.released.remove(id);
            }
            StoreWrite::PrincipalForgotten(principal) => {
                self.clients
                    .retain(|_, record| record.principal != *principal);
                self.released
                    .retain(|_, client| client.record.principal != *principal);
            }
            StoreWrite::AgentOptions(provider, options) => {
                self.agent_options
                    .insert(provider.clone(), (**options).clone());
            }
        }
    }

    fn prune_clients(&mut self, left_until: Millis, max_clients: usize) {
        self.released
            .retain(|_, client| client.left_at > left_until);
        while self.released.len() > max_clients {
            let longest = self
                .released
                .iter()
                .min_by_key(|(_, client)| client.left_at);
            let longest = longest.map(|(id, _)| id.clone()).unwrap();
            self.released.remove(&longest);
        }
    }

    /// Returns a client whose grace period has ended.
    pub(crate) fn load_client(&self, client: &ClientId) -> Option<Box<RememberedClient>> {
        self.released.get(client).cloned().map(Box::new)
    }

    /// Returns the sessions that clients can list, which leaves out provisional ones: those without
    /// a message.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &SessionSummary> {
        self.sessions.values().filter(|summary| {
            let meta = summary.meta.as_ref();
            meta.is_none_or(|meta| !meta.contains_key("agenthost.provisionalFor"))
        })
    }

    /// Begins a writer epoch, as a store does.
    pub(crate) fn begin_epoch(&mut self, micros_since_1970: u64) {
        self.epochs.closed.push(ClosedEpoch {
            first: self.epochs.current,
            last: self.seq,
        });
        self.seq = WriterEpochs::next_epoch_start(self.seq, micros_since_1970, 0);
        self.epochs.current = self.seq;
    }

    /// Returns a channel as a host loads it. The tail of a chat is short here, so that tests see
    /// what happens to one.
    pub(crate) fn load(&self, need: &ChannelNeed) -> LoadedChannel {
        let state = &self.channels[&need.channel];
        let earlier = match (state, need.extent) {
            (ChannelState::Chat(chat), LoadExtent::Tail) => chat.turns.len().saturating_sub(TAIL),
            _ => 0,
        };
        cut(state, earlier)
    }

    /// Returns the data that a host loads when it starts.
    pub(crate) fn remember(&self) -> StoredHost {
        let root = self.channels.get(&Uri::from("ahp-root://"));
        StoredHost {
            root: root.and_then(|state| match state {
                ChannelState::Root(root) => Some((**root).clone()),
                _ => None,
            }),
            seq: self.seq,
            log_start: self.start,
            epochs: self.epochs.clone(),
            sessions: self.sessions.values().cloned().collect(),
            channels: self.stored.values().cloned().collect(),
            clients: self
                .clients
                .iter()
                .map(|(id, record)| (id.clone(), record.clone()))
                .collect(),
            agent_options: self.agent_options.clone().into_iter().collect(),
            removed_sessions: self.removed.clone(),
            memory: None,
            unreadable: Vec::new(),
        }
    }

    /// Returns the actions that a client missed, after `after` and up to `until`.
    pub(crate) fn replay(
        &self,
        after: ServerSeq,
        until: ServerSeq,
        channels: &[Uri],
    ) -> Vec<Arc<ActionEnvelope>> {
        self.actions
            .iter()
            .filter(|envelope| envelope.server_seq > after && envelope.server_seq <= until)
            .filter(|envelope| channels.contains(&envelope.channel))
            .cloned()
            .collect()
    }
}
