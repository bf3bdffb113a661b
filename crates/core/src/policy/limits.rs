//! Byte limits of states, and the measurement of their contents.
//!
//! A limit on the number of items does not bound memory, the log or the disk, because one
//! message can have 16 MiB. So every list that a peer can fill has a limit in bytes. `policy`
//! refuses a client's action that would exceed one, before the action is committed. The host
//! ends a turn of an agent that exceeds one (`response_usage`).

use agenthost_protocol::annotations::{Annotation, AnnotationEntry, AnnotationsState};
use agenthost_protocol::chat::{Attachment, AttachmentBase, ChatState, Message};
use agenthost_protocol::common::Meta;
use agenthost_protocol::ids::PendingMessageId;
use agenthost_protocol::wire::encoded_len;

use crate::host::error::Refusal;

/// Maximum size of one `_meta` object as JSON.
pub(crate) const MAX_META_BYTES: usize = 64 * 1024;

/// Maximum size of all pending messages of a chat. The queue is for messages typed during a
/// turn, with a few images.
pub(crate) const MAX_PENDING_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// Maximum size of the draft of a chat. The log stores every version of a draft.
pub(crate) const MAX_DRAFT_BYTES: usize = 8 * 1024 * 1024;

/// Maximum size of all answers to one input request, as JSON.
pub(crate) const MAX_ANSWERS_BYTES: usize = 1024 * 1024;

/// Maximum size of the tools and plugins that one client offers to a session, as JSON.
pub(crate) const MAX_ACTIVE_CLIENT_BYTES: usize = 4 * 1024 * 1024;

/// Maximum size of all annotations of a session.
pub(crate) const MAX_ANNOTATIONS_BYTES: usize = 16 * 1024 * 1024;

/// Maximum number of chats per session, including worker chats.
pub(crate) const MAX_SESSION_CHATS: usize = 1_000;

/// Maximum size of the response of a turn as JSON: text, reasoning, tool calls with their
/// results. WebSocket libraries accept frames of at most 16 MiB by default, so a client could
/// not load a chat with a larger turn at all. Large tool results are spilled to the content
/// store, and only their preview counts.
pub(crate) const MAX_RESPONSE_BYTES: usize = 8 * 1024 * 1024;

/// Maximum number of response parts of a turn. A part costs far more memory than its text.
pub(crate) const MAX_RESPONSE_PARTS: usize = 10_000;

/// Estimated overhead of a list entry in addition to its text.
const ENTRY_OVERHEAD_BYTES: usize = 100;

/// Returns a refusal if a size exceeds its limit.
pub(crate) fn check_bytes(what: &'static str, bytes: usize, limit: usize) -> Result<(), Refusal> {
    if bytes > limit {
        Err(Refusal::TooLarge { what, limit })
    } else {
        Ok(())
    }
}

/// Refuses a `_meta` object that is larger than [`MAX_META_BYTES`].
pub(crate) fn check_meta(meta: Option<&Meta>) -> Result<(), Refusal> {
    check_bytes("`_meta`", meta_bytes(meta), MAX_META_BYTES)
}

/// Refuses a message if its `_meta` or that of an attachment is too large.
pub(crate) fn check_message_meta(message: &Message) -> Result<(), Refusal> {
    check_meta(message.meta.as_ref())?;
    let attachments = message.attachments.iter().flatten();
    let mut bases = attachments.filter_map(attachment_base);
    bases.try_for_each(|base| check_meta(base.meta.as_ref()))
}

/// Refuses a message that does not fit beside the pending messages of a chat. It replaces the
/// pending message with the same id.
pub(crate) fn check_pending_messages(
    chat: &ChatState,
    id: &PendingMessageId,
    message: &Message,
) -> Result<(), Refusal> {
    let queued = chat.queued_messages.iter().flat_map(|queue| queue.items());
    let others = queued.chain(&chat.steering_message);
    let others = others.filter(|waiting| waiting.id != *id);
    let others: usize = others.map(|waiting| message_bytes(&waiting.message)).sum();
    let bytes = others.saturating_add(message_bytes(message));
    check_bytes(
        "the pending messages of a chat",
        bytes,
        MAX_PENDING_MESSAGE_BYTES,
    )
}

/// Refuses entries that do not fit beside the annotations of a session. Entries for which
/// `is_replaced` returns `true` don't count.
pub(crate) fn check_annotations(
    state: &AnnotationsState,
    added: &[AnnotationEntry],
    is_replaced: impl Fn(&Annotation, &AnnotationEntry) -> bool,
) -> Result<(), Refusal> {
    let present = state.annotations.items().flat_map(|annotation| {
        let entries = annotation.entries.iter();
        entries.filter(|entry| !is_replaced(annotation, entry))
    });
    let bytes: usize = present.chain(added).map(entry_bytes).sum();
    check_bytes("the annotations of a session", bytes, MAX_ANNOTATIONS_BYTES)
}

/// Returns the size of a message. The large fields are measured by their length and not
/// encoded, so that measuring a full queue is cheap.
pub(crate) fn message_bytes(message: &Message) -> usize {
    let attachments = message.attachments.iter().flatten();
    let attachments: usize = attachments.map(attachment_bytes).sum();
    let model = message.model.as_ref().map_or(0, encoded_len);
    message.text.len() + attachments + model + meta_bytes(message.meta.as_ref())
}

/// Returns the size of a `_meta` object as JSON; zero if there is none.
pub(crate) fn meta_bytes(meta: Option<&Meta>) -> usize {
    meta.map_or(0, encoded_len)
}

fn attachment_bytes(attachment: &Attachment) -> usize {
    let base = attachment_base(attachment).map_or(0, |base| {
        let kind = base.display_kind.as_ref().map_or(0, String::len);
        base.label.len() + kind + meta_bytes(base.meta.as_ref())
    });
    let content = match attachment {
        Attachment::Simple(simple) => simple.model_representation.as_ref().map_or(0, String::len),
        Attachment::EmbeddedResource(embedded) => embedded.data.len() + embedded.content_type.len(),
        Attachment::Resource(resource) => encoded_len(&resource.content),
        Attachment::Annotations(annotations) => encoded_len(annotations),
        Attachment::Chat(chat) => chat.resource.as_str().len(),
        Attachment::Unknown(_) => encoded_len(attachment),
    };
    base + content + ENTRY_OVERHEAD_BYTES
}

fn attachment_base(attachment: &Attachment) -> Option<&AttachmentBase> {
    match attachment {
        Attachment::Simple(simple) => Some(&simple.base),
        Attachment::EmbeddedResource(embedded) => Some(&embedded.base),
        Attachment::Resource(resource) => Some(&resource.base),
        Attachment::Annotations(annotations) => Some(&annotations.base),
        Attachment::Chat(chat) => Some(&chat.base),
        Attachment::Unknown(_) => None,
    }
}

fn entry_bytes(entry: &AnnotationEntry) -> usize {
    entry.text.as_str().len() + meta_bytes(entry.meta.as_ref()) + ENTRY_OVERHEAD_BYTES
}
