//! The messages of the user in `attach`: from the line editor, or from stdin line by line.

use std::io::IsTerminal;

use super::line_editor::{EditorEvent, LineEditor};
use super::stdin::StdinReader;

/// The source of messages.
pub(crate) enum UserInput {
    /// A terminal with a line editor.
    Editor(LineEditor),
    /// A pipe or file, or a terminal without escape sequences.
    Lines(StdinReader),
}

impl UserInput {
    /// Waits for the next message. `draft` becomes the text of the edited line. This method is
    /// cancel safe.
    pub(crate) async fn next_event(&mut self, draft: &mut String) -> EditorEvent {
        match self {
            UserInput::Editor(editor) => {
                editor.begin_line(draft);
                editor.next_event().await
            }
            UserInput::Lines(stdin) => match stdin.next_line().await {
                Some(line) => EditorEvent::Line(line),
                None => EditorEvent::Ended,
            },
        }
    }

    /// Adds a line to the history, if there is one.
    pub(crate) fn remember(&mut self, line: &str) {
        match self {
            UserInput::Editor(editor) => editor.remember(line),
            UserInput::Lines(_) => {}
        }
    }

    /// Returns `true` if the terminal shows what the user enters.
    pub(crate) fn echoes(&self) -> bool {
        match self {
            UserInput::Editor(_) => true,
            UserInput::Lines(_) => std::io::stdin().is_terminal(),
        }
    }

    /// Returns `true` if the user can edit a draft.
    pub(crate) fn can_edit(&self) -> bool {
        matches!(self, UserInput::Editor(_))
    }
}
