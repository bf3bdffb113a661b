//! The table of agents, and the installation and setup of each of them.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// User and group id for agents that refuse to run as root: `nobody`.
const NOBODY_ID: u32 = 65_534;

/// Environment variable that marks all processes of an agent, so that a test can find them.
pub(crate) const MARK: &str = "AGENTHOST_TRIED";

/// An agent of the table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) packages: Vec<String>,
    command: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) config: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    as_root: AsRoot,
    #[serde(default)]
    pub(crate) commands: Commands,
}

/// The way in which the model has to call for a command, so that the agent requests approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Commands {
    /// A plain call is enough.
    #[default]
    Run,
    /// The call has to ask to leave the sandbox.
    Ask,
}

impl Commands {
    /// Returns the message that makes the model run a command.
    pub(crate) fn order(self, command: &str) -> String {
        match self {
            Commands::Run => format!("run: {command}"),
            Commands::Ask => format!("ask: {command}"),
        }
    }
}

/// Support of an agent for running as root.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AsRoot {
    #[default]
    Yes,
    No,
}

/// An MCP server that agents are tested with.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolServer {
    pub(crate) id: String,
    pub(crate) packages: Vec<String>,
    command: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    agents: Vec<Entry>,
    tool_server: ToolServer,
}

fn table() -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents/agents.toml");
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the agents of the table, or only those that the environment variable `AGENTS` names, as
/// in `AGENTS=goose,codex`.
pub(crate) fn entries() -> Vec<Entry> {
    let table = table();
    let wanted = std::env::var("AGENTS").unwrap_or_default();
    let wanted: Vec<_> = wanted.split(',').filter(|id| !id.is_empty()).collect();
    let mut entries = table.agents;
    for id in &wanted {
        let known = entries.iter().any(|entry| entry.id == *id);
        assert!(known, "there is no agent `{id}` in agents.toml");
    }
    entries.retain(|entry| wanted.is_empty() || wanted.contains(&entry.id.as_str()));
    entries
}

/// Returns the scripted agent. It is not in the table: it needs no installation and no model.
pub(crate) fn scripted(command: Vec<String>, env: &[(&str, &str)]) -> Entry {
    let env = env.iter();
    let env = env.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Entry {
        id: "scripted".to_owned(),
        packages: Vec::new(),
        command,
        env: env.collect(),
        files: BTreeMap::new(),
        config: serde_json::Map::new(),
        as_root: AsRoot::default(),
        commands: Commands::default(),
    }
}

/// Returns the names of all agents, in the order of the table.
pub(crate) fn names() -> Vec<String> {
    let table = table();
    table.agents.into_iter().map(|entry| entry.id).collect()
}

/// Returns the MCP server of the table.
pub(crate) fn tool_server() -> ToolServer {
    table().tool_server
}

/// Returns the folder of the installed agents. It is in the target folder, so that later runs can
/// use it again.
fn cache() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap().join("agents")
}

/// Returns the folder of the packages of an agent or an MCP server.
fn modules(id: &str) -> PathBuf {
    cache().join(id).join("node_modules")
}

/// Installs packages that are not installed yet. Returns the reason of a failure.
pub(crate) fn install(id: &str, packages: &[String]) -> Result<(), String> {
    let folder = cache().join(id);
    let mark = folder.join("installed");
    let wanted = packages.join(" ");
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    // Install scripts of packages must not run.
    let flags = [
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        "--loglevel=error",
    ];
    let npm = Command::new("npm")
        .arg("install")
        .args(flags)
        .arg("--prefix")
        .arg(&folder)
        .args(packages)
        .output();
    let npm = npm.map_err(|error| format!("npm: {error}"))?;
    if !npm.status.success() {
        let complaint = String::from_utf8_lossy(&npm.stderr);
        return Err(format!("npm: {}", complaint.trim()));
    }
    std::fs::write(mark, wanted).map_err(|error| error.to_string())
}

impl ToolServer {
    /// Returns the section of the server in the configuration of the host. Processes of the server
    /// have the same mark as those of the agent that it is tested with.
    pub(crate) fn set_up(&self, agent: &str) -> String {
        let modules = modules(&self.id);
        let fill = |word: &String| word.replace("{modules}", &modules.to_string_lossy());
        let command: Vec<_> = self.command.iter().map(fill).collect();
        let (id, program, mark) = (&self.id, &command[0], marker_of(agent));
        let arguments = &command[1..];
        format!(
            "[[mcp_servers]]\nname = {id:?}\ncommand = {program:?}\nargs = {arguments:?}\n\
             env = {{ {MARK} = {mark:?} }}\n"
        )
    }

    pub(crate) fn is_installed(&self) -> bool {
        modules(&self.id).is_dir()
    }
}

impl Entry {
    fn modules(&self) -> PathBuf {
        modules(&self.id)
    }

    pub(crate) fn is_installed(&self) -> bool {
        self.modules().is_dir()
    }

    /// Returns `true` if the agent needs another user than that of this process.
    fn changes_user(&self) -> bool {
        self.as_root == AsRoot::No && nix::unistd::Uid::effective().is_root()
    }

    /// Returns the command prefix that runs a program as the agent's user.
    pub(crate) fn as_its_user(&self) -> Vec<String> {
        if !self.changes_user() {
            return Vec::new();
        }
        let user = format!("--reuid={NOBODY_ID}");
        let group = format!("--regid={NOBODY_ID}");
        let prefix = ["setpriv", &user, &group, "--clear-groups", "--"];
        prefix.map(str::to_owned).to_vec()
    }

    /// Gives a folder and its content to the agent's user.
    pub(crate) fn give_to_agent_user(&self, folder: &Path) {
        if self.changes_user() {
            let owner = format!("{NOBODY_ID}:{NOBODY_ID}");
            let mut chown = Command::new("chown");
            let given = chown.arg("-R").arg(owner).arg(folder).status();
            assert!(given.unwrap().success(), "chown");
        }
    }

    /// Creates a folder that the agent can write to.
    pub(crate) fn make_folder(&self, folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder, open).unwrap();
        if self.changes_user() {
            chown(folder, Some(NOBODY_ID), Some(NOBODY_ID)).unwrap();
        }
    }

    /// Writes the files in the agent's home. Returns its section in the configuration of the host.
    pub(crate) fn set_up(&self, home: &Path, model: &str) -> String {
        self.make_folder(home);
        let modules = self.modules();
        let fill = |text: &str| {
            text.replace("{modules}", &modules.to_string_lossy())
                .replace("{home}", &home.to_string_lossy())
                .replace("{model}", model)
        };
        for (name, text) in &self.files {
            let path = home.join(name);
            self.make_folder(path.parent().unwrap());
            std::fs::write(&path, fill(text)).unwrap();
            if self.changes_user() {
                chown(&path, Some(NOBODY_ID), Some(NOBODY_ID)).unwrap();
            }
        }
        let command: Vec<_> = self.command.iter().map(|word| fill(word)).collect();
        let mut env: BTreeMap<_, _> = self.env.clone();
        env.insert("HOME".to_owned(), home.to_string_lossy().into_owned());
        env.insert(MARK.to_owned(), marker_of(&self.id));
        let env = env.iter().map(|(name, value)| {
            let value = fill(value);
            format!("{name} = {value:?}")
        });
        let env = env.collect::<Vec<_>>().join(", ");
        let id = &self.id;
        format!("[[agents]]\nid = {id:?}\ncommand = {command:?}\nenv = {{ {env} }}\n")
    }
}

/// Returns the mark of the agent's processes in this test run.
pub(crate) fn marker_of(id: &str) -> String {
    format!("{id}-{}", std::process::id())
}
