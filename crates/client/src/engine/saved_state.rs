//! The state of an engine that outlives its program, such as a page that is reloaded.

use std::sync::Arc;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::Snapshot;
use agenthost_protocol::ids::ClientSeq;
use agenthost_protocol::rpc::encode;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Wire;

use super::ClientEngine;
use super::recovery::ReconnectForm;
use crate::error::{EngineError, check_size};
use crate::optimistic::TooManyPending;

/// The mirror and the unconfirmed actions of an engine.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SavedEngine {
    /// Sequence number of the last dispatched action.
    pub last_client_seq: ClientSeq,
    /// Confirmed states of the channels, each with its replay cursor.
    pub snapshots: Vec<Snapshot>,
    /// Unconfirmed actions in the order of their dispatch.
    pub pending: Vec<DispatchedAction>,
}

/// An action of this client, as in the parameters of `dispatchAction`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DispatchedAction {
    /// Channel of the action.
    pub channel: Uri,
    /// Sequence number of the client.
    pub client_seq: ClientSeq,
    /// The action, shared with the mirror.
    pub action: Arc<Action>,
}

impl ClientEngine {
    /// Returns the state to restore later. `is_wanted` selects the channels whose state is saved;
    /// unconfirmed actions are saved for all of them.
    pub fn save(&self, is_wanted: impl Fn(&Uri) -> bool) -> SavedEngine {
        let channels = self.mirror.channels.iter();
        let wanted = channels.filter(|(channel, _)| is_wanted(channel));
        let snapshots = wanted.map(|(channel, mirrored)| Snapshot {
            resource: channel.clone(),
            state: mirrored.optimistic.confirmed().clone(),
            from_seq: mirrored.cursor,
        });
        let pending = self.mirror.unconfirmed_actions().into_iter();
        let pending = pending.map(|(channel, pending)| DispatchedAction {
            channel,
            client_seq: pending.client_seq,
            action: pending.action,
        });
        SavedEngine {
            last_client_seq: ClientSeq(self.last_client_seq),
            snapshots: snapshots.collect(),
            pending: pending.collect(),
        }
    }

    /// Restores a saved state before the first connection. The engine then resumes like after a
    /// lost connection: the host replays the missed actions, or sends new snapshots.
    ///
    /// # Errors
    ///
    /// Returns [`TooManyPending`] if a channel has more unconfirmed actions than the limit.
    pub fn restore(&mut self, saved: SavedEngine) -> Result<(), TooManyPending> {
        self.last_client_seq = saved.last_client_seq.0;
        for snapshot in saved.snapshots {
            self.mirror.install(snapshot);
        }
        for dispatched in saved.pending {
            let action = &dispatched.action;
            self.mirror
                .dispatch(&dispatched.channel, dispatched.client_seq, action)?;
        }
        self.is_initialized = true;
        self.reconnect_form = ReconnectForm::Channels;
        Ok(())
    }
}

/// Encodes the notification of an action.
pub(super) fn encode_dispatch(
    channel: &Uri,
    client_seq: ClientSeq,
    action: Arc<Action>,
) -> Result<String, EngineError> {
    let params = DispatchedAction {
        channel: channel.clone(),
        client_seq,
        action,
    };
    check_size(encode::notification("dispatchAction", &params)?)
}
