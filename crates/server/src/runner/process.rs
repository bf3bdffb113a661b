//! The process of the runner: its main loop.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use agenthost_agents::Agent;
use agenthost_core::customization::driver::{CustomizationCommand, CustomizationEvent, QueryId};
use agenthost_core::{ClientReadError, Input};
use agenthost_process::{PROC_ROOT, ProcessIdentity, kill_leftovers};
use agenthost_stdx::hex::encode_hex;
use agenthost_stdx::private_socket;
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::scratch::ScratchSpace;
use agenthost_workspace::ContentStore;
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval};

use crate::config::{CONTENT_DIR, PID_DIR, SCRATCH_DIR, ServerConfig};
use crate::runner::RunnerError;
use crate::runner::frame::{Frame, FrameKind, PROTOCOL, Welcome, encode_frame, encode_text};
use crate::runner::host_link::{AcceptedHost, HostLink, accept_hosts};
use crate::runner::input_buffer::InputBuffer;
use crate::runner::record::RunnerRecord;
use crate::server::ServeError;
use crate::workers::drivers::{DriverCommand, DriverInput, Drivers};

/// Capacity of the queue of inputs. While it is full, the drivers wait.
const INPUT_QUEUE: usize = 256;

/// Time without a host after which a runner without work ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval at which the runner checks that its data directory still names it.
const RECORD_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Name of the spool in the data directory.
const SPOOL_FILE: &str = "runner.spool";

/// Reads the configuration of agents again. Returns all agents if they have changed.
pub type ReloadAgents = Box<dyn FnMut() -> Option<Vec<Arc<dyn Agent>>> + Send>;

/// The configuration of a runner.
pub struct RunnerConfig {
    /// The agents, customizations and other settings of drivers.
    pub server: ServerConfig,
    /// Reads the configuration of agents again.
    pub reload: ReloadAgents,
}

/// The state of a runner.
struct Runner {
    data_directory: PathBuf,
    record: RunnerRecord,
    drivers: Drivers,
    inputs: mpsc::Receiver<Input>,
    buffer: InputBuffer,
    /// The number of the last command that was received.
    received: u64,
    host: Option<HostLink>,
    /// The time at which a runner ends that a host has left without work. The next host may have
    /// commands that the last one has stored, but not sent.
    idle_deadline: Option<Instant>,
    /// The time at which a runner without a host ends its work.
    deadline: Instant,
    detach_timeout: Duration,
    reload: Option<ReloadAgents>,
    /// Requests for resources of clients that have no answer yet.
    open_queries: BTreeSet<QueryId>,
}

