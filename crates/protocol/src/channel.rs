//! Channel kinds, the state of a channel, and snapshots.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::action::Action;
use crate::annotations::AnnotationsState;
use crate::automation::{AutomationRunState, AutomationsState};
use crate::canvas::CanvasState;
use crate::changeset::ChangesetState;
use crate::chat::ChatState;
use crate::ids::ServerSeq;
use crate::outcome::Outcome;
use crate::resource::ResourceWatchState;
use crate::root::RootState;
use crate::session::SessionState;
use crate::terminal::TerminalState;
use crate::uri::Uri;
use crate::wire::{DecodeError, Node, Object, Shape, Wire};

macro_rules! channels {
    ($($(#[$doc:meta])* $kind:ident($state:ident) by $field:literal, requires $required:expr, $as_state:ident;)*) => {
        /// A kind of channel that has state.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ChannelKind {
            $($(#[$doc])* $kind,)*
        }

        /// The state of a channel. A clone copies one pointer.
        #[derive(Debug, Clone, PartialEq)]
        pub enum ChannelState {
            $($(#[$doc])* $kind(Arc<$state>),)*
        }

        impl ChannelKind {
            /// All channel kinds with state, in the order of detection.
            pub const ALL: &'static [ChannelKind] = &[$(ChannelKind::$kind),*];

            /// Returns the kind of a state, detected by a field that only this kind has. Works
            /// for this protocol version and for legacy versions.
            pub fn of_state(state: &Object) -> Option<Self> {
                let has = |(field, _): &&(&str, ChannelKind)| state.contains_key(*field);
                let kinds = [$(($field, ChannelKind::$kind)),*];
                kinds.iter().find(has).map(|(_, kind)| *kind)
            }
        }

        impl ChannelState {
            /// Returns the kind of the channel.
            pub fn kind(&self) -> ChannelKind {
                match self {
                    $(ChannelState::$kind(_) => ChannelKind::$kind,)*
                }
            }

            $(
                #[doc = concat!("The state, if it is of kind `", stringify!($kind), "`.")]
                pub fn $as_state(&self) -> Option<&$state> {
                    if let ChannelState::$kind(state) = self {
                        Some(state)
                    } else {
                        None
                    }
                }
            )*

            /// Applies an action. If a snapshot shares the state, the state is copied first, so
            /// the snapshot does not change.
            pub fn reduce(&mut self, action: &Action) -> Outcome {
                match (self, action) {
                    $((ChannelState::$kind(state), Action::$kind(action)) => {
                        Arc::make_mut(state).reduce(action)
                    })*
                    _ => Outcome::WrongChannel,
                }
            }
        }

        $(
            impl From<$state> for ChannelState {
                fn from(state: $state) -> Self {
                    ChannelState::$kind(Arc::new(state))
                }
            }
        )*

        /// The required fields of each state as listed for its detection, and its shape.
        #[cfg(test)]
        const REQUIRED: &[(&[&str], fn() -> Shape)] = &[$((&$required, $state::shape)),*];

        impl Wire for ChannelState {
            /// Detects the kind, which the wire format does not state. The result is the first
            /// kind whose required fields are all present; unknown fields of later hosts are
            /// ignored. If there is none, the first kind whose distinguishing field is present
            /// reports the missing field.
            fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
                $(
                    if node.get($field)?.is_some() && has_all(node, &$required)? {
                        return Wire::decode(node).map(ChannelState::$kind);
                    }
                )*
                $(
                    if node.get($field)?.is_some() {
                        return Wire::decode(node).map(ChannelState::$kind);
                    }
                )*
                Err(DecodeError::new(concat!(
                    "expected the state of a channel, found an object without any of",
                    $(" `", $field, "`",)*
                )))
            }

            fn shape() -> Shape {
                Shape::Either(vec![$($state::shape),*])
            }
        }

        impl Serialize for ChannelState {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(ChannelState::$kind(state) => state.serialize(serializer),)*
                }
            }
        }
    };
}

channels! {
    /// State of a session.
    Session(SessionState) by "activeClients", requires ["provider", "title", "status", "lifecycle", "activeClients", "chats"], as_session;
    /// State of a chat.
    Chat(ChatState) by "turns", requires ["resource", "title", "status", "modifiedAt", "turns"], as_chat;
    /// State of a terminal.
    Terminal(TerminalState) by "content", requires ["title", "content", "lifecycle", "claim"], as_terminal;
    /// State of a changeset.
    Changeset(ChangesetState) by "files", requires ["status", "files"], as_changeset;
    /// State of a resource watch.
    ResourceWatch(ResourceWatchState) by "recursive", requires ["root", "recursive"], as_resource_watch;
    /// State of a canvas.
    Canvas(CanvasState) by "canvasId", requires ["instanceId", "extensionId", "canvasId"], as_canvas;
    /// State of an automation run.
    AutomationRun(AutomationRunState) by "sessions", requires ["resource", "automation", "origin", "lifecycle", "sessions"], as_automation_run;
    /// State of the root channel.
    Root(RootState) by "agents", requires ["agents"], as_root;
    /// Annotations of a session.
    Annotations(AnnotationsState) by "annotations", requires ["annotations"], as_annotations;
    /// State of the automation catalogue.
    Automations(AutomationsState) by "entries", requires ["entries"], as_automations;
}

fn has_all(node: Node<'_>, fields: &[&'static str]) -> Result<bool, DecodeError> {
    for field in fields {
        if node.get(field)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The state of a channel together with the sequence number at which it was taken.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Snapshot {
    /// URI of the channel.
    pub resource: Uri,
    /// Complete state of the channel.
    pub state: ChannelState,
    /// Sequence number of the snapshot. Every later action has a greater number (SUB-2).
    pub from_seq: ServerSeq,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decoding uses a list, because shapes would make all of their code a part of every client.
    #[test]
    fn the_required_fields_of_a_state_are_those_of_its_shape() {
        for (listed, shape) in REQUIRED {
            let Shape::Object { fields, .. } = shape() else {
                panic!("a state is an object");
            };
            let required = fields.iter().filter(|field| !field.optional);
            let required: Vec<_> = required.map(|field| field.name).collect();
            assert_eq!(*listed, required);
        }
    }
}
