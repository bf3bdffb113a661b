//! The connection itself: handshake, subscriptions, dispatch.

mod initialize;
mod subscribe;

pub use initialize::*;
pub use subscribe::*;
