//! What the host keeps in memory, and for how long.

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::session::SessionLifecycle;
use agenthost_protocol::terminal::{
    TerminalAction, TerminalCleared, TerminalData, TerminalLifecycle, TerminalPart, TerminalState,
};
use agenthost_protocol::uri::Uri;

use crate::effect::Effects;
use crate::host::{Channel, Held, Host};

/// A terminal with more output than this is cut back to `KEPT`. Everyone who
/// watches is told to do the same, so the two are far enough apart that
/// saying what is kept costs little.
const MOST: usize = 1024 * 1024;

/// How much output of a terminal is kept at least.
const KEPT: usize = 256 * 1024;

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

    /// Keeps the output of a terminal within its bound (TER-19), by actions
    /// like any other: what the host forgets, its clients forget.
    pub(crate) fn trim_terminal(&mut self, terminal: &Uri, out: &mut Effects) {
        let Some(ChannelState::Terminal(state)) = self.state(terminal) else {
            return;
        };
        let length: usize = state.content.items().map(|part| output(part).len()).sum();
        if length <= MOST {
            return;
        }
        let data = tail(state);
        let cleared = TerminalAction::Cleared(TerminalCleared {});
        self.originate(terminal, cleared, out);
        let kept = TerminalAction::Data(TerminalData { data });
        self.originate(terminal, kept, out);
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

/// The end of a terminal's output, from the start of a line if there is one.
fn tail(state: &TerminalState) -> String {
    let mut parts = Vec::new();
    let mut missing = KEPT;
    for part in state.content.items().rev() {
        let text = output(part);
        let from = text.ceil_char_boundary(text.len().saturating_sub(missing));
        let kept = text.get(from..).unwrap_or_default();
        missing = missing.saturating_sub(text.len());
        parts.push(kept);
        if missing == 0 {
            break;
        }
    }
    parts.reverse();
    let text = parts.concat();
    match text.split_once('\n') {
        Some((cut, rest)) if cut.len() < KEPT / 2 => rest.to_owned(),
        _ => text,
    }
}

fn output(part: &TerminalPart) -> &str {
    match part {
        TerminalPart::Unclassified(output) => &output.value,
        TerminalPart::Command(command) => &command.output,
        TerminalPart::Unknown(_) => "",
    }
}
