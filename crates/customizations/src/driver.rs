//! The customization driver: a task that reads containers, watches their files and runs
//! hooks.
//!
//! The task owns all state and only ever waits for messages. Files are read, packages are
//! written and hooks are run on other tasks, which return their results as messages. A
//! container is read once for all sessions that use it.

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

/// The handle of the driver task, which manages the customizations of all sessions.
#[derive(Debug)]
pub struct CustomizationDriver {
    messages: mpsc::Sender<DriverMessage>,
    shared: Arc<DriverShared>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// The reason why an MCP server can't be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerSpecError {
    /// The session has no server with this id.
    #[error("the session has no such MCP server")]
    UnknownServer,
    /// The server is code that the user has not approved. The value names its container.
    #[error("its code needs approval: run `agenthost customizations allow {0}`")]
    UntrustedCode(String),
    /// A placeholder in the server's declaration has no value.
    #[error(transparent)]
    UnsetPlaceholder(#[from] UnsetPlaceholder),
}

/// Code of a container that waits for the user's approval.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UntrustedCode {
    /// The name of the container.
    pub name: String,
    /// The URI of the container.
    pub uri: Uri,
    /// The key that the user has to approve.
    pub key: String,
}

/// State that callers read without waiting for the task.
#[derive(Debug, Default)]
struct DriverShared {
    /// Server specs, by session and container.
    specs: Mutex<BTreeMap<Uri, BTreeMap<CustomizationId, ServerSpecs>>>,
    /// Code that is not approved, by container key.
    untrusted: Mutex<BTreeMap<String, UntrustedCode>>,
    read_count: AtomicU64,
}

/// The specs of a container's MCP servers, or the errors that prevent their start.
type ServerSpecs = BTreeMap<CustomizationId, Result<McpServerSpec, ServerSpecError>>;

/// Messages that the driver task handles.
#[derive(Debug)]
enum DriverMessage {
    Command(CustomizationCommand),
    /// Keys of containers with changed files.
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

    /// Starts the driver as [`Self::new`] does, with a folder for the pid files of running
    /// hooks. With these, the next host can end the hooks that a killed host left behind.
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

    /// Returns the spec of an MCP server of a session.
    ///
    /// # Errors
    ///
    /// If the session has no such server, or the server must not or can't be started.
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

    /// Returns the code of tracked sessions that waits for the user's approval.
    pub fn untrusted_code(&self) -> Vec<UntrustedCode> {
        let untrusted = lock(&self.shared.untrusted);
        untrusted.values().cloned().collect()
    }

    /// Returns the number of times that a container was read.
    pub fn read_count(&self) -> u64 {
        self.shared.read_count.load(Ordering::Relaxed)
    }

    /// Stops the task: kills running hooks and sends no further events.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::warn!(%error, "customization driver failed");
        }
    }
}
