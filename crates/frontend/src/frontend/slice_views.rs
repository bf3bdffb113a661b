//! The slices of the page as values.

use agenthost_protocol::action::Action;
use agenthost_protocol::chat::{ChatAction, ChatInteractivity};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::sorted::SortedSet;
use agenthost_protocol::uri::Uri;
use agenthost_view::changes::{ChangesStatus, ChangesView, ChangesetChoice};
use agenthost_view::chat_list::{ChatRow, chat_rows};
use agenthost_view::composer::{ComposerView, ConfigRow, NamedOption, config_rows, model_options};
use agenthost_view::inbox::{InboxEntry, InboxGroup, InboxView};
use agenthost_view::location::path_of;
use agenthost_view::queue::queue_rows;
use agenthost_view::session_list::{
    SessionActivity, SessionEntry, SessionGroup, SessionList, creation_reason, recent_folders,
};
use agenthost_view::timeline::{Timeline, TimelineContext};
use agenthost_view::visible_text::visible_order;
use serde::Serialize;
use serde_json::value::to_raw_value;

use super::Frontend;
use super::slices::{KeyedPatch, ShownTimeline, SliceCache, patch_of};
use crate::effect::SlicePatch;

/// Folders that are offered for a new session.
const MAX_FOLDERS: usize = 50;

/// `value` of slice `sessions`, beside its rows.
#[derive(Debug, Serialize)]
struct SessionGroups<'a> {
    groups: &'a [SessionGroup],
    total: usize,
}

/// `value` of slice `inbox`, beside its rows.
#[derive(Debug, Serialize)]
struct InboxGroups<'a> {
    alike: &'a [InboxGroup],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HostView<'a> {
    name: &'static str,
    /// Version of the page.
    version: &'static str,
    /// Version of the host, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    host_version: Option<&'a str>,
    /// Directory at which the folder browser starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    home: Option<String>,
    /// Scope of this device, unless it may do everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'a str>,
    /// Reason for which the host can't store changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    storage_problem: Option<String>,
    agents: Vec<AgentChoice<'a>>,
    folders: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AgentChoice<'a> {
    provider: &'a str,
    label: &'a str,
    description: &'a str,
    models: Vec<NamedOption>,
    /// Sessions of the agent can be copied.
    can_fork: bool,
}

/// `value` of slice `timeline`, beside its rows.
#[derive(Debug, Serialize)]
struct TimelineState<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    chat: Option<&'a Uri>,
    loading: bool,
    older: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ChatView<'a> {
    session: &'a Uri,
    chat: &'a Uri,
    title: String,
    chats: Vec<ChatRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<SessionActivity>,
    read_only: bool,
    /// Reason for which the session could not be created.
    #[serde(skip_serializing_if = "Option::is_none")]
    creation_error: Option<String>,
    /// The message that could not be sent because of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsent: Option<&'a str>,
    config: Vec<ConfigRow>,
    /// The agent can have several chats, copy them, and start side chats.
    can_add_chat: bool,
    can_fork: bool,
    can_side_chat: bool,
}

#[derive(Debug, Serialize)]
struct ChangesPanelView {
    #[serde(flatten)]
    changes: ChangesView,
    sets: Vec<ChangesetChoice>,
}

impl Frontend {
    pub(super) fn agents(&self) -> &[AgentInfo] {
        self.root_state().map_or(&[], |root| &root.agents)
    }

    pub(super) fn session_entry<'a>(&'a self, summary: &'a SessionSummary) -> SessionEntry<'a> {
        SessionEntry {
            summary,
            state: self.session_state(&summary.resource),
        }
    }

    pub(super) fn draw_sessions(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        let agents = self.agents();
        let entries = || {
            self.sessions
                .summaries()
                .map(|summary| self.session_entry(summary))
        };
        let list = SessionList::compute(entries(), agents, &self.filter);
        let keyed = list.rows.iter().map(|row| (row.key.to_string(), row));
        slices.set_rows(patches, "sessions", keyed);
        let groups = SessionGroups {
            groups: &list.groups,
            total: list.total,
        };
        slices.set_value(patches, "sessions", &groups);
        let inbox = entries().map(|session| InboxEntry {
            session,
            last_turn: None,
            tokens: self.tokens.of_session(&session.summary.resource),
        });
        let inbox = InboxView::compute(inbox, agents);
        let keyed = inbox.rows.iter().map(|row| (row.key.clone(), row));
        slices.set_rows(patches, "inbox", keyed);
        let groups = InboxGroups {
            alike: &inbox.alike,
        };
        slices.set_value(patches, "inbox", &groups);
        slices.set_value(patches, "host", &self.host_view());
    }

