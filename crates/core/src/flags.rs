//! What a session says of itself because of what its chats do: whether it was
//! read, is archived, and what it is called.

use agenthost_protocol::chat::{ChatAction, ChatIsArchivedChanged};
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::session::{
    SessionAction, SessionIsArchivedChanged, SessionIsReadChanged, SessionTitleChanged,
};
use agenthost_protocol::uri::Uri;

use crate::effect::Effects;
use crate::host::Host;

/// Longest title made from a message.
const TITLE: usize = 60;

impl Host {
    /// New activity has not been seen by anyone.
    pub(crate) fn mark_unread(&mut self, chat: &Uri, out: &mut Effects) {
        let Some(session) = self.owner(chat).cloned() else {
            return;
        };
        let read = self
            .session(&session)
            .is_some_and(|session| session.metadata.status.contains(SessionStatus::IS_READ));
        if read {
            let unread = SessionAction::IsReadChanged(SessionIsReadChanged { is_read: false });
            self.originate(&session, unread, out);
            self.sync_session(&session, out);
        }
    }

    /// Who archives a session means its default chat, and no other.
    pub(crate) fn archive_default(&mut self, session: &Uri, is_archived: bool, out: &mut Effects) {
        let default = self
            .session(session)
            .and_then(|state| state.default_chat.clone());
        let Some(chat) = default else {
            return;
        };
        let archived = self
            .chat(&chat)
            .map(|chat| chat.summary.status.contains(SessionStatus::IS_ARCHIVED));
        if archived.is_some_and(|archived| archived != is_archived) {
            let change = ChatAction::IsArchivedChanged(ChatIsArchivedChanged { is_archived });
            self.originate(&chat, change, out);
            self.sync_chat(&chat, out);
        }
    }

    /// Who archives the default chat means the session.
    pub(crate) fn archive_with(&mut self, chat: &Uri, is_archived: bool, out: &mut Effects) {
        let Some(session) = self.owner(chat).cloned() else {
            return;
        };
        let Some(state) = self.session(&session) else {
            return;
        };
        let is_default = state.default_chat.as_ref() == Some(chat);
        let already = state.metadata.status.contains(SessionStatus::IS_ARCHIVED);
        if is_default && already != is_archived {
            let change = SessionIsArchivedChanged { is_archived };
            self.originate(&session, SessionAction::IsArchivedChanged(change), out);
            self.sync_session(&session, out);
        }
    }

    /// A session without a title takes it from its first message.
    pub(crate) fn give_title(&mut self, chat: &Uri, text: &str, out: &mut Effects) {
        let Some(session) = self.owner(chat).cloned() else {
            return;
        };
        let untitled = self
            .session(&session)
            .is_some_and(|session| session.metadata.title.is_empty());
        let line = text.lines().map(str::trim).find(|line| !line.is_empty());
        if let (true, Some(line)) = (untitled, line) {
            let mut title: String = line.chars().take(TITLE).collect();
            if line.chars().count() > TITLE {
                title.push('…');
            }
            let titled = SessionAction::TitleChanged(SessionTitleChanged { title });
            self.originate(&session, titled, out);
            self.sync_session(&session, out);
        }
    }
}
