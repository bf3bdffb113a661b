//! Translates between AHP 1.0 and every published legacy release.
//!
//! The host implements 1.0. Between two neighbouring releases there is a *version step*
//! ([`steps`](self)), which translates JSON from the later release to the earlier one
//! (downgrade) and back (upgrade). A message to a client of 0.4 passes the steps 1.0 → 0.9 → …
//! → 0.4; a message from that client passes them in the opposite order. Rows that a host of an
//! earlier release stored are upgraded in the same way ([`StoredRow`]).
//!
//! The crate never keeps state, reads a clock or makes policy decisions. A step may read states
//! of the host ([`StateSource`]), always in the 1.0 encoding and as of the time of the
//! translated message.
//!
//! Start reading at [`step`](self), the contract of a step; then `chain`, which runs the steps;
//! then any of `steps`. `graph` finds the parts of a document that a step changes, at any
//! depth.

#![deny(clippy::wildcard_enum_match_arm)]

mod chain;
mod document;
mod edit;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod graph;
mod history;
mod rows;
mod state_source;
mod step;
mod steps;

pub use chain::{TranslationError, VersionChain};
pub use document::{JsonCall, JsonDispatch, JsonEnvelope};
pub use history::answer_fetch_turns;
pub use rows::StoredRow;
pub use state_source::{StateSource, TargetClient, TranslationContext};
pub use step::UpgradeRefusal;
