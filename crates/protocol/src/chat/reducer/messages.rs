//! Reducer functions for pending messages.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::chat::actions::{PendingMessageRemoved, PendingMessageSet, QueuedMessagesReordered};
use crate::chat::message::{PendingMessage, PendingMessageKind};
use crate::chat::state::ChatState;
use crate::ids::PendingMessageId;
use crate::list::List;
use crate::outcome::Outcome;
use crate::sorted::sort_by_key;

impl ChatState {
    pub(super) fn set_pending_message(&mut self, action: &PendingMessageSet) -> Outcome {
        let message = PendingMessage {
            id: action.id.clone(),
            message: Arc::clone(&action.message),
        };
        match action.kind {
            PendingMessageKind::Steering => self.steering_message = Some(message),
            PendingMessageKind::Queued => self
                .queued_messages
                .get_or_insert_default()
                .upsert(message, |queued| queued.id == action.id),
        }
        Outcome::Applied
    }

    pub(super) fn remove_pending_message(&mut self, action: &PendingMessageRemoved) -> Outcome {
        Outcome::applied_if(match action.kind {
            PendingMessageKind::Steering => self.take_steering_message(&action.id),
            PendingMessageKind::Queued => self.take_queued_message(&action.id),
        })
    }

    /// Removes a pending message of either kind, because a turn was started from it.
    pub(super) fn take_pending_message(&mut self, id: &PendingMessageId) {
        self.take_steering_message(id);
        self.take_queued_message(id);
        self.queued_messages.take_if(|queue| queue.is_empty());
    }

    fn take_steering_message(&mut self, id: &PendingMessageId) -> bool {
        self.steering_message
            .take_if(|message| message.id == *id)
            .is_some()
    }

    fn take_queued_message(&mut self, id: &PendingMessageId) -> bool {
        let Some(queue) = &mut self.queued_messages else {
            return false;
        };
        let before = queue.len();
        // Removes all duplicates of the id, so that a sent message is not sent again.
        while let Some(index) = queue.find(|message| message.id == *id) {
            queue.remove(index);
        }
        if queue.len() == before {
            return false;
        }
        self.queued_messages.take_if(|queue| queue.is_empty());
        true
    }

    pub(super) fn reorder_queue(&mut self, action: &QueuedMessagesReordered) -> Outcome {
        let Some(queue) = &mut self.queued_messages else {
            return Outcome::NoOp;
        };
        let mut ranks = IndexMap::new();
        for (rank, id) in (0..).zip(&action.order) {
            ranks.entry(id).or_insert(rank);
        }
        // The sort is stable: messages that are not listed follow in their previous order.
        let mut reordered: Vec<_> = queue.iter().cloned().collect();
        sort_by_key(&mut reordered, |message| {
            ranks.get(&message.id).copied().unwrap_or(i128::MAX)
        });
        let reordered: List<PendingMessage> = reordered.into_iter().collect();
        let changed = reordered != *queue;
        *queue = reordered;
        Outcome::applied_if(changed)
    }
}
