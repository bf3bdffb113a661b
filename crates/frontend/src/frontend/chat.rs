//! Commands on the selected chat: messages, queue, draft, turns.

use std::sync::Arc;

use agenthost_client::ClientResponse;
use agenthost_protocol::chat::{
    Attachment, AttachmentBase, ChatAction, CompletionKind, CompletionsParams, DraftChanged,
    EmbeddedResourceAttachment, FetchTurnsParams, Message, PendingMessage, PendingMessageKind,
    PendingMessageRemoved, PendingMessageSet, QueuedMessagesReordered, TurnCancelled, TurnResume,
    TurnStarted,
};
use agenthost_protocol::common::ModelSelection;
use agenthost_protocol::ids::{ModelId, PendingMessageId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_view::composer::{attachment_rows, draft_meta};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Frontend;
use super::races::{RacedAction, RacedMessage, TurnGoal};
use super::responses::{RejectionReport, RequestError, decode, discard, encode};
use crate::input::NewAttachment;

/// The way in which a message is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendOptions {
    /// The message steers the running turn.
    pub(super) steer: bool,
    /// The shared draft stays: it is not the text that is sent.
    pub(super) keep_draft: bool,
}

impl SendOptions {
    pub(super) fn new(steer: Option<bool>, keep_draft: Option<bool>) -> Self {
        SendOptions {
            steer: steer == Some(true),
            keep_draft: keep_draft == Some(true),
        }
    }
}

impl Frontend {
    pub(super) fn select_chat(&mut self, id: u64, chat: Uri) {
        if self.chat.as_ref() != Some(&chat) {
            if let Some(before) = self.chat.take() {
                self.unfollow(&before);
            }
            self.show_chat(chat);
        }
        self.done(id);
    }

    pub(super) fn show_chat(&mut self, chat: Uri) {
        self.follow(&chat);
        self.chat = Some(chat);
        self.slices.reset_timeline();
        self.dirty.chat = true;
        self.dirty.changes = true;
    }

    /// Sends a message: it starts a turn, or waits in the queue while one is running. The shared
    /// draft is removed, unless it is a text of another device.
    pub(super) fn send(
        &mut self,
        id: u64,
        text: String,
        attachments: Vec<NewAttachment>,
        options: SendOptions,
    ) {
        let Some(chat) = self.chat.clone() else {
            return self.fail(id, "no chat is selected".to_owned());
        };
        let has_draft = self.chat_state().is_some_and(|state| state.draft.is_some());
        let attachments = attachments.into_iter().map(to_attachment).collect();
        self.send_message(id, &chat, text, attachments, options.steer);
        if has_draft && !options.keep_draft {
            self.dispatch_draft(&chat, None);
        }
    }

    /// Sends a message and keeps the draft.
    pub(super) fn send_message(
        &mut self,
        id: u64,
        chat: &Uri,
        text: String,
        attachments: Vec<Attachment>,
        steer: bool,
    ) {
        let model = self.chat_state().and_then(|state| {
            let draft = state.draft.as_ref()?;
            Some(draft.model.as_ref()?.id.to_string())
        });
        let is_running = self
            .chat_state()
            .is_some_and(|state| state.active_turn.is_some());
        if is_running {
            let kind = if steer {
                PendingMessageKind::Steering
            } else {
                PendingMessageKind::Queued
            };
            self.add_pending(id, chat, kind, text, attachments, model);
        } else {
            self.start_turn(id, chat, text, attachments, model);
        }
    }

    /// Adds a message to the queue, or sends it to the running turn.
    pub(super) fn add_pending(
        &mut self,
        id: u64,
        chat: &Uri,
        kind: PendingMessageKind,
        text: String,
        attachments: Vec<Attachment>,
        model: Option<String>,
    ) {
        let pending = PendingMessageId::from(self.new_id().as_str());
        let message = to_message(text.clone(), attachments, model);
        self.set_pending(id, chat, kind, pending, message, Some(text));
    }

    pub(super) fn start_turn(
        &mut self,
        id: u64,
        chat: &Uri,
        text: String,
        attachments: Vec<Attachment>,
        model: Option<String>,
    ) {
        let message = to_message(text.clone(), attachments.clone(), model.clone());
        let action = ChatAction::TurnStarted(TurnStarted {
            turn_id: TurnId::from(self.new_id().as_str()),
            started_at: self.timestamp(),
            message: Arc::new(message),
            queued_message_id: None,
            meta: None,
        });
        let raced = RacedAction::Message(Box::new(RacedMessage {
            chat: chat.clone(),
            text,
            attachments,
            model,
        }));
        self.dispatch_with(id, chat, action.into(), RejectionReport::Race(raced));
    }

