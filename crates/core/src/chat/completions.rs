//! Completes slash commands and file names in a message that the user is typing.
//!
//! The host knows the agent's commands and responds at once. For files it starts a search,
//! and responds when the search has finished.

use std::ops::Range;

use agenthost_protocol::chat::{
    Attachment, AttachmentBase, CompletionItem, CompletionKind, CompletionsParams,
    CompletionsResult, Message, ResourceAttachment, SimpleAttachment,
};
use agenthost_protocol::common::{ContentRef, Meta};
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use crate::agent::SlashCommand;
use crate::host::Host;
use crate::host::effect::{Effect, Effects, ResponseBody};
use crate::host::error::{Refusal, RequestFailure};
use crate::host::input::ConnectionId;

/// Starts a file name in a message.
const FILE_TRIGGER: char = '@';

/// Starts a command name at the beginning of a message.
const COMMAND_TRIGGER: char = '/';

/// Limit for the items of one response; further matches are left out.
pub const MAX_COMPLETION_ITEMS: usize = 50;

/// The `_meta` key that marks an attachment as created by the host. The client sends it
/// back with the message (CMP-5).
const COMMAND_META_KEY: &str = "agenthost.command";

/// The `_meta` keys from which VS Code reads the name and description of a command. It
/// drops items without a name.
const VSCODE_COMMAND_META_KEY: &str = "command";
const VSCODE_DESCRIPTION_META_KEY: &str = "description";

/// A search for files whose names match the typed text.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSearch {
    /// Connection of the client that sent the request.
    pub connection: ConnectionId,
    /// Id of the request, for the response.
    pub id: RequestId,
    /// Directories to search in.
    pub directories: Vec<Uri>,
    /// The part of the name that was typed.
    pub query: String,
    /// Range of the typed text in the message, in UTF-16 code units.
    pub range: Range<u64>,
}

/// A file or directory that matches the typed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatch {
    /// URI of the file or directory.
    pub uri: Uri,
    /// Path relative to the searched directory.
    pub path: String,
    /// Kind of the directory entry.
    pub kind: FileKind,
}

/// Kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A file with content.
    File,
    /// A directory that contains other entries.
    Directory,
}

/// Returns the characters after which a client should request completions.
pub(crate) fn trigger_characters() -> Vec<String> {
    vec![FILE_TRIGGER.to_string(), COMMAND_TRIGGER.to_string()]
}

impl Host {
    /// Handles a completion request. Returns `None` if a file search was started: its
    /// result is the response.
    pub(crate) fn handle_completions(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        params: &CompletionsParams,
        out: &mut Effects,
    ) -> Result<Option<ResponseBody>, RequestFailure> {
        let unknown = || RequestFailure::UnknownSession(params.channel.clone());
        let named = &params.channel;
        let default = self
            .session(named)
            .filter(|_| self.connection_quirks(connection).mixed_channels)
            .and_then(|session| session.default_chat.as_ref());
        let channel = default.unwrap_or(named);
        let chat = self.chat(channel).ok_or_else(unknown)?;
        let session = self.session_of(channel).cloned().ok_or_else(unknown)?;
        let typed = parse_query(&params.text, params.offset)?;
        let typed = match &params.kind {
            CompletionKind::UserMessage => typed,
            // A kind of a later protocol version (CMP-4).
            CompletionKind::Unknown(_) => None,
        };
        let Some(typed) = typed else {
            return Ok(Some(completions_response(Vec::new())));
        };
        if typed.trigger == COMMAND_TRIGGER {
            // After a restart the agent reports its commands only once it is opened.
            self.open_agent(&session, out);
            return Ok(Some(completions_response(
                self.matching_commands(&session, &typed),
            )));
        }
        let own = chat.summary.working_directories.clone();
        let directories = own.or_else(|| {
            let session = self.session(&session)?;
            session.metadata.working_directories.clone()
        });
        out.push(Effect::SearchFiles(Box::new(FileSearch {
            connection,
            id: id.clone(),
            directories: directories.unwrap_or_default(),
            query: typed.query.to_owned(),
            range: typed.range,
        })));
        Ok(None)
    }

    /// Responds with the files that were found, unless the client has disconnected.
    pub(crate) fn complete_file_search(
        &self,
        search: &FileSearch,
        files: Vec<FileMatch>,
        out: &mut Effects,
    ) {
        if !self.clients.connections.contains_key(&search.connection) {
            return;
        }
        let files = files.into_iter().take(MAX_COMPLETION_ITEMS);
        let items = files.map(|file| file_item(file, &search.range));
        out.respond(
            search.connection,
            &search.id,
            completions_response(items.collect()),
        );
    }

