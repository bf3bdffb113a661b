//! Which model and which custom agent a chat or a session is taken to have.

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatState, Message};
use agenthost_protocol::common::{AgentSelection, ModelSelection};
use agenthost_protocol::session::SessionState;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use super::values;
use crate::document::Envelope;
use crate::edit::{set, text};
use crate::world::Moment;

/// A model and a custom agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Selection {
    pub(super) model: Option<ModelSelection>,
    pub(super) agent: Option<AgentSelection>,
}

impl Selection {
    /// What a message goes to.
    pub(super) fn of_message(message: &Message) -> Self {
        Selection {
            model: message.model.clone(),
            agent: message.agent.clone(),
        }
    }

    /// What the message that is being typed goes to; else what the latest one
    /// went to.
    pub(super) fn of_state(chat: &ChatState) -> Self {
        let draft = chat.draft.as_deref();
        let active = chat.active_turn.as_ref().map(|turn| &*turn.message);
        let last = chat.turns.last_item().map(|turn| &*turn.message);
        let message = draft.or(active).or(last);
        let mut selection = message.map(Selection::of_message).unwrap_or_default();
        // There is no way to say that none is chosen any more.
        if selection.model.is_none() {
            let turns = chat.turns.iter().rev().map(|turn| &*turn.message);
            let mut messages = active.into_iter().chain(turns);
            selection.model = messages.find_map(|message| message.model.clone());
        }
        selection
    }

    /// That of a chat, as far as it is known.
    pub(super) fn of_chat(at: &Moment<'_>, chat: &Uri) -> Self {
        let state = at.world.chat(chat);
        state
            .map(|state| Selection::of_state(&state))
            .unwrap_or_default()
    }

    /// That of a session: of the chat that stands for it.
    pub(super) fn of_session(at: &Moment<'_>, session: &Uri) -> Self {
        let chat = main_chat(at, session);
        chat.map(|chat| Selection::of_chat(at, &chat))
            .unwrap_or_default()
    }

    /// Puts it into what has a `model` and an `agent`, in the words of 0.4.
    pub(super) fn put(&self, object: &mut Object) {
        if let Some(model) = self.model_of_old() {
            set(object, "model", model);
        }
        if let Some(agent) = to_json(self.agent.as_ref()) {
            set(object, "agent", agent);
        }
    }

    /// Puts it into a message, in the words of 0.5.0.
    pub(super) fn address(&self, message: &mut Object) {
        if let Some(model) = to_json(self.model.as_ref()) {
            set(message, "model", model);
        }
        if let Some(agent) = to_json(self.agent.as_ref()) {
            set(message, "agent", agent);
        }
    }

    fn model_of_old(&self) -> Option<Json> {
        let mut model = to_json(self.model.as_ref())?;
        if let Json::Object(model) = &mut model {
            values::write_model_options(model);
        }
        Some(model)
    }
}

/// The chat that stands for a session. Up to 0.3 it stays what it was when the
/// client subscribed.
pub(super) fn main_chat(at: &Moment<'_>, session: &Uri) -> Option<Uri> {
    if at.viewer.release() <= Release::V0_3
        && let Some(chat) = at.viewer.chat_of(session)
    {
        return Some(chat.clone());
    }
    at.world.default_chat(session)
}

/// Puts the choice into the state of a chat, unless it stands for its session.
/// No action would change it there, and it would hide what the session has,
/// which does change.
pub(super) fn put_into_chat(at: &Moment<'_>, state: &mut Object) {
    let Some(chat) = text(state, "resource").map(Uri::from) else {
        return;
    };
    let session = at.world.session_of(&chat);
    let main = session.and_then(|session| main_chat(at, &session));
    if main.as_ref() != Some(&chat) {
        Selection::of_chat(at, &chat).put(state);
    }
}

