//! Content that a message refers to and only the client has that sent it.
//!
//! It is read when the turn starts. The agent hears of the turn when all of it
//! is there, or it is known why not: the turn goes on in any case.

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

use crate::agent::{AgentCommand, Attached};
use crate::clients::Presence;
use crate::customizations::Preparing;
use crate::customizing::Wanted;
use crate::effect::Effects;
use crate::env::Env;
use crate::host::Host;
use crate::input::ConnectionId;
use crate::questions::{Asker, Unread};
use crate::uris;

/// Most bytes of one content.
pub(crate) const LARGEST: usize = 1024 * 1024;

/// Most bytes of all contents of a message.
const TOGETHER: usize = 4 * 1024 * 1024;

/// Most contents of a message.
pub(crate) const CONTENTS: usize = 16;

/// A turn that its agent has not heard of: what its message refers to is being
/// read.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub(crate) turn: TurnId,
    message: Arc<Message>,
    /// What customizations have to add.
    pub(crate) preparing: Preparing,
    /// What else the message refers to.
    attached: Vec<AgentCommand>,
    /// In the order of the message; `None` while it is waited for.
    contents: Vec<(Uri, Option<Attached>)>,
    /// How many bytes may still come.
    room: usize,
}

/// A content that a turn waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    chat: Uri,
    turn: TurnId,
    index: usize,
}

/// Who sent messages that agents have not heard of. Known for as long as the
/// host runs: nothing in the state of a chat says it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Senders(BTreeMap<(Uri, Sent), ClientId>);

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Sent {
    /// Of a turn.
    Turn(TurnId),
    /// One that waits for its turn.
    Waiting(PendingMessageId),
}

impl Host {
    /// Takes note of who sent a message that was just accepted.
    pub(crate) fn note_sender(&mut self, chat: &Uri, action: &ChatAction, client: &ClientId) {
        let sent = match action {
            ChatAction::TurnStarted(start) => Sent::Turn(start.turn_id.clone()),
            ChatAction::PendingMessageSet(set) => Sent::Waiting(set.id.clone()),
            _ => return,
        };
        let state = self.chat(chat).cloned();
        self.senders
            .0
            .retain(|(other, sent), _| other != chat || waits(state.as_ref(), sent));
        // It may have been somebody else's before.
        self.senders.0.insert((chat.clone(), sent), client.clone());
    }

    /// Takes note of who sent the message of a turn that is about to start.
    pub(crate) fn note_sender_of_turn(&mut self, chat: &Uri, turn: &TurnId, by: ConnectionId) {
        if let Some(client) = self.clients.client_of(by).cloned() {
            let key = (chat.clone(), Sent::Turn(turn.clone()));
            self.senders.0.insert(key, client);
        }
    }

    /// The same for a message that was meant for the turn before.
    pub(crate) fn note_sender_of_steering(
        &mut self,
        chat: &Uri,
        turn: &TurnId,
        id: PendingMessageId,
    ) {
        let waiting = (chat.clone(), Sent::Waiting(id));
        if let Some(client) = self.senders.0.remove(&waiting) {
            let key = (chat.clone(), Sent::Turn(turn.clone()));
            self.senders.0.insert(key, client);
        }
    }

    /// Has the agent answer the message of a turn that has just started, once
    /// everything is there that the message refers to.
    pub(crate) fn prompt(&mut self, env: &Env, chat: &Uri, start: &TurnStarted, out: &mut Effects) {
        let sender = self.sender_of(chat, start);
        if let (Some(sender), Some(session)) = (&sender, self.owner(chat).cloned()) {
            self.asks(&session, sender, out);
        }
        let connections = self.connections_of(sender.as_ref());
        // The one too many stands for all that follow: an agent takes so many
        // commands at a time.
        let wanted = contents(&start.message).take(CONTENTS + 1);
        let wanted: Vec<_> = wanted.cloned().collect();
        let unread = wanted
            .iter()
            .map(|wanted| (wanted.content.uri.clone(), None));
        let reading = Reading {
            turn: start.turn_id.clone(),
            message: Arc::clone(&start.message),
            preparing: self.prepare(env, chat, &start.turn_id, &start.message, out),
            attached: self.attached(chat, &start.turn_id, &start.message),
            contents: unread.collect(),
            room: TOGETHER,
        };
        self.readings.insert(chat.clone(), reading);
        for (index, wanted) in wanted.iter().enumerate() {
            let slot = Slot {
                chat: chat.clone(),
                turn: start.turn_id.clone(),
                index,
            };
            let hint = wanted.content.size_hint.unwrap_or(0);
            if index >= CONTENTS {
                self.was_read(slot, Err(Unread::TooMany), out);
            } else if hint > LARGEST as u64 {
                self.was_read(slot, Err(Unread::TooLarge), out);
            } else {
                let wanted = Wanted::Read(wanted.content.uri.clone());
                self.ask_client(connections.clone(), wanted, Asker::Turn(slot), out);
            }
        }
        self.prompt_if_read(chat, out);
    }