    fn host_view(&self) -> HostView<'_> {
        let sessions = self.sessions.summaries();
        let sessions = sessions.map(|summary| self.session_entry(summary));
        let agents = self.agents().iter().map(|agent| AgentChoice {
            provider: agent.provider.as_str(),
            label: &agent.display_name,
            description: &agent.description,
            models: model_options(agent),
            can_fork: can_fork(agent),
        });
        HostView {
            name: "agenthost",
            version: env!("CARGO_PKG_VERSION"),
            host_version: self.host.version.as_deref(),
            home: self.host.home.as_ref().map(path_of),
            scope: self.host.scope.as_deref(),
            storage_problem: self.storage_problem(),
            agents: agents.collect(),
            folders: recent_folders(sessions, MAX_FOLDERS),
        }
    }

    pub(super) fn draw_chat(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        slices.set_value(patches, "chat", &self.chat_view());
        let state = self.chat_state();
        let agent = self.selected_agent();
        let composer = state.map(|state| ComposerView::compute(state, agent, &self.client_id));
        slices.set_value(patches, "composer", &composer);
        let queue = state.map(queue_rows).unwrap_or_default();
        slices.set_value(patches, "queue", &queue);
        self.draw_timeline(slices, patches);
    }

    pub(super) fn draw_timeline(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        let (Some(chat), Some(state)) = (&self.chat, self.chat_state()) else {
            slices.timeline = None;
            slices.set_rows::<()>(patches, "timeline", std::iter::empty());
            let loading = self.chat.is_some();
            let empty = TimelineState {
                chat: self.chat.as_ref(),
                loading,
                older: false,
            };
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
            let keys = shown.timeline.rows().map(|row| row.key.as_str().to_owned());
            patch_of(patches, "timeline").order = Some(keys.collect());
        }
        let older = state.turns_next_cursor.is_some();
        let value = TimelineState {
            chat: Some(chat),
            loading: false,
            older,
        };
        slices.set_value(patches, "timeline", &value);
        if change.is_empty() {
            return;
        }
        let patch = patch_of(patches, "timeline");
        if !is_new {
            patch.splice.clone_from(&change.splice);
        }
        let rows = change.set.iter().map(|row| (row.key.as_str(), row));
        patch.set = to_raw_value(&KeyedPatch(rows.collect())).ok();
    }

    /// Returns the turns that the user has started and the host has not confirmed.
    pub(super) fn unconfirmed_turns(&self, chat: &Uri) -> SortedSet<TurnId> {
        let engine = self.engine.iter();
        let pending = engine.flat_map(|engine| engine.pending_actions(chat));
        let turns = pending.filter_map(|pending| match &*pending.action {
            Action::Chat(ChatAction::TurnStarted(started)) => Some(started.turn_id.clone()),
            _ => None,
        });
        turns.collect()
    }

    pub(super) fn selected_agent(&self) -> Option<&AgentInfo> {
        let session = self.session_state(self.session.as_ref()?)?;
        let provider = &session.metadata.provider;
        self.agents()
            .iter()
            .find(|agent| agent.provider == *provider)
    }

    fn chat_view(&self) -> Option<ChatView<'_>> {
        let (uri, chat) = (self.session.as_ref()?, self.chat.as_ref()?);
        let session = self.session_state(uri)?;
        let summary = self.sessions.get(uri);
        let row = summary.map(|summary| {
            let list = [self.session_entry(summary)];
            SessionList::compute(list, self.agents(), &Default::default())
        });
        let row = row.and_then(|list| list.rows.into_iter().next());
        let agent = self
            .selected_agent()
            .map_or(session.metadata.provider.as_str(), |agent| {
                &agent.display_name
            });
        let folders = session.metadata.working_directories.as_ref();
        let folder = folders.and_then(|folders| folders.first()).map(path_of);
        let capabilities = self.selected_agent();
        let capabilities = capabilities.and_then(|agent| agent.capabilities.as_ref());
        let chats = capabilities.and_then(|capabilities| capabilities.multiple_chats.as_ref());
        let state = self.chat_state();
        let interactivity = state.and_then(|state| state.summary.interactivity);
        Some(ChatView {
            session: uri,
            chat,
            title: visible_order(&session.metadata.title),
            chats: chat_rows(uri, session),
            folder,
            agent,
            status: row.map(|row| row.status),
            unsent: self.unsent_text(uri),
            creation_error: creation_reason(Some(session), None),
            read_only: interactivity == Some(ChatInteractivity::ReadOnly),
            config: config_rows(session),
            can_add_chat: chats.is_some(),
            can_fork: chats.is_some_and(|chats| chats.fork == Some(true)),
            can_side_chat: chats.is_some_and(|chats| chats.side_chat == Some(true)),
        })
    }

    pub(super) fn draw_changes(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        let choices = self.changeset_choices();
        let view = self.changes.changeset.as_ref().and_then(|uri| {
            let state = self.changeset_state()?;
            let label = choices.iter().find(|choice| choice.uri == *uri);
            let label = label.map_or("", |choice| choice.label.as_str());
            Some(ChangesView::compute(uri, label, state))
        });
        let value = match view {
            Some(changes) => Some(ChangesPanelView {
                changes,
                sets: choices,
            }),
            None if choices.is_empty() => None,
            // The page picks a changeset from the list.
            None => Some(ChangesPanelView {
                changes: ChangesView {
                    uri: Uri::from(""),
                    label: String::new(),
                    status: ChangesStatus::Computing,
                    error: None,
                    files: Vec::new(),
                    added: 0,
                    removed: 0,
                    reviewed: 0,
                    operations: Vec::new(),
                },
                sets: choices,
            }),
        };
        slices.set_value(patches, "changes", &value);
        slices.set_value(patches, "diff", &self.changes.diff_view());
    }

    /// Draws the panels beside the changes.
    pub(super) fn draw_panels(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        self.draw_settings(slices, patches);
        self.draw_customizations(slices, patches);
        self.draw_review(slices, patches);
    }
}

fn can_fork(agent: &AgentInfo) -> bool {
    let capabilities = agent.capabilities.as_ref();
    let chats = capabilities.and_then(|capabilities| capabilities.multiple_chats.as_ref());
    chats.is_some_and(|chats| chats.fork == Some(true))
}
