//! The customizations of sessions: what there is, and what is on.

use agenthost_protocol::uri::Uri;

use crate::customizing::CustomizationEvent;
use crate::effect::Effects;
use crate::env::Env;
use crate::host::Host;

impl Host {
    /// Something is known about the customizations of a session.
    pub(crate) fn customized(
        &mut self,
        _env: &Env,
        _session: &Uri,
        _event: CustomizationEvent,
        _out: &mut Effects,
    ) {
    }
}
