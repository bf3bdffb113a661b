//! A part of the host's state at one moment.
//!
//! A message for a client of an earlier release can depend on more than the action that it reports:
//! on the session of a chat, or on the default chat of a session, as they were right after the
//! action. By the time the message is encoded, the host has gone on. So the host captures a view
//! together with the action.

use std::sync::Arc;

use crate::channel::ChannelState;
use crate::session::SessionSummary;
use crate::uri::Uri;

/// States of some channels and summaries of their sessions, captured at one moment. Small and cheap
/// to clone: states are shared, not copied.
#[derive(Debug, Clone, Default)]
pub struct StateView {
    /// Channels, each with the session that it belongs to and its state.
    pub channels: Vec<(Uri, Option<Uri>, ChannelState)>,
    /// Entries of the session list for the sessions among them.
    pub summaries: Vec<Arc<SessionSummary>>,
}
