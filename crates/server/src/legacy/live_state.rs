//! The host, as steps look at it.

use std::sync::Arc;

use agenthost_core::Host;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;
use agenthost_versions::{StateCapture, StateSource};

/// The host as it is now, as far as it is in memory.
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

/// What the host has seen, in the words of the steps.
pub(crate) fn to_state_view(seen: agenthost_core::StateView) -> StateCapture {
    StateCapture {
        channels: seen.channels,
        summaries: seen.summaries,
    }
}
