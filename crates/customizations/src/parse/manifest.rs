//! Parses a plugin package, with or without a manifest.

use serde_json::{Map, Value};

use super::paths::{ManifestPaths, read_paths};
use super::{
    ItemDetail, ItemKind, MAX_NAME_CHARS, ParseContext, components, hooks, servers, truncate_chars,
};
use crate::package::PackageFile;
use crate::syntax::jsonc::JsoncDocument;

/// Possible paths of the manifest, in order of precedence.
const MANIFEST_PATHS: &[&str] = &[
    ".plugin/plugin.json",
    "plugin.json",
    ".claude-plugin/plugin.json",
    ".cursor-plugin/plugin.json",
];

/// The folder and manifest key of the extensions for GitHub Copilot.
const COPILOT_EXTENSION: &str = "com.github.copilot";

/// A kind of component, with its manifest keys and default paths.
struct ComponentSpec {
    kind: ItemKind,
    keys: &'static [&'static str],
    default_paths: &'static [&'static str],
}

const COMPONENTS: &[ComponentSpec] = &[
    ComponentSpec {
        kind: ItemKind::Agent,
        keys: &["agents"],
        default_paths: &["agents", "com.github.copilot/agents"],
    },
    ComponentSpec {
        kind: ItemKind::Skill,
        keys: &["skills"],
        default_paths: &["skills"],
    },
    ComponentSpec {
        kind: ItemKind::Command,
        keys: &["commands"],
        default_paths: &["commands", "com.github.copilot/commands"],
    },
    ComponentSpec {
        kind: ItemKind::Prompt,
        keys: &["prompts"],
        default_paths: &["prompts"],
    },
    ComponentSpec {
        kind: ItemKind::Rule,
        keys: &["rules", "instructions"],
        default_paths: &["rules", "instructions", "com.github.copilot/rules"],
    },
    ComponentSpec {
        kind: ItemKind::Hook,
        keys: &["hooks"],
        default_paths: &[
            "hooks/hooks.json",
            "hooks.json",
            "com.github.copilot/hooks/hooks.json",
        ],
    },
    ComponentSpec {
        kind: ItemKind::Server,
        keys: &["mcpServers"],
        default_paths: &[".mcp.json", "mcp.json"],
    },
];

/// Parses all components of a package.
pub(super) fn parse_plugin(context: &mut ParseContext<'_>) {
    let (path, manifest) = read_manifest(context);
    let values = manifest.value.as_object().cloned().unwrap_or_default();
    read_metadata(context, path, &values);
    for component in COMPONENTS {
        parse_component(context, path, &manifest, &values, component);
    }
    let mut items = context.parsed.items.iter();
    let has_skills = items.any(|item| matches!(item.detail, ItemDetail::Skill(_)));
    if !has_skills && context.package.file("SKILL.md").is_some() {
        components::parse_skill(context, "SKILL.md", None);
    }
}

/// Returns the manifest and its path. Without a readable manifest, the package consists of
/// its default paths.
fn read_manifest(context: &mut ParseContext<'_>) -> (&'static str, JsoncDocument) {
    for path in MANIFEST_PATHS {
        let text = match context.package.file(path) {
            None | Some(PackageFile::Other(_)) => continue,
            Some(PackageFile::Text(text)) => text,
            Some(PackageFile::Unreadable(why)) => {
                context.add_problem(path, why);
                return (path, JsoncDocument::default());
            }
        };
        match JsoncDocument::parse(text) {
            Ok(manifest) if manifest.value.is_object() => return (path, manifest),
            Ok(_) => context.add_problem(path, "it must be an object"),
            Err(problem) => context.add_problem(path, problem),
        }
        return (path, JsoncDocument::default());
    }
    ("plugin.json", JsoncDocument::default())
}

fn read_metadata(context: &mut ParseContext<'_>, path: &str, values: &Map<String, Value>) {
    for key in ["name", "version"] {
        let text = match values.get(key) {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) if !text.trim().is_empty() => {
                truncate_chars(text, MAX_NAME_CHARS)
            }
            Some(_) => {
                context.add_problem(path, format!("`{key}` must be a non-empty string"));
                continue;
            }
        };
        match key {
            "name" => context.parsed.name = Some(text),
            _ => context.parsed.version = Some(text),
        }
    }
}

fn parse_component(
    context: &mut ParseContext<'_>,
    path: &str,
    manifest: &JsoncDocument,
    values: &Map<String, Value>,
    component: &ComponentSpec,
) {
    let extension = values
        .get("extensions")
        .and_then(|extensions| extensions.get(COPILOT_EXTENSION));
    let mut paths = Vec::new();
    let mut replaces_defaults = false;
    for key in component.keys {
        let Some(value) = values.get(*key) else {
            continue;
        };
        if let (ItemKind::Hook | ItemKind::Server, Value::Object(object)) = (component.kind, value)
            && !object.get("paths").is_some_and(Value::is_array)
        {
            match component.kind {
                ItemKind::Hook => hooks::parse_hooks(context, path, manifest, &[key]),
                _ => servers::parse_servers(context, path, manifest, &[key]),
            }
            continue;
        }
        let ManifestPaths {
            paths: more,
            replaces_defaults: only,
        } = read_paths(context, path, key, value);
        paths.extend(more);
        replaces_defaults |= only;
    }
    for key in component.keys {
        if let Some(value) = extension.and_then(|extension| extension.get(*key)) {
            let more = read_paths(context, path, key, value);
            let more = more.paths.iter();
            paths.extend(more.map(|path| format!("{COPILOT_EXTENSION}/{path}")));
        }
    }
    // Paths in the manifest have to exist. Default paths are optional.
    for path_named in &paths {
        let there = path_named.is_empty()
            || context.package.file(path_named).is_some()
            || context.package.files_below(path_named).next().is_some();
        let a_folder = there && context.package.file(path_named).is_none();
        let wants_file = matches!(component.kind, ItemKind::Hook | ItemKind::Server);
        let name = truncate_chars(path_named, 80);
        if !there {
            context.add_problem(path, format!("it names `{name}`, which does not exist"));
        } else if a_folder && wants_file {
            context.add_problem(path, format!("it names `{name}`, which is not a file"));
        }
    }
    if !replaces_defaults {
        let usual = component
            .default_paths
            .iter()
            .map(|path| (*path).to_owned());
        paths.extend(
            usual
                .filter(|path| !paths.contains(path))
                .collect::<Vec<_>>(),
        );
    }
    for path in paths {
        match component.kind {
            ItemKind::Hook => hooks::parse_hook_file(context, &path),
            ItemKind::Server => servers::parse_server_file(context, &path),
            kind => components::parse_path(context, kind, &path),
        }
    }
}
