//! Does what the host wants to know about customizations.
//!
//! One task owns everything and waits for nothing but messages: files are
//! read, packages written and hooks run beside it, and what comes of that is a
//! message, too. A container is read once for all sessions that have it.

pub(crate) mod client_packages;
pub(crate) mod client_walk;
pub(crate) mod containers;
pub(crate) mod event_queue;
pub(crate) mod preparation;
mod publish;
pub(crate) mod server_specs;
mod task;
pub(crate) mod tool_hooks;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use agenthost_core::Input;
use agenthost_core::customization::driver::CustomizationCommand;
use agenthost_core::tools::mcp::transport::McpServerSpec;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::sync::lock;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::sources::CustomizationSettings;
use crate::syntax::placeholders::UnsetPlaceholder;

/// Messages that wait for the task. It takes them at once, so a full queue means that it has
/// stopped: then commands are returned to the caller, and the watcher of folders waits.
const DRIVER_QUEUE: usize = 4_096;

/// Customizations of all sessions.
#[derive(Debug)]
pub struct CustomizationDriver {
    messages: mpsc::Sender<DriverMessage>,
    shared: Arc<DriverShared>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// Why a server can't be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerSpecError {
    /// The session has no such server.
    #[error("the session has no such server")]
    UnknownServer,
    /// It is code that no person allowed.
    #[error("it was not allowed yet: run `agenthost customizations allow {0}`")]
    UntrustedCode(String),
    /// A name in its declaration stands for nothing.
    #[error(transparent)]
    UnsetPlaceholder(#[from] UnsetPlaceholder),
}

/// Code that no person allowed yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UntrustedCode {
    /// The container's name.
    pub name: String,
    /// The container's address.
    pub uri: Uri,
    /// What has to be allowed.
    pub key: String,
}

/// What can be asked without waiting.
#[derive(Debug, Default)]
struct DriverShared {
    /// By session and container.
    specs: Mutex<BTreeMap<Uri, BTreeMap<CustomizationId, ServerSpecs>>>,
    /// By container.
    untrusted: Mutex<BTreeMap<String, UntrustedCode>>,
    read_count: AtomicU64,
}

/// How the servers of a container are reached.
type ServerSpecs = BTreeMap<CustomizationId, Result<McpServerSpec, ServerSpecError>>;

/// What the task is told.
#[derive(Debug)]
enum DriverMessage {
    Command(CustomizationCommand),
    /// Containers whose files have changed.
    ContainersChanged(BTreeSet<String>),
}

impl CustomizationDriver {
    /// Starts the task, with a folder for packages. It sends its events to the host as
    /// `Input::Customization`. While the host takes no inputs, events wait in the task, and a later
    /// event replaces an earlier one about the same container.
    ///
    /// Must be called inside a runtime.
    pub fn new(
        settings: CustomizationSettings,
        data: PathBuf,
        inputs: mpsc::Sender<Input>,
    ) -> Self {
        Self::start(settings, data, None, inputs)
    }

    /// The same, with a folder where it is noted that hooks run: so the next
    /// host can end those that a killed one left.
    pub fn with_pid_dir(
        settings: CustomizationSettings,
        data: PathBuf,
        pid_dir: PathBuf,
        inputs: mpsc::Sender<Input>,
    ) -> Self {
        Self::start(settings, data, Some(pid_dir), inputs)
    }

    fn start(
        settings: CustomizationSettings,
        data: PathBuf,
        pid_dir: Option<PathBuf>,
        inputs: mpsc::Sender<Input>,
    ) -> Self {
        let (messages, inbox) = mpsc::channel(DRIVER_QUEUE);
        let shared = Arc::new(DriverShared::default());
        let stop = CancellationToken::new();
        let task = task::DriverTask::new(task::DriverStart {
            settings,
            data,
            pid_dir,
            messages: messages.downgrade(),
            shared: shared.clone(),
        });
        let task = tokio::spawn(task.run(inbox, inputs, stop.clone()));
        CustomizationDriver {
            messages,
            shared,
            stop,
            task,
        }
    }

    /// Passes a command to the task.
    ///
    /// # Errors
    ///
    /// The command, if the task has stopped or its queue is full.
    pub fn execute(&self, command: CustomizationCommand) -> Result<(), Box<CustomizationCommand>> {
        match self.messages.try_reserve() {
            Ok(permit) => {
                permit.send(DriverMessage::Command(command));
                Ok(())
            }
            Err(_) => Err(Box::new(command)),
        }
    }

    /// How a server of a session is reached.
    ///
    /// # Errors
    ///
    /// If there is none, or it must not or can't be started.
    pub fn server_spec(
        &self,
        session: &Uri,
        server: &CustomizationId,
    ) -> Result<McpServerSpec, ServerSpecError> {
        let specs = lock(&self.shared.specs);
        let mut containers = specs.get(session).into_iter().flat_map(BTreeMap::values);
        let spec = containers.find_map(|specs| specs.get(server));
        spec.cloned().unwrap_or(Err(ServerSpecError::UnknownServer))
    }

    /// Code of sessions that no person allowed yet.
    pub fn untrusted_code(&self) -> Vec<UntrustedCode> {
        let untrusted = lock(&self.shared.untrusted);
        untrusted.values().cloned().collect()
    }

    /// How many containers were read so far.
    pub fn read_count(&self) -> u64 {
        self.shared.read_count.load(Ordering::Relaxed)
    }

    /// Ends everything: hooks that run are killed, nothing more is told.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::warn!(%error, "customizations ended badly");
        }
    }
}
