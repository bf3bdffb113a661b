//! What the host hears of later.

pub(crate) mod changes;
pub(crate) mod customization;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agenthost_core::{
    ConnectionId, FileJob, FileSearch, Input, MAX_COMPLETION_ITEMS, PtyCommand, RequestFailure,
    SessionKey, StoredText, TerminalEvent, TerminalProgram, WatchRequest,
};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use agenthost_workspace::{
    ContentStore, DirectoryWatch, FileService, OutputSink, ProtectedPaths, PtyProgram,
    ResourceService, SearchLimits, ShellSpec, Terminal, TerminalOptions, kill_leftovers,
    search_files,
};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use crate::workers::changes::ChangeWorker;

/// Searches for files at the same time. Whoever asks for one more is told
/// that there is nothing: the next letter asks again.
const MAX_SEARCHES: usize = 8;

/// Requests of one client about files that are not answered yet.
const MAX_FILE_JOBS: usize = 64;

/// What a search may cost.
const SEARCH_LIMITS: SearchLimits = SearchLimits {
    max_results: MAX_COMPLETION_ITEMS,
    max_files: 200_000,
    timeout: Duration::from_millis(300),
};

/// Everything that has begun and will be an input when it is done. Dropped,
/// nothing comes of it.
#[derive(Debug)]
pub(crate) struct Workers {
    tasks: JoinSet<Input>,
    search_permits: Arc<Semaphore>,
    resources: Arc<ResourceService>,
    protected: ProtectedPaths,
    contents: Arc<ContentStore>,
    file_queues: BTreeMap<ConnectionId, FileQueue>,
    watches: Arc<Mutex<BTreeMap<Uri, DirectoryWatch>>>,
    terminals: BTreeMap<Uri, Terminal>,
    /// Looks at the files of sessions.
    pub(crate) change_worker: ChangeWorker,
    /// Terminals that are coming to an end.
    closing_terminals: JoinSet<()>,
    /// Where it is noted what runs in terminals.
    pid_dir: Option<Arc<Path>>,
    /// What runs in terminals of people.
    shell: ShellSpec,
    /// The way to the host for what happens by itself.
    inputs: mpsc::Sender<Input>,
}

/// What one client asked for.
#[derive(Debug)]
struct FileQueue {
    permits: Arc<Semaphore>,
    /// Tells when the last of them is over.
    previous: Option<oneshot::Receiver<()>>,
}

impl Default for FileQueue {
    fn default() -> Self {
        FileQueue {
            permits: Arc::new(Semaphore::new(MAX_FILE_JOBS)),
            previous: None,
        }
    }
}

impl Workers {
    /// What happens by itself goes to the host through its queue of inputs;
    /// what runs is noted in a folder. What an earlier host left running by
    /// the notes there is ended.
    pub(crate) fn new(
        inputs: mpsc::Sender<Input>,
        contents: Arc<ContentStore>,
        change_worker: ChangeWorker,
        pid_dir: &Path,
        shell: ShellSpec,
        protected: ProtectedPaths,
    ) -> Self {
        kill_leftovers(pid_dir);
        Workers {
            tasks: JoinSet::new(),
            search_permits: Arc::new(Semaphore::new(MAX_SEARCHES)),
            resources: Arc::new(ResourceService::new(
                FileService::default().with_protected_paths(protected.clone()),
                Arc::clone(&contents),
                change_worker.tracker(),
            )),
            protected,
            contents,
            file_queues: BTreeMap::new(),
            watches: Arc::default(),
            terminals: BTreeMap::new(),
            change_worker,
            closing_terminals: JoinSet::new(),
            pid_dir: Some(pid_dir.into()),
            shell,
            inputs,
        }
    }

    /// The next thing that is done; never, if nothing has begun.
    pub(crate) async fn next_input(&mut self) -> Input {
        loop {
            tokio::select! {
                Some(done) = self.tasks.join_next() => {
                    // If it broke, or was ended, nothing comes of it.
                    if let Ok(input) = done {
                        return input;
                    }
                }
                input = self.change_worker.next_input() => return input,
            }
        }
    }

    /// Begins a watch.
    pub(crate) fn start_watch(&mut self, request: Box<WatchRequest>) {
        let watches = Arc::clone(&self.watches);
        let inputs = self.inputs.clone();
        let protected = self.protected.clone();
        self.tasks.spawn_blocking(move || {
            let channel = request.channel.clone();
            let send_changes = move |changes| {
                let channel = channel.clone();
                let sent = inputs.blocking_send(Input::FilesChanged { channel, changes });
                sent.ignore_closed();
            };
            let begun =
                DirectoryWatch::start(&request.roots, &protected, &request.watch, send_changes);
            let begun = begun.map(|watch| {
                let mut watches = lock(&watches);
                watches.insert(request.channel.clone(), watch);
            });
            Input::WatchStarted {
                request,
                outcome: begun,
            }
        });
    }

