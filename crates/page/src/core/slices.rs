//! The slices of the page, computed once per frame and sent as patches.

use std::collections::{BTreeMap, BTreeSet};

use agenthost_protocol::action::Action;
use agenthost_protocol::chat::{ChatAction, ChatInteractivity};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;
use agenthost_view::changes::ChangesView;
use agenthost_view::chat_list::chat_rows;
use agenthost_view::composer::{ComposerView, NamedOption, config_rows, model_options};
use agenthost_view::inbox::{InboxEntry, InboxView};
use agenthost_view::location::path_of;
use agenthost_view::queue::queue_rows;
use agenthost_view::session_list::{SessionEntry, SessionList};
use agenthost_view::timeline::{Timeline, TimelineContext};
use serde::Serialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::PageCore;
use crate::effect::{PageEffect, SlicePatch};

/// Folders that a new session can use.
const MAX_FOLDERS: usize = 50;

/// The groups of slices that have to be computed again.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DirtySlices {
    pub(super) link: bool,
    pub(super) sessions: bool,
    pub(super) chat: bool,
    pub(super) changes: bool,
}

impl DirtySlices {
    pub(super) const ALL: Self = DirtySlices {
        link: true,
        sessions: true,
        chat: true,
        changes: true,
    };

    pub(super) fn any(self) -> bool {
        self.link || self.sessions || self.chat || self.changes
    }
}

/// A message of the core to the user.
#[derive(Debug, Serialize)]
pub(super) struct NoteRow {
    pub(super) id: String,
    tone: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    restored: Option<String>,
}

impl NoteRow {
    pub(super) fn error(id: String, text: String, restored: Option<String>) -> Self {
        NoteRow {
            id,
            tone: "error",
            text,
            restored,
        }
    }
}

/// The slices that the page has.
#[derive(Debug, Default)]
pub(super) struct SliceCache {
    values: BTreeMap<&'static str, String>,
    rows: BTreeMap<&'static str, KeyedRows>,
    timeline: Option<ShownTimeline>,
}

#[derive(Debug, Default)]
struct KeyedRows {
    order: Vec<String>,
    rows: BTreeMap<String, String>,
}

/// The timeline of the chat that the page shows.
#[derive(Debug)]
struct ShownTimeline {
    chat: Uri,
    timeline: Timeline,
}

impl SliceCache {
    pub(super) fn reset_timeline(&mut self) {
        self.timeline = None;
    }

    /// Adds the patch of a slice with one value, if it changed.
    fn set_value(
        &mut self,
        patches: &mut Vec<SlicePatch>,
        slice: &'static str,
        value: &impl Serialize,
    ) {
        let Ok(raw) = to_raw_value(value) else {
            return;
        };
        if self
            .values
            .get(slice)
            .is_some_and(|before| before == raw.get())
        {
            return;
        }
        self.values.insert(slice, raw.get().to_owned());
        patch_of(patches, slice).value = Some(raw);
    }

    /// Adds the patch of a slice with rows: the changed rows, and the order if it changed.
    fn set_rows<'a, R: Serialize + 'a>(
        &mut self,
        patches: &mut Vec<SlicePatch>,
        slice: &'static str,
        rows: impl Iterator<Item = (String, &'a R)>,
    ) {
        let shown = self.rows.entry(slice).or_default();
        let mut order = Vec::new();
        let mut changed: BTreeMap<String, Box<RawValue>> = BTreeMap::new();
        let mut kept = BTreeMap::new();
        for (key, row) in rows {
            let Ok(raw) = to_raw_value(row) else {
                continue;
            };
            let text = raw.get().to_owned();
            if shown.rows.get(&key) != Some(&text) {
                changed.insert(key.clone(), raw);
            }
            kept.insert(key.clone(), text);
            order.push(key);
        }
        shown.rows = kept;
        let has_order = shown.order != order;
        if !has_order && changed.is_empty() {
            return;
        }
        let patch = patch_of(patches, slice);
        if has_order {
            shown.order.clone_from(&order);
            patch.order = Some(order);
        }
        if !changed.is_empty() {
            patch.set = to_raw_value(&changed).ok();
        }
    }
}

/// Returns the patch of a slice, which is added if there is none.
fn patch_of<'a>(patches: &'a mut Vec<SlicePatch>, slice: &'static str) -> &'a mut SlicePatch {
    let position = patches.iter().position(|patch| patch.slice == slice);
    let position = position.unwrap_or_else(|| {
        patches.push(SlicePatch {
            slice,
            value: None,
            order: None,
            splice: None,
            set: None,
        });
        patches.len() - 1
    });
    #[expect(
        clippy::indexing_slicing,
        reason = "the position was found or added above"
    )]
    &mut patches[position]
}

