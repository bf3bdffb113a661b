//! The folders and files that are searched for customizations.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agenthost_protocol::ids::ProviderId;

use super::{AbsencePolicy, ContainerDefinition, ContainerOrigin, CustomizationSettings};
use crate::parse::{ContainerLayout, ItemKind};

/// Files of a workspace that are rules.
const RULE_FILES: &[&str] = &[
    "AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
    ".cursorrules",
];

/// Files of a workspace that declare MCP servers.
const SERVER_FILES: &[&str] = &[".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"];

/// Files and folders of a workspace that declare hooks.
const HOOK_FILES: &[&str] = &[".claude/settings.json", ".github/hooks/"];

/// Folders of a workspace. Clients save new items into the folders of the first group, so
/// these are published before they exist.
const WORKSPACE_FOLDERS: &[(&str, ItemKind)] = &[
    (".agents/agents", ItemKind::Agent),
    (".agents/skills", ItemKind::Skill),
    (".agents/prompts", ItemKind::Prompt),
    (".agents/rules", ItemKind::Rule),
    (".github/agents", ItemKind::Agent),
    (".github/skills", ItemKind::Skill),
    (".github/prompts", ItemKind::Prompt),
    (".github/instructions", ItemKind::Rule),
    (".claude/agents", ItemKind::Agent),
    (".claude/skills", ItemKind::Skill),
    (".claude/commands", ItemKind::Command),
    (".claude/rules", ItemKind::Rule),
    (".cursor/rules", ItemKind::Rule),
];

/// The number of workspace folders that are published before they exist.
const CANONICAL_FOLDERS: usize = 4;

/// Folders inside of the user's home folder.
const USER_FOLDERS: &[(&str, ItemKind)] = &[
    (".agents/agents", ItemKind::Agent),
    (".agents/skills", ItemKind::Skill),
    (".agents/prompts", ItemKind::Prompt),
    (".agents/rules", ItemKind::Rule),
    (".claude/agents", ItemKind::Agent),
    (".claude/skills", ItemKind::Skill),
    (".claude/commands", ItemKind::Command),
    (".claude/rules", ItemKind::Rule),
    (".copilot/agents", ItemKind::Agent),
    (".copilot/skills", ItemKind::Skill),
    (".copilot/prompts", ItemKind::Prompt),
    (".copilot/instructions", ItemKind::Rule),
];

/// Folders of the host's own configuration.
const HOST_FOLDERS: &[(&str, ItemKind)] = &[
    ("agents", ItemKind::Agent),
    ("skills", ItemKind::Skill),
    ("prompts", ItemKind::Prompt),
    ("rules", ItemKind::Rule),
];

/// Returns the containers of a session with these folders, without duplicates, in the order
/// in which clients show them.
pub(crate) fn container_definitions(
    settings: &CustomizationSettings,
    data: &Path,
    provider: &ProviderId,
    directories: &[PathBuf],
) -> Vec<ContainerDefinition> {
    let native = settings.native_paths.get(provider);
    let native = native.map_or(&[][..], Vec::as_slice);
    let mut all = plugin_definitions(settings, data, provider);
    for (number, directory) in directories.iter().enumerate() {
        add_workspace(&mut all, directory, native, number);
    }
    add_user(&mut all, settings);
    let mut seen = BTreeSet::new();
    all.retain(|definition| seen.insert(definition.id.clone()));
    all
}

