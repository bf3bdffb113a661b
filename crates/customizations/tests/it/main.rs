//! The tests of customizations.

mod mcp;
