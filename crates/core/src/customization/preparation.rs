//! Prepares turns with the customization driver before their prompt is sent.

use agenthost_protocol::chat::{ErrorPart, Message};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use serde::{Deserialize, Serialize};

use super::rule_files::rule_files;
use crate::customization::driver::{
    CustomizationCommand, PreparationError, PreparedTurn, TurnPreparation,
};
use crate::host::Host;
use crate::host::effect::{Effect, Effects};
use crate::host::step::Env;

/// Progress of the preparation of a turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum PreparationState {
    /// The driver has not answered yet.
    Pending,
    Done(PreparedTurn),
}

impl Host {
    /// Returns `true` if the agent of a session supports customizations.
    pub(crate) fn is_customizable(&self, session: &Uri) -> bool {
        let state = self.session(session);
        let customizable = self.config.catalog.customizable.as_ref();
        let both = state.zip(customizable);
        both.is_some_and(|(state, customizable)| customizable.contains(&state.metadata.provider))
    }

    /// Requests the preparation of a turn that is about to start, and starts the MCP servers
    /// that its agent can use.
    pub(crate) fn request_preparation(
        &mut self,
        env: &Env,
        chat: &Uri,
        turn: &TurnId,
        message: &Message,
        out: &mut Effects,
    ) -> PreparationState {
        let session = self.session_of(chat).cloned();
        let Some(session) = session.filter(|session| self.is_customizable(session)) else {
            return PreparationState::Done(PreparedTurn::default());
        };
        self.track_customizations(&session, out);
        self.start_servers(&session, out);
        self.retry_servers(env, &session, out);
        let own = self.sessions.slash_commands(&session).iter();
        let preparation = TurnPreparation {
            chat: chat.clone(),
            turn: turn.clone(),
            text: message.text.clone(),
            agent: message.agent.as_ref().map(|agent| agent.uri.clone()),
            files: rule_files(message, self.chat(chat)),
            own_commands: own.map(|command| command.name.clone()).collect(),
            session,
        };
        let prepare = CustomizationCommand::Prepare(Box::new(preparation));
        out.push(Effect::Customization(Box::new(prepare)));
        PreparationState::Pending
    }

    /// Handles the result of a preparation. The result is ignored if the turn has already
    /// ended.
    pub(super) fn handle_prepared(
        &mut self,
        env: &Env,
        chat: &Uri,
        turn: &TurnId,
        outcome: Result<PreparedTurn, PreparationError>,
        out: &mut Effects,
    ) {
        let prompt = self.turns.prompt_mut(chat);
        let Some(pending) = prompt.filter(|pending| pending.turn == *turn) else {
            return;
        };
        match outcome {
            Ok(prepared) => {
                let tools = prepared.tools.clone();
                pending.preparation = PreparationState::Done(prepared);
                // A prepared turn implies that all customizations were discovered, so the list
                // of servers is complete now.
                if let Some(session) = self.session_of(chat).cloned() {
                    self.set_tool_filter(&session, chat, tools, out);
                    self.start_servers(&session, out);
                }
                self.send_prompt_if_ready(chat, out);
            }
            Err(error) => {
                self.turns.remove_prompt(chat);
                let part = ErrorPart {
                    error: ErrorInfo::new("refused", error.to_string()),
                    resumable: None,
                };
                self.end_turn(env, chat, turn, Some(part), out);
            }
        }
    }

    /// Reports the end of a turn to the driver, which runs the hooks for this event.
    pub(crate) fn notify_turn_ended(&self, chat: &Uri, turn: &TurnId, out: &mut Effects) {
        let Some(session) = self.session_of(chat) else {
            return;
        };
        if self.customizations.contains(session) && self.is_customizable(session) {
            let ended = CustomizationCommand::TurnEnded {
                session: session.clone(),
                chat: chat.clone(),
                turn: turn.clone(),
            };
            out.push(Effect::Customization(Box::new(ended)));
        }
    }

    /// Sends the prompts of a session that waited for MCP servers, as far as they are ready.
    pub(crate) fn send_unblocked_prompts(&mut self, session: &Uri, out: &mut Effects) {
        let waiting = self.turns.chats_with_prompts();
        let waiting = waiting.filter(|chat| self.session_of(chat) == Some(session));
        for chat in waiting.cloned().collect::<Vec<_>>() {
            self.send_prompt_if_ready(&chat, out);
        }
    }
}
