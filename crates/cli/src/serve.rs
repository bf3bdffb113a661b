//! `agenthost serve`: the host, until it is told to stop.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use agenthost_protocol::number::Millis;
use agenthost_server::{Server, ServerConfig, ServerLimits, serve};
use agenthost_store::{Durability, Retention};
use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

use crate::output;

/// Run the host
///
/// Listens for clients on this machine and keeps what it remembers in one
/// directory. Stops on Ctrl-C, and goes on where it was when it is started
/// again, also after a crash.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Where to keep what is remembered [default: the data directory of the user]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Write where it listens to this file, as JSON, once it does
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Have every batch on the disk before it is seen: survives a power cut
    #[arg(long)]
    durable: bool,
    /// Say more about what happens; never what is said
    #[arg(long, short)]
    verbose: bool,
}

impl Default for Arguments {
    fn default() -> Self {
        Arguments {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data_dir: None,
            ready_file: None,
            durable: false,
            verbose: false,
        }
    }
}

/// Actions that a client may have missed and still be sent one by one.
const KEPT_ACTIONS: u64 = 200_000;

/// How long they are kept: thirty days.
const KEPT_FOR: Millis = Millis(30 * 24 * 60 * 60 * 1_000);

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    output::start_log(arguments.verbose);
    let runtime = tokio::runtime::Runtime::new().context("start the runtime")?;
    runtime.block_on(host(arguments))?;
    Ok(ExitCode::SUCCESS)
}

async fn host(arguments: &Arguments) -> anyhow::Result<()> {
    let data_directory = match &arguments.data_dir {
        Some(directory) => directory.clone(),
        None => default_directory()?,
    };
    let durability = if arguments.durable {
        Durability::Power
    } else {
        Durability::Process
    };
    let mut server = serve(ServerConfig {
        listen: arguments.listen,
        data_directory: data_directory.clone(),
        allowed_origins: Vec::new(),
        allowed_hosts: Vec::new(),
        durability,
        retention: Retention {
            actions: KEPT_ACTIONS,
            age: KEPT_FOR,
        },
        limits: ServerLimits::default(),
    })
    .await?;
    if let Some(path) = &arguments.ready_file {
        let wrote = server.write_ready_file(path);
        wrote.with_context(|| format!("write `{}`", path.display()))?;
    }
    welcome(&server, &data_directory);
    let mut terminate = signal(SignalKind::terminate()).context("listen for SIGTERM")?;
    tokio::select! {
        ended = server.ended() => return Ok(ended?),
        pressed = tokio::signal::ctrl_c() => pressed.context("listen for Ctrl-C")?,
        _ = terminate.recv() => {}
    }
    output::note("stopping");
    Ok(server.stop().await?)
}

fn welcome(server: &Server, data_directory: &std::path::Path) {
    let lines = [
        format!(
            "agenthost {} listens on {}",
            env!("CARGO_PKG_VERSION"),
            server.url()
        ),
        format!("token: in {}", data_directory.join("token").display()),
        "clients connect with `?tkn=TOKEN` in the address; Ctrl-C stops the host".to_owned(),
    ];
    for line in lines {
        output::note(&line);
    }
}

/// The data directory of the user, as the XDG rules say.
fn default_directory() -> anyhow::Result<PathBuf> {
    let absolute = |name| {
        let value = std::env::var_os(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    if let Some(data) = absolute("XDG_DATA_HOME") {
        return Ok(data.join("agenthost"));
    }
    let home = absolute("HOME");
    let home =
        home.context("neither XDG_DATA_HOME nor HOME is set: name a directory with --data-dir")?;
    Ok(home.join(".local/share/agenthost"))
}