/// The next thing that a runner has to do.
enum RunnerTask {
    Frame(Option<Frame>),
    Input(Box<Input>),
    Connected(AcceptedHost),
    Send,
    CheckRecord,
    Stop(&'static str),
}

/// Runs a runner until the host ends it, until it has nothing to do, or until no host has
/// connected for some time, or until `stop` completes. `on_ready` is called once a host can
/// connect.
pub async fn run_runner(
    config: RunnerConfig,
    on_ready: impl FnOnce(),
    stop: impl Future<Output = ()>,
) -> Result<(), RunnerError> {
    let data = config.server.data_directory.clone();
    let detach_timeout = config.server.limits.detach_timeout;
    let scratch = ScratchSpace::in_directory(&data.join(SCRATCH_DIR))?;
    // Processes of an earlier runner may still use its temporary directories, so they end first.
    kill_leftovers(&data.join(PID_DIR));
    scratch
        .sweep()
        .log_err("failed to remove temporary directories of an earlier runner");
    let directory = scratch.create_socket_directory()?;
    let socket = directory.path().join("runner");
    let (listener, _socket_file) = private_socket::bind(&socket)?;
    listener.set_nonblocking(true)?;
    let listener = UnixListener::from_std(listener)?;
    let record = new_record(socket)?;
    let (sender, inputs) = mpsc::channel(INPUT_QUEUE);
    let drivers = start_drivers(&config.server, &sender, scratch).map_err(Box::new)?;
    record.write(&data)?;
    on_ready();
    let mut runner = Runner {
        data_directory: data.clone(),
        record,
        drivers,
        inputs,
        buffer: InputBuffer::new(&data.join(SPOOL_FILE)),
        received: 0,
        host: None,
        idle_deadline: None,
        deadline: Instant::now() + detach_timeout,
        detach_timeout,
        reload: Some(config.reload),
        open_queries: BTreeSet::new(),
    };
    let ended = runner.run(listener, stop).await;
    if RunnerRecord::read(&data).as_ref() == Some(&runner.record) {
        RunnerRecord::remove(&data);
    }
    if let Err(error) = &ended {
        runner.report_failure(error).await;
    }
    // The drivers send inputs while they end, which no host handles.
    let Runner {
        drivers, inputs, ..
    } = runner;
    drop(inputs);
    drivers.stop().await;
    ended
}

fn new_record(socket: PathBuf) -> Result<RunnerRecord, RunnerError> {
    let process = ProcessIdentity::own();
    let process = process.ok_or_else(|| {
        RunnerError::NotStarted("this system does not show the start time of processes".to_owned())
    })?;
    let mut random = [0; 48];
    getrandom::fill(&mut random).map_err(std::io::Error::other)?;
    let (id, secret) = random.split_at(16);
    Ok(RunnerRecord {
        process,
        id: encode_hex(id),
        secret: encode_hex(secret),
        socket,
    })
}

fn start_drivers(
    config: &ServerConfig,
    inputs: &mpsc::Sender<Input>,
    scratch: ScratchSpace,
) -> Result<Drivers, ServeError> {
    let path = config.data_directory.join(CONTENT_DIR);
    let contents = ContentStore::open(&path);
    let contents = contents.map_err(|source| ServeError::Content { path, source })?;
    // Agents must not read the memory or environment of the host through the runner. The process
    // of the host changes.
    let mut config = config.clone();
    config.secrets.push(PathBuf::from(PROC_ROOT));
    let protected = config.protected_paths();
    Drivers::start(&config, protected, inputs, &Arc::new(contents), scratch)
}

impl Runner {
    async fn run(
        &mut self,
        listener: UnixListener,
        stop: impl Future<Output = ()>,
    ) -> Result<(), RunnerError> {
        let mut stop = std::pin::pin!(stop);
        let (sender, mut hosts) = mpsc::channel(1);
        let mut listening = JoinSet::new();
        listening.spawn(accept_hosts(listener, self.record.secret.clone(), sender));
        let mut check = tokio::time::interval(RECORD_CHECK_INTERVAL);
        // The first tick would be at once.
        check.reset();
        loop {
            match self
                .next_task(&mut hosts, &mut check, stop.as_mut())
                .await?
            {
                RunnerTask::Stop(reason) => {
                    tracing::info!(reason, "the runner ends");
                    return Ok(());
                }
                RunnerTask::Connected(host) => {
                    tracing::info!("a host has connected");
                    self.buffer.rewind();
                    self.host = Some(HostLink::start(host, &self.welcome()));
                }
                RunnerTask::Frame(None) => {
                    tracing::info!("the host has disconnected");
                    self.host = None;
                    check.reset();
                    self.deadline = Instant::now() + self.detach_timeout;
                    self.idle_deadline = Some(Instant::now() + IDLE_TIMEOUT);
                }
                RunnerTask::Frame(Some(frame)) => {
                    if frame.kind == FrameKind::Stop {
                        tracing::info!("the host ends the runner");
                        return Ok(());
                    }
                    self.handle_frame(frame).await?;
                }
                RunnerTask::Input(input) => self.keep_input(*input)?,
                RunnerTask::Send => self.send_next(),
                RunnerTask::CheckRecord => {
                    if RunnerRecord::read(&self.data_directory).as_ref() != Some(&self.record) {
                        tracing::warn!(
                            "the runner ends: its data directory was removed or replaced"
                        );
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn next_task(
        &mut self,
        hosts: &mut mpsc::Receiver<AcceptedHost>,
        check: &mut Interval,
        stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<RunnerTask, RunnerError> {
        let is_idle = self.buffer.is_empty() && self.drivers.is_idle();
        let deadline = match self.idle_deadline {
            Some(idle_deadline) if is_idle => idle_deadline.min(self.deadline),
            _ => self.deadline,
        };
        let has_capacity = self.buffer.has_capacity();
        let can_send = self.buffer.next_unsent().is_some();
        let is_detached = self.host.is_none();
        let (outgoing, incoming) = match &mut self.host {
            Some(link) if link.has_begun && can_send => {
                (Some(link.outgoing.clone()), Some(&mut link.incoming))
            }
            Some(link) => (None, Some(&mut link.incoming)),
            None => (None, None),
        };
        Ok(tokio::select! {
            biased;
            () = stop => RunnerTask::Stop("a signal was received"),
            frame = receive(incoming) => RunnerTask::Frame(frame),
            () = wait_for_capacity(outgoing) => RunnerTask::Send,
            Some(input) = self.inputs.recv(), if has_capacity => RunnerTask::Input(Box::new(input)),
            host = hosts.recv() => match host {
                Some(host) => RunnerTask::Connected(host),
                None => return Err(std::io::Error::other("the runner can't accept hosts").into()),
            },
            _ = check.tick(), if is_detached => RunnerTask::CheckRecord,
            () = tokio::time::sleep_until(deadline), if is_detached => {
                RunnerTask::Stop("no host has connected in time")
            }
        })
    }

    fn welcome(&self) -> Welcome {
        Welcome {
            protocol: PROTOCOL,
            id: self.record.id.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            handled: self.buffer.handled(),
            last_input: self.buffer.last(),
            received: self.received,
            is_idle: self.buffer.is_empty() && self.drivers.is_idle(),
        }
    }

    async fn handle_frame(&mut self, frame: Frame) -> Result<(), RunnerError> {
        match frame.kind {
            FrameKind::Begin => {
                self.set_handled(frame.number)?;
                // The connections that these requests were sent on have ended with their host.
                for query in std::mem::take(&mut self.open_queries) {
                    let reply = Err(ClientReadError::Disconnected);
                    let answered = CustomizationCommand::QueryAnswered { id: query, reply };
                    self.execute(DriverCommand::Customization(Box::new(answered)))?;
                }
                if let Some(link) = &mut self.host {
                    link.has_begun = true;
                }
            }
            FrameKind::Command => {
                // A command that arrived before the last host ended is sent again.
                if frame.number > self.received {
                    self.received = frame.number;
                    self.execute(frame.decode()?)?;
                }
                self.send(encode_frame(FrameKind::Received, self.received, ""));
            }
            FrameKind::UnstoredCommand => {
                self.received = self.received.max(frame.number);
                self.execute(frame.decode()?)?;
            }
            FrameKind::Handled => self.set_handled(frame.number)?,
            FrameKind::Reload => self.reload_agents().await,
            FrameKind::Stop
            | FrameKind::Hello
            | FrameKind::Welcome
            | FrameKind::Input
            | FrameKind::Received
            | FrameKind::Failed => return Err(RunnerError::UnexpectedFrame),
        }
        Ok(())
    }

    fn set_handled(&mut self, handled: u64) -> Result<(), RunnerError> {
        let counted = format!("{} to {}", self.buffer.handled(), self.buffer.last());
        match self.buffer.set_handled(handled)? {
            true => Ok(()),
            false => Err(RunnerError::WrongNumbers {
                counted,
                stored: handled.to_string(),
            }),
        }
    }

    fn execute(&mut self, command: DriverCommand) -> Result<(), RunnerError> {
        if let DriverCommand::Customization(command) = &command
            && let CustomizationCommand::QueryAnswered { id, .. } = &**command
        {
            self.open_queries.remove(id);
        }
        match self.drivers.execute(command) {
            Some(input) => self.keep_input(input),
            None => Ok(()),
        }
    }

    fn keep_input(&mut self, input: Input) -> Result<(), RunnerError> {
        // The drivers send no other inputs.
        let Some(input) = DriverInput::from_input(input) else {
            return Ok(());
        };
        if let DriverInput::Customization {
            event: CustomizationEvent::ResourceRequested { id, .. },
            ..
        } = &input
        {
            self.open_queries.insert(*id);
        }
        self.buffer.push(encode_text(&input))
    }

    /// Sends inputs until the queue is full.
    fn send_next(&mut self) {
        let Some(link) = &self.host else {
            return;
        };
        while let Some((number, text)) = self.buffer.next_unsent() {
            let frame = encode_frame(FrameKind::Input, number, text);
            if link.outgoing.try_send(frame).is_err() {
                break;
            }
            self.buffer.mark_sent();
        }
    }

    /// Sends a frame that the host does not depend on: a full queue drops it.
    fn send(&self, frame: Vec<u8>) {
        if let Some(link) = &self.host {
            link.outgoing.try_send(frame).ignore_closed();
        }
    }

    async fn report_failure(&mut self, error: &RunnerError) {
        tracing::error!(%error, "the runner ends");
        if let Some(link) = self.host.take() {
            let frame = encode_frame(FrameKind::Failed, 0, &error.to_string());
            link.outgoing.send(frame).await.ignore_closed();
            let HostLink {
                outgoing,
                incoming,
                mut tasks,
                ..
            } = link;
            // Both tasks end without their queues.
            drop((outgoing, incoming));
            let written = async { while tasks.join_next().await.is_some() {} };
            tokio::time::timeout(Duration::from_secs(1), written)
                .await
                .ignore_elapsed();
        }
    }

    /// Reads the configuration of agents again. Commands wait meanwhile, because they may be for
    /// a new agent.
    async fn reload_agents(&mut self) {
        let Some(mut reload) = self.reload.take() else {
            return;
        };
        let work = move || {
            let agents = reload();
            (reload, agents)
        };
        // The blocking task is only cancelled when the runtime shuts down.
        if let Ok((reload, agents)) = tokio::task::spawn_blocking(work).await {
            self.reload = Some(reload);
            if let Some(agents) = agents {
                self.drivers.replace_agents(agents);
            }
        }
    }
}

async fn receive(incoming: Option<&mut mpsc::Receiver<Frame>>) -> Option<Frame> {
    match incoming {
        Some(incoming) => incoming.recv().await,
        None => std::future::pending().await,
    }
}

/// Waits until a frame can be sent. Never returns without a queue.
async fn wait_for_capacity(outgoing: Option<mpsc::Sender<Vec<u8>>>) {
    match outgoing {
        // A closed queue is noticed by the reader of the connection.
        Some(outgoing) => match outgoing.reserve().await {
            Ok(_) => {}
            Err(_) => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}
