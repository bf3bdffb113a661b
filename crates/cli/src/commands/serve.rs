//! `agenthost serve`: runs the host until a signal stops it.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use agenthost_server::{AccessScope, Server, ServerConfig, TlsFiles, WireLogConfig, serve};
use agenthost_store::Durability;
use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

use crate::connect::HostOptions;
use crate::output;
use crate::page_assets::page_assets;
use crate::page_link::PageAddress;

/// Run the host
///
/// Listens for clients on this machine and stores its data in one directory. Stops on Ctrl-C.
/// After a restart, also after a crash, it continues from its log. Options override the
/// configuration file.
#[derive(clap::Args, Default)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 takes a free one [default: 127.0.0.1:0,
    /// unless there is a --socket or --stdio]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    listen: Option<SocketAddr>,
    /// Unix socket to listen on: one message per line, no token
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Serve one client on standard input and output: one message per line
    #[arg(long)]
    stdio: bool,
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
    host: HostOptions,
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
    output::start_log(arguments.verbose, arguments.log_json)?;
    let settings = arguments.host.resolve_settings()?;
    let mut config = ServerConfig::new(&settings.data_directory);
    settings.file.apply(&mut config)?;
    arguments.apply(&mut config);
    config.page = Some(page_assets()?);
    // The signal handlers are installed before clients and scripts can learn of the host.
    let mut terminate = signal(SignalKind::terminate()).context("listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for Ctrl-C")?;
    let warning = missing_tls_warning(&config);
    let mut server = serve(config).await?;
    if let Some(path) = &arguments.ready_file {
        server.write_ready_file(path)?;
    }
    print_welcome(&server, &settings.data_directory);
    if std::io::stderr().is_terminal() {
        print_page_link(&server, &settings.data_directory)?;
    }
    for line in warning.iter().flat_map(|warning| warning.lines()) {
        output::print_note(line);
    }
    tokio::select! {
        ended = server.wait() => {
            ended?;
            return Ok(ExitCode::SUCCESS);
        }
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    output::print_note("stopping");
    server.stop().await?;
    Ok(ExitCode::SUCCESS)
}

impl ServeArgs {
    fn apply(&self, config: &mut ServerConfig) {
        // Listen addresses on the command line replace those of the configuration file.
        if self.listen.is_some() || self.socket.is_some() || self.stdio {
            config.listen = self.listen;
            config.socket.clone_from(&self.socket);
            config.stdio = self.stdio;
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
}

fn print_welcome(server: &Server, data_directory: &std::path::Path) {
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
fn print_page_link(server: &Server, data_directory: &std::path::Path) -> anyhow::Result<()> {
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
