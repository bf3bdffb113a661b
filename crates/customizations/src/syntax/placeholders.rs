//! Resolves placeholders in values, such as `${PLUGIN_ROOT}` and `${env:TOKEN}`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agenthost_core::tools::mcp::transport::{McpServerSpec, McpTransport, Template};
use agenthost_stdx::text::truncate_chars;

use crate::parse::{DeclaredServer, DeclaredTransport};

#[derive(Clone)]
pub(crate) struct PlaceholderValues<'a> {
    /// The folder of the package's files.
    pub(crate) package: Option<&'a Path>,
    /// The folder for data that the package stores.
    pub(crate) data: Option<PathBuf>,
    /// The primary folder of the session.
    pub(crate) workspace: Option<&'a Path>,
    /// The home folder of the user.
    pub(crate) home: Option<&'a Path>,
    /// Environment variables, for all other placeholders.
    pub(crate) environment: &'a BTreeMap<String, String>,
}

/// An error for a placeholder without a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not set")]
pub struct UnsetPlaceholder(pub String);

/// Names of placeholders about the package and the session.
const PACKAGE_PLACEHOLDERS: &[&str] = &[
    "CLAUDE_PLUGIN_ROOT",
    "PLUGIN_ROOT",
    "CLAUDE_PLUGIN_DATA",
    "PLUGIN_DATA",
    "CLAUDE_PROJECT_DIR",
    "workspaceFolder",
    "userHome",
];

impl PlaceholderValues<'_> {
    /// Replaces all placeholders in a text.
    ///
    /// # Errors
    ///
    /// The first placeholder without a value.
    pub(crate) fn resolve(&self, text: &str) -> Result<String, UnsetPlaceholder> {
        let mut resolved = String::with_capacity(text.len());
        for piece in template_pieces(text) {
            match piece {
                TemplatePiece::Text(text) => resolved.push_str(text),
                TemplatePiece::Name(name) => resolved.push_str(&self.lookup(name)?),
            }
        }
        Ok(resolved)
    }

    fn lookup(&self, name: &str) -> Result<String, UnsetPlaceholder> {
        let (bare, default) = split_default(name);
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
            .ok_or_else(|| UnsetPlaceholder(truncate_chars(bare, 80)))
    }

    /// Returns the spec of a declared server, with all placeholders replaced.
    ///
    /// # Errors
    ///
    /// The first placeholder without a value.
    pub(crate) fn resolve_server(
        &self,
        declared: &DeclaredServer,
    ) -> Result<McpServerSpec, UnsetPlaceholder> {
        let pairs = |pairs: &[(String, Template)]| {
            let pairs = pairs.iter();
            pairs
                .map(|(name, value)| Ok((name.clone(), self.resolve(value)?)))
                .collect::<Result<Vec<_>, UnsetPlaceholder>>()
        };
        let transport = match &declared.transport {
            DeclaredTransport::Stdio {
                command,
                arguments,
                environment,
                directory,
            } => {
                let mut environment = pairs(environment)?;
                environment.extend(self.package_environment());
                let arguments = arguments.iter().map(|text| self.resolve(text));
                McpTransport::Stdio {
                    command: self.resolve_command(self.resolve(command)?),
                    arguments: arguments.collect::<Result<_, _>>()?,
                    environment,
                    directory: match directory {
                        Some(directory) => self.resolve_directory(&self.resolve(directory)?),
                        None => self.workspace.map(Path::to_owned),
                    },
                }
            }
            DeclaredTransport::Http { url, headers } => McpTransport::Http {
                url: self.resolve(url)?,
                headers: pairs(headers)?,
            },
        };
        Ok(McpServerSpec {
            name: declared.name.clone(),
            transport,
        })
    }

    /// Returns environment variables for the programs of a package.
    pub(crate) fn package_environment(&self) -> Vec<(String, String)> {
        PACKAGE_PLACEHOLDERS
            .iter()
            .filter(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
            .filter_map(|name| Some(((*name).to_owned(), self.lookup(name).ok()?)))
            .collect()
    }

    /// Returns the path of a folder in a declaration, relative to the package or workspace.
    pub(crate) fn resolve_directory(&self, named: &str) -> Option<PathBuf> {
        match (named.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => Some(home.join(rest)),
            _ if Path::new(named).is_absolute() => Some(PathBuf::from(named)),
            _ => Some(self.package.or(self.workspace)?.join(named)),
        }
    }

    /// Resolves a command that begins with `./` relative to the package or workspace.
    fn resolve_command(&self, command: String) -> String {
        match (command.starts_with("./"), self.package.or(self.workspace)) {
            (true, Some(root)) => root.join(command).to_string_lossy().into_owned(),
            _ => command,
        }
    }
}

/// Splits a placeholder into its name without the `env:` prefix and its default value.
fn split_default(name: &str) -> (&str, Option<&str>) {
    let name = name.strip_prefix("env:").unwrap_or(name);
    match name.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (name, None),
    }
}

enum TemplatePiece<'a> {
    Text(&'a str),
    Name(&'a str),
}

fn template_pieces(text: &str) -> impl Iterator<Item = TemplatePiece<'_>> {
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
            return Some(TemplatePiece::Name(name));
        }
        // The text does not begin with a placeholder, or only with an unterminated one.
        let end = rest
            .char_indices()
            .skip(1)
            .find(|(at, _)| rest.get(*at..).is_some_and(|rest| rest.starts_with("${")))
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(TemplatePiece::Text(piece))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced() {
        let environment = BTreeMap::from([("TOKEN".to_owned(), "t".to_owned())]);
        let names = PlaceholderValues {
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
            let resolved = names.resolve(text).map_err(|UnsetPlaceholder(name)| name);
            let resolved = resolved.as_deref().map_err(String::as_str);
            assert_eq!(resolved, expected, "{text}");
        }
    }
}
