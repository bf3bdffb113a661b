//! The task that owns everything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use agenthost_core::agent::SlashCommand;
use agenthost_core::customizing::{CustomizationErrand, CustomizationEvent, Preparation};
use agenthost_protocol::ids::{ClientId, CustomizationId, ProviderId, TurnId};
use agenthost_protocol::session::Customization;
use agenthost_protocol::uri::Uri;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::clients::ClientPackage;
use super::outbox::Outbox;
use super::preparing::Done as PreparingDone;
use super::shelf::Shelf;
use super::tools::{Checked, Remarked, ToolHooks};
use super::{Events, Message, Shared};
use crate::fetch::sweep_fetches;
use crate::mirror;
use crate::parse::Parsed;
use crate::sources::{Reading, Settings};
use crate::watching::Watching;

/// How many containers are read at a time.
const READERS: usize = 4;

/// What a task starts with.
pub(super) struct Start {
    pub(super) settings: Settings,
    pub(super) data: PathBuf,
    /// Where it is noted that hooks run.
    pub(super) notes: Option<PathBuf>,
    pub(super) messages: mpsc::WeakSender<Message>,
    pub(super) shared: Arc<Shared>,
}

/// Everything.
pub(super) struct Task {
    pub(super) settings: Settings,
    pub(super) data: PathBuf,
    pub(super) notes: Option<PathBuf>,
    pub(super) shared: Arc<Shared>,
    pub(super) shelves: BTreeMap<String, Shelf>,
    pub(super) sessions: BTreeMap<Uri, Session>,
    pub(super) packages: BTreeMap<PackageKey, ClientPackage>,
    /// The last number that was given to a question or a package.
    pub(super) numbers: u64,
    pub(super) outbox: Outbox,
    pub(super) work: JoinSet<Done>,
    pub(super) watching: Arc<Watching>,
    /// Lets a few containers be read at a time.
    pub(super) readers: Arc<Semaphore>,
}

/// Which package of which client.
pub(super) type PackageKey = (ClientId, Uri);

/// Tells the hooks of one item from others: the container, and the item in it.
pub(super) type HookKey = (CustomizationId, Option<CustomizationId>);

/// A session that somebody wants to know about.
#[derive(Default)]
pub(super) struct Session {
    pub(super) provider: Option<ProviderId>,
    pub(super) directories: Vec<PathBuf>,
    /// What it has on this disk, in order.
    pub(super) shelves: Vec<String>,
    /// What clients brought, in order, with the names that these have here.
    pub(super) packages: Vec<(PackageKey, CustomizationId)>,
    pub(super) disabled: BTreeSet<CustomizationId>,
    /// What was told so far; none before all was told for the first
    /// time.
    pub(super) told: Option<BTreeMap<CustomizationId, Arc<Customization>>>,
    pub(super) commands: Vec<SlashCommand>,
    /// When commands have to be looked at again.
    pub(super) commands_due: Option<Instant>,
    /// Turns that wait until all is read, and until when they do.
    pub(super) waiting: Vec<(Box<Preparation>, Instant)>,
    /// Turns that are being prepared.
    pub(super) preparing: BTreeMap<(Uri, TurnId), AbortHandle>,
    /// Whether its hooks know that it began.
    pub(super) begun: bool,
    /// What its hooks have to do with tools.
    pub(super) tools: ToolHooks,
    /// Stops the hooks of an item when it is turned off.
    pub(super) hook_stops: BTreeMap<HookKey, CancellationToken>,
}

/// What came of work that was done beside the task.
pub(super) enum Done {
    /// It is known which containers of a session are there.
    Surveyed {
        session: Uri,
        present: Vec<(String, bool)>,
    },
    /// A container was read.
    Read { shelf: String, reading: Reading },
    /// A client's package was read and written down.
    Walked {
        package: PackageKey,
        number: u64,
        parsed: Box<Parsed>,
    },
    /// A turn can begin.
    Prepared(Box<PreparingDone>),
    /// Hooks have looked at a tool that is about to be used.
    Checked(Checked),
    /// Hooks have heard of a tool that was used.
    Remarked(Remarked),
    /// Something that needs no answer.
    Nothing,
}

