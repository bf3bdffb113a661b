//! The client that answered a request: of a tool call in the `_meta` of the call, of a form in the
//! `_meta` of the session.
//!
//! All clients show the name, so neither a client nor an agent chooses the entry: the host drops
//! it from their actions and writes its own.

use agenthost_protocol::action::Action;
use agenthost_protocol::chat::{ChatAction, ToolCall, ToolCallTarget};
use agenthost_protocol::common::Meta;
use agenthost_protocol::ids::{ClientId, InputRequestId};
use agenthost_protocol::label::clean_label;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::input::ConnectionId;

/// Key in `_meta` of a tool call for the client that answered: an object with `name` and
/// `clientId`.
const ANSWERED_BY_META_KEY: &str = "agenthost.answeredBy";

/// Key in `_meta` of a session for the clients that answered its forms: a list of objects with
/// `chat`, `requestId`, `name` and `clientId`, the latest last.
const ANSWERED_FORMS_META_KEY: &str = "agenthost.answeredForms";

/// Maximum number of forms in that list; older entries are dropped.
const MAX_ANSWERED_FORMS: usize = 20;

/// Maximum length of the name of a client, in characters.
const MAX_CLIENT_NAME_CHARS: usize = 60;

impl Host {
    /// Records the sender of an answer in the `_meta` of its tool call. Other actions of clients
    /// keep the entry that the call has.
    pub(crate) fn record_answering_client(
        &self,
        connection: ConnectionId,
        client: &ClientId,
        channel: &Uri,
        action: &mut Action,
    ) {
        let Action::Chat(action) = action else {
            return;
        };
        let is_answer = matches!(
            action,
            ChatAction::ToolCallConfirmed(_) | ChatAction::ToolCallResultConfirmed(_)
        );
        self.keep_answering_client(channel, action);
        if !is_answer {
            return;
        }
        let (Some(target), Some(name)) = (target_of(action), self.display_name(connection, client))
        else {
            return;
        };
        let call = self.active_call(channel, target);
        let is_waiting = matches!(
            call,
            Some(ToolCall::PendingConfirmation(_) | ToolCall::PendingResultConfirmation(_))
        );
        if !is_waiting {
            return;
        }
        // The reducer replaces the whole object.
        let before = call.and_then(ToolCall::head);
        let before = before.and_then(|head| head.meta.clone());
        let entry = client_entry(client, name);
        let mut meta = target.meta.take().or(before).unwrap_or_default();
        meta.insert(ANSWERED_BY_META_KEY.to_owned(), Json::Object(entry));
        target.meta = Some(meta);
    }

    /// Records the sender of the answer to a form in the `_meta` of the session: a form has none
    /// of its own.
    pub(crate) fn record_form_answer(
        &mut self,
        connection: ConnectionId,
        client: &ClientId,
        chat: &Uri,
        request: &InputRequestId,
        out: &mut Effects,
    ) {
        let (Some(session), Some(name)) = (
            self.session_of(chat).cloned(),
            self.display_name(connection, client),
        ) else {
            return;
        };
        let meta = self.session(&session).and_then(|state| state.meta.as_ref());
        let known = meta.and_then(|meta| meta.get(ANSWERED_FORMS_META_KEY)?.as_array());
        let mut forms = known.cloned().unwrap_or_default();
        let too_many = (forms.len() + 1).saturating_sub(MAX_ANSWERED_FORMS);
        forms.drain(..too_many);
        let mut entry = client_entry(client, name);
        entry.insert("chat".to_owned(), Json::from(chat.as_str()));
        entry.insert("requestId".to_owned(), Json::from(request.as_str()));
        forms.push(Json::Object(entry));
        let forms = Some(Json::Array(forms));
        self.set_session_meta(&session, ANSWERED_FORMS_META_KEY, forms, out);
    }

