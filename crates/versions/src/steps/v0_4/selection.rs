//! The model and custom agent that 0.4 publishes for a chat or session.

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatState, Message};
use agenthost_protocol::common::{AgentSelection, ModelSelection};
use agenthost_protocol::session::SessionState;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use super::values;
use crate::document::JsonEnvelope;
use crate::edit::{set_field, text_field};
use crate::state_source::TranslationContext;

/// A selection of a model and a custom agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ModelChoice {
    pub(super) model: Option<ModelSelection>,
    pub(super) agent: Option<AgentSelection>,
}

impl ModelChoice {
    /// Returns the selection of a message.
    pub(super) fn of_message(message: &Message) -> Self {
        ModelChoice {
            model: message.model.clone(),
            agent: message.agent.clone(),
        }
    }

    /// Returns the selection of the draft, or else of the latest message.
    pub(super) fn of_state(chat: &ChatState) -> Self {
        let draft = chat.draft.as_deref();
        let active = chat.active_turn.as_ref().map(|turn| &*turn.message);
        let last = chat.turns.last_item().map(|turn| &*turn.message);
        let message = draft.or(active).or(last);
        let mut selection = message.map(ModelChoice::of_message).unwrap_or_default();
        // 0.4 can't express that no model is selected any more.
        if selection.model.is_none() {
            let turns = chat.turns.iter().rev().map(|turn| &*turn.message);
            let mut messages = active.into_iter().chain(turns);
            selection.model = messages.find_map(|message| message.model.clone());
        }
        selection
    }

    /// Returns the selection of a chat, if its state is available.
    pub(super) fn of_chat(context: &TranslationContext<'_>, chat: &Uri) -> Self {
        let state = context.states.chat(chat);
        state
            .map(|state| ModelChoice::of_state(&state))
            .unwrap_or_default()
    }

    /// Returns the selection of the main chat of a session.
    pub(super) fn of_session(context: &TranslationContext<'_>, session: &Uri) -> Self {
        let chat = main_chat(context, session);
        chat.map(|chat| ModelChoice::of_chat(context, &chat))
            .unwrap_or_default()
    }

    /// Writes the selection to the fields `model` and `agent`, in the 0.4 encoding.
    pub(super) fn write_to(&self, object: &mut Object) {
        if let Some(model) = self.legacy_model() {
            set_field(object, "model", model);
        }
        if let Some(agent) = to_json(self.agent.as_ref()) {
            set_field(object, "agent", agent);
        }
    }

    /// Writes the selection to a message, in the 0.5.0 encoding.
    pub(super) fn write_to_message(&self, message: &mut Object) {
        if let Some(model) = to_json(self.model.as_ref()) {
            set_field(message, "model", model);
        }
        if let Some(agent) = to_json(self.agent.as_ref()) {
            set_field(message, "agent", agent);
        }
    }

    fn legacy_model(&self) -> Option<Json> {
        let mut model = to_json(self.model.as_ref())?;
        if let Json::Object(model) = &mut model {
            values::stringify_model_options(model);
        }
        Some(model)
    }
}

/// Returns the chat whose selection is that of the session. Up to 0.3 it is fixed when the
/// client subscribes.
pub(super) fn main_chat(context: &TranslationContext<'_>, session: &Uri) -> Option<Uri> {
    if context.client.release() <= Release::V0_3
        && let Some(chat) = context.client.chat_of(session)
    {
        return Some(chat.clone());
    }
    context.states.default_chat(session)
}

/// Writes the selection to the state of a chat, unless it is the main chat of its session. No
/// action would update it there, and it would hide the selection of the session, which is
/// updated.
pub(super) fn add_choice_to_chat(context: &TranslationContext<'_>, state: &mut Object) {
    let Some(chat) = text_field(state, "resource").map(Uri::from) else {
        return;
    };
    let session = context.states.session_of(&chat);
    let main = session.and_then(|session| main_chat(context, &session));
    if main.as_ref() != Some(&chat) {
        ModelChoice::of_chat(context, &chat).write_to(state);
    }
}

