//! `agenthost serve`: runs the host until a signal stops it.

mod program_watch;
pub(crate) mod reload;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agenthost_server::{
    AccessScope, HostUsage, Server, ServerConfig, TlsFiles, WireLogConfig, serve,
};
use agenthost_stdx::redaction::SecretRedactor;
use agenthost_store::Durability;
use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::background::log_files::RotatingLog;
use crate::background::{IN_USE_LINE, READY_LINE, START_TIMEOUT};
use crate::commands::runner::runner_launch;
use crate::connect::HostOptions;
use crate::output;
use crate::output::LogDetail;
use crate::page_assets::page_assets;
use crate::page_link::PageAddress;
use reload::{AgentReload, StartedWith};

/// Run the host
///
/// Listens for clients on this machine and stores its data in one directory. Stops on Ctrl-C.
/// `agenthost start` runs it in the background. After a restart, also after a crash, it continues
/// from its log. Options override the configuration file.
#[derive(clap::Args, Default)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    /// Serve one client on standard input and output: one message per line
    #[arg(long)]
    stdio: bool,
    /// Leave the session of the terminal, and print a line once the host listens
    #[arg(long, hide = true, conflicts_with = "stdio")]
    detached: bool,
    /// Stop once no client is connected and no turn runs
    #[arg(long, hide = true)]
    temporary: bool,
    /// Listen on this address again, if it is free and the options name no port
    #[arg(long, hide = true, value_name = "ADDRESS")]
    listen_again: Option<SocketAddr>,
    #[command(flatten)]
    options: ServeOptions,
}

