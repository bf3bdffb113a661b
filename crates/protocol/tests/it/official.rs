//! The official crates, `ahp-types` and `ahp`, as oracles.

mod differences;
mod pairs;
mod probe;
mod sequences;
mod values;
