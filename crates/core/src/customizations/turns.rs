//! What turns need of customizations.

use agenthost_protocol::chat::{ErrorPart, Message};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;

use super::touched::files;
use crate::customizing::{CustomizationErrand, Preparation, Prepared};
use crate::effect::{Effect, Effects};
use crate::env::Env;
use crate::host::Host;

/// Whether it is known what a turn needs.
#[derive(Debug, Clone)]
pub(crate) enum Preparing {
    /// Not yet.
    Waiting,
    /// This.
    Done(Prepared),
}

impl Host {
    /// Whether the agent of a session takes notice of customizations.
    pub(crate) fn is_customizable(&self, session: &Uri) -> bool {
        let state = self.session(session);
        let customizable = self.config.customizable.as_ref();
        let both = state.zip(customizable);
        both.is_some_and(|(state, customizable)| customizable.contains(&state.metadata.provider))
    }

    /// Has it found out what a turn needs that is about to begin, and starts
    /// the servers that its agent can use.
    pub(crate) fn prepare(
        &mut self,
        env: &Env,
        chat: &Uri,
        turn: &TurnId,
        message: &Message,
        out: &mut Effects,
    ) -> Preparing {
        let session = self.owner(chat).cloned();
        let Some(session) = session.filter(|session| self.is_customizable(session)) else {
            return Preparing::Done(Prepared::default());
        };
        self.follow(&session, out);
        self.start_servers(&session, out);
        self.retry_servers(env, &session, out);
        let own = self.slash_commands.get(&session).into_iter().flatten();
        let preparation = Preparation {
            chat: chat.clone(),
            turn: turn.clone(),
            text: message.text.clone(),
            agent: message.agent.as_ref().map(|agent| agent.uri.clone()),
            files: files(message, self.chat(chat)),
            own_commands: own.map(|command| command.name.clone()).collect(),
            session,
        };
        let prepare = CustomizationErrand::Prepare(Box::new(preparation));
        out.push(Effect::Customize(Box::new(prepare)));
        Preparing::Waiting
    }

    /// It is known what a turn needs. It may be over.
    pub(super) fn prepared(
        &mut self,
        env: &Env,
        chat: &Uri,
        turn: &TurnId,
        outcome: Result<Prepared, String>,
        out: &mut Effects,
    ) {
        let reading = self.readings.get_mut(chat);
        let Some(reading) = reading.filter(|reading| reading.turn == *turn) else {
            return;
        };
        match outcome {
            Ok(prepared) => {
                let tools = prepared.tools.clone();
                reading.preparing = Preparing::Done(prepared);
                // By now all is found that there is to start.
                if let Some(session) = self.owner(chat).cloned() {
                    self.allow_tools(&session, chat, tools, out);
                    self.start_servers(&session, out);
                }
                self.prompt_if_read(chat, out);
            }
            Err(reason) => {
                self.readings.remove(chat);
                let part = ErrorPart {
                    error: ErrorInfo::new("refused", &reason),
                    resumable: None,
                };
                self.end_turn(env, chat, turn, Some(part), out);
            }
        }
    }

    /// A turn is over: hooks may be for that.
    pub(crate) fn turn_over(&self, chat: &Uri, turn: &TurnId, out: &mut Effects) {
        let Some(session) = self.owner(chat) else {
            return;
        };
        if self.customizing.contains_key(session) && self.is_customizable(session) {
            let ended = CustomizationErrand::TurnEnded {
                session: session.clone(),
                chat: chat.clone(),
                turn: turn.clone(),
            };
            out.push(Effect::Customize(Box::new(ended)));
        }
    }

    /// Turns that waited for servers may go on.
    pub(crate) fn prompt_unblocked(&mut self, session: &Uri, out: &mut Effects) {
        let waiting = self.readings.keys();
        let waiting = waiting.filter(|chat| self.owner(chat) == Some(session));
        for chat in waiting.cloned().collect::<Vec<_>>() {
            self.prompt_if_read(&chat, out);
        }
    }
}
