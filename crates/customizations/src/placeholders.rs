//! Names in values, such as `${PLUGIN_ROOT}` and `${env:TOKEN}`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::mcp::{McpSpec, McpWay};
use crate::parse::{Declared, DeclaredWay};

/// What names in values stand for.
#[derive(Clone)]
pub(crate) struct Names<'a> {
    /// Where the files of the package are.
    pub(crate) package: Option<&'a Path>,
    /// Where the package may keep something.
    pub(crate) data: Option<PathBuf>,
    /// The folder that the session works in.
    pub(crate) workspace: Option<&'a Path>,
    /// The user's folder.
    pub(crate) home: Option<&'a Path>,
    /// The environment.
    pub(crate) environment: &'a BTreeMap<String, String>,
}

/// A name that stands for nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not set")]
pub struct NotSet(pub String);

/// Names that are about the package and the session.
const OWN_NAMES: &[&str] = &[
    "CLAUDE_PLUGIN_ROOT",
    "PLUGIN_ROOT",
    "CLAUDE_PLUGIN_DATA",
    "PLUGIN_DATA",
    "CLAUDE_PROJECT_DIR",
    "workspaceFolder",
    "userHome",
];

impl Names<'_> {
    /// A value with all names replaced.
    ///
    /// # Errors
    ///
    /// The first name that stands for nothing.
    pub(crate) fn resolve(&self, text: &str) -> Result<String, NotSet> {
        let mut resolved = String::with_capacity(text.len());
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => resolved.push_str(text),
                Piece::Name(name) => resolved.push_str(&self.value(name)?),
            }
        }
        Ok(resolved)
    }

    fn value(&self, name: &str) -> Result<String, NotSet> {
        let (bare, default) = bare(name);
        let path = |path: Option<&Path>| path.map(|path| path.to_string_lossy().into_owned());
        let value = match bare {
            "CLAUDE_PLUGIN_ROOT" | "PLUGIN_ROOT" => path(self.package),
            "CLAUDE_PLUGIN_DATA" | "PLUGIN_DATA" => path(self.data.as_deref()),
            "CLAUDE_PROJECT_DIR" | "workspaceFolder" => path(self.workspace),
            "userHome" => path(self.home),
            _ => self.environment.get(bare).cloned(),
        };
        value
            .or_else(|| default.map(str::to_owned))
            .ok_or_else(|| NotSet(bare.chars().take(80).collect()))
    }

    /// How a declared server is really reached.
    ///
    /// # Errors
    ///
    /// The first name that stands for nothing.
    pub(crate) fn server(&self, declared: &Declared) -> Result<McpSpec, NotSet> {
        let pairs = |pairs: &[(String, String)]| {
            let pairs = pairs.iter();
            pairs
                .map(|(name, value)| Ok((name.clone(), self.resolve(value)?)))
                .collect::<Result<Vec<_>, NotSet>>()
        };
        let way = match &declared.way {
            DeclaredWay::Program {
                command,
                arguments,
                environment,
                directory,
            } => {
                let mut environment = pairs(environment)?;
                environment.extend(self.own_environment());
                let arguments = arguments.iter().map(|text| self.resolve(text));
                McpWay::Program {
                    command: self.beside(self.resolve(command)?),
                    arguments: arguments.collect::<Result<_, _>>()?,
                    environment,
                    directory: match directory {
                        Some(directory) => self.directory(&self.resolve(directory)?),
                        None => self.workspace.map(Path::to_owned),
                    },
                }
            }
            DeclaredWay::Http { url, headers } => McpWay::Http {
                url: self.resolve(url)?,
                headers: pairs(headers)?,
            },
        };
        Ok(McpSpec {
            name: declared.name.clone(),
            way,
        })
    }

    /// What programs of a package find in their environment.
    pub(crate) fn own_environment(&self) -> Vec<(String, String)> {
        OWN_NAMES
            .iter()
            .filter(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
            .filter_map(|name| Some(((*name).to_owned(), self.value(name).ok()?)))
            .collect()
    }

    /// A folder that a declaration names.
    pub(crate) fn directory(&self, named: &str) -> Option<PathBuf> {
        match (named.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => Some(home.join(rest)),
            _ if Path::new(named).is_absolute() => Some(PathBuf::from(named)),
            _ => Some(self.package.or(self.workspace)?.join(named)),
        }
    }

    /// A program that is named by a path inside of the package is there.
    fn beside(&self, command: String) -> String {
        match (command.starts_with("./"), self.package.or(self.workspace)) {
            (true, Some(root)) => root.join(command).to_string_lossy().into_owned(),
            _ => command,
        }
    }
}

/// A name without its frills, and what it stands for if it is not set.
fn bare(name: &str) -> (&str, Option<&str>) {
    let name = name.strip_prefix("env:").unwrap_or(name);
    match name.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (name, None),
    }
}

enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let named = rest
            .strip_prefix("${")
            .and_then(|name| name.split_once('}'));
        if let Some((name, after)) = named {
            rest = after;
            return Some(Piece::Name(name));
        }
        // The first character is no name, or not one that ends.
        let end = rest
            .char_indices()
            .skip(1)
            .find(|(at, _)| rest.get(*at..).is_some_and(|rest| rest.starts_with("${")))
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(Piece::Text(piece))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced() {
        let environment = BTreeMap::from([("TOKEN".to_owned(), "t".to_owned())]);
        let names = Names {
            package: Some(Path::new("/p")),
            data: None,
            workspace: Some(Path::new("/w")),
            home: Some(Path::new("/h")),
            environment: &environment,
        };
        for (text, expected) in [
            ("a ${TOKEN} ${env:TOKEN}!", Ok("a t t!")),
            ("${PLUGIN_ROOT}/x${CLAUDE_PROJECT_DIR}", Ok("/p/x/w")),
            ("${NOT:-${x}", Ok("${x")),
            ("${NOT:-}", Ok("")),
            ("$TOKEN ${", Ok("$TOKEN ${")),
            ("${input:key}", Err("input:key")),
            ("${NOT}", Err("NOT")),
            ("", Ok("")),
        ] {
            let resolved = names.resolve(text).map_err(|NotSet(name)| name);
            let resolved = resolved.as_deref().map_err(String::as_str);
            assert_eq!(resolved, expected, "{text}");
        }
    }
}
