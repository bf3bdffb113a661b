//! Handles failed turns, failed agents and timeouts, and shuts the agent down.

use agenthost_protocol::uri::Uri;
use tokio::time::Instant;

use super::{AgentSessionState, BridgeStage, SessionBridge};
use crate::connection::StartPhase;
use crate::error::{AcpError, AgentTimeout};
use crate::mapper::error_part;

impl SessionBridge {
    /// Ends the turn of a chat with an error and cancels its pending requests.
    pub(super) async fn fail_turn(
        &mut self,
        chat: &Uri,
        kind: &str,
        error: &AcpError,
    ) -> Result<(), AcpError> {
        let turn = self.chats.get_mut(chat).and_then(|chat| chat.turn.take());
        if let Some(turn) = turn {
            let id = turn.id.clone();
            turn.cancel_requests();
            let error = Some(error_part(kind, &error.to_string()));
            self.events.end_turn(chat, &id, error).await?;
        }
        Ok(())
    }

    /// Fails all running turns after the agent exited or was killed. The next prompt starts the
    /// agent again.
    pub(crate) async fn fail_agent(&mut self, error: AcpError) -> Result<(), AcpError> {
        self.spare_session = AgentSessionState::None;
        self.abandoned_prompts.clear();
        self.services.terminals.release_all();
        let chats: Vec<_> = self.chats.keys().cloned().collect();
        for chat_uri in chats {
            self.close_turn_terminals(&chat_uri).await?;
            let Some(chat) = self.chats.get_mut(&chat_uri) else {
                continue;
            };
            let previous = std::mem::take(&mut chat.agent_session);
            // A session that could not be resumed in time is not tried again: the turn begins
            // in a new session.
            let was_resuming = matches!(previous, AgentSessionState::Resuming(..));
            if let AgentSessionState::Open(session) = previous {
                chat.resumable_id = Some(session.id);
            }
            // A turn that waits for the end of a cancelled one has not failed; it can still
            // begin.
            let is_cancelled = chat
                .in_flight
                .take()
                .is_some_and(|prompt| prompt.cancel_deadline.is_some());
            if !is_cancelled && !was_resuming {
                self.fail_turn(&chat_uri, "agentStopped", &error).await?;
            }
        }
        if self.stage == BridgeStage::Opening {
            return Err(error);
        }
        Box::pin(self.advance_turns()).await
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let start_deadline =
            self.connection
                .as_ref()
                .and_then(|connection| match connection.phase {
                    StartPhase::Starting(deadline) => Some(deadline),
                    StartPhase::Ready => None,
                });
        let prompts = self
            .chats
            .values()
            .filter_map(|chat| chat.in_flight.as_ref());
        let cancel_deadlines = prompts.filter_map(|prompt| prompt.cancel_deadline);
        let states = self.chats.values().map(|chat| &chat.agent_session);
        let session_deadlines = states
            .chain([&self.spare_session])
            .filter_map(AgentSessionState::deadline);
        let abandoned_deadlines = self
            .abandoned_prompts
            .iter()
            .map(|prompt| prompt.cancel_deadline);
        let deadlines = cancel_deadlines
            .chain(start_deadline)
            .chain(session_deadlines);
        deadlines.chain(abandoned_deadlines).min()
    }

    /// Kills an agent that exceeded a deadline, and fails its turns.
    pub(crate) async fn handle_timeout(&mut self) -> Result<(), AcpError> {
        let timeout = if self.ignores_cancel() {
            AgentTimeout::Cancel
        } else {
            AgentTimeout::Response
        };
        // Without a graceful shutdown: the agent did not respond within its timeout.
        if let Some(connection) = self.connection.take() {
            connection.kill(&timeout.to_string());
        }
        self.fail_agent(timeout.into()).await
    }

    /// Returns `true` if the agent has not ended a cancelled prompt before its deadline.
    pub(super) fn ignores_cancel(&self) -> bool {
        let now = Instant::now();
        let mut prompts = self
            .chats
            .values()
            .filter_map(|chat| chat.in_flight.as_ref());
        let has_abandoned = self
            .abandoned_prompts
            .iter()
            .any(|prompt| prompt.cancel_deadline <= now);
        has_abandoned
            || prompts.any(|prompt| {
                prompt
                    .cancel_deadline
                    .is_some_and(|deadline| deadline <= now)
            })
    }

    /// Cancels all turns and requests, and shuts the agent and its terminals down.
    pub(super) async fn shut_down(&mut self) {
        self.close_terminals().await;
        let Some(connection) = self.connection.take() else {
            return;
        };
        for chat in std::mem::take(&mut self.chats).into_values() {
            if let (AgentSessionState::Open(session), Some(_)) =
                (&chat.agent_session, &chat.in_flight)
            {
                connection.cancel_prompt(&session.id);
            }
            if let Some(turn) = chat.turn {
                turn.cancel_requests();
            }
        }
        // The session is closed, so the last stderr line is not reported.
        connection.shutdown().await;
    }
}
