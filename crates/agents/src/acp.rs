//! Agents that speak the Agent Client Protocol on standard input and output.
#![expect(dead_code, reason = "the bridge on top of it comes next")]

mod content;
mod family;
mod lines;
mod mapper;
mod options;
mod process;
mod questions;
mod tail;
mod told;
mod tools;
mod wire;

pub use process::AcpLaunch;
