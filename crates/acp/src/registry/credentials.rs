//! Detects without a prompt whether an agent was set up.
//!
//! Some agents open a session and refuse the first prompt, because they have no account, key or
//! provider. The table of known agents says where they look for one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Largest file that is searched for a text.
const MAX_SEARCHED_BYTES: u64 = 4 * 1024 * 1024;

/// The places in which an agent finds its credentials or its provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialPlaces {
    /// Environment variables, one of which is enough.
    #[serde(default)]
    pub variables: Vec<String>,
    /// Files, one of which is enough.
    #[serde(default)]
    pub files: Vec<CredentialFile>,
}

/// A file that an agent writes when it is set up.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialFile {
    /// The path, which begins with `~/` or with `$NAME/` for a folder in a variable.
    pub path: String,
    /// A text that the file contains when the agent is set up.
    pub contains: Option<String>,
}

impl CredentialPlaces {
    /// Returns `true` if one of the places has something. `environment` is that of the agent.
    pub(crate) fn is_one_present(&self, environment: &[(OsString, OsString)]) -> bool {
        let value = |name: &str| {
            let mut named = environment.iter().filter(|(other, _)| other == name);
            let value = named.next().map(|(_, value)| value.as_os_str());
            value.filter(|value| !value.is_empty())
        };
        let mut variables = self.variables.iter();
        variables.any(|name| value(name).is_some())
            || self.files.iter().any(|file| file.is_present(&value))
    }
}

impl CredentialFile {
    fn is_present<'a>(&self, value: &impl Fn(&str) -> Option<&'a OsStr>) -> bool {
        let Some(path) = self.expand(value) else {
            return false;
        };
        match &self.contains {
            None => path.is_file(),
            Some(text) => {
                let is_small = |path: &Path| {
                    let metadata = path.metadata();
                    metadata.is_ok_and(|file| file.is_file() && file.len() <= MAX_SEARCHED_BYTES)
                };
                // A file that can't be read is no sign of credentials.
                is_small(&path)
                    && std::fs::read(&path)
                        .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
            }
        }
    }

    fn expand<'a>(&self, value: &impl Fn(&str) -> Option<&'a OsStr>) -> Option<PathBuf> {
        let (folder, rest) = self.path.split_once('/')?;
        let folder = match folder.strip_prefix('$') {
            Some(name) => value(name)?,
            None => value("HOME")?,
        };
        Some(Path::new(folder).join(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::known_agents;

    fn is_set_up(agent: &str, home: &Path, variables: &[(&str, &str)]) -> bool {
        let agent = known_agents().iter().find(|known| known.id == agent);
        let places = agent.unwrap().credentials.as_ref().unwrap();
        let mut environment = vec![("HOME".into(), home.into())];
        environment.extend(
            variables
                .iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value))),
        );
        places.is_one_present(&environment)
    }

    #[test]
    fn a_variable_or_a_file_is_enough() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        assert!(!is_set_up("claude", home, &[]));
        assert!(!is_set_up("claude", home, &[("ANTHROPIC_API_KEY", "")]));
        assert!(is_set_up("claude", home, &[("ANTHROPIC_API_KEY", "k")]));
        std::fs::write(home.join(".claude.json"), r#"{"numStartups": 1}"#).unwrap();
        assert!(!is_set_up("claude", home, &[]));
        std::fs::write(home.join(".claude.json"), r#"{"oauthAccount": {}}"#).unwrap();
        assert!(is_set_up("claude", home, &[]));
        assert!(!is_set_up("goose", home, &[]));
        let config = home.join(".config/goose/config.yaml");
        std::fs::create_dir_all(config.parent().unwrap()).unwrap();
        std::fs::write(&config, "extensions: {}\n").unwrap();
        assert!(!is_set_up("goose", home, &[]));
        std::fs::write(&config, "GOOSE_PROVIDER: ollama\n").unwrap();
        assert!(is_set_up("goose", home, &[]));
    }
}