    fn matching_commands(&self, session: &Uri, typed: &CompletionQuery<'_>) -> Vec<CompletionItem> {
        let own = self.sessions.slash_commands(session).iter();
        let known = self.customizations.get(session);
        let added = known.into_iter().flat_map(|known| &known.commands);
        // A command of the agent has precedence over a customization's command with the
        // same name.
        let is_own = |name: &str| own.clone().any(|command| command.name == name);
        let added = added.filter(|command| !is_own(&command.name));
        let commands = own.clone().chain(added);
        let query = typed.query.to_lowercase();
        let mut fitting: Vec<_> = commands
            .filter_map(|command| Some((command.name.to_lowercase().find(&query)?, command)))
            .collect();
        // Commands that begin with the typed text come first; otherwise the agent's order
        // stays.
        fitting.sort_by_key(|(found, _)| *found != 0);
        let fitting = fitting.into_iter().take(MAX_COMPLETION_ITEMS);
        fitting
            .map(|(_, command)| command_item(command, &typed.range))
            .collect()
    }
}

/// Refuses simple attachments without a `modelRepresentation` that the host did not create:
/// the host has no content for them (CMP-6).
pub(crate) fn check_attachments(message: &Message) -> Result<(), Refusal> {
    for attachment in message.attachments.iter().flatten() {
        if let Attachment::Simple(simple) = attachment
            && !has_model_representation(simple)
        {
            let label: String = simple.base.label.chars().take(60).collect();
            let reason = format!("attachment `{label}`: modelRepresentation is missing");
            return Err(Refusal::Invalid(reason));
        }
    }
    Ok(())
}

/// Returns `true` if the host knows the content of an attachment for the model.
pub(crate) fn has_model_representation(simple: &SimpleAttachment) -> bool {
    let meta = simple.base.meta.as_ref();
    let ours = meta.is_some_and(|meta| meta.contains_key(COMMAND_META_KEY));
    simple.model_representation.is_some() || ours
}

/// The completion trigger and the text between it and the cursor.
struct CompletionQuery<'a> {
    trigger: char,
    query: &'a str,
    range: Range<u64>,
}

/// Finds the trigger character before the cursor. Offsets are in UTF-16 code units, as
/// clients count them (CMP-2, CMP-3).
fn parse_query(text: &str, offset: u64) -> Result<Option<CompletionQuery<'_>>, RequestFailure> {
    let Some(before) = text_before_offset(text, offset) else {
        let reason = "offset: expected a character boundary of the text";
        return Err(RequestFailure::InvalidParams(reason.to_owned()));
    };
    let word = before.rfind(char::is_whitespace).map_or(before, |space| {
        before
            .get(space..)
            .unwrap_or_default()
            .trim_start_matches(char::is_whitespace)
    });
    let first = before.len() - word.len();
    let starts_message = before.get(..first).unwrap_or_default().trim().is_empty();
    if let Some(query) = word
        .strip_prefix(COMMAND_TRIGGER)
        .filter(|_| starts_message)
    {
        return Ok(Some(build_query(before, query, offset, COMMAND_TRIGGER)));
    }
    let Some(at) = word.rfind(FILE_TRIGGER) else {
        return Ok(None);
    };
    let (head, tail) = word.split_at(at);
    // After a letter or digit it is part of an e-mail address or a similar word.
    if head.ends_with(char::is_alphanumeric) {
        return Ok(None);
    }
    let query = tail.strip_prefix(FILE_TRIGGER).unwrap_or_default();
    Ok(Some(build_query(before, query, offset, FILE_TRIGGER)))
}

fn build_query<'a>(
    before: &str,
    query: &'a str,
    offset: u64,
    trigger: char,
) -> CompletionQuery<'a> {
    let kept = before.len() - query.len() - trigger.len_utf8();
    let start = before.get(..kept).map_or(0, utf16_len);
    CompletionQuery {
        trigger,
        query,
        range: start..offset,
    }
}

fn utf16_len(text: &str) -> u64 {
    text.chars().map(|c| c.len_utf16() as u64).sum()
}

/// Returns the text before an offset, or `None` if the offset is outside of the text or
/// inside of a character.
fn text_before_offset(text: &str, offset: u64) -> Option<&str> {
    let mut units = 0;
    for (index, c) in text.char_indices() {
        if units >= offset {
            return (units == offset).then(|| text.get(..index)).flatten();
        }
        units += c.len_utf16() as u64;
    }
    (units == offset).then_some(text)
}