    /// Makes an action keep the answering client of its tool call: the `_meta` of the action
    /// replaces that of the call.
    pub(crate) fn keep_answering_client(&self, channel: &Uri, action: &mut ChatAction) {
        let Some(target) = target_of(action) else {
            return;
        };
        if target.meta.is_none() {
            return;
        }
        let head = self.active_call(channel, target).and_then(ToolCall::head);
        let known = head.and_then(|head| head.meta.as_ref()?.get(ANSWERED_BY_META_KEY));
        let known = known.cloned();
        if let Some(meta) = &mut target.meta {
            set_entry(meta, known);
        }
    }

    /// Returns the name of a client: that of its paired device, or else the one that the program
    /// has sent.
    fn display_name(&self, connection: ConnectionId, client: &ClientId) -> Option<String> {
        let entry = self.clients.connections.get(&connection);
        let device = entry.and_then(|entry| entry.peer.device_name.as_ref());
        let entry = self.clients.clients.get(client);
        let info = entry.and_then(|entry| entry.record.info.as_ref());
        let title = info.and_then(|info| info.title.as_ref());
        let names = [device, title, info.map(|info| &info.name)];
        let mut names = names.into_iter().flatten().map(|name| {
            let mut name: String = name.chars().take(MAX_CLIENT_NAME_CHARS).collect();
            clean_label(&mut name);
            name.trim().to_owned()
        });
        names.find(|name| !name.is_empty())
    }
}

fn client_entry(client: &ClientId, name: String) -> Object {
    let mut entry = Object::new();
    entry.insert("name".to_owned(), Json::from(name));
    entry.insert("clientId".to_owned(), Json::from(client.as_str()));
    entry
}

fn set_entry(meta: &mut Meta, entry: Option<Json>) {
    match entry {
        Some(entry) => meta.insert(ANSWERED_BY_META_KEY.to_owned(), entry),
        None => meta.remove(ANSWERED_BY_META_KEY),
    };
}

/// Returns the tool call of an action.
fn target_of(action: &mut ChatAction) -> Option<&mut ToolCallTarget> {
    match action {
        ChatAction::ToolCallStart(action) => Some(&mut action.target),
        ChatAction::ToolCallDelta(action) => Some(&mut action.target),
        ChatAction::ToolCallReady(action) => Some(&mut action.target),
        ChatAction::ToolCallConfirmed(action) => Some(&mut action.target),
        ChatAction::ToolCallComplete(action) => Some(&mut action.target),
        ChatAction::ToolCallResultConfirmed(action) => Some(&mut action.target),
        ChatAction::ToolCallContentChanged(action) => Some(&mut action.target),
        ChatAction::ToolCallAuthRequired(action) => Some(&mut action.target),
        ChatAction::ToolCallAuthResolved(action) => Some(&mut action.target),
        ChatAction::TurnStarted(_)
        | ChatAction::Delta(_)
        | ChatAction::ResponsePart(_)
        | ChatAction::Reasoning(_)
        | ChatAction::Usage(_)
        | ChatAction::TurnComplete(_)
        | ChatAction::TurnCancelled(_)
        | ChatAction::Error(_)
        | ChatAction::TurnResume(_)
        | ChatAction::ActivityChanged(_)
        | ChatAction::BackgroundWorkSet(_)
        | ChatAction::BackgroundWorkRemoved(_)
        | ChatAction::MovableChanged(_)
        | ChatAction::ChangesetsChanged(_)
        | ChatAction::CanvasesChanged(_)
        | ChatAction::WorkingDirectorySet(_)
        | ChatAction::WorkingDirectoryRemoved(_)
        | ChatAction::PendingMessageSet(_)
        | ChatAction::PendingMessageRemoved(_)
        | ChatAction::QueuedMessagesReordered(_)
        | ChatAction::DraftChanged(_)
        | ChatAction::IsReadChanged(_)
        | ChatAction::IsArchivedChanged(_)
        | ChatAction::InputRequested(_)
        | ChatAction::InputAnswerChanged(_)
        | ChatAction::InputCompleted(_)
        | ChatAction::Truncated(_)
        | ChatAction::TurnsLoaded(_) => None,
    }
}
