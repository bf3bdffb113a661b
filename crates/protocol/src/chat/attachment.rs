//! What can be attached to a message.

use crate::common::{ContentRef, Meta, TextRange, TextSelection};
use crate::ids::{AnnotationId, TurnId};
use crate::uri::Uri;
use crate::wire::{Unknown, Wire};

/// Something attached to a message.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "type")]
pub enum Attachment {
    /// Described by whoever made it.
    Simple(SimpleAttachment),
    /// Data inside the message.
    EmbeddedResource(EmbeddedResourceAttachment),
    /// Content to fetch by its URI.
    Resource(ResourceAttachment),
    /// Annotations of a session.
    Annotations(AnnotationsAttachment),
    /// The transcript of another chat.
    Chat(ChatAttachment),
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// What all attachments have.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AttachmentBase {
    /// Name for people.
    pub label: String,
    /// Where the text of the message refers to it.
    pub range: Option<TextRange>,
    /// A hint for display: `image`, `document`, `symbol`, `directory`,
    /// `selection` …
    pub display_kind: Option<String>,
    /// Free data. What a completion put here comes back with the message.
    pub meta: Option<Meta>,
}

/// An attachment that says itself what the model gets to see.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SimpleAttachment {
    /// What all attachments have.
    #[wire(flatten)]
    pub base: AttachmentBase,
    /// What the model sees. Only the host's own completions may leave it out
    /// (CMP-6).
    pub model_representation: Option<String>,
}

/// Data that travels inside the message, such as a pasted image.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct EmbeddedResourceAttachment {
    /// What all attachments have.
    #[wire(flatten)]
    pub base: AttachmentBase,
    /// The bytes in base64.
    pub data: String,
    /// Their MIME type.
    pub content_type: String,
    /// What of it is selected, if it is text.
    pub selection: Option<TextSelection>,
}

/// Content that is fetched when it is needed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceAttachment {
    /// What all attachments have.
    #[wire(flatten)]
    pub base: AttachmentBase,
    /// The content.
    #[wire(flatten)]
    pub content: ContentRef,
    /// What of it is selected, if it is text.
    pub selection: Option<TextSelection>,
}

/// Annotations, all of a channel or some.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationsAttachment {
    /// What all attachments have.
    #[wire(flatten)]
    pub base: AttachmentBase,
    /// The annotations channel.
    pub resource: Uri,
    /// Which ones; absent means all.
    pub annotation_ids: Option<Vec<AnnotationId>>,
}

/// Another chat, from its start to a fixed turn (CHT-40 to CHT-45).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatAttachment {
    /// What all attachments have.
    #[wire(flatten)]
    pub base: AttachmentBase,
    /// The chat, of this session or any other.
    pub resource: Uri,
    /// The last turn that counts; absent means the latest completed one at
    /// the moment the message is accepted.
    pub end_turn: Option<TurnId>,
}
