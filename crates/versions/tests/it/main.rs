//! The steps between versions, one file for each.

mod older;
mod seeds;
mod v0_1;
mod v0_2;
mod v0_3;
mod v0_9;
mod worlds;
