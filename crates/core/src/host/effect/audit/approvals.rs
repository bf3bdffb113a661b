//! Records decisions about tool calls: by users, by the configuration of a session, by hooks.

use agenthost_protocol::action::Action;
use agenthost_protocol::chat::{
    ChatAction, ToolCall, ToolCallConfirmed, ToolCallParameters, ToolCallTarget, ToolInput,
};
use agenthost_protocol::session::{CustomizationToggled, SessionAction, SessionConfigChanged};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Object};

use super::{
    AuditActor, AuditEntry, AuditKind, MAX_AUDIT_ITEMS, audit_details, audit_digest, audit_text,
};
use crate::host::Host;
use crate::host::effect::{Effects, StoreWrite};
use crate::host::input::ConnectionId;

/// The decision about a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuditDecision {
    Approved,
    Denied,
}

/// The entries of an action that is about to be committed. They describe the state before it.
pub(crate) type PendingEntries = Vec<AuditEntry>;

impl Host {
    /// Returns the entries for an action of a client. They are recorded if it is accepted.
    pub(crate) fn audit_entries(
        &self,
        connection: ConnectionId,
        channel: &Uri,
        action: &Action,
    ) -> PendingEntries {
        let actor = || self.audit_actor(connection);
        match action {
            Action::Chat(ChatAction::ToolCallConfirmed(confirmed)) => {
                let entry = self.confirmation_entry(channel, confirmed, actor());
                entry.into_iter().collect()
            }
            Action::Chat(ChatAction::ToolCallResultConfirmed(confirmed)) => {
                let decision = AuditDecision::of(confirmed.approved);
                let mut entry =
                    self.decision_entry(channel, &confirmed.target, decision, "user", actor());
                if let Some(entry) = &mut entry {
                    entry.kind = AuditKind::ToolResultDecided;
                }
                entry.into_iter().collect()
            }
            Action::Session(SessionAction::ConfigChanged(changed)) => {
                vec![self.config_entry(channel, changed, actor())]
            }
            Action::Session(SessionAction::CustomizationToggled(toggled)) => {
                vec![toggle_entry(channel, toggled, actor())]
            }
            Action::Root(action) => self.settings_entries(action, actor()),
            Action::Chat(_)
            | Action::Session(_)
            | Action::Terminal(_)
            | Action::Changeset(_)
            | Action::Annotations(_)
            | Action::ResourceWatch(_)
            | Action::Canvas(_)
            | Action::Automations(_)
            | Action::AutomationRun(_) => Vec::new(),
        }
    }

    /// Records a decision that no user has made.
    pub(crate) fn audit_decision(
        &self,
        chat: &Uri,
        target: &ToolCallTarget,
        decision: AuditDecision,
        rule: &str,
        out: &mut Effects,
    ) {
        let entry = self.decision_entry(chat, target, decision, rule, AuditActor::Host);
        out.write_audit(entry.into_iter().collect());
    }

    fn confirmation_entry(
        &self,
        chat: &Uri,
        confirmed: &ToolCallConfirmed,
        actor: AuditActor,
    ) -> Option<AuditEntry> {
        let decision = AuditDecision::of(confirmed.approved);
        let mut entry = self.decision_entry(chat, &confirmed.target, decision, "user", actor)?;
        if let Some(option) = &confirmed.selected_option_id {
            let option = Json::from(audit_text(option.as_str()));
            entry.details.insert("option".to_owned(), option);
        }
        if let Some(edited) = &confirmed.edited_tool_input {
            let digest = audit_digest(edited);
            entry.details.insert("editedInput".to_owned(), digest);
        }
        Some(entry)
    }