/// What has to be said on the session's channel when an action on a chat's has
/// moved the choice.
pub(super) fn moved_with_chat(at: &Moment<'_>, envelope: &Envelope) -> Vec<Envelope> {
    let Some(chat) = envelope.channel.as_deref().map(Uri::from) else {
        return Vec::new();
    };
    let Some(session) = at.world.session_of(&chat) else {
        return Vec::new();
    };
    let before = match at.before {
        Some(ChannelState::Chat(before)) => Selection::of_state(before),
        _ => Selection::default(),
    };
    let after = Selection::of_chat(at, &chat);
    let mut actions = Vec::new();
    if main_chat(at, &session).as_ref() == Some(&chat) {
        actions.extend(of_session(&before, &after));
    }
    let mut changes = Object::new();
    after.but(&before).put(&mut changes);
    if !changes.is_empty() {
        actions.push(json!({ "type": "session/chatUpdated", "chat": chat, "changes": changes }));
    }
    said(envelope, &session, actions)
}

/// What has to be said when another chat stands for the session.
pub(super) fn moved_with_session(at: &Moment<'_>, envelope: &Envelope) -> Vec<Envelope> {
    // Older ones go on seeing the chat that they saw.
    if at.viewer.release() <= Release::V0_3 {
        return Vec::new();
    }
    let Some(session) = envelope.channel.as_deref().map(Uri::from) else {
        return Vec::new();
    };
    let before = match at.before {
        Some(ChannelState::Session(before)) => before.default_chat.as_ref(),
        _ => None,
    };
    let before = before.map(|chat| Selection::of_chat(at, chat));
    let after = Selection::of_session(at, &session);
    let actions = of_session(&before.unwrap_or_default(), &after);
    said(envelope, &session, actions)
}

impl Selection {
    /// Of it, what there is to choose in a session. What somebody typed that is
    /// not there, or not any more, is no reason to refuse a message that does
    /// not ask for it.
    pub(super) fn that_exists(self, at: &Moment<'_>, session: &Uri) -> Self {
        let Some(session) = at.world.session(session) else {
            return self;
        };
        Selection {
            model: self.model.filter(|model| has_model(at, &session, model)),
            agent: self.agent.filter(|agent| session.offers_agent(&agent.uri)),
        }
    }

    /// What is other than before.
    fn but(&self, before: &Selection) -> Selection {
        Selection {
            model: self.model.clone().filter(|_| self.model != before.model),
            agent: self.agent.clone().filter(|_| self.agent != before.agent),
        }
    }
}

fn of_session(before: &Selection, after: &Selection) -> Vec<Json> {
    let mut actions = Vec::new();
    // That no model is chosen any more can't be said.
    if let Some(model) = after.but(before).model_of_old() {
        actions.push(json!({ "type": "session/modelChanged", "model": model }));
    }
    if before.agent != after.agent {
        let mut action = Object::new();
        set(&mut action, "type", "session/agentChanged");
        if let Some(agent) = to_json(after.agent.as_ref()) {
            set(&mut action, "agent", agent);
        }
        actions.push(Json::Object(action));
    }
    actions
}

fn said(envelope: &Envelope, session: &Uri, actions: Vec<Json>) -> Vec<Envelope> {
    let on_session = |action| match action {
        Json::Object(action) => Some(Envelope {
            channel: Some(session.to_string()),
            ..envelope.with(action)
        }),
        _ => None,
    };
    actions.into_iter().filter_map(on_session).collect()
}

fn to_json<T: serde::Serialize>(value: Option<&T>) -> Option<Json> {
    serde_json::to_value(value?).ok()
}

/// Whether the agent of a session has a model, as far as is known.
fn has_model(at: &Moment<'_>, session: &SessionState, model: &ModelSelection) -> bool {
    let Some(ChannelState::Root(root)) = at.world.state(&RootChannel.into()) else {
        return true;
    };
    let mut agents = root.agents.iter();
    let agent = agents.find(|agent| agent.provider == session.metadata.provider);
    agent.is_none_or(|agent| agent.has_model(&model.id))
}
