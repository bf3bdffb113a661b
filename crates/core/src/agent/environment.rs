//! Environment variables of the terminal that a session was created from.
//!
//! The agent of the session and the commands of its turns get them. Values may be private, so
//! they are in no state: only the store has them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use agenthost_protocol::common::Meta;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::host::effect::{Effects, StoreWrite};
use crate::host::error::RequestFailure;
use crate::host::input::ConnectionId;
use crate::policy::scope::AccessScope;

/// The key of the variables in the `_meta` of `createSession`.
pub const ENVIRONMENT_META_KEY: &str = "agenthost.environment";

/// Limit for the number of variables.
pub const MAX_ENVIRONMENT_VARIABLES: usize = 100;

/// Limit for the length of all names and values. `PATH` alone may have several kilobytes.
pub const MAX_ENVIRONMENT_BYTES: usize = 64 * 1024;

/// Variables with this prefix mark the processes of the host, which ends them by it.
const RESERVED_PREFIX: &str = "AGENTHOST_";

/// Environment variables of a session.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionEnvironment(Arc<BTreeMap<String, String>>);

/// Prints only the names, because values may be secret.
impl fmt::Debug for SessionEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The reason why variables are refused. It never contains a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEnvironment {
    /// A name can't be the name of a variable, or is reserved.
    #[error("`{0}` can't be set")]
    Name(String),
    /// A value is not a string, or contains a NUL.
    #[error("the value of `{0}` is not a string without NUL")]
    Value(String),
    /// There are too many variables.
    #[error("there are more than {MAX_ENVIRONMENT_VARIABLES} variables")]
    TooMany,
    /// The variables are too long.
    #[error("the variables have more than {MAX_ENVIRONMENT_BYTES} bytes")]
    TooLong,
    /// The value of the key is no object.
    #[error("expected an object with names and values")]
    NotAnObject,
}

impl SessionEnvironment {
    /// Creates the environment from names and values within the limits.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded or a name is not allowed.
    pub fn new(
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, InvalidEnvironment> {
        let mut checked = BTreeMap::new();
        let mut bytes = 0;
        for (name, value) in variables {
            bytes += name.len() + value.len();
            if bytes > MAX_ENVIRONMENT_BYTES {
                return Err(InvalidEnvironment::TooLong);
            }
            if !is_allowed_name(&name) {
                return Err(InvalidEnvironment::Name(name.chars().take(60).collect()));
            }
            if value.contains('\0') {
                return Err(InvalidEnvironment::Value(name));
            }
            checked.insert(name, value);
            if checked.len() > MAX_ENVIRONMENT_VARIABLES {
                return Err(InvalidEnvironment::TooMany);
            }
        }
        Ok(SessionEnvironment(Arc::new(checked)))
    }

    /// Returns the names and values, sorted by name.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let variables = self.0.iter();
        variables.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns `true` if there are no variables.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn parse(json: &Json) -> Result<Self, InvalidEnvironment> {
        let Some(object) = json.as_object() else {
            return Err(InvalidEnvironment::NotAnObject);
        };
        if object.len() > MAX_ENVIRONMENT_VARIABLES {
            return Err(InvalidEnvironment::TooMany);
        }
        let mut variables = Vec::new();
        for (name, value) in object {
            let Some(value) = value.as_str() else {
                let name = name.chars().take(60).collect();
                return Err(InvalidEnvironment::Value(name));
            };
            variables.push((name.clone(), value.to_owned()));
        }
        Self::new(variables)
    }
}

impl Host {
    /// Returns the variables in the `_meta` of `createSession`. They decide which programs run,
    /// so the client needs the right to run programs.
    pub(crate) fn requested_environment(
        &self,
        connection: ConnectionId,
        meta: Option<&Meta>,
    ) -> Result<Option<SessionEnvironment>, RequestFailure> {
        let Some(json) = meta.and_then(|meta| meta.get(ENVIRONMENT_META_KEY)) else {
            return Ok(None);
        };
        self.check_scope(connection, ENVIRONMENT_META_KEY, AccessScope::Terminal)
            .map_err(RequestFailure::OutOfScope)?;
        let environment = SessionEnvironment::parse(json).map_err(|problem| {
            RequestFailure::InvalidParams(format!("_meta.{ENVIRONMENT_META_KEY}: {problem}"))
        })?;
        Ok(Some(environment))
    }

    /// Stores the variables of a new session, or those of the session that it was copied from.
    pub(crate) fn store_environment(
        &self,
        session: &Uri,
        environment: Option<SessionEnvironment>,
        source: Option<&Uri>,
        out: &mut Effects,
    ) {
        match (environment, source) {
            (Some(environment), _) => out.write(StoreWrite::SessionEnvironment {
                session: session.clone(),
                environment,
            }),
            (None, Some(source)) => out.write(StoreWrite::SessionEnvironmentCopied {
                from: source.clone(),
                to: session.clone(),
            }),
            (None, None) => {}
        }
    }
}

/// Returns `true` for a name that POSIX allows and that the host does not use itself.
fn is_allowed_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_well && name.chars().all(is_plain) && !name.starts_with(RESERVED_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(variables: &[(&str, &str)]) -> String {
        let variables = variables.iter();
        let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        SessionEnvironment::new(variables).unwrap_err().to_string()
    }

    #[test]
    fn names_and_sizes_are_bounded_and_values_are_not_shown() {
        assert_eq!(error_of(&[("A=B", "secret")]), "`A=B` can't be set");
        assert_eq!(error_of(&[("", "secret")]), "`` can't be set");
        assert_eq!(
            error_of(&[("AGENTHOST_MARKER", "x")]),
            "`AGENTHOST_MARKER` can't be set"
        );
        assert_eq!(
            error_of(&[("A", "sec\0ret")]),
            "the value of `A` is not a string without NUL"
        );
        let long = "x".repeat(MAX_ENVIRONMENT_BYTES);
        assert_eq!(
            error_of(&[("A", &long)]),
            "the variables have more than 65536 bytes"
        );
        let environment = SessionEnvironment::new([("A".to_owned(), "secret".to_owned())]);
        assert_eq!(format!("{:?}", environment.unwrap()), r#"{"A"}"#);
    }
}
