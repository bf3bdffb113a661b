//! Turns that were started before their session was ready.
//!
//! The turn is published at once. The agent receives its prompt when the session is ready;
//! if the session can't be created, the turn fails.

use std::sync::Arc;

use agenthost_protocol::chat::{ActiveTurn, ErrorPart, TurnStarted};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::uri::Uri;

use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::step::Env;

impl Host {
    /// Returns `true` if the session of a chat is still being created.
    pub(crate) fn waits_for_session(&self, chat: &Uri) -> bool {
        let session = self.session_of(chat);
        session.is_some_and(|session| self.is_creating(session))
    }

    /// Starts the work of turns that waited for their session to become ready.
    pub(crate) fn begin_early_turns(&mut self, env: &Env, session: &Uri, out: &mut Effects) {
        for (chat, turn) in self.active_turns(session) {
            let start = TurnStarted {
                turn_id: turn.id.clone(),
                message: Arc::clone(&turn.message),
                started_at: turn.started_at.clone(),
                queued_message_id: None,
                meta: None,
            };
            self.begin_turn_work(env, &chat, &start, out);
        }
    }

    /// Fails the turns of a session that could not be created.
    pub(crate) fn fail_early_turns(
        &mut self,
        env: &Env,
        session: &Uri,
        error: &ErrorInfo,
        out: &mut Effects,
    ) {
        for (chat, turn) in self.active_turns(session) {
            let part = ErrorPart {
                error: error.clone(),
                resumable: None,
            };
            self.end_turn(env, &chat, &turn.id, Some(part), out);
        }
    }

    fn active_turns(&self, session: &Uri) -> Vec<(Uri, Arc<ActiveTurn>)> {
        let chats = self.session(session).map(|session| session.chats.clone());
        let chats = chats.iter().flat_map(|chats| chats.items());
        let running = chats.filter_map(|entry| {
            let turn = self.chat(&entry.resource)?.active_turn.clone()?;
            Some((entry.resource.clone(), turn))
        });
        running.collect()
    }
}