impl Task {
    pub(super) fn new(start: Start) -> Self {
        let messages = start.messages;
        let watching = Watching::begin(move |touched| {
            if let Some(messages) = messages.upgrade() {
                // It ends before the watcher does: then nobody has to know.
                let message = Message::Touched(touched);
                messages.blocking_send(message).unwrap_or_default();
            }
        });
        let mut work = JoinSet::new();
        let leftovers = mirror::folder(&start.data);
        let data = start.data.clone();
        work.spawn_blocking(move || {
            if let Err(error) = sweep_fetches(&data) {
                tracing::warn!(%error, "failed to remove unfinished fetches of plugins");
            }
            for entry in leftovers.read_dir().into_iter().flatten().flatten() {
                mirror::remove(&entry.path());
            }
            Done::Nothing
        });
        Task {
            settings: start.settings,
            data: start.data,
            notes: start.notes,
            shared: start.shared,
            shelves: BTreeMap::new(),
            sessions: BTreeMap::new(),
            packages: BTreeMap::new(),
            // Folders of an earlier run may still be there.
            numbers: u64::from(std::process::id()) << 32,
            outbox: Outbox::default(),
            work,
            watching: Arc::new(watching),
            readers: Arc::new(Semaphore::new(READERS)),
        }
    }

    /// Runs until it is told to stop, or nobody listens any more.
    pub(super) async fn run(
        mut self,
        mut inbox: mpsc::Receiver<Message>,
        events: Events,
        stop: CancellationToken,
    ) {
        loop {
            let deadline = self.next_deadline();
            let wait = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => break,
                permit = events.reserve(), if !self.outbox.is_empty() => {
                    // Whoever listened is gone: so is the host.
                    let Ok(permit) = permit else { break };
                    if let Some(event) = self.outbox.take() {
                        permit.send(event);
                    }
                }
                message = inbox.recv() => match message {
                    Some(message) => self.message(message),
                    None => break,
                },
                Some(done) = self.work.join_next() => self.done(done),
                () = wait => self.overdue(),
            }
        }
        // Nobody may wait for us to listen while we wait for them.
        drop(inbox);
        // Futures are dropped, and with them the process groups of hooks.
        self.work.shutdown().await;
    }

    fn message(&mut self, message: Message) {
        match message {
            Message::Errand(errand) => self.errand(errand),
            Message::Touched(shelves) => self.touched(&shelves),
        }
    }

    fn errand(&mut self, errand: CustomizationErrand) {
        match errand {
            CustomizationErrand::Follow {
                session,
                provider,
                directories,
            } => self.follow(session, provider, &directories),
            CustomizationErrand::Forget { session } => self.forget(&session),
            CustomizationErrand::ClientPlugins { session, plugins } => {
                self.client_plugins(&session, plugins);
            }
            CustomizationErrand::Heard { ticket, answer } => self.heard(ticket, answer),
            CustomizationErrand::Disabled { session, ids } => {
                let known = self.sessions.entry(session.clone()).or_default();
                known.disabled = ids;
                self.stop_hooks(&session);
                self.publish(&session);
            }
            CustomizationErrand::Trust { keys } => {
                self.settings.trusted = keys;
                self.reshow();
            }
            CustomizationErrand::Prepare(preparation) => self.prepare(preparation),
            CustomizationErrand::TurnEnded {
                session,
                chat,
                turn,
            } => self.turn_ended(&session, chat, turn),
            CustomizationErrand::CheckTool { ticket, tool } => self.check_tool(ticket, &tool),
            CustomizationErrand::DropCheck { session, ticket } => {
                self.drop_check(&session, ticket);
            }
            CustomizationErrand::ToolUsed(tool) => self.tool_used(&tool),
        }
    }

    fn done(&mut self, done: Result<Done, tokio::task::JoinError>) {
        match done {
            Ok(Done::Surveyed { session, present }) => self.surveyed(&session, present),
            Ok(Done::Read { shelf, reading }) => self.read(&shelf, reading),
            Ok(Done::Walked {
                package,
                number,
                parsed,
            }) => self.walked(&package, number, *parsed),
            Ok(Done::Prepared(done)) => self.prepared(*done),
            Ok(Done::Checked(checked)) => self.tool_checked(checked),
            Ok(Done::Remarked(remarked)) => self.remarked(remarked),
            Ok(Done::Nothing) => {}
            Err(error) if error.is_cancelled() => {}
            Err(error) => tracing::error!(%error, "reading customizations failed"),
        }
    }

    /// Tells something about a session.
    pub(super) fn tell(&mut self, session: &Uri, event: CustomizationEvent) {
        self.outbox.add(session, event);
    }

    /// A number that was not given before.
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// When something has to happen at the latest.
    fn next_deadline(&self) -> Option<Instant> {
        let shelves = self.shelves.values().filter_map(Shelf::due);
        let walks = self.packages.values().filter_map(ClientPackage::deadline);
        let sessions = self.sessions.values();
        let commands = sessions.clone().filter_map(|session| session.commands_due);
        let turns = sessions.flat_map(|session| session.waiting.iter().map(|(_, until)| *until));
        shelves.chain(walks).chain(commands).chain(turns).min()
    }

    fn overdue(&mut self) {
        let now = Instant::now();
        self.read_due(now);
        self.end_walks(now);
        self.tell_commands(now);
        self.prepare_waiting(now);
    }
}
