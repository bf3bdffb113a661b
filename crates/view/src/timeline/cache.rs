//! The rows of a turn, with the parts of the state that they were computed from.

use std::sync::{Arc, Weak};

use agenthost_protocol::chat::{
    ActiveTurn, ChatState, Message, MessageKind, ResponsePart, Turn, TurnState,
};
use agenthost_protocol::common::UsageInfo;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::timestamp::Timestamp;

use super::Refresh;
use super::part::{PartCache, PartPlace};
use super::row::{MessageDelivery, MessageSource, RowBody, RowKey, TimelineRow, TurnOutcome};
use crate::composer::attachment_rows;
use crate::markdown::parse_markdown;
use crate::title::blocks_of;
use crate::usage::{CostAmount, UsageRow};
use crate::visible_text::visible_prose;

/// The rows of a turn.
///
/// Sources are weak references. They keep the address of a source reserved, so that equal pointers
/// mean equal content, and the next action need not copy the content, as a strong reference would
/// require.
#[derive(Debug)]
pub(super) struct TurnCache {
    id: TurnId,
    /// The turn, once it has ended.
    ended: Weak<Turn>,
    /// Costs before the turn, which decide the cost of the turn.
    cost_before: CostTrack,
    message: Option<MessageCache>,
    parts: Vec<PartCache>,
    end: Option<Arc<TimelineRow>>,
    /// Running total of the costs that the turn reports.
    cost_after: Option<CostAmount>,
}

#[derive(Debug)]
struct MessageCache {
    source: Weak<Message>,
    delivery: Option<MessageDelivery>,
    row: Arc<TimelineRow>,
}

/// A turn of the state, running or ended.
pub(super) enum TurnSource<'a> {
    Ended(&'a Arc<Turn>),
    Active(&'a ActiveTurn),
}

/// The running total of the costs before a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CostTrack {
    /// `false` before the first turn of a partly loaded chat: its total includes unknown turns.
    is_known: bool,
    total: Option<CostAmount>,
}

impl CostTrack {
    /// Returns the costs before the first turn of a state.
    pub(super) fn of_chat(chat: &ChatState) -> Self {
        CostTrack {
            is_known: chat.turns_next_cursor.is_none(),
            total: None,
        }
    }

    fn advance(&mut self, after: Option<&CostAmount>) {
        self.is_known = true;
        if let Some(after) = after {
            self.total = Some(after.clone());
        }
    }
}

impl<'a> TurnSource<'a> {
    fn message(&self) -> &'a Arc<Message> {
        match self {
            TurnSource::Ended(turn) => &turn.message,
            TurnSource::Active(turn) => &turn.message,
        }
    }

    fn started_at(&self) -> Option<&'a Timestamp> {
        match self {
            TurnSource::Ended(turn) => turn.started_at.as_ref(),
            TurnSource::Active(turn) => Some(&turn.started_at),
        }
    }

    fn parts(&self) -> &'a [Arc<ResponsePart>] {
        match self {
            TurnSource::Ended(turn) => &turn.response_parts,
            TurnSource::Active(turn) => &turn.response_parts,
        }
    }

    fn usage(&self) -> Option<&'a UsageInfo> {
        match self {
            TurnSource::Ended(turn) => turn.usage.as_ref(),
            TurnSource::Active(turn) => turn.usage.as_ref(),
        }
    }
}

impl TurnCache {
    pub(super) fn new(id: &TurnId) -> Self {
        TurnCache {
            id: id.clone(),
            ended: Weak::new(),
            cost_before: CostTrack::default(),
            message: None,
            parts: Vec::new(),
            end: None,
            cost_after: None,
        }
    }

    pub(super) fn id(&self) -> &TurnId {
        &self.id
    }

    pub(super) fn is_of(&self, id: &TurnId) -> bool {
        self.id == *id
    }

