//! What can be wrong with a message, and where.

use std::borrow::Cow;
use std::fmt;

use super::node::Node;

/// The text is not one JSON value, or beyond the limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Not JSON.
    #[error("syntax error at byte {offset}: {what}")]
    Syntax {
        /// Where reading stopped.
        offset: usize,
        /// What should have stood there.
        what: &'static str,
    },
    /// Longer than allowed.
    #[error("message of {bytes} bytes is too large: at most {allowed} are allowed")]
    TooLarge {
        /// Length of the text.
        bytes: usize,
        /// The limit in force.
        allowed: usize,
    },
    /// More values than allowed.
    #[error("message has too many values: at most {allowed} are allowed")]
    TooMany {
        /// The limit in force.
        allowed: usize,
    },
    /// Nested deeper than allowed.
    #[error("message is nested too deeply: at most {allowed} levels are allowed")]
    TooDeep {
        /// The limit in force.
        allowed: usize,
    },
}

/// The JSON is not the type that was asked for.
///
/// Reads as `place: what is wrong`. It shows numbers, and of strings only
/// those that stand where a name has to be (a kind, a type, a key), cut to a
/// few words: any other may be a prompt or a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(Box<ErrorDetails>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct ErrorDetails {
    /// From the inside out: the path is built while the error travels up.
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
    /// A problem in plain words.
    pub fn new(problem: impl Into<Cow<'static, str>>) -> Self {
        DecodeError(Box::new(ErrorDetails {
            path: Vec::new(),
            problem: problem.into(),
        }))
    }

    /// The value is of another kind than `what`.
    pub fn expected(what: &str, found: Node<'_>) -> Self {
        Self::new(format!("expected {what}, found {}", found.describe()))
    }

    /// A field that has to be there is not.
    pub fn missing() -> Self {
        Self::new("missing")
    }

    /// A field stands there twice.
    pub fn given_twice() -> Self {
        Self::new("given twice")
    }

    /// The string is none of the values that the protocol knows.
    pub fn not_one_of(found: &str, known: &[&str]) -> Self {
        let known: Vec<_> = known.iter().map(|value| format!("`{value}`")).collect();
        let found: String = found.chars().take(40).collect();
        Self::new(format!(
            "expected {}{}, found {found:?}",
            if known.len() > 1 { "one of " } else { "" },
            known.join(", "),
        ))
    }

    /// The same error, seen from the object that holds the field.
    #[must_use]
    pub fn within(mut self, field: &'static str) -> Self {
        self.0.path.push(PathSegment::Field(field));
        self
    }

    /// The same error, seen from the map that holds the key.
    #[must_use]
    pub fn within_key(mut self, key: &str) -> Self {
        let key = key.chars().take(40).collect();
        self.0.path.push(PathSegment::Key(key));
        self
    }

    /// The same error, seen from the array that holds the item.
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
