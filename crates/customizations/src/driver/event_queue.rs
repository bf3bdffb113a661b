//! Events that wait until the host takes them.
//!
//! The queue is bounded by the number of containers, open queries, and turns and tool calls that
//! wait: a later event replaces an earlier one about the same thing.

use std::collections::VecDeque;

use agenthost_core::customization::driver::CustomizationEvent;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;

/// Queued events in the order of delivery.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    events: VecDeque<(Uri, CustomizationEvent)>,
}

impl EventQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn pop(&mut self) -> Option<(Uri, CustomizationEvent)> {
        self.events.pop_front()
    }

    /// Adds an event and removes the ones that it supersedes.
    pub(super) fn push(&mut self, session: &Uri, event: CustomizationEvent) {
        // The host must receive the hook phases before a `TurnPrepared` that may already be
        // queued, so the new phases take the position of the queued ones.
        let hooks = |event: &CustomizationEvent| {
            matches!(event, CustomizationEvent::ToolHooksChanged { .. })
        };
        let mut waiting = self.events.iter_mut();
        let earlier = waiting.find(|(of, earlier)| of == session && hooks(earlier));
        if let Some((_, earlier)) = earlier.filter(|_| hooks(&event)) {
            *earlier = event;
            return;
        }
        self.events
            .retain(|(of, earlier)| of != session || !supersedes(&event, earlier));
        self.events.push_back((session.clone(), event));
    }

    /// Removes the events of a session that is no longer tracked.
    pub(super) fn remove_session(&mut self, session: &Uri) {
        self.events.retain(|(of, _)| of != session);
    }
}

/// Returns `true` if an event makes an earlier event of the same session redundant.
fn supersedes(event: &CustomizationEvent, earlier: &CustomizationEvent) -> bool {
    use CustomizationEvent::{
        CommandsChanged, CustomizationRemoved, CustomizationUpdated, CustomizationsFound,
        ResourceRequested, ToolChecked, ToolHooksChanged, TurnPrepared,
    };
    match (event, earlier) {
        (
            CustomizationsFound { .. },
            CustomizationsFound { .. } | CustomizationUpdated(_) | CustomizationRemoved(_),
        ) => true,
        (
            CustomizationUpdated(_) | CustomizationRemoved(_),
            CustomizationUpdated(_) | CustomizationRemoved(_),
        ) => subject_id(event) == subject_id(earlier),
        (CommandsChanged { .. }, CommandsChanged { .. }) => true,
        (
            CustomizationsFound { .. }
            | CustomizationUpdated(_)
            | CustomizationRemoved(_)
            | ResourceRequested { .. }
            | CommandsChanged { .. }
            | TurnPrepared { .. }
            | ToolHooksChanged { .. }
            | ToolChecked { .. },
            _,
        ) => false,
    }
}

fn subject_id(event: &CustomizationEvent) -> Option<&CustomizationId> {
    match event {
        CustomizationEvent::CustomizationUpdated(customization) => customization.id(),
        CustomizationEvent::CustomizationRemoved(id) => Some(id),
        CustomizationEvent::CustomizationsFound { .. }
        | CustomizationEvent::ResourceRequested { .. }
        | CustomizationEvent::CommandsChanged { .. }
        | CustomizationEvent::TurnPrepared { .. }
        | CustomizationEvent::ToolHooksChanged { .. }
        | CustomizationEvent::ToolChecked { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_event_replaces_an_earlier_one() {
        let session = Uri::from("s");
        let gone = |id: &str| CustomizationEvent::CustomizationRemoved(CustomizationId::from(id));
        let mut outbox = EventQueue::default();
        outbox.push(&session, gone("a"));
        outbox.push(&session, gone("b"));
        outbox.push(&session, gone("a"));
        outbox.push(&Uri::from("t"), gone("a"));
        assert_eq!(outbox.events.len(), 3);
        outbox.push(
            &session,
            CustomizationEvent::CustomizationsFound { all: Vec::new() },
        );
        assert_eq!(outbox.events.len(), 2);
        outbox.remove_session(&session);
        assert_eq!(outbox.events.len(), 1);
    }
}
