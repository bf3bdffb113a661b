//! The sessions of the host: summaries, and session data that is not stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;
use serde::{Deserialize, Serialize};

use super::list::ListChanges;
use crate::agent::SlashCommand;

/// All sessions by URI.
#[derive(Debug, Clone)]
pub(crate) struct SessionIndex {
    summaries: BTreeMap<Uri, Arc<SessionSummary>>,
    pub(crate) agents: SessionAgents,
    /// Changes of the list, for clients that missed them.
    pub(super) changes: ListChanges,
}

/// Data about the agents of sessions.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SessionAgents {
    /// Sessions whose agent is open.
    pub(crate) open: BTreeSet<Uri>,
    /// Slash commands that agents have announced.
    slash_commands: BTreeMap<Uri, Vec<SlashCommand>>,
    /// Titles that the host has derived or an agent has suggested. Any other title is never
    /// replaced.
    derived_titles: BTreeMap<Uri, String>,
}

impl SessionIndex {
    pub(crate) fn new(changes: ListChanges) -> Self {
        SessionIndex {
            summaries: BTreeMap::new(),
            agents: SessionAgents::default(),
            changes,
        }
    }

    pub(crate) fn contains(&self, session: &Uri) -> bool {
        self.summaries.contains_key(session)
    }

    pub(crate) fn get(&self, session: &Uri) -> Option<&Arc<SessionSummary>> {
        self.summaries.get(session)
    }

    pub(crate) fn insert(&mut self, session: Uri, summary: Arc<SessionSummary>) {
        self.summaries.insert(session, summary);
    }

    /// Removes a session. Its agent stays open until [`close_agent`](Self::close_agent).
    pub(crate) fn remove(&mut self, session: &Uri) -> Option<Arc<SessionSummary>> {
        self.agents.slash_commands.remove(session);
        self.agents.derived_titles.remove(session);
        self.summaries.remove(session)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Uri, &Arc<SessionSummary>)> {
        self.summaries.iter()
    }

    pub(crate) fn uris(&self) -> impl Iterator<Item = &Uri> {
        self.summaries.keys()
    }

    pub(crate) fn summaries(&self) -> impl Iterator<Item = &Arc<SessionSummary>> {
        self.summaries.values()
    }

    pub(crate) fn is_agent_open(&self, session: &Uri) -> bool {
        self.agents.open.contains(session)
    }

    /// Marks the agent of a session as open. Returns `false` if it was open before.
    pub(crate) fn open_agent(&mut self, session: Uri) -> bool {
        self.agents.open.insert(session)
    }

    /// Marks the agent of a session as closed. Returns `false` if it was not open.
    pub(crate) fn close_agent(&mut self, session: &Uri) -> bool {
        self.agents.open.remove(session)
    }

    /// Returns the sessions whose agent is open.
    pub(crate) fn open_agents(&self) -> impl Iterator<Item = &Uri> {
        self.agents.open.iter()
    }

    pub(crate) fn slash_commands(&self, session: &Uri) -> &[SlashCommand] {
        self.agents
            .slash_commands
            .get(session)
            .map_or(&[], Vec::as_slice)
    }

    pub(crate) fn set_slash_commands(&mut self, session: Uri, commands: Vec<SlashCommand>) {
        self.agents.slash_commands.insert(session, commands);
    }

    pub(crate) fn derived_title(&self, session: &Uri) -> Option<&String> {
        self.agents.derived_titles.get(session)
    }

    pub(crate) fn set_derived_title(&mut self, session: Uri, title: String) {
        self.agents.derived_titles.insert(session, title);
    }
}
