//! Reads states from the live host, for the translation of messages without a captured state
//! view.

use std::sync::Arc;

use agenthost_core::Host;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;
use agenthost_versions::StateSource;

/// The current states of the host, as far as they are in memory. A newtype, because neither
/// `StateSource` nor `Host` is declared in this crate.
pub(super) struct LiveState<'a>(pub(super) &'a Host);

impl StateSource for LiveState<'_> {
    fn state(&self, channel: &Uri) -> Option<ChannelState> {
        self.0.state(channel).cloned()
    }

    fn session_summary(&self, session: &Uri) -> Option<Arc<SessionSummary>> {
        self.0.session_summary(session).cloned()
    }

    fn session_of(&self, channel: &Uri) -> Option<Uri> {
        self.0.session_of(channel).cloned()
    }
}