fn completions_response(items: Vec<CompletionItem>) -> ResponseBody {
    ResponseBody::Completions(CompletionsResult { items })
}

fn command_item(command: &SlashCommand, range: &Range<u64>) -> CompletionItem {
    let mut mark = Meta::default();
    let description = Json::from(command.description.clone());
    mark.insert(
        COMMAND_META_KEY.to_owned(),
        Json::from(command.name.clone()),
    );
    mark.insert(
        VSCODE_COMMAND_META_KEY.to_owned(),
        Json::from(command.name.clone()),
    );
    mark.insert(VSCODE_DESCRIPTION_META_KEY.to_owned(), description);
    let text = format!("{COMMAND_TRIGGER}{}", command.name);
    let label = match command.description.as_str() {
        "" => text.clone(),
        description => format!("{text}: {description}"),
    };
    let attachment = SimpleAttachment {
        base: AttachmentBase {
            label,
            range: None,
            display_kind: Some("command".to_owned()),
            meta: Some(mark),
        },
        model_representation: None,
    };
    completion_item(text, range, Attachment::Simple(attachment))
}

fn file_item(file: FileMatch, range: &Range<u64>) -> CompletionItem {
    let (kind, end) = match file.kind {
        FileKind::File => ("document", ""),
        FileKind::Directory => ("directory", "/"),
    };
    let text = format!("{FILE_TRIGGER}{}{end}", file.path);
    let attachment = ResourceAttachment {
        base: AttachmentBase {
            label: file.path,
            range: None,
            display_kind: Some(kind.to_owned()),
            meta: None,
        },
        content: ContentRef {
            uri: file.uri,
            size_hint: None,
            content_type: None,
            nonce: None,
        },
        selection: None,
    };
    completion_item(text, range, Attachment::Resource(attachment))
}

fn completion_item(
    insert_text: String,
    range: &Range<u64>,
    attachment: Attachment,
) -> CompletionItem {
    CompletionItem {
        insert_text,
        range_start: Some(range.start),
        range_end: Some(range.end),
        attachment,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed_in(text: &str, offset: u64) -> Option<(char, String, Range<u64>)> {
        let typed = parse_query(text, offset).ok()??;
        Some((typed.trigger, typed.query.to_owned(), typed.range))
    }

    /// VS Code reads the name from `_meta.command` and the text beside it from
    /// `_meta.description`. It sends `_meta` back unchanged.
    #[test]
    fn command_items_have_the_meta_fields_of_vs_code() {
        let command = SlashCommand {
            name: "fix".to_owned(),
            description: "Fixes it".to_owned(),
        };
        let item = serde_json::to_value(command_item(&command, &(0..1))).unwrap();
        let expected = serde_json::json!({
            "insertText": "/fix", "rangeStart": 0, "rangeEnd": 1,
            "attachment": {
                "type": "simple", "label": "/fix: Fixes it", "displayKind": "command",
                "_meta": {
                    "agenthost.command": "fix", "command": "fix", "description": "Fixes it",
                },
            },
        });
        assert_eq!(item, expected);
    }

    #[test]
    fn offsets_count_utf16_units() {
        let found = typed_in("🦀é @src/mä and", 11);
        assert_eq!(found, Some(('@', "src/mä".to_owned(), 4..11)));
        assert!(parse_query("🦀", 1).is_err(), "inside a character");
        assert!(parse_query("🦀", 3).is_err(), "behind the end");
        assert!(parse_query("", u64::MAX).is_err());
        assert_eq!(typed_in("", 0), None);
    }

    #[test]
    fn a_slash_or_at_sign_starts_a_completion() {
        let whole = |text: &str| typed_in(text, utf16_len(text));
        assert_eq!(whole("/"), Some(('/', String::new(), 0..1)));
        assert_eq!(whole("  /fix"), Some(('/', "fix".to_owned(), 2..6)));
        assert_eq!(whole("see (@a"), Some(('@', "a".to_owned(), 5..7)));
        assert_eq!(whole("@"), Some(('@', String::new(), 0..1)));
        for nothing in [
            "me@example",
            "look at /etc",
            "@a b",
            "plain",
            "a\u{3000}/x y",
        ] {
            assert_eq!(whole(nothing), None, "{nothing}");
        }
    }
}