    /// A content was read, or it is known why not. The turn may be over.
    pub(crate) fn was_read(
        &mut self,
        slot: Slot,
        read: Result<Arc<ResourceReadResult>, Unread>,
        out: &mut Effects,
    ) {
        let reading = self.readings.get_mut(&slot.chat);
        let Some(reading) = reading.filter(|reading| reading.turn == slot.turn) else {
            return;
        };
        let read = read.and_then(|read| {
            let size = size(&read)?;
            reading.room = reading.room.checked_sub(size).ok_or(Unread::TooMuch)?;
            Ok(read)
        });
        if let Some((_, content)) = reading.contents.get_mut(slot.index) {
            *content = Some(match read {
                Ok(read) => Attached::Content(read),
                Err(unread) => Attached::Unreadable(unread.to_string()),
            });
        }
        self.prompt_if_read(&slot.chat, out);
    }

    /// Whether the agent of a chat has not heard of its turn yet.
    pub(crate) fn is_reading(&self, chat: &Uri) -> bool {
        self.readings.contains_key(chat)
    }

    /// A chat is gone: nobody waits for what its messages refer to.
    pub(crate) fn forget_messages(&mut self, chat: &Uri) {
        self.readings.remove(chat);
        self.senders.0.retain(|(other, _), _| other != chat);
    }

    pub(crate) fn prompt_if_read(&mut self, chat: &Uri, out: &mut Effects) {
        let reading = self.readings.get(chat);
        let waits = |reading: &Reading| reading.contents.iter().any(|(_, read)| read.is_none());
        let blocked = self
            .owner(chat)
            .is_some_and(|session| self.is_blocked(session));
        if reading.is_none_or(waits) || blocked {
            return;
        }
        let Some(reading) = self.readings.remove(chat) else {
            return;
        };
        let Preparing::Done(prepared) = reading.preparing else {
            self.readings.insert(chat.clone(), reading);
            return;
        };
        for attached in reading.attached {
            self.command(chat, attached, out);
        }
        for (resource, content) in reading.contents {
            if let Some(content) = content {
                let attached = AgentCommand::Attached {
                    chat: chat.clone(),
                    turn: reading.turn.clone(),
                    resource,
                    content,
                };
                self.command(chat, attached, out);
            }
        }
        let before = self.chat(chat).map(|chat| chat.turns.clone());
        let prompt = AgentCommand::Prompt {
            chat: chat.clone(),
            turn: reading.turn,
            message: reading.message,
            before: before.unwrap_or_default(),
            prepared,
        };
        self.command(chat, prompt, out);
        self.steer(chat, out);
    }

    /// Who sent the message of a turn that has just started.
    fn sender_of(&mut self, chat: &Uri, start: &TurnStarted) -> Option<ClientId> {
        let started = (chat.clone(), Sent::Turn(start.turn_id.clone()));
        let starter = self.senders.0.remove(&started);
        let waiting = start.queued_message_id.clone();
        let waiting = waiting.map(|id| (chat.clone(), Sent::Waiting(id)));
        // Whoever starts the turn of a message that waited may not have sent it.
        let sender = waiting.and_then(|waiting| self.senders.0.remove(&waiting));
        sender.or(starter)
    }

    /// Where a message came from: nobody else is asked for what it refers to
    /// (RES-17, A-21). The newest connection comes last.
    fn connections_of(&self, sender: Option<&ClientId>) -> Vec<ConnectionId> {
        let client = sender.and_then(|sender| self.clients.clients.get(sender));
        match client.map(|client| &client.presence) {
            Some(Presence::Active(connections)) => connections.clone(),
            Some(Presence::Grace(_)) | None => Vec::new(),
        }
    }
}

/// What a message refers to and only a client can read.
fn contents(message: &Message) -> impl Iterator<Item = &ResourceAttachment> {
    let attachments = message.attachments.iter().flatten();
    attachments.filter_map(|attachment| match attachment {
        Attachment::Resource(resource) if uris::is_of_client(&resource.content.uri) => {
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

/// Whether a message still waits for its turn.
fn waits(chat: Option<&ChatState>, sent: &Sent) -> bool {
    let (Some(chat), Sent::Waiting(id)) = (chat, sent) else {
        return false;
    };
    let queued = chat.queued_messages.iter().flat_map(|queue| queue.items());
    let mut waiting = queued.chain(&chat.steering_message);
    waiting.any(|message| message.id == *id)
}

/// How many bytes were read, if that is not too many.
fn size(read: &ResourceReadResult) -> Result<usize, Unread> {
    let size = match read.encoding {
        ContentEncoding::Utf8 => read.data.len(),
        ContentEncoding::Base64 => {
            let bytes = STANDARD.decode(&read.data);
            bytes.map_err(|_| Unread::Malformed)?.len()
        }
    };
    if size > LARGEST {
        return Err(Unread::TooLarge);
    }
    Ok(size)
}
