//! Runs the terminals that clients open, and the commands that turns run in terminals.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agenthost_core::{
    Input, PtyCommand, SessionEnvironment, SessionKey, TerminalEvent, TerminalProgram,
};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_workspace::{
    ContentStore, OutputSink, PtyProgram, ShellSpec, Terminal, TerminalOptions,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The open terminals and the tasks that close them.
#[derive(Debug)]
pub(crate) struct TerminalWorker {
    terminals: BTreeMap<Uri, Terminal>,
    /// Tasks that end the processes of closed terminals.
    closing: JoinSet<()>,
    contents: Arc<ContentStore>,
    /// The directory of pid files.
    pid_dir: Arc<Path>,
    /// The shell of interactive terminals.
    shell: ShellSpec,
    /// The input queue. While it is full, the reader thread of a terminal waits, and with it
    /// the process that writes to the terminal.
    inputs: mpsc::Sender<Input>,
}

impl TerminalWorker {
    pub(crate) fn new(
        inputs: mpsc::Sender<Input>,
        contents: Arc<ContentStore>,
        pid_dir: &Path,
        shell: ShellSpec,
    ) -> Self {
        TerminalWorker {
            terminals: BTreeMap::new(),
            closing: JoinSet::new(),
            contents,
            pid_dir: pid_dir.into(),
            shell,
            inputs,
        }
    }

    /// Runs a command of the host on a terminal. Output that is too large for the state is
    /// stored in the content of `session`, and a program that is started gets the variables in
    /// `environment`. Returns the failure if a terminal can't be opened.
    pub(crate) fn run(
        &mut self,
        session: Option<&Uri>,
        environment: &SessionEnvironment,
        terminal: Uri,
        command: PtyCommand,
    ) -> Option<Input> {
        let done = match command {
            PtyCommand::Open {
                program,
                directory,
                cols,
                rows,
            } => {
                let options = TerminalOptions {
                    program: match program {
                        TerminalProgram::Shell => PtyProgram::Shell(self.shell.clone()),
                        TerminalProgram::Command(line) => PtyProgram::Command(line),
                    },
                    environment: environment
                        .variables()
                        .map(|(name, value)| (name.into(), value.into()))
                        .collect(),
                    directory,
                    cols,
                    rows,
                    pid_dir: Some(Arc::clone(&self.pid_dir)),
                    output_sink: session.map(|session| OutputSink {
                        content_store: Arc::clone(&self.contents),
                        session: SessionKey::of(session),
                    }),
                };
                return self.open(terminal, &options);
            }
            PtyCommand::Write(typed) => {
                let found = self.terminals.get(&terminal);
                found.map(|found| found.write(typed.data))
            }
            PtyCommand::Resize { cols, rows } => {
                let found = self.terminals.get(&terminal);
                found.map(|found| found.resize(cols, rows))
            }
            PtyCommand::Close => {
                let closed = self.terminals.remove(&terminal);
                self.close_in_background(closed.into_iter().collect());
                None
            }
        };
        if let Some(Err(error)) = done {
            tracing::warn!(%terminal, %error, "failed to write to or resize a terminal");
        }
        None
    }

    fn open(&mut self, terminal: Uri, options: &TerminalOptions) -> Option<Input> {
        let (inputs, resource) = (self.inputs.clone(), terminal.clone());
        let send_event = move |event| {
            let terminal = resource.clone();
            let sent = inputs.blocking_send(Input::Terminal { terminal, event });
            sent.ignore_closed();
        };
        match Terminal::open(options, send_event) {
            Ok(opened) => {
                self.terminals.insert(terminal, opened);
                None
            }
            Err(error) => {
                tracing::warn!(%terminal, %error, "failed to start a terminal");
                let event = TerminalEvent::Failed(error.to_string());
                Some(Input::Terminal { terminal, event })
            }
        }
    }

    /// Ends the processes of terminals on a blocking thread, because they get some time to
    /// exit.
    fn close_in_background(&mut self, terminals: Vec<Terminal>) {
        // Removes finished tasks from the set.
        while self.closing.try_join_next().is_some() {}
        if !terminals.is_empty() {
            self.closing
                .spawn_blocking(move || Terminal::close_all(terminals));
        }
    }

    /// Returns `true` if no terminal is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.terminals.is_empty()
    }

    /// Closes all terminals, and waits until their processes have exited.
    pub(crate) async fn close_all(&mut self) {
        let terminals = std::mem::take(&mut self.terminals);
        self.close_in_background(terminals.into_values().collect());
        while self.closing.join_next().await.is_some() {}
    }
}
