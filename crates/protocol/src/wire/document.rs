//! A parsed message: the text and a flat list of its tokens.
//!
//! The list is in document order, and each token knows where its successor on
//! the same level stands. Looking up a field, or skipping what nobody asked
//! for, costs one step per sibling and no allocation.

use std::fmt;

use super::error::ParseError;
use super::node::Node;
use super::parse;

/// How much a peer may send in one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest text, in bytes. Offsets are 32 bits wide, so no more than
    /// 4 GiB - 1 is ever accepted.
    pub bytes: usize,
    /// Deepest nesting of arrays and objects; at most [`Limits::MAX_DEPTH`]
    /// takes effect.
    pub depth: usize,
    /// Most values, keys included. Small values take far more memory than
    /// text, so bytes alone are no bound.
    pub values: usize,
}

impl Limits {
    /// Values are read by recursion, so depth has a ceiling of its own.
    pub const MAX_DEPTH: usize = 128;

    /// What a peer may send to a host: also the default.
    pub const MESSAGE: Limits = Limits {
        bytes: 16 * 1024 * 1024,
        depth: 64,
        values: 1_000_000,
    };

    /// What a host may send to its clients: whole states. What it accepted at
    /// the depth of a message stands a little deeper in a state, and must
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

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Null,
    True,
    False,
    Number,
    /// A string that stands in the text as it is.
    Plain,
    /// A string with escape sequences.
    Escaped,
    Array,
    Object,
}

/// One value, or one key, of the document.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonToken {
    pub(super) kind: TokenKind,
    /// Where the value starts; inside the quotes for a string.
    pub(super) start: u32,
    /// Where it ends, exclusive; inside the quotes for a string.
    pub(super) end: u32,
    /// The token that follows this one and everything in it.
    pub(super) next: u32,
}

/// A text that was found to be one JSON value within the limits.
pub struct Document<'t> {
    pub(super) text: &'t str,
    pub(super) tokens: Vec<JsonToken>,
}

/// Shows how much, not what: it may be anything.
impl fmt::Debug for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, values) = (self.text.len(), self.tokens.len());
        write!(f, "Document({bytes} bytes, {values} values)")
    }
}

impl<'t> Document<'t> {
    /// Checks that `text` is exactly one JSON value, and no larger or deeper
    /// than allowed.
    pub fn parse(text: &'t str, limits: Limits) -> Result<Self, ParseError> {
        let tokens = parse::tokenize(text, limits)?;
        Ok(Document { text, tokens })
    }

    /// The value that the text holds.
    pub fn root(&self) -> Node<'_> {
        Node::new(self, 0)
    }
}
