//! Every published version of AHP.
//!
//! The host speaks 1.0. Between two neighbouring releases stands a *step*
//! ([`steps`](self)), which says on JSON how the older one puts what the newer
//! one means, and back. What goes to a client of 0.4 takes the steps
//! 1.0 → 0.9 → … → 0.4; what comes from it takes them up again. So does what a
//! host that spoke an older release wrote down ([`StoredRow`]).
//!
//! What it never does: keep state, look at a clock, or decide anything. A step
//! may look things up ([`StateSource`]), always in the words of 1.0, and always as
//! they were at the moment it translates for.
//!
//! Start reading at [`step`](self), the contract of a step; then `chain`,
//! which runs them; then any of `steps`. `graph` finds the parts of a
//! document that a step changes, wherever they are.

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
