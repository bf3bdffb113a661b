//! A log in memory: what the real one has to do, in its simplest form.

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_core::{ClientRecord, Remembered, StoredChannel, Write};
use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::{ClientId, ServerSeq};
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;

/// Everything that was written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    pub(crate) actions: Vec<Arc<ActionEnvelope>>,
    pub(crate) channels: BTreeMap<Uri, ChannelState>,
    stored: BTreeMap<Uri, StoredChannel>,
    sessions: BTreeMap<Uri, SessionSummary>,
    clients: BTreeMap<ClientId, ClientRecord>,
    seq: ServerSeq,
    /// Actions up to here were thrown away.
    pub(crate) start: ServerSeq,
}

impl Log {
    pub(crate) fn append(&mut self, write: &Write) {
        match write {
            Write::Action(envelope) => {
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
            Write::Number(seq) => {
                assert!(*seq > self.seq, "numbers only rise");
                self.seq = *seq;
            }
            Write::Created {
                channel,
                session,
                state,
                seq,
            } => {
                let stored = StoredChannel {
                    channel: channel.clone(),
                    session: session.clone(),
                    born: *seq,
                };
                self.stored.insert(channel.clone(), stored);
                let before = self.channels.insert(channel.clone(), state.clone());
                assert!(before.is_none(), "{channel} was created twice");
            }
            Write::Removed { channel, .. } => {
                self.channels.remove(channel);
                self.stored.remove(channel);
            }
            Write::Session(summary) => {
                self.sessions
                    .insert(summary.resource.clone(), (**summary).clone());
            }
            Write::SessionRemoved(session) => {
                self.sessions.remove(session);
            }
            Write::Client(id, record) => {
                self.clients.insert(id.clone(), (**record).clone());
            }
            Write::ClientForgotten(id) => {
                self.clients.remove(id);
            }
        }
    }

    /// What a host that starts now is told.
    pub(crate) fn remember(&self) -> Remembered {
        let root = self.channels.get(&Uri::from("ahp-root://"));
        Remembered {
            root: root.and_then(|state| match state {
                ChannelState::Root(root) => Some((**root).clone()),
                _ => None,
            }),
            seq: self.seq,
            log_start: self.start,
            sessions: self.sessions.values().cloned().collect(),
            channels: self.stored.values().cloned().collect(),
            clients: self
                .clients
                .iter()
                .map(|(id, record)| (id.clone(), record.clone()))
                .collect(),
        }
    }

    /// What a client missed.
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
