//! What the host keeps in memory, and for how long.

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::session::SessionLifecycle;
use agenthost_protocol::terminal::TerminalLifecycle;

use crate::host::{Channel, Held, Host};

impl Host {
    /// Lets go of every channel that nobody looks at and nothing happens in.
    /// A session stays for as long as something of it does.
    pub(crate) fn let_go(&mut self) {
        let mut busy = std::collections::BTreeSet::new();
        for (uri, channel) in &mut self.channels {
            if channel.session.as_ref() == Some(uri) || channel.session.is_none() {
                continue;
            }
            if is_quiet(channel) {
                channel.held = Held::Stored;
            } else if let Some(session) = &channel.session {
                busy.insert(session.clone());
            }
        }
        for (uri, channel) in &mut self.channels {
            let is_session = channel.session.as_ref() == Some(uri);
            if is_session && !busy.contains(uri) && is_quiet(channel) {
                channel.held = Held::Stored;
            }
        }
    }
}

fn is_quiet(channel: &Channel) -> bool {
    let Held::Here(loaded) = &channel.held else {
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
