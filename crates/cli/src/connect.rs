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
use agenthost_view::location::path_of;
use anyhow::{Context, bail};

use crate::background::{HostLifetime, StartPermit, StartedHost, start_host, wait_for_other_host};
use crate::commands::run::resolve_directory;
use crate::commands::serve::absolute_path;
use crate::config::{self, AgentCandidate, FileConfig};
use crate::remote_host::{RelayStart, RemoteHost};
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

/// The host that a command uses: that of this machine, or of another one.
#[derive(clap::Args, Default)]
pub(crate) struct HostTarget {
    /// Use the host of another machine, over ssh: `ssh:NAME`, or `ssh:NAME:/FOLDER`
    #[arg(long = "host", value_name = "ssh:NAME", conflicts_with_all = ["data_dir", "config"])]
    pub(crate) remote: Option<RemoteHost>,
    #[command(flatten)]
    pub(crate) local: HostOptions,
}

impl HostTarget {
    /// Connects to the host, or starts one in the background at its machine.
    pub(crate) async fn connect(
        &self,
        lifetime: HostLifetime,
        reconnect_timeout: Duration,
    ) -> anyhow::Result<HostConnection> {
        let Some(remote) = &self.remote else {
            return HostConnection::connect_or_start(&self.local, lifetime, reconnect_timeout)
                .await;
        };
        terminal_environment::exclude_all();
        let address = remote.address(RelayStart::StartHost);
        let connected = Client::connect(&address, client_options(reconnect_timeout)?).await;
        let mut client = connected
            .with_context(|| format!("connect to the host of `{}` by ssh", remote.name))?;
        // A host that was stopped is not started again by its clients.
        client.set_address(remote.address(RelayStart::OnlyRunning));
        Ok(HostConnection::to_running_host(client))
    }

    /// Returns the folder for new sessions: the given one, or the current one. At another machine
    /// it is that of the option, or the home folder.
    pub(crate) fn resolve_directory(
        &self,
        client: &Client,
        named: Option<&Path>,
    ) -> anyhow::Result<PathBuf> {
        let Some(remote) = &self.remote else {
            return resolve_directory(named);
        };
        let home = client.host_info();
        let home = home.and_then(|host| host.default_directory.as_ref());
        let home = home.map(|home| PathBuf::from(path_of(home)));
        let named = named.map(Path::to_owned).or(remote.folder.clone());
        let folder = named.or(home).context("the host has no default folder")?;
        if !folder.is_absolute() {
            bail!(
                "`{}` is not an absolute path at `{}`",
                folder.display(),
                remote.name
            );
        }
        Ok(folder)
    }
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
        let data_directory = resolve_data_directory(named)?;
        Ok(HostSettings {
            data_directory,
            file,
        })
    }

    /// Returns the data directory. A configuration that is invalid elsewhere does not matter: the
    /// host may run with an earlier one.
    pub(crate) fn resolve_data_directory(&self) -> anyhow::Result<PathBuf> {
        if self.data_dir.is_some() {
            return resolve_data_directory(self.data_dir.as_ref());
        }
        let error = match FileConfig::load(self.config.as_deref()) {
            Ok(file) => return resolve_data_directory(file.data_dir.as_ref()),
            Err(error) => error,
        };
        output::print_note(&format!("the configuration is invalid: {error:#}"));
        let salvaged = FileConfig::salvage_data_dir(self.config.as_deref());
        resolve_data_directory(salvaged.as_ref())
    }
}

/// Makes the path of a data directory absolute, or returns the default one.
fn resolve_data_directory(named: Option<&PathBuf>) -> anyhow::Result<PathBuf> {
    match named {
        // Processes of the host run in other directories, so a relative path would not be found.
        Some(directory) => resolve_path(directory)
            .with_context(|| format!("resolve data directory `{}`", directory.display())),
        None => config::default_data_directory(),
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
        let (connection, started) = Self::open(options, lifetime, reconnect_timeout).await?;
        if let Some(started) = started {
            output::print_note(&started);
        }
        Ok(connection)
    }

    /// Like [`HostConnection::connect_or_start`], but prints nothing: returns the note about a host
    /// that was started and stays.
    pub(crate) async fn open(
        options: &HostOptions,
        lifetime: HostLifetime,
        reconnect_timeout: Duration,
    ) -> anyhow::Result<(Self, Option<String>)> {
        let settings = options.resolve_settings()?;
        let directory = &settings.data_directory;
        check_owner(directory)?;
        let client_options = client_options(reconnect_timeout)?;
        let address = HostAddress::ReadyFile(directory.join(HOST_FILE));
        if let Some(client) = connect_client(&address, &client_options).await? {
            return Ok((Self::to_running_host(client), None));
        }
        // Another program may be starting a host.
        let permit = StartPermit::acquire(directory).await?;
        let other = wait_for_other_host(directory, async || {
            connect_client(&address, &client_options).await.transpose()
        });
        if let Some(client) = other.await? {
            return Ok((Self::to_running_host(client?), None));
        }
        let mut arguments = options.to_arguments()?;
        if lifetime == HostLifetime::Temporary {
            // Other machines cannot reach a temporary host.
            arguments.extend(["--listen".into(), LOCAL_ADDRESS.into()]);
        }
        let host = start_host(&permit, directory, arguments, lifetime).await?;
        let client = Client::connect(&address, client_options).await?;
        Ok(match lifetime {
            HostLifetime::Temporary => {
                let temporary_host = Some(host);
                (
                    HostConnection {
                        client,
                        temporary_host,
                    },
                    None,
                )
            }
            HostLifetime::Unlimited => {
                let pid = host.pid;
                let note = format!(
                    "started a host in the background (process {pid}); `agenthost stop` ends it"
                );
                (Self::to_running_host(client), Some(note))
            }
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
