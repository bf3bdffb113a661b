//! The configuration file.
//!
//! Every key is listed in [`KEYS`] with its meaning. An unknown key is an error that names
//! the most similar key, so that a typo does not silently select a default.

mod agents;
mod customizations;
mod keys;
mod location;
mod services;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agenthost_protocol::number::Millis;
use agenthost_server::{
    FileAccess, GrantedRoot, ServerConfig, ServerLimits, SessionRetention, TlsFiles,
};
use agenthost_stdx::hex::encode_hex;
use agenthost_stdx::redaction::SecretRedactor;
use agenthost_store::Durability;
use anyhow::{Context, anyhow, bail};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use toml::de::{DeTable, DeValue};

use agents::AgentTable;
pub(crate) use agents::{AgentCandidate, OfferState, OfferedAgents};
use customizations::{McpTable, PluginTable};
use keys::{ConfigKey, KEYS};
use location::{AtKey, KeyPath, ValueError, describe_toml_error, line_number};

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct FileConfig {
    listen: Option<SocketAddr>,
    allow_plain: Option<bool>,
    socket: Option<PathBuf>,
    pub(crate) data_dir: Option<PathBuf>,
    durability: Option<DurabilityName>,
    allowed_origins: Vec<String>,
    allowed_hosts: Vec<String>,
    readable_folders: Vec<PathBuf>,
    writable_folders: Vec<PathBuf>,
    shell: Option<PathBuf>,
    pub(crate) terminal_variables: Vec<String>,
    tls: Option<TlsTable>,
    agents: Vec<AgentTable>,
    auto_agents: Option<bool>,
    default_agent: Option<String>,
    customizations: Option<bool>,
    plugins: Vec<PluginTable>,
    mcp_servers: Vec<McpTable>,
    limits: LimitsTable,
    retention: RetentionTable,
    redaction: RedactionTable,
    /// The file, for errors.
    #[serde(skip)]
    path: Option<PathBuf>,
    #[serde(skip)]
    text: FileText,
}

/// The text of the file, for line numbers in errors.
#[derive(Clone, Default)]
struct FileText(String);

/// Leaves out the text, which may contain secrets.
impl std::fmt::Debug for FileText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FileText")
    }
}

