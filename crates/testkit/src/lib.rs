//! What the tests of agenthost share.
//!
//! **What it does.** [`Generator`] makes JSON for any wire type, from the
//! shape that the type itself declares; [`json`] compares and varies JSON.
//!
//! **What it never does.** Nothing of it is part of the product: only
//! dev-dependencies may name this crate.
//!
//! **Where to start.** [`Generator::json`].

mod generator;
pub mod json;

pub use generator::{Generator, Options};
