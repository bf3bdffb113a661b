//! Addresses that the host makes up, as far as a step has to know them.

use agenthost_protocol::uri::Uri;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The default chat that a session gets when it is created. `core` makes the
/// same address; what a client says about a session that is not there yet has
/// to wait at the right door.
pub fn default_chat(session: &Uri) -> Uri {
    let name = URL_SAFE_NO_PAD.encode(session.as_str());
    Uri::from(format!("ahp-chat://default/{name}"))
}
