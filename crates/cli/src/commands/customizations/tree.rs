//! Formats customizations as lines of text.

use agenthost_protocol::session::{
    ChildCustomization, Customization, LoadState, McpServerCustomization, McpServerState,
};

/// Maximum number of characters in a line, so that an entry fits on one line of most
/// terminals.
const MAX_LINE_CHARS: usize = 110;

/// The metadata key with which the host reports a problem of a running server.
const PROBLEM_META_KEY: &str = "agenthost.problem";

/// The source of the servers' states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerDisplay {
    /// The states come from a host that runs the servers.
    Live,
    /// No servers were started, so their states are unknown.
    NotRun,
}

/// The lines and notes that are printed.
#[derive(Debug, Default)]
pub(crate) struct CustomizationTree {
    /// One line for each container, child or problem.
    pub(crate) lines: Vec<String>,
    /// Further information, printed on stderr.
    pub(crate) notes: Vec<String>,
}

impl CustomizationTree {
    /// Formats the containers with their children. Directories that are empty and without
    /// problems are only listed in a note.
    pub(crate) fn build(all: &[Customization], servers: ServerDisplay) -> Self {
        let mut tree = CustomizationTree::default();
        let mut writable = Vec::new();
        for customization in all {
            if is_empty_directory(customization) {
                let base = customization.base();
                writable.extend(base.map(|base| base.name.as_str()));
            } else {
                tree.add(customization, servers);
            }
        }
        if tree.lines.is_empty() {
            tree.notes.push(EMPTY_NOTE.to_owned());
        } else if !writable.is_empty() {
            let folders = writable.join(", ");
            tree.notes
                .push(format!("empty or missing folders: {folders}"));
        }
        tree
    }

    fn add(&mut self, customization: &Customization, servers: ServerDisplay) {
        let Some(base) = customization.base() else {
            self.lines
                .push("unknown customization of a newer protocol version".to_owned());
            return;
        };
        let off = if customization.is_on() { "" } else { ", off" };
        let (kind, name, version) = match customization {
            Customization::Plugin(plugin) => ("plugin", &base.name, plugin.version.as_deref()),
            Customization::Directory(_) => ("folder", &base.name, None),
            Customization::McpServer(_) | Customization::Unknown(_) => ("server", &base.name, None),
        };
        let name = match version {
            Some(version) => format!("{name} {version}"),
            None => name.clone(),
        };
        let (state, problem) = match customization {
            Customization::McpServer(server) => describe_server_state(server, servers),
            Customization::Plugin(_) | Customization::Directory(_) | Customization::Unknown(_) => {
                describe_load_state(customization.load())
            }
        };
        let state = format!("{state}{off}");
        let line = format!("{kind:<8}{name:<24} {state:<10} {}", base.uri);
        self.lines.push(line.trim_end().to_owned());
        if let Some(problem) = problem {
            self.lines.push(format!("        {problem}"));
        }
        for child in customization.children().unwrap_or_default() {
            self.add_child(child, servers);
        }
    }

    fn add_child(&mut self, child: &ChildCustomization, servers: ServerDisplay) {
        let (kind, about) = match child {
            ChildCustomization::Agent(child) => ("agent", child.description.clone()),
            ChildCustomization::Skill(child) => ("skill", child.description.clone()),
            ChildCustomization::Prompt(child) => ("prompt", child.description.clone()),
            ChildCustomization::Rule(child) => {
                let about = child.description.clone();
                let globs = child.globs.as_ref();
                let globs = globs.map(|globs| format!("for {}", globs.join(", ")));
                ("rule", about.or(globs))
            }
            ChildCustomization::Hook(_) => ("hook", None),
            ChildCustomization::McpServer(server) => {
                let (state, problem) = describe_server_state(server, servers);
                let about = match problem {
                    Some(problem) => format!("{state}: {problem}"),
                    None => state.to_owned(),
                };
                ("server", Some(about))
            }
            ChildCustomization::Unknown(_) => ("unknown", None),
        };
        let name = child.base().map_or("", |base| base.name.as_str());
        let off = if child.is_on() { "" } else { "(off) " };
        let about = about.unwrap_or_default();
        let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
        self.lines.push(truncate_line(&format!(
            "  {kind:<8}{name:<22} {off}{about}"
        )));
    }
}

const EMPTY_NOTE: &str = "no customizations found: put skills in .agents/skills/NAME/SKILL.md, rules in AGENTS.md, \
     and plugins in `[[plugins]]` of the configuration; docs/customizations.md lists all locations";

/// Returns `true` for an empty directory that is enabled and has no problem.
fn is_empty_directory(customization: &Customization) -> bool {
    let Customization::Directory(directory) = customization else {
        return false;
    };
    let children = directory.container.children.as_ref();
    let load = directory.container.load.as_ref();
    children.is_none_or(Vec::is_empty)
        && directory.enabled
        && load.is_none_or(|load| *load == LoadState::Loaded)
}

fn describe_load_state(load: Option<&LoadState>) -> (&'static str, Option<String>) {
    match load {
        None | Some(LoadState::Loaded) => ("loaded", None),
        Some(LoadState::Loading) => ("loading", None),
        Some(LoadState::Degraded(problem)) => ("degraded", Some(problem.message.clone())),
        Some(LoadState::Error(problem)) => ("error", Some(problem.message.clone())),
    }
}

fn describe_server_state(
    server: &McpServerCustomization,
    servers: ServerDisplay,
) -> (&'static str, Option<String>) {
    match (&server.state, servers) {
        (_, ServerDisplay::NotRun) => ("", None),
        (McpServerState::Starting(_), _) => ("starting", None),
        (McpServerState::Ready, _) => {
            let meta = server.base.meta.as_ref();
            let problem = meta.and_then(|meta| meta.get(PROBLEM_META_KEY)?.as_str());
            ("ready", problem.map(str::to_owned))
        }
        (McpServerState::AuthRequired(requirement), _) => {
            let resource = &requirement.resource.resource;
            (
                "auth required",
                Some(format!("requires a token for {resource}")),
            )
        }
        (McpServerState::Error(failed), _) => ("error", Some(failed.error.message.clone())),
        (McpServerState::Stopped, _) => ("stopped", None),
        (McpServerState::Unknown(_), _) => ("unknown", None),
    }
}

/// Truncates a line to [`MAX_LINE_CHARS`] and marks that with `…`.
fn truncate_line(line: &str) -> String {
    let line = line.trim_end();
    match line.char_indices().nth(MAX_LINE_CHARS) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
    }
}
