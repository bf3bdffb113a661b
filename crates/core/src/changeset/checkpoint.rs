//! Requests checkpoints, and determines the folders that they cover.

use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;

use super::view::ChangesetView;
use crate::changeset::driver::{ChangeJob, ChangeTask, CheckpointId, TurnRef, WorktreeDisposal};
use crate::host::Host;
use crate::host::effect::{Effect, Effects};

impl Host {
    /// Takes a checkpoint of the session's folders. A session without folders has none.
    pub(crate) fn take_checkpoint(
        &mut self,
        session: &Uri,
        checkpoint: CheckpointId,
        out: &mut Effects,
    ) {
        let folders = self.session_folders(session);
        if folders.is_empty() {
            return;
        }
        let chat_began = match &checkpoint {
            CheckpointId::AfterTurn(turn) => {
                self.first_turn(&turn.chat).map(CheckpointId::BeforeTurn)
            }
            CheckpointId::SessionStart | CheckpointId::BeforeTurn(_) => None,
        };
        if let CheckpointId::BeforeTurn(turn) = &checkpoint {
            self.turns.raise_barrier(&turn.chat);
        }
        let task = ChangeTask::TakeCheckpoint {
            checkpoint,
            chat_start: chat_began,
        };
        self.push_change_job(session.clone(), folders, task, out);
    }

    /// Takes a checkpoint before or after a turn. A worker chat has none of its own: its
    /// changes are part of the turn that spawned it.
    pub(crate) fn checkpoint_turn(
        &mut self,
        chat: &Uri,
        turn: &TurnId,
        checkpoint: fn(TurnRef) -> CheckpointId,
        out: &mut Effects,
    ) {
        let Some(session) = self.session_of(chat).cloned() else {
            return;
        };
        if self.is_worker(chat) {
            return;
        }
        let turn = TurnRef {
            chat: chat.clone(),
            turn: turn.clone(),
        };
        self.take_checkpoint(&session, checkpoint(turn), out);
    }

    fn first_turn(&self, chat: &Uri) -> Option<TurnRef> {
        let first = self.turn_ids(chat).next()?;
        Some(TurnRef {
            chat: chat.clone(),
            turn: first.clone(),
        })
    }

    /// Returns the ids of all turns of a chat, the oldest first.
    pub(super) fn turn_ids(&self, chat: &Uri) -> impl Iterator<Item = &TurnId> {
        let state = self.chat(chat).into_iter();
        let here = state.flat_map(|chat| {
            let ended = chat.turns.items().map(|turn| &turn.id);
            ended.chain(chat.active_turn.iter().map(|turn| &turn.id))
        });
        self.evicted_turns(chat).iter().chain(here)
    }

    /// Deletes the checkpoints of a removed session.
    pub(crate) fn forget_checkpoints(
        &mut self,
        session: &Uri,
        worktree: WorktreeDisposal,
        out: &mut Effects,
    ) {
        let task = ChangeTask::ForgetSession { worktree };
        self.push_change_job(session.clone(), Vec::new(), task, out);
    }

    /// Returns the folders that a changeset covers: those of its chat if they are narrowed,
    /// otherwise those of the session.
    pub(super) fn changeset_folders(&self, channel: &Uri, view: &ChangesetView) -> Vec<Uri> {
        let chat = ChangesetView::parse_changeset_uri(channel).map(|(owner, _)| owner);
        let chat = chat.as_ref().and_then(|owner| self.chat(owner));
        let narrowed = chat.and_then(|chat| chat.summary.working_directories.clone());
        let session = self.session_of(channel);
        match (narrowed, session) {
            (Some(folders), _) if *view != ChangesetView::Session => folders,
            (_, Some(session)) => self.session_folders(session),
            (_, None) => Vec::new(),
        }
    }

    pub(crate) fn session_folders(&self, session: &Uri) -> Vec<Uri> {
        let listed = self.sessions.get(session);
        let folders = listed.and_then(|listed| listed.metadata.working_directories.clone());
        folders.unwrap_or_default()
    }

    pub(crate) fn push_change_job(
        &self,
        session: Uri,
        directories: Vec<Uri>,
        task: ChangeTask,
        out: &mut Effects,
    ) {
        out.push(Effect::TrackChanges(Box::new(ChangeJob {
            session,
            directories,
            task,
        })));
    }
}