    fn decision_entry(
        &self,
        chat: &Uri,
        target: &ToolCallTarget,
        decision: AuditDecision,
        rule: &str,
        actor: AuditActor,
    ) -> Option<AuditEntry> {
        let call = self.active_call(chat, target)?;
        let head = call.head()?;
        let parameters = parameters_of(call);
        let input = parameters.and_then(|parameters| parameters.tool_input.as_ref());
        let title = if let ToolCall::PendingConfirmation(call) = call {
            call.question.confirmation_title.as_ref()
        } else {
            None
        };
        let text = |text: &str| Some(Json::from(audit_text(text)));
        let details = audit_details([
            ("decision", Some(Json::from(decision.name()))),
            ("rule", text(rule)),
            ("tool", text(&head.tool_name)),
            ("title", title.and_then(|title| text(title.as_str()))),
            ("input", input.map(digest_of_input)),
            ("chat", text(chat.as_str())),
            ("turn", text(target.turn_id.as_str())),
            ("call", text(target.tool_call_id.as_str())),
        ]);
        Some(AuditEntry {
            kind: AuditKind::ToolCallDecided,
            actor,
            session: self.session_of(chat).cloned(),
            details,
        })
    }

    fn config_entry(
        &self,
        session: &Uri,
        changed: &SessionConfigChanged,
        actor: AuditActor,
    ) -> AuditEntry {
        let keys = changed.config.iter().take(MAX_AUDIT_ITEMS);
        let values: Object = keys
            .map(|(key, value)| (audit_text(key), value_of_setting(value)))
            .collect();
        AuditEntry {
            kind: AuditKind::SessionConfigChanged,
            actor,
            session: Some(session.clone()),
            details: audit_details([("values", Some(Json::Object(values)))]),
        }
    }
}

impl AuditDecision {
    fn of(approved: bool) -> Self {
        match approved {
            true => AuditDecision::Approved,
            false => AuditDecision::Denied,
        }
    }

    fn name(self) -> &'static str {
        match self {
            AuditDecision::Approved => "approved",
            AuditDecision::Denied => "denied",
        }
    }
}

impl Effects {
    /// Records entries in the audit log.
    pub(crate) fn write_audit(&mut self, entries: PendingEntries) {
        for entry in entries {
            self.write(StoreWrite::Audit(Box::new(entry)));
        }
    }
}

fn toggle_entry(session: &Uri, toggled: &CustomizationToggled, actor: AuditActor) -> AuditEntry {
    let text = |text: &str| Some(Json::from(audit_text(text)));
    let decisions = toggled.enablement.iter().take(MAX_AUDIT_ITEMS);
    let decisions = decisions.map(|decision| value_of_setting(&wire::to_json(decision)));
    let decisions: Vec<_> = decisions.collect();
    AuditEntry {
        kind: AuditKind::CustomizationToggled,
        actor,
        session: Some(session.clone()),
        details: audit_details([
            ("customization", text(toggled.id.as_str())),
            ("enablement", Some(Json::from(decisions))),
        ]),
    }
}

/// Returns a short value of a setting, or the digest of a long one.
pub(super) fn value_of_setting(value: &Json) -> Json {
    let text = value.to_string();
    match text.len() <= super::MAX_AUDIT_TEXT_CHARS {
        true => value.clone(),
        false => audit_digest(&text),
    }
}

fn digest_of_input(input: &ToolInput) -> Json {
    match input {
        ToolInput::Inline(text) => audit_digest(text),
        // Its URI contains the hash of the content.
        ToolInput::Referenced(content) => Json::from(audit_text(content.uri.as_str())),
    }
}

fn parameters_of(call: &ToolCall) -> Option<&ToolCallParameters> {
    match call {
        ToolCall::PendingConfirmation(call) => Some(&call.parameters),
        ToolCall::Running(call) => Some(&call.parameters),
        ToolCall::AuthRequired(call) => Some(&call.parameters),
        ToolCall::PendingResultConfirmation(call) => Some(&call.parameters),
        ToolCall::Completed(call) => Some(&call.parameters),
        ToolCall::Cancelled(call) => Some(&call.parameters),
        ToolCall::Streaming(_) | ToolCall::Unknown(_) => None,
    }
}
