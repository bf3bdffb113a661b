//! Errors, token usage and counts of changes.

use super::Meta;
use crate::wire::Wire;

/// An error that is part of the state.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ErrorInfo {
    /// Stable, machine-readable error type (ERR-7).
    pub error_type: String,
    /// Human-readable message about the error.
    pub message: String,
    /// Stack trace, if available.
    pub stack: Option<String>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

impl ErrorInfo {
    /// Creates an error from a type and a message.
    pub fn new(kind: &str, message: impl Into<String>) -> Self {
        ErrorInfo {
            error_type: kind.to_owned(),
            message: message.into(),
            stack: None,
            meta: None,
        }
    }
}

/// Token usage of a turn or run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct UsageInfo {
    /// Number of input tokens.
    pub input_tokens: Option<u64>,
    /// Number of output tokens.
    pub output_tokens: Option<u64>,
    /// Model that was used.
    pub model: Option<String>,
    /// Number of input tokens that were read from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Counts of changed files and lines.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChangesSummary {
    /// Number of added lines.
    pub additions: Option<u64>,
    /// Number of removed lines.
    pub deletions: Option<u64>,
    /// Number of changed files.
    pub files: Option<u64>,
}
