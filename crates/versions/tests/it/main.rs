//! The steps between versions, one file for each.

mod v0_9;
mod worlds;
