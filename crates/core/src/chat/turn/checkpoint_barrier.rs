//! Effects of a turn that wait for the checkpoint before it.
//!
//! A checkpoint says how the files were before the turn, so neither the agent
//! nor a command may run before it is taken. A checkpoint that fails releases
//! the effects as well: the turn goes on without one.

use agenthost_protocol::uri::Uri;

use crate::chat::turn::TurnTable;
use crate::host::effect::{Effect, Effects};
use crate::terminal::PtyCommand;

/// Most effects of a chat that wait. There are few commands for a turn that has
/// not begun, but a client can type any number of times: what it types beyond
/// this is dropped.
const MAX_HELD_EFFECTS: usize = 256;

/// The effects of a chat that wait for checkpoints.
#[derive(Debug, Clone, Default)]
pub(super) struct CheckpointBarrier {
    open_checkpoints: usize,
    effects: Vec<Effect>,
}

impl TurnTable {
    /// Holds the effects of a chat back until its checkpoint is taken.
    pub(crate) fn raise_barrier(&mut self, chat: &Uri) {
        let barrier = self.barriers.entry(chat.clone()).or_default();
        barrier.open_checkpoints += 1;
    }

    /// Releases the effects of a chat, if this was its last open checkpoint.
    pub(crate) fn lower_barrier(&mut self, chat: &Uri, out: &mut Effects) {
        let Some(barrier) = self.barriers.get_mut(chat) else {
            return;
        };
        barrier.open_checkpoints = barrier.open_checkpoints.saturating_sub(1);
        if barrier.open_checkpoints == 0
            && let Some(barrier) = self.barriers.remove(chat)
        {
            out.effects.extend(barrier.effects);
        }
    }

    /// Pushes an effect of a chat: at once, or after the checkpoint that is open.
    pub(crate) fn push_effect(&mut self, chat: Option<&Uri>, effect: Effect, out: &mut Effects) {
        match chat.and_then(|chat| self.barriers.get_mut(chat)) {
            None => out.push(effect),
            Some(barrier) => {
                if barrier.effects.len() < MAX_HELD_EFFECTS || !is_terminal_input(&effect) {
                    barrier.effects.push(effect);
                }
            }
        }
    }
}

fn is_terminal_input(effect: &Effect) -> bool {
    if let Effect::Terminal { command, .. } = effect {
        matches!(**command, PtyCommand::Write(_) | PtyCommand::Resize { .. })
    } else {
        false
    }
}
