//! Commands that continue in the background.
//!
//! A client lets the command of a tool call continue in the background by narrowing the claim
//! of its terminal to the session and the chat (TER-4, TER-15). The call completes with the
//! output so far, the turn goes on, and the command runs until it ends or a client disposes its
//! terminal.

use agenthost_protocol::terminal::{
    TerminalClaim, TerminalLifecycle, TerminalSessionClaim, TerminalState,
};
use agenthost_protocol::uri::Uri;

use crate::agent::AgentCommand;
use crate::chat::turn::unfinished_calls::partial_result;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::error::Refusal;
use crate::host::step::Env;
use crate::terminal::PtyCommand;

/// Maximum number of background commands per session.
pub const MAX_BACKGROUND_COMMANDS: usize = 32;

impl Host {
    /// Lets the command of a terminal continue in the background, if its claim names neither a
    /// turn nor a tool call.
    pub(crate) fn continue_in_background(&mut self, env: &Env, terminal: &Uri, out: &mut Effects) {
        let Some((state, claim)) = self.find_background_command(terminal) else {
            return;
        };
        let output = partial_result(state).preview.unwrap_or_default();
        let chat = claim.chat.clone();
        if self.turns.has_command_run(terminal) {
            self.detach_command_run(env, terminal, output, out);
            return;
        }
        let detach = AgentCommand::ContinueInBackground {
            chat,
            terminal: terminal.clone(),
            output,
        };
        self.send_agent_command(terminal, detach, out);
    }

    /// Returns `true` if the command of a terminal runs in the background.
    pub(crate) fn is_background_command(&self, terminal: &Uri) -> bool {
        self.find_background_command(terminal).is_some()
    }

    /// Checks that one more command of a session may continue in the background.
    pub(crate) fn check_background_capacity(&self, terminal: &Uri) -> Result<(), Refusal> {
        let session = self.session_of(terminal);
        let is_of_session = |other: &&Uri| self.session_of(other) == session;
        let others = self.channels.uris().filter(is_of_session);
        let running =
            others.filter(|other| *other != terminal && self.is_background_command(other));
        if running.count() >= MAX_BACKGROUND_COMMANDS {
            return Err(Refusal::Invalid(format!(
                "{MAX_BACKGROUND_COMMANDS} commands of the session run in the background already"
            )));
        }
        Ok(())
    }

    /// Ends a command that runs in the background. Returns `false` if there is none. The
    /// terminal stays, because its tool call refers to it (TER-17).
    pub(crate) fn end_background_command(&mut self, terminal: &Uri, out: &mut Effects) -> bool {
        let is_running = self.is_background_command(terminal);
        if is_running {
            self.route_terminal_command(terminal, PtyCommand::Close, out);
        }
        is_running
    }

    /// Returns the terminal and the claim of a command that runs for a chat, but for none of
    /// its turns.
    fn find_background_command(
        &self,
        terminal: &Uri,
    ) -> Option<(&TerminalState, &TerminalSessionClaim)> {
        let state = self.terminal(terminal)?;
        let TerminalClaim::Session(claim) = &state.claim else {
            return None;
        };
        let is_narrow = claim.turn_id.is_none() && claim.tool_call_id.is_none();
        let is_running = state.lifecycle == TerminalLifecycle::Running;
        (is_narrow && is_running).then_some((state, claim))
    }
}