/// Options of `serve` and `start`.
#[derive(clap::Args, Default)]
pub(crate) struct ServeOptions {
    /// Address to listen on; port 0 takes a free one [default: 127.0.0.1:0,
    /// unless --socket is set]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    listen: Option<SocketAddr>,
    /// Unix socket to listen on: one message per line, no token
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Certificate for --listen, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Let --listen be an address that other machines can reach, without TLS
    #[arg(long)]
    allow_plain: bool,
    #[command(flatten)]
    pub(crate) host: HostOptions,
    /// Write address, token and process id to this file, as JSON, once the host listens
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Sync every batch to disk before clients see it: survives a power cut
    #[arg(long)]
    durable: bool,
    /// Log more; message contents are never logged
    #[arg(long, short)]
    verbose: bool,
    /// Log in JSON, one object per line
    #[arg(long)]
    log_json: bool,
    /// Write the log to this file instead of standard error; a full file is renamed, and
    /// the last five are kept
    #[arg(long, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,
    /// Record the kind and direction of each message in this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    wire_log: Option<PathBuf>,
    /// Record whole messages in the wire log, with prompts and output
    #[arg(long, requires = "wire_log")]
    wire_log_contents: bool,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  agenthost serve --listen 127.0.0.1:8123
  agenthost serve --socket ~/.agenthost.sock
  agenthost serve --listen 0.0.0.0:8123 --tls-cert cert.pem --tls-key key.pem
  ssh box agenthost serve --stdio";

pub(crate) async fn run(arguments: ServeArgs) -> anyhow::Result<ExitCode> {
    if arguments.detached {
        nix::unistd::setsid().context("leave the session of the terminal")?;
    }
    let settings = arguments.options.host.resolve_settings()?;
    arguments.options.start_log(settings.file.redactor()?)?;
    let mut config = ServerConfig::new(&settings.data_directory);
    let builtin = config.agents.clone();
    let offered = settings.file.apply(&mut config)?;
    arguments.apply(&mut config);
    config.page = Some(page_assets()?);
    // A client on standard input expects that everything ends with it.
    if !config.stdio {
        let options = &arguments.options;
        config.runner = Some(runner_launch(&options.host, &config, options.verbose)?);
    }
    // The signal handlers are installed before clients and scripts can learn of the host.
    let mut terminate = signal(SignalKind::terminate()).context("listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for Ctrl-C")?;
    let mut hangup = signal(SignalKind::hangup()).context("listen for SIGHUP")?;
    let mut detach = signal(SignalKind::user_defined1()).context("listen for SIGUSR1")?;
    let warning = missing_tls_warning(&config);
    let mut server = serve(config).await?;
    if let Some(path) = &arguments.options.ready_file {
        server.write_ready_file(path)?;
    }
    let usage = arguments.temporary.then(|| server.watch_usage());
    if arguments.detached {
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            url = server.url(),
            "listening"
        );
        output::print_data(READY_LINE)?;
    } else {
        print_welcome(&server, &settings.data_directory);
        if std::io::stderr().is_terminal() {
            print_page_link(&server, &settings.data_directory)?;
        }
    }
    for line in warning.iter().flat_map(|warning| warning.lines()) {
        output::print_note(line);
    }
    let started = StartedWith {
        named_file: arguments.options.host.config.clone(),
        file: settings.file,
        data_directory: settings.data_directory,
        builtin,
        offered,
    };
    let reload = AgentReload::start(started, server.agent_replacer());
    let mut idle = std::pin::pin!(wait_until_idle(usage));
    let mut keeps_runner = false;
    loop {
        tokio::select! {
            // `agenthost stop --keep` and `agenthost restart`
            _ = detach.recv() => {
                keeps_runner = true;
                break;
            }
            ended = server.wait() => {
                ended?;
                return Ok(ExitCode::SUCCESS);
            }
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            // A host in the background outlives its terminal.
            _ = hangup.recv() => {
                if !arguments.detached {
                    break;
                }
                reload.request();
            }
            ended = &mut idle => {
                ended?;
                break;
            }
        }
    }
    drop(reload);
    if arguments.detached {
        tracing::info!("stopping");
    } else {
        output::print_note("stopping");
    }
    match keeps_runner {
        true => server.stop_and_keep_runner().await?,
        false => server.stop().await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits until the clients of a temporary host have left and its turns have ended. Prints a line
/// whenever a client leaves and the host goes on.
async fn wait_until_idle(usage: Option<watch::Receiver<HostUsage>>) -> anyhow::Result<()> {
    let Some(mut usage) = usage else {
        return std::future::pending().await;
    };
    let mut departures = 0;
    // The program that started the host may have been killed before it could connect.
    let mut deadline = Some(Instant::now() + START_TIMEOUT);
    loop {
        tokio::select! {
            changed = usage.changed() => {
                // The server reports its own end.
                if changed.is_err() {
                    return std::future::pending().await;
                }
            }
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => return Ok(()),
        }
        deadline = None;
        let now = *usage.borrow_and_update();
        if now.is_idle() {
            return Ok(());
        }
        if now.departures > departures {
            departures = now.departures;
            output::print_data(IN_USE_LINE)?;
        }
    }
}

impl ServeArgs {
    fn apply(&self, config: &mut ServerConfig) {
        self.options.apply(config);
        if let (Some(again), Some(listen)) = (self.listen_again, config.listen)
            && listen.port() == 0
            && listen.ip() == again.ip()
            && TcpListener::bind(again).is_ok()
        {
            config.listen = Some(again);
        }
        if self.stdio {
            config.stdio = true;
            config.listen = self.options.listen;
            config.socket.clone_from(&self.options.socket);
        }
    }
}

impl ServeOptions {
    fn start_log(&self, redactor: SecretRedactor) -> anyhow::Result<()> {
        let file = self.log_file.as_ref();
        let file = file.map(|path| {
            RotatingLog::open(path).with_context(|| format!("open log `{}`", path.display()))
        });
        let detail = match (self.verbose, &file) {
            (true, _) => LogDetail::Everything,
            (false, Some(_)) => LogDetail::Events,
            (false, None) => LogDetail::Warnings,
        };
        output::start_log(detail, self.log_json, file.transpose()?, redactor)
    }

    fn apply(&self, config: &mut ServerConfig) {
        // Listen addresses on the command line replace those of the configuration file.
        if self.listen.is_some() || self.socket.is_some() {
            config.listen = self.listen;
            config.socket.clone_from(&self.socket);
        }
        if let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) {
            config.tls = Some(TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
            });
        }
        config.allow_plain |= self.allow_plain;
        if self.durable {
            config.durability = Durability::Power;
        }
        config.wire_log = self.wire_log.clone().map(|path| WireLogConfig {
            path,
            contents: self.wire_log_contents,
        });
        // The ready file contains the token, so clients must not read it.
        config.secrets.extend(self.ready_file.clone());
    }

