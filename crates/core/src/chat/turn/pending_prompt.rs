//! Prompts that wait for attachments, preparation or MCP servers before they go to the
//! agent.
//!
//! Attached content that only the sending client has is requested when the turn starts. The
//! prompt is sent once every request has a response or an error: a failed request does not
//! fail the turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_protocol::chat::{
    Attachment, ChatAction, ChatState, Message, ResourceAttachment, TurnStarted,
};
use agenthost_protocol::ids::{ClientId, PendingMessageId, TurnId};
use agenthost_protocol::resource::{ContentEncoding, ResourceReadResult};
use agenthost_protocol::uri::Uri;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::agent::{AgentCommand, AttachmentContent};
use crate::connection::host_requests::{ClientReadError, RequestOrigin};
use crate::connection::registry::ClientPresence;
use crate::customization::PreparationState;
use crate::customization::driver::ResourceQuery;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::input::ConnectionId;
use crate::host::step::Env;
use crate::resource::uris;

/// Limit for the decoded size of one attachment that is read from a client.
pub(crate) const MAX_ATTACHMENT_BYTES: usize = 1024 * 1024;

/// Limit for the size of all attachments of a message.
const MAX_TOTAL_ATTACHMENT_BYTES: usize = 4 * 1024 * 1024;

/// Limit for the attachments of a message that are requested from a client.
pub(crate) const MAX_ATTACHMENTS: usize = 16;

/// A prompt that waits for attachments, for its preparation or for MCP servers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PendingPrompt {
    pub(crate) turn: TurnId,
    message: Arc<Message>,
    /// State of the context that customizations add.
    pub(crate) preparation: PreparationState,
    /// Attachments from other channels, which need no request.
    attachment_commands: Vec<AgentCommand>,
    /// Requested contents in the order of the message; `None` while a request is open.
    contents: Vec<(Uri, Option<AttachmentContent>)>,
    /// Number of bytes that may still be added.
    remaining_bytes: usize,
}

/// Position of a requested attachment in a pending prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttachmentSlot {
    chat: Uri,
    turn: TurnId,
    index: usize,
}

/// Senders of messages that are not sent to an agent yet. They are only in memory, because
/// no field in the state of a chat names the sender.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<MessageSender>", into = "Vec<MessageSender>")]
pub(crate) struct MessageSenders(BTreeMap<(Uri, MessageRef), ClientId>);

/// An entry of [`MessageSenders`]: the chat, the message and its sender.
type MessageSender = (Uri, MessageRef, ClientId);

/// Identity of a message in a chat.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum MessageRef {
    /// The message of a turn.
    Turn(TurnId),
    /// A steering or queued message.
    Pending(PendingMessageId),
}

impl From<Vec<MessageSender>> for MessageSenders {
    fn from(senders: Vec<MessageSender>) -> Self {
        let senders = senders.into_iter();
        MessageSenders(
            senders
                .map(|(chat, message, client)| ((chat, message), client))
                .collect(),
        )
    }
}

impl From<MessageSenders> for Vec<MessageSender> {
    fn from(senders: MessageSenders) -> Self {
        let senders = senders.0.into_iter();
        senders
            .map(|((chat, message), client)| (chat, message, client))
            .collect()
    }
}

impl Host {
    /// Records the sender of a message that was just accepted.
    pub(crate) fn record_sender(&mut self, chat: &Uri, action: &ChatAction, client: &ClientId) {
        let sent = if let ChatAction::TurnStarted(start) = action {
            MessageRef::Turn(start.turn_id.clone())
        } else if let ChatAction::PendingMessageSet(set) = action {
            MessageRef::Pending(set.id.clone())
        } else {
            return;
        };
        let state = self.chat(chat).cloned();
        self.turns
            .senders
            .0
            .retain(|(other, sent), _| other != chat || is_pending(state.as_ref(), sent));
        // Another client may have sent an earlier version of the message.
        self.turns
            .senders
            .0
            .insert((chat.clone(), sent), client.clone());
    }

    /// Records the sender of the message of a turn that is about to start.
    pub(crate) fn record_turn_sender(
        &mut self,
        chat: &Uri,
        turn: &TurnId,
        connection: ConnectionId,
    ) {
        if let Some(client) = self.clients.client_of(connection).cloned() {
            let key = (chat.clone(), MessageRef::Turn(turn.clone()));
            self.turns.senders.0.insert(key, client);
        }
    }