    /// Ends a watch.
    pub(crate) fn stop_watch(&mut self, channel: &Uri) {
        let mut watches = lock(&self.watches);
        drop(watches.remove(channel));
    }

    /// Tells the host something after a while.
    pub(crate) fn schedule(&mut self, delay: Millis, input: Input) {
        let delay = Duration::from_millis(u64::try_from(delay.0).unwrap_or(0));
        self.tasks.spawn(async move {
            tokio::time::sleep(delay).await;
            input
        });
    }

    /// Does something with files. What one client asks for is done in the
    /// order that it asked in. What can be said at once comes back.
    pub(crate) fn run_file_job(&mut self, job: Box<FileJob>) -> Option<Input> {
        let queue = self.file_queues.entry(job.connection).or_default();
        let Ok(permit) = Arc::clone(&queue.permits).try_acquire_owned() else {
            let busy = format!("at most {MAX_FILE_JOBS} requests about files wait at a time");
            return Some(Input::RequestCompleted {
                connection: job.connection,
                id: job.id,
                result: Box::new(Err(RequestFailure::Internal(busy))),
            });
        };
        let (done, next) = oneshot::channel::<()>();
        let previous = queue.previous.replace(next);
        let resources = Arc::clone(&self.resources);
        self.tasks.spawn(async move {
            if let Some(previous) = previous {
                // It is over when its sender is gone, however it went.
                previous.await.ignore_elapsed();
            }
            let (connection, id) = (job.connection, job.id.clone());
            let work = move || resources.execute(&job.roots, &job.request);
            let response = match tokio::task::spawn_blocking(work).await {
                Ok(response) => response,
                Err(_) => Err(RequestFailure::Internal(
                    "something broke on the way".to_owned(),
                )),
            };
            drop((done, permit));
            Input::RequestCompleted {
                connection,
                id,
                result: Box::new(response),
            }
        });
        None
    }

    /// Keeps some text, before what comes next.
    pub(crate) fn store_content(&mut self, content: &StoredText) {
        let (session, bytes) = (&content.session, content.text.as_bytes());
        if let Err(error) = self.contents.insert(session, bytes, &content.name) {
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
    pub(crate) fn delete_content(&mut self, session: &Uri) {
        if let Err(error) = self.contents.remove_session(&SessionKey::of(session)) {
            tracing::warn!(%session, %error, "content of a session is left behind");
        }
    }

    /// A client is gone: what it asked for last is done, and nobody waits.
    pub(crate) fn drop_file_queue(&mut self, connection: ConnectionId) {
        self.file_queues.remove(&connection);
    }

    /// Does something with a terminal. What can be said at once comes back.
    pub(crate) fn run_terminal_command(
        &mut self,
        session: Option<&Uri>,
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
                let start = TerminalOptions {
                    program: match program {
                        TerminalProgram::Shell => PtyProgram::Shell(self.shell.clone()),
                        TerminalProgram::Command(line) => PtyProgram::Command(line),
                    },
                    directory,
                    cols,
                    rows,
                    pid_dir: self.pid_dir.clone(),
                    output_sink: session.map(|session| OutputSink {
                        content_store: Arc::clone(&self.contents),
                        session: SessionKey::of(session),
                    }),
                };
                return self.open_terminal(terminal, &start);
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
            tracing::warn!(%terminal, %error, "a terminal did not do what it should");
        }
        None
    }

    fn open_terminal(&mut self, terminal: Uri, options: &TerminalOptions) -> Option<Input> {
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
                tracing::warn!(%terminal, %error, "a terminal did not start");
                let event = TerminalEvent::Failed(error.to_string());
                Some(Input::Terminal { terminal, event })
            }
        }
    }

    /// Ends terminals. That takes a moment, which nobody has to wait for.
    fn close_in_background(&mut self, terminals: Vec<Terminal>) {
        // Those that are done are of no interest any more.
        while self.closing_terminals.try_join_next().is_some() {}
        if !terminals.is_empty() {
            self.closing_terminals
                .spawn_blocking(move || Terminal::close_all(terminals));
        }
    }

    /// Ends all terminals, and waits until they have ended.
    pub(crate) async fn close_terminals(&mut self) {
        let terminals = std::mem::take(&mut self.terminals);
        self.close_in_background(terminals.into_values().collect());
        while self.closing_terminals.join_next().await.is_some() {}
    }

    /// Looks for files. What can be said at once comes back.
    pub(crate) fn search_files(&mut self, search: Box<FileSearch>) -> Option<Input> {
        let Ok(permit) = Arc::clone(&self.search_permits).try_acquire_owned() else {
            let files = Vec::new();
            return Some(Input::FileSearchFinished { search, files });
        };
        let protected = self.protected.clone();
        self.tasks.spawn_blocking(move || {
            let files = search_files(
                &search.directories,
                &protected,
                &search.query,
                SEARCH_LIMITS,
            );
            drop(permit);
            Input::FileSearchFinished { search, files }
        });
        None
    }
}
