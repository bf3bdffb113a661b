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

use agenthost_core::customization::driver::{CustomizationCommand, CustomizationEvent};
use agenthost_core::tools::mcp::transport::McpServerSpec;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::sources::CustomizationSettings;
use crate::syntax::placeholders::UnsetPlaceholder;

/// Messages that wait. If there are more, whoever has the next one waits; the
/// task never waits for anybody, so that is short.
const DRIVER_QUEUE: usize = 256;

/// Where what is told goes to: the session, and what.
pub type CustomizationEvents = mpsc::Sender<(Uri, CustomizationEvent)>;

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
    /// Starts, with a folder to keep packages in. What is told goes to
    /// `events`; while these are not taken, what is told about one container
    /// twice is told once.
    ///
    /// Has to be called inside of a runtime.
    pub fn new(
        settings: CustomizationSettings,
        data: PathBuf,
        events: CustomizationEvents,
    ) -> Self {
        Self::start(settings, data, None, events)
    }

    /// The same, with a folder where it is noted that hooks run: so the next
    /// host can end those that a killed one left.
    pub fn with_pid_dir(
        settings: CustomizationSettings,
        data: PathBuf,
        pid_dir: PathBuf,
        events: CustomizationEvents,
    ) -> Self {
        Self::start(settings, data, Some(pid_dir), events)
    }

    fn start(
        settings: CustomizationSettings,
        data: PathBuf,
        pid_dir: Option<PathBuf>,
        events: CustomizationEvents,
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
        let task = tokio::spawn(task.run(inbox, events, stop.clone()));
        CustomizationDriver {
            messages,
            shared,
            stop,
            task,
        }
    }

    /// Does what is wanted, and tells of it.
    pub async fn execute(&self, command: CustomizationCommand) {
        self.send(DriverMessage::Command(command)).await;
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

    async fn send(&self, message: DriverMessage) {
        self.messages.send(message).await.ignore_closed();
    }
}
