//! The list of sessions: rows, groups by folder or day, and a filter.

use agenthost_protocol::common::{ChangesSummary, Meta, SessionStatus};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::session::{SessionLifecycle, SessionState, SessionSummary};
use agenthost_protocol::sorted::sort_by_key;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use serde::Serialize;

use crate::fuzzy::{FuzzyFinder, LabelKind};
use crate::location::{name_of, path_of};
use crate::usage::{UsageRow, local_day};
use crate::visible_text::{visible_label, visible_order};

/// The `_meta` key of a session in the list for the reason for which it could not be created.
const CREATION_ERROR_META_KEY: &str = "agenthost.creationError";

/// Maximum length of the reason for which a session failed, in characters.
const MAX_REASON_CHARS: usize = 400;

/// A session as the client knows it: its entry in the list, and its state if the client has
/// subscribed to it.
#[derive(Debug, Clone, Copy)]
pub struct SessionEntry<'a> {
    /// Entry of the session in the list.
    pub summary: &'a SessionSummary,
    /// State of the session channel, if the client mirrors it.
    pub state: Option<&'a SessionState>,
}

/// The session list as a client shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionList {
    /// Rows that pass the filter: best match first, or else the latest first.
    pub rows: Vec<SessionRow>,
    /// Groups in the order of their first row; empty without grouping.
    pub groups: Vec<SessionGroup>,
    /// Number of sessions before the filter.
    pub total: usize,
}

/// A row of the session list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    /// URI of the session channel.
    pub key: Uri,
    /// Title of the session.
    pub title: String,
    /// Path of the first working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Display name of the agent.
    pub agent: String,
    /// Id of the agent.
    pub provider: ProviderId,
    pub status: SessionActivity,
    /// `true` if the session changed since the user has read it.
    pub unread: bool,
    /// `true` if the user has archived the session.
    pub archived: bool,
    /// Time of the last change.
    pub modified_at: Timestamp,
    /// Number of added lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Number of removed lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
    /// Number of changed files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Text about the current activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// Reason for which the session could not be created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_error: Option<String>,
    /// Number of open requests. If only the status is known, 1 means at least one.
    pub waiting: usize,
    /// Cost of the session as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// Branch that is checked out in the folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionGroup {
    /// Stable key of the group: the path, or the day.
    pub key: String,
    /// Name of the folder, or the day; empty for sessions without a folder.
    pub label: String,
    /// Path of the folder that the sessions share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Keys of the rows, in the order of the list.
    pub sessions: Vec<Uri>,
}

/// The activity of a session or chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SessionActivity {
    /// No turn is running.
    Idle,
    /// A turn is running.
    Running,
    /// A turn waits for the user.
    Waiting,
    /// The last turn or the creation failed.
    Error,
    /// The agent of the session is starting.
    Creating,
}

/// The part of the session list that the user wants to see.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionFilter {
    /// Search text; empty means all sessions.
    pub text: String,
    /// Grouping of the rows.
    pub group: SessionGrouping,
    /// `true` if archived sessions are listed, too.
    pub archived: bool,
}

/// The property by which sessions are grouped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionGrouping {
    /// One group per folder; a worktree belongs to the folder that it was created from.
    #[default]
    Folder,
    /// One group per day of the last change, in local time.
    Day {
        /// Offset of the local time from UTC.
        utc_offset_minutes: i64,
    },
    /// A list without groups.
    None,
}

impl SessionActivity {
    /// Maps the status bits of a session or chat.
    pub fn of_status(status: SessionStatus) -> Self {
        if status.contains(SessionStatus::INPUT_NEEDED) {
            SessionActivity::Waiting
        } else if status.contains(SessionStatus::IN_PROGRESS) {
            SessionActivity::Running
        } else if status.contains(SessionStatus::ERROR) {
            SessionActivity::Error
        } else {
            SessionActivity::Idle
        }
    }
}

