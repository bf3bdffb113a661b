//! Tests of the rules of the workspace; the library is empty.
//!
//! **What it does.** `tests/tidy` checks layers between crates, names, prose, links and sizes, on
//! the source text.
//!
//! **What it never does.** It depends on no crate that it checks, so that a change of those does
//! not build it again.
//!
//! **Where to start.** `tests/tidy/main.rs`, then the module of a rule.
