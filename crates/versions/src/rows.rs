//! What a host of an older release wrote down.
//!
//! A host keeps what happens in the words of the release that it speaks. A newer
//! one takes that up before it reads it, row by row.

use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Object;

use crate::chain::Chain;
use crate::document::name;
use crate::graph::{GRAPH, Order, Place};
use crate::step::Step;

/// What is known of a row beside what stands in it.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The session that its channel belongs to.
    pub session: Option<&'a Uri>,
    /// When it was written, or happened.
    pub at: Millis,
}

impl Chain {
    /// The oldest release whose rows can be read one by one. Before it an action
    /// of a session could change what is a chat's today.
    pub const OLDEST_ROWS: Release = Release::V0_5_0;

    /// Takes the state of a channel up.
    pub fn lift_state(&self, row: &Row<'_>, kind: ChannelKind, state: &mut Object) {
        self.lift(row, GRAPH.state(kind), state);
    }

    /// Takes a part up that goes by a name of 1.0 (`Turn` …) and is a row of its
    /// own.
    pub fn lift_part(&self, row: &Row<'_>, name: &str, part: &mut Object) {
        self.lift(row, GRAPH.named(name), part);
    }

    /// Takes an action up.
    pub fn lift_action(&self, row: &Row<'_>, action: &mut Object) {
        for step in self.steps.iter().rev() {
            step.lift_action(row, action);
            let place = GRAPH.action(name(action));
            lift_by(*step, row, place, action);
        }
    }

    fn lift(&self, row: &Row<'_>, place: Option<Place>, object: &mut Object) {
        for step in self.steps.iter().rev() {
            lift_by(*step, row, place, object);
        }
    }
}

fn lift_by(step: &dyn Step, row: &Row<'_>, place: Option<Place>, object: &mut Object) {
    let Some(place) = place else {
        return;
    };
    let mut visit = |name, part: &mut Object| step.lift(row, name, part);
    GRAPH.walk(place, object, Order::OutermostFirst, &mut visit);
}
