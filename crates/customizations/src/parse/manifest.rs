//! A package with a manifest, or without one.

use serde_json::{Map, Value};

use super::paths::{Named, named};
use super::{Detail, Finding, Kind, LONGEST_NAME, components, cut, hooks, servers};
use crate::declarations::Declarations;
use crate::package::PackageFile;

/// Where the manifest can be; the first one counts.
const MANIFESTS: &[&str] = &[
    ".plugin/plugin.json",
    "plugin.json",
    ".claude-plugin/plugin.json",
    ".cursor-plugin/plugin.json",
];

/// A folder with what one client in particular adds to the portable format.
const EXTENSION: &str = "com.github.copilot";

/// A kind of component: what the manifest calls it, and where it usually is.
struct Component {
    kind: Kind,
    keys: &'static [&'static str],
    usual: &'static [&'static str],
}

const COMPONENTS: &[Component] = &[
    Component {
        kind: Kind::Agent,
        keys: &["agents"],
        usual: &["agents", "com.github.copilot/agents"],
    },
    Component {
        kind: Kind::Skill,
        keys: &["skills"],
        usual: &["skills"],
    },
    Component {
        kind: Kind::Command,
        keys: &["commands"],
        usual: &["commands", "com.github.copilot/commands"],
    },
    Component {
        kind: Kind::Prompt,
        keys: &["prompts"],
        usual: &["prompts"],
    },
    Component {
        kind: Kind::Rule,
        keys: &["rules", "instructions"],
        usual: &["rules", "instructions", "com.github.copilot/rules"],
    },
    Component {
        kind: Kind::Hook,
        keys: &["hooks"],
        usual: &[
            "hooks/hooks.json",
            "hooks.json",
            "com.github.copilot/hooks/hooks.json",
        ],
    },
    Component {
        kind: Kind::Server,
        keys: &["mcpServers"],
        usual: &[".mcp.json", "mcp.json"],
    },
];

/// Finds everything in a package.
pub(super) fn plugin(found: &mut Finding<'_>) {
    let (path, manifest) = manifest(found);
    let values = manifest.value.as_object().cloned().unwrap_or_default();
    describe(found, path, &values);
    for component in COMPONENTS {
        one(found, path, &manifest, &values, component);
    }
    let mut items = found.parsed.items.iter();
    let has_skills = items.any(|item| matches!(item.detail, Detail::Skill(_)));
    if !has_skills && found.package.file("SKILL.md").is_some() {
        components::skill(found, "SKILL.md", None);
    }
}

/// The manifest and where it is. Without one that can be read a package is
/// what its folders say.
fn manifest(found: &mut Finding<'_>) -> (&'static str, Declarations) {
    for path in MANIFESTS {
        let text = match found.package.file(path) {
            None | Some(PackageFile::Other(_)) => continue,
            Some(PackageFile::Text(text)) => text,
            Some(PackageFile::Unreadable(why)) => {
                found.problem(path, why);
                return (path, Declarations::default());
            }
        };
        match Declarations::parse(text) {
            Ok(manifest) if manifest.value.is_object() => return (path, manifest),
            Ok(_) => found.problem(path, "it has to be an object"),
            Err(problem) => found.problem(path, problem),
        }
        return (path, Declarations::default());
    }
    ("plugin.json", Declarations::default())
}

fn describe(found: &mut Finding<'_>, path: &str, values: &Map<String, Value>) {
    for key in ["name", "version"] {
        let text = match values.get(key) {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) if !text.trim().is_empty() => cut(text, LONGEST_NAME),
            Some(_) => {
                found.problem(path, format!("`{key}` has to be text"));
                continue;
            }
        };
        match key {
            "name" => found.parsed.name = Some(text),
            _ => found.parsed.version = Some(text),
        }
    }
}

fn one(
    found: &mut Finding<'_>,
    path: &str,
    manifest: &Declarations,
    values: &Map<String, Value>,
    component: &Component,
) {
    let extension = values
        .get("extensions")
        .and_then(|extensions| extensions.get(EXTENSION));
    let mut paths = Vec::new();
    let mut instead = false;
    for key in component.keys {
        let Some(value) = values.get(*key) else {
            continue;
        };
        if let (Kind::Hook | Kind::Server, Value::Object(object)) = (component.kind, value)
            && !object.get("paths").is_some_and(Value::is_array)
        {
            match component.kind {
                Kind::Hook => hooks::declared(found, path, manifest, &[key]),
                _ => servers::declared(found, path, manifest, &[key]),
            }
            continue;
        }
        let Named {
            paths: more,
            instead: only,
        } = named(found, path, key, value);
        paths.extend(more);
        instead |= only;
    }
    for key in component.keys {
        if let Some(value) = extension.and_then(|extension| extension.get(*key)) {
            let more = named(found, path, key, value);
            let more = more.paths.iter();
            paths.extend(more.map(|path| format!("{EXTENSION}/{path}")));
        }
    }
    // What the manifest names has to be there; what is usual need not be.
    for path_named in &paths {
        let there = path_named.is_empty()
            || found.package.file(path_named).is_some()
            || found.package.below(path_named).next().is_some();
        let a_folder = there && found.package.file(path_named).is_none();
        let wants_file = matches!(component.kind, Kind::Hook | Kind::Server);
        let name = cut(path_named, 80);
        if !there {
            found.problem(path, format!("it names `{name}`, which is not there"));
        } else if a_folder && wants_file {
            found.problem(path, format!("it names `{name}`, which is no file"));
        }
    }
    if !instead {
        let usual = component.usual.iter().map(|path| (*path).to_owned());
        paths.extend(
            usual
                .filter(|path| !paths.contains(path))
                .collect::<Vec<_>>(),
        );
    }
    for path in paths {
        match component.kind {
            Kind::Hook => hooks::file(found, &path),
            Kind::Server => servers::file(found, &path),
            kind => components::at(found, kind, &path),
        }
    }
}
