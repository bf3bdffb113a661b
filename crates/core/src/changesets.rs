//! Changesets: how the files of a session changed.
//!
//! Moments are marked as turns begin and end; a changeset compares two. It is
//! computed for those who look at it, and again when something happened. Who
//! looks at files is somebody else: see `changes`.

mod looking;
mod marking;
mod operations;
mod showing;
pub(crate) mod view;

use agenthost_protocol::changeset::{
    ChangesetAction, ChangesetCleared, ChangesetState, ChangesetStatus,
};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;

use crate::changes::{Mark, Moment, Span, TurnOf};
use crate::effect::Effects;
use crate::host::Host;
use crate::refusal::{Failure, Refusal};
pub(crate) use looking::Looking;
use view::View;

/// Most changesets of one session.
const CHANGESETS: usize = 64;

impl Host {
    /// The session of a changeset, and what it shows; none if the address is
    /// of no changeset, or nobody's.
    pub(crate) fn changeset(&self, channel: &Uri) -> Option<(Uri, View)> {
        let (owner, view) = View::read(channel)?;
        let session = self.owner(&owner)?;
        let chat_has_none = owner != *session && view == View::Session;
        (!chat_has_none).then(|| (session.clone(), view))
    }

    /// From when to when a changeset goes; none if a turn is not known (CHS-3).
    pub(crate) fn span(&self, channel: &Uri) -> Option<Span> {
        let (owner, view) = View::read(channel)?;
        let now = Moment::Now;
        let span = |from, to| Span { from, to };
        Some(match view {
            View::Branch => span(Moment::BranchPoint, now),
            View::Uncommitted => span(Moment::Committed, now),
            View::Session => span(Moment::Marked(Mark::Start), now),
            View::Turn(turn) => {
                let turn = self.find_turn(&owner, turn)?;
                let runs = self.is_running(&turn.chat, &turn.turn);
                let from = Moment::Marked(Mark::Before(turn.clone()));
                let to = Moment::Marked(Mark::After(turn));
                span(from, if runs { now } else { to })
            }
            View::Between(one, other) => {
                let one = self.find_turn(&owner, one)?;
                let other = self.find_turn(&owner, other)?;
                let after = |turn| Moment::Marked(Mark::After(turn));
                span(after(one), after(other))
            }
        })
    }

    /// The chat that a turn is in, among those of an owner.
    fn find_turn(&self, owner: &Uri, turn: TurnId) -> Option<TurnOf> {
        let listed = self.sessions.get(owner);
        let chats = listed.into_iter().flat_map(|listed| {
            let chats = listed.chats.iter().flatten().map(|chat| &chat.resource);
            listed.default_chat.iter().chain(chats)
        });
        let mut chats = chats.chain([owner]);
        let chat = chats.find(|chat| self.turn_ids(chat).any(|known| *known == turn))?;
        let chat = chat.clone();
        Some(TurnOf { chat, turn })
    }

    /// Sees to it that a changeset is there for somebody who wants it, and is
    /// looked at.
    pub(crate) fn prepare_changeset(
        &mut self,
        channel: &Uri,
        out: &mut Effects,
    ) -> Result<(), Failure> {
        let Some((session, _)) = self.changeset(channel) else {
            return Ok(());
        };
        if self.span(channel).is_none() {
            return Err(Failure::UnknownChannel(channel.clone()));
        }
        if !self.channels.contains_key(channel) {
            self.make_room(&session, out)?;
            let state = ChangesetState {
                status: ChangesetStatus::Computing,
                error: None,
                files: List::new(),
                operations: None,
            };
            self.create(channel, Some(&session), state.into(), out);
        }
        // What somebody watches is looked at anyway.
        if !self.is_watched(channel) || !self.is_ready(channel) {
            self.refresh_aloud(channel, out);
        }
        Ok(())
    }

    /// Whether files of a changeset can be reviewed (CHS-10): if its owner
    /// offers that.
    pub(crate) fn judge_review(&self, channel: &Uri) -> Result<(), Refusal> {
        let (owner, _) = View::read(channel).unwrap_or((channel.clone(), View::Session));
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

    /// All changesets of a session.
    pub(crate) fn changesets_of(&self, session: &Uri) -> impl Iterator<Item = Uri> {
        let all = self.channels.iter().filter(|(uri, channel)| {
            channel.session.as_ref() == Some(session) && view::is_changeset(uri)
        });
        all.map(|(uri, _)| uri.clone())
    }

    /// The owner of changesets is gone, and so are they (CHS-16, SES-19).
    pub(crate) fn end_changesets(&mut self, owner: &Uri, out: &mut Effects) {
        let all = self.channels.keys().filter(|uri| view::is_of(owner, uri));
        for channel in all.cloned().collect::<Vec<_>>() {
            let cleared = ChangesetAction::Cleared(ChangesetCleared {});
            self.originate(&channel, cleared, out);
            self.looking.remove(&channel);
            self.remove(&channel, out);
        }
    }

    /// Makes room for one more changeset of a session.
    fn make_room(&mut self, session: &Uri, out: &mut Effects) -> Result<(), Failure> {
        let all: Vec<_> = self.changesets_of(session).collect();
        if all.len() < CHANGESETS {
            return Ok(());
        }
        let Some(idle) = all.into_iter().find(|uri| !self.is_watched(uri)) else {
            let reason = format!("a session has at most {CHANGESETS} changesets at a time");
            return Err(Failure::InvalidParams(reason));
        };
        self.remove(&idle, out);
        Ok(())
    }
}
