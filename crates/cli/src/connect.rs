//! Connects a command to the running host, or to a temporary host that it starts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agenthost_client::{Client, ClientError, ClientOptions, HostAddress, TransportError};
use agenthost_protocol::connection::Implementation;
use agenthost_protocol::ids::ClientId;
use agenthost_server::{HOST_FILE, Server, ServerConfig, serve};
use agenthost_stdx::hex::encode_hex;
use agenthost_stdx::private_file;
use anyhow::Context;

use crate::config;
use crate::config::{AgentCandidate, FileConfig};

/// Time that most commands try to reconnect to a lost host: long enough for a restart.
pub(crate) const COMMAND_RECONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The options of every command that needs a host.
#[derive(clap::Args, Default)]
pub(crate) struct HostOptions {
    /// Data directory; it identifies the host [default: the data directory of the user]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Configuration file [default: agenthost/config.toml in the
    /// configuration directory of the user, if it is there]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// The data directory and configuration that result from the options.
pub(crate) struct HostSettings {
    pub(crate) data_directory: PathBuf,
    pub(crate) file: FileConfig,
}

impl HostOptions {
    pub(crate) fn resolve_settings(&self) -> anyhow::Result<HostSettings> {
        let file = FileConfig::load(self.config.as_deref())?;
        let named = self.data_dir.as_ref().or(file.data_dir.as_ref());
        let data_directory = match named {
            // Processes of the host run in other directories, so a relative path would not
            // be found.
            Some(directory) => resolve_path(directory)
                .with_context(|| format!("resolve data directory `{}`", directory.display()))?,
            None => config::default_data_directory()?,
        };
        Ok(HostSettings {
            data_directory,
            file,
        })
    }
}

impl HostSettings {
    /// Returns all agents that are built in or configured.
    pub(crate) fn candidates(&self) -> anyhow::Result<Vec<AgentCandidate>> {
        // The caller runs these agents itself and waits for their end, so no pid files are
        // written.
        self.file.candidates(None)
    }
}

/// Makes a path absolute and resolves symbolic links and `..`, as far as the path exists.
fn resolve_path(directory: &Path) -> std::io::Result<PathBuf> {
    if let Ok(resolved) = directory.canonicalize() {
        return Ok(resolved);
    }
    let absolute = std::path::absolute(directory)?;
    let parent = absolute.parent().map(Path::canonicalize);
    match (parent, absolute.file_name()) {
        (Some(Ok(parent)), Some(name)) => Ok(parent.join(name)),
        _ => Ok(absolute),
    }
}

/// A client that is connected to a host.
pub(crate) struct HostConnection {
    pub(crate) client: Client,
    /// The host, if it was started for this command only.
    temporary_host: Option<Server>,
}

impl HostConnection {
    /// Connects to the running host, or starts a temporary one. If the connection is lost
    /// later, the client tries to reconnect until `reconnect_timeout`.
    pub(crate) async fn connect(
        options: &HostOptions,
        reconnect_timeout: Duration,
    ) -> anyhow::Result<Self> {
        let settings = options.resolve_settings()?;
        check_owner(&settings.data_directory)?;
        let client_options = client_options(reconnect_timeout)?;
        let file = settings.data_directory.join(HOST_FILE);
        let connected =
            Client::connect(&HostAddress::ReadyFile(file), client_options.clone()).await;
        let problem = match connected {
            Ok(client) => {
                return Ok(HostConnection {
                    client,
                    temporary_host: None,
                });
            }
            // No host is running, or one was killed and left its ready file behind.
            Err(problem @ ClientError::Transport(_)) => problem,
            Err(other) => return Err(other.into()),
        };
        match start_temporary_host(&settings, &client_options).await {
            Ok(attached) => Ok(attached),
            // A running host that cannot be reached is the more useful error.
            Err(error) => match problem {
                ClientError::Transport(TransportError::NoUsableAddress { .. }) => {
                    Err(problem.into())
                }
                _ => Err(error),
            },
        }
    }

    /// Closes the connection. Stops a temporary host, which ends its running turns.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        drop(self.client);
        match self.temporary_host {
            Some(server) => Ok(server.stop().await?),
            None => Ok(()),
        }
    }
}

/// Refuses a data directory of another user: its `host.json` could point to a host of that
/// user, which would receive the prompts.
fn check_owner(data_directory: &Path) -> anyhow::Result<()> {
    match private_file::check_directory(data_directory) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(error).with_context(|| format!("use data directory `{}`", data_directory.display()))
        }
        // A missing directory is created by the temporary host.
        _ => Ok(()),
    }
}

/// Starts a temporary host that other machines cannot reach.
async fn start_temporary_host(
    settings: &HostSettings,
    client_options: &ClientOptions,
) -> anyhow::Result<HostConnection> {
    let defaults = ServerConfig::new(&settings.data_directory);
    let mut config = defaults.clone();
    settings.file.apply(&mut config)?;
    config.listen = defaults.listen;
    config.socket = None;
    config.tls = None;
    let server = serve(config).await?;
    let address = HostAddress::WebSocket {
        url: server.url().context("the host listens on no address")?,
        token: Some(server.token.clone()),
    };
    let client = Client::connect(&address, client_options.clone()).await?;
    Ok(HostConnection {
        client,
        temporary_host: Some(server),
    })
}

/// Returns the client options of a command, with a new client id for each call.
pub(crate) fn client_options(reconnect_timeout: Duration) -> anyhow::Result<ClientOptions> {
    Ok(ClientOptions {
        client_id: ClientId::from(format!("agenthost-{}", random_id()?)),
        info: Implementation {
            name: "agenthost".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            title: None,
        },
        subscriptions: Vec::new(),
        reconnect_timeout,
    })
}

/// Returns 128 random bits in hexadecimal, for use as a unique id.
pub(crate) fn random_id() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("get random numbers")?;
    Ok(encode_hex(&bytes))
}
