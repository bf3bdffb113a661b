//! 0.2 ↔ 0.1.

use agenthost_protocol::version::Release;

use crate::step;

pub(crate) struct Step;

impl step::Step for Step {
    fn older(&self) -> Release {
        Release::V0_1
    }
}
