//! Connects a command to the running host, or to a host that it starts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agenthost_client::{Client, ClientError, ClientOptions, HostAddress, TransportError};
use agenthost_protocol::connection::Implementation;
use agenthost_protocol::ids::ClientId;
use agenthost_server::HOST_FILE;
use agenthost_stdx::hex::encode_hex;
use agenthost_stdx::private_file;
use anyhow::Context;

use crate::background::{HostLifetime, StartPermit, StartedHost, start_host, wait_for_other_host};
use crate::commands::serve::absolute_path;
use crate::config::{self, AgentCandidate, FileConfig};
use crate::{output, terminal_environment};

/// The address of a temporary host.
const LOCAL_ADDRESS: &str = "127.0.0.1:0";

/// Time that most commands try to reconnect to a lost host: long enough for a restart.
pub(crate) const COMMAND_RECONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The options of every command that needs a host.
#[derive(clap::Args, Default)]
pub(crate) struct HostOptions {
    /// Data directory; it identifies the host [default: ~/.local/share/agenthost]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Configuration file [default: ~/.config/agenthost/config.toml, if it exists]
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
        terminal_environment::configure(&file.terminal_variables);
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

impl HostOptions {
    /// Returns the options as arguments of another command.
    pub(crate) fn to_arguments(&self) -> anyhow::Result<Vec<OsString>> {
        let mut arguments = Vec::new();
        for (name, path) in [("--data-dir", &self.data_dir), ("--config", &self.config)] {
            if let Some(path) = path {
                arguments.extend([name.into(), absolute_path(path)?]);
            }
        }
        Ok(arguments)
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
    temporary_host: Option<StartedHost>,
}

impl HostConnection {
    /// Connects to the running host, or starts a temporary one that ends with the last client and
    /// turn. If the connection is lost later, the client tries to reconnect until
    /// `reconnect_timeout`.
    pub(crate) async fn connect(
        options: &HostOptions,
        reconnect_timeout: Duration,
    ) -> anyhow::Result<Self> {
        Self::connect_or_start(options, HostLifetime::Temporary, reconnect_timeout).await
    }

    /// Connects to the running host, or starts one in the background.
    pub(crate) async fn connect_or_start(
        options: &HostOptions,
        lifetime: HostLifetime,
        reconnect_timeout: Duration,
    ) -> anyhow::Result<Self> {
        let settings = options.resolve_settings()?;
        let directory = &settings.data_directory;
        check_owner(directory)?;
        let client_options = client_options(reconnect_timeout)?;
        let address = HostAddress::ReadyFile(directory.join(HOST_FILE));
        if let Some(client) = connect_client(&address, &client_options).await? {
            return Ok(Self::to_running_host(client));
        }
        // Another program may be starting a host.
        let permit = StartPermit::acquire(directory).await?;
        let other = wait_for_other_host(directory, async || {
            connect_client(&address, &client_options).await.transpose()
        });
        if let Some(client) = other.await? {
            return Ok(Self::to_running_host(client?));
        }
        let mut arguments = options.to_arguments()?;
        if lifetime == HostLifetime::Temporary {
            // Other machines cannot reach a temporary host.
            arguments.extend(["--listen".into(), LOCAL_ADDRESS.into()]);
        }
        let host = start_host(&permit, directory, arguments, lifetime).await?;
        let client = Client::connect(&address, client_options).await?;
        let temporary_host = match lifetime {
            HostLifetime::Temporary => Some(host),
            HostLifetime::Unlimited => {
                let pid = host.pid;
                output::print_note(&format!(
                    "started a host in the background (process {pid}); `agenthost stop` ends it"
                ));
                None
            }
        };
        Ok(HostConnection {
            client,
            temporary_host,
        })
    }

    fn to_running_host(client: Client) -> Self {
        HostConnection {
            client,
            temporary_host: None,
        }
    }

    /// Closes the connection. Waits for the end of a temporary host, unless other clients or turns
    /// still use it.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        drop(self.client);
        if let Some(host) = self.temporary_host {
            let pid = host.pid;
            if !host.wait_for_end().await? {
                output::print_note(&format!(
                    "the temporary host (process {pid}) goes on until its clients and turns have ended"
                ));
            }
        }
        Ok(())
    }
}

/// Connects to the host that a ready file names. Returns `None` if there is no file, or if the host
/// that it names cannot be reached: a killed host leaves its file behind.
async fn connect_client(
    address: &HostAddress,
    options: &ClientOptions,
) -> anyhow::Result<Option<Client>> {
    match Client::connect(address, options.clone()).await {
        Ok(client) => Ok(Some(client)),
        Err(error @ ClientError::Transport(TransportError::NoUsableAddress { .. })) => {
            Err(error.into())
        }
        Err(ClientError::Transport(_)) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Refuses a data directory of another user: its `host.json` could point to a host of that
/// user, which would receive the prompts.
pub(crate) fn check_owner(data_directory: &Path) -> anyhow::Result<()> {
    match private_file::check_directory(data_directory) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(error).with_context(|| format!("use data directory `{}`", data_directory.display()))
        }
        // A missing directory is created at the start of a host.
        _ => Ok(()),
    }
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
