//! Notices about rejected and forbidden configuration values.
//!
//! AHP has no action for a notice of a session, so the bridge adds notices to a turn: to a
//! running one, or else to the next one.

use std::collections::BTreeSet;

use agenthost_core::agent::{AgentEvent, ForbiddenValue};
use agenthost_protocol::wire::Object;

use super::{AcpError, MappedEvent, PromptState, SessionBridge, TurnEvent};

/// The maximum number of queued notices. Users do not read more of them.
const MAX_QUEUED_NOTICES: usize = 20;

/// Notices about configuration values that wait for a turn.
#[derive(Debug, Default)]
pub(super) struct ConfigNotices {
    queued: Vec<String>,
    /// Forbidden values that the agent has set itself and that were already reported.
    reported: BTreeSet<(String, String)>,
    /// The forbidden values that were last sent to the host.
    forbidden_sent: Vec<ForbiddenValue>,
}

impl ConfigNotices {
    /// Queues a notice for each forbidden value that was removed from a request.
    pub(super) fn add_forbidden(&mut self, removed: &[ForbiddenValue]) {
        for value in removed {
            self.queue_notice(format!("{} was not changed: {}", value.key, value.reason));
        }
    }

    /// Queues a notice about a value that the agent rejected.
    pub(super) fn add_rejected(&mut self, key: &str, reason: &str) {
        self.queue_notice(format!(
            "{key} was not changed, the agent rejected the value: {reason}"
        ));
    }

    /// Queues a notice for each forbidden value that the agent has set itself. The host can't
    /// prevent this. Each value is reported once for as long as it stays set.
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
                    "The agent itself set {key} to {value}: it does everything without asking."
                ));
            }
        }
        self.reported = still_chosen;
    }

    /// Stores the forbidden values. Returns the event for the host, or `None` if they did not
    /// change.
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
    /// Sends the queued notices to the host as part of a running turn, if there is one.
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
