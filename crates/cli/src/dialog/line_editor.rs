//! The line editor of `attach`: history, several lines, completion, and output above the line.
//!
//! rustyline reads keys on a thread of its own. Output for the terminal goes through
//! [`EditorOutput`], which prints it above the edited line.

pub(crate) mod completion;
mod editor_program;
mod output_gate;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use agenthost_stdx::private_file;
use agenthost_stdx::sync::lock;
use anyhow::Context;
use rustix::termios::Termios;
use rustyline::config::BellStyle;
use rustyline::error::ReadlineError;
use rustyline::history::{FileHistory, History};
use rustyline::{
    Cmd, ColorMode, CompletionType, ConditionalEventHandler, Config, Editor, Event, EventContext,
    EventHandler, KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
};
use tokio::sync::mpsc;

use self::completion::{CompletionSource, InputHelper};
pub(crate) use self::output_gate::EditorOutput;
use self::output_gate::OutputGate;
use crate::terminal::palette::{Palette, Role};
use crate::terminal::raw_mode::SavedMode;

/// Maximum number of messages in the history.
const MAX_HISTORY_ENTRIES: usize = 1_000;

/// Turns bracketed paste off, and ends the line.
const END_OF_EDITING: &str = "\u{1b}[?2004l\r\n";

/// The prompt before the edited line.
const PROMPT: &str = "> ";

/// The result of editing a line.
#[derive(Debug)]
pub(crate) enum EditorEvent {
    /// A message, possibly of several lines.
    Line(String),
    /// Ctrl-C on an empty line.
    Interrupted,
    /// Ctrl-D on an empty line.
    Ended,
    /// The terminal cannot be read, for the given reason.
    Failed(String),
}

/// A request to edit a line.
struct EditRequest {
    /// The initial text of the line.
    draft: String,
    /// The last line, if it belongs to the history.
    remembered: Option<String>,
}

/// The editor, seen from the task that uses its lines.
pub(crate) struct LineEditor {
    /// Requests to edit a line. One request is open at a time.
    requests: SyncSender<EditRequest>,
    events: mpsc::Receiver<EditorEvent>,
    gate: Arc<OutputGate>,
    is_reading: bool,
    /// The last line, if it belongs to the history.
    remembered: Option<String>,
    /// Restores the terminal. Between two lines, keys are not echoed: the next line shows them.
    _mode: Option<SavedMode>,
}

impl LineEditor {
    /// Starts the editor on the terminal, with the history in a file.
    pub(crate) fn start(
        history_path: PathBuf,
        completion: CompletionSource,
    ) -> anyhow::Result<(Self, EditorOutput)> {
        let palette = Palette::of_stdout();
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .max_history_size(MAX_HISTORY_ENTRIES)
            .and_then(|config| config.history_ignore_dups(true))
            .context("configure the line editor")?
            // Like shells: a line that begins with a space is not remembered.
            .history_ignore_space(true)
            .bell_style(BellStyle::None)
            .color_mode(match palette {
                Palette::Colored => ColorMode::Enabled,
                Palette::Plain => ColorMode::Disabled,
            })
            .build();
        let mut editor = Editor::<InputHelper, FileHistory>::with_config(config)
            .context("start the line editor")?;
        let printer = editor.create_external_printer();
        let printer = printer.context("start the line editor")?;
        let gate = Arc::new(OutputGate::default());
        editor.set_helper(Some(InputHelper::new(completion, Arc::clone(&gate))));
        let open_request = OpenEditorRequest::default();
        bind_keys(&mut editor, &open_request);
        load_history(&mut editor, &history_path);
        let (requests, received) = sync_channel(1);
        let (sender, events) = mpsc::channel(1);
        let mut thread = EditorThread {
            editor,
            requests: received,
            events: sender,
            gate: Arc::clone(&gate),
            open_request,
            history_path,
            prompt: (PROMPT.to_owned(), palette.paint(Role::Strong, PROMPT)),
            original_mode: None,
        };
        let mode = SavedMode::enter_unechoed().context("use the terminal")?;
        thread.original_mode = mode.as_ref().map(SavedMode::to_mode);
        std::thread::spawn(move || thread.run());
        let output = EditorOutput::new(Arc::clone(&gate), Box::new(printer));
        let editor = LineEditor {
            requests,
            events,
            gate,
            is_reading: false,
            remembered: None,
            _mode: mode,
        };
        Ok((editor, output))
    }

    /// Lets the user edit a line, unless one is being edited already. The draft becomes its
    /// text.
    pub(crate) fn begin_line(&mut self, draft: &mut String) {
        if !self.is_reading {
            // If the thread has ended, the next event says so.
            let request = EditRequest {
                draft: std::mem::take(draft),
                remembered: self.remembered.take(),
            };
            self.is_reading = self.requests.send(request).is_ok();
        }
    }

