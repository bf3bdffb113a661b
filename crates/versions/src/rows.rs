//! Upgrades stored rows of earlier releases.
//!
//! A host stores actions and states in the encoding of the release that it implements. A later
//! host upgrades each row before it reads it.

use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Object;

use crate::chain::VersionChain;
use crate::document::action_type;
use crate::graph::{NodeId, PART_GRAPH, WalkOrder};
use crate::step::VersionStep;

/// The metadata of a stored row.
#[derive(Debug, Clone, Copy)]
pub struct StoredRow<'a> {
    /// Session that the channel of the row belongs to.
    pub session: Option<&'a Uri>,
    /// Time at which the row was written, or at which its event happened.
    pub written_at: Millis,
}

impl VersionChain {
    /// Earliest release whose rows can be upgraded one by one. In earlier releases an action on
    /// a session could change state that belongs to a chat today.
    pub const OLDEST_ROWS: Release = Release::V0_5_0;

    /// Upgrades the stored state of a channel.
    pub fn migrate_state(&self, row: &StoredRow<'_>, kind: ChannelKind, state: &mut Object) {
        self.migrate_object(row, PART_GRAPH.state_node(kind), state);
    }

    /// Upgrades a stored part with the given 1.0 type name (`Turn` …).
    pub fn migrate_part(&self, row: &StoredRow<'_>, name: &str, part: &mut Object) {
        self.migrate_object(row, PART_GRAPH.named_node(name), part);
    }

    /// Upgrades a stored action.
    pub fn migrate_action(&self, row: &StoredRow<'_>, action: &mut Object) {
        for step in self.steps.iter().rev() {
            step.migrate_action(row, action);
            let place = PART_GRAPH.action_node(action_type(action));
            migrate_by_step(*step, row, place, action);
        }
    }

    fn migrate_object(&self, row: &StoredRow<'_>, place: Option<NodeId>, object: &mut Object) {
        for step in self.steps.iter().rev() {
            migrate_by_step(*step, row, place, object);
        }
    }
}

fn migrate_by_step(
    step: &dyn VersionStep,
    row: &StoredRow<'_>,
    place: Option<NodeId>,
    object: &mut Object,
) {
    let Some(place) = place else {
        return;
    };
    let mut visit = |name, part: &mut Object| step.migrate_part(row, name, part);
    PART_GRAPH.walk(place, object, WalkOrder::OutermostFirst, &mut visit);
}
