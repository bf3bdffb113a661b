//! The macro that declares the actions of a channel, and the rows of its table.

use crate::channel::ChannelKind;
use crate::version::Version;

/// The peer that may dispatch an action. The host may originate any action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dispatcher {
    /// Clients may dispatch it, subject to the policy of the host.
    Client,
    /// Only the host may originate it.
    Host,
}

/// Static properties of an action type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionInfo {
    /// The `type` of the action on the wire.
    pub name: &'static str,
    /// Kind of channel that the action applies to.
    pub channel: ChannelKind,
    /// Peer that may dispatch the action.
    pub dispatcher: Dispatcher,
    /// Protocol version that introduced the action.
    pub since: Version,
}

/// Declares the actions of a channel. Each row has the type on the wire, the permitted
/// dispatcher and the version that introduced the action.
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
            /// One row for each action of this channel.
            pub const TABLE: &'static [$crate::action::ActionInfo] = &[$(
                $crate::action::ActionInfo {
                    name: $wire,
                    channel: $crate::channel::ChannelKind::$channel,
                    dispatcher: $crate::action::Dispatcher::$who,
                    since: $crate::version::released::$since,
                },
            )*];

            /// Returns the table row of this action.
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

            /// Decodes an action with the given `type`; returns `None` if the type is unknown.
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
