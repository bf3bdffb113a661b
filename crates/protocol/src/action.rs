//! Actions, the only way to change the state of a channel.
//!
//! Each channel has its own enum (for example `chat::ChatAction`), declared as a table: each
//! row states the permitted dispatcher of the action and the version that introduced it.
//! [`Action`] is the union of these enums.

mod envelope;
mod merge;
mod received;
mod table;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::annotations::AnnotationsAction;
use crate::automation::{AutomationRunAction, AutomationsAction};
use crate::canvas::CanvasAction;
use crate::changeset::ChangesetAction;
use crate::chat::ChatAction;
use crate::resource::ResourceWatchAction;
use crate::root::RootAction;
use crate::session::SessionAction;
use crate::terminal::TerminalAction;
use crate::wire;
use crate::wire::{DecodeError, EncodeFields, Node, Shape, Wire, encode_object};

pub use envelope::{ActionEnvelope, ActionOrigin, ReceivedEnvelope, Rejection};
pub use received::{RawAction, ReceivedAction};
pub(crate) use table::actions;
pub use table::{ActionInfo, Dispatcher};

macro_rules! any_action {
    ($($kind:ident($action:ident) = $prefix:literal,)*) => {
        /// An action on any channel.
        ///
        /// Contains only known, well-formed actions. An action from a peer is decoded as a
        /// [`ReceivedAction`] first, so an unknown or malformed action is never committed.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Action {
            $(
                #[doc = concat!("An action on a channel of kind `", stringify!($kind), "`.")]
                $kind($action),
            )*
        }

        impl Action {
            /// Returns the table row of this action.
            pub fn info(&self) -> &'static ActionInfo {
                match self {
                    $(Action::$kind(action) => action.info(),)*
                }
            }

            /// Iterates over the table rows of all actions, channel by channel.
            pub fn table() -> impl Iterator<Item = &'static ActionInfo> {
                std::iter::empty()$(.chain($action::TABLE))*
            }

            /// Decodes an action with the given `type`; returns `None` if the type is unknown.
            fn decode_named(name: &str, node: Node<'_>) -> Option<Result<Self, DecodeError>> {
                // The prefix selects the channel, so only the types of that channel are
                // compared.
                match name.split('/').next() {
                    $(Some($prefix) => $action::decode_named(name, node)
                        .map(|action| action.map(Action::$kind)),)*
                    _ => None,
                }
            }
        }

        impl EncodeFields for Action {
            fn encode_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self {
                    $(Action::$kind(action) => action.encode_fields(map),)*
                }
            }
        }

        impl Wire for Action {
            fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
                let name = node.tag("type")?;
                Action::decode_named(&name, node)
                    .unwrap_or_else(|| Err(RawAction(node.to_json()).unknown_type()))
            }

            fn shape() -> Shape {
                let mut variants = Vec::new();
                $(variants.extend($action::shapes());)*
                Shape::Union { name: "Action", tag: "type", variants, open: false }
            }
        }

        $(
            impl From<$action> for Action {
                fn from(action: $action) -> Self {
                    Action::$kind(action)
                }
            }

            impl Serialize for $action {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    encode_object(self, serializer)
                }
            }

            impl<'de> Deserialize<'de> for $action {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    match wire::deserialize(deserializer)? {
                        Action::$kind(action) => Ok(action),
                        other => Err(wrong_kind(&other)),
                    }
                }
            }
        )*
    };
}

any_action! {
    Root(RootAction) = "root",
    Session(SessionAction) = "session",
    Chat(ChatAction) = "chat",
    Terminal(TerminalAction) = "terminal",
    Changeset(ChangesetAction) = "changeset",
    Annotations(AnnotationsAction) = "annotations",
    ResourceWatch(ResourceWatchAction) = "resourceWatch",
    Canvas(CanvasAction) = "canvas",
    Automations(AutomationsAction) = "automation",
    AutomationRun(AutomationRunAction) = "automationRun",
}

/// Returns the error for an action that belongs to another kind of channel.
fn wrong_kind<E: serde::de::Error>(action: &Action) -> E {
    let name = action.info().name;
    E::custom(format_args!("`{name}` belongs to another kind of channel"))
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        encode_object(self, serializer)
    }
}
