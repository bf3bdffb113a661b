//! Identifiers: one type per kind, so that a turn id is never used as a tool call id.
//!
//! All identifiers are opaque strings, compared byte for byte and cheap to clone.

use std::fmt;
use std::sync::Arc;

use crate::wire::{DecodeError, Node, Shape, TextKind, Wire};

macro_rules! text_types {
    ($($(#[$doc:meta])* $name:ident: $kind:expr;)*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps a string without validation.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                $name(text.into())
            }

            /// Returns the wrapped string.
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
    /// Id of a client, chosen by the client in `initialize`. It is a claim, not a secret.
    ClientId;
    /// Id of an agent, such as `shell` or `claude`.
    ProviderId;
    /// Id of a model of an agent.
    ModelId;
    /// Id of a turn in a chat.
    TurnId;
    /// Id of a text or reasoning part in a turn.
    PartId;
    /// Id of a tool call in a turn. Shares its namespace with [`PartId`].
    ToolCallId;
    /// Id of an option in the confirmation dialog of a tool call.
    ConfirmationOptionId;
    /// Id of an input request to the user.
    InputRequestId;
    /// Id of a question in an input request.
    QuestionId;
    /// Id of a choice of a select question.
    ChoiceId;
    /// Id of a queued or steering message.
    PendingMessageId;
    /// Id of a shell command or subagent that outlives its tool call.
    BackgroundWorkId;
    /// Id of an entry in the list of open requests of a session.
    InputNeededId;
    /// Id of a plugin, directory, skill, rule, MCP server … of a session.
    CustomizationId;
    /// Id of a command that ran in a terminal.
    CommandId;
    /// Id of a file in a changeset.
    ChangesetFileId;
    /// Id of an operation of a changeset.
    OperationId;
    /// Id of an annotation, unique in its channel.
    AnnotationId;
    /// Id of a comment in an annotation.
    AnnotationEntryId;
    /// Id of a trigger in an automation.
    TriggerId;
}

/// The host-wide sequence number of an action, increasing across all channels.
///
/// Stays below 2^53, the limit for exact integers in JavaScript (CRT-12).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct ServerSeq(pub u64);

/// The sequence number of a client for its dispatched actions. The host echoes it verbatim and
/// never uses it to detect duplicates (SEQ-10).
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
