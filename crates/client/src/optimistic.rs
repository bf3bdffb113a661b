//! Optimistic updates: an action of the client takes effect at once and is reconciled with
//! the host later.
//!
//! A channel has two states. The confirmed state contains the actions that the host has
//! published. The optimistic state is the confirmed state plus the actions that this client
//! has dispatched and the host has not confirmed or rejected. Actions of the host change
//! only the confirmed state; the optimistic state is computed from it.

use std::collections::VecDeque;
use std::sync::Arc;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::ClientSeq;
use agenthost_protocol::outcome::Outcome;

/// Maximum number of pending actions per channel. Each rebase applies all of them again, so
/// a client that is this far ahead has to wait for the host.
pub const MAX_PENDING_ACTIONS: usize = 1_000;

/// The confirmed state of a channel and the pending actions of this client.
#[derive(Debug, Clone)]
pub struct OptimisticState {
    confirmed: ChannelState,
    pending: VecDeque<PendingAction>,
    optimistic: ChannelState,
}

/// A dispatched action that the host has neither confirmed nor rejected.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingAction {
    /// The sequence number that the client gave the action.
    pub client_seq: ClientSeq,
    /// The action as it was dispatched.
    pub action: Arc<Action>,
}

/// The limit of [`MAX_PENDING_ACTIONS`] is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many unconfirmed actions")]
pub struct TooManyPending;

/// The host published an action that cannot be applied to the confirmed state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateDiverged;

impl OptimisticState {
    /// Creates the state of a channel from a snapshot, without pending actions.
    pub fn new(state: ChannelState) -> Self {
        OptimisticState {
            optimistic: state.clone(),
            confirmed: state,
            pending: VecDeque::new(),
        }
    }

    /// Returns the state that the host has confirmed.
    pub fn confirmed(&self) -> &ChannelState {
        &self.confirmed
    }

    /// Returns the confirmed state with all pending actions applied.
    pub fn optimistic(&self) -> &ChannelState {
        &self.optimistic
    }

    /// Returns the pending actions in the order of their dispatch.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = &PendingAction> {
        self.pending.iter()
    }

    /// Applies an action of this client to the optimistic state and adds it to the pending
    /// actions.
    pub fn dispatch(
        &mut self,
        client_seq: ClientSeq,
        action: Arc<Action>,
    ) -> Result<(), TooManyPending> {
        if self.pending.len() >= MAX_PENDING_ACTIONS {
            return Err(TooManyPending);
        }
        // The host will reject an action that does not apply, so its outcome is irrelevant
        // here.
        drop(self.optimistic.reduce(&action));
        self.pending.push_back(PendingAction { client_seq, action });
        Ok(())
    }

    /// Applies an action of this client that the host has confirmed. The host may have
    /// changed it.
    pub fn apply_echo(
        &mut self,
        client_seq: ClientSeq,
        action: &Action,
    ) -> Result<(), StateDiverged> {
        self.remove_pending(client_seq);
        self.apply_foreign(action)
    }

    /// Applies an action of another client, or of the host itself.
    pub fn apply_foreign(&mut self, action: &Action) -> Result<(), StateDiverged> {
        match self.confirmed.reduce(action) {
            Outcome::Applied | Outcome::NoOp => {
                self.rebase();
                Ok(())
            }
            Outcome::WrongChannel | Outcome::Invalid(_) => Err(StateDiverged),
        }
    }

    /// Removes an action that the host rejected, and its effect on the optimistic state.
    pub fn drop_rejected(&mut self, client_seq: ClientSeq) {
        self.remove_pending(client_seq);
        self.rebase();
    }

    /// Replaces the confirmed state by a new snapshot. Pending actions stay.
    pub fn replace_confirmed(&mut self, state: ChannelState) {
        self.confirmed = state;
        self.rebase();
    }

    fn remove_pending(&mut self, client_seq: ClientSeq) {
        let position = self
            .pending
            .iter()
            .position(|other| other.client_seq == client_seq);
        if let Some(position) = position {
            self.pending.remove(position);
        }
    }

    /// Computes the optimistic state from the confirmed one. Cloning a state copies a
    /// pointer, so the cost is that of the pending actions.
    fn rebase(&mut self) {
        self.optimistic = self.confirmed.clone();
        for pending in &self.pending {
            drop(self.optimistic.reduce(&pending.action));
        }
    }
}