impl SessionEntry<'_> {
    /// Returns the activity, which the state refines: only the state has the lifecycle.
    pub fn activity(&self) -> SessionActivity {
        match self.state.map(|state| &state.lifecycle) {
            Some(SessionLifecycle::Creating) => return SessionActivity::Creating,
            Some(SessionLifecycle::Failed) => return SessionActivity::Error,
            Some(SessionLifecycle::Ready | SessionLifecycle::Unknown(_)) | None => {}
        }
        SessionActivity::of_status(self.summary.metadata.status)
    }

    /// Returns the path of the first working directory.
    pub fn folder(&self) -> Option<String> {
        let folders = self.summary.metadata.working_directories.as_ref()?;
        folders.first().map(path_of)
    }

    /// Returns `true` if the session changed since the user has read it.
    pub fn is_unread(&self) -> bool {
        !self
            .summary
            .metadata
            .status
            .contains(SessionStatus::IS_READ)
    }

    /// Returns `true` if the user has archived the session.
    pub fn is_archived(&self) -> bool {
        let status = self.summary.metadata.status;
        status.contains(SessionStatus::IS_ARCHIVED)
    }

    /// Returns the display name of the agent, or its id if the host does not list it any more.
    pub fn agent_name(&self, agents: &[AgentInfo]) -> String {
        let provider = &self.summary.metadata.provider;
        let agent = agents.iter().find(|agent| agent.provider == *provider);
        agent.map_or_else(|| provider.to_string(), |agent| agent.display_name.clone())
    }

    fn waiting(&self) -> usize {
        match self.state {
            Some(state) => {
                let open = state.input_needed.iter().flat_map(|open| open.items());
                open.filter(|entry| entry.awaits_user()).count()
            }
            None => usize::from(self.activity() == SessionActivity::Waiting),
        }
    }

    fn metas(&self) -> impl Iterator<Item = &Meta> {
        let state = self.state.and_then(|state| state.meta.as_ref());
        state.into_iter().chain(self.summary.meta.as_ref())
    }

    fn git_text(&self, field: &str) -> Option<&str> {
        self.metas()
            .find_map(|meta| meta.get("git")?.get(field)?.as_str())
    }

    fn row(&self, agents: &[AgentInfo]) -> SessionRow {
        let metadata = &self.summary.metadata;
        let changes = self.summary.changes.as_ref();
        let count = |field: fn(&ChangesSummary) -> Option<u64>| changes.and_then(field);
        let activity = metadata.activity.clone();
        SessionRow {
            key: self.summary.resource.clone(),
            title: visible_order(&metadata.title),
            folder: self.folder(),
            agent: self.agent_name(agents),
            provider: metadata.provider.clone(),
            status: self.activity(),
            unread: self.is_unread(),
            archived: self.is_archived(),
            modified_at: self.summary.modified_at.clone(),
            added: count(|changes| changes.additions),
            removed: count(|changes| changes.deletions),
            files: count(|changes| changes.files),
            activity: activity
                .filter(|text| !text.is_empty())
                .map(|text| visible_order(&text)),
            creation_error: creation_reason(self.state, self.summary.meta.as_ref()),
            waiting: self.waiting(),
            cost: self
                .metas()
                .find_map(|meta| UsageRow::of_meta(Some(meta))?.cost),
            branch: self.git_text("branchName").map(visible_order),
        }
    }

    /// Returns the folder of the group: that of the project if the session is in a worktree.
    fn group_folder(&self) -> Option<String> {
        if let Some(folder) = self.git_text("worktreeOf") {
            return Some(path_of(&Uri::from(folder)));
        }
        let project = self.summary.metadata.project.as_ref();
        let project = project.map(|project| path_of(&project.uri));
        project.or_else(|| self.folder())
    }

    fn group(&self, grouping: SessionGrouping, row: &SessionRow) -> Option<SessionGroup> {
        let (key, label, path) = match grouping {
            SessionGrouping::None => return None,
            SessionGrouping::Day { utc_offset_minutes } => {
                let day = local_day(&row.modified_at, utc_offset_minutes).unwrap_or_default();
                (day.clone(), day, None)
            }
            SessionGrouping::Folder => {
                let path = self.group_folder();
                let label = visible_order(path.as_deref().map_or("", name_of));
                (path.clone().unwrap_or_default(), label, path)
            }
        };
        Some(SessionGroup {
            key,
            label,
            path,
            sessions: Vec::new(),
        })
    }
}

