//! The folders and files that are looked at.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agenthost_protocol::ids::ProviderId;

use super::{Definition, Origin, Settings, WhenAbsent};
use crate::parse::{Kind, Layout};

/// Files of a workspace that are rules.
const RULE_FILES: &[&str] = &[
    "AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
    ".cursorrules",
];

/// Files of a workspace that declare servers.
const SERVER_FILES: &[&str] = &[".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"];

/// Files and folders of a workspace that declare hooks.
const HOOK_FILES: &[&str] = &[".claude/settings.json", ".github/hooks/"];

/// Folders of a workspace. Something new goes to those of the first group, so
/// these are shown before they are there.
const WORKSPACE: &[(&str, Kind)] = &[
    (".agents/agents", Kind::Agent),
    (".agents/skills", Kind::Skill),
    (".agents/prompts", Kind::Prompt),
    (".agents/rules", Kind::Rule),
    (".github/agents", Kind::Agent),
    (".github/skills", Kind::Skill),
    (".github/prompts", Kind::Prompt),
    (".github/instructions", Kind::Rule),
    (".claude/agents", Kind::Agent),
    (".claude/skills", Kind::Skill),
    (".claude/commands", Kind::Command),
    (".claude/rules", Kind::Rule),
    (".cursor/rules", Kind::Rule),
];

/// How many of them are shown before they are there.
const CANONICAL: usize = 4;

/// Folders of the user.
const USER: &[(&str, Kind)] = &[
    (".agents/agents", Kind::Agent),
    (".agents/skills", Kind::Skill),
    (".agents/prompts", Kind::Prompt),
    (".agents/rules", Kind::Rule),
    (".claude/agents", Kind::Agent),
    (".claude/skills", Kind::Skill),
    (".claude/commands", Kind::Command),
    (".claude/rules", Kind::Rule),
    (".copilot/agents", Kind::Agent),
    (".copilot/skills", Kind::Skill),
    (".copilot/prompts", Kind::Prompt),
    (".copilot/instructions", Kind::Rule),
];

/// Folders of the host's own configuration.
const OWN: &[(&str, Kind)] = &[
    ("agents", Kind::Agent),
    ("skills", Kind::Skill),
    ("prompts", Kind::Prompt),
    ("rules", Kind::Rule),
];

/// Everything that a session with these folders has, in the order that people
/// get to see. Nothing is in it twice.
pub(crate) fn definitions(
    settings: &Settings,
    data: &Path,
    provider: &ProviderId,
    directories: &[PathBuf],
) -> Vec<Definition> {
    let native = settings.native.get(provider);
    let native = native.map_or(&[][..], Vec::as_slice);
    let mut all = plugins(settings, data, provider);
    for (number, directory) in directories.iter().enumerate() {
        workspace(&mut all, directory, native, number);
    }
    user(&mut all, settings);
    let mut seen = BTreeSet::new();
    all.retain(|definition| seen.insert(definition.id.clone()));
    all
}

/// The packages that are configured for an agent.
pub(super) fn plugins(settings: &Settings, data: &Path, provider: &ProviderId) -> Vec<Definition> {
    let plugins = settings.plugins.iter();
    plugins
        .filter(|plugin| {
            let agents = plugin.agents.as_ref();
            agents.is_none_or(|agents| agents.contains(provider))
        })
        .filter_map(|plugin| {
            let root = plugin.source.folder(data);
            let name = plugin.source.name();
            let mut plugin_there = Definition::new(root, Layout::Plugin, Origin::Configured, name)?;
            if let Some(uri) = plugin.source.uri() {
                plugin_there.id = super::container_id("", &uri, Layout::Plugin);
                plugin_there.frame.owner = uri.as_str().to_owned();
                plugin_there.address = Some(uri);
            }
            plugin_there.when_absent = WhenAbsent::Failed(plugin.source.when_absent());
            Some(plugin_there)
        })
        .collect()
}

fn workspace(all: &mut Vec<Definition>, directory: &Path, native: &[String], number: usize) {
    let primary = number == 0;
    let label = |name: &str| match (primary, directory.file_name()) {
        (false, Some(folder)) => format!("{}/{name}", folder.to_string_lossy()),
        (true, _) | (false, None) => name.to_owned(),
    };
    let mut some_files = |names: &[&str], kind: Kind, name: &str| {
        // What an agent reads by itself would happen twice. Rules are left out
        // turn by turn, and shown.
        let names = names
            .iter()
            .filter(|name| kind == Kind::Rule || !is_native(native, name));
        let files: Vec<String> = names.map(|name| (*name).to_owned()).collect();
        if files.is_empty() {
            return;
        }
        let root = directory.to_owned();
        let definition = Definition::new(root, Layout::Files(kind), Origin::Workspace, label(name));
        all.extend(definition.map(|definition| Definition {
            files,
            ..definition
        }));
    };
    some_files(RULE_FILES, Kind::Rule, "Instructions");
    some_files(SERVER_FILES, Kind::Server, "MCP servers");
    some_files(HOOK_FILES, Kind::Hook, "Hooks");
    for (position, (folder, kind)) in WORKSPACE.iter().enumerate() {
        let root = directory.join(folder);
        let definition = Definition::new(
            root,
            Layout::Folder(*kind),
            Origin::Workspace,
            label(folder),
        );
        all.extend(definition.map(|definition| Definition {
            boundary: directory.to_owned(),
            writable: true,
            when_absent: match primary && position < CANONICAL {
                true => WhenAbsent::Shown,
                false => WhenAbsent::Hidden,
            },
            ..definition
        }));
    }
}

fn user(all: &mut Vec<Definition>, settings: &Settings) {
    let mut add = |home: &Path, root: PathBuf, layout: Layout, name: String| {
        let writable = settings
            .writable
            .iter()
            .any(|folder| root.starts_with(folder));
        let definition = Definition::new(root, layout, Origin::User, name);
        all.extend(definition.map(|definition| Definition {
            boundary: home.to_owned(),
            writable,
            when_absent: match writable {
                true => WhenAbsent::Shown,
                false => WhenAbsent::Hidden,
            },
            ..definition
        }));
    };
    if let Some(own) = &settings.config_home {
        for (folder, kind) in OWN {
            let name = format!("agenthost/{folder}");
            add(own, own.join(folder), Layout::Folder(*kind), name);
        }
    }
    if let Some(home) = &settings.home {
        for (folder, kind) in USER {
            let name = format!("~/{folder}");
            add(home, home.join(folder), Layout::Folder(*kind), name);
        }
    }
}

/// Whether an agent reads a file by itself.
pub(crate) fn is_native(native: &[String], path: &str) -> bool {
    native
        .iter()
        .any(|known| path == known || (known.ends_with('/') && path.starts_with(known.as_str())))
}
