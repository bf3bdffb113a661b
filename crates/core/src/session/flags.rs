//! Session properties that follow from its chats: read and archived flags, and the title.

use agenthost_protocol::chat::{ChatAction, ChatIsArchivedChanged};
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::label::clean_label;
use agenthost_protocol::session::{
    SessionAction, SessionIsArchivedChanged, SessionIsReadChanged, SessionState,
    SessionTitleChanged,
};
use agenthost_protocol::uri::Uri;

use crate::host::Host;
use crate::host::effect::Effects;

/// Maximum length of a title that is derived from a message, so that it fits into a list.
const MAX_DERIVED_TITLE_CHARS: usize = 60;

/// Maximum length of a title that an agent suggests.
const MAX_SUGGESTED_TITLE_CHARS: usize = 200;

impl Host {
    /// Marks a session as unread, because it has new activity.
    pub(crate) fn mark_unread(&mut self, chat: &Uri, out: &mut Effects) {
        let Some(session) = self.session_of(chat).cloned() else {
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

    /// Applies the archived flag of a session to its default chat, and to no other chat.
    pub(crate) fn archive_default_chat(
        &mut self,
        session: &Uri,
        is_archived: bool,
        out: &mut Effects,
    ) {
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

    /// Applies the archived flag of the default chat to its session.
    pub(crate) fn archive_session_of(&mut self, chat: &Uri, is_archived: bool, out: &mut Effects) {
        let Some(session) = self.session_of(chat).cloned() else {
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

    /// Derives the title of an untitled session from its first message.
    pub(crate) fn derive_title(&mut self, chat: &Uri, text: &str, out: &mut Effects) {
        let Some(session) = self.session_of(chat).cloned() else {
            return;
        };
        let untitled = self
            .session(&session)
            .is_some_and(|session| session.metadata.title.is_empty());
        if let (true, Some(title)) = (untitled, title_of_message(text)) {
            self.set_derived_title(&session, title, out);
        }
    }

    /// Sets the title of a new session that a chat moves to: that of the chat, or one that is
    /// derived from the chat's first message.
    pub(crate) fn title_moved_session(
        &mut self,
        session: &Uri,
        chat: &Uri,
        state: &mut SessionState,
    ) {
        let Some(moved) = self.chat(chat) else {
            return;
        };
        let messages = moved.turns.items().map(|turn| &turn.message);
        let active = moved.active_turn.iter().map(|turn| &turn.message);
        let first = messages.chain(active).next();
        let derived = first.and_then(|message| title_of_message(&message.text));
        if !moved.summary.title.is_empty() {
            state.metadata.title.clone_from(&moved.summary.title);
        } else if let Some(derived) = derived {
            state.metadata.title.clone_from(&derived);
            self.sessions.set_derived_title(session.clone(), derived);
        }
    }

    /// Applies the title that an agent suggests for the default chat. A title that a user has
    /// chosen is never replaced.
    pub(crate) fn apply_suggested_title(
        &mut self,
        session: &Uri,
        chat: &Uri,
        title: &str,
        out: &mut Effects,
    ) {
        let Some(state) = self.session(session) else {
            return;
        };
        let before = &state.metadata.title;
        let given = before.is_empty() || self.sessions.derived_title(session) == Some(before);
        let line = title.lines().map(str::trim).find(|line| !line.is_empty());
        let mut title: String = line
            .unwrap_or_default()
            .chars()
            .take(MAX_SUGGESTED_TITLE_CHARS)
            .collect();
        clean_label(&mut title);
        let default = state.default_chat.as_ref() == Some(chat);
        if default && given && !title.is_empty() && *before != title {
            self.set_derived_title(session, title, out);
        }
    }

    fn set_derived_title(&mut self, session: &Uri, title: String, out: &mut Effects) {
        self.sessions
            .set_derived_title(session.clone(), title.clone());
        let titled = SessionAction::TitleChanged(SessionTitleChanged { title });
        self.originate(session, titled, out);
        self.sync_session(session, out);
    }
}

/// Returns the first line of a message as a title.
fn title_of_message(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let mut title: String = line.chars().take(MAX_DERIVED_TITLE_CHARS).collect();
    clean_label(&mut title);
    if line.chars().count() > MAX_DERIVED_TITLE_CHARS {
        title.push('…');
    }
    Some(title)
}