    /// Moves the sender of a steering message to the turn that the message starts.
    pub(crate) fn record_steering_sender(
        &mut self,
        chat: &Uri,
        turn: &TurnId,
        id: PendingMessageId,
    ) {
        let waiting = (chat.clone(), MessageRef::Pending(id));
        if let Some(client) = self.turns.senders.0.remove(&waiting) {
            let key = (chat.clone(), MessageRef::Turn(turn.clone()));
            self.turns.senders.0.insert(key, client);
        }
    }

    /// Creates the pending prompt of a turn that has just started, and requests its
    /// attachments.
    pub(crate) fn start_prompt(
        &mut self,
        env: &Env,
        chat: &Uri,
        start: &TurnStarted,
        out: &mut Effects,
    ) {
        let sender = self.take_sender(chat, start);
        if let (Some(sender), Some(session)) = (&sender, self.session_of(chat).cloned()) {
            self.record_principal(&session, sender, out);
        }
        let connections = self.sender_connections(sender.as_ref());
        // One attachment over the limit represents the rest, because the command queue of
        // an agent is bounded.
        let wanted = client_resources(&start.message).take(MAX_ATTACHMENTS + 1);
        let wanted: Vec<_> = wanted.cloned().collect();
        let unread = wanted
            .iter()
            .map(|wanted| (wanted.content.uri.clone(), None));
        let pending = PendingPrompt {
            turn: start.turn_id.clone(),
            message: Arc::clone(&start.message),
            preparation: self.request_preparation(env, chat, &start.turn_id, &start.message, out),
            attachment_commands: self.attachment_commands(chat, &start.turn_id, &start.message),
            contents: unread.collect(),
            remaining_bytes: MAX_TOTAL_ATTACHMENT_BYTES,
        };
        self.turns.prompts.insert(chat.clone(), pending);
        for (index, wanted) in wanted.iter().enumerate() {
            let slot = AttachmentSlot {
                chat: chat.clone(),
                turn: start.turn_id.clone(),
                index,
            };
            let hint = wanted.content.size_hint.unwrap_or(0);
            if index >= MAX_ATTACHMENTS {
                self.attachment_read(slot, Err(ClientReadError::TooMany), out);
            } else if hint > MAX_ATTACHMENT_BYTES as u64 {
                self.attachment_read(slot, Err(ClientReadError::TooLarge), out);
            } else {
                let wanted = ResourceQuery::Read(wanted.content.uri.clone());
                self.request_from(connections.clone(), wanted, RequestOrigin::Turn(slot), out);
            }
        }
        self.send_prompt_if_ready(chat, out);
    }

    /// Stores the result of an attachment request. The turn may have ended meanwhile.
    pub(crate) fn attachment_read(
        &mut self,
        slot: AttachmentSlot,
        read: Result<Arc<ResourceReadResult>, ClientReadError>,
        out: &mut Effects,
    ) {
        let pending = self.turns.prompts.get_mut(&slot.chat);
        let Some(pending) = pending.filter(|pending| pending.turn == slot.turn) else {
            return;
        };
        let read = read.and_then(|read| {
            let size = checked_size(&read)?;
            pending.remaining_bytes = pending
                .remaining_bytes
                .checked_sub(size)
                .ok_or(ClientReadError::TotalTooLarge)?;
            Ok(read)
        });
        if let Some((_, content)) = pending.contents.get_mut(slot.index) {
            *content = Some(match read {
                Ok(read) => AttachmentContent::Resource(read),
                Err(unread) => AttachmentContent::Unreadable(unread.to_string()),
            });
        }
        self.send_prompt_if_ready(&slot.chat, out);
    }

    /// Gives up the attachments that clients have not returned, and sends the prompts that
    /// waited for them. Their connections ended with an earlier process of the host.
    pub(crate) fn give_up_attachments(&mut self, out: &mut Effects) {
        for pending in self.turns.prompts.values_mut() {
            for (_, content) in &mut pending.contents {
                let lost = ClientReadError::Disconnected.to_string();
                content.get_or_insert(AttachmentContent::Unreadable(lost));
            }
        }
        let chats: Vec<_> = self.turns.prompts.keys().cloned().collect();
        for chat in chats {
            self.send_prompt_if_ready(&chat, out);
        }
    }

    /// Returns `true` until the chat's prompt has been sent to the agent.
    pub(crate) fn has_pending_prompt(&self, chat: &Uri) -> bool {
        self.turns.prompts.contains_key(chat)
    }

