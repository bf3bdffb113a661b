//! Merges consecutive actions that append to the same text.

use crate::action::Action;
use crate::chat::ChatAction;
use crate::terminal::TerminalAction;

impl Action {
    /// Returns `true` if an action of this type can be merged with a following one.
    pub fn can_merge(&self) -> bool {
        matches!(
            self,
            Action::Chat(
                ChatAction::Delta(_) | ChatAction::Reasoning(_) | ChatAction::ToolCallDelta(_)
            ) | Action::Terminal(TerminalAction::Data(_))
        )
    }

    /// Appends the content of `next`, the next action on the same channel, to this action, so
    /// that it has the effect of both. Returns `false` and changes nothing if the two can't be
    /// merged.
    ///
    /// Only actions that append to the same text can be merged (SUB-14). The extension data of
    /// both must be equal, because one of them would be lost.
    pub fn merge(&mut self, next: &Action) -> bool {
        match (self, next) {
            (Action::Chat(ChatAction::Delta(first)), Action::Chat(ChatAction::Delta(next))) => {
                let same = first.turn_id == next.turn_id
                    && first.part_id == next.part_id
                    && first.meta == next.meta;
                append_if(same, &mut first.content, &next.content)
            }
            (
                Action::Chat(ChatAction::Reasoning(first)),
                Action::Chat(ChatAction::Reasoning(next)),
            ) => {
                let same = first.turn_id == next.turn_id
                    && first.part_id == next.part_id
                    && first.meta == next.meta;
                append_if(same, &mut first.content, &next.content)
            }
            (
                Action::Chat(ChatAction::ToolCallDelta(first)),
                Action::Chat(ChatAction::ToolCallDelta(next)),
            ) => {
                let (Some(content), Some(more)) = (&mut first.content, &next.content) else {
                    return false;
                };
                if !append_if(first.target == next.target, content, more) {
                    return false;
                }
                // The later invocation message replaces the earlier one, as in the reducer.
                if next.invocation_message.is_some() {
                    first
                        .invocation_message
                        .clone_from(&next.invocation_message);
                }
                true
            }
            (
                Action::Terminal(TerminalAction::Data(first)),
                Action::Terminal(TerminalAction::Data(next)),
            ) => append_if(true, &mut first.data, &next.data),
            _ => false,
        }
    }
}

fn append_if(same: bool, text: &mut String, more: &str) -> bool {
    if same {
        text.push_str(more);
    }
    same
}
