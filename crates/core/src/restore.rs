//! What a stop of the host leaves behind.

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ErrorPart;
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::session::{CreationFailed, SessionAction, SessionLifecycle};
use agenthost_protocol::terminal::TerminalLifecycle;
use agenthost_protocol::uri::Uri;

use crate::effect::Effects;
use crate::env::Env;
use crate::host::{Held, Host};
use crate::input::Loaded;

impl Host {
    /// A channel comes back from the log. What was running when the host
    /// stopped is running no more (REC-16, REC-17).
    pub(crate) fn restore(&mut self, env: &Env, channel: &Uri, loaded: Loaded, out: &mut Effects) {
        let Some(target) = self.channels.get_mut(channel) else {
            return;
        };
        if let Held::Here(before) = &mut target.held {
            // The same with more turns; what runs in it still runs.
            if loaded.earlier.len() < before.earlier.len() {
                *before = loaded;
            }
            return;
        }
        let state = loaded.state.clone();
        target.held = Held::Here(loaded);
        match state {
            ChannelState::Chat(chat) => {
                if let Some(turn) = &chat.active_turn {
                    let part = stopped("the host stopped while this turn was running");
                    self.end_turn(env, channel, &turn.id, Some(part), out);
                }
                self.clear_background(env, channel, out);
            }
            ChannelState::Session(session) => {
                if session.lifecycle == SessionLifecycle::Creating {
                    let error = stopped("the host stopped while the session was created").error;
                    let failed = SessionAction::CreationFailed(CreationFailed { error });
                    self.originate(channel, failed, out);
                }
                self.drop_forgotten_clients(env, channel, out);
                self.sync_session(channel, out);
            }
            ChannelState::Changeset(changeset) => self.end_operations(channel, &changeset, out),
            ChannelState::Terminal(terminal)
                if terminal.lifecycle == TerminalLifecycle::Running =>
            {
                self.end_terminal(env, channel, None, out);
            }
            _ => {}
        }
    }
}

fn stopped(message: &str) -> ErrorPart {
    ErrorPart {
        error: ErrorInfo {
            error_type: "hostStopped".to_owned(),
            message: message.to_owned(),
            stack: None,
            meta: None,
        },
        resumable: None,
    }
}
