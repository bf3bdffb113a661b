//! Positions, ranges and selections in a text.

use crate::wire::Wire;

/// A position in a text; both fields are zero-based.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub struct TextPosition {
    /// Zero-based number of the line.
    pub line: u64,
    /// Zero-based offset of the character in the line.
    pub character: u64,
}

/// A range of text between two positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub struct TextRange {
    /// Start of the range.
    pub start: TextPosition,
    /// End of the range.
    pub end: TextPosition,
}

/// A selection in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub struct TextSelection {
    /// Range of the selected text.
    pub range: TextRange,
}
