//! Where the host of a command is: one that runs, or one for the time.

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

/// How long most commands wait for a host that is gone.
pub(crate) const COMMAND_RECONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// What every command that needs a host can be told.
#[derive(clap::Args, Default)]
pub(crate) struct HostOptions {
    /// Where to keep what is remembered; names the host, too
    /// [default: the data directory of the user]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Configuration file [default: agenthost/config.toml in the
    /// configuration directory of the user, if it is there]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// What came of it.
pub(crate) struct HostSettings {
    pub(crate) data_directory: PathBuf,
    pub(crate) file: FileConfig,
}

impl HostOptions {
    pub(crate) fn resolve_settings(&self) -> anyhow::Result<HostSettings> {
        let file = FileConfig::load(self.config.as_deref())?;
        let named = self.data_dir.as_ref().or(file.data_dir.as_ref());
        let data_directory = match named {
            // Programs that the host starts work in other directories.
            Some(directory) => {
                resolve_path(directory).with_context(|| format!("use `{}`", directory.display()))?
            }
            None => config::default_data_directory()?,
        };
        Ok(HostSettings {
            data_directory,
            file,
        })
    }
}

impl HostSettings {
    /// All agents that are known or stand in the configuration.
    pub(crate) fn candidates(&self) -> anyhow::Result<Vec<AgentCandidate>> {
        // Whoever starts one of these is here until it ends, and leaves no notes.
        self.file.candidates(None)
    }
}

/// Makes a path absolute and free of links and `..`, as far as it exists.
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

/// A host and a connection to it.
pub(crate) struct HostConnection {
    pub(crate) client: Client,
    /// The host, if it runs for this command only.
    temporary_host: Option<Server>,
}

impl HostConnection {
    /// Attaches to the host that runs, or starts one for the time. If it is
    /// lost later, it is waited for as long as there is patience.
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
            // There is none, or it was killed, and what it said left behind.
            Err(problem @ ClientError::Transport(_)) => problem,
            Err(other) => return Err(other.into()),
        };
        match start_temporary_host(&settings, &client_options).await {
            Ok(attached) => Ok(attached),
            // A host that runs and can't be reached is what to tell.
            Err(error) => match problem {
                ClientError::Transport(TransportError::NoUsableAddress { .. }) => {
                    Err(problem.into())
                }
                _ => Err(error),
            },
        }
    }

    /// Lets go of the host. Running turns are ended if it was for the time.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        drop(self.client);
        match self.temporary_host {
            Some(server) => Ok(server.stop().await?),
            None => Ok(()),
        }
    }
}

/// Refuses a data directory of another user: `host.json` in it would lead to a
/// host of theirs, which would see the prompts.
fn check_owner(data_directory: &Path) -> anyhow::Result<()> {
    match private_file::check_directory(data_directory) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(error).with_context(|| format!("use `{}`", data_directory.display()))
        }
        // A missing one is created by the host that is started.
        _ => Ok(()),
    }
}

/// Starts a host for the time, on this machine alone.
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
        url: server.url().context("the host has no address")?,
        token: Some(server.token.clone()),
    };
    let client = Client::connect(&address, client_options.clone()).await?;
    Ok(HostConnection {
        client,
        temporary_host: Some(server),
    })
}

/// How commands introduce themselves, under a new name each time.
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

/// A name that nothing else has.
pub(crate) fn random_id() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("random numbers")?;
    Ok(encode_hex(&bytes))
}
