//! Prints the earlier turns of a session.

use agenthost_client::Client;
use agenthost_protocol::chat::{ResponsePart, ToolCall, ToolResultContent, Turn, TurnState};

use super::TurnPrinter;
use super::terminals::to_plain_output;
use crate::dialog::note::NoteLine;
use crate::output;
use crate::terminal::palette::Role;

/// Number of turns that are printed by default.
const RECENT_TURNS: usize = 3;

/// Maximum number of lines of these turns, from their end.
const MAX_RECENT_LINES: usize = 100;

/// The part of the history to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HistoryExtent {
    /// The end of the last turns.
    Recent,
    All,
}

/// A line of an earlier turn.
enum HistoryLine {
    Text(String),
    Note(NoteLine),
}

impl TurnPrinter {
    /// Prints the previous turns and the active one.
    pub(crate) async fn print_history(
        &mut self,
        client: &mut Client,
        extent: HistoryExtent,
    ) -> anyhow::Result<()> {
        let Some(chat) = self.chat_state(client).cloned() else {
            return Ok(());
        };
        let turns = chat.turns.len();
        let skipped_turns = match extent {
            HistoryExtent::All => 0,
            HistoryExtent::Recent => turns.saturating_sub(RECENT_TURNS),
        };
        let mut lines = Vec::new();
        for turn in chat.turns.items().skip(skipped_turns) {
            add_turn(&mut lines, turn);
        }
        let skipped_lines = match extent {
            HistoryExtent::All => 0,
            HistoryExtent::Recent => lines.len().saturating_sub(MAX_RECENT_LINES),
        };
        if skipped_turns > 0 || skipped_lines > 0 {
            let earlier = match (skipped_turns, skipped_lines) {
                (0, lines) => format!("{lines} earlier lines"),
                (1, _) => "1 earlier turn".to_owned(),
                (turns, _) => format!("{turns} earlier turns"),
            };
            let note = format!("… {earlier}; `agenthost attach --all` prints everything");
            self.output
                .print_note_line(&NoteLine::styled(Role::Faint, note))?;
        }
        for line in lines.into_iter().skip(skipped_lines) {
            match line {
                HistoryLine::Text(text) => self.output.print_text(&format!("{text}\n"))?,
                HistoryLine::Note(note) => self.output.print_note_line(&note)?,
            }
        }
        let Some(turn) = &chat.active_turn else {
            return Ok(());
        };
        self.print_message(&turn.message.text)?;
        for part in turn.response_parts.items() {
            if let ResponsePart::ToolCall(part) = part
                && let ToolCall::Running(call) = &part.tool_call
            {
                let content = call.content.clone().unwrap_or_default();
                self.subscribe_terminals(client, &content).await?;
            } else {
                let mut lines = Vec::new();
                add_part(&mut lines, part);
                for line in lines {
                    match line {
                        HistoryLine::Text(text) => self.output.print_text(&format!("{text}\n"))?,
                        HistoryLine::Note(note) => self.output.print_note_line(&note)?,
                    }
                }
            }
        }
        Ok(())
    }
}

fn add_turn(lines: &mut Vec<HistoryLine>, turn: &Turn) {
    for line in turn.message.text.lines() {
        let line = output::strip_invisible(line);
        lines.push(HistoryLine::Text(format!("> {line}")));
    }
    for part in turn.response_parts.items() {
        add_part(lines, part);
    }
    if turn.state == TurnState::Cancelled {
        lines.push(HistoryLine::Note(NoteLine::plain("cancelled")));
    }
}

/// Adds the lines of a response part of a finished turn, or of the active turn so far.
fn add_part(lines: &mut Vec<HistoryLine>, part: &ResponsePart) {
    let mut add_text = |text: String| {
        let text = text.lines().map(|line| HistoryLine::Text(line.to_owned()));
        lines.extend(text);
    };
    match part {
        ResponsePart::Markdown(part) => add_text(output::strip_invisible(&part.content)),
        ResponsePart::ToolCall(part) => {
            let ToolCall::Completed(call) = &part.tool_call else {
                return;
            };
            for block in call.result.content.iter().flatten() {
                if let ToolResultContent::Text(block) = block {
                    add_text(to_plain_output(&block.text));
                }
            }
        }
        ResponsePart::SystemNotification(part) => {
            let note = NoteLine::plain(part.content.as_str());
            lines.push(HistoryLine::Note(note));
        }
        ResponsePart::Error(part) => {
            let note = NoteLine::styled(Role::Warning, "failed: ");
            let note = note.text(part.error.message.as_str());
            lines.push(HistoryLine::Note(note));
        }
        ResponsePart::ContentRef(_)
        | ResponsePart::Reasoning(_)
        | ResponsePart::InputRequest(_)
        | ResponsePart::Unknown(_) => {}
    }
}
