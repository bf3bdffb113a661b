//! Agents that speak the Agent Client Protocol on standard input and output.
#![expect(dead_code, reason = "the bridge on top of it comes next")]

mod family;
mod lines;
mod process;
mod tail;

pub use process::AcpLaunch;
