//! Starting and stopping.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use agenthost_agents::{Agents, ShellAgent};
use agenthost_core::{Config, Host};
use agenthost_protocol::connection::Implementation;
use agenthost_protocol::number::Millis;
use agenthost_store::{Store, StoreError};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::config::ServerConfig;
use crate::drive::Driver;
use crate::gate::{self, Gate};
use crate::socket::{self, Lobby};

/// Inputs that wait for the loop. When there are more, whoever has the next
/// waits: a client's messages stay in its socket, an agent's in its pipe.
const INPUTS: usize = 1_024;

/// Why a server could not start, or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// What is remembered can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The address is taken, or not ours.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The token could not be read or made.
    #[error("token in the data directory: {0}")]
    Token(io::Error),
    /// Other machines could listen in.
    #[error("{0} is not a loopback address, and what is said there could be read by others")]
    NotLoopback(SocketAddr),
    /// Accepting connections failed.
    #[error("accept connections: {0}")]
    Accept(io::Error),
    /// A part of the server broke.
    #[error("a part of the server broke: {0}")]
    Broke(#[from] JoinError),
}

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// What lets a client in.
    pub token: String,
    stop: CancellationToken,
    tasks: JoinSet<Result<(), ServeError>>,
}

impl Server {
    /// The address that clients use.
    pub fn url(&self) -> String {
        format!("ws://{}/", self.address)
    }

    /// Writes where the server is, whole or not at all, for programs that
    /// wait for it.
    pub fn write_ready_file(&self, path: &Path) -> io::Result<()> {
        let ready = serde_json::json!({
            "url": self.url(),
            "token": self.token,
            "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
        });
        gate::write_private(path, &format!("{ready}\n"))
    }

    /// Lets everything come to an end.
    pub async fn stop(mut self) -> Result<(), ServeError> {
        self.stop.cancel();
        self.ended().await
    }

    /// Waits for the end, whatever brings it.
    pub async fn ended(&mut self) -> Result<(), ServeError> {
        while let Some(ended) = self.tasks.join_next().await {
            self.stop.cancel();
            ended??;
        }
        Ok(())
    }
}

/// Starts a server: it listens when this returns.
pub async fn serve(config: ServerConfig) -> Result<Server, ServeError> {
    if !config.listen.ip().is_loopback() {
        return Err(ServeError::NotLoopback(config.listen));
    }
    let store = Store::open(&config.data_directory, config.durability)?;
    let token = gate::token(&config.data_directory).map_err(ServeError::Token)?;
    let failed = |source| ServeError::Listen {
        address: config.listen,
        source,
    };
    let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;

    let (to_agents, from_agents) = mpsc::channel(INPUTS);
    let mut agents = Agents::new(to_agents);
    agents.add(ShellAgent);
    let remembered = store.remembered()?;
    let seq = remembered.seq;
    let host = Host::new(
        Config {
            server: Implementation {
                name: "agenthost".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
                title: None,
            },
            agents: agents.infos(),
            default_directory: None,
            grace: Millis(i64::try_from(config.limits.grace.as_millis()).unwrap_or(i64::MAX)),
            subscriptions: config.limits.subscriptions,
        },
        remembered,
    );
    let (events, receiver) = mpsc::channel(INPUTS);
    let driver = Driver {
        host,
        store,
        agents,
        retention: config.retention,
        events: receiver,
        from_agents,
        outboxes: BTreeMap::new(),
        timers: JoinSet::new(),
        nonce: random(),
        compacted: seq,
    };
    let stop = CancellationToken::new();
    let lobby = Lobby {
        gate: Gate {
            token: token.clone(),
            address,
            origins: config.allowed_origins,
            hosts: config.allowed_hosts,
        },
        limits: config.limits,
        events,
        next: Arc::new(AtomicU32::new(1)),
        places: Arc::new(Semaphore::new(config.limits.connections)),
        stop: stop.clone(),
    };
    let mut tasks = JoinSet::new();
    let until = stop.clone();
    tasks.spawn(async move { Ok(driver.run(until).await?) });
    let until = stop.clone();
    tasks.spawn(async move {
        axum::serve(listener, socket::router(lobby))
            .with_graceful_shutdown(until.cancelled_owned())
            .await
            .map_err(ServeError::Accept)
    });
    Ok(Server {
        address,
        token,
        stop,
        tasks,
    })
}

/// A place to count from that no other run has used.
fn random() -> u128 {
    let mut bytes = [0; 16];
    // Without randomness the clock has to do: names only have to be new.
    if getrandom::fill(&mut bytes).is_err() {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        return since.map_or(0, |since| since.as_nanos()) << 32;
    }
    // Room to count up from.
    u128::from_be_bytes(bytes) >> 8
}