/// Returns the actions on the session channel for an action on a chat that changed the
/// selection.
pub(super) fn choice_actions_for_chat(
    context: &TranslationContext<'_>,
    envelope: &JsonEnvelope,
) -> Vec<JsonEnvelope> {
    let Some(chat) = envelope.channel.as_deref().map(Uri::from) else {
        return Vec::new();
    };
    let Some(session) = context.states.session_of(&chat) else {
        return Vec::new();
    };
    let before = context.state_before.and_then(ChannelState::as_chat);
    let before = before.map(ModelChoice::of_state).unwrap_or_default();
    let after = ModelChoice::of_chat(context, &chat);
    let mut actions = Vec::new();
    if main_chat(context, &session).as_ref() == Some(&chat) {
        actions.extend(choice_actions(&before, &after));
    }
    let mut changes = Object::new();
    after.difference(&before).write_to(&mut changes);
    if !changes.is_empty() {
        actions.push(json!({ "type": "session/chatUpdated", "chat": chat, "changes": changes }));
    }
    to_session_envelopes(envelope, &session, actions)
}

/// Returns the actions for a change of the main chat of a session.
pub(super) fn choice_actions_for_session(
    context: &TranslationContext<'_>,
    envelope: &JsonEnvelope,
) -> Vec<JsonEnvelope> {
    // Up to 0.3 the mapped chat does not change.
    if context.client.release() <= Release::V0_3 {
        return Vec::new();
    }
    let Some(session) = envelope.channel.as_deref().map(Uri::from) else {
        return Vec::new();
    };
    let before = context.state_before.and_then(ChannelState::as_session);
    let before = before.and_then(|before| before.default_chat.as_ref());
    let before = before.map(|chat| ModelChoice::of_chat(context, chat));
    let after = ModelChoice::of_session(context, &session);
    let actions = choice_actions(&before.unwrap_or_default(), &after);
    to_session_envelopes(envelope, &session, actions)
}

impl ModelChoice {
    /// Retains only a model and agent that exist in the session. A message that does not
    /// request a selection must not be rejected because of an outdated draft.
    pub(super) fn retain_existing(self, context: &TranslationContext<'_>, session: &Uri) -> Self {
        let Some(session) = context.states.session(session) else {
            return self;
        };
        ModelChoice {
            model: self
                .model
                .filter(|model| has_model(context, &session, model)),
            agent: self.agent.filter(|agent| session.offers_agent(&agent.uri)),
        }
    }

    /// Returns the fields that differ from `before`.
    fn difference(&self, before: &ModelChoice) -> ModelChoice {
        ModelChoice {
            model: self.model.clone().filter(|_| self.model != before.model),
            agent: self.agent.clone().filter(|_| self.agent != before.agent),
        }
    }
}

fn choice_actions(before: &ModelChoice, after: &ModelChoice) -> Vec<Json> {
    let mut actions = Vec::new();
    // 0.4 can't express that no model is selected any more.
    if let Some(model) = after.difference(before).legacy_model() {
        actions.push(json!({ "type": "session/modelChanged", "model": model }));
    }
    if before.agent != after.agent {
        let mut action = Object::new();
        set_field(&mut action, "type", "session/agentChanged");
        if let Some(agent) = to_json(after.agent.as_ref()) {
            set_field(&mut action, "agent", agent);
        }
        actions.push(Json::Object(action));
    }
    actions
}

fn to_session_envelopes(
    envelope: &JsonEnvelope,
    session: &Uri,
    actions: Vec<Json>,
) -> Vec<JsonEnvelope> {
    let on_session = |action| {
        let Json::Object(action) = action else {
            return None;
        };
        Some(JsonEnvelope {
            channel: Some(session.to_string()),
            ..envelope.with_action(action)
        })
    };
    actions.into_iter().filter_map(on_session).collect()
}

fn to_json<T: serde::Serialize>(value: Option<&T>) -> Option<Json> {
    serde_json::to_value(value?).ok()
}

/// Returns `true` if the agent of a session has the model, or if this is unknown.
fn has_model(
    context: &TranslationContext<'_>,
    session: &SessionState,
    model: &ModelSelection,
) -> bool {
    let Some(ChannelState::Root(root)) = context.states.state(&RootChannel.into()) else {
        return true;
    };
    let mut agents = root.agents.iter();
    let agent = agents.find(|agent| agent.provider == session.metadata.provider);
    agent.is_none_or(|agent| agent.has_model(&model.id))
}
