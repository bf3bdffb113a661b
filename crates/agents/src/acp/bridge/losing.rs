//! What fails, what takes too long, and the end.

use agenthost_protocol::uri::Uri;
use tokio::time::Instant;

use super::{Bridge, Link, Stage};
use crate::acp::live::Phase;
use crate::acp::mapper::failure;

impl Bridge {
    /// The turn of a chat has failed before the agent had a say.
    pub(super) async fn fail_turn(
        &mut self,
        chat: &Uri,
        kind: &str,
        reason: &str,
    ) -> Result<(), String> {
        let turn = self.chats.get_mut(chat).and_then(|chat| chat.turn.take());
        if let Some(turn) = turn {
            let id = turn.id.clone();
            turn.give_up();
            let error = Some(failure(kind, reason));
            self.events.end(chat, &id, error).await?;
        }
        Ok(())
    }

    /// The agent is gone, or has to go: all that it was doing has failed. The
    /// next message starts it again.
    pub(super) async fn lose(&mut self, reason: &str) -> Result<(), String> {
        self.spare = Link::None;
        self.abandoned.clear();
        self.services.terminals.forget();
        let chats: Vec<_> = self.chats.keys().cloned().collect();
        for address in chats {
            self.settle(&address).await?;
            let Some(chat) = self.chats.get_mut(&address) else {
                continue;
            };
            let before = std::mem::take(&mut chat.agent_session);
            // What was not taken up in time is not tried again: the turn begins
            // in a new session.
            let unheard = matches!(before, Link::TakingUp(..));
            if let Link::Open(session) = before {
                chat.noted = Some(session.id);
            }
            // A turn that waits for the end of a cancelled one may still begin.
            let cancelled = chat
                .in_flight
                .take()
                .is_some_and(|flight| flight.stop_by.is_some());
            if !cancelled && !unheard {
                self.fail_turn(&address, "agentStopped", reason).await?;
            }
        }
        if self.stage == Stage::Opening {
            return Err(reason.to_owned());
        }
        Box::pin(self.advance_all()).await
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let starting = self.live.as_ref().and_then(|live| match live.phase {
            Phase::Starting(deadline) => Some(deadline),
            Phase::Ready => None,
        });
        let flights = self
            .chats
            .values()
            .filter_map(|chat| chat.in_flight.as_ref());
        let stops = flights.filter_map(|flight| flight.stop_by);
        let links = self.chats.values().map(|chat| &chat.agent_session);
        let openings = links.chain([&self.spare]).filter_map(Link::deadline);
        let abandoned = self.abandoned.iter().map(|prompt| prompt.stop_by);
        let all = stops.chain(starting).chain(openings);
        all.chain(abandoned).min()
    }

    /// The agent has taken too long for something.
    pub(super) async fn overdue(&mut self) -> Result<(), String> {
        let reason = if self.is_stubborn() {
            "the agent did not stop when it was told to, and was ended"
        } else {
            "the agent did not answer in time, and was ended"
        };
        // At once: it had its time.
        if let Some(live) = self.live.take() {
            live.kill(reason);
        }
        self.lose(reason).await
    }

    /// Whether the agent goes on with what it was told to stop.
    pub(super) fn is_stubborn(&self) -> bool {
        let now = Instant::now();
        let mut flights = self
            .chats
            .values()
            .filter_map(|chat| chat.in_flight.as_ref());
        let abandoned = self.abandoned.iter().any(|prompt| prompt.stop_by <= now);
        abandoned || flights.any(|flight| flight.stop_by.is_some_and(|by| by <= now))
    }

    /// Ends the agent, and leaves nothing of it.
    pub(super) async fn close(&mut self) {
        self.close_terminals().await;
        let Some(live) = self.live.take() else {
            return;
        };
        for chat in std::mem::take(&mut self.chats).into_values() {
            if let (Link::Open(session), Some(_)) = (&chat.agent_session, &chat.in_flight) {
                live.cancel(&session.id);
            }
            if let Some(turn) = chat.turn {
                turn.give_up();
            }
        }
        // Nobody is left to hear what it complained of.
        drop(live.end().await);
    }
}
