//! Addresses that the host makes up.

use agenthost_protocol::uri::Uri;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::refusal::Failure;

/// The default chat of a session. Shipped clients compute the same address
/// from that of the session, so it can't be anything else.
pub fn default_chat(session: &Uri) -> Uri {
    let name = URL_SAFE_NO_PAD.encode(session.as_str());
    Uri::from(format!("ahp-chat://default/{name}"))
}

/// Longest address that a client may choose.
const LONGEST: usize = 2_048;

/// Whether a client may choose this address for something new (SEC-5).
pub(crate) fn check(uri: &Uri) -> Result<(), Failure> {
    let text = uri.as_str();
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let named = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    let plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    if named && scheme.bytes().all(letter) && plain && text.len() <= LONGEST {
        return Ok(());
    }
    let beginning: String = text.chars().take(60).collect();
    Err(Failure::InvalidParams(format!(
        "`{}` is not an absolute URI of at most {LONGEST} bytes",
        beginning.escape_debug()
    )))
}
