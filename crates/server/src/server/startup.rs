//! Builds the loop from the configuration and from the stored state of the host.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agenthost_core::{
    AgentCatalog, AuditActor, AuditEntry, AuditKind, Host, HostConfig, Input, SessionKey,
    StoredHost,
};
use agenthost_process::kill_leftovers;
use agenthost_protocol::connection::Implementation;
use agenthost_protocol::number::Millis;
use agenthost_protocol::wire::Json;
use agenthost_store::Store;
use agenthost_workspace::{ContentStore, FileService, ProtectedPaths, ResourceService, uri_of};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::{CHANGES_DIR, CONTENT_DIR, HOST_PID_DIR, ServerConfig};
use crate::connection::message::LoopEvent;
use crate::delivery::Publisher;
use crate::delivery::outbox::CapacityNotify;
use crate::host_loop::HostLoop;
use crate::host_loop::drivers::DriverLauncher;
use crate::legacy::LegacyClients;
use crate::server::agent_catalog::CatalogBuilder;
use crate::server::{HostUsage, ServeError};
use crate::workers::Workers;
use crate::workers::changes::ChangeWorker;
use crate::workers::files::FileWorker;
use crate::workers::retention::RetentionWorker;
use crate::workers::search::SearchWorker;
use crate::workers::timers::TimerWorker;
use crate::workers::watches::WatchWorker;

/// Capacity of the input queue of agents and workers. It is smaller than that of clients,
/// because their inputs can be large.
const AGENT_INPUT_QUEUE: usize = 256;

/// Builds the loop with all of its workers, agents and the restored host.
pub(crate) async fn build_host_loop(
    config: &ServerConfig,
    mut store: Store,
    events: mpsc::Receiver<LoopEvent>,
    stop: CancellationToken,
) -> Result<HostLoop, ServeError> {
    let (input_sender, agent_inputs) = mpsc::channel(AGENT_INPUT_QUEUE);
    let protected = config.protected_paths();
    let contents = open_contents(&config.data_directory)?;
    // Processes of an earlier host of this kind: those that work on changes.
    kill_leftovers(&config.data_directory.join(HOST_PID_DIR));
    let workers = build_workers(config, &protected, &input_sender, &contents);
    let launcher = DriverLauncher {
        config: config.clone(),
        inputs: input_sender,
        contents: Arc::clone(&contents),
    };
    let (drivers, memory) = launcher.start(&mut store).await?;
    // The epoch begins before the host is loaded, because its sequence numbers continue from
    // there.
    store.begin_epoch(micros_since_1970(), random_nonce() as u32)?;
    let mut stored = store.load_host()?;
    stored.memory = memory;
    for problem in &stored.unreadable {
        tracing::error!(problem, "failed to read a stored row");
    }
    // A session that can't be read may own data that looks orphaned, so nothing is removed
    // then.
    if stored.unreadable.is_empty() {
        remove_orphaned_data(&stored, &workers, &contents);
    }
    let compacted = stored.seq;
    let catalog = CatalogBuilder::new(config);
    let host = Host::new(
        build_host_config(config, catalog.build(drivers.agents())),
        stored,
    );
    Ok(HostLoop {
        host,
        store,
        drivers,
        launcher,
        catalog,
        retention: config.retention,
        redactor: config.redactor.clone(),
        start_entry: describe_start(config),
        events,
        agent_inputs,
        publisher: Publisher::new(config.limits.max_slow_client_pause),
        legacy: LegacyClients::default(),
        message_limits: config.limits.message_limits,
        capacity: CapacityNotify::default(),
        workers,
        nonce: random_nonce(),
        last_compaction_seq: compacted,
        needs_maintenance: false,
        usage: watch::Sender::new(HostUsage::default()),
        blocked: None,
        next_storage_retry: Instant::now(),
        stop,
        keeps_runner: Arc::new(AtomicBool::new(false)),
        staged_effects: 0,
        appended: Vec::new(),
    })
}

fn build_workers(
    config: &ServerConfig,
    protected: &ProtectedPaths,
    inputs: &mpsc::Sender<Input>,
    contents: &Arc<ContentStore>,
) -> Workers {
    let pid_dir = config.data_directory.join(HOST_PID_DIR);
    let changes = config.data_directory.join(CHANGES_DIR);
    let change_worker =
        ChangeWorker::new(changes, Arc::clone(contents), &pid_dir, protected.clone());
    let resources = ResourceService::new(
        FileService::default().with_protected_paths(protected.clone()),
        Arc::clone(contents),
        change_worker.tracker(),
    );
    Workers {
        tasks: JoinSet::new(),
        file_worker: FileWorker::new(resources, Arc::clone(contents)),
        search_worker: SearchWorker::new(protected.clone()),
        watch_worker: WatchWorker::new(inputs.clone(), protected.clone()),
        timer_worker: TimerWorker,
        retention_worker: RetentionWorker::new(config),
        change_worker,
    }
}

fn build_host_config(config: &ServerConfig, catalog: AgentCatalog) -> HostConfig {
    HostConfig {
        server: Implementation {
            name: "agenthost".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            title: None,
        },
        catalog,
        granted_roots: config.roots.clone(),
        default_directory: std::env::home_dir().and_then(|home| uri_of(&home)),
        grace_period: to_millis(config.limits.grace_period),
        client_retention: to_millis(config.limits.client_retention),
        max_remembered_clients: config.limits.remembered_clients,
        max_subscriptions: config.limits.subscriptions,
        max_sessions: config.limits.sessions,
    }
}

/// Returns the audit entry of a start.
fn describe_start(config: &ServerConfig) -> AuditEntry {
    let version = ("version".to_owned(), Json::from(env!("CARGO_PKG_VERSION")));
    let digest = config.configuration_digest.as_deref();
    let digest = digest.map(|digest| ("configuration".to_owned(), Json::from(digest)));
    AuditEntry {
        kind: AuditKind::HostStarted,
        actor: AuditActor::Host,
        session: None,
        details: [version].into_iter().chain(digest).collect(),
    }
}

/// Removes checkpoints, worktrees and content of sessions that are not in the store any more.
fn remove_orphaned_data(stored: &StoredHost, workers: &Workers, contents: &ContentStore) {
    let sessions = stored.sessions.iter();
    let sessions = sessions.map(|session| SessionKey::of(&session.resource));
    let sessions = sessions.collect();
    // A failure is not fatal: the next start tries again.
    if let Err(error) = workers.change_worker.tracker().retain_sessions(&sessions) {
        tracing::warn!(%error, "failed to remove checkpoints of removed sessions");
    }
    if let Err(error) = contents.retain_sessions(&sessions) {
        tracing::warn!(%error, "failed to remove content of removed sessions");
    }
}

fn to_millis(duration: Duration) -> Millis {
    Millis(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
}

fn micros_since_1970() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}

fn open_contents(data_directory: &Path) -> Result<Arc<ContentStore>, ServeError> {
    let path = data_directory.join(CONTENT_DIR);
    let contents = ContentStore::open(&path);
    let contents = contents.map_err(|source| ServeError::Content { path, source })?;
    Ok(Arc::new(contents))
}

/// Returns a start value for nonces that no other run of the host has used.
fn random_nonce() -> u128 {
    let mut bytes = [0; 16];
    // Without a random source the clock suffices: nonces only have to be unique.
    if getrandom::fill(&mut bytes).is_err() {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        return since.map_or(0, |since| since.as_nanos()) << 32;
    }
    // Leaves headroom, so that the counter does not overflow.
    u128::from_be_bytes(bytes) >> 8
}
