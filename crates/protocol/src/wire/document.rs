//! A parsed message: the text and a flat list of its tokens.
//!
//! The list is in document order, and each token has the index of its next sibling. Finding a
//! field or skipping an unused value costs one step per sibling and no allocation.

use std::fmt;

use super::error::ParseError;
use super::node::Node;
use super::parse;

/// Limits for the size of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum length of the text, in bytes. Offsets are 32 bits wide, so the effective maximum
    /// is 4 GiB - 1.
    pub bytes: usize,
    /// Maximum nesting of arrays and objects; the effective maximum is [`Limits::MAX_DEPTH`].
    pub depth: usize,
    /// Maximum number of values, including keys. Small values need much more memory than their
    /// text, so a limit on bytes is not sufficient.
    pub values: usize,
}

impl Limits {
    /// Upper bound for `depth`: decoding is recursive, so this bounds the stack.
    pub const MAX_DEPTH: usize = 128;

    /// Limits for messages from a client to the host; also the default.
    pub const MESSAGE: Limits = Limits {
        bytes: 16 * 1024 * 1024,
        depth: 64,
        values: 1_000_000,
    };

    /// Limits for messages from the host to a client, which contain whole states. A value that
    /// was accepted at the maximum depth of a message is nested deeper in a state, and must
    /// still be readable there.
    pub const STATE: Limits = Limits {
        bytes: 1024 * 1024 * 1024,
        depth: Limits::MAX_DEPTH,
        values: 64_000_000,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Limits::MESSAGE
    }
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Null,
    True,
    False,
    Number,
    /// A string without escape sequences.
    Plain,
    /// A string with escape sequences.
    Escaped,
    Array,
    Object,
}

/// A value or key of the document.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonToken {
    pub(super) kind: TokenKind,
    /// Start of the value; inside of the quotes for a string.
    pub(super) start: u32,
    /// End of the value, exclusive; inside of the quotes for a string.
    pub(super) end: u32,
    /// Index of the token after this one and its descendants.
    pub(super) next: u32,
}

/// A text that is one JSON value within the limits.
pub struct Document<'t> {
    pub(super) text: &'t str,
    pub(super) tokens: Vec<JsonToken>,
}

/// Prints only the size, because the content can be confidential.
impl fmt::Debug for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, values) = (self.text.len(), self.tokens.len());
        write!(f, "Document({bytes} bytes, {values} values)")
    }
}

impl<'t> Document<'t> {
    /// Checks that `text` is exactly one JSON value within the limits.
    pub fn parse(text: &'t str, limits: Limits) -> Result<Self, ParseError> {
        let tokens = parse::tokenize(text, limits)?;
        Ok(Document { text, tokens })
    }

    /// Returns the top-level value.
    pub fn root(&self) -> Node<'_> {
        Node::new(self, 0)
    }
}