impl PageCore {
    /// Computes the slices that have changed, and sends their patches.
    pub(super) fn draw(&mut self) {
        self.wants_frame = false;
        let dirty = std::mem::take(&mut self.dirty);
        let mut slices = std::mem::take(&mut self.slices);
        let mut patches = Vec::new();
        if dirty.link {
            let pending = self.results.len();
            slices.set_value(&mut patches, "link", &self.link.view(pending));
            slices.set_value(&mut patches, "notes", &self.notes);
        }
        if dirty.sessions {
            self.draw_sessions(&mut slices, &mut patches);
        }
        if dirty.chat {
            self.draw_chat(&mut slices, &mut patches);
        }
        if dirty.changes {
            self.draw_changes(&mut slices, &mut patches);
        }
        self.slices = slices;
        if !patches.is_empty() {
            self.effects.push(PageEffect::Patch { patches });
        }
    }

    fn agents(&self) -> &[AgentInfo] {
        self.root_state().map_or(&[], |root| &root.agents)
    }

    fn session_entry<'a>(&'a self, summary: &'a SessionSummary) -> SessionEntry<'a> {
        SessionEntry {
            summary,
            state: self.session_state(&summary.resource),
        }
    }

    fn draw_sessions(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        let agents = self.agents();
        let entries = || {
            self.sessions
                .summaries()
                .map(|summary| self.session_entry(summary))
        };
        let list = SessionList::compute(entries(), agents, &self.filter);
        let keyed = list.rows.iter().map(|row| (row.key.to_string(), row));
        slices.set_rows(patches, "sessions", keyed);
        let groups = json!({"groups": list.groups, "total": list.total});
        slices.set_value(patches, "sessions", &groups);
        let inbox = entries().map(|session| InboxEntry {
            session,
            last_turn: None,
        });
        let inbox = InboxView::compute(inbox, agents);
        let keyed = inbox.rows.iter().map(|row| (row.key.clone(), row));
        slices.set_rows(patches, "inbox", keyed);
        slices.set_value(patches, "inbox", &json!({"alike": inbox.alike}));
        slices.set_value(patches, "host", &self.host_view());
    }

    fn host_view(&self) -> serde_json::Value {
        let mut folders = BTreeSet::new();
        for summary in self.sessions.summaries() {
            let directories = summary.metadata.working_directories.iter().flatten();
            folders.extend(directories.take(1).map(path_of));
        }
        let agents = self.agents().iter().map(|agent| {
            let models: Vec<NamedOption> = model_options(agent);
            json!({
                "provider": agent.provider, "label": agent.display_name,
                "description": agent.description, "models": models,
            })
        });
        json!({
            "name": "agenthost",
            "version": env!("CARGO_PKG_VERSION"),
            "agents": agents.collect::<Vec<_>>(),
            "folders": folders.into_iter().take(MAX_FOLDERS).collect::<Vec<_>>(),
        })
    }

    fn draw_chat(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        slices.set_value(patches, "chat", &self.chat_view());
        let state = self.chat_state();
        let agent = self.selected_agent();
        let composer = state.map(|state| ComposerView::compute(state, agent));
        slices.set_value(patches, "composer", &composer);
        let queue = state.map(queue_rows).unwrap_or_default();
        slices.set_value(patches, "queue", &queue);
        self.draw_timeline(slices, patches);
    }

