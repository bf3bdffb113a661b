//! Changesets: how the files of a session changed.
//!
//! Moments are marked as turns begin and end; a changeset compares two. It is
//! computed for those who look at it, and again when something happened. Who
//! looks at files is somebody else: see `changes`.

mod operations;
pub(crate) mod view;

use std::sync::Arc;

use agenthost_protocol::changeset::{
    ChangesetAction, ChangesetCleared, ChangesetContentChanged, ChangesetFile,
    ChangesetFileRemoved, ChangesetFileSet, ChangesetOperationsChanged, ChangesetState,
    ChangesetStatus, ChangesetStatusChanged,
};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::{ErrorInfo, SessionStatus};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::list::List;
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;

use crate::changes::{ChangeErrand, ChangeTask, Comparison, Mark, Moment, Span, TurnOf};
use crate::effect::{Effect, Effects};
use crate::host::Host;
use crate::input::Input;
use crate::refusal::{Failure, Refusal};
use view::View;

/// Most changesets of one session.
const CHANGESETS: usize = 64;

/// Most files that are told one by one.
const ONE_BY_ONE: usize = 8;

/// How long until the next look while a turn runs.
const SOON: Millis = Millis(1_000);

/// The longest pause between two looks while somebody watches.
const PAUSE: Millis = Millis(30_000);

