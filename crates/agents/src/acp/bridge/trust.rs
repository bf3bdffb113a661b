//! What becomes of choices that can't be.
//!
//! There is no action that would say something about a session alone, so what
//! has to be said is said in a turn: in one that runs, or in the next.

use std::collections::BTreeSet;

use agenthost_core::agent::{AgentEvent, ForbiddenValue};
use agenthost_protocol::wire::Object;

use super::{Bridge, Prompted, Told, TurnEvent};

/// Most remarks that wait. More than that nobody reads.
const WAITING: usize = 20;

/// What has to be said about choices.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    waiting: Vec<String>,
    /// Choices of the agent's own that were remarked on.
    known: BTreeSet<(String, String)>,
    /// What the host was told that nobody may choose.
    told: Vec<ForbiddenValue>,
}

impl Remarks {
    /// Somebody chose what nobody may choose.
    pub(super) fn refused(&mut self, withheld: &[ForbiddenValue]) {
        for one in withheld {
            self.add(format!("{} was not changed: {}", one.key, one.reason));
        }
    }

    /// The agent did not take a choice.
    pub(super) fn not_taken(&mut self, key: &str, reason: &str) {
        self.add(format!(
            "{key} was not changed, the agent refused: {reason}"
        ));
    }

    /// The agent is configured like this. What nobody may choose, it may have
    /// chosen by itself; that can't be helped, but it is said, once.
    pub(super) fn look(&mut self, forbidden: &[ForbiddenValue], values: &Object) {
        let chosen = |one: &&ForbiddenValue| values.get(&one.key) == Some(&one.value);
        let chosen: Vec<_> = forbidden.iter().filter(chosen).collect();
        let place = |one: &ForbiddenValue| (one.key.clone(), one.value.to_string());
        let still: BTreeSet<_> = chosen.iter().map(|one| place(one)).collect();
        for one in chosen {
            if !self.known.contains(&place(one)) {
                let (key, value) = place(one);
                self.add(format!(
                    "The agent has {key} set to {value} by itself: it does everything without asking."
                ));
            }
        }
        self.known = still;
    }

    /// What nobody may choose, if the host was not told so yet.
    pub(super) fn news(&mut self, values: Vec<ForbiddenValue>) -> Option<AgentEvent> {
        if self.told == values {
            return None;
        }
        self.told.clone_from(&values);
        Some(AgentEvent::Forbids { values })
    }

    fn add(&mut self, remark: String) {
        if self.waiting.len() < WAITING && !self.waiting.contains(&remark) {
            self.waiting.push(remark);
        }
    }
}

impl Bridge {
    /// Says what has to be said, if there is a turn that it can be said in.
    pub(super) async fn make_remarks(&mut self) -> Result<(), String> {
        if self.remarks.waiting.is_empty() {
            return Ok(());
        }
        let running = self.chats.iter().find(|(_, chat)| {
            let turn = chat.turn.as_ref();
            turn.is_some_and(|turn| turn.prompted == Prompted::Yes)
        });
        let Some(address) = running.map(|(address, _)| address.clone()) else {
            return Ok(());
        };
        let remarks = std::mem::take(&mut self.remarks.waiting);
        let notices = remarks.into_iter().map(|remark| {
            let notice = TurnEvent::Notice(remark.into());
            Told::Turn(notice)
        });
        let notices = notices.collect();
        Box::pin(self.tell(Some(&address), notices)).await
    }
}
