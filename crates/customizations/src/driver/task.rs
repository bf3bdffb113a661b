//! The task that owns everything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use agenthost_core::Input;
use agenthost_core::agent::SlashCommand;
use agenthost_core::customization::driver::{
    CustomizationCommand, CustomizationEvent, TurnPreparation,
};
use agenthost_protocol::ids::{ClientId, CustomizationId, ProviderId, TurnId};
use agenthost_protocol::session::Customization;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::client_packages::ClientPackage;
use super::containers::DiskContainer;
use super::event_queue::EventQueue;
use super::preparation::PreparationDone as PreparingDone;
use super::tool_hooks::{CheckDone, HookRemark, ToolHooks};
use super::{DriverMessage, DriverShared};
use crate::fetch::remove_stale_fetches;
use crate::package::mirror;
use crate::parse::ParsedContainer;
use crate::sources::{ContainerRead, CustomizationSettings};
use crate::watcher::FolderWatcher;

/// How many containers are read at a time.
const MAX_CONCURRENT_READS: usize = 4;

/// What a task starts with.
pub(super) struct DriverStart {
    pub(super) settings: CustomizationSettings,
    pub(super) data: PathBuf,
    /// Where it is noted that hooks run.
    pub(super) pid_dir: Option<PathBuf>,
    pub(super) messages: mpsc::WeakSender<DriverMessage>,
    pub(super) shared: Arc<DriverShared>,
}

/// Everything.
pub(super) struct DriverTask {
    pub(super) settings: CustomizationSettings,
    pub(super) data: PathBuf,
    pub(super) pid_dir: Option<PathBuf>,
    pub(super) shared: Arc<DriverShared>,
    pub(super) containers: BTreeMap<String, DiskContainer>,
    pub(super) sessions: BTreeMap<Uri, TrackedSession>,
    pub(super) packages: BTreeMap<PackageKey, ClientPackage>,
    /// The last number that was given to a question or a package.
    pub(super) last_number: u64,
    pub(super) event_queue: EventQueue,
    pub(super) work: JoinSet<WorkDone>,
    pub(super) watcher: Arc<FolderWatcher>,
    /// Lets a few containers be read at a time.
    pub(super) read_permits: Arc<Semaphore>,
}

/// Which package of which client.
pub(super) type PackageKey = (ClientId, Uri);

/// Tells the hooks of one item from others: the container, and the item in it.
pub(super) type HookKey = (CustomizationId, Option<CustomizationId>);

/// A session that somebody wants to know about.
#[derive(Default)]
pub(super) struct TrackedSession {
    pub(super) provider: Option<ProviderId>,
    pub(super) directories: Vec<PathBuf>,
    /// What it has on this disk, in order.
    pub(super) containers: Vec<String>,
    /// What clients brought, in order, with the names that these have here.
    pub(super) packages: Vec<(PackageKey, CustomizationId)>,
    pub(super) disabled: BTreeSet<CustomizationId>,
    /// What was told so far; none before all was told for the first
    /// time.
    pub(super) published: Option<BTreeMap<CustomizationId, Arc<Customization>>>,
    pub(super) commands: Vec<SlashCommand>,
    /// When commands have to be looked at again.
    pub(super) commands_due: Option<Instant>,
    /// Turns that wait until all is read, and until when they do.
    pub(super) pending_turns: Vec<(Box<TurnPreparation>, Instant)>,
    /// Turns that are being prepared.
    pub(super) running_preparations: BTreeMap<(Uri, TurnId), AbortHandle>,
    /// Whether its hooks know that it began.
    pub(super) has_started: bool,
    /// What its hooks have to do with tools.
    pub(super) tool_hooks: ToolHooks,
    /// Stops the hooks of an item when it is turned off.
    pub(super) hook_stops: BTreeMap<HookKey, CancellationToken>,
}

/// What came of work that was done beside the task.
pub(super) enum WorkDone {
    /// It is known which containers of a session are there.
    ContainersSurveyed {
        session: Uri,
        present: Vec<(String, bool)>,
    },
    /// A container was read.
    ContainerRead {
        container: String,
        reading: ContainerRead,
    },
    /// A client's package was read and written down.
    PackageRead {
        package: PackageKey,
        number: u64,
        parsed: Box<ParsedContainer>,
    },
    /// A turn can begin.
    TurnPrepared(Box<PreparingDone>),
    /// Hooks have looked at a tool that is about to be used.
    ToolChecked(CheckDone),
    /// Hooks have heard of a tool that was used.
    ToolRemarked(HookRemark),
    /// Something that needs no answer.
    Nothing,
}

