//! The composer: the message that the user writes, and its draft in the host.

use agenthost_protocol::uri::Uri;
use serde::Deserialize;

use super::text_input::TextInput;

/// Time after a change at which the draft is stored.
const DRAFT_DELAY_MS: i64 = 400;

/// Completions that are shown.
const MAX_COMPLETIONS: usize = 8;

/// The composer of the selected chat.
#[derive(Debug, Default)]
pub(crate) struct MessageComposer {
    pub(crate) input: TextInput,
    chat: Option<Uri>,
    /// The draft as the host has it, as far as this client knows.
    synced: String,
    /// Time of the last change that was not stored.
    changed_at: Option<i64>,
    pub(crate) completions: Vec<CompletionEntry>,
    pub(crate) selected: usize,
    /// Place in the history of the user's messages, counted from the last one.
    history: Option<usize>,
}

/// A completion of the word at the cursor.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct CompletionEntry {
    pub(crate) insert: String,
    pub(crate) label: String,
    #[serde(default)]
    pub(crate) description: String,
    /// Range that is replaced, in UTF-16 code units.
    start: Option<u64>,
    end: Option<u64>,
}

/// A draft that has to be stored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnsavedDraft {
    pub(crate) chat: Uri,
    pub(crate) text: String,
}

impl MessageComposer {
    /// Shows the draft of a chat. Returns the draft of the chat before, if it was not stored.
    pub(crate) fn show(&mut self, chat: Option<&Uri>, draft: Option<&str>) -> Option<UnsavedDraft> {
        if self.chat.as_ref() != chat {
            let unsaved = self.take_unsaved();
            *self = MessageComposer {
                chat: chat.cloned(),
                synced: draft.unwrap_or_default().to_owned(),
                input: TextInput::new(draft.unwrap_or_default().to_owned()),
                ..MessageComposer::default()
            };
            return unsaved;
        }
        let draft = draft?;
        if draft != self.synced {
            // Another client has changed it. Text that this user is writing stays.
            if self.changed_at.is_none() {
                self.input.set_text(draft.to_owned());
            }
            self.synced = draft.to_owned();
        }
        None
    }

    /// Records a change of the text.
    pub(crate) fn note_change(&mut self, now: i64) {
        self.changed_at = Some(now);
        self.history = None;
    }

    /// Returns the time at which the draft has to be stored.
    pub(crate) fn deadline(&self) -> Option<i64> {
        Some(self.changed_at? + DRAFT_DELAY_MS)
    }

    /// Returns the draft if it is time to store it.
    pub(crate) fn take_due(&mut self, now: i64) -> Option<UnsavedDraft> {
        (self.deadline()? <= now)
            .then(|| self.take_unsaved())
            .flatten()
    }

    /// Returns the draft if it was not stored.
    pub(crate) fn take_unsaved(&mut self) -> Option<UnsavedDraft> {
        self.changed_at.take()?;
        let text = self.input.text().to_owned();
        if text == self.synced {
            return None;
        }
        self.synced.clone_from(&text);
        let chat = self.chat.clone()?;
        Some(UnsavedDraft { chat, text })
    }

    /// Removes the text that is sent.
    pub(crate) fn take_message(&mut self) -> String {
        self.changed_at = None;
        self.synced.clear();
        self.history = None;
        self.completions.clear();
        self.input.take()
    }

    /// Returns the text and the position for a request for completions, if the cursor is in a word
    /// that can be completed.
    pub(crate) fn completion_query(&self) -> Option<(String, u64)> {
        let before = self.input.before_cursor();
        let word = before.rsplit(char::is_whitespace).next()?;
        let is_command = word.starts_with('/') && before.len() == word.len();
        if !is_command && !word.starts_with('@') && !word.starts_with('#') {
            return None;
        }
        let units = before.encode_utf16().count();
        Some((self.input.text().to_owned(), u64::try_from(units).ok()?))
    }

    /// Shows completions of a text, unless it has changed since.
    pub(crate) fn show_completions(&mut self, text: &str, mut entries: Vec<CompletionEntry>) {
        if self.input.text() == text {
            entries.truncate(MAX_COMPLETIONS);
            self.completions = entries;
            self.selected = 0;
        }
    }