impl SessionList {
    /// Computes the list of the sessions that pass the filter.
    pub fn compute<'a>(
        entries: impl IntoIterator<Item = SessionEntry<'a>>,
        agents: &[AgentInfo],
        filter: &SessionFilter,
    ) -> Self {
        let mut total = 0;
        let mut found = Vec::new();
        for entry in entries {
            total += 1;
            if !entry.is_archived() || filter.archived {
                let row = entry.row(agents);
                let group = entry.group(filter.group, &row);
                found.push((row, group));
            }
        }
        // Sessions without a time are the last ones.
        sort_by_key(&mut found, |(row, _)| {
            let time = row.modified_at.to_millis().ok();
            time.map_or(i128::MAX, |time| -i128::from(time.0))
        });
        if !filter.text.trim().is_empty() {
            found = retain_matches(found, &filter.text);
        }
        let mut list = SessionList {
            rows: Vec::with_capacity(found.len()),
            groups: Vec::new(),
            total,
        };
        for (row, group) in found {
            if let Some(group) = group {
                list.add_to_group(group, row.key.clone());
            }
            list.rows.push(row);
        }
        list
    }

    fn add_to_group(&mut self, mut group: SessionGroup, key: Uri) {
        let existing = self.groups.iter_mut().find(|other| other.key == group.key);
        match existing {
            Some(existing) => existing.sessions.push(key),
            None => {
                group.sessions.push(key);
                self.groups.push(group);
            }
        }
    }
}

/// Returns the reason for which a session could not be created. The list has it in its `_meta`, so
/// it is known without the state.
pub fn creation_reason(state: Option<&SessionState>, listed: Option<&Meta>) -> Option<String> {
    let error = state.and_then(|state| state.creation_error.as_ref());
    let stated = error.map(|error| error.message.as_str());
    let listed = listed.and_then(|meta| meta.get(CREATION_ERROR_META_KEY)?.as_str());
    let reason = visible_label(stated.or(listed)?, MAX_REASON_CHARS);
    (!reason.is_empty()).then_some(reason)
}

/// Returns the folders of sessions, the one that was used last first. A worktree stands for the
/// folder that it was created from.
pub fn recent_folders<'a>(
    entries: impl IntoIterator<Item = SessionEntry<'a>>,
    limit: usize,
) -> Vec<String> {
    let mut entries: Vec<_> = entries.into_iter().collect();
    sort_by_key(&mut entries, |entry| {
        let time = entry.summary.modified_at.to_millis().ok();
        time.map_or(i128::MAX, |time| -i128::from(time.0))
    });
    let mut folders: Vec<String> = Vec::new();
    for entry in entries {
        let origin = entry.git_text("worktreeOf");
        let origin = origin.map(|folder| path_of(&Uri::from(folder)));
        let folder = origin.or_else(|| entry.folder());
        if let Some(folder) = folder.filter(|folder| !folders.contains(folder)) {
            folders.push(folder);
        }
        if folders.len() == limit {
            break;
        }
    }
    folders
}

/// A row with the group that it belongs to.
type GroupedRow = (SessionRow, Option<SessionGroup>);

/// Retains the rows that match the search text, best match first.
fn retain_matches(rows: Vec<GroupedRow>, text: &str) -> Vec<GroupedRow> {
    let labels: Vec<_> = rows.iter().map(|(row, _)| search_text(row)).collect();
    let labels = labels.iter().map(String::as_str);
    let matches = FuzzyFinder::new(LabelKind::Words).find(text, labels, rows.len());
    let mut rows: Vec<_> = rows.into_iter().map(Some).collect();
    let found = matches.into_iter();
    let found = found.filter_map(|found| rows.get_mut(found.index)?.take());
    found.collect()
}

/// Returns the text in which the filter searches.
fn search_text(row: &SessionRow) -> String {
    let folder = row.folder.as_deref().unwrap_or_default();
    let branch = row.branch.as_deref().unwrap_or_default();
    format!("{} {folder} {branch} {}", row.title, row.agent)
}

#[cfg(test)]
#[path = "session_list_tests.rs"]
mod tests;
