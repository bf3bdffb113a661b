//! Where the host of a command is: one that runs, or one for the time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agenthost_client::{Address, Client, ClientError, Hello};
use agenthost_protocol::connection::Implementation;
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::uri::Uri;
use agenthost_server::{HOST_FILE, Server, ServerConfig, serve};
use anyhow::{Context, bail};
use serde::Deserialize;

use crate::config::{self, FileConfig};

/// What every command that needs a host can be told.
#[derive(clap::Args, Default)]
pub(crate) struct Place {
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
pub(crate) struct Settings {
    pub(crate) data_directory: PathBuf,
    pub(crate) file: FileConfig,
}

impl Place {
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        let file = FileConfig::load(self.config.as_deref())?;
        let named = self.data_dir.as_ref().or(file.data_dir.as_ref());
        let data_directory = match named {
            Some(directory) => directory.clone(),
            None => config::data_directory()?,
        };
        Ok(Settings {
            data_directory,
            file,
        })
    }
}

/// What a host that runs says about itself.
#[derive(Debug, Deserialize)]
pub(crate) struct HostFile {
    pub(crate) url: Option<String>,
    pub(crate) socket: Option<PathBuf>,
    token: String,
    pub(crate) pid: u32,
    pub(crate) version: String,
}

impl HostFile {
    /// `None` if no host has said anything, or what it said is gone.
    pub(crate) fn read(data_directory: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(data_directory.join(HOST_FILE)).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(crate) fn address(&self) -> anyhow::Result<Address> {
        if let Some(socket) = &self.socket {
            return Ok(Address::Socket(socket.clone()));
        }
        match &self.url {
            Some(url) if url.starts_with("ws://") => Ok(Address::Web {
                url: url.clone(),
                token: Some(self.token.clone()),
            }),
            Some(_) => bail!(
                "the host (process {}) speaks TLS only: give it a `--socket` for commands on this machine",
                self.pid
            ),
            None => bail!(
                "the host (process {}) takes one client on standard input: give it a `--socket`",
                self.pid
            ),
        }
    }
}

/// A host and a connection to it.
pub(crate) struct Attached {
    pub(crate) client: Client,
    /// The host, if it runs for this command only.
    own: Option<Server>,
}

impl Attached {
    /// Attaches to the host that runs, or starts one for the time.
    pub(crate) async fn to(place: &Place, subscriptions: Vec<Uri>) -> anyhow::Result<Self> {
        let settings = place.settings()?;
        let hello = Hello {
            client_id: ClientId::from(format!("agenthost-{}", unique()?)),
            info: Implementation {
                name: "agenthost".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
                title: None,
            },
            subscriptions,
            patience: Duration::from_secs(30),
        };
        if let Some(found) = HostFile::read(&settings.data_directory) {
            let address = found.address();
            let connected = match &address {
                Ok(address) => Some(Client::connect(address, hello.clone()).await),
                Err(_) => None,
            };
            match connected {
                Some(Ok(client)) => return Ok(Attached { client, own: None }),
                // It may have been killed, and what it said left behind.
                Some(Err(ClientError::Transport(_))) | None => {
                    let started = start(&settings, &hello).await;
                    // If it was not, what stands in the way is what to tell.
                    return match (started, address) {
                        (Err(_), Err(reason)) => Err(reason),
                        (started, _) => started,
                    };
                }
                Some(Err(error)) => return Err(error.into()),
            }
        }
        start(&settings, &hello).await
    }

    /// Lets go of the host. Running turns are ended if it was for the time.
    pub(crate) async fn leave(self) -> anyhow::Result<()> {
        drop(self.client);
        match self.own {
            Some(server) => Ok(server.stop().await?),
            None => Ok(()),
        }
    }
}

/// Starts a host for the time, on this machine alone.
async fn start(settings: &Settings, hello: &Hello) -> anyhow::Result<Attached> {
    let alone = ServerConfig::new(&settings.data_directory);
    let mut config = alone.clone();
    settings.file.apply(&mut config)?;
    config.listen = alone.listen;
    config.socket = None;
    config.tls = None;
    let server = serve(config).await?;
    let address = Address::Web {
        url: server.url().context("the host has no address")?,
        token: Some(server.token.clone()),
    };
    let client = Client::connect(&address, hello.clone()).await?;
    Ok(Attached {
        client,
        own: Some(server),
    })
}

/// A name that nothing else has.
pub(crate) fn unique() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("random numbers")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