    /// Inserts the selected completion.
    pub(crate) fn accept_completion(&mut self) -> bool {
        let Some(entry) = self.completions.get(self.selected).cloned() else {
            return false;
        };
        let text = self.input.text();
        let word = self
            .input
            .before_cursor()
            .rsplit(char::is_whitespace)
            .next();
        let word = word.map_or(0, str::len);
        let cursor = self.input.before_cursor().len();
        let start = entry
            .start
            .map_or(cursor - word, |units| byte_of(text, units));
        let end = entry.end.map_or(cursor, |units| byte_of(text, units));
        self.input.replace(start..end, &entry.insert);
        self.completions.clear();
        true
    }

    /// Shows an earlier (1) or later (-1) message of the user.
    pub(crate) fn recall(&mut self, messages: &[&str], step: isize) -> bool {
        if self.history.is_none() && !self.input.is_empty() {
            return false;
        }
        let place = match (self.history, step) {
            (None, 1) => Some(0),
            (Some(place), _) => place.checked_add_signed(step),
            (None, _) => return false,
        };
        let message = place.and_then(|place| messages.iter().rev().nth(place));
        match (place, message) {
            (Some(place), Some(message)) => {
                self.input.set_text((*message).to_owned());
                self.history = Some(place);
            }
            (None, _) => {
                self.input.set_text(String::new());
                self.history = None;
            }
            (Some(_), None) => {}
        }
        true
    }
}

/// Returns the position in bytes of a position in UTF-16 code units.
fn byte_of(text: &str, units: u64) -> usize {
    let mut counted = 0;
    for (at, character) in text.char_indices() {
        if counted >= units {
            return at;
        }
        counted += u64::try_from(character.len_utf16()).unwrap_or(1);
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(name: &str) -> Uri {
        Uri::from(format!("ahp-chat:/{name}"))
    }

    #[test]
    fn a_draft_is_stored_after_a_while_and_when_the_chat_changes() {
        let mut composer = MessageComposer::default();
        assert_eq!(composer.show(Some(&chat("a")), Some("hi")), None);
        composer.input.insert("!");
        composer.note_change(1_000);
        assert_eq!(composer.take_due(1_399), None);
        let draft = UnsavedDraft {
            chat: chat("a"),
            text: "hi!".to_owned(),
        };
        assert_eq!(composer.take_due(1_400), Some(draft));
        composer.input.insert("?");
        composer.note_change(2_000);
        let unsaved = composer.show(Some(&chat("b")), None).unwrap();
        assert_eq!((unsaved.chat, unsaved.text.as_str()), (chat("a"), "hi!?"));
        assert!(composer.input.is_empty());
    }

    #[test]
    fn a_draft_of_another_client_is_shown_unless_the_user_is_writing() {
        let mut composer = MessageComposer::default();
        composer.show(Some(&chat("a")), Some(""));
        composer.show(Some(&chat("a")), Some("from the phone"));
        assert_eq!(composer.input.text(), "from the phone");
        composer.input.insert(" x");
        composer.note_change(1);
        composer.show(Some(&chat("a")), Some("other"));
        assert_eq!(composer.input.text(), "from the phone x");
    }

    #[test]
    fn completions_replace_their_range() {
        let mut composer = MessageComposer::default();
        composer.show(Some(&chat("a")), Some("ü @sr"));
        assert_eq!(composer.completion_query(), Some(("ü @sr".to_owned(), 5)));
        let entry = CompletionEntry {
            insert: "@src/main.rs ".to_owned(),
            label: String::new(),
            description: String::new(),
            start: Some(2),
            end: Some(5),
        };
        composer.show_completions("ü @sr", vec![entry]);
        assert!(composer.accept_completion());
        assert_eq!(composer.input.text(), "ü @src/main.rs ");
        composer.input.set_text("a /x".to_owned());
        assert_eq!(composer.completion_query(), None);
    }

    #[test]
    fn earlier_messages_come_back() {
        let mut composer = MessageComposer::default();
        assert!(composer.recall(&["one", "two"], 1));
        assert!(composer.recall(&["one", "two"], 1));
        assert_eq!(composer.input.text(), "one");
        assert!(composer.recall(&["one", "two"], -1));
        assert_eq!(composer.input.text(), "two");
        assert!(composer.recall(&["one", "two"], -1));
        assert!(composer.input.is_empty());
        composer.input.insert("text");
        assert!(!composer.recall(&["one", "two"], 1));
    }
}
