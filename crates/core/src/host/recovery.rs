//! Ends the turns and terminals that were active when the host stopped, unless their work
//! continues (see [`continuation`]).

pub(crate) mod continuation;
pub(crate) mod memory;

use std::collections::BTreeSet;

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ErrorPart;
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::session::{CreationFailed, SessionAction, SessionLifecycle};
use agenthost_protocol::terminal::TerminalLifecycle;
use agenthost_protocol::uri::Uri;

use crate::chat::turn::TurnRecovery;
use crate::host::Host;
use crate::host::channels::ChannelResidency;
use crate::host::effect::Effects;
use crate::host::input::LoadedChannel;
use crate::host::step::Env;
use crate::session::provisional;

/// Error type of turns that were interrupted.
const HOST_STOPPED: &str = "hostStopped";

/// Handling of terminals that are not in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingTerminals {
    /// Wait, because they are about to be loaded.
    AwaitLoad,
    /// Continue without them, because they can't be loaded.
    Ignore,
}

impl Host {
    /// Handles a channel that was loaded from the store. Anything that was active when the host
    /// stopped is ended (REC-16, REC-17).
    pub(crate) fn handle_loaded(
        &mut self,
        env: &Env,
        channel: &Uri,
        loaded: LoadedChannel,
        out: &mut Effects,
    ) {
        let Some(target) = self.channels.get_mut(channel) else {
            return;
        };
        if let ChannelResidency::Resident(before) = &mut target.residency {
            // The channel was resident before, now with more turns. Its active turn keeps
            // running.
            if loaded.evicted_turns.len() < before.evicted_turns.len() {
                *before = loaded;
            }
            return;
        }
        let state = loaded.state.clone();
        target.residency = ChannelResidency::Resident(loaded);
        match state {
            ChannelState::Chat(chat) => {
                if chat.active_turn.is_some() && self.turns.recovery != TurnRecovery::Interrupted {
                    self.turns.measure_response(channel, &chat);
                } else if chat.active_turn.is_some() {
                    self.turns.interrupted_chats.insert(channel.clone());
                    self.end_interrupted_turns(env, MissingTerminals::AwaitLoad, out);
                } else if !self.turns.background_chats.contains(channel) {
                    self.clear_background(env, channel, out);
                }
            }
            ChannelState::Session(session) => {
                // A provisional session has no agent yet, so its creation was not interrupted.
                let listed = self.sessions.get(channel);
                let waits = listed.is_some_and(|listed| provisional::maker(listed).is_some());
                let is_opening = self.sessions.is_agent_open(channel);
                if session.lifecycle == SessionLifecycle::Creating && !waits && !is_opening {
                    let error =
                        interrupted_error("the host stopped while the session was created").error;
                    let failed = SessionAction::CreationFailed(CreationFailed { error });
                    self.originate(channel, failed, out);
                }
                self.drop_forgotten_clients(env, channel, out);
                self.sync_session(channel, out);
            }
            ChannelState::Changeset(changeset) => self.reset_operations(channel, &changeset, out),
            ChannelState::Terminal(terminal)
                if terminal.lifecycle == TerminalLifecycle::Running
                    && !self.terminals.running.contains(channel) =>
            {
                self.end_terminal(env, channel, None, out);
                self.end_interrupted_turns(env, MissingTerminals::AwaitLoad, out);
            }
            ChannelState::Terminal(_) => {
                self.end_interrupted_turns(env, MissingTerminals::AwaitLoad, out)
            }
            ChannelState::ResourceWatch(_)
            | ChannelState::Canvas(_)
            | ChannelState::AutomationRun(_)
            | ChannelState::Root(_)
            | ChannelState::Annotations(_)
            | ChannelState::Automations(_) => {}
        }
    }

    /// Ends the turns that were active when the host stopped. The output of their tool calls is
    /// in terminals, which have to be loaded before.
    pub(crate) fn end_interrupted_turns(
        &mut self,
        env: &Env,
        missing: MissingTerminals,
        out: &mut Effects,
    ) {
        let chats = match missing {
            MissingTerminals::Ignore => std::mem::take(&mut self.turns.interrupted_chats),
            MissingTerminals::AwaitLoad => {
                let interrupted = self.turns.interrupted_chats.iter();
                let whole = interrupted.filter(|chat| self.missing_terminals(chat).is_empty());
                let whole: BTreeSet<_> = whole.cloned().collect();
                self.turns
                    .interrupted_chats
                    .retain(|chat| !whole.contains(chat));
                whole
            }
        };
        for chat in chats {
            let turn = self.chat(&chat).and_then(|chat| chat.active_turn.as_ref());
            if let Some(turn) = turn.map(|turn| turn.id.clone()) {
                let part = interrupted_error("the host stopped while this turn was running");
                self.end_turn(env, &chat, &turn, Some(part), out);
            }
            self.clear_background(env, &chat, out);
        }
    }

    /// Returns the terminals of running tool calls of a chat that are not in memory.
    pub(crate) fn missing_terminals(&self, chat: &Uri) -> Vec<Uri> {
        let calls = self.unfinished_calls(chat).into_iter();
        let blocks = calls.flat_map(|call| call.content.iter().flatten());
        let terminals = blocks.filter_map(|block| Some(&block.as_terminal()?.resource));
        let is_stored = |terminal: &&Uri| {
            let channel = self.channels.get(terminal);
            channel.is_some_and(|channel| matches!(channel.residency, ChannelResidency::Evicted))
        };
        terminals.filter(is_stored).cloned().collect()
    }
}

fn interrupted_error(message: &str) -> ErrorPart {
    ErrorPart {
        error: ErrorInfo::new(HOST_STOPPED, message),
        resumable: None,
    }
}
