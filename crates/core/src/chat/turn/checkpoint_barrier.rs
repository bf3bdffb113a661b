//! Holds back the effects of a turn until the checkpoint before it is taken.
//!
//! A checkpoint records the files before the turn, so neither the agent nor a command may
//! run before it is taken. A checkpoint that fails also releases the effects: the turn
//! continues without one.

use std::collections::BTreeMap;

use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::uri::Uri;
use serde::{Deserialize, Serialize, Serializer};

use crate::agent::AgentCommand;
use crate::chat::turn::TurnTable;
use crate::host::effect::{Effect, Effects};
use crate::terminal::PtyCommand;

/// Limit for the effects of a chat that wait. There are few commands for a turn that has
/// not begun, but a client can send any amount of terminal input: input beyond the limit is
/// dropped.
const MAX_HELD_EFFECTS: usize = 256;

/// The effects of a chat that wait for open checkpoints.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct CheckpointBarrier {
    open_checkpoints: usize,
    #[serde(serialize_with = "serialize_without_input")]
    effects: Vec<TurnEffect>,
}

/// An effect that runs an agent or a command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum TurnEffect {
    /// [`Effect::Agent`]
    Agent {
        session: Uri,
        provider: ProviderId,
        command: Box<AgentCommand>,
    },
    /// [`Effect::Terminal`]
    Terminal {
        content_session: Option<Uri>,
        terminal: Uri,
        command: Box<PtyCommand>,
    },
}

impl From<TurnEffect> for Effect {
    fn from(effect: TurnEffect) -> Self {
        match effect {
            TurnEffect::Agent {
                session,
                provider,
                command,
            } => Effect::Agent {
                session,
                provider,
                command,
            },
            TurnEffect::Terminal {
                content_session,
                terminal,
                command,
            } => Effect::Terminal {
                content_session,
                terminal,
                command,
            },
        }
    }
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
            let effects = barrier.effects.into_iter();
            out.effects.extend(effects.map(Effect::from));
        }
    }

    /// Removes all barriers, and returns the effects that wait at them, by chat.
    pub(crate) fn take_barriers(&mut self) -> BTreeMap<Uri, Vec<TurnEffect>> {
        let barriers = std::mem::take(&mut self.barriers).into_iter();
        barriers
            .map(|(chat, barrier)| (chat, barrier.effects))
            .collect()
    }

    /// Pushes an effect of a chat, or queues it if a checkpoint is open.
    pub(crate) fn push_effect(
        &mut self,
        chat: Option<&Uri>,
        effect: TurnEffect,
        out: &mut Effects,
    ) {
        match chat.and_then(|chat| self.barriers.get_mut(chat)) {
            None => out.push(effect.into()),
            Some(barrier) => {
                if barrier.effects.len() < MAX_HELD_EFFECTS || !is_terminal_input(&effect) {
                    barrier.effects.push(effect);
                }
            }
        }
    }
}

fn is_terminal_input(effect: &TurnEffect) -> bool {
    match effect {
        TurnEffect::Terminal { command, .. } => {
            matches!(**command, PtyCommand::Write(_) | PtyCommand::Resize { .. })
        }
        TurnEffect::Agent { .. } => false,
    }
}

/// Omits terminal input, which is private and never stored (TER-20).
fn serialize_without_input<S: Serializer>(
    effects: &[TurnEffect],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(effects.iter().filter(|effect| !is_terminal_input(effect)))
}

#[cfg(test)]
mod tests {
    use agenthost_protocol::terminal::TerminalInput;

    use super::*;

    fn effect(command: PtyCommand) -> TurnEffect {
        TurnEffect::Terminal {
            content_session: None,
            terminal: Uri::from("ahp-terminal:/t"),
            command: Box::new(command),
        }
    }

    #[test]
    fn terminal_input_is_not_stored() {
        let data = "secret".to_owned();
        let barrier = CheckpointBarrier {
            open_checkpoints: 1,
            effects: vec![
                effect(PtyCommand::Write(TerminalInput { data })),
                effect(PtyCommand::Close),
            ],
        };
        let stored = serde_json::to_string(&barrier).unwrap();
        assert!(!stored.contains("secret"), "{stored}");
        assert!(stored.contains("Close"), "{stored}");
    }
}
