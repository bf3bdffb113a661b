//! Reads and normalizes the component paths of a manifest.

use serde_json::Value;

use super::ParseContext;

/// The paths that a manifest lists for a kind of component.
#[derive(Debug, Default)]
pub(super) struct ManifestPaths {
    /// The paths, relative to the root of the package.
    pub(super) paths: Vec<String>,
    /// `true` if they replace the default paths.
    pub(super) replaces_defaults: bool,
}

/// Reads the paths of a manifest key: a path, a list, or an object with `paths`.
pub(super) fn read_paths(
    context: &mut ParseContext<'_>,
    manifest: &str,
    key: &str,
    value: &Value,
) -> ManifestPaths {
    let (values, instead) = match value {
        Value::Null => return ManifestPaths::default(),
        Value::String(_) => (vec![value], false),
        Value::Array(values) => (values.iter().collect(), false),
        Value::Object(object) => match object.get("paths") {
            Some(Value::Array(values)) => {
                let instead = object.get("exclusive") == Some(&Value::Bool(true));
                (values.iter().collect(), instead)
            }
            Some(_) | None => {
                context.add_problem(manifest, format!("`{key}` has no list of `paths`"));
                return ManifestPaths::default();
            }
        },
        Value::Bool(_) | Value::Number(_) => {
            context.add_problem(
                manifest,
                format!("`{key}` must be a path or a list of paths"),
            );
            return ManifestPaths::default();
        }
    };
    let mut paths = Vec::new();
    for value in values {
        match value.as_str() {
            None => {
                context.add_problem(manifest, format!("`{key}` has a value that is not a path"))
            }
            Some(path) => match normalize_path(path) {
                Some(path) => paths.push(path),
                None => context.add_problem(
                    manifest,
                    format!(
                        "`{key}` names a path outside of the package: `{}`",
                        super::truncate_chars(path, 80)
                    ),
                ),
            },
        }
    }
    ManifestPaths {
        paths,
        replaces_defaults: instead,
    }
}

/// Returns a path relative to the root of the package, or `None` if it leads out of it.
pub(super) fn normalize_path(path: &str) -> Option<String> {
    let path = path.trim();
    let path = ["${CLAUDE_PLUGIN_ROOT}/", "${PLUGIN_ROOT}/"]
        .iter()
        .find_map(|root| path.strip_prefix(root))
        .unwrap_or(path);
    if path.starts_with(['/', '\\', '~']) || path.contains(['\\', '\0']) {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::normalize_path;

    #[test]
    fn paths_outside_of_the_package_are_rejected() {
        for (path, expected) in [
            ("./a/b", Some("a/b")),
            ("a/../b/", Some("b")),
            ("${CLAUDE_PLUGIN_ROOT}/x", Some("x")),
            (".", Some("")),
            ("../a", None),
            ("a/../../b", None),
            ("/etc", None),
            ("~/x", None),
            ("a\\b", None),
        ] {
            assert_eq!(normalize_path(path).as_deref(), expected, "{path}");
        }
    }
}
