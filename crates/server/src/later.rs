//! What the host hears of later.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agenthost_core::{
    ConnectionId, Failure, FileErrand, FileSearch, ITEMS, Input, KeptText, SessionKey,
    TerminalCommand, TerminalEvent, TerminalProgram, WatchErrand,
};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{
    Bounds, Contents, Files, KeepOutput, Program, ProtectedPaths, Shell, Terminal, TerminalStart,
    Watch, find_files, sweep,
};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use crate::surveys::Surveys;

/// Searches for files at the same time. Whoever asks for one more is told
/// that there is nothing: the next letter asks again.
const SEARCHES: usize = 8;

/// Requests of one client about files that are not answered yet.
const ERRANDS: usize = 64;

/// What a search may cost.
const BOUNDS: Bounds = Bounds {
    items: ITEMS,
    files: 200_000,
    time: Duration::from_millis(300),
};

/// Everything that has begun and will be an input when it is done. Dropped,
/// nothing comes of it.
#[derive(Debug)]
pub(crate) struct Later {
    tasks: JoinSet<Input>,
    searches: Arc<Semaphore>,
    files: Arc<Files>,
    protected: ProtectedPaths,
    contents: Arc<Contents>,
    errands: BTreeMap<ConnectionId, Errands>,
    watches: Arc<Mutex<BTreeMap<Uri, Watch>>>,
    terminals: BTreeMap<Uri, Terminal>,
    /// Looks at the files of sessions.
    pub(crate) surveys: Surveys,
    /// Terminals that are coming to an end.
    closing: JoinSet<()>,
    /// Where it is noted what runs in terminals.
    notes: Option<Arc<Path>>,
    /// What runs in terminals of people.
    shell: Shell,
    /// The way to the host for what happens by itself.
    inputs: mpsc::Sender<Input>,
}

/// What one client asked for.
#[derive(Debug)]
struct Errands {
    room: Arc<Semaphore>,
    /// Tells when the last of them is over.
    last: Option<oneshot::Receiver<()>>,
}

impl Default for Errands {
    fn default() -> Self {
        Errands {
            room: Arc::new(Semaphore::new(ERRANDS)),
            last: None,
        }
    }
}

impl Later {
    /// What happens by itself goes to the host through its queue of inputs;
    /// what runs is noted in a folder. What an earlier host left running by
    /// the notes there is ended.
    pub(crate) fn new(
        inputs: mpsc::Sender<Input>,
        contents: Arc<Contents>,
        surveys: Surveys,
        notes: &Path,
        shell: Shell,
        protected: ProtectedPaths,
    ) -> Self {
        sweep(notes);
        Later {
            tasks: JoinSet::new(),
            searches: Arc::new(Semaphore::new(SEARCHES)),
            files: Arc::new(
                Files::with_contents(Arc::clone(&contents)).protecting(protected.clone()),
            ),
            protected,
            contents,
            errands: BTreeMap::new(),
            watches: Arc::default(),
            terminals: BTreeMap::new(),
            surveys,
            closing: JoinSet::new(),
            notes: Some(notes.into()),
            shell,
            inputs,
        }
    }

    /// The next thing that is done; never, if nothing has begun.
    pub(crate) async fn next(&mut self) -> Input {
        loop {
            tokio::select! {
                Some(done) = self.tasks.join_next() => {
                    // If it broke, or was ended, nothing comes of it.
                    if let Ok(input) = done {
                        return input;
                    }
                }
                input = self.surveys.next() => return input,
            }
        }
    }

    /// Begins a watch.
    pub(crate) fn watch(&mut self, errand: Box<WatchErrand>) {
        let watches = Arc::clone(&self.watches);
        let seen = self.inputs.clone();
        let protected = self.protected.clone();
        self.tasks.spawn_blocking(move || {
            let channel = errand.channel.clone();
            let tell = move |changes| {
                let channel = channel.clone();
                // When the host is gone, nobody wants to know.
                let told = seen.blocking_send(Input::FilesChanged { channel, changes });
                told.unwrap_or_default();
            };
            let begun = Watch::begin(&errand.roots, &protected, &errand.watch, tell);
            let begun = begun.map(|watch| {
                let mut watches = watches.lock().unwrap_or_else(PoisonError::into_inner);
                watches.insert(errand.channel.clone(), watch);
            });
            Input::Watching { errand, begun }
        });
    }

    /// Ends a watch.
    pub(crate) fn unwatch(&mut self, channel: &Uri) {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        drop(watches.remove(channel));
    }

    /// Tells the host something after a while.
    pub(crate) fn after(&mut self, after: Millis, input: Input) {
        let after = Duration::from_millis(u64::try_from(after.0).unwrap_or(0));
        self.tasks.spawn(async move {
            tokio::time::sleep(after).await;
            input
        });
    }

