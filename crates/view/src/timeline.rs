//! The timeline of a chat: rows with stable keys, oldest first.
//!
//! [`Timeline`] keeps the rows of the state that it saw last. A row is computed again only if the
//! part of the state behind it was replaced: completed turns and response parts are compared by
//! pointer. So a delta in a chat of any length costs one row. The key of a row is the id of its
//! turn with the position of the part, which never changes. A long text has several rows.

mod cache;
mod part;
mod plan;
mod row;
mod tool_call;

use std::collections::HashMap;
use std::sync::Arc;

use agenthost_protocol::chat::{ChatState, ResponsePart};
use agenthost_protocol::ids::{CustomizationId, InputRequestId, ToolCallId, TurnId};
use agenthost_protocol::session::{ChildCustomization, Customization, SessionState};
use agenthost_protocol::sorted::SortedSet;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use serde::{Serialize, Serializer};

pub(crate) use tool_call::{answering_client, answering_client_id};

pub use plan::{PlanEntry, PlanStatus};
pub use row::{
    CallContent, CallDecision, CallOutcome, CallStatus, FormOutcome, MessageDelivery,
    MessageSource, RowBody, RowKey, TimelineRow, ToolCallRow, TurnOutcome,
};

use crate::mcp_app::app_servers;
use crate::request::RequestScope;
use crate::visible_text::visible_label;
use cache::{CostTrack, TurnCache, TurnSource};

/// The `_meta` key of a session for the clients that answered its forms.
const ANSWERED_FORMS_META_KEY: &str = "agenthost.answeredForms";

/// Maximum length of the name of a client, in characters.
const MAX_CLIENT_NAME_CHARS: usize = 60;

/// Names that the rows of a chat need from its session.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineContext {
    /// Place of the requests of the chat.
    pub scope: RequestScope,
    /// Display names of MCP servers and clients, by their ids.
    pub contributors: HashMap<String, String>,
    /// Names of the clients that answered forms of the chat, by the id of the request.
    pub answered_forms: HashMap<String, String>,
    /// MCP servers whose apps can be shown.
    pub app_servers: SortedSet<CustomizationId>,
}

/// The rows of a chat, kept between updates.
#[derive(Debug)]
pub struct Timeline {
    context: TimelineContext,
    unconfirmed: SortedSet<TurnId>,
    turns: Vec<TurnCache>,
    active: Option<TurnCache>,
    order: Vec<RowKey>,
}

/// The changes of an update.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TimelinePatch {
    /// Change of the order of the keys, if rows were added or removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub splice: Option<RowSplice>,
    /// Rows that were computed, by key.
    #[serde(serialize_with = "rows_by_key")]
    pub set: Vec<Arc<TimelineRow>>,
}

/// A replacement of consecutive keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RowSplice {
    /// Position of the first key that is replaced.
    pub start: usize,
    /// Number of keys that are removed.
    pub remove: usize,
    /// Keys that are inserted at the position.
    pub keys: Vec<RowKey>,
}

impl TimelineContext {
    /// Returns the context of a chat of a session.
    pub fn of_chat(uri: &Uri, session: &SessionState, chat: &Uri) -> Self {
        let mut contributors = HashMap::new();
        for client in &session.active_clients {
            if let Some(name) = &client.display_name {
                contributors.insert(client.client_id.to_string(), name.clone());
            }
        }
        let customizations = session.customizations.iter().flat_map(|all| all.items());
        for customization in customizations {
            if let Customization::McpServer(server) = customization {
                contributors.insert(server.base.id.to_string(), server.base.name.clone());
            }
            for child in customization.children().into_iter().flatten() {
                if let ChildCustomization::McpServer(server) = child {
                    contributors.insert(server.base.id.to_string(), server.base.name.clone());
                }
            }
        }
        TimelineContext {
            scope: RequestScope::of_chat(uri, session, chat),
            contributors,
            answered_forms: answered_forms(session, chat),
            app_servers: app_servers(session).map(|(id, _)| id.clone()).collect(),
        }
    }
}

/// Returns the names of the clients that answered forms of a chat.
fn answered_forms(session: &SessionState, chat: &Uri) -> HashMap<String, String> {
    let meta = session.meta.as_ref();
    let forms = meta.and_then(|meta| meta.get(ANSWERED_FORMS_META_KEY)?.as_array());
    let entries = forms.into_iter().flatten().filter_map(|entry| {
        let field = |name| entry.get(name).and_then(Json::as_str);
        let name = visible_label(field("name")?, MAX_CLIENT_NAME_CHARS);
        (field("chat")? == chat.as_str()).then_some((field("requestId")?.to_owned(), name))
    });
    entries.collect()
}

/// Returns the name of the client that answered a form of a chat.
pub fn form_answered_by(
    session: &SessionState,
    chat: &Uri,
    request: &InputRequestId,
) -> Option<String> {
    answered_forms(session, chat).remove(request.as_str())
}

/// Returns the name of the client that answered the request of a tool call.
pub fn call_answered_by(chat: &ChatState, turn: &TurnId, call: &ToolCallId) -> Option<String> {
    let active = chat.active_turn.iter().filter(|active| active.id == *turn);
    let active = active.flat_map(|active| active.response_parts.items());
    let ended = chat.turns.items().filter(|ended| ended.id == *turn);
    let ended = ended.flat_map(|ended| ended.response_parts.items());
    let mut parts = active.chain(ended);
    let head = parts.find_map(|part| match part {
        ResponsePart::ToolCall(part) => {
            let head = part.tool_call.head();
            head.filter(|head| head.tool_call_id == *call)
        }
        ResponsePart::Markdown(_)
        | ResponsePart::Reasoning(_)
        | ResponsePart::InputRequest(_)
        | ResponsePart::SystemNotification(_)
        | ResponsePart::Error(_)
        | ResponsePart::ContentRef(_)
        | ResponsePart::Unknown(_) => None,
    });
    tool_call::answering_client(head?.meta.as_ref())
}