    /// Dispatches an action that ends or continues a turn.
    fn control_turn(
        &mut self,
        id: u64,
        chat: &Uri,
        turn: TurnId,
        goal: TurnGoal,
        action: ChatAction,
    ) {
        let raced = RacedAction::Turn {
            chat: chat.clone(),
            turn,
            goal,
        };
        self.dispatch_with(id, chat, action.into(), RejectionReport::Race(raced));
    }

    fn set_pending(
        &mut self,
        id: u64,
        chat: &Uri,
        kind: PendingMessageKind,
        pending: PendingMessageId,
        message: Message,
        restored: Option<String>,
    ) {
        let action = PendingMessageSet {
            kind,
            id: pending,
            message: Arc::new(message),
        };
        let action = ChatAction::PendingMessageSet(action);
        self.dispatch(id, chat, action.into(), restored);
    }

    pub(super) fn cancel_turn(&mut self, id: u64) {
        let turn = self.chat_state().and_then(|state| {
            let turn = state.active_turn.as_ref()?;
            let started = turn
                .started_at
                .to_millis()
                .map_or(self.now, |millis| millis.0);
            let duration = Millis((self.now - started).max(0));
            Some((turn.id.clone(), duration))
        });
        match (self.chat.clone(), turn) {
            (Some(chat), Some((turn_id, duration))) => {
                let action = ChatAction::TurnCancelled(TurnCancelled {
                    turn_id: turn_id.clone(),
                    duration,
                    meta: None,
                });
                self.control_turn(id, &chat, turn_id, TurnGoal::Ends, action);
            }
            _ => self.fail(id, "no turn is running".to_owned()),
        }
    }

    pub(super) fn resume_turn(&mut self, id: u64) {
        let last = self.chat_state().and_then(|state| state.turns.last_item());
        let turn = last.map(|turn| turn.id.clone());
        match (self.chat.clone(), turn) {
            (Some(chat), Some(turn_id)) => {
                let action = ChatAction::TurnResume(TurnResume {
                    turn_id: turn_id.clone(),
                });
                self.control_turn(id, &chat, turn_id, TurnGoal::Runs, action);
            }
            _ => self.fail(id, "there is no turn to resume".to_owned()),
        }
    }

    pub(super) fn set_draft(&mut self, id: u64, text: String) {
        let Some(chat) = self.chat.clone() else {
            return self.done(id);
        };
        let before = self.chat_state().and_then(|state| state.draft.clone());
        let draft = match before {
            Some(before) if text.is_empty() && before.model.is_none() => None,
            None if text.is_empty() => return self.done(id),
            Some(before) => Some(Message {
                text,
                ..Message::clone(&before)
            }),
            None => Some(Message::of_user(text)),
        };
        self.dispatch_draft(&chat, draft);
        self.done(id);
    }

    /// Stores the draft of a chat that the page has left.
    pub(super) fn keep_draft(&mut self, id: u64, chat: &Uri, text: String) {
        let draft = (!text.is_empty()).then(|| Message::of_user(text));
        self.dispatch_draft(chat, draft);
        self.done(id);
    }

    pub(super) fn set_model(&mut self, id: u64, model: &str) {
        let Some(chat) = self.chat.clone() else {
            return self.fail(id, "no chat is selected".to_owned());
        };
        let before = self.chat_state().and_then(|state| state.draft.clone());
        let before = before.map_or_else(|| Message::of_user(""), |draft| Message::clone(&draft));
        let draft = Message {
            model: Some(select_model(model)),
            ..before
        };
        self.dispatch_draft(&chat, Some(draft));
        self.done(id);
    }

    pub(super) fn dispatch_draft(&mut self, chat: &Uri, draft: Option<Message>) {
        let meta = draft_meta(&self.client_id, &self.device_name);
        let draft = draft.map(|draft| Message {
            meta: Some(meta),
            ..draft
        });
        let draft = draft.map(Arc::new);
        let action = ChatAction::DraftChanged(DraftChanged { draft });
        self.dispatch(0, chat, action.into(), None);
    }

    /// Returns a pending message of the selected chat, with its kind.
    fn pending_message(&self, key: &str) -> Option<(PendingMessageKind, PendingMessage)> {
        let state = self.chat_state()?;
        let steering = state.steering_message.iter();
        let steering = steering.map(|message| (PendingMessageKind::Steering, message));
        let queued = state.queued_messages.iter().flat_map(|all| all.items());
        let queued = queued.map(|message| (PendingMessageKind::Queued, message));
        let mut all = steering.chain(queued);
        let (kind, message) = all.find(|(_, message)| message.id.as_str() == key)?;
        Some((kind, message.clone()))
    }

    pub(super) fn edit_queued(&mut self, id: u64, key: &str, text: String) {
        match (self.chat.clone(), self.pending_message(key)) {
            (Some(chat), Some((kind, pending))) => {
                let message = Message {
                    text: text.clone(),
                    ..Message::clone(&pending.message)
                };
                self.set_pending(id, &chat, kind, pending.id, message, Some(text));
            }
            _ => self.fail(id, "the message is no longer in the queue".to_owned()),
        }
    }

