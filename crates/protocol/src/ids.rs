//! Names for things: one type per kind of identifier, so that a turn is never
//! taken for a tool call.
//!
//! All are opaque strings, compared byte for byte and cheap to clone.

use std::fmt;
use std::sync::Arc;

use crate::wire::{DecodeError, Node, Shape, TextKind, Wire};

macro_rules! text_types {
    ($($(#[$doc:meta])* $name:ident: $kind:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps a string as it is.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                $name(text.into())
            }

            /// The string itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                $name(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                $name(text.into())
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl Wire for $name {
            fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
                node.text().map(|text| $name(text.into()))
            }

            fn shape() -> Shape {
                Shape::Text($kind)
            }
        }
    )*};
}

pub(crate) use text_types;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        text_types! {
            $($(#[$doc])* $name: TextKind::Id(stringify!($name));)*
        }
    };
}

ids! {
    /// A client, as it names itself in `initialize`. A claim, not a secret.
    ClientId;
    /// An agent backend, such as `shell` or `claude`.
    ProviderId;
    /// A model of an agent.
    ModelId;
    /// One request and its response inside a chat.
    TurnId;
    /// A text or reasoning part inside a turn.
    PartId;
    /// A tool call inside a turn. Shares its namespace with [`PartId`].
    ToolCallId;
    /// A choice offered when a tool call asks for confirmation.
    ConfirmationOptionId;
    /// A question, or group of questions, put to the user.
    InputRequestId;
    /// One question inside an input request.
    QuestionId;
    /// One choice of a select question.
    ChoiceId;
    /// A queued or steering message.
    PendingMessageId;
    /// A shell or subagent that outlives its tool call.
    BackgroundWorkId;
    /// An entry in the list of what a session waits for.
    InputNeededId;
    /// A plugin, directory, skill, rule, MCP server … of a session.
    CustomizationId;
    /// A command that ran in a terminal.
    CommandId;
    /// A file inside a changeset.
    ChangesetFileId;
    /// Something a changeset offers to do.
    OperationId;
    /// A conversation anchored to a file.
    AnnotationId;
    /// One contribution to an annotation.
    AnnotationEntryId;
    /// A trigger inside an automation.
    TriggerId;
}

/// The position of an action in the host's one history, over all channels.
///
/// Stays below 2^53, so that JavaScript counts along (CRT-12).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct ServerSeq(pub u64);

/// A client's own count of what it dispatched; echoed as it came, and never
/// used to recognise duplicates (SEQ-10).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct ClientSeq(pub i64);

impl Wire for ServerSeq {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        u64::decode(node).map(ServerSeq)
    }

    fn shape() -> Shape {
        u64::shape()
    }
}

impl Wire for ClientSeq {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        i64::decode(node).map(ClientSeq)
    }

    fn shape() -> Shape {
        i64::shape()
    }
}