    /// Drops the pending prompt and the senders of a removed chat.
    pub(crate) fn drop_prompt(&mut self, chat: &Uri) {
        self.turns.prompts.remove(chat);
        self.turns.senders.0.retain(|(other, _), _| other != chat);
    }

    pub(crate) fn send_prompt_if_ready(&mut self, chat: &Uri, out: &mut Effects) {
        let pending = self.turns.prompts.get(chat);
        let waits =
            |pending: &PendingPrompt| pending.contents.iter().any(|(_, read)| read.is_none());
        let blocked = self
            .session_of(chat)
            .is_some_and(|session| self.waits_for_servers(session));
        if pending.is_none_or(waits) || blocked {
            return;
        }
        let Some(pending) = self.turns.prompts.remove(chat) else {
            return;
        };
        let PreparationState::Done(prepared) = pending.preparation else {
            self.turns.prompts.insert(chat.clone(), pending);
            return;
        };
        for attached in pending.attachment_commands {
            self.send_agent_command(chat, attached, out);
        }
        for (resource, content) in pending.contents {
            if let Some(content) = content {
                let attached = AgentCommand::AddAttachment {
                    chat: chat.clone(),
                    turn: pending.turn.clone(),
                    resource,
                    content,
                };
                self.send_agent_command(chat, attached, out);
            }
        }
        let before = self.chat(chat).map(|chat| chat.turns.clone());
        let prompt = AgentCommand::Prompt {
            chat: chat.clone(),
            turn: pending.turn,
            message: pending.message,
            history: before.unwrap_or_default(),
            prepared,
        };
        self.send_agent_command(chat, prompt, out);
        self.forward_steering(chat, out);
    }

    /// Removes and returns the sender of the message of a turn that has just started.
    fn take_sender(&mut self, chat: &Uri, start: &TurnStarted) -> Option<ClientId> {
        let started = (chat.clone(), MessageRef::Turn(start.turn_id.clone()));
        let starter = self.turns.senders.0.remove(&started);
        let waiting = start.queued_message_id.clone();
        let waiting = waiting.map(|id| (chat.clone(), MessageRef::Pending(id)));
        // The client that starts the turn of a pending message may not be its sender.
        let sender = waiting.and_then(|waiting| self.turns.senders.0.remove(&waiting));
        sender.or(starter)
    }

    /// Returns the connections of the sender, the newest last. No other client is asked for
    /// the attachments of a message (RES-17, A-21).
    fn sender_connections(&self, sender: Option<&ClientId>) -> Vec<ConnectionId> {
        let client = sender.and_then(|sender| self.clients.clients.get(sender));
        match client.map(|client| &client.presence) {
            Some(ClientPresence::Active(connections)) => connections.clone(),
            Some(ClientPresence::Grace(_)) | None => Vec::new(),
        }
    }
}

/// Returns the attachments that only a client can read.
fn client_resources(message: &Message) -> impl Iterator<Item = &ResourceAttachment> {
    let attachments = message.attachments.iter().flatten();
    attachments.filter_map(|attachment| match attachment {
        Attachment::Resource(resource) if uris::is_client_resource(&resource.content.uri) => {
            Some(resource)
        }
        Attachment::Resource(_)
        | Attachment::Simple(_)
        | Attachment::EmbeddedResource(_)
        | Attachment::Annotations(_)
        | Attachment::Chat(_)
        | Attachment::Unknown(_) => None,
    })
}

/// Returns `true` if a message is still queued or steering.
fn is_pending(chat: Option<&ChatState>, sent: &MessageRef) -> bool {
    let (Some(chat), MessageRef::Pending(id)) = (chat, sent) else {
        return false;
    };
    let queued = chat.queued_messages.iter().flat_map(|queue| queue.items());
    let mut waiting = queued.chain(&chat.steering_message);
    waiting.any(|message| message.id == *id)
}

/// Returns the decoded size of a content, or an error if it exceeds the limit.
fn checked_size(read: &ResourceReadResult) -> Result<usize, ClientReadError> {
    let size = match read.encoding {
        ContentEncoding::Utf8 => read.data.len(),
        ContentEncoding::Base64 => {
            let bytes = STANDARD.decode(&read.data);
            bytes.map_err(|_| ClientReadError::Malformed)?.len()
        }
    };
    if size > MAX_ATTACHMENT_BYTES {
        return Err(ClientReadError::TooLarge);
    }
    Ok(size)
}