    /// Returns the options as arguments of `serve`, with absolute paths: the host in the
    /// background runs in another folder.
    pub(crate) fn to_arguments(&self) -> anyhow::Result<Vec<OsString>> {
        let mut arguments = self.host.to_arguments()?;
        if let Some(listen) = self.listen {
            arguments.extend(["--listen".into(), listen.to_string().into()]);
        }
        for (name, path) in [
            ("--socket", &self.socket),
            ("--tls-cert", &self.tls_cert),
            ("--tls-key", &self.tls_key),
            ("--ready-file", &self.ready_file),
            ("--wire-log", &self.wire_log),
            ("--log-file", &self.log_file),
        ] {
            if let Some(path) = path {
                arguments.extend([name.into(), absolute_path(path)?]);
            }
        }
        let flags = [
            ("--allow-plain", self.allow_plain),
            ("--durable", self.durable),
            ("--verbose", self.verbose),
            ("--log-json", self.log_json),
            ("--wire-log-contents", self.wire_log_contents),
        ];
        let set = flags.into_iter().filter(|(_, is_set)| *is_set);
        arguments.extend(set.map(|(name, _)| name.into()));
        Ok(arguments)
    }
}

/// Returns a path as an argument for a process in another folder.
pub(crate) fn absolute_path(path: &Path) -> anyhow::Result<OsString> {
    let absolute = std::path::absolute(path);
    let absolute = absolute.with_context(|| format!("resolve `{}`", path.display()))?;
    Ok(absolute.into_os_string())
}

fn print_welcome(server: &Server, data_directory: &Path) {
    let version = env!("CARGO_PKG_VERSION");
    if let Some(url) = server.url() {
        output::print_note(&format!("agenthost {version} listens on {url}"));
        let token = data_directory.join("token");
        output::print_note(&format!("token: in {}", token.display()));
        output::print_note(
            "clients connect with `?tkn=TOKEN` in the address; Ctrl-C stops the host",
        );
    }
    if let Some(socket) = &server.socket {
        let socket = socket.display();
        output::print_note(&format!("agenthost {version} listens on {socket}"));
    }
}

/// Prints a link to the page that signs in one browser. Output that is not a terminal may be
/// stored, and the code is only for the person who started the host.
fn print_page_link(server: &Server, data_directory: &Path) -> anyhow::Result<()> {
    let url = server.url();
    if let Some(address) = url.as_deref().and_then(PageAddress::of_url) {
        let link = address.create_link(data_directory, None, AccessScope::Terminal)?;
        output::print_note(&format!("page, for one browser: {}", link.link));
        output::print_note("`agenthost open` and `agenthost pair` sign in more browsers");
    }
    Ok(())
}

/// Returns a warning if other machines can reach the host without TLS.
fn missing_tls_warning(config: &ServerConfig) -> Option<String> {
    let address = config
        .listen
        .filter(|address| !address.ip().is_loopback())?;
    if config.tls.is_some() {
        return None;
    }
    Some(format!(
        "warning: {address} has no TLS: the token and all messages are sent in the clear\n\
         hint: use TLS (--tls-cert and --tls-key), or listen on 127.0.0.1 behind an SSH tunnel"
    ))
}

/// The error of an argument that is not an address with a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an address and a port, such as 127.0.0.1:8123")]
struct InvalidAddress;

/// Parses a numeric address with a port, or `localhost` with a port.
fn parse_address(text: &str) -> Result<SocketAddr, InvalidAddress> {
    let numbers = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numbers.parse().map_err(|_| InvalidAddress)
}
