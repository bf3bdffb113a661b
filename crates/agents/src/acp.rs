//! Agents that speak the Agent Client Protocol on standard input and output.
//!
//! From the outside in: `agent` is what the host sees, `bridge` works for one
//! session of the host, `live` is the agent that runs for it, `wire` the
//! connection, `process` and `lines` the program and its pipes. What becomes of
//! what agents send is decided by `mapper` and the files it uses, which touch
//! nothing else.

mod agent;
mod asking;
mod bridge;
mod chat;
mod content;
mod family;
mod lines;
mod live;
mod mapper;
mod options;
mod process;
mod prompt;
mod questions;
mod tail;
mod told;
mod tools;
mod wire;

pub use agent::AcpAgent;
pub use process::AcpLaunch;
