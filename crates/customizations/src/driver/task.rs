//! The driver task: its state, its message loop and the results of its background work.

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

/// Maximum number of containers that are read at the same time. It limits disk load when a
/// session with many containers starts.
const MAX_CONCURRENT_READS: usize = 4;

/// The arguments for a new driver task.
pub(super) struct DriverStart {
    pub(super) settings: CustomizationSettings,
    pub(super) data: PathBuf,
    /// The folder for pid files of running hooks.
    pub(super) pid_dir: Option<PathBuf>,
    pub(super) messages: mpsc::WeakSender<DriverMessage>,
    pub(super) shared: Arc<DriverShared>,
}

/// The state of the driver task.
pub(super) struct DriverTask {
    pub(super) settings: CustomizationSettings,
    pub(super) data: PathBuf,
    pub(super) pid_dir: Option<PathBuf>,
    pub(super) shared: Arc<DriverShared>,
    pub(super) containers: BTreeMap<String, DiskContainer>,
    pub(super) sessions: BTreeMap<Uri, TrackedSession>,
    pub(super) packages: BTreeMap<PackageKey, ClientPackage>,
    /// The last number that was assigned to a request or a package read.
    pub(super) last_number: u64,
    pub(super) event_queue: EventQueue,
    pub(super) work: JoinSet<WorkDone>,
    pub(super) watcher: Arc<FolderWatcher>,
    /// Permits that limit concurrent reads of containers.
    pub(super) read_permits: Arc<Semaphore>,
}

pub(super) type PackageKey = (ClientId, Uri);

/// The identity of the hooks of one item: the container and the item in it.
pub(super) type HookKey = (CustomizationId, Option<CustomizationId>);

/// A session that the driver tracks on request of the host.
#[derive(Default)]
pub(super) struct TrackedSession {
    pub(super) provider: Option<ProviderId>,
    pub(super) directories: Vec<PathBuf>,
    /// Keys of its containers on disk, in order.
    pub(super) containers: Vec<String>,
    /// Its client packages in order, each with its id in this session.
    pub(super) packages: Vec<(PackageKey, CustomizationId)>,
    pub(super) disabled: BTreeSet<CustomizationId>,
    /// The customizations as they were last published; `None` before the first complete
    /// list.
    pub(super) published: Option<BTreeMap<CustomizationId, Arc<Customization>>>,
    pub(super) commands: Vec<SlashCommand>,
    /// The time at which the slash commands are computed again.
    pub(super) commands_due: Option<Instant>,
    /// Turns that wait until all containers have been read, with their deadlines.
    pub(super) pending_turns: Vec<(Box<TurnPreparation>, Instant)>,
    /// Handles of running preparations, by chat and turn.
    pub(super) running_preparations: BTreeMap<(Uri, TurnId), AbortHandle>,
    /// `true` once the `SessionStart` hooks have been started.
    pub(super) has_started: bool,
    /// State of the hooks that run before and after tool calls.
    pub(super) tool_hooks: ToolHooks,
    /// Tokens that stop the hooks of an item when it is disabled.
    pub(super) hook_stops: BTreeMap<HookKey, CancellationToken>,
}

/// The result of background work.
pub(super) enum WorkDone {
    /// The existence of a session's containers has been checked.
    ContainersSurveyed {
        session: Uri,
        present: Vec<(String, bool)>,
    },
    /// A container has been read from disk.
    ContainerRead {
        container: String,
        reading: ContainerRead,
    },
    /// A client's package has been parsed and mirrored to disk.
    PackageRead {
        package: PackageKey,
        number: u64,
        parsed: Box<ParsedContainer>,
    },
    /// The preparation of a turn has ended.
    TurnPrepared(Box<PreparingDone>),
    /// The hooks before a tool call have finished.
    ToolChecked(CheckDone),
    /// The hooks after a tool call have finished.
    ToolRemarked(HookRemark),
    /// The work has no result.
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
            // Mirror folders of an earlier run may still exist, so the numbers begin with
            // the process id.
            last_number: u64::from(std::process::id()) << 32,
            event_queue: EventQueue::default(),
            work,
            watcher: Arc::new(watching),
            read_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_READS)),
        }
    }

    /// Runs until the driver is stopped or the receiver of the events is dropped.
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
                    // The receiver was dropped: the host has stopped.
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
        // Senders must not wait for a full queue while the task waits for its background
        // work.
        drop(inbox);
        // The shutdown drops the futures, which ends the process groups of running hooks.
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
            Err(error) => tracing::error!(%error, "customization job panicked"),
        }
    }

    /// Queues an event of a session for the host.
    pub(super) fn push_event(&mut self, session: &Uri, event: CustomizationEvent) {
        self.event_queue.push(session, event);
    }

    /// Returns a number that was not assigned before.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Returns the earliest deadline of a read, a walk, a command update or a pending turn.
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
