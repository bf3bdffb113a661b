//! What a step may know of the world: the time, and something unique.

use agenthost_protocol::number::Millis;
use agenthost_protocol::timestamp::Timestamp;

/// The world at the moment of a step. Whoever calls `step` provides it, so a
/// test can replay any moment.
#[derive(Debug, Clone, Copy)]
pub struct Env {
    /// Milliseconds since 1970.
    pub now: Millis,
    /// A number that no other step gets.
    pub nonce: u128,
}

impl Env {
    /// The time as the wire writes it.
    pub fn timestamp(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    /// A name that nothing else has; `use_` tells several of one step apart.
    pub fn unique_id(&self, use_: &str) -> String {
        format!("{use_}-{:032x}", self.nonce)
    }
}
