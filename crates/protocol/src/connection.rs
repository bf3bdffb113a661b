//! The connection itself: handshake, subscriptions, resumption, dispatch.

mod initialize;
mod reconnect;
mod subscribe;

pub use initialize::*;
pub use reconnect::*;
pub use subscribe::*;
