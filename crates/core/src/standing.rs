//! What is known of the files of a session, where clients look for it: in its
//! catalogue, in lists, and in its `_meta`.

use agenthost_protocol::changeset::Changeset;
use agenthost_protocol::chat::{ChatAction, ChatChangesetsChanged, PartialChatSummary};
use agenthost_protocol::common::ChangesSummary;
use agenthost_protocol::session::{ChatUpdated, SessionAction, SessionChangesetsChanged};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::changes::{GitStanding, Mark, Marked, Standing};
use crate::changesets::view::{self, Owner};
use crate::effect::Effects;
use crate::host::Host;
use crate::refusal::Failure;

/// Where clients look for what git says.
const GIT: &str = "git";

impl Host {
    /// A moment was marked, or could not be.
    pub(crate) fn marked(
        &mut self,
        session: &Uri,
        mark: &Mark,
        outcome: Result<Marked, Failure>,
        out: &mut Effects,
    ) {
        if self.session(session).is_none() {
            return;
        }
        let marked = match outcome {
            Ok(marked) => marked,
            Err(failure) => {
                let reason = failure.to_string();
                self.offer(session, Some(view::untracked(session, &reason)), out);
                return;
            }
        };
        if let Some(standing) = &marked.standing {
            self.show_standing(session, standing, out);
            let catalogue = view::catalogue(session, Owner::Session, standing);
            self.offer(session, Some(catalogue), out);
            let chats = match mark {
                Mark::Start => self.session(session).map_or(Vec::new(), |state| {
                    let chats = state.chats.items();
                    chats.map(|chat| chat.resource.clone()).collect()
                }),
                Mark::Before(turn) | Mark::After(turn) => vec![turn.chat.clone()],
            };
            for chat in chats {
                let catalogue = view::catalogue(&chat, Owner::Chat, standing);
                self.offer_in_chat(&chat, catalogue, out);
            }
        }
        if let Mark::After(turn) = mark {
            self.total_chat(session, &turn.chat, marked.chat, out);
            self.total_session(session, marked.session, out);
        }
        match mark {
            Mark::Start => {}
            Mark::Before(_) => self.look_again_at_all(session, None, out),
            Mark::After(turn) => self.look_again_at_all(session, Some(&turn.turn), out),
        }
    }

    /// The views of a session (CHS-4).
    fn offer(&mut self, session: &Uri, changesets: Option<Vec<Changeset>>, out: &mut Effects) {
        let state = self.session(session);
        if state.is_some_and(|state| state.changesets != changesets) {
            let changed = SessionAction::ChangesetsChanged(SessionChangesetsChanged { changesets });
            self.originate(session, changed, out);
        }
    }

    fn offer_in_chat(&mut self, chat: &Uri, changesets: Vec<Changeset>, out: &mut Effects) {
        let changesets = Some(changesets);
        let state = self.chat(chat);
        if state.is_some_and(|state| state.changesets != changesets) {
            let changed = ChatChangesetsChanged { changesets };
            self.originate(chat, ChatAction::ChangesetsChanged(changed), out);
        }
    }

    /// How much a session changed, in lists (CHS-17).
    fn total_session(&mut self, session: &Uri, total: Option<ChangesSummary>, out: &mut Effects) {
        let Some(listed) = self.sessions.get(session) else {
            return;
        };
        if total.is_some() && listed.changes != total {
            let mut listed = (**listed).clone();
            listed.changes = total;
            self.list(session, listed, out);
        }
    }

    /// How much a chat changed. The session's entry of it is where that is
    /// kept: no action on the chat could say it (SYN-2).
    fn total_chat(
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

    /// How much a chat changed, as the session says.
    pub(crate) fn changes_of_chat(&self, chat: &Uri) -> Option<ChangesSummary> {
        let session = self.session(self.owner(chat)?)?;
        let mut chats = session.chats.items();
        let entry = chats.find(|entry| entry.resource == *chat)?;
        entry.changes.clone()
    }

    /// What git says, where clients look for it.
    pub(crate) fn show_standing(&mut self, session: &Uri, standing: &Standing, out: &mut Effects) {
        let found = standing.git.as_ref().map(|git| Json::Object(describe(git)));
        self.show_in_meta(session, GIT, found, out);
    }
}

/// In the names that shipped clients know.
fn describe(git: &GitStanding) -> Object {
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
        ("underWay", text(&git.under_way)),
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
