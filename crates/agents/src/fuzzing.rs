//! The fuzz target of this crate.

pub use crate::acp::fuzzing::acp_lines;
