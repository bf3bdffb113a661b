//! 0.5.1 ↔ 0.5.0.

use agenthost_protocol::version::Release;

use crate::step;

pub(crate) struct Step;

impl step::Step for Step {
    fn older(&self) -> Release {
        Release::V0_5_0
    }
}
