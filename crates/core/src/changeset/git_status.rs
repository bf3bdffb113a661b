//! Publishes the results of checkpoints: the changeset catalogue, the change totals in
//! lists, and the git status in the session's `_meta`.

use agenthost_protocol::changeset::Changeset;
use agenthost_protocol::chat::{ChatAction, ChatChangesetsChanged, PartialChatSummary};
use agenthost_protocol::common::ChangesSummary;
use agenthost_protocol::session::{ChatUpdated, SessionAction, SessionChangesetsChanged};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::changeset::driver::{CheckpointId, CheckpointReport, GitStatus, WorkspaceStatus};
use crate::changeset::view;
use crate::changeset::view::ChangesetOwner;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::error::RequestFailure;

/// The `_meta` key from which clients read the git status.
const GIT_META_KEY: &str = "git";

impl Host {
    /// Publishes the result of a checkpoint, or the reason why changes are not tracked.
    pub(crate) fn handle_checkpoint_taken(
        &mut self,
        session: &Uri,
        checkpoint: &CheckpointId,
        outcome: Result<CheckpointReport, RequestFailure>,
        out: &mut Effects,
    ) {
        if self.session(session).is_none() {
            return;
        }
        let marked = match outcome {
            Ok(marked) => marked,
            Err(failure) => {
                let reason = failure.to_string();
                self.publish_catalogue(
                    session,
                    Some(view::untracked_catalogue(session, &reason)),
                    out,
                );
                return;
            }
        };
        if let Some(standing) = &marked.status {
            self.publish_git_status(session, standing, out);
            let catalogue = view::build_catalogue(session, ChangesetOwner::Session, standing);
            self.publish_catalogue(session, Some(catalogue), out);
            let chats = match checkpoint {
                CheckpointId::SessionStart => self.session(session).map_or(Vec::new(), |state| {
                    let chats = state.chats.items();
                    chats.map(|chat| chat.resource.clone()).collect()
                }),
                CheckpointId::BeforeTurn(turn) | CheckpointId::AfterTurn(turn) => {
                    vec![turn.chat.clone()]
                }
            };
            for chat in chats {
                let catalogue = view::build_catalogue(&chat, ChangesetOwner::Chat, standing);
                self.publish_chat_catalogue(&chat, catalogue, out);
            }
        }
        if let CheckpointId::AfterTurn(turn) = checkpoint {
            self.publish_chat_totals(session, &turn.chat, marked.chat_total, out);
            self.publish_session_totals(session, marked.session_total, out);
        }
        match checkpoint {
            CheckpointId::SessionStart => {}
            CheckpointId::BeforeTurn(_) => self.refresh_session(session, None, out),
            CheckpointId::AfterTurn(turn) => self.refresh_session(session, Some(&turn.turn), out),
        }
    }

    /// Publishes the changeset views of a session, if they changed (CHS-4).
    fn publish_catalogue(
        &mut self,
        session: &Uri,
        changesets: Option<Vec<Changeset>>,
        out: &mut Effects,
    ) {
        let state = self.session(session);
        if state.is_some_and(|state| state.changesets != changesets) {
            let changed = SessionAction::ChangesetsChanged(SessionChangesetsChanged { changesets });
            self.originate(session, changed, out);
        }
    }

    fn publish_chat_catalogue(
        &mut self,
        chat: &Uri,
        changesets: Vec<Changeset>,
        out: &mut Effects,
    ) {
        let changesets = Some(changesets);
        let state = self.chat(chat);
        if state.is_some_and(|state| state.changesets != changesets) {
            let changed = ChatChangesetsChanged { changesets };
            self.originate(chat, ChatAction::ChangesetsChanged(changed), out);
        }
    }

    /// Publishes the change totals of a session in its summary (CHS-17).
    fn publish_session_totals(
        &mut self,
        session: &Uri,
        total: Option<ChangesSummary>,
        out: &mut Effects,
    ) {
        let Some(listed) = self.sessions.get(session) else {
            return;
        };
        if total.is_some() && listed.changes != total {
            let mut listed = (**listed).clone();
            listed.changes = total;
            self.publish_summary(session, listed, out);
        }
    }

    /// Publishes the change totals of a chat. They are stored in the session's entry of the
    /// chat, because there is no action on the chat that carries them (SYN-2).
    fn publish_chat_totals(
        &mut self,
        session: &Uri,
        chat: &Uri,
        total: Option<ChangesSummary>,
        out: &mut Effects,
    ) {
        if total.is_some() && self.changes_of_chat(chat) != total {
            let changes = PartialChatSummary {
                changes: total,
                ..PartialChatSummary::default()
            };
            let chat = chat.clone();
            let updated = SessionAction::ChatUpdated(Box::new(ChatUpdated { chat, changes }));
            self.originate(session, updated, out);
            self.sync_session(session, out);
        }
    }

    /// Returns the change totals of a chat from the session's entry.
    pub(crate) fn changes_of_chat(&self, chat: &Uri) -> Option<ChangesSummary> {
        let session = self.session(self.session_of(chat)?)?;
        let mut chats = session.chats.items();
        let entry = chats.find(|entry| entry.resource == *chat)?;
        entry.changes.clone()
    }

    /// Publishes the git status in the session's `_meta`.
    pub(crate) fn publish_git_status(
        &mut self,
        session: &Uri,
        status: &WorkspaceStatus,
        out: &mut Effects,
    ) {
        let found = status
            .git
            .as_ref()
            .map(|git| Json::Object(git_status_object(git)));
        self.set_session_meta(session, GIT_META_KEY, found, out);
    }
}

/// Encodes the git status with the field names that shipped clients read.
fn git_status_object(git: &GitStatus) -> Object {
    let text = |text: &Option<String>| text.clone().map(Json::from);
    let number = |number: Option<u64>| number.map(Json::from);
    let fields = [
        ("branchName", text(&git.branch)),
        (
            "isDetachedHead",
            git.branch.is_none().then(|| Json::from(true)),
        ),
        ("baseBranchName", text(&git.base)),
        ("upstreamBranchName", text(&git.upstream)),
        ("incomingChanges", number(git.incoming)),
        ("outgoingChanges", number(git.outgoing)),
        ("uncommittedChanges", number(Some(git.uncommitted))),
        ("underWay", text(&git.operation_in_progress)),
        (
            "worktreeOf",
            git.worktree_of
                .as_ref()
                .map(|folder| Json::from(folder.as_str())),
        ),
    ];
    let fields = fields.into_iter();
    let known = fields.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    known.collect()
}
