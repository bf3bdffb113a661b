//! Holds back the effects of a turn until the checkpoint before it is taken.
//!
//! A checkpoint records the files before the turn, so neither the agent nor a command may
//! run before it is taken. A checkpoint that fails also releases the effects: the turn
//! continues without one.

use agenthost_protocol::uri::Uri;

use crate::chat::turn::TurnTable;
use crate::host::effect::{Effect, Effects};
use crate::terminal::PtyCommand;

/// Limit for the effects of a chat that wait. There are few commands for a turn that has
/// not begun, but a client can send any amount of terminal input: input beyond the limit is
/// dropped.
const MAX_HELD_EFFECTS: usize = 256;

/// The effects of a chat that wait for open checkpoints.
#[derive(Debug, Clone, Default)]
pub(super) struct CheckpointBarrier {
    open_checkpoints: usize,
    effects: Vec<Effect>,
}

impl TurnTable {
    /// Holds back the effects of a chat until its checkpoint is taken.
    pub(crate) fn raise_barrier(&mut self, chat: &Uri) {
        let barrier = self.barriers.entry(chat.clone()).or_default();
        barrier.open_checkpoints += 1;
    }

    /// Releases the effects of a chat if this was its last open checkpoint.
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

    /// Pushes an effect of a chat, or queues it if a checkpoint is open.
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
