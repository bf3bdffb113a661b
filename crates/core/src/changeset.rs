//! Changesets: the file changes of a session, published as channels.
//!
//! The host takes a checkpoint before and after each turn; a changeset is the diff between
//! two endpoints. It is computed when a client subscribes, and again after events that may
//! have changed files. The change tracker of the server reads the files; `driver` defines
//! its jobs and results.

pub(crate) mod checkpoint;
pub(crate) mod driver;
pub(crate) mod git_status;
mod operations;
pub(crate) mod publish;
pub(crate) mod refresh;
pub(crate) mod turn_edits;
pub(crate) mod view;

use std::collections::BTreeMap;

use agenthost_protocol::changeset::{
    ChangesetAction, ChangesetCleared, ChangesetState, ChangesetStatus,
};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;

use crate::changeset::driver::{CheckpointId, DiffEndpoint, DiffRange, TurnRef};
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::error::{Refusal, RequestFailure};
pub(crate) use refresh::ChangesetRefresh;
use turn_edits::EditSurveys;
use view::ChangesetView;

/// The refresh state of changesets, and the edit surveys of active turns.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChangesetTable {
    /// Changesets with a running or scheduled refresh.
    refreshes: BTreeMap<Uri, ChangesetRefresh>,
    pub(crate) edit_surveys: EditSurveys,
}

/// Limit for the changesets of one session. A new one replaces a changeset without
/// subscribers.
const MAX_SESSION_CHANGESETS: usize = 64;

impl Host {
    /// Returns the session and the view of a changeset, or `None` if the URI does not
    /// belong to a changeset of a known owner.
    pub(crate) fn find_changeset(&self, channel: &Uri) -> Option<(Uri, ChangesetView)> {
        let (owner, view) = ChangesetView::parse_changeset_uri(channel)?;
        let session = self.session_of(&owner)?;
        let chat_has_none = owner != *session && view == ChangesetView::Session;
        (!chat_has_none).then(|| (session.clone(), view))
    }

    /// Returns the diff range of a changeset, or `None` if it names an unknown turn
    /// (CHS-3).
    pub(crate) fn changeset_range(&self, channel: &Uri) -> Option<DiffRange> {
        let (owner, view) = ChangesetView::parse_changeset_uri(channel)?;
        let now = DiffEndpoint::WorkingTree;
        let span = |from, to| DiffRange { from, to };
        Some(match view {
            ChangesetView::Branch => span(DiffEndpoint::MergeBase, now),
            ChangesetView::Uncommitted => span(DiffEndpoint::Head, now),
            ChangesetView::Session => {
                span(DiffEndpoint::Checkpoint(CheckpointId::SessionStart), now)
            }
            ChangesetView::Turn(turn) => {
                let turn = self.find_turn(&owner, turn)?;
                let runs = self.is_running(&turn.chat, &turn.turn);
                let from = DiffEndpoint::Checkpoint(CheckpointId::BeforeTurn(turn.clone()));
                let to = DiffEndpoint::Checkpoint(CheckpointId::AfterTurn(turn));
                span(from, if runs { now } else { to })
            }
            ChangesetView::BetweenTurns(one, other) => {
                let one = self.find_turn(&owner, one)?;
                let other = self.find_turn(&owner, other)?;
                let after = |turn| DiffEndpoint::Checkpoint(CheckpointId::AfterTurn(turn));
                span(after(one), after(other))
            }
        })
    }

    /// Finds the chat of a turn: the owner itself, or one of its chats if it is a session.
    fn find_turn(&self, owner: &Uri, turn: TurnId) -> Option<TurnRef> {
        let listed = self.sessions.get(owner);
        let chats = listed.into_iter().flat_map(|listed| {
            let chats = listed.chats.iter().flatten().map(|chat| &chat.resource);
            listed.default_chat.iter().chain(chats)
        });
        let mut chats = chats.chain([owner]);
        let chat = chats.find(|chat| self.turn_ids(chat).any(|known| *known == turn))?;
        let chat = chat.clone();
        Some(TurnRef { chat, turn })
    }

    /// Creates a changeset for a client that subscribes to it, and refreshes it.
    pub(crate) fn ensure_changeset(
        &mut self,
        channel: &Uri,
        out: &mut Effects,
    ) -> Result<(), RequestFailure> {
        let Some((session, _)) = self.find_changeset(channel) else {
            return Ok(());
        };
        if self.changeset_range(channel).is_none() {
            return Err(RequestFailure::UnknownChannel(channel.clone()));
        }
        if !self.channels.contains(channel) {
            self.evict_changeset(&session, out)?;
            let state = ChangesetState {
                status: ChangesetStatus::Computing,
                error: None,
                files: List::new(),
                operations: None,
            };
            self.create_channel(channel, Some(&session), state.into(), out);
        }
        // A ready changeset with subscribers is refreshed by its own timer.
        if !self.has_subscribers(channel) || !self.is_changeset_ready(channel) {
            self.refresh_and_publish(channel, out);
        }
        Ok(())
    }

    /// Checks that the owner of a changeset supports reviews of its files (CHS-10).
    pub(crate) fn check_review(&self, channel: &Uri) -> Result<(), Refusal> {
        let (owner, _) = ChangesetView::parse_changeset_uri(channel)
            .unwrap_or((channel.clone(), ChangesetView::Session));
        let of_session = self
            .session(&owner)
            .and_then(|state| state.changesets.as_ref());
        let of_chat = self
            .chat(&owner)
            .and_then(|state| state.changesets.as_ref());
        let mut offered = of_session.or(of_chat).into_iter().flatten();
        let reviewed = offered.any(|view| {
            let capabilities = view.capabilities.as_ref();
            capabilities.is_some_and(|capabilities| capabilities.review.is_some())
        });
        if reviewed {
            Ok(())
        } else {
            Err(Refusal::Unsupported("reviews of this changeset"))
        }
    }

    pub(crate) fn changesets_of(&self, session: &Uri) -> impl Iterator<Item = Uri> {
        let all = self.channels.iter().filter(|(uri, channel)| {
            channel.session.as_ref() == Some(session) && view::is_changeset_uri(uri)
        });
        all.map(|(uri, _)| uri.clone())
    }

    /// Removes the changesets of an owner that is being removed (CHS-16, SES-19).
    pub(crate) fn remove_changesets(&mut self, owner: &Uri, out: &mut Effects) {
        let all = self
            .channels
            .uris()
            .filter(|uri| view::is_changeset_of(owner, uri));
        for channel in all.cloned().collect::<Vec<_>>() {
            let cleared = ChangesetAction::Cleared(ChangesetCleared {});
            self.originate(&channel, cleared, out);
            self.changesets.refreshes.remove(&channel);
            self.remove_channel(&channel, out);
        }
    }

    /// Removes a changeset without subscribers if the session has reached the limit.
    fn evict_changeset(&mut self, session: &Uri, out: &mut Effects) -> Result<(), RequestFailure> {
        let all: Vec<_> = self.changesets_of(session).collect();
        if all.len() < MAX_SESSION_CHANGESETS {
            return Ok(());
        }
        let Some(idle) = all.into_iter().find(|uri| !self.has_subscribers(uri)) else {
            let reason =
                format!("a session has at most {MAX_SESSION_CHANGESETS} changesets at a time");
            return Err(RequestFailure::InvalidParams(reason));
        };
        self.remove_channel(&idle, out);
        Ok(())
    }
}