    fn draw_timeline(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        let (Some(chat), Some(state)) = (&self.chat, self.chat_state()) else {
            slices.timeline = None;
            slices.set_rows::<()>(patches, "timeline", std::iter::empty());
            let loading = self.chat.is_some();
            let empty = json!({"chat": self.chat, "loading": loading, "older": false});
            slices.set_value(patches, "timeline", &empty);
            return;
        };
        let session = self.session.as_ref();
        let session = session.and_then(|uri| Some((uri, self.session_state(uri)?)));
        let Some((uri, session)) = session else {
            return;
        };
        let context = TimelineContext::of_chat(uri, session, chat);
        let is_new = slices
            .timeline
            .as_ref()
            .is_none_or(|shown| shown.chat != *chat);
        let shown = slices.timeline.get_or_insert_with(|| ShownTimeline {
            chat: chat.clone(),
            timeline: Timeline::new(context.clone()),
        });
        if is_new {
            shown.chat = chat.clone();
            shown.timeline = Timeline::new(context.clone());
        }
        shown.timeline.set_context(context);
        shown.timeline.set_unconfirmed(self.unconfirmed_turns(chat));
        let change = shown.timeline.update(state);
        if is_new {
            // The page starts with an empty list.
            let keys = shown.timeline.rows().map(|row| json!(row.key));
            let keys = keys.filter_map(|key| key.as_str().map(str::to_owned));
            let order: Vec<_> = keys.collect();
            patch_of(patches, "timeline").order = Some(order);
        }
        let older = state.turns_next_cursor.is_some();
        let value = json!({"chat": chat, "loading": false, "older": older});
        slices.set_value(patches, "timeline", &value);
        if change.is_empty() {
            return;
        }
        let patch = patch_of(patches, "timeline");
        if !is_new {
            patch.splice.clone_from(&change.splice);
        }
        let rows: BTreeMap<_, _> = change
            .set
            .iter()
            .filter_map(|row| Some((json!(row.key).as_str()?.to_owned(), row)))
            .collect();
        patch.set = to_raw_value(&rows).ok();
    }

    /// Returns the turns that the user has started and the host has not confirmed.
    fn unconfirmed_turns(&self, chat: &Uri) -> BTreeSet<TurnId> {
        let engine = self.engine.iter();
        let pending = engine.flat_map(|engine| engine.pending_actions(chat));
        let turns = pending.filter_map(|pending| match &pending.action {
            Action::Chat(ChatAction::TurnStarted(started)) => Some(started.turn_id.clone()),
            _ => None,
        });
        turns.collect()
    }

    fn selected_agent(&self) -> Option<&AgentInfo> {
        let session = self.session_state(self.session.as_ref()?)?;
        let provider = &session.metadata.provider;
        self.agents()
            .iter()
            .find(|agent| agent.provider == *provider)
    }

    fn chat_view(&self) -> Option<serde_json::Value> {
        let (uri, chat) = (self.session.as_ref()?, self.chat.as_ref()?);
        let session = self.session_state(uri)?;
        let summary = self.sessions.get(uri);
        let row = summary.map(|summary| {
            let list = [self.session_entry(summary)];
            SessionList::compute(list, self.agents(), &Default::default())
        });
        let row = row.and_then(|list| list.rows.into_iter().next());
        let chats = chat_rows(uri, session);
        let chats = chats.iter().map(|row| {
            json!({
                "key": row.key, "title": row.title, "status": row.status,
                "waiting": row.waiting, "depth": row.depth,
            })
        });
        let agent = self
            .selected_agent()
            .map(|agent| agent.display_name.clone());
        let folders = session.metadata.working_directories.as_ref();
        let folder = folders.and_then(|folders| folders.first()).map(path_of);
        let state = self.chat_state();
        let interactivity = state.and_then(|state| state.summary.interactivity);
        Some(json!({
            "session": uri, "chat": chat, "title": session.metadata.title,
            "chats": chats.collect::<Vec<_>>(), "folder": folder,
            "agent": agent.unwrap_or_else(|| session.metadata.provider.to_string()),
            "status": row.as_ref().map(|row| row.status),
            "readOnly": interactivity == Some(ChatInteractivity::ReadOnly),
            "config": config_rows(session),
        }))
    }

    fn draw_changes(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        let choices = self.changeset_choices();
        let view = self.changes.changeset.as_ref().and_then(|uri| {
            let state = self.changeset_state()?;
            let label = choices.iter().find(|choice| choice.uri == *uri);
            let label = label.map_or("", |choice| choice.label.as_str());
            Some(ChangesView::compute(uri, label, state))
        });
        let value = match view {
            Some(view) => {
                let mut value = json!(view);
                if let Some(object) = value.as_object_mut() {
                    object.insert("sets".to_owned(), json!(choices));
                }
                Some(value)
            }
            // The page picks a changeset from the list.
            None if choices.is_empty() => None,
            None => Some(json!({
                "uri": "", "label": "", "status": "computing", "files": [], "added": 0,
                "removed": 0, "operations": [], "sets": choices,
            })),
        };
        slices.set_value(patches, "changes", &value);
        slices.set_value(patches, "diff", &self.changes.view());
    }
}
