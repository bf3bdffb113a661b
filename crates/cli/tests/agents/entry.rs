//! The table of agents, and how one of them is installed and set up.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// Who works for agents that do not work for root.
const NOBODY: u32 = 65_534;

/// The variable that all processes of an agent have, so that they are found.
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

/// How the model has to call for commands so that the agent asks the user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Commands {
    /// Any way.
    #[default]
    Run,
    /// With a request to be let out of the sandbox.
    Ask,
}

impl Commands {
    /// What the model is told to run a command.
    pub(crate) fn order(self, command: &str) -> String {
        match self {
            Commands::Run => format!("run: {command}"),
            Commands::Ask => format!("ask: {command}"),
        }
    }
}

/// Whether an agent works for root.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AsRoot {
    #[default]
    Yes,
    No,
}

/// A server of tools that agents are tried with.
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

/// All agents of the table; with `AGENTS=goose,codex` in the environment, only
/// these.
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

/// An agent that is not in the table, and not installed: it needs no model.
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

/// The names of all agents of the table, in its order.
pub(crate) fn names() -> Vec<String> {
    let table = table();
    table.agents.into_iter().map(|entry| entry.id).collect()
}

/// The server of tools of the table.
pub(crate) fn tool_server() -> ToolServer {
    table().tool_server
}

/// Where agents are installed: in the target folder, so that they are kept.
fn cache() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap().join("agents")
}

/// Where the packages of an agent or a server are.
fn modules(id: &str) -> PathBuf {
    cache().join(id).join("node_modules")
}

/// Installs packages, unless they are there. Says what went wrong.
pub(crate) fn install(id: &str, packages: &[String]) -> Result<(), String> {
    let folder = cache().join(id);
    let mark = folder.join("installed");
    let wanted = packages.join(" ");
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    // What packages want to run when they are installed is not run.
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
    /// What stands in the configuration of the host for it. Its processes are
    /// marked like those of the agent that it is tried with.
    pub(crate) fn set_up(&self, agent: &str) -> String {
        let modules = modules(&self.id);
        let fill = |word: &String| word.replace("{modules}", &modules.to_string_lossy());
        let command: Vec<_> = self.command.iter().map(fill).collect();
        let (id, program, mark) = (&self.id, &command[0], mark(agent));
        let arguments = &command[1..];
        format!(
            "[[mcp_servers]]\nname = {id:?}\ncommand = {program:?}\nargs = {arguments:?}\n\
             env = {{ {MARK} = {mark:?} }}\n"
        )
    }

    /// Whether it was installed.
    pub(crate) fn is_installed(&self) -> bool {
        modules(&self.id).is_dir()
    }
}

impl Entry {
    fn modules(&self) -> PathBuf {
        modules(&self.id)
    }

    /// Whether it was installed.
    pub(crate) fn is_installed(&self) -> bool {
        self.modules().is_dir()
    }

    /// Whether it needs another user than this one.
    fn changes_user(&self) -> bool {
        self.as_root == AsRoot::No && nix::unistd::Uid::effective().is_root()
    }

    /// What comes before a command so that it runs for the agent's user.
    pub(crate) fn as_its_user(&self) -> Vec<String> {
        if !self.changes_user() {
            return Vec::new();
        }
        let user = format!("--reuid={NOBODY}");
        let group = format!("--regid={NOBODY}");
        let prefix = ["setpriv", &user, &group, "--clear-groups", "--"];
        prefix.map(str::to_owned).to_vec()
    }

    /// Gives a folder and all that is in it to the agent's user.
    pub(crate) fn hand_over(&self, folder: &Path) {
        if self.changes_user() {
            let owner = format!("{NOBODY}:{NOBODY}");
            let mut chown = Command::new("chown");
            let given = chown.arg("-R").arg(owner).arg(folder).status();
            assert!(given.unwrap().success(), "chown");
        }
    }

    /// Makes a folder that the agent can work in.
    pub(crate) fn make_folder(&self, folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder, open).unwrap();
        if self.changes_user() {
            chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// Fills its home, and says what stands in the configuration of the host
    /// for it.
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
                chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let command: Vec<_> = self.command.iter().map(|word| fill(word)).collect();
        let mut env: BTreeMap<_, _> = self.env.clone();
        env.insert("HOME".to_owned(), home.to_string_lossy().into_owned());
        env.insert(MARK.to_owned(), mark(&self.id));
        let env = env.iter().map(|(name, value)| {
            let value = fill(value);
            format!("{name} = {value:?}")
        });
        let env = env.collect::<Vec<_>>().join(", ");
        let id = &self.id;
        format!("[[agents]]\nid = {id:?}\ncommand = {command:?}\nenv = {{ {env} }}\n")
    }
}

/// What the processes of an agent are marked with; only those of this run.
pub(crate) fn mark(id: &str) -> String {
    format!("{id}-{}", std::process::id())
}
