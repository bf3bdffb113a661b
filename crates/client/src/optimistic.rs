//! Writing ahead: what a client does shows at once, and is made good when the
//! host says what really happened.
//!
//! A channel has two states. The confirmed one is what the host has said. The
//! optimistic one is that and, on top, what this client has dispatched and not
//! heard of since. Whatever the host says changes the confirmed state; the
//! optimistic one follows from it.

use std::collections::VecDeque;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::ClientSeq;
use agenthost_protocol::outcome::Outcome;

/// Most actions that wait for the host. A client that is so far ahead of its
/// host has to wait.
pub const MAX_PENDING_ACTIONS: usize = 1_000;

/// A channel, with what this client did to it ahead of the host.
#[derive(Debug, Clone)]
pub struct OptimisticState {
    confirmed: ChannelState,
    pending: VecDeque<PendingAction>,
    optimistic: ChannelState,
}

/// An action that the host has not spoken of yet.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingAction {
    /// Our number for it.
    pub client_seq: ClientSeq,
    /// What we did.
    pub action: Action,
}

/// There is no room for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many actions wait for the host")]
pub struct TooManyPending;

/// The host did something that can't be done to this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateDiverged;

impl OptimisticState {
    /// A channel as the host shows it.
    pub fn new(state: ChannelState) -> Self {
        OptimisticState {
            optimistic: state.clone(),
            confirmed: state,
            pending: VecDeque::new(),
        }
    }

    /// What the host has said.
    pub fn confirmed(&self) -> &ChannelState {
        &self.confirmed
    }

    /// What it will be like if the host agrees with all that we did.
    pub fn optimistic(&self) -> &ChannelState {
        &self.optimistic
    }

    /// What we did that the host has not spoken of yet, in order.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = &PendingAction> {
        self.pending.iter()
    }

    /// We do something.
    pub fn dispatch(
        &mut self,
        client_seq: ClientSeq,
        action: Action,
    ) -> Result<(), TooManyPending> {
        if self.pending.len() >= MAX_PENDING_ACTIONS {
            return Err(TooManyPending);
        }
        // What can't be done, the host will refuse: nothing to show ahead.
        drop(self.optimistic.reduce(&action));
        self.pending.push_back(PendingAction { client_seq, action });
        Ok(())
    }

    /// The host says that something of ours happened, perhaps not quite as we
    /// said it.
    pub fn apply_echo(
        &mut self,
        client_seq: ClientSeq,
        action: &Action,
    ) -> Result<(), StateDiverged> {
        let head = self.pending.front();
        let is_unchanged =
            head.is_some_and(|head| head.client_seq == client_seq && head.action == *action);
        self.remove_pending(client_seq);
        if is_unchanged && self.pending.is_empty() {
            self.optimistic = reduce_confirmed(&mut self.confirmed, action)?;
            return Ok(());
        }
        self.apply_foreign(action)
    }

    /// The host says that something of somebody else happened.
    pub fn apply_foreign(&mut self, action: &Action) -> Result<(), StateDiverged> {
        reduce_confirmed(&mut self.confirmed, action)?;
        self.rebase();
        Ok(())
    }

    /// The host refused something of ours: it is undone at once.
    pub fn drop_rejected(&mut self, client_seq: ClientSeq) {
        self.remove_pending(client_seq);
        self.rebase();
    }

    /// The host shows the channel afresh, and goes on from there.
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

    /// A clone of a state costs a pointer, so this costs what is pending.
    fn rebase(&mut self) {
        self.optimistic = self.confirmed.clone();
        for pending in &self.pending {
            drop(self.optimistic.reduce(&pending.action));
        }
    }
}

/// Follows the host, and returns where it is.
fn reduce_confirmed(
    state: &mut ChannelState,
    action: &Action,
) -> Result<ChannelState, StateDiverged> {
    match state.reduce(action) {
        Outcome::Applied | Outcome::NoOp => Ok(state.clone()),
        Outcome::WrongChannel | Outcome::Invalid(_) => Err(StateDiverged),
    }
}
