//! Old turns, for versions that answer with them.

use agenthost_protocol::wire::{Json, Object};

use crate::chain::Chain;
use crate::step::Refused;
use crate::world::Moment;

/// The answer to `fetchTurns` up to 0.5.0.
pub fn turns(_chain: Chain, _at: &Moment<'_>, _params: &Object) -> Result<Json, Refused> {
    Err(Refused::Unknown("not yet".to_owned()))
}
