//! Drawing: safe text, wrapped lines, and the areas of a frame.

pub(crate) mod ansi;
pub(crate) mod canvas;
pub(crate) mod code;
pub(crate) mod edit_diff;
pub(crate) mod markdown;
pub(crate) mod text;
pub(crate) mod theme;
pub(crate) mod wrap;
