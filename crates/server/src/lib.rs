//! The shell around the host: the loop, listeners, authentication, limits.
//!
//! **What it does.** [`serve`] opens the store, starts the loop that owns the
//! host, and listens. The loop takes inputs in batches, appends what they
//! changed to the log, and only then lets their effects out.
//!
//! **What it never does.** It decides nothing about the protocol: what a
//! client may do is the core's business. It never logs what people or agents
//! say.
//!
//! **Where to start.** `drive` is the loop; `socket` is a client's connection;
//! `gate` is who gets in.

mod config;
mod connection;
mod drive;
mod encode;
mod gate;
mod outbox;
mod serve;
mod socket;

pub use config::{ServerConfig, ServerLimits};
pub use serve::{ServeError, Server, serve};