    /// Compares pointers first: reading the ids of all turns would cost most of an update.
    pub(super) fn is_of_turn(&self, turn: &Arc<Turn>) -> bool {
        is_source(&self.ended, turn) || self.is_of(&turn.id)
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Arc<TimelineRow>> {
        let message = self.message.iter().map(|message| &message.row);
        let parts = self.parts.iter().flat_map(PartCache::rows);
        message.chain(parts).chain(&self.end)
    }

    pub(super) fn row_count(&self) -> usize {
        self.rows().count()
    }

    /// Computes the rows whose source changed. Returns `true` if the keys of the rows changed.
    pub(super) fn refresh(
        &mut self,
        source: &TurnSource<'_>,
        cost: &mut CostTrack,
        refresh: &mut Refresh<'_>,
    ) -> bool {
        let delivery = self.delivery(refresh);
        let is_same = match source {
            TurnSource::Ended(turn) => is_source(&self.ended, turn),
            TurnSource::Active(_) => false,
        };
        let had_delivery = self.message.as_ref().and_then(|message| message.delivery);
        if is_same && self.cost_before == *cost && had_delivery == delivery {
            cost.advance(self.cost_after.as_ref());
            return false;
        }
        let is_new_message = self.message.is_none();
        self.refresh_message(source, delivery, refresh);
        let parts_changed = self.refresh_parts(source, refresh);
        self.cost_after = source.usage().and_then(CostAmount::of_usage);
        let had_end = self.end.is_some();
        match source {
            TurnSource::Ended(turn) => {
                if !is_same || self.cost_before != *cost {
                    let row = self.end_row(turn, cost);
                    self.end = Some(refresh.emit(row));
                }
                self.ended = Arc::downgrade(turn);
            }
            TurnSource::Active(_) => {
                self.end = None;
                self.ended = Weak::new();
            }
        }
        self.cost_before = cost.clone();
        cost.advance(self.cost_after.as_ref());
        is_new_message || parts_changed || had_end != self.end.is_some()
    }

    /// Returns the delivery of the message. A message that was shown as sent is confirmed later.
    fn delivery(&self, refresh: &Refresh<'_>) -> Option<MessageDelivery> {
        if !refresh.unconfirmed.is_empty() && refresh.unconfirmed.contains(&self.id) {
            return Some(MessageDelivery::Sent);
        }
        let shown = self.message.as_ref().and_then(|message| message.delivery);
        shown.map(|_| MessageDelivery::Confirmed)
    }

    fn refresh_message(
        &mut self,
        source: &TurnSource<'_>,
        delivery: Option<MessageDelivery>,
        refresh: &mut Refresh<'_>,
    ) {
        let message = source.message();
        if let Some(cache) = &self.message
            && is_source(&cache.source, message)
            && cache.delivery == delivery
        {
            return;
        }
        let from = message_source(&message.origin.kind);
        let body = RowBody::Message {
            from,
            // Users type plain text: a command with asterisks is shown as it was sent.
            blocks: match from {
                MessageSource::User => {
                    blocks_of(&MaybeMarkdown::Plain(visible_prose(&message.text)))
                }
                MessageSource::Agent
                | MessageSource::Tool
                | MessageSource::Automation
                | MessageSource::System => parse_markdown(&message.text),
            },
            text: message.text.clone(),
            attachments: attachment_rows(message.attachments.as_deref()),
            at: source.started_at().cloned(),
            state: delivery,
        };
        self.message = Some(MessageCache {
            source: Arc::downgrade(message),
            delivery,
            row: refresh.emit(self.row("message", body)),
        });
    }

    /// Computes the changed parts. Returns `true` if rows were added or removed.
    fn refresh_parts(&mut self, source: &TurnSource<'_>, refresh: &mut Refresh<'_>) -> bool {
        let parts = source.parts();
        let is_active = matches!(source, TurnSource::Active(_));
        let mut changed = self.parts.len() > parts.len();
        // Most turns have few parts, and a chat has many turns.
        let added = parts.len().saturating_sub(self.parts.len());
        if self.parts.is_empty() {
            self.parts.reserve_exact(added);
        }
        self.parts.resize_with(parts.len(), PartCache::default);
        for (index, (part, cache)) in parts.iter().zip(&mut self.parts).enumerate() {
            let is_last = is_active && index + 1 == parts.len();
            let place = PartPlace {
                turn: &self.id,
                index,
            };
            changed |= cache.refresh(part, is_last, place, refresh);
        }
        changed
    }

    fn end_row(&self, turn: &Turn, cost: &CostTrack) -> TimelineRow {
        let state = match turn.state {
            TurnState::Complete => TurnOutcome::Complete,
            TurnState::Cancelled => TurnOutcome::Cancelled,
            TurnState::Error => TurnOutcome::Error,
        };
        let share = self.cost_after.as_ref().filter(|_| cost.is_known);
        let share = share.map(|after| after.since(cost.total.as_ref()));
        let usage = turn.usage.as_ref();
        let body = RowBody::TurnEnd {
            state,
            duration_ms: turn.duration,
            usage: usage.map(|usage| Box::new(UsageRow::of_turn(usage, share.as_ref()))),
        };
        self.row("end", body)
    }

    fn row(&self, place: &str, body: RowBody) -> TimelineRow {
        TimelineRow {
            key: RowKey::new(&self.id, place),
            turn_id: self.id.clone(),
            body,
        }
    }
}

/// Returns `true` if the reference was made from this allocation. An action that changes a shared
/// value moves it to another one.
pub(super) fn is_source<T>(source: &Weak<T>, value: &Arc<T>) -> bool {
    Weak::as_ptr(source) == Arc::as_ptr(value)
}

fn message_source(kind: &MessageKind) -> MessageSource {
    match kind {
        MessageKind::User => MessageSource::User,
        MessageKind::Agent => MessageSource::Agent,
        MessageKind::Tool => MessageSource::Tool,
        MessageKind::Automation => MessageSource::Automation,
        MessageKind::SystemNotification | MessageKind::Unknown(_) => MessageSource::System,
    }
}
