//! Errors of parsing and decoding, with their location.

use std::borrow::Cow;
use std::fmt;

use super::node::Node;

/// The error of text that is not one JSON value, or exceeds the limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text is not JSON.
    #[error("syntax error at byte {offset}: {what}")]
    Syntax {
        /// Byte offset of the error.
        offset: usize,
        /// Description of the expected syntax.
        what: &'static str,
    },
    /// The text is too long.
    #[error("message of {bytes} bytes is too large: at most {allowed} are allowed")]
    TooLarge {
        /// Length of the text in bytes.
        bytes: usize,
        /// Maximum length in bytes.
        allowed: usize,
    },
    /// The text has too many values.
    #[error("message has too many values: at most {allowed} are allowed")]
    TooMany {
        /// Maximum number of values.
        allowed: usize,
    },
    /// The text is nested too deeply.
    #[error("message is nested too deeply: at most {allowed} levels are allowed")]
    TooDeep {
        /// Maximum number of levels.
        allowed: usize,
    },
}

/// The error of JSON that does not have the expected type.
///
/// Displayed as `location: problem`. The message contains numbers. It quotes strings only where
/// a name is expected (a kind, a type, a key), truncated to a few words: any other string can
/// be a prompt or a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(Box<ErrorDetails>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct ErrorDetails {
    /// Segments from the innermost to the outermost, because callers extend the path while the
    /// error is returned.
    path: Vec<PathSegment>,
    problem: Cow<'static, str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathSegment {
    Field(&'static str),
    Key(String),
    Item(usize),
}

impl DecodeError {
    /// Creates an error from a description of the problem.
    pub fn new(problem: impl Into<Cow<'static, str>>) -> Self {
        DecodeError(Box::new(ErrorDetails {
            path: Vec::new(),
            problem: problem.into(),
        }))
    }

    /// Creates the error for a value of another type than `what`.
    pub fn expected(what: &str, found: Node<'_>) -> Self {
        Self::new(format!("expected {what}, found {}", found.describe()))
    }

    /// Creates the error for a missing required field.
    pub fn missing() -> Self {
        Self::new("missing")
    }

    /// Creates the error for a duplicate field.
    pub fn given_twice() -> Self {
        Self::new("given twice")
    }

    /// Creates the error for a string that is not one of the known values.
    pub fn not_one_of(found: &str, known: &[&str]) -> Self {
        let known: Vec<_> = known.iter().map(|value| format!("`{value}`")).collect();
        let found: String = found.chars().take(40).collect();
        Self::new(format!(
            "expected {}{}, found {found:?}",
            if known.len() > 1 { "one of " } else { "" },
            known.join(", "),
        ))
    }

    /// Prepends the name of the enclosing field to the location.
    #[must_use]
    pub fn within(mut self, field: &'static str) -> Self {
        self.0.path.push(PathSegment::Field(field));
        self
    }

    /// Prepends the key of the enclosing map to the location.
    #[must_use]
    pub fn within_key(mut self, key: &str) -> Self {
        let key = key.chars().take(40).collect();
        self.0.path.push(PathSegment::Key(key));
        self
    }

    /// Prepends the index in the enclosing array to the location.
    #[must_use]
    pub fn within_item(mut self, index: usize) -> Self {
        self.0.path.push(PathSegment::Item(index));
        self
    }
}

impl std::error::Error for DecodeError {}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.path.iter().rev().enumerate() {
            match segment {
                PathSegment::Field(name) if position == 0 => f.write_str(name)?,
                PathSegment::Field(name) => write!(f, ".{name}")?,
                PathSegment::Key(key) => write!(f, "[{key:?}]")?,
                PathSegment::Item(index) => write!(f, "[{index}]")?,
            }
        }
        if !self.0.path.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.0.problem)
    }
}
