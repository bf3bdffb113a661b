//! What is reported about work: errors, usage, amounts of change.

use super::Meta;
use crate::wire::Wire;

/// An error that is part of the state.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ErrorInfo {
    /// A stable name for programs (ERR-7).
    pub error_type: String,
    /// A sentence for people.
    pub message: String,
    /// A stack trace, if there is one to show.
    pub stack: Option<String>,
    /// Free data.
    pub meta: Option<Meta>,
}

impl ErrorInfo {
    /// An error of a kind, in words.
    pub fn new(kind: &str, message: impl Into<String>) -> Self {
        ErrorInfo {
            error_type: kind.to_owned(),
            message: message.into(),
            stack: None,
            meta: None,
        }
    }
}

/// What a turn, or a run, cost.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct UsageInfo {
    /// Tokens read.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// The model that was used.
    pub model: Option<String>,
    /// Tokens that came from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// How much was changed in files.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesSummary {
    /// Lines added.
    pub additions: Option<u64>,
    /// Lines removed.
    pub deletions: Option<u64>,
    /// Files touched.
    pub files: Option<u64>,
}
