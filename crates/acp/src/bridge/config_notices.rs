//! What becomes of choices that can't be.
//!
//! There is no action that would say something about a session alone, so what
//! has to be said is said in a turn: in one that runs, or in the next.

use std::collections::BTreeSet;

use agenthost_core::agent::{AgentEvent, ForbiddenValue};
use agenthost_protocol::wire::Object;

use super::{AcpError, MappedEvent, PromptState, SessionBridge, TurnEvent};

/// Most remarks that wait. More than that nobody reads.
const MAX_QUEUED_NOTICES: usize = 20;

/// What has to be said about choices.
#[derive(Debug, Default)]
pub(super) struct ConfigNotices {
    queued: Vec<String>,
    /// Choices of the agent's own that were remarked on.
    reported: BTreeSet<(String, String)>,
    /// What the host was told that nobody may choose.
    forbidden_sent: Vec<ForbiddenValue>,
}

impl ConfigNotices {
    /// Somebody chose what nobody may choose.
    pub(super) fn add_forbidden(&mut self, removed: &[ForbiddenValue]) {
        for one in removed {
            self.queue_notice(format!("{} was not changed: {}", one.key, one.reason));
        }
    }

    /// The agent did not take a choice.
    pub(super) fn add_rejected(&mut self, key: &str, reason: &str) {
        self.queue_notice(format!(
            "{key} was not changed, the agent refused: {reason}"
        ));
    }

    /// The agent is configured like this. What nobody may choose, it may have
    /// chosen by itself; that can't be helped, but it is said, once.
    pub(super) fn check_values(&mut self, forbidden: &[ForbiddenValue], values: &Object) {
        let chosen = |one: &&ForbiddenValue| values.get(&one.key) == Some(&one.value);
        let chosen: Vec<_> = forbidden.iter().filter(chosen).collect();
        let place = |one: &ForbiddenValue| (one.key.clone(), one.value.to_string());
        let still: BTreeSet<_> = chosen.iter().map(|one| place(one)).collect();
        for one in chosen {
            if !self.reported.contains(&place(one)) {
                let (key, value) = place(one);
                self.queue_notice(format!(
                    "The agent has {key} set to {value} by itself: it does everything without asking."
                ));
            }
        }
        self.reported = still;
    }

    /// What nobody may choose, if the host was not told so yet.
    pub(super) fn forbidden_change(&mut self, values: Vec<ForbiddenValue>) -> Option<AgentEvent> {
        if self.forbidden_sent == values {
            return None;
        }
        self.forbidden_sent.clone_from(&values);
        Some(AgentEvent::ForbiddenValuesChanged { values })
    }

    fn queue_notice(&mut self, notice: String) {
        if self.queued.len() < MAX_QUEUED_NOTICES && !self.queued.contains(&notice) {
            self.queued.push(notice);
        }
    }
}

impl SessionBridge {
    /// Says what has to be said, if there is a turn that it can be said in.
    pub(crate) async fn emit_notices(&mut self) -> Result<(), AcpError> {
        if self.notices.queued.is_empty() {
            return Ok(());
        }
        let running = self.chats.iter().find(|(_, chat)| {
            let turn = chat.turn.as_ref();
            turn.is_some_and(|turn| turn.prompt_state == PromptState::Sent)
        });
        let Some(address) = running.map(|(address, _)| address.clone()) else {
            return Ok(());
        };
        let queued = std::mem::take(&mut self.notices.queued);
        let notices = queued.into_iter().map(|remark| {
            let notice = TurnEvent::Notice(remark.into());
            MappedEvent::Turn(notice)
        });
        let notices = notices.collect();
        Box::pin(self.emit(Some(&address), notices)).await
    }
}
