//! The steps between versions, one file for each.

mod v0_6;
mod v0_7;
mod v0_8;
mod v0_9;
mod worlds;