    /// Adds a line to the history.
    pub(crate) fn remember(&mut self, line: &str) {
        self.remembered = Some(line.to_owned());
    }

    /// Waits until the user has ended the edited line. This method is cancel safe.
    pub(crate) async fn next_event(&mut self) -> EditorEvent {
        let event = self.events.recv().await;
        self.is_reading = false;
        event.unwrap_or(EditorEvent::Ended)
    }
}

impl Drop for LineEditor {
    fn drop(&mut self) {
        if self.is_reading {
            // The line stays on the screen, and what follows begins below it.
            let mut stdout = std::io::stdout().lock();
            let ended = stdout.write_all(END_OF_EDITING.as_bytes());
            if let Err(error) = ended.and_then(|()| stdout.flush()) {
                tracing::debug!("cannot write to the terminal: {error}");
            }
        }
        self.gate.close();
    }
}

/// The thread that edits lines.
struct EditorThread {
    editor: Editor<InputHelper, FileHistory>,
    requests: Receiver<EditRequest>,
    events: mpsc::Sender<EditorEvent>,
    gate: Arc<OutputGate>,
    open_request: OpenEditorRequest,
    history_path: PathBuf,
    /// The prompt without and with color.
    prompt: (String, String),
    /// The mode of the terminal for other programs.
    original_mode: Option<Termios>,
}

impl EditorThread {
    fn run(mut self) {
        while let Ok(request) = self.requests.recv() {
            if let Some(line) = request.remembered {
                self.remember(&line);
            }
            let event = self.edit_line(request.draft);
            if self.events.blocking_send(event).is_err() {
                return;
            }
        }
    }

    fn edit_line(&mut self, mut initial: String) -> EditorEvent {
        loop {
            let edited = self
                .editor
                .readline_with_initial(&self.prompt, (&initial, ""));
            self.gate.hold();
            match edited {
                Ok(line) => return EditorEvent::Line(line),
                Err(ReadlineError::Interrupted) => {
                    let Some(text) = self.open_request.take() else {
                        return EditorEvent::Interrupted;
                    };
                    let unechoed = self.original_mode.as_ref().and_then(SavedMode::switch_to);
                    let edited = editor_program::edit_text(&text);
                    drop(unechoed);
                    initial = edited.unwrap_or_else(|error| {
                        crate::output::print_note(&format!("{error:#}"));
                        text
                    });
                }
                Err(ReadlineError::Eof) => return EditorEvent::Ended,
                Err(error) => return EditorEvent::Failed(error.to_string()),
            }
        }
    }

    /// Adds a line to the history, also to its file.
    fn remember(&mut self, line: &str) {
        if line.trim().is_empty() || !matches!(self.editor.add_history_entry(line), Ok(true)) {
            return;
        }
        if let Err(error) = self.editor.append_history(&self.history_path) {
            tracing::warn!("cannot write `{}`: {error}", self.history_path.display());
        }
    }
}

fn load_history(editor: &mut Editor<InputHelper, FileHistory>, path: &Path) {
    let created = path.parent().map_or(Ok(()), private_file::create_directory);
    // The file exists before rustyline opens it, so that it is private.
    let loaded = created
        .and_then(|()| private_file::open_append(path))
        .map_err(ReadlineError::from)
        .and_then(|_| editor.history_mut().load(path));
    if let Err(error) = loaded {
        crate::output::print_note(&format!(
            "the history `{}` is not used: {error}",
            path.display()
        ));
    }
}

fn bind_keys(editor: &mut Editor<InputHelper, FileHistory>, open_request: &OpenEditorRequest) {
    editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
    editor.bind_sequence(
        KeyEvent::ctrl('G'),
        EventHandler::Conditional(Box::new(open_request.clone())),
    );
    editor.bind_sequence(
        KeyEvent::ctrl('C'),
        EventHandler::Conditional(Box::new(LineClearing)),
    );
}

/// Ctrl-G: the text to edit in the user's editor.
#[derive(Clone, Default)]
struct OpenEditorRequest(Arc<Mutex<Option<String>>>);

impl OpenEditorRequest {
    fn take(&self) -> Option<String> {
        lock(&self.0).take()
    }
}

impl ConditionalEventHandler for OpenEditorRequest {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        let text = context.line().to_owned();
        *lock(&self.0) = Some(text);
        // The line is edited again when the program has ended.
        Some(Cmd::Interrupt)
    }
}

/// Ctrl-C: clears the line. On an empty line it is reported.
struct LineClearing;

impl ConditionalEventHandler for LineClearing {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        match context.line() {
            "" => Some(Cmd::Interrupt),
            _ => Some(Cmd::Kill(Movement::WholeBuffer)),
        }
    }
}
