//! Writes the text of a turn to stdout, and notes to stderr or above the edited line.

use std::io::IsTerminal;

use serde_json::json;

use super::line_editor::EditorOutput;
use super::note::NoteLine;
use crate::output;
use crate::spool::OutputSpool;
use crate::terminal::palette::{Palette, Role};
use crate::terminal::spinner::{OPERATION_DELAY, Spinner};

/// The format of the output of `run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// The response as it arrives
    #[default]
    Text,
    /// One object with the response, when the turn has ended
    Json,
    /// Snapshots and actions, one object per line; `agenthost reduce -` reads them
    StreamJson,
}

/// The place of notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotePlace {
    /// On stderr. If stdout is a terminal, the output before a note is written first.
    Stderr { flush_first: bool },
    /// Above the edited line, like the output.
    Editor,
}

/// The output of a turn.
pub(crate) struct TurnOutput {
    spool: OutputSpool,
    format: OutputFormat,
    notes: NotePlace,
    palette: Palette,
    /// The response, for the object of [`OutputFormat::Json`].
    response: String,
    /// `true` if the last printed text did not end with a newline.
    is_line_open: bool,
    /// The last line of the reasoning of the agent, which has not ended yet.
    reasoning: String,
    /// Shows that the turn is under way while nothing is printed. With an edited line there is
    /// no place for it.
    spinner: Option<Spinner>,
}

impl TurnOutput {
    /// Creates the output for stdout and stderr.
    pub(crate) fn to_streams(format: OutputFormat) -> Self {
        let flush_first = std::io::stdout().is_terminal();
        let notes = NotePlace::Stderr { flush_first };
        Self::new(OutputSpool::start(), format, notes, Palette::of_stderr())
    }

    /// Creates the output for a terminal with an edited line.
    pub(crate) fn to_editor(editor: EditorOutput) -> Self {
        let (notes, palette) = match std::io::stderr().is_terminal() {
            true => (NotePlace::Editor, Palette::of_stdout()),
            false => {
                let flush_first = false;
                (NotePlace::Stderr { flush_first }, Palette::Plain)
            }
        };
        let spool = OutputSpool::start_with(Box::new(editor));
        Self::new(spool, OutputFormat::Text, notes, palette)
    }

    fn new(spool: OutputSpool, format: OutputFormat, notes: NotePlace, palette: Palette) -> Self {
        TurnOutput {
            spool,
            format,
            notes,
            palette,
            response: String::new(),
            is_line_open: false,
            reasoning: String::new(),
            spinner: match notes {
                NotePlace::Stderr { flush_first: true } => Some(Spinner::new(OPERATION_DELAY)),
                NotePlace::Stderr { flush_first: false } | NotePlace::Editor => None,
            },
        }
    }

    /// Shows that the turn is under way, if nothing was printed for a while.
    pub(crate) fn show_progress(&mut self) {
        // A part of a line must stay as it is.
        if let Some(spinner) = self.spinner.as_mut().filter(|_| !self.is_line_open) {
            spinner.tick("working");
        }
    }

    /// Returns `true` if the output can show that the turn is under way.
    pub(crate) fn can_show_progress(&self) -> bool {
        self.spinner.as_ref().is_some_and(Spinner::is_enabled)
    }

    fn end_progress(&mut self) {
        if let Some(spinner) = &mut self.spinner {
            spinner.clear();
        }
    }

    pub(crate) fn format(&self) -> OutputFormat {
        self.format
    }

    /// Prints a part of the response.
    pub(crate) fn print_text(&mut self, text: &str) -> anyhow::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.end_progress();
        self.finish_reasoning()?;
        match self.format {
            OutputFormat::Text => {
                self.is_line_open = !text.ends_with('\n');
                Ok(self.spool.write(text)?)
            }
            OutputFormat::Json => {
                self.response.push_str(text);
                Ok(())
            }
            OutputFormat::StreamJson => Ok(()),
        }
    }

    /// Prints a line of JSON.
    pub(crate) fn print_json(&self, json: &str) -> anyhow::Result<()> {
        Ok(self.spool.write(&format!("{json}\n"))?)
    }

    /// Prints a part of the reasoning of the agent, as notes of whole lines.
    pub(crate) fn print_reasoning(&mut self, text: &str) -> anyhow::Result<()> {
        self.reasoning.push_str(text);
        while let Some((line, rest)) = self.reasoning.split_once('\n') {
            let note = NoteLine::styled(Role::Faint, line);
            self.reasoning = rest.to_owned();
            self.write_note(&note)?;
        }
        Ok(())
    }

    /// Prints a plain note.
    pub(crate) fn print_note(&mut self, text: &str) -> anyhow::Result<()> {
        self.print_note_line(&NoteLine::plain(text))
    }

    pub(crate) fn print_note_line(&mut self, line: &NoteLine) -> anyhow::Result<()> {
        self.finish_reasoning()?;
        self.write_note(line)
    }

    fn write_note(&mut self, line: &NoteLine) -> anyhow::Result<()> {
        self.end_progress();
        self.finish_line()?;
        let text = line.render(self.palette);
        match self.notes {
            NotePlace::Editor => self.spool.write(&format!("{text}\n"))?,
            NotePlace::Stderr { flush_first } => {
                if flush_first {
                    self.spool.wait_flushed();
                }
                output::print_rendered_note(&text);
            }
        }
        Ok(())
    }

    /// Ends the line of the reasoning, if there is one.
    fn finish_reasoning(&mut self) -> anyhow::Result<()> {
        match std::mem::take(&mut self.reasoning) {
            line if line.trim().is_empty() => Ok(()),
            line => self.write_note(&NoteLine::styled(Role::Faint, line)),
        }
    }

    /// Ends the open line.
    pub(crate) fn finish_line(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.is_line_open) {
            self.spool.write("\n")?;
        }
        Ok(())
    }

    /// Prints the object of [`OutputFormat::Json`] with the response and the given fields.
    pub(crate) fn print_result(&self, mut fields: serde_json::Value) -> anyhow::Result<()> {
        if self.format == OutputFormat::Json {
            if let Some(fields) = fields.as_object_mut() {
                fields.insert("response".to_owned(), json!(self.response));
            }
            self.print_json(&fields.to_string())?;
        }
        Ok(())
    }

    /// Waits until writing to stdout has failed.
    pub(crate) async fn wait_closed(&self) {
        self.spool.wait_closed().await;
    }

    /// Waits until all output has been written to stdout.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.end_progress();
        self.finish_reasoning()?;
        self.finish_line()?;
        Ok(self.spool.finish()?)
    }
}
