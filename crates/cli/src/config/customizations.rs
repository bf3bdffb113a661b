//! Plugins and MCP servers of the configuration file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agenthost_core::tools::mcp::transport::Template;
use agenthost_customizations::fetch::{ArchiveLocation, PluginSource};
use agenthost_customizations::parse::{DeclaredServer, DeclaredTransport};
use agenthost_customizations::{ConfiguredPlugin, CustomizationSettings};
use agenthost_protocol::ids::ProviderId;
use agenthost_server::{CustomizationsConfig, RelayProgram};
use anyhow::{Context, anyhow, bail};
use serde::Deserialize;

use super::location::{AtKey, KeyPath};
use super::{FileConfig, absolute_env_path, config_home};

/// The hidden subcommand of this program that agents start to connect to the gateway.
pub(crate) const RELAY_SUBCOMMAND: &str = "tools-relay";

/// A plugin in the configuration file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct PluginTable {
    path: Option<PathBuf>,
    url: Option<String>,
    reference: Option<String>,
    archive: Option<String>,
    agents: Option<Vec<String>>,
}

/// An MCP server in the configuration file, of the host or of an agent.
#[derive(Clone, PartialEq, Deserialize)]
pub(super) struct McpTable {
    pub(super) name: String,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// Leaves out the values of the environment and the headers, which may be secret.
impl std::fmt::Debug for McpTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpTable")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The transport of an MCP server in the configuration file.
pub(super) enum McpTableTransport<'a> {
    Stdio {
        command: &'a str,
        arguments: &'a [String],
        environment: &'a BTreeMap<String, String>,
    },
    Http {
        url: &'a str,
        headers: &'a BTreeMap<String, String>,
    },
}

impl McpTable {
    pub(super) fn transport(&self) -> anyhow::Result<McpTableTransport<'_>> {
        let name = &self.name;
        match (&self.command, &self.url) {
            (Some(command), None) if self.headers.is_empty() => Ok(McpTableTransport::Stdio {
                command,
                arguments: &self.args,
                environment: &self.env,
            }),
            (None, Some(url)) if self.args.is_empty() && self.env.is_empty() => {
                let headers = &self.headers;
                Ok(McpTableTransport::Http { url, headers })
            }
            (Some(_), _) | (None, Some(_)) => bail!(
                "MCP server `{name}`: use either `command`, `args` and `env`, or `url` and `headers`"
            ),
            (None, None) => bail!("MCP server `{name}`: `command` or `url` is required"),
        }
    }

    fn to_declared_server(&self) -> anyhow::Result<DeclaredServer> {
        let pairs = |pairs: &BTreeMap<String, String>| {
            let pairs = pairs.iter();
            pairs
                .map(|(name, value)| (name.clone(), Template(to_placeholder_syntax(value))))
                .collect()
        };
        let way = match self.transport()? {
            McpTableTransport::Stdio {
                command,
                arguments,
                environment,
            } => DeclaredTransport::Stdio {
                command: command.into(),
                arguments: arguments.iter().cloned().map(Template).collect(),
                environment: pairs(environment),
                directory: None,
            },
            McpTableTransport::Http { url, headers } => DeclaredTransport::Http {
                url: url.into(),
                headers: pairs(headers),
            },
        };
        let name = self.name.clone();
        Ok(DeclaredServer {
            name,
            transport: way,
        })
    }
}

/// Converts `$TOKEN` to `${TOKEN}`. The configuration file refers to variables of the
/// host's environment by the first form, plugins by the second.
fn to_placeholder_syntax(value: &str) -> String {
    let words = value.split(' ').map(|word| match word.strip_prefix('$') {
        Some(name) if !name.is_empty() && !name.starts_with('{') => format!("${{{name}}}"),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

impl PluginTable {
    fn to_configured_plugin(&self, home: Option<&Path>) -> anyhow::Result<ConfiguredPlugin> {
        let source = match (&self.path, &self.url, &self.archive) {
            (Some(path), None, None) => match expand_home(path, home) {
                path if path.is_absolute() => PluginSource::Path(path),
                path => bail!("plugin path `{}` is not absolute", path.display()),
            },
            (None, Some(url), None) => PluginSource::Git {
                url: url.clone(),
                reference: self.reference.clone(),
            },
            (None, None, Some(archive)) if archive.starts_with("https://") => {
                PluginSource::Archive(ArchiveLocation::Url(archive.clone()))
            }
            (None, None, Some(archive)) => match expand_home(Path::new(archive), home) {
                path if path.is_absolute() => PluginSource::Archive(ArchiveLocation::Path(path)),
                _ => bail!(
                    "plugin archive `{archive}` is neither an absolute path nor an `https` URL"
                ),
            },
            _ => bail!("`[[plugins]]`: exactly one of `path`, `url` and `archive` is required"),
        };
        if self.reference.is_some() && self.url.is_none() {
            bail!("`reference` of a plugin requires `url`");
        }
        let agents = self.agents.as_ref();
        let agents = agents.map(|agents| agents.iter().map(|id| ProviderId::from(id.as_str())));
        Ok(ConfiguredPlugin {
            source,
            agents: agents.map(Iterator::collect),
        })
    }
}

/// Replaces a leading `~` by the home directory of the user.
fn expand_home(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        (Ok(_), None) | (Err(_), _) => path.to_owned(),
    }
}

impl FileConfig {
    /// Returns the settings for customizations, or `None` if they are turned off.
    pub(crate) fn customizations(&self) -> anyhow::Result<Option<CustomizationsConfig>> {
        if self.customizations == Some(false) {
            return Ok(None);
        }
        let home = absolute_env_path("HOME");
        let plugins = self.plugins.iter().enumerate().map(|(index, plugin)| {
            let plugin = plugin.to_configured_plugin(home.as_deref());
            plugin.at(KeyPath::of("plugins").index(index))
        });
        let mut names = BTreeSet::new();
        let servers = self.mcp_servers.iter().enumerate().map(|(index, server)| {
            let at = KeyPath::of("mcp_servers").index(index);
            if !names.insert(&server.name) {
                let problem = anyhow!("MCP server `{}` is configured twice", server.name);
                return Err(problem).at(at.key("name"));
            }
            server.to_declared_server().at(at)
        });
        let environment = std::env::vars_os().filter_map(|(name, value)| {
            let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
            Some((name, value))
        });
        // Agents that are installed later have the same paths.
        let native = agenthost_acp::known_agents().iter();
        let native = native.map(|agent| (ProviderId::from(&*agent.id), agent.reads.clone()));
        let settings = CustomizationSettings {
            native_paths: native.collect(),
            plugins: plugins.collect::<anyhow::Result<_>>()?,
            servers: servers.collect::<anyhow::Result<_>>()?,
            home: home.clone(),
            config_home: config_home(),
            writable: self.writable_folders.clone(),
            environment: environment.collect(),
            ..CustomizationSettings::default()
        };
        let program = std::env::current_exe().context("find the path of this executable")?;
        Ok(Some(CustomizationsConfig {
            settings,
            relay: Some(RelayProgram {
                program,
                arguments: vec![RELAY_SUBCOMMAND.to_owned()],
            }),
        }))
    }
}
