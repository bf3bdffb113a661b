//! Continues the work of an earlier process of the host, and ends work that was lost.
//!
//! Agents and terminals can run in a process of their own, the runner. If it has survived the
//! host, the next process of the host restores the memory ([`HostMemory`]) and continues. Only
//! what the earlier process did itself is lost: connections, timers and jobs.
//!
//! [`HostMemory`]: crate::HostMemory

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::session::SessionInputRequest;
use agenthost_protocol::uri::Uri;

use crate::changeset::driver::CheckpointId;
use crate::chat::turn::TurnRecovery;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::input::Input;
use crate::host::recovery::{HOST_STOPPED, interrupted_error};
use crate::host::step::Env;
use crate::terminal::output::{TerminalEnd, TerminalEvent};
use crate::tools::ToolState;
use crate::tools::gateway_calls::ANNOUNCEMENT_TIMEOUT;

impl Host {
    /// Returns the channels with running work besides active turns: terminals, and chats with
    /// background work.
    pub(in crate::host) fn channels_with_work(&self) -> impl Iterator<Item = &Uri> {
        let terminals = self.terminals.running.iter();
        terminals.chain(&self.turns.background_chats)
    }

    /// Starts what ended with the earlier process, once the channels of
    /// [`Host::channels_to_recover`] are loaded. Does nothing unless work continues.
    pub(crate) fn continue_work(&mut self, env: &Env, out: &mut Effects) {
        if self.turns.recovery != TurnRecovery::Loading {
            return;
        }
        self.turns.recovery = TurnRecovery::Continued;
        self.retake_checkpoints(out);
        self.restart_surveys(out);
        self.give_up_attachments(out);
        self.restart_announcement_timers(out);
        self.restart_call_timeouts(out);
        for terminal in self.terminals.running.clone() {
            self.schedule_preview(env, &terminal, out);
        }
        self.end_unattended_turns(env, out);
    }

    /// Takes the checkpoints again that turns wait for.
    fn retake_checkpoints(&mut self, out: &mut Effects) {
        for (chat, effects) in self.turns.take_barriers() {
            let turn = self.chat(&chat).and_then(|chat| chat.active_turn.as_ref());
            if let Some(turn) = turn.map(|turn| turn.id.clone()) {
                self.checkpoint_turn(&chat, &turn, CheckpointId::BeforeTurn, out);
            }
            for effect in effects {
                self.turns.push_effect(Some(&chat), effect, out);
            }
        }
    }

    /// Waits again for the announcements of calls, because the timers ended with the earlier
    /// process.
    fn restart_announcement_timers(&self, out: &mut Effects) {
        for call in self.tools.gateway_calls.unannounced.keys() {
            let call = *call;
            out.schedule(
                ANNOUNCEMENT_TIMEOUT,
                Input::CallAnnouncementTimedOut { call },
            );
        }
    }

    fn restart_call_timeouts(&self, out: &mut Effects) {
        for (session, channel) in self.channels.iter() {
            let Some(ChannelState::Session(state)) = channel.loaded().map(|loaded| &loaded.state)
            else {
                continue;
            };
            let requests = state.input_needed.iter().flat_map(|list| list.iter());
            for request in requests {
                if matches!(**request, SessionInputRequest::ToolClientExecution(_)) {
                    self.start_call_timeout(session, request.clone(), out);
                }
            }
        }
    }

    /// Ends the turns that nothing works on, because their session was being created by a job
    /// of the earlier process.
    fn end_unattended_turns(&mut self, env: &Env, out: &mut Effects) {
        for (chat, session) in self.chats_with_turns_now() {
            let turn = self.chat(&chat).and_then(|chat| chat.active_turn.as_ref());
            let Some(turn) = turn.map(|turn| turn.id.clone()) else {
                continue;
            };
            if !self.sessions.is_agent_open(&session)
                && !self.has_pending_prompt(&chat)
                && !self.is_command_turn(&chat, &turn)
            {
                let part = interrupted_error("the host stopped while this turn was starting");
                self.end_turn(env, &chat, &turn, Some(part), out);
            }
        }
    }

    /// Returns the chats in memory with an active turn, and their sessions.
    fn chats_with_turns_now(&self) -> Vec<(Uri, Uri)> {
        let running = self.channels.iter().filter_map(|(uri, channel)| {
            let chat = channel.loaded()?.state.as_chat()?;
            let session = channel.session.clone()?;
            chat.active_turn.is_some().then(|| (uri.clone(), session))
        });
        running.collect()
    }

    /// Handles the end of the runner: agents, terminals, MCP servers and hooks have ended with
    /// it. A new one has started.
    pub(crate) fn handle_runner_lost(&mut self, env: &Env, reason: &str, out: &mut Effects) {
        let error = ErrorInfo::new(HOST_STOPPED, reason);
        let sessions: Vec<_> = self.sessions.open_agents().cloned().collect();
        for session in &sessions {
            self.handle_agent_stopped(env, session, error.clone(), out);
        }
        for terminal in self.terminals.running.clone() {
            if self.is_of_host(&terminal) {
                let ended = TerminalEvent::Exited(TerminalEnd::default());
                self.handle_terminal_event(env, &terminal, ended, out);
            } else {
                self.end_terminal(env, &terminal, None, out);
            }
        }
        let prompts: Vec<_> = self.turns.chats_with_prompts().cloned().collect();
        for chat in prompts {
            self.turns.remove_prompt(&chat);
        }
        self.tools = ToolState::default();
        self.tokens.forget_published();
        let tracked: Vec<_> = self.customizations.sessions().cloned().collect();
        for session in &tracked {
            self.untrack_customizations(session, out);
        }
        self.customizations.forget_trust();
        self.sync_trusted_code(out);
        for session in &tracked {
            self.track_customizations(session, out);
        }
        for (chat, _) in self.chats_with_turns_now() {
            let turn = self.chat(&chat).and_then(|chat| chat.active_turn.as_ref());
            if let Some(turn) = turn.map(|turn| turn.id.clone()) {
                self.end_turn(env, &chat, &turn, Some(interrupted_error(reason)), out);
            }
        }
    }
}