/// A changeset that is being computed, or will be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Looking {
    /// Somebody is at it.
    busy: bool,
    /// Something happened meanwhile: what comes of it is old.
    again: bool,
    /// How long the last pause was.
    pause: Millis,
    /// Which look this is; one that was planned before does not count.
    round: u64,
}

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
        let has = |chat: &&Uri| {
            let Some(state) = self.chat(chat) else {
                return false;
            };
            let active = state.active_turn.iter().map(|turn| &turn.id);
            let ended = state.turns.items().map(|turn| &turn.id);
            let mut all = ended.chain(active).chain(self.earlier(chat));
            all.any(|known| *known == turn)
        };
        let chat = chats.find(has)?.clone();
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

    /// A session is gone: nothing is remembered of its files.
    pub(crate) fn forget_files(&mut self, session: &Uri, out: &mut Effects) {
        self.look(session.clone(), Vec::new(), ChangeTask::Forget, out);
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

    /// Has a changeset computed, and says so: what it shows may be old.
    fn refresh_aloud(&mut self, channel: &Uri, out: &mut Effects) {
        if self.is_ready(channel) {
            self.show_status(channel, ChangesetStatus::Recomputing, None, out);
        }
        self.refresh(channel, out);
    }

    /// Has a changeset computed. What happens while somebody is at it is
    /// looked at after that.
    pub(crate) fn refresh(&mut self, channel: &Uri, out: &mut Effects) {
        let (Some((session, view)), Some(span)) = (self.changeset(channel), self.span(channel))
        else {
            return;
        };
        let looking = self.looking.entry(channel.clone()).or_default();
        if std::mem::replace(&mut looking.busy, true) {
            looking.again = true;
            return;
        }
        looking.round += 1;
        let folders = self.folders_of(channel, &view);
        let channel = channel.clone();
        self.look(session, folders, ChangeTask::Compare { channel, span }, out);
    }

    /// The folders that a changeset is about: those of its chat, or of the
    /// session.
    fn folders_of(&self, channel: &Uri, view: &View) -> Vec<Uri> {
        let chat = View::read(channel).map(|(owner, _)| owner);
        let chat = chat.as_ref().and_then(|owner| self.chat(owner));
        let narrowed = chat.and_then(|chat| chat.summary.working_directories.clone());
        let session = self.owner(channel);
        match (narrowed, session) {
            (Some(folders), _) if *view != View::Session => folders,
            (_, Some(session)) => self.folders(session),
            (_, None) => Vec::new(),
        }
    }

    pub(crate) fn folders(&self, session: &Uri) -> Vec<Uri> {
        let listed = self.sessions.get(session);
        let folders = listed.and_then(|listed| listed.metadata.working_directories.clone());
        folders.unwrap_or_default()
    }

    pub(crate) fn look(
        &self,
        session: Uri,
        directories: Vec<Uri>,
        task: ChangeTask,
        out: &mut Effects,
    ) {
        out.push(Effect::Changes(Box::new(ChangeErrand {
            session,
            directories,
            task,
        })));
    }

    /// Remembers how the files of a session are now.
    pub(crate) fn mark(&mut self, session: &Uri, mark: Mark, out: &mut Effects) {
        let folders = self.folders(session);
        if folders.is_empty() {
            return;
        }
        let chat_began = match &mark {
            Mark::After(turn) => self.first_turn(&turn.chat).map(Mark::Before),
            Mark::Start | Mark::Before(_) => None,
        };
        let task = ChangeTask::Mark { mark, chat_began };
        self.look(session.clone(), folders, task, out);
    }

    /// Remembers how the files are around a turn of a chat. What workers do is
    /// part of what their turn does.
    pub(crate) fn mark_turn(
        &mut self,
        chat: &Uri,
        turn: &TurnId,
        mark: fn(TurnOf) -> Mark,
        out: &mut Effects,
    ) {
        let Some(session) = self.owner(chat).cloned() else {
            return;
        };
        if self.is_worker(chat) {
            return;
        }
        let turn = TurnOf {
            chat: chat.clone(),
            turn: turn.clone(),
        };
        self.mark(&session, mark(turn), out);
    }

    fn first_turn(&self, chat: &Uri) -> Option<TurnOf> {
        let state = self.chat(chat)?;
        let ended = state.turns.items().map(|turn| &turn.id);
        let active = state.active_turn.iter().map(|turn| &turn.id);
        let first = self.earlier(chat).iter().chain(ended).chain(active).next();
        Some(TurnOf {
            chat: chat.clone(),
            turn: first?.clone(),
        })
    }

    /// Something happened to the files of a session, or may have: everyone who
    /// looks at what it can have changed is shown. A turn that ended is looked
    /// at a last time.
    pub(crate) fn look_again_at_all(
        &mut self,
        session: &Uri,
        ended: Option<&TurnId>,
        out: &mut Effects,
    ) {
        let all: Vec<_> = self.changesets_of(session).collect();
        let concerned = |channel: &Uri| {
            let live = self
                .span(channel)
                .is_some_and(|span| span.to == Moment::Now);
            let of_ended = match View::read(channel) {
                Some((_, View::Turn(turn))) => Some(&turn) == ended,
                Some((_, View::Between(one, other))) => {
                    Some(&one) == ended || Some(&other) == ended
                }
                _ => false,
            };
            self.is_watched(channel) && (live || of_ended)
        };
        let all: Vec<_> = all.into_iter().filter(concerned).collect();
        for channel in all {
            if let Some(looking) = self.looking.get_mut(&channel) {
                looking.pause = SOON;
            }
            self.refresh_aloud(&channel, out);
        }
    }

    /// It is known how the files of a changeset differ, or why not (CHS-6).
    pub(crate) fn compared(
        &mut self,
        channel: &Uri,
        outcome: Result<Comparison, Failure>,
        out: &mut Effects,
    ) {
        let looking = self.looking.entry(channel.clone()).or_default();
        looking.busy = false;
        let again = std::mem::take(&mut looking.again);
        let changed = match outcome {
            Ok(comparison) => self.show_comparison(channel, comparison, out),
            Err(failure) => self.show_failure(channel, &failure, out),
        };
        if again {
            self.refresh(channel, out);
            return;
        }
        self.plan_next_look(channel, changed, out);
    }

    fn show_failure(&mut self, channel: &Uri, failure: &Failure, out: &mut Effects) -> bool {
        let error = ErrorInfo {
            error_type: "changesNotKnown".to_owned(),
            message: failure.to_string(),
            stack: None,
            meta: None,
        };
        let (status, error) = (ChangesetStatus::Error, Some(error));
        self.show_status(channel, status, error, out)
    }

    fn show_status(
        &mut self,
        channel: &Uri,
        status: ChangesetStatus,
        error: Option<ErrorInfo>,
        out: &mut Effects,
    ) -> bool {
        let Some(ChannelState::Changeset(state)) = self.state(channel) else {
            return false;
        };
        if (&state.status, &state.error) == (&status, &error) {
            return false;
        }
        let changed = ChangesetAction::StatusChanged(ChangesetStatusChanged { status, error });
        self.originate(channel, changed, out)
    }

    /// Shows what differs from what was shown: file by file, or all at once
    /// (CHS-8).
    fn show_comparison(
        &mut self,
        channel: &Uri,
        comparison: Comparison,
        out: &mut Effects,
    ) -> bool {
        let Some((session, view)) = self.changeset(channel) else {
            return false;
        };
        let Some(ChannelState::Changeset(state)) = self.state(channel) else {
            return false;
        };
        let before = state.clone();
        let is_empty = comparison.files.is_empty();
        let operations = operations::offered(&view, &comparison.standing, &before, is_empty);
        let operations = Some(operations).filter(|new| before.operations.as_ref() != Some(new));
        let files = comparison.files.into_iter();
        let files = files.map(|file| Arc::new(with_review(&before, file)));
        let files: Vec<_> = files.collect();
        let known = |file: &Arc<ChangesetFile>| before.files.items().any(|old| *old == **file);
        let new: Vec<_> = files.iter().filter(|file| !known(file)).cloned().collect();
        let ids: std::collections::BTreeSet<_> = files.iter().map(|file| &file.id).collect();
        let gone = before.files.items().filter(|old| !ids.contains(&old.id));
        let gone: Vec<_> = gone.map(|old| old.id.clone()).collect();
        let changed = !new.is_empty() || !gone.is_empty();
        let first = before.status == ChangesetStatus::Computing;
        if new.len() + gone.len() > ONE_BY_ONE || first && changed {
            let content = ChangesetContentChanged {
                files: files.into_iter().collect(),
                operations,
            };
            self.originate(channel, ChangesetAction::ContentChanged(content), out);
        } else {
            for file in new {
                let set = ChangesetAction::FileSet(ChangesetFileSet { file });
                self.originate(channel, set, out);
            }
            for file_id in gone {
                let removed = ChangesetAction::FileRemoved(ChangesetFileRemoved { file_id });
                self.originate(channel, removed, out);
            }
            if operations.is_some() {
                let offered = ChangesetOperationsChanged { operations };
                self.originate(channel, ChangesetAction::OperationsChanged(offered), out);
            }
        }
        self.show_status(channel, ChangesetStatus::Ready, None, out);
        self.show_standing(&session, &comparison.standing, out);
        changed
    }

    /// While somebody watches files that may still change, they are looked at
    /// again: soon while a turn runs, and else ever less often.
    fn plan_next_look(&mut self, channel: &Uri, changed: bool, out: &mut Effects) {
        let live = self
            .span(channel)
            .is_some_and(|span| span.to == Moment::Now);
        if !live || !self.is_watched(channel) {
            self.looking.remove(channel);
            return;
        }
        let session = self
            .owner(channel)
            .and_then(|owner| self.sessions.get(owner));
        let busy = session.is_some_and(|session| {
            let status = session.metadata.status;
            status.contains(SessionStatus::IN_PROGRESS)
        });
        let Some(looking) = self.looking.get_mut(channel) else {
            return;
        };
        let longer = Millis(looking.pause.0.saturating_mul(2));
        looking.pause = if busy || changed {
            SOON
        } else {
            longer.clamp(SOON, PAUSE)
        };
        let (pause, round) = (looking.pause, looking.round);
        let channel = channel.clone();
        out.later(pause, Input::LookAgain { channel, round });
    }

    fn is_ready(&self, channel: &Uri) -> bool {
        match self.state(channel) {
            Some(ChannelState::Changeset(state)) => state.status == ChangesetStatus::Ready,
            _ => false,
        }
    }

    fn is_watched(&self, channel: &Uri) -> bool {
        let channel = self.channels.get(channel);
        channel.is_some_and(|channel| !channel.subscribers.is_empty())
    }

    /// A while has passed since somebody looked.
    pub(crate) fn look_again(&mut self, channel: &Uri, round: u64, out: &mut Effects) {
        let current = self.looking.get(channel);
        if current.is_none_or(|looking| looking.busy || looking.round != round) {
            return;
        }
        if self.is_watched(channel) {
            self.refresh(channel, out);
        } else {
            self.looking.remove(channel);
        }
    }
}

/// A file keeps that it was reviewed for as long as it stays the same
/// (CHS-10).
fn with_review(before: &ChangesetState, file: ChangesetFile) -> ChangesetFile {
    let known = before.files.items().find(|known| known.id == file.id);
    let reviewed = known.and_then(|known| {
        let same = known.edit == file.edit;
        known.reviewed.map(|reviewed| reviewed && same)
    });
    ChangesetFile { reviewed, ..file }
}
