//! Merges adjacent text chunks of an agent message.
//!
//! Agents send a message for every word or two. If many of them are already in the buffer, one
//! merged message carries the same text at a fraction of the cost. The reader never waits for
//! more chunks.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The method of the notifications that carry text chunks.
pub(crate) const SESSION_UPDATE_METHOD: &str = "session/update";

/// The maximum length of a merged text, in bytes.
const MAX_MERGED_BYTES: usize = 16 * 1024;

/// A notification that contains only a text chunk. A message with unknown fields is not parsed
/// as one, and stays unchanged.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TextChunk<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: ChunkParams<'a>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ChunkParams<'a> {
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    update: ChunkUpdate<'a>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ChunkUpdate<'a> {
    #[serde(borrow)]
    session_update: Cow<'a, str>,
    #[serde(borrow)]
    content: ChunkContent<'a>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    message_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ChunkContent<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

impl<'a> TextChunk<'a> {
    /// Parses a text chunk; `None` for any other message.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let chunk: TextChunk<'_> = serde_json::from_str(text).ok()?;
        let update = &chunk.params.update;
        let speech = ["agent_message_chunk", "agent_thought_chunk"];
        let is_speech = chunk.jsonrpc == "2.0"
            && chunk.method == SESSION_UPDATE_METHOD
            && speech.contains(&&*update.session_update)
            && update.content.r#type == "text";
        is_speech.then_some(chunk)
    }

    /// Appends the text of the next chunk. Returns `false` if it belongs to another message, or
    /// if the merged text would be too long.
    pub(crate) fn append(&mut self, next: &TextChunk<'_>) -> bool {
        let (own, other) = (&mut self.params, &next.params);
        let is_same_message = own.session_id == other.session_id
            && own.update.session_update == other.update.session_update
            && own.update.message_id == other.update.message_id;
        let text = &mut own.update.content.text;
        let addition = &other.update.content.text;
        if !is_same_message || text.len() + addition.len() > MAX_MERGED_BYTES {
            return false;
        }
        text.to_mut().push_str(addition);
        true
    }

    /// Returns the notification as JSON; `None` if it can't be serialized.
    pub(crate) fn to_json(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}
