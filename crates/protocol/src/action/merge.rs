//! Two actions made one.

use crate::action::Action;
use crate::chat::ChatAction;
use crate::terminal::TerminalAction;

impl Action {
    /// Whether there are actions that this one could take up.
    pub fn can_merge(&self) -> bool {
        matches!(
            self,
            Action::Chat(
                ChatAction::Delta(_) | ChatAction::Reasoning(_) | ChatAction::ToolCallDelta(_)
            ) | Action::Terminal(TerminalAction::Data(_))
        )
    }

    /// Takes up what the next action on the same channel appends to the same
    /// place, so that this one does what both would have done. Says whether it
    /// could; if not, nothing changed.
    ///
    /// Only what is appended can be taken up (SUB-14), and free data of the
    /// two must be the same, or some would be lost.
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
                // The later of two messages would have taken the place of the
                // earlier.
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
