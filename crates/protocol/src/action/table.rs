//! The table behind every enum of actions.

use crate::channel::ChannelKind;
use crate::version::Version;

/// Who may dispatch an action. The host may originate any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dispatcher {
    /// Clients, subject to the host's rules.
    Client,
    /// The host alone.
    Host,
}

/// What is known about an action before looking inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionInfo {
    /// Its `type` on the wire.
    pub name: &'static str,
    /// The kind of channel it belongs to.
    pub channel: ChannelKind,
    /// Who may dispatch it.
    pub dispatcher: Dispatcher,
    /// The version that introduced it.
    pub since: Version,
}

/// Declares the actions of a channel: one row each, with its name on the
/// wire, who may dispatch it, and the version that introduced it.
macro_rules! actions {
    (
        $(#[$doc:meta])*
        pub enum $name:ident on $channel:ident {
            $(
                $(#[$row_doc:meta])*
                $variant:ident($payload:ty) = $wire:literal, $who:ident, $since:ident;
            )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $(
                #[doc = concat!("`", $wire, "`: ")]
                $(#[$row_doc])*
                $variant($payload),
            )*
        }

        impl $name {
            /// What is known about each action of this channel.
            pub const TABLE: &'static [$crate::action::ActionInfo] = &[$(
                $crate::action::ActionInfo {
                    name: $wire,
                    channel: $crate::channel::ChannelKind::$channel,
                    dispatcher: $crate::action::Dispatcher::$who,
                    since: $crate::version::released::$since,
                },
            )*];

            /// What the table says about this action.
            pub fn info(&self) -> &'static $crate::action::ActionInfo {
                match self {
                    $($name::$variant(_) => const {
                        &$crate::action::ActionInfo {
                            name: $wire,
                            channel: $crate::channel::ChannelKind::$channel,
                            dispatcher: $crate::action::Dispatcher::$who,
                            since: $crate::version::released::$since,
                        }
                    },)*
                }
            }

            /// Reads an action of a known name; `None` if the name is unknown.
            pub(crate) fn decode_named(
                name: &str,
                node: $crate::wire::Node<'_>,
            ) -> Option<Result<Self, $crate::wire::DecodeError>> {
                match name {
                    $($wire => Some($crate::wire::Wire::decode(node).map($name::$variant)),)*
                    _ => None,
                }
            }

            pub(crate) fn shapes() -> Vec<$crate::wire::NamedShape> {
                vec![$(($wire, <$payload as $crate::wire::Wire>::shape),)*]
            }
        }

        impl $crate::wire::EncodeFields for $name {
            fn encode_fields<M: ::serde::ser::SerializeMap>(
                &self,
                map: &mut M,
            ) -> Result<(), M::Error> {
                match self {
                    $($name::$variant(payload) => {
                        map.serialize_entry("type", $wire)?;
                        $crate::wire::EncodeFields::encode_fields(payload, map)
                    })*
                }
            }
        }
    };
}

pub(crate) use actions;
