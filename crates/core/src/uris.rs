//! Addresses that the host makes up.

use agenthost_protocol::uri::Uri;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The default chat of a session. Shipped clients compute the same address
/// from that of the session, so it can't be anything else.
pub fn default_chat(session: &Uri) -> Uri {
    let name = URL_SAFE_NO_PAD.encode(session.as_str());
    Uri::from(format!("ahp-chat://default/{name}"))
}
