//! How much of a chat each subscriber has been shown.
//!
//! A client may ask for the latest turns only. The state of the chat is the
//! same for everyone; what differs is how many of its oldest turns a
//! subscriber has not seen (SUB-18). Older turns go to that subscriber alone,
//! so nobody else is given a cursor (CHT-33).

use std::sync::Arc;

use agenthost_protocol::action::{Action, ReceivedAction};
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::chat::{ChatAction, FetchTurnsParams, TurnsLoaded};
use agenthost_protocol::connection::SubscribeParams;
use agenthost_protocol::uri::Uri;

use crate::host::Host;
use crate::host::effect::{Effects, ResponseBody, StoreWrite};
use crate::host::error::RequestFailure;
use crate::host::input::ConnectionId;

/// Turns that are shown at a time.
const TURN_PAGE_SIZE: usize = 50;

impl Host {
    /// Cuts a snapshot to what the client asked for, and remembers what it has
    /// not been shown.
    pub(crate) fn apply_view_limit(
        &mut self,
        connection: ConnectionId,
        params: &SubscribeParams,
        snapshot: &mut Snapshot,
        out: &mut Effects,
    ) {
        let channel = &params.channel;
        let wanted = params.view.as_ref().and_then(|view| view.turns);
        let earlier = self.evicted_turns(channel).len();
        let (Some(wanted), ChannelState::Chat(chat)) = (wanted, &mut snapshot.state) else {
            self.record_window(connection, channel, false, out);
            return;
        };
        // The latest turn can be taken up again, so it is always shown.
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).max(1);
        let shown = wanted.min(chat.turns.len());
        let cut = chat.turns.len() - shown;
        let hidden = earlier + cut;
        if hidden > 0 {
            let chat = Arc::make_mut(chat);
            chat.turns = chat.turns.iter().skip(cut).cloned().collect();
            chat.turns_next_cursor = Some(format_cursor(hidden));
        }
        self.set_hidden_turns(connection, channel, hidden);
        self.record_window(connection, channel, hidden > 0, out);
    }

    /// Shows a subscriber the next older turns (CHT-30, CHT-31).
    pub(crate) fn fetch_turns(
        &mut self,
        connection: ConnectionId,
        params: &FetchTurnsParams,
        out: &mut Effects,
    ) -> Result<ResponseBody, RequestFailure> {
        let channel = &params.channel;
        if self.chat(channel).is_none() {
            return Err(RequestFailure::UnknownSession(channel.clone()));
        }
        let Some(hidden) = self.hidden_turns(connection, channel) else {
            let reason = "subscribe to the chat first".to_owned();
            return Err(RequestFailure::InvalidParams(reason));
        };
        if let Some(given) = &params.cursor {
            // What was cut off since made it smaller, and no less true.
            let known = parse_cursor(given).is_some_and(|given| given >= hidden && given > 0);
            if !known {
                return Err(RequestFailure::InvalidParams("cursor: unknown".to_owned()));
            }
        }
        if hidden > 0 {
            self.send_turns(
                connection,
                channel,
                hidden.saturating_sub(TURN_PAGE_SIZE),
                out,
            );
        }
        Ok(ResponseBody::Empty)
    }

    /// Before something happens to a turn, whoever has not been shown the turn
    /// is (CHT-32): where it is not known, nothing would happen.
    pub(crate) fn load_turn_for_all(
        &mut self,
        channel: &Uri,
        action: &ReceivedAction,
        out: &mut Effects,
    ) {
        let ReceivedAction::Valid(Action::Chat(action)) = action else {
            return;
        };
        // Older clients are told that a turn goes on by cutting it off first.
        let (turn, before, only_older) = if let ChatAction::Truncated(cut) = action {
            (cut.turn_id.as_ref(), 0, false)
        } else if let ChatAction::TurnResume(resume) = action {
            (Some(&resume.turn_id), 1, true)
        } else {
            return;
        };
        let chat = self.chat(channel);
        let index = chat.and_then(|chat| {
            let turn = turn?;
            chat.turns.find(|other| other.id == *turn)
        });
        let position = index.map(|index| index + self.evicted_turns(channel).len());
        let Some(position) = position.and_then(|position| position.checked_sub(before)) else {
            return;
        };
        let subscribers = self
            .channels
            .get(channel)
            .map(|channel| &channel.subscribers);
        let behind: Vec<_> = subscribers
            .into_iter()
            .flatten()
            .filter(|(_, subscription)| subscription.hidden_turns > position)
            .filter(|(_, subscription)| subscription.is_legacy || !only_older)
            .map(|(connection, _)| *connection)
            .collect();
        for connection in behind {
            self.send_turns(connection, channel, position, out);
        }
    }

    /// After turns were cut off there may be fewer than were hidden.
    pub(crate) fn clamp_windows(&mut self, channel: &Uri) {
        let Some(loaded) = self.loaded(channel) else {
            return;
        };
        let Some(chat) = loaded.state.as_chat() else {
            return;
        };
        let total = loaded.evicted_turns.len() + chat.turns.len();
        if let Some(channel) = self.channels.get_mut(channel) {
            for subscription in channel.subscribers.values_mut() {
                subscription.hidden_turns = subscription.hidden_turns.min(total);
            }
        }
    }

    /// Shows a subscriber the turns from a position on.
    fn send_turns(
        &mut self,
        connection: ConnectionId,
        channel: &Uri,
        from: usize,
        out: &mut Effects,
    ) {
        let Some(hidden) = self.hidden_turns(connection, channel) else {
            return;
        };
        let earlier = self.evicted_turns(channel).len();
        let Some(chat) = self.chat(channel) else {
            return;
        };
        let from = from.max(earlier);
        let turns = chat.turns.iter().skip(from - earlier);
        let turns = turns.take(hidden.saturating_sub(from)).cloned().collect();
        let action = ChatAction::TurnsLoaded(TurnsLoaded {
            turns,
            turns_next_cursor: (from > 0).then(|| format_cursor(from)),
        });
        self.set_hidden_turns(connection, channel, from);
        self.publish_unlogged(&[connection], channel, action, None, out);
    }

    fn hidden_turns(&self, connection: ConnectionId, channel: &Uri) -> Option<usize> {
        let subscribers = &self.channels.get(channel)?.subscribers;
        Some(subscribers.get(&connection)?.hidden_turns)
    }

    fn set_hidden_turns(&mut self, connection: ConnectionId, channel: &Uri, hidden: usize) {
        let channel = self.channels.get_mut(channel);
        let subscription = channel.and_then(|channel| channel.subscribers.get_mut(&connection));
        if let Some(subscription) = subscription {
            subscription.hidden_turns = hidden;
        }
    }

    /// Whether a client has seen a chat in part is remembered with the client:
    /// `reconnect` does not say, and what happens to turns that it does not
    /// know could not be told one by one (SUB-19).
    fn record_window(
        &mut self,
        connection: ConnectionId,
        channel: &Uri,
        windowed: bool,
        out: &mut Effects,
    ) {
        let Some(id) = self.clients.client_of(connection).cloned() else {
            return;
        };
        let Some(client) = self.clients.clients.get_mut(&id) else {
            return;
        };
        let record = &mut client.record;
        let changed = if windowed {
            record.windowed.insert(channel.clone())
        } else {
            !record.shared && record.windowed.remove(channel)
        };
        if changed {
            record.windowed.retain(|chat| self.channels.contains(chat));
            out.write(StoreWrite::Client(id, Box::new(client.record.clone())));
        }
    }
}

fn format_cursor(hidden: usize) -> String {
    format!("turns-{hidden}")
}

fn parse_cursor(cursor: &str) -> Option<usize> {
    cursor.strip_prefix("turns-")?.parse().ok()
}
