//! What a host of an older release wrote down.
//!
//! A host keeps what happens in the words of the release that it speaks. A newer
//! one takes that up before it reads it, row by row.

use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Object;

use crate::chain::VersionChain;
use crate::document::action_type;
use crate::graph::{NodeId, PART_GRAPH, WalkOrder};
use crate::step::VersionStep;

/// What is known of a row beside what stands in it.
#[derive(Debug, Clone, Copy)]
pub struct StoredRow<'a> {
    /// The session that its channel belongs to.
    pub session: Option<&'a Uri>,
    /// When it was written, or happened.
    pub written_at: Millis,
}

impl VersionChain {
    /// The oldest release whose rows can be read one by one. Before it an action
    /// of a session could change what is a chat's today.
    pub const OLDEST_ROWS: Release = Release::V0_5_0;

    /// Takes the state of a channel up.
    pub fn migrate_state(&self, row: &StoredRow<'_>, kind: ChannelKind, state: &mut Object) {
        self.migrate_object(row, PART_GRAPH.state_node(kind), state);
    }

    /// Takes a part up that goes by a name of 1.0 (`Turn` …) and is a row of its
    /// own.
    pub fn migrate_part(&self, row: &StoredRow<'_>, name: &str, part: &mut Object) {
        self.migrate_object(row, PART_GRAPH.named_node(name), part);
    }

    /// Takes an action up.
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
