//! What the screen shows, taken from the frontend when it has changed.

use agenthost_frontend::{ChangedViews, DiffLayout, Frontend, LinkState, LinkView};
use agenthost_protocol::uri::Uri;
use agenthost_view::annotations::CommentThread;
use agenthost_view::changes::{ChangeFileRow, ChangesStatus, ChangesView, ChangesetChoice};
use agenthost_view::chat_list::{ChatRow, chat_rows};
use agenthost_view::composer::{ComposerView, ConfigRow, NamedOption, config_rows, model_options};
use agenthost_view::customizations::{CodeReview, CustomizationFilter, CustomizationTree};
use agenthost_view::diff::FileDiff;
use agenthost_view::inbox::{InboxItem, InboxView};
use agenthost_view::location::path_of;
use agenthost_view::queue::{QueueRow, queue_rows};
use agenthost_view::request::RequestCard;
use agenthost_view::session_list::{SessionList, SessionRow};
use agenthost_view::terminals::TerminalRow;
use agenthost_view::usage_report::UsageReport;
use std::sync::Arc;

use crate::paint::text::PathNames;
use crate::panes::inspector::InspectorKind;
use crate::screen::UTC_OFFSET_MINUTES;

/// Folders that are offered for a new session.
const MAX_FOLDERS: usize = 50;

/// What the screen shows.
#[derive(Debug)]
pub(crate) struct ScreenModel {
    pub(crate) link: LinkView,
    /// Reason why the host can't store changes.
    pub(crate) storage_problem: Option<String>,
    pub(crate) sessions: SessionList,
    pub(crate) inbox: InboxView,
    pub(crate) agents: Vec<AgentOption>,
    pub(crate) folders: Vec<String>,
    pub(crate) home: Option<String>,
    pub(crate) session: Option<Uri>,
    pub(crate) chat: Option<ChatHead>,
    /// Open requests of the selected session.
    pub(crate) requests: Vec<RequestCard>,
    pub(crate) composer: Option<ComposerView>,
    pub(crate) queue: Vec<QueueRow>,
    pub(crate) changes: Option<ChangesView>,
    pub(crate) changesets: Vec<ChangesetChoice>,
    pub(crate) diff: Option<DiffHead>,
    pub(crate) comments: Vec<CommentThread>,
    pub(crate) terminals: Vec<TerminalRow>,
    pub(crate) usage: Option<UsageReport>,
    pub(crate) customizations: Option<CustomizationTree>,
    pub(crate) code: Option<(CodeReview, bool)>,
    pub(crate) restore: Option<RestoreHead>,
}

/// An agent that a session can have.
#[derive(Debug, Clone)]
pub(crate) struct AgentOption {
    pub(crate) provider: String,
    pub(crate) label: String,
    pub(crate) description: String,
    pub(crate) models: Vec<NamedOption>,
}

/// The selected chat.
#[derive(Debug)]
pub(crate) struct ChatHead {
    pub(crate) chat: Uri,
    pub(crate) title: String,
    pub(crate) agent: String,
    pub(crate) folder: Option<String>,
    pub(crate) chats: Vec<ChatRow>,
    pub(crate) config: Vec<ConfigRow>,
    pub(crate) is_read_only: bool,
    pub(crate) is_loading: bool,
    /// Reason for which the session could not be created.
    pub(crate) creation_error: Option<String>,
}

/// The open diff.
#[derive(Debug)]
pub(crate) struct DiffHead {
    pub(crate) file: String,
    pub(crate) path: String,
    pub(crate) layout: DiffLayout,
    pub(crate) status: &'static str,
    pub(crate) error: Option<String>,
    pub(crate) total: usize,
    pub(crate) added: u64,
    pub(crate) removed: u64,
    pub(crate) language: Option<String>,
    pub(crate) rows: Option<Arc<FileDiff>>,
}

/// The open preview of a restore.
#[derive(Debug)]
pub(crate) struct RestoreHead {
    pub(crate) turn: String,
    pub(crate) text: String,
    pub(crate) status: ChangesStatus,
    pub(crate) error: Option<String>,
    pub(crate) files: Vec<ChangeFileRow>,
    pub(crate) can_restore_files: bool,
    pub(crate) turns: usize,
}

impl Default for ScreenModel {
    fn default() -> Self {
        ScreenModel {
            link: LinkView {
                state: LinkState::Connecting,
                since: None,
                error: None,
                pending: 0,
            },
            storage_problem: None,
            sessions: SessionList {
                rows: Vec::new(),
                groups: Vec::new(),
                total: 0,
            },
            inbox: InboxView::default(),
            agents: Vec::new(),
            folders: Vec::new(),
            home: None,
            session: None,
            chat: None,
            requests: Vec::new(),
            composer: None,
            queue: Vec::new(),
            changes: None,
            changesets: Vec::new(),
            diff: None,
            comments: Vec::new(),
            terminals: Vec::new(),
            usage: None,
            customizations: None,
            code: None,
            restore: None,
        }
    }
}

