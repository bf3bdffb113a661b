//! Channels: what can be subscribed to, and its state.

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
    ($($(#[$doc:meta])* $kind:ident($state:ident) by $field:literal, $as_state:ident;)*) => {
        /// A kind of channel that has state.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ChannelKind {
            $($(#[$doc])* $kind,)*
        }

        /// The state of a channel. A clone is one pointer.
        #[derive(Debug, Clone, PartialEq)]
        pub enum ChannelState {
            $($(#[$doc])* $kind(Arc<$state>),)*
        }

        impl ChannelKind {
            /// All of them.
            pub const ALL: &'static [ChannelKind] = &[$(ChannelKind::$kind),*];

            /// What kind of state it is, by the field that only such a one has:
            /// of this version or an older one.
            pub fn of_state(state: &Object) -> Option<Self> {
                let has = |(field, _): &&(&str, ChannelKind)| state.contains_key(*field);
                let kinds = [$(($field, ChannelKind::$kind)),*];
                kinds.iter().find(has).map(|(_, kind)| *kind)
            }
        }

        impl ChannelState {
            /// The kind of the channel.
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

            /// Applies an action. If a snapshot shares the state, the
            /// snapshot keeps what it has.
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

        impl Wire for ChannelState {
            /// The wire does not say what kind of state it is: it is the first
            /// that has all its required fields, whatever else a newer host
            /// may add. If none has, the first that has its own field says
            /// what is missing.
            fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
                $(
                    if node.get($field)?.is_some() && has_required(node, &$state::shape())? {
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
    /// A session.
    Session(SessionState) by "activeClients", as_session;
    /// A chat.
    Chat(ChatState) by "turns", as_chat;
    /// A terminal.
    Terminal(TerminalState) by "content", as_terminal;
    /// A changeset.
    Changeset(ChangesetState) by "files", as_changeset;
    /// A watch.
    ResourceWatch(ResourceWatchState) by "recursive", as_resource_watch;
    /// A canvas.
    Canvas(CanvasState) by "canvasId", as_canvas;
    /// A run of an automation.
    AutomationRun(AutomationRunState) by "sessions", as_automation_run;
    /// The host.
    Root(RootState) by "agents", as_root;
    /// The annotations of a session.
    Annotations(AnnotationsState) by "annotations", as_annotations;
    /// The catalogue of automations.
    Automations(AutomationsState) by "entries", as_automations;
}

fn has_required(node: Node<'_>, shape: &Shape) -> Result<bool, DecodeError> {
    let Shape::Object { fields, .. } = shape else {
        return Ok(false);
    };
    for field in fields.iter().filter(|field| !field.optional) {
        if node.get(field.name)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The state of a channel at one point of the host's history.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Snapshot {
    /// The channel.
    pub resource: Uri,
    /// Its state.
    pub state: ChannelState,
    /// The point. Every action that follows has a greater number (SUB-2).
    pub from_seq: ServerSeq,
}
