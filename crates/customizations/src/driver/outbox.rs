//! What is to be told, until somebody takes it.
//!
//! It never has more in it than there are containers, open questions, and turns
//! and tools that wait: what is told twice about one thing is told once.

use std::collections::VecDeque;

use agenthost_core::customizing::CustomizationEvent;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;

/// What is to be told, in order.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<(Uri, CustomizationEvent)>,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn take(&mut self) -> Option<(Uri, CustomizationEvent)> {
        self.waiting.pop_front()
    }

    /// Adds something, in place of what it makes void.
    pub(super) fn add(&mut self, session: &Uri, event: CustomizationEvent) {
        // It has to be known before the turn that may be told of by now.
        let hooks =
            |event: &CustomizationEvent| matches!(event, CustomizationEvent::ToolHooks { .. });
        let mut waiting = self.waiting.iter_mut();
        let earlier = waiting.find(|(of, earlier)| of == session && hooks(earlier));
        if let Some((_, earlier)) = earlier.filter(|_| hooks(&event)) {
            *earlier = event;
            return;
        }
        self.waiting
            .retain(|(of, earlier)| of != session || !voids(&event, earlier));
        self.waiting.push_back((session.clone(), event));
    }

    /// Nobody wants to know about a session any more.
    pub(super) fn forget(&mut self, session: &Uri) {
        self.waiting.retain(|(of, _)| of != session);
    }
}

/// Whether something says all that something earlier said.
fn voids(event: &CustomizationEvent, earlier: &CustomizationEvent) -> bool {
    use CustomizationEvent::{
        Commands, Found, Gone, Prepared, ToolChecked, ToolHooks, Updated, Wanted,
    };
    match (event, earlier) {
        (Found { .. }, Found { .. } | Updated(_) | Gone(_)) => true,
        (Updated(_) | Gone(_), Updated(_) | Gone(_)) => about(event) == about(earlier),
        (Commands { .. }, Commands { .. }) => true,
        (
            Found { .. }
            | Updated(_)
            | Gone(_)
            | Wanted { .. }
            | Commands { .. }
            | Prepared { .. }
            | ToolHooks { .. }
            | ToolChecked { .. },
            _,
        ) => false,
    }
}

fn about(event: &CustomizationEvent) -> Option<&CustomizationId> {
    match event {
        CustomizationEvent::Updated(customization) => customization.id(),
        CustomizationEvent::Gone(id) => Some(id),
        CustomizationEvent::Found { .. }
        | CustomizationEvent::Wanted { .. }
        | CustomizationEvent::Commands { .. }
        | CustomizationEvent::Prepared { .. }
        | CustomizationEvent::ToolHooks { .. }
        | CustomizationEvent::ToolChecked { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_twice_is_told_once() {
        let session = Uri::from("s");
        let gone = |id: &str| CustomizationEvent::Gone(CustomizationId::from(id));
        let mut outbox = Outbox::default();
        outbox.add(&session, gone("a"));
        outbox.add(&session, gone("b"));
        outbox.add(&session, gone("a"));
        outbox.add(&Uri::from("t"), gone("a"));
        assert_eq!(outbox.waiting.len(), 3);
        outbox.add(&session, CustomizationEvent::Found { all: Vec::new() });
        assert_eq!(outbox.waiting.len(), 2);
        outbox.forget(&session);
        assert_eq!(outbox.waiting.len(), 1);
    }
}
