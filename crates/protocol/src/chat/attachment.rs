//! Attachments of a message.

use crate::common::{ContentRef, Meta, TextRange, TextSelection};
use crate::ids::{AnnotationId, TurnId};
use crate::uri::Uri;
use crate::wire::{Unknown, Wire};

/// An attachment of a message.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "type")]
pub enum Attachment {
    /// Text that the creator of the attachment provides for the model.
    Simple(SimpleAttachment),
    /// Data that is embedded in the message.
    EmbeddedResource(EmbeddedResourceAttachment),
    /// A reference to content that is fetched by URI.
    Resource(ResourceAttachment),
    /// Annotations of a session.
    Annotations(AnnotationsAttachment),
    /// The transcript of another chat.
    Chat(ChatAttachment),
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// Fields that all attachment types share.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AttachmentBase {
    /// Display name for the user interface.
    pub label: String,
    /// Range of the message text that refers to the attachment.
    pub range: Option<TextRange>,
    /// Display hint: `image`, `document`, `symbol`, `directory`, `selection` …
    pub display_kind: Option<String>,
    /// Extension data. Clients must return the value that a completion put here unchanged.
    pub meta: Option<Meta>,
}

/// An attachment that carries its own text for the model.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SimpleAttachment {
    /// Fields that all attachment types share.
    #[wire(flatten)]
    pub base: AttachmentBase,
    /// Text for the model. Only attachments from completions of the host may omit it (CMP-6).
    pub model_representation: Option<String>,
}

/// Data that is embedded in the message, such as a pasted image.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct EmbeddedResourceAttachment {
    /// Fields that all attachment types share.
    #[wire(flatten)]
    pub base: AttachmentBase,
    /// The bytes, encoded in base64.
    pub data: String,
    /// MIME type of the bytes.
    pub content_type: String,
    /// Selected part of the data, if it is text.
    pub selection: Option<TextSelection>,
}

/// Content that the host fetches when it needs it.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceAttachment {
    /// Fields that all attachment types share.
    #[wire(flatten)]
    pub base: AttachmentBase,
    /// Reference to the content.
    #[wire(flatten)]
    pub content: ContentRef,
    /// Selected part of the content, if it is text.
    pub selection: Option<TextSelection>,
}

/// All or some annotations of a channel.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationsAttachment {
    /// Fields that all attachment types share.
    #[wire(flatten)]
    pub base: AttachmentBase,
    /// URI of the annotations channel.
    pub resource: Uri,
    /// Ids of the attached annotations; absent means all.
    pub annotation_ids: Option<Vec<AnnotationId>>,
}

/// The transcript of another chat, from its start to a fixed turn (CHT-40 to CHT-45).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ChatAttachment {
    /// Fields that all attachment types share.
    #[wire(flatten)]
    pub base: AttachmentBase,
    /// URI of the chat, in this session or another one.
    pub resource: Uri,
    /// Last turn of the transcript; absent means the latest completed turn at the time at which
    /// the host accepts the message.
    pub end_turn: Option<TurnId>,
}