impl DriverTask {
    pub(super) fn new(start: DriverStart) -> Self {
        let messages = start.messages;
        let watching = FolderWatcher::start(move |touched| {
            if let Some(messages) = messages.upgrade() {
                let message = DriverMessage::ContainersChanged(touched);
                messages.blocking_send(message).ignore_closed();
            }
        });
        let mut work = JoinSet::new();
        let leftovers = mirror::mirrors_folder(&start.data);
        let data = start.data.clone();
        work.spawn_blocking(move || {
            if let Err(error) = remove_stale_fetches(&data) {
                tracing::warn!(%error, "failed to remove unfinished fetches of plugins");
            }
            for entry in leftovers.read_dir().into_iter().flatten().flatten() {
                mirror::remove(&entry.path());
            }
            WorkDone::Nothing
        });
        DriverTask {
            settings: start.settings,
            data: start.data,
            pid_dir: start.pid_dir,
            shared: start.shared,
            containers: BTreeMap::new(),
            sessions: BTreeMap::new(),
            packages: BTreeMap::new(),
            // Folders of an earlier run may still be there.
            last_number: u64::from(std::process::id()) << 32,
            event_queue: EventQueue::default(),
            work,
            watcher: Arc::new(watching),
            read_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_READS)),
        }
    }

    /// Runs until it is stopped, or the host is gone.
    pub(super) async fn run(
        mut self,
        mut inbox: mpsc::Receiver<DriverMessage>,
        inputs: mpsc::Sender<Input>,
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
                permit = inputs.reserve(), if !self.event_queue.is_empty() => {
                    // The receiver is gone, and so is the host.
                    let Ok(permit) = permit else { break };
                    if let Some((session, event)) = self.event_queue.pop() {
                        permit.send(Input::Customization { session, event });
                    }
                }
                message = inbox.recv() => match message {
                    Some(message) => self.handle_message(message),
                    None => break,
                },
                Some(done) = self.work.join_next() => self.handle_done(done),
                () = wait => self.handle_deadlines(),
            }
        }
        // Nobody may wait for us to listen while we wait for them.
        drop(inbox);
        // Futures are dropped, and with them the process groups of hooks.
        self.work.shutdown().await;
    }

    fn handle_message(&mut self, message: DriverMessage) {
        match message {
            DriverMessage::Command(errand) => self.execute(errand),
            DriverMessage::ContainersChanged(shelves) => self.mark_changed(&shelves),
        }
    }

    fn execute(&mut self, command: CustomizationCommand) {
        match command {
            CustomizationCommand::Track {
                session,
                provider,
                directories,
            } => self.track_session(session, provider, &directories),
            CustomizationCommand::Untrack { session } => self.untrack_session(&session),
            CustomizationCommand::SetClientPlugins { session, plugins } => {
                self.set_client_plugins(&session, plugins);
            }
            CustomizationCommand::QueryAnswered {
                id: ticket,
                reply: answer,
            } => self.handle_reply(ticket, answer),
            CustomizationCommand::SetDisabled { session, ids } => {
                let known = self.sessions.entry(session.clone()).or_default();
                known.disabled = ids;
                self.stop_disallowed_hooks(&session);
                self.publish_changes(&session);
            }
            CustomizationCommand::SetTrustedCode { keys } => {
                self.settings.trusted_code = keys;
                self.recompute_all();
            }
            CustomizationCommand::Prepare(preparation) => self.queue_preparation(preparation),
            CustomizationCommand::TurnEnded {
                session,
                chat,
                turn,
            } => self.handle_turn_ended(&session, chat, turn),
            CustomizationCommand::CheckTool {
                id: ticket,
                tool_use: tool,
            } => self.start_tool_check(ticket, &tool),
            CustomizationCommand::CancelCheck {
                session,
                id: ticket,
            } => {
                self.cancel_tool_check(&session, ticket);
            }
            CustomizationCommand::ToolUsed(tool) => self.run_tool_used_hooks(&tool),
        }
    }

    fn handle_done(&mut self, done: Result<WorkDone, tokio::task::JoinError>) {
        match done {
            Ok(WorkDone::ContainersSurveyed { session, present }) => {
                self.handle_survey(&session, present)
            }
            Ok(WorkDone::ContainerRead {
                container: shelf,
                reading,
            }) => self.handle_container_read(&shelf, reading),
            Ok(WorkDone::PackageRead {
                package,
                number,
                parsed,
            }) => self.handle_package_read(&package, number, *parsed),
            Ok(WorkDone::TurnPrepared(done)) => self.handle_prepared(*done),
            Ok(WorkDone::ToolChecked(checked)) => self.handle_tool_checked(checked),
            Ok(WorkDone::ToolRemarked(remarked)) => self.add_hook_remark(remarked),
            Ok(WorkDone::Nothing) => {}
            Err(error) if error.is_cancelled() => {}
            Err(error) => tracing::error!(%error, "reading customizations failed"),
        }
    }

    /// Tells something about a session.
    pub(super) fn push_event(&mut self, session: &Uri, event: CustomizationEvent) {
        self.event_queue.push(session, event);
    }

    /// A number that was not given before.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// When something has to happen at the latest.
    fn next_deadline(&self) -> Option<Instant> {
        let shelves = self.containers.values().filter_map(DiskContainer::due_at);
        let walks = self.packages.values().filter_map(ClientPackage::deadline);
        let sessions = self.sessions.values();
        let commands = sessions.clone().filter_map(|session| session.commands_due);
        let turns =
            sessions.flat_map(|session| session.pending_turns.iter().map(|(_, until)| *until));
        shelves.chain(walks).chain(commands).chain(turns).min()
    }

    fn handle_deadlines(&mut self) {
        let now = Instant::now();
        self.read_due_containers(now);
        self.expire_walks(now);
        self.publish_commands(now);
        self.prepare_ready_turns(now);
    }
}
