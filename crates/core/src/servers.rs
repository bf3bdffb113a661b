//! The servers of tools of sessions.

use agenthost_protocol::uri::Uri;

use crate::effect::Effects;
use crate::env::Env;
use crate::host::Host;
use crate::tool_servers::ToolEvent;

impl Host {
    /// Something happened to the servers of tools of a session.
    pub(crate) fn tools_told(
        &mut self,
        _env: &Env,
        _session: &Uri,
        _event: ToolEvent,
        _out: &mut Effects,
    ) {
    }
}