/// Returns the plugin packages that are configured for an agent.
pub(super) fn plugin_definitions(
    settings: &CustomizationSettings,
    data: &Path,
    provider: &ProviderId,
) -> Vec<ContainerDefinition> {
    let plugins = settings.plugins.iter();
    plugins
        .filter(|plugin| {
            let agents = plugin.agents.as_ref();
            agents.is_none_or(|agents| agents.contains(provider))
        })
        .filter_map(|plugin| {
            let root = plugin.source.folder(data);
            let name = plugin.source.name();
            let mut plugin_there = ContainerDefinition::new(
                root,
                ContainerLayout::Plugin,
                ContainerOrigin::Configured,
                name,
            )?;
            if let Some(uri) = plugin.source.uri() {
                plugin_there.id = super::container_id("", &uri, ContainerLayout::Plugin);
                plugin_there.frame.owner = uri.as_str().to_owned();
                plugin_there.address = Some(uri);
            }
            plugin_there.absence_policy = AbsencePolicy::Fail(plugin.source.absence_message());
            Some(plugin_there)
        })
        .collect()
}

fn add_workspace(
    all: &mut Vec<ContainerDefinition>,
    directory: &Path,
    native: &[String],
    number: usize,
) {
    let primary = number == 0;
    let label = |name: &str| match (primary, directory.file_name()) {
        (false, Some(folder)) => format!("{}/{name}", folder.to_string_lossy()),
        (true, _) | (false, None) => name.to_owned(),
    };
    let mut some_files = |names: &[&str], kind: ItemKind, name: &str| {
        // Hooks and servers that an agent reads by itself would run twice. Rules are
        // published anyway and left out of each prompt.
        let names = names
            .iter()
            .filter(|name| kind == ItemKind::Rule || !is_native_path(native, name));
        let files: Vec<String> = names.map(|name| (*name).to_owned()).collect();
        if files.is_empty() {
            return;
        }
        let root = directory.to_owned();
        let definition = ContainerDefinition::new(
            root,
            ContainerLayout::Files(kind),
            ContainerOrigin::Workspace,
            label(name),
        );
        all.extend(definition.map(|definition| ContainerDefinition {
            files,
            ..definition
        }));
    };
    some_files(RULE_FILES, ItemKind::Rule, "Instructions");
    some_files(SERVER_FILES, ItemKind::Server, "MCP servers");
    some_files(HOOK_FILES, ItemKind::Hook, "Hooks");
    for (position, (folder, kind)) in WORKSPACE_FOLDERS.iter().enumerate() {
        let root = directory.join(folder);
        let definition = ContainerDefinition::new(
            root,
            ContainerLayout::Folder(*kind),
            ContainerOrigin::Workspace,
            label(folder),
        );
        all.extend(definition.map(|definition| ContainerDefinition {
            boundary: directory.to_owned(),
            writable: true,
            absence_policy: if primary && position < CANONICAL_FOLDERS {
                AbsencePolicy::Publish
            } else {
                AbsencePolicy::Hide
            },
            ..definition
        }));
    }
}

fn add_user(all: &mut Vec<ContainerDefinition>, settings: &CustomizationSettings) {
    let mut add = |home: &Path, root: PathBuf, layout: ContainerLayout, name: String| {
        let writable = settings
            .writable
            .iter()
            .any(|folder| root.starts_with(folder));
        let definition = ContainerDefinition::new(root, layout, ContainerOrigin::User, name);
        all.extend(definition.map(|definition| ContainerDefinition {
            boundary: home.to_owned(),
            writable,
            absence_policy: if writable {
                AbsencePolicy::Publish
            } else {
                AbsencePolicy::Hide
            },
            ..definition
        }));
    };
    if let Some(own) = &settings.config_home {
        for (folder, kind) in HOST_FOLDERS {
            let name = format!("agenthost/{folder}");
            add(own, own.join(folder), ContainerLayout::Folder(*kind), name);
        }
    }
    if let Some(home) = &settings.home {
        for (folder, kind) in USER_FOLDERS {
            let name = format!("~/{folder}");
            add(
                home,
                home.join(folder),
                ContainerLayout::Folder(*kind),
                name,
            );
        }
    }
}

/// Returns `true` if an agent reads a file by itself.
pub(crate) fn is_native_path(native: &[String], path: &str) -> bool {
    native
        .iter()
        .any(|known| path == known || (known.ends_with('/') && path.starts_with(known.as_str())))
}
