//! What the client shows, as typed values for a program in the same process.
//!
//! The page reads the same data as patches. A program that uses these functions calls
//! [`Frontend::take_changes`] instead of sending the input `frame`.

use std::sync::Arc;

use agenthost_protocol::chat::{ChatInteractivity, ChatState};
use agenthost_protocol::common::Meta;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::session::{SessionState, SessionSummary};
use agenthost_protocol::sorted::SortedSet;
use agenthost_protocol::terminal::TerminalState;
use agenthost_protocol::uri::Uri;
use agenthost_view::annotations::{CommentThread, CommentTotals};
use agenthost_view::changes::{ChangesView, ChangesetChoice};
use agenthost_view::composer::ComposerView;
use agenthost_view::customizations::{CodeReview, CustomizationFilter, CustomizationTree};
use agenthost_view::diff::FileDiff;
use agenthost_view::inbox::{InboxEntry, InboxView};
use agenthost_view::location::path_of;
use agenthost_view::session_list::{SessionList, recent_folders};
use agenthost_view::terminals::{TerminalContext, TerminalRow};
use agenthost_view::timeline::TimelineContext;
use agenthost_view::usage_report::{UsageReport, UsageSource};
use agenthost_view::visible_text::visible_order;

use super::Frontend;
use super::chats::RestoreView;
use super::link::LinkView;
use super::open_diff::DiffView;
use super::slices::NoteRow;
use crate::effect::FrontendEffect;

/// The setting with the reason why the host can't store changes.
const STORAGE_PROBLEM_KEY: &str = "storageProblem";

/// The groups of views that have changed since the last call of [`Frontend::take_changes`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangedViews {
    /// The connection and the notes.
    pub link: bool,
    /// Sessions, inbox and agents.
    pub sessions: bool,
    /// Timeline, queue and composer of the selected chat.
    pub chat: bool,
    /// Changed files, the open diff and comments.
    pub changes: bool,
    /// Terminals, customizations, usage and settings.
    pub panels: bool,
}

/// The inputs of the timeline of the selected chat.
#[derive(Debug)]
pub struct TimelineSource<'a> {
    pub chat: &'a Uri,
    pub state: &'a ChatState,
    pub context: TimelineContext,
    /// Turns that the user has started and the host has not confirmed.
    pub unconfirmed: SortedSet<TurnId>,
}

impl Frontend {
    /// Returns the views that have changed, and the output of open terminals.
    pub fn take_changes(&mut self) -> (ChangedViews, Vec<FrontendEffect>) {
        self.wants_frame = false;
        let dirty = std::mem::take(&mut self.dirty);
        if dirty.panels {
            self.draw_output();
        }
        let changed = ChangedViews {
            link: dirty.link,
            sessions: dirty.sessions,
            chat: dirty.chat,
            changes: dirty.changes,
            panels: dirty.panels,
        };
        (changed, std::mem::take(&mut self.effects))
    }

    /// Sets extension data of the sessions that are created from now on, such as the environment
    /// of the user's terminal.
    pub fn set_session_meta(&mut self, meta: Option<Meta>) {
        self.session_meta = meta;
    }

    pub fn link(&self) -> LinkView {
        self.link.view(self.results.len())
    }

    /// Returns messages to the user that were not dismissed, oldest first.
    pub fn notes(&self) -> &[NoteRow] {
        &self.notes
    }

    /// Returns the agents that the host offers.
    pub fn agent_list(&self) -> &[AgentInfo] {
        self.agents()
    }

    pub fn session_list(&self) -> SessionList {
        let entries = self.sessions.summaries();
        let entries = entries.map(|summary| self.session_entry(summary));
        SessionList::compute(entries, self.agents(), &self.filter)
    }

    pub fn inbox(&self) -> InboxView {
        let entries = self.sessions.summaries().map(|summary| InboxEntry {
            session: self.session_entry(summary),
            last_turn: None,
            tokens: self.tokens.of_session(&summary.resource),
        });
        InboxView::compute(entries, self.agents())
    }

    /// Returns the folders of sessions, the one that was used last first.
    pub fn folders(&self, limit: usize) -> Vec<String> {
        let entries = self.sessions.summaries();
        recent_folders(entries.map(|summary| self.session_entry(summary)), limit)
    }

    /// Returns the version of the host and its default directory, if they are known.
    pub fn host_description(&self) -> (Option<&str>, Option<String>) {
        let home = self.host.home.as_ref().map(path_of);
        (self.host.version.as_deref(), home)
    }

