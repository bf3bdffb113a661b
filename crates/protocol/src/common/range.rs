//! Places in a text.

use crate::wire::Wire;

/// A place in a text, counted from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub struct TextPosition {
    /// The line.
    pub line: u64,
    /// The character in that line.
    pub character: u64,
}

/// A stretch of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub struct TextRange {
    /// Where it starts.
    pub start: TextPosition,
    /// Where it ends.
    pub end: TextPosition,
}

/// What is selected in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub struct TextSelection {
    /// The selected stretch.
    pub range: TextRange,
}