/// Files with the same values are equal, whatever their text.
impl PartialEq for FileText {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DurabilityName {
    Process,
    Power,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct TlsTable {
    certificate: PathBuf,
    key: PathBuf,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct LimitsTable {
    message_bytes: Option<usize>,
    connections: Option<usize>,
    subscriptions: Option<usize>,
    sessions: Option<usize>,
    in_flight: Option<usize>,
    rate: Option<u32>,
    outbox_bytes: Option<usize>,
    idle_seconds: Option<u64>,
    grace_seconds: Option<u64>,
    detach_hours: Option<u32>,
    remembered_clients: Option<usize>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct RetentionTable {
    actions: Option<u64>,
    days: Option<u32>,
    megabytes: Option<u32>,
    client_days: Option<u32>,
    session_days: Option<u32>,
    session_megabytes: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct RedactionTable {
    patterns: Vec<String>,
}

impl FileConfig {
    /// Reads the given file, or the default one if it exists.
    pub(crate) fn load(named: Option<&Path>) -> anyhow::Result<Self> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => match default_config_path().filter(|path| path.exists()) {
                Some(path) => path,
                None => return Ok(FileConfig::default()),
            },
        };
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("read configuration `{}`", path.display()))?;
        let parsed = parse_config(&text);
        let mut config = parsed.with_context(|| format!("configuration `{}`", path.display()))?;
        config.path = Some(path);
        Ok(config)
    }

    /// Returns the data directory that the given file names, or the default file, also if other
    /// parts of it are invalid.
    pub(crate) fn salvage_data_dir(named: Option<&Path>) -> Option<PathBuf> {
        let path = named.map(Path::to_owned).or_else(default_config_path)?;
        let text = std::fs::read_to_string(path).ok()?;
        let (table, _) = DeTable::parse_recoverable(&text);
        let value = table.get_ref().get("data_dir")?;
        let directory = value.get_ref().as_str()?;
        Some(PathBuf::from(directory))
    }

    /// Returns `true` if the file names the default agent.
    pub(crate) fn has_default_agent(&self) -> bool {
        self.default_agent.is_some()
    }

    /// Applies the settings of the file to the configuration of a server. Returns the agents
    /// that were added.
    pub(crate) fn apply(&self, config: &mut ServerConfig) -> anyhow::Result<OfferedAgents> {
        self.located(self.apply_values(config))
    }

    /// Adds the file and the line to an error.
    fn located<T>(&self, result: anyhow::Result<T>) -> anyhow::Result<T> {
        let result = result.map_err(|error| {
            let at = error.downcast_ref::<ValueError>();
            match at.and_then(|at| at.path.line(&self.text.0)) {
                Some(line) => error.context(format!("line {line}")),
                None => error,
            }
        });
        match &self.path {
            Some(path) => result.with_context(|| format!("configuration `{}`", path.display())),
            None => result,
        }
    }

    fn apply_values(&self, config: &mut ServerConfig) -> anyhow::Result<OfferedAgents> {
        fn set<T>(target: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *target = value;
            }
        }
        if self.listen.is_some() || self.socket.is_some() {
            config.listen = self.listen;
            config.socket.clone_from(&self.socket);
        }
        set(&mut config.allow_plain, self.allow_plain);
        config.allowed_origins.clone_from(&self.allowed_origins);
        config.allowed_hosts.clone_from(&self.allowed_hosts);
        let folders = [
            ("readable_folders", &self.readable_folders, FileAccess::Read),
            (
                "writable_folders",
                &self.writable_folders,
                FileAccess::Write,
            ),
        ];
        for (key, folders, access) in folders {
            for (index, folder) in folders.iter().enumerate() {
                let uri = agenthost_workspace::uri_of(folder);
                let folder = folder.display();
                let uri = uri
                    .with_context(|| format!("`{key}`: `{folder}` is not an absolute path"))
                    .at(KeyPath::of(key).index(index))?;
                config.roots.push(GrantedRoot { uri, access });
            }
        }
        config.shell.clone_from(&self.shell);
        config.tls = self.tls.as_ref().map(|tls| TlsFiles {
            certificate: tls.certificate.clone(),
            key: tls.key.clone(),
        });
        let none = OfferedAgents::default();
        let agents = self.select_agents(&config.agents, &none, &config.pid_dir())?;
        config.agents = agents.with_builtin(&config.agents);
        config.customizations = self.customizations()?;
        if let Some(DurabilityName::Power) = self.durability {
            config.durability = Durability::Power;
        }
        let limits = &mut config.limits;
        set(&mut limits.message_limits.bytes, self.limits.message_bytes);
        set(&mut limits.connections, self.limits.connections);
        set(&mut limits.subscriptions, self.limits.subscriptions);
        set(&mut limits.sessions, self.limits.sessions);
        set(&mut limits.in_flight, self.limits.in_flight);
        set(&mut limits.messages_per_second, self.limits.rate);
        set(&mut limits.outbox_bytes, self.limits.outbox_bytes);
        let seconds = |seconds: Option<u64>| seconds.map(Duration::from_secs);
        set(&mut limits.idle_timeout, seconds(self.limits.idle_seconds));
        set(&mut limits.grace_period, seconds(self.limits.grace_seconds));
        let remembered = self.limits.remembered_clients;
        set(&mut limits.remembered_clients, remembered);
        let detach = self.limits.detach_hours.map(u64::from);
        let detach = detach.map(|hours| hours * 60 * 60);
        set(&mut limits.detach_timeout, seconds(detach));
        let client_days = self.retention.client_days.map(u64::from);
        let client_seconds = client_days.map(|days| days * 24 * 60 * 60);
        set(&mut limits.client_retention, seconds(client_seconds));
        check_positive(limits)?;
        let retention = &mut config.retention;
        set(&mut retention.actions, self.retention.actions);
        let days = self.retention.days.map(i64::from);
        set(
            &mut retention.age,
            days.map(|days| Millis(days * 24 * 60 * 60 * 1_000)),
        );
        let megabytes = self.retention.megabytes.map(u64::from);
        set(
            &mut retention.bytes,
            megabytes.map(|megabytes| megabytes * 1024 * 1024),
        );
        config.session_retention = self.session_retention()?;
        config.redactor = self.compile_patterns()?;
        config.configuration_digest = self.digest();
        Ok(agents)
    }

    /// Returns the limits on the sessions that are kept.
    fn session_retention(&self) -> anyhow::Result<SessionRetention> {
        let table = &self.retention;
        let values = [
            ("session_days", table.session_days),
            ("session_megabytes", table.session_megabytes),
        ];
        if let Some((name, _)) = values.iter().find(|(_, value)| *value == Some(0)) {
            return Err(anyhow!(
                "`retention.{name}` must be greater than 0: with 0, no session is kept"
            ))
            .at(KeyPath::of("retention").key(name));
        }
        let days = table.session_days.map(i64::from);
        let megabytes = table.session_megabytes.map(u64::from);
        Ok(SessionRetention {
            age: days.map(|days| Millis(days * 24 * 60 * 60 * 1_000)),
            bytes: megabytes.map(|megabytes| megabytes * 1024 * 1024),
        })
    }

    /// Returns the redactor of secrets, with the patterns of the file.
    pub(crate) fn redactor(&self) -> anyhow::Result<SecretRedactor> {
        self.located(self.compile_patterns())
    }

    fn compile_patterns(&self) -> anyhow::Result<SecretRedactor> {
        let patterns = &self.redaction.patterns;
        let error = match SecretRedactor::new(patterns) {
            Ok(redactor) => return Ok(redactor),
            Err(error) => error,
        };
        let path = KeyPath::of("redaction").key("patterns");
        let index = patterns
            .iter()
            .position(|pattern| *pattern == error.pattern);
        let path = index.map_or(path.clone(), |index| path.index(index));
        Err(anyhow!("`redaction.patterns`: {error}")).at(path)
    }

