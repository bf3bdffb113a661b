//! Syntaxes of customization files: JSON with comments, front matter, placeholders, matchers.

pub(crate) mod front_matter;
pub(crate) mod jsonc;
pub(crate) mod matcher;
pub(crate) mod placeholders;
