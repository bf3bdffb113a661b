//! Moments that are remembered, and the folders they are about.

use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;

use super::view::View;
use crate::changes::{ChangeErrand, ChangeTask, Mark, TurnOf};
use crate::effect::{Effect, Effects};
use crate::host::Host;

impl Host {
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
        let first = self.turn_ids(chat).next()?;
        Some(TurnOf {
            chat: chat.clone(),
            turn: first.clone(),
        })
    }

    /// All turns of a chat, the oldest first.
    pub(super) fn turn_ids(&self, chat: &Uri) -> impl Iterator<Item = &TurnId> {
        let state = self.chat(chat).into_iter();
        let here = state.flat_map(|chat| {
            let ended = chat.turns.items().map(|turn| &turn.id);
            ended.chain(chat.active_turn.iter().map(|turn| &turn.id))
        });
        self.earlier(chat).iter().chain(here)
    }

    /// A session is gone: nothing is remembered of its files.
    pub(crate) fn forget_files(&mut self, session: &Uri, out: &mut Effects) {
        self.look(session.clone(), Vec::new(), ChangeTask::Forget, out);
    }

    /// The folders that a changeset is about: those of its chat, or of the
    /// session.
    pub(super) fn folders_of(&self, channel: &Uri, view: &View) -> Vec<Uri> {
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
}
