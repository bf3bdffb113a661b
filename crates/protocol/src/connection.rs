//! Messages of the connection itself: handshake, subscriptions, reconnect, dispatch.

mod initialize;
mod reconnect;
mod subscribe;

pub use initialize::*;
pub use reconnect::*;
pub use subscribe::*;