    /// Does something with files. What one client asks for is done in the
    /// order that it asked in. What can be said at once comes back.
    pub(crate) fn use_files(&mut self, errand: Box<FileErrand>) -> Option<Input> {
        let queue = self.errands.entry(errand.connection).or_default();
        let Ok(permit) = Arc::clone(&queue.room).try_acquire_owned() else {
            let busy = format!("at most {ERRANDS} requests about files wait at a time");
            return Some(Input::Answered {
                connection: errand.connection,
                id: errand.id,
                answer: Box::new(Err(Failure::Failed(busy))),
            });
        };
        let (done, next) = oneshot::channel::<()>();
        let before = queue.last.replace(next);
        let files = Arc::clone(&self.files);
        let changes = self.surveys.changes();
        self.tasks.spawn(async move {
            if let Some(before) = before {
                // It is over when its sender is gone, however it went.
                before.await.unwrap_or_default();
            }
            let (connection, id) = (errand.connection, errand.id.clone());
            let work = move || {
                let answer = changes.answer(&errand.request);
                answer.unwrap_or_else(|| files.carry_out(&errand.roots, &errand.request))
            };
            let answer = match tokio::task::spawn_blocking(work).await {
                Ok(answer) => answer,
                Err(_) => Err(Failure::Failed("something broke on the way".to_owned())),
            };
            drop((done, permit));
            Input::Answered {
                connection,
                id,
                answer: Box::new(answer),
            }
        });
        None
    }

    /// Keeps some text, before what comes next.
    pub(crate) fn keep(&mut self, kept: &KeptText) {
        let (session, bytes) = (&kept.session, kept.text.as_bytes());
        if let Err(error) = self.contents.put(session, bytes, &kept.name) {
            tracing::error!(%error, "arguments of a tool call are lost");
        }
    }

    /// Content of a session is that of another one, too.
    pub(crate) fn share_content(&mut self, from: &Uri, to: &Uri) {
        let shared = self
            .contents
            .share(&SessionKey::of(from), &SessionKey::of(to));
        if let Err(error) = shared {
            tracing::warn!(%from, %to, %error, "content of a chat will be lost");
        }
    }

    /// Forgets all content of a session. Nobody else should come in between: a
    /// session of the same name may come next.
    pub(crate) fn forget_content(&mut self, session: &Uri) {
        if let Err(error) = self.contents.forget(&SessionKey::of(session)) {
            tracing::warn!(%session, %error, "content of a session is left behind");
        }
    }

    /// A client is gone: what it asked for last is done, and nobody waits.
    pub(crate) fn forget(&mut self, connection: ConnectionId) {
        self.errands.remove(&connection);
    }

    /// Does something with a terminal. What can be said at once comes back.
    pub(crate) fn terminal(
        &mut self,
        session: Option<&Uri>,
        terminal: Uri,
        command: TerminalCommand,
    ) -> Option<Input> {
        let done = match command {
            TerminalCommand::Open {
                program,
                directory,
                cols,
                rows,
            } => {
                let start = TerminalStart {
                    program: match program {
                        TerminalProgram::Shell => Program::Shell(self.shell.clone()),
                        TerminalProgram::Command(line) => Program::Command(line),
                    },
                    directory,
                    cols,
                    rows,
                    notes: self.notes.clone(),
                    keep: session.map(|session| KeepOutput {
                        contents: Arc::clone(&self.contents),
                        session: SessionKey::of(session),
                    }),
                };
                return self.open_terminal(terminal, &start);
            }
            TerminalCommand::Type(typed) => {
                let found = self.terminals.get(&terminal);
                found.map(|found| found.write(typed.data))
            }
            TerminalCommand::Resize { cols, rows } => {
                let found = self.terminals.get(&terminal);
                found.map(|found| found.resize(cols, rows))
            }
            TerminalCommand::Close => {
                let closed = self.terminals.remove(&terminal);
                self.close(closed.into_iter().collect());
                None
            }
        };
        if let Some(Err(error)) = done {
            tracing::warn!(%terminal, %error, "a terminal did not do what it should");
        }
        None
    }

    fn open_terminal(&mut self, terminal: Uri, start: &TerminalStart) -> Option<Input> {
        let (inputs, resource) = (self.inputs.clone(), terminal.clone());
        let tell = move |event| {
            let terminal = resource.clone();
            // When the host is gone, nobody wants to know.
            let told = inputs.blocking_send(Input::Terminal { terminal, event });
            told.unwrap_or_default();
        };
        match Terminal::open(start, tell) {
            Ok(opened) => {
                self.terminals.insert(terminal, opened);
                None
            }
            Err(error) => {
                tracing::warn!(%terminal, %error, "a terminal did not start");
                let event = TerminalEvent::Failed(error.to_string());
                Some(Input::Terminal { terminal, event })
            }
        }
    }

    /// Ends terminals. That takes a moment, which nobody has to wait for.
    fn close(&mut self, terminals: Vec<Terminal>) {
        // Those that are done are of no interest any more.
        while self.closing.try_join_next().is_some() {}
        if !terminals.is_empty() {
            self.closing
                .spawn_blocking(move || Terminal::close_all(terminals));
        }
    }

    /// Ends all terminals, and waits until they have ended.
    pub(crate) async fn close_terminals(&mut self) {
        let terminals = std::mem::take(&mut self.terminals);
        self.close(terminals.into_values().collect());
        while self.closing.join_next().await.is_some() {}
    }

    /// Looks for files. What can be said at once comes back.
    pub(crate) fn find(&mut self, search: Box<FileSearch>) -> Option<Input> {
        let Ok(permit) = Arc::clone(&self.searches).try_acquire_owned() else {
            let files = Vec::new();
            return Some(Input::FilesFound { search, files });
        };
        let protected = self.protected.clone();
        self.tasks.spawn_blocking(move || {
            let files = find_files(&search.directories, &protected, &search.query, BOUNDS);
            drop(permit);
            Input::FilesFound { search, files }
        });
        None
    }
}