    /// Returns the digest of the file, for the audit log; `None` without a file.
    fn digest(&self) -> Option<String> {
        self.path.as_ref()?;
        let digest = encode_hex(&Sha256::digest(&self.text.0));
        Some(format!("sha256:{digest}"))
    }
}

/// Refuses limits with which no client could connect.
fn check_positive(limits: &ServerLimits) -> anyhow::Result<()> {
    let positive = [
        ("message_bytes", limits.message_limits.bytes),
        ("connections", limits.connections),
        ("in_flight", limits.in_flight),
        ("rate", limits.messages_per_second as usize),
        ("outbox_bytes", limits.outbox_bytes),
        ("idle_seconds", limits.idle_timeout.as_secs() as usize),
    ];
    match positive.iter().find(|(_, value)| *value == 0) {
        Some((name, _)) => Err(anyhow!(
            "`limits.{name}` must be greater than 0: with 0, no client can connect"
        ))
        .at(KeyPath::of("limits").key(name)),
        None => Ok(()),
    }
}

/// Returns the default path of the configuration file, by the XDG rules.
pub(crate) fn default_config_path() -> Option<PathBuf> {
    Some(config_home()?.join("config.toml"))
}

/// Returns the directory of the configuration file.
fn config_home() -> Option<PathBuf> {
    let config = match absolute_env_path("XDG_CONFIG_HOME") {
        Some(config) => config,
        None => absolute_env_path("HOME")?.join(".config"),
    };
    Some(config.join("agenthost"))
}

/// Returns the default data directory, by the XDG rules.
pub(crate) fn default_data_directory() -> anyhow::Result<PathBuf> {
    if let Some(data) = absolute_env_path("XDG_DATA_HOME") {
        return Ok(data.join("agenthost"));
    }
    let home = absolute_env_path("HOME");
    let home = home.context(
        "find the data directory: neither XDG_DATA_HOME nor HOME is an absolute path\n\
         hint: set HOME, or use --data-dir",
    )?;
    Ok(home.join(".local/share/agenthost"))
}

/// Returns the folder for log files of a host in the background.
pub(crate) fn default_state_directory() -> anyhow::Result<PathBuf> {
    if let Some(state) = absolute_env_path("XDG_STATE_HOME") {
        return Ok(state.join("agenthost"));
    }
    let home = absolute_env_path("HOME");
    let home = home
        .context("find the state directory: neither XDG_STATE_HOME nor HOME is an absolute path")?;
    Ok(home.join(".local/state/agenthost"))
}

fn absolute_env_path(variable: &str) -> Option<PathBuf> {
    let value = std::env::var_os(variable).map(PathBuf::from);
    value.filter(|path| path.is_absolute())
}

fn parse_config(text: &str) -> anyhow::Result<FileConfig> {
    let described = |error| anyhow!("{}", describe_toml_error(text, &error));
    let table = DeTable::parse(text).map_err(described)?;
    check_keys(text, table.get_ref(), "")?;
    let mut config: FileConfig = toml::from_str(text).map_err(described)?;
    config.text = FileText(text.to_owned());
    Ok(config)
}

fn check_keys(text: &str, table: &DeTable<'_>, prefix: &str) -> anyhow::Result<()> {
    for (name, value) in table {
        let full = format!("{prefix}{}", name.get_ref());
        if KEYS.iter().any(|key| key.name == full) {
            continue;
        }
        let inner = format!("{full}.");
        let is_table = KEYS.iter().any(|key| key.name.starts_with(&inner));
        match value.get_ref() {
            DeValue::Table(table) if is_table => check_keys(text, table, &inner)?,
            DeValue::Array(tables) if is_table => {
                for table in tables.iter() {
                    if let DeValue::Table(table) = table.get_ref() {
                        check_keys(text, table, &inner)?;
                    }
                }
            }
            _ => bail!(
                "line {}: {}",
                line_number(text, name.span().start),
                unknown_key_message(&full)
            ),
        }
    }
    Ok(())
}

fn unknown_key_message(name: &str) -> String {
    let distance = |key: &&ConfigKey| strsim::damerau_levenshtein(key.name, name);
    let longer = KEYS.iter().find(|key| key.name.starts_with(name));
    let nearest = longer.or_else(|| KEYS.iter().min_by_key(distance));
    // A suggestion with a larger distance is more confusing than helpful.
    let near = nearest.filter(|key| longer.is_some() || distance(key) <= name.len().div_ceil(2));
    match near {
        Some(key) => format!("unknown key `{name}`; did you mean `{}`?", key.name),
        None => {
            let names: Vec<_> = KEYS.iter().map(|key| key.name).collect();
            format!("unknown key `{name}`; the keys are {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod customizations_tests;
#[cfg(test)]
mod tests;