impl ScreenModel {
    /// Takes the views that have changed.
    pub(crate) fn refresh(
        &mut self,
        client: &Frontend,
        changed: ChangedViews,
        inspector: Option<InspectorKind>,
    ) {
        if changed.link {
            self.link = client.link();
        }
        if changed.sessions {
            self.sessions = client.session_list();
            self.inbox = client.inbox();
            self.agents = client.agent_list().iter().map(agent_option).collect();
            self.folders = client.folders(MAX_FOLDERS);
            self.home = client.host_description().1;
        }
        if changed.link || changed.sessions || changed.panels {
            self.storage_problem = client.storage_problem();
        }
        if changed.chat || changed.sessions {
            self.refresh_chat(client);
        }
        if changed.changes {
            (self.changes, self.changesets) = client.changes();
            self.comments = client
                .comments()
                .map(|(threads, _)| threads)
                .unwrap_or_default();
            self.diff = diff_head(client);
        }
        if changed.panels || changed.chat || changed.sessions {
            self.restore = restore_head(client);
        }
        if changed.panels || changed.sessions {
            self.terminals = client.terminal_list();
            self.code = client.code_under_review();
        }
        self.refresh_inspector(client, inspector);
    }

    fn refresh_inspector(&mut self, client: &Frontend, inspector: Option<InspectorKind>) {
        self.usage = match inspector {
            Some(InspectorKind::Usage) => Some(client.usage(UTC_OFFSET_MINUTES)),
            _ => None,
        };
        self.customizations = match inspector {
            Some(InspectorKind::Customizations) => {
                client.customizations(&CustomizationFilter::default())
            }
            _ => None,
        };
    }

    fn refresh_chat(&mut self, client: &Frontend) {
        let selected = client.selected_session();
        self.session = selected.map(|(session, _)| session.clone());
        self.requests = match selected {
            Some((uri, Some(state))) => RequestCard::of_session(uri, state),
            Some((_, None)) | None => Vec::new(),
        };
        self.chat = chat_head(client);
        self.composer = client.composer();
        let source = client.timeline_source();
        self.queue = source
            .map(|source| queue_rows(source.state))
            .unwrap_or_default();
    }

    /// Returns the folders that are shown in a short form.
    pub(crate) fn paths(&self) -> PathNames<'_> {
        PathNames {
            home: self.home.as_deref(),
            folder: self.chat.as_ref().and_then(|chat| chat.folder.as_deref()),
        }
    }

    /// Returns the entry of the selected session in the list.
    pub(crate) fn session_row(&self) -> Option<&SessionRow> {
        let session = self.session.as_ref()?;
        self.sessions.rows.iter().find(|row| row.key == *session)
    }

    /// Returns the number of requests that wait for the user in all sessions.
    pub(crate) fn waiting(&self) -> usize {
        let rows = self.inbox.rows.iter();
        rows.filter(|row| !matches!(row.item, InboxItem::Finished { .. }))
            .count()
    }
}

fn agent_option(agent: &agenthost_protocol::root::AgentInfo) -> AgentOption {
    AgentOption {
        provider: agent.provider.to_string(),
        label: agent.display_name.clone(),
        description: agent.description.clone(),
        models: model_options(agent),
    }
}

fn chat_head(client: &Frontend) -> Option<ChatHead> {
    let (uri, state) = client.selected_session()?;
    let chat = client.selected_chat()?.clone();
    let Some(state) = state else {
        let summary = client.session_summary(uri);
        return Some(ChatHead {
            chat,
            title: summary.map_or_else(String::new, |summary| summary.metadata.title.clone()),
            agent: String::new(),
            folder: None,
            chats: Vec::new(),
            config: Vec::new(),
            is_read_only: false,
            is_loading: true,
            creation_error: None,
        });
    };
    let agent = client.session_agent();
    let agent = agent.map_or(state.metadata.provider.as_str(), |agent| {
        &agent.display_name
    });
    let folders = state.metadata.working_directories.as_ref();
    Some(ChatHead {
        chat,
        title: state.metadata.title.clone(),
        agent: agent.to_owned(),
        folder: folders.and_then(|folders| folders.first()).map(path_of),
        chats: chat_rows(uri, state),
        config: config_rows(state),
        is_read_only: client.is_read_only(),
        is_loading: client.timeline_source().is_none(),
        creation_error: state
            .creation_error
            .as_ref()
            .map(|error| error.message.clone()),
    })
}

fn diff_head(client: &Frontend) -> Option<DiffHead> {
    let view = client.diff()?;
    Some(DiffHead {
        file: view.file,
        path: view.path,
        layout: view.layout,
        status: view.status,
        error: view.error,
        total: view.total,
        added: view.added,
        removed: view.removed,
        language: view.language,
        rows: client.file_diff(),
    })
}

fn restore_head(client: &Frontend) -> Option<RestoreHead> {
    let view = client.restore_preview()?;
    Some(RestoreHead {
        turn: view.turn.to_string(),
        text: view.text.to_owned(),
        status: view.status,
        error: view.error,
        files: view.files,
        can_restore_files: view.can_restore_files,
        turns: view.turns,
    })
}