    /// Returns the reason why the host can't store changes, if it can't.
    pub fn storage_problem(&self) -> Option<String> {
        let config = self.root_state()?.config.as_ref()?;
        let problem = config.values.get(STORAGE_PROBLEM_KEY)?;
        problem.as_str().map(visible_order)
    }

    /// Returns the selected session, and its state if it has arrived.
    pub fn selected_session(&self) -> Option<(&Uri, Option<&SessionState>)> {
        let session = self.session.as_ref()?;
        Some((session, self.session_state(session)))
    }

    /// Returns the entry of a session in the list.
    pub fn session_summary(&self, session: &Uri) -> Option<&SessionSummary> {
        self.sessions.get(session)
    }

    pub fn selected_chat(&self) -> Option<&Uri> {
        self.chat.as_ref()
    }

    /// Returns the agent of the selected session.
    pub fn session_agent(&self) -> Option<&AgentInfo> {
        self.selected_agent()
    }

    /// Returns `true` if the user can only read the selected chat.
    pub fn is_read_only(&self) -> bool {
        let state = self.chat_state();
        let interactivity = state.and_then(|state| state.summary.interactivity);
        interactivity == Some(ChatInteractivity::ReadOnly)
    }

    /// Returns the selected chat with the names that its timeline needs.
    pub fn timeline_source(&self) -> Option<TimelineSource<'_>> {
        let (session, chat) = (self.session.as_ref()?, self.chat.as_ref()?);
        Some(TimelineSource {
            chat,
            state: self.chat_state()?,
            context: TimelineContext::of_chat(session, self.session_state(session)?, chat),
            unconfirmed: self.unconfirmed_turns(chat),
        })
    }

    pub fn composer(&self) -> Option<ComposerView> {
        let agent = self.selected_agent();
        let state = self.chat_state()?;
        Some(ComposerView::compute(state, agent, &self.client_id))
    }

    /// Returns the selected changeset, and those to choose from.
    pub fn changes(&self) -> (Option<ChangesView>, Vec<ChangesetChoice>) {
        let choices = self.changeset_choices();
        let view = self.changes.changeset.as_ref().and_then(|uri| {
            let choice = choices.iter().find(|choice| choice.uri == *uri);
            let label = choice.map_or("", |choice| choice.label.as_str());
            Some(ChangesView::compute(uri, label, self.changeset_state()?))
        });
        (view, choices)
    }

    /// Returns the description of the open diff.
    pub fn diff(&self) -> Option<DiffView> {
        self.changes.diff_view()
    }

    /// Returns the open diff, if it is computed.
    pub fn file_diff(&self) -> Option<Arc<FileDiff>> {
        let (_, _, diff) = self.changes.ready_diff()?;
        Some(Arc::clone(diff))
    }

    /// Returns the comments of the selected session with their places in the open diff.
    pub fn comments(&self) -> Option<(Vec<CommentThread>, CommentTotals)> {
        self.placed_threads()
    }

    /// Returns the open preview of a restore.
    pub fn restore_preview(&self) -> Option<RestoreView<'_>> {
        self.restore_view()
    }

    /// Returns the terminals of the host.
    pub fn terminal_list(&self) -> Vec<TerminalRow> {
        let context = TerminalContext {
            client_id: &self.client_id,
            session: self.session.as_ref(),
        };
        let listed = self.listed_terminals();
        let rows = listed
            .map(|info| TerminalRow::of_info(info, self.terminal_state(&info.resource), context));
        rows.collect()
    }

    /// Returns a terminal that the client follows.
    pub fn terminal(&self, uri: &Uri) -> Option<&TerminalState> {
        self.terminal_state(uri)
    }

    /// Returns the customizations of the selected session.
    pub fn customizations(&self, filter: &CustomizationFilter) -> Option<CustomizationTree> {
        let session = self.session_state(self.session.as_ref()?)?;
        let settings = self.host_settings();
        Some(CustomizationTree::compute(session, settings, filter))
    }

    /// Returns the code that the user reviews, and whether it has changed since the review was
    /// opened.
    pub fn code_under_review(&self) -> Option<(CodeReview, bool)> {
        let open = self.code_review.as_ref()?;
        Some((self.shown_review()?, open.is_changed()))
    }

    /// Returns the usage of the selected session and of all sessions.
    pub fn usage(&self, utc_offset_minutes: i64) -> UsageReport {
        let session = self.session.as_ref();
        let source = UsageSource {
            session: session.and_then(|session| self.session_state(session)),
            chat: self.chat_state(),
            utc_offset_minutes,
        };
        UsageReport::compute(source, self.sessions.summaries())
    }
}
