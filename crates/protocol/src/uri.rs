//! URIs, and the two channels with a fixed URI.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Serialize, Serializer};

use crate::ids::{ProviderId, text_types};
use crate::wire::{DecodeError, Node, Shape, TextKind, Wire};

use std::fmt;
use std::sync::Arc;

text_types! {
    /// The URI of a channel, file or other resource.
    ///
    /// An opaque key: compared byte for byte as the peer wrote it, never parsed to find an
    /// owner (SUB-10).
    Uri: TextKind::Uri;
}

/// URIs of the root channel in AHP 0.1: the first is in its documents, the second in its
/// programs.
pub const LEGACY_ROOT_URIS: [&str; 2] = ["agenthost:/root", "root:/"];

/// Returns the URI of a new session of an agent: `<provider>:/<id>`, because VS Code reads the
/// provider from the scheme. If the provider id is not a valid scheme, the URI is
/// `ahp-session:/<id>`.
pub fn session_uri(provider: &ProviderId, id: &str) -> Uri {
    let name = provider.as_str();
    let in_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let is_scheme =
        name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(in_scheme);
    let scheme = if is_scheme { name } else { "ahp-session" };
    Uri::from(format!("{scheme}:/{id}"))
}

/// Returns the URI of the default chat of a session. Shipped clients compute the same URI from
/// that of the session, so the format is fixed.
pub fn default_chat_uri(session: &Uri) -> Uri {
    let name = URL_SAFE_NO_PAD.encode(session.as_str());
    Uri::from(format!("ahp-chat://default/{name}"))
}

/// Encodes text as one path segment of letters, digits, `-`, `_` and `~`.
///
/// Clients parse and reprint URIs, and some of them change percent escapes. The segment
/// contains none, and the encoding is injective.
pub fn encode_path_segment(text: &str) -> String {
    if text.is_empty() {
        return "~".to_owned();
    }
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => segment.push(byte.into()),
            _ => segment.push_str(&format!("~{byte:02X}")),
        }
    }
    segment
}

macro_rules! fixed_channels {
    ($($(#[$doc:meta])* $name:ident = $uri:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $name;

        impl $name {
            /// The fixed URI of the channel.
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
    /// The root channel. A request that requires it is rejected on any other channel (RPC-8).
    RootChannel = "ahp-root://";
    /// The channel of the automation catalogue.
    AutomationsChannel = "ahp-automations://";
}

#[cfg(test)]
mod tests {
    use super::encode_path_segment;

    #[test]
    fn a_path_segment_has_no_escapes() {
        for (text, segment) in [
            ("", "~"),
            ("turn-1_b", "turn-1_b"),
            ("ahp-chat://default/YQ", "ahp-chat~3A~2F~2Fdefault~2FYQ"),
            ("..", "~2E~2E"),
            ("100% ~ü", "100~25~20~7E~C3~BC"),
        ] {
            assert_eq!(encode_path_segment(text), segment, "{text:?}");
        }
    }
}
