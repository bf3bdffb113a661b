//! Evicts the state of idle channels from memory.

use std::collections::BTreeSet;

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::session::SessionLifecycle;
use agenthost_protocol::terminal::TerminalLifecycle;
use agenthost_protocol::uri::Uri;

use crate::host::Host;
use crate::host::channels::{ChannelEntry, ChannelResidency};
use crate::host::effect::Effects;

impl Host {
    /// Evicts channels without subscribers, active turns or pending work. The state of a
    /// session stays in memory as long as one of its channels does.
    pub(crate) fn evict_idle_channels(&mut self, out: &mut Effects) {
        let mut busy = BTreeSet::new();
        for (uri, channel) in self.channels.iter_mut() {
            if channel.session.as_ref() == Some(uri) || channel.session.is_none() {
                continue;
            }
            if is_idle(channel) {
                channel.residency = ChannelResidency::Evicted;
            } else if let Some(session) = &channel.session {
                busy.insert(session.clone());
            }
        }
        for session in self.idle_sessions(&busy) {
            self.untrack_customizations(&session, out);
        }
        for (uri, channel) in self.channels.iter_mut() {
            let is_session = channel.session.as_ref() == Some(uri);
            if is_session && !busy.contains(uri) && is_idle(channel) {
                channel.residency = ChannelResidency::Evicted;
            }
        }
    }

    /// Returns the tracked sessions without subscribers, busy channels or an open agent. Their
    /// customizations are no longer needed.
    fn idle_sessions(&self, busy: &BTreeSet<Uri>) -> Vec<Uri> {
        let followed = self.customizations.sessions();
        let idle = followed.filter(|session| {
            let channel = self.channels.get(session);
            let quiet = channel.is_none_or(is_idle);
            quiet && !busy.contains(session) && !self.sessions.is_agent_open(session)
        });
        idle.cloned().collect()
    }
}

fn is_idle(channel: &ChannelEntry) -> bool {
    let ChannelResidency::Resident(loaded) = &channel.residency else {
        return true;
    };
    let at_rest = match &loaded.state {
        ChannelState::Chat(chat) => {
            let mut work = chat.background_work.iter().flat_map(|work| work.items());
            chat.active_turn.is_none() && work.next().is_none()
        }
        ChannelState::Session(session) => session.lifecycle != SessionLifecycle::Creating,
        ChannelState::Terminal(terminal) => terminal.lifecycle != TerminalLifecycle::Running,
        ChannelState::Annotations(_) | ChannelState::Changeset(_) => true,
        ChannelState::Root(_)
        | ChannelState::ResourceWatch(_)
        | ChannelState::Canvas(_)
        | ChannelState::Automations(_)
        | ChannelState::AutomationRun(_) => false,
    };
    at_rest && channel.subscribers.is_empty()
}
