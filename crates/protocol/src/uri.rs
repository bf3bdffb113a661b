//! URIs and the two channels with a fixed address.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Serialize, Serializer};

use crate::ids::{ProviderId, text_types};
use crate::wire::{DecodeError, Node, Shape, TextKind, Wire};

use std::fmt;
use std::sync::Arc;

text_types! {
    /// The address of a channel, file or other resource.
    ///
    /// An opaque text key: compared byte for byte as the peer wrote it, never
    /// taken apart to find an owner (SUB-10).
    Uri: TextKind::Uri;
}

/// What 0.1 calls the host itself: its documents the first, its programs the
/// second.
pub const OLD_ROOTS: [&str; 2] = ["agenthost:/root", "root:/"];

/// A URI for a new session of an agent: `<provider>:/<id>`, because VS Code
/// reads the provider from the scheme. A provider whose name is no scheme gets
/// `ahp-session:/<id>`.
pub fn session_uri(provider: &ProviderId, id: &str) -> Uri {
    let name = provider.as_str();
    let in_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let is_scheme =
        name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(in_scheme);
    let scheme = if is_scheme { name } else { "ahp-session" };
    Uri::from(format!("{scheme}:/{id}"))
}

/// The default chat of a session. Shipped clients compute the same address
/// from that of the session, so it can't be anything else.
pub fn default_chat(session: &Uri) -> Uri {
    let name = URL_SAFE_NO_PAD.encode(session.as_str());
    Uri::from(format!("ahp-chat://default/{name}"))
}

macro_rules! fixed_channels {
    ($($(#[$doc:meta])* $name:ident = $uri:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $name;

        impl $name {
            /// The address itself.
            pub const URI: &'static str = $uri;
        }

        impl From<$name> for Uri {
            fn from(_: $name) -> Uri {
                Uri::from($name::URI)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(Self::URI)
            }
        }

        impl Wire for $name {
            fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
                let text = node.text()?;
                if text != Self::URI {
                    return Err(DecodeError::not_one_of(&text, &[Self::URI]));
                }
                Ok($name)
            }

            fn shape() -> Shape {
                Shape::Choice {
                    values: &[$uri],
                    open: false,
                }
            }
        }
    )*};
}

fixed_channels! {
    /// The channel of everything that belongs to the host as a whole. A
    /// command that carries it is refused on any other (RPC-8).
    RootChannel = "ahp-root://";
    /// The channel of the automation catalogue.
    AutomationsChannel = "ahp-automations://";
}
