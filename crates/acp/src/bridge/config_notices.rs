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
        for value in removed {
            self.queue_notice(format!("{} was not changed: {}", value.key, value.reason));
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
        let is_chosen = |value: &&ForbiddenValue| values.get(&value.key) == Some(&value.value);
        let chosen_values: Vec<_> = forbidden.iter().filter(is_chosen).collect();
        let key_and_value = |value: &ForbiddenValue| (value.key.clone(), value.value.to_string());
        let still_chosen: BTreeSet<_> = chosen_values
            .iter()
            .map(|value| key_and_value(value))
            .collect();
        for value in chosen_values {
            if !self.reported.contains(&key_and_value(value)) {
                let (key, value) = key_and_value(value);
                self.queue_notice(format!(
                    "The agent has {key} set to {value} by itself: it does everything without asking."
                ));
            }
        }
        self.reported = still_chosen;
    }

    /// What nobody may choose, if the host was not told so yet.
    pub(super) fn replace_forbidden(&mut self, values: Vec<ForbiddenValue>) -> Option<AgentEvent> {
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
        let Some(chat_uri) = running.map(|(chat_uri, _)| chat_uri.clone()) else {
            return Ok(());
        };
        let queued = std::mem::take(&mut self.notices.queued);
        let notices = queued.into_iter().map(|text| {
            let notice = TurnEvent::Notice(text.into());
            MappedEvent::Turn(notice)
        });
        let notices = notices.collect();
        Box::pin(self.emit(Some(&chat_uri), notices)).await
    }
}
