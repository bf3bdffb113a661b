//! Steering messages: messages for a turn that is running.
//!
//! An agent that supports steering gets the message during the turn and accepts it when it can.
//! For any other turn the message moves to the front of the queue, where clients see it and can
//! remove it. There it still belongs to the turn: it is dropped if the turn is cancelled.

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_protocol::chat::{
    ChatAction, ChatState, PendingMessageKind, PendingMessageRemoved, PendingMessageSet,
    QueuedMessagesReordered,
};
use agenthost_protocol::ids::PendingMessageId;
use agenthost_protocol::uri::Uri;
use serde::{Deserialize, Serialize};

use crate::agent::AgentCommand;
use crate::chat::turn::TurnSource;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::step::Env;
use crate::policy::chat::MAX_QUEUED_MESSAGES;

/// Steering messages in the queue of a chat, until the turn that they were meant for ends. In
/// the order in which they were set.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct QueuedSteering(BTreeMap<Uri, Vec<PendingMessageId>>);

impl QueuedSteering {
    /// Removes a message that a client has removed, or queued for a later turn.
    pub(crate) fn forget(&mut self, chat: &Uri, id: &PendingMessageId) {
        if let Some(messages) = self.0.get_mut(chat) {
            messages.retain(|message| message != id);
        }
    }

    /// Removes and returns the messages of a chat.
    pub(crate) fn take(&mut self, chat: &Uri) -> Vec<PendingMessageId> {
        self.0.remove(chat).unwrap_or_default()
    }
}

impl Host {
    /// Sends the steering message of a chat to its agent, or queues it if the active turn can't
    /// be steered. It stays pending while there is no active turn (PEN-5, PEN-6).
    pub(crate) fn forward_steering(&mut self, chat: &Uri, out: &mut Effects) {
        let Some(state) = self.chat(chat) else {
            return;
        };
        let (Some(turn), Some(waiting)) = (&state.active_turn, &state.steering_message) else {
            return;
        };
        if !self.is_steerable(chat) {
            self.queue_steering(chat, out);
            return;
        }
        if self.has_pending_prompt(chat) || self.waits_for_session(chat) {
            return;
        }
        let steer = AgentCommand::Steer {
            chat: chat.clone(),
            turn: turn.id.clone(),
            id: waiting.id.clone(),
            message: Arc::clone(&waiting.message),
        };
        self.send_agent_command(chat, steer, out);
    }

    /// Removes a steering message that the agent has accepted.
    pub(crate) fn remove_steering_message(
        &mut self,
        chat: &Uri,
        id: PendingMessageId,
        out: &mut Effects,
    ) {
        let waiting = self
            .chat(chat)
            .and_then(|chat| chat.steering_message.as_ref());
        if waiting.is_some_and(|waiting| waiting.id == id) {
            self.remove_pending(chat, PendingMessageKind::Steering, id, out);
        }
    }

    /// Starts a turn with the steering message that the agent has not accepted, if there is
    /// one.
    pub(crate) fn start_unsent_steering(&mut self, env: &Env, chat: &Uri, out: &mut Effects) {
        let state = self.chat(chat);
        let Some(unsent) = state.and_then(|state| state.steering_message.clone()) else {
            return;
        };
        self.remove_pending(chat, PendingMessageKind::Steering, unsent.id.clone(), out);
        let source = TurnSource::Steering(unsent.id.clone());
        self.start_turn(env, chat, Arc::clone(&unsent.message), source, out);
    }

    /// Drops the messages that were to steer a turn that was cancelled.
    pub(crate) fn drop_steering(&mut self, chat: &Uri, out: &mut Effects) {
        let state = self.chat(chat);
        if let Some(waiting) = state.and_then(|state| state.steering_message.clone()) {
            self.remove_pending(chat, PendingMessageKind::Steering, waiting.id, out);
        }
        self.drop_queued_steering(chat, out);
    }

    /// Drops the steering messages in the queue whose turn was removed.
    pub(crate) fn drop_queued_steering(&mut self, chat: &Uri, out: &mut Effects) {
        let moved = self.turns.queued_steering.take(chat);
        let queued = self.chat(chat).map(queued_ids).unwrap_or_default();
        for id in moved.into_iter().filter(|id| queued.contains(id)) {
            self.remove_pending(chat, PendingMessageKind::Queued, id, out);
        }
    }

    /// Returns `true` if the active turn of a chat can take a steering message. A command can't.
    fn is_steerable(&self, chat: &Uri) -> bool {
        let session = self.session_of(chat);
        let session = session.and_then(|session| self.session(session));
        let supported = session.is_some_and(|session| {
            let provider = &session.metadata.provider;
            self.config.catalog.steerable.contains(provider)
        });
        supported && !self.runs_command_turn(chat)
    }

    /// Moves the steering message to the queue, in front of the messages that were queued for
    /// the next turn. If the queue is full, it stays in place and starts the next turn.
    fn queue_steering(&mut self, chat: &Uri, out: &mut Effects) {
        let Some(state) = self.chat(chat) else {
            return;
        };
        let Some(waiting) = state.steering_message.clone() else {
            return;
        };
        let mut rest = queued_ids(state);
        rest.retain(|id| *id != waiting.id);
        if rest.len() >= MAX_QUEUED_MESSAGES {
            return;
        }
        let mut moved = self.turns.queued_steering.take(chat);
        moved.retain(|id| rest.contains(id));
        moved.push(waiting.id.clone());
        rest.retain(|id| !moved.contains(id));
        self.remove_pending(chat, PendingMessageKind::Steering, waiting.id.clone(), out);
        let queued = ChatAction::PendingMessageSet(PendingMessageSet {
            kind: PendingMessageKind::Queued,
            id: waiting.id.clone(),
            message: Arc::clone(&waiting.message),
        });
        self.originate(chat, queued, out);
        if !rest.is_empty() {
            let order = moved.iter().chain(&rest).cloned().collect();
            let reordered = ChatAction::QueuedMessagesReordered(QueuedMessagesReordered { order });
            self.originate(chat, reordered, out);
        }
        self.turns.queued_steering.0.insert(chat.clone(), moved);
    }

    fn remove_pending(
        &mut self,
        chat: &Uri,
        kind: PendingMessageKind,
        id: PendingMessageId,
        out: &mut Effects,
    ) {
        let removed = PendingMessageRemoved { kind, id };
        self.originate(chat, ChatAction::PendingMessageRemoved(removed), out);
    }
}

fn queued_ids(chat: &ChatState) -> Vec<PendingMessageId> {
    let queued = chat.queued_messages.iter().flat_map(|queue| queue.items());
    queued.map(|message| message.id.clone()).collect()
}