impl Timeline {
    /// Creates the timeline of a chat, without rows.
    pub fn new(context: TimelineContext) -> Self {
        Timeline {
            context,
            unconfirmed: SortedSet::new(),
            turns: Vec::new(),
            active: None,
            order: Vec::new(),
        }
    }

    /// Sets the names that the rows need. If they changed, the next update computes all rows.
    pub fn set_context(&mut self, context: TimelineContext) {
        if self.context != context {
            self.context = context;
            self.turns.clear();
            self.active = None;
        }
    }

    /// Sets the turns that this client has started and the host has not confirmed.
    pub fn set_unconfirmed(&mut self, turns: SortedSet<TurnId>) {
        self.unconfirmed = turns;
    }

    /// Computes the rows of a state and returns the changes since the last update.
    pub fn update(&mut self, chat: &ChatState) -> TimelinePatch {
        let mut refresh = Refresh {
            context: &self.context,
            unconfirmed: &self.unconfirmed,
            set: Vec::new(),
        };
        let mut cost = CostTrack::of_chat(chat);
        let mut first_changed = None;
        let mut position = 0;
        // Turns at their places, which is the usual case.
        for (turn, cache) in chat.turns.iter().zip(&mut self.turns) {
            if !cache.is_of_turn(turn) {
                break;
            }
            let changed = cache.refresh(&TurnSource::Ended(turn), &mut cost, &mut refresh);
            if changed && first_changed.is_none() {
                first_changed = Some(position);
            }
            position += 1;
        }
        // Other turns: appended, inserted before, or removed.
        if position < chat.turns.len() || position < self.turns.len() {
            first_changed.get_or_insert(position);
            let moved = self.turns.drain(position..).chain(self.active.take());
            let mut moved: HashMap<_, _> = moved.map(|cache| (cache.id().clone(), cache)).collect();
            for turn in chat.turns.iter().skip(position) {
                let mut cache = moved
                    .remove(&turn.id)
                    .unwrap_or_else(|| TurnCache::new(&turn.id));
                cache.refresh(&TurnSource::Ended(turn), &mut cost, &mut refresh);
                self.turns.push(cache);
            }
            self.active = chat
                .active_turn
                .as_ref()
                .and_then(|turn| moved.remove(&turn.id));
        }
        let at_active = self.turns.len();
        if let Some(turn) = &chat.active_turn {
            let known = self.active.take().filter(|cache| cache.is_of(&turn.id));
            let mut cache = known.unwrap_or_else(|| TurnCache::new(&turn.id));
            if cache.refresh(&TurnSource::Active(turn), &mut cost, &mut refresh) {
                first_changed.get_or_insert(at_active);
            }
            self.active = Some(cache);
        } else if self.active.take().is_some() {
            first_changed.get_or_insert(at_active);
        }
        let set = refresh.set;
        let splice = first_changed.and_then(|turn| self.reorder(turn));
        TimelinePatch { splice, set }
    }

    /// Iterates over all rows, oldest first.
    pub fn rows(&self) -> impl Iterator<Item = &Arc<TimelineRow>> {
        self.caches().flat_map(TurnCache::rows)
    }

    fn caches(&self) -> impl Iterator<Item = &TurnCache> {
        self.turns.iter().chain(&self.active)
    }

    /// Updates the order from a turn on and returns the difference.
    fn reorder(&mut self, first_turn: usize) -> Option<RowSplice> {
        let before = self.caches().take(first_turn).map(TurnCache::row_count);
        let kept = before.sum::<usize>().min(self.order.len());
        let rows = self.caches().skip(first_turn).flat_map(TurnCache::rows);
        let new: Vec<_> = rows.map(|row| row.key.clone()).collect();
        let old = self.order.split_off(kept);
        let common = old.iter().zip(&new).take_while(|(old, new)| old == new);
        let start = common.count();
        let (old, inserted) = (old.get(start..)?, new.get(start..)?);
        let ends = old.iter().rev().zip(inserted.iter().rev());
        let end = ends.take_while(|(old, new)| old == new).count();
        let inserted = inserted.get(..inserted.len() - end)?.to_vec();
        let remove = old.len() - end;
        let splice = RowSplice {
            start: kept + start,
            remove,
            keys: inserted,
        };
        self.order.extend(new);
        (splice.remove > 0 || !splice.keys.is_empty()).then_some(splice)
    }
}

impl TimelinePatch {
    /// Returns `true` if no row changed.
    pub fn is_empty(&self) -> bool {
        self.splice.is_none() && self.set.is_empty()
    }
}

/// The inputs and the output of one update.
struct Refresh<'a> {
    context: &'a TimelineContext,
    unconfirmed: &'a SortedSet<TurnId>,
    /// Rows that were computed so far.
    set: Vec<Arc<TimelineRow>>,
}

impl Refresh<'_> {
    fn emit(&mut self, row: TimelineRow) -> Arc<TimelineRow> {
        let row = Arc::new(row);
        self.set.push(Arc::clone(&row));
        row
    }
}

fn rows_by_key<S: Serializer>(rows: &[Arc<TimelineRow>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(rows.iter().map(|row| (&row.key, row)))
}

#[cfg(test)]
mod tests;