    pub(super) fn remove_queued(&mut self, id: u64, key: &str) {
        match (self.chat.clone(), self.pending_message(key)) {
            (Some(chat), Some((kind, pending))) => {
                let action = PendingMessageRemoved {
                    kind,
                    id: pending.id,
                };
                let action = ChatAction::PendingMessageRemoved(action);
                self.dispatch(id, &chat, action.into(), None);
            }
            _ => self.fail(id, "the message is no longer in the queue".to_owned()),
        }
    }

    pub(super) fn move_queued(&mut self, id: u64, key: &str, index: usize) {
        let queued = self
            .chat_state()
            .and_then(|state| state.queued_messages.as_ref());
        let mut order: Vec<_> = queued.map_or_else(Vec::new, |queued| {
            queued.items().map(|message| message.id.clone()).collect()
        });
        let position = order.iter().position(|other| other.as_str() == key);
        match (self.chat.clone(), position) {
            (Some(chat), Some(position)) => {
                let moved = order.remove(position);
                order.insert(index.min(order.len()), moved);
                let action = QueuedMessagesReordered { order };
                let action = ChatAction::QueuedMessagesReordered(action);
                self.dispatch(id, &chat, action.into(), None);
            }
            _ => self.fail(id, "the message is no longer in the queue".to_owned()),
        }
    }

    /// Sends a queued message to the running turn.
    pub(super) fn steer_now(&mut self, id: u64, key: &str) {
        match (self.chat.clone(), self.pending_message(key)) {
            (Some(chat), Some((PendingMessageKind::Queued, pending))) => {
                let message = Message::clone(&pending.message);
                let action = PendingMessageRemoved {
                    kind: PendingMessageKind::Queued,
                    id: pending.id,
                };
                let action = ChatAction::PendingMessageRemoved(action);
                self.dispatch(0, &chat, action.into(), None);
                let steering = PendingMessageId::from(self.new_id().as_str());
                let kind = PendingMessageKind::Steering;
                let restored = Some(message.text.clone());
                self.set_pending(id, &chat, kind, steering, message, restored);
            }
            _ => self.fail(id, "the message is no longer in the queue".to_owned()),
        }
    }

    pub(super) fn fetch_older_turns(&mut self, id: u64) {
        let cursor = self.chat_state();
        let cursor = cursor.and_then(|state| state.turns_next_cursor.clone());
        match (self.chat.clone(), cursor) {
            (Some(channel), cursor @ Some(_)) => {
                let params = FetchTurnsParams {
                    channel,
                    cursor,
                    meta: None,
                };
                self.request_for(id, &params, discard::<FetchTurnsParams>);
            }
            _ => self.done(id),
        }
    }

    pub(super) fn complete_message(&mut self, id: u64, text: String, offset: u64) {
        let Some(channel) = self.chat.clone() else {
            return self.fail(id, "no chat is selected".to_owned());
        };
        let params = CompletionsParams {
            channel,
            kind: CompletionKind::UserMessage,
            text,
            offset,
            meta: None,
        };
        self.request_for(id, &params, to_completions);
    }
}

/// A completion in the form of the page.
#[derive(Debug, Serialize)]
struct CompletionRow<'a> {
    insert: &'a str,
    label: String,
    description: String,
    start: Option<u64>,
    end: Option<u64>,
}

fn to_completions(response: ClientResponse) -> Result<Option<Box<RawValue>>, RequestError> {
    let result = decode::<CompletionsParams>(response)?;
    let attachments: Vec<_> = result
        .items
        .iter()
        .map(|item| item.attachment.clone())
        .collect();
    let rows = attachment_rows(Some(&attachments));
    let rows = result
        .items
        .iter()
        .zip(rows)
        .map(|(item, row)| CompletionRow {
            insert: &item.insert_text,
            label: row.name,
            description: row.kind,
            start: item.range_start,
            end: item.range_end,
        });
    encode(&rows.collect::<Vec<_>>())
}

fn select_model(model: &str) -> ModelSelection {
    ModelSelection {
        id: ModelId::from(model),
        config: None,
    }
}

pub(super) fn to_message(
    text: String,
    attachments: Vec<Attachment>,
    model: Option<String>,
) -> Message {
    Message {
        attachments: (!attachments.is_empty()).then_some(attachments),
        model: model.as_deref().map(select_model),
        ..Message::of_user(text)
    }
}

pub(super) fn to_attachment(new: NewAttachment) -> Attachment {
    Attachment::EmbeddedResource(EmbeddedResourceAttachment {
        base: AttachmentBase {
            label: new.name,
            range: None,
            display_kind: None,
            meta: None,
        },
        data: new.data,
        content_type: new.content_type,
        selection: None,
    })
}
