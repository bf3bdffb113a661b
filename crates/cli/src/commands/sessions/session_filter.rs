//! Selects sessions of the list.

use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;
use anyhow::Context;
use clap_complete::engine::ArgValueCandidates;

use crate::commands::run::resolve_directory;
use crate::completion_values::agent_names;
use crate::session_lookup::{is_in_folder, session_folder};

/// The options that select sessions.
#[derive(clap::Args)]
pub(super) struct SessionFilterArgs {
    /// Only sessions in this folder
    #[arg(long)]
    here: bool,
    /// Only sessions of an agent
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(agent_names))]
    agent: Option<String>,
    /// Only sessions that wait for an answer
    #[arg(long)]
    waiting: bool,
    /// Only sessions with a text in their title, folder or id
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

/// The conditions that sessions have to satisfy.
pub(super) struct SessionFilter {
    folder: Option<Uri>,
    agent: Option<String>,
    waiting: bool,
    text: Option<String>,
}

impl SessionFilterArgs {
    pub(super) fn resolve(&self) -> anyhow::Result<SessionFilter> {
        let folder = match self.here {
            true => {
                let folder = agenthost_workspace::uri_of(&resolve_directory(None)?);
                Some(folder.context("the path of the folder is not UTF-8")?)
            }
            false => None,
        };
        Ok(SessionFilter {
            folder,
            agent: self.agent.clone(),
            waiting: self.waiting,
            text: self.search.as_ref().map(|text| text.to_lowercase()),
        })
    }
}

impl SessionFilter {
    /// Returns `true` if a session satisfies all conditions.
    pub(super) fn accepts(&self, summary: &SessionSummary) -> bool {
        let metadata = &summary.metadata;
        let is_here = |folder: &Uri| is_in_folder(summary, folder);
        let has_text = |text: &String| {
            let folder = session_folder(metadata).unwrap_or_default();
            let texts = [metadata.title.as_str(), &folder, summary.resource.as_str()];
            texts
                .iter()
                .any(|other| other.to_lowercase().contains(text))
        };
        self.folder.as_ref().is_none_or(is_here)
            && self
                .agent
                .as_deref()
                .is_none_or(|agent| metadata.provider.as_str() == agent)
            && (!self.waiting || metadata.status.contains(SessionStatus::INPUT_NEEDED))
            && self.text.as_ref().is_none_or(has_text)
    }
}
