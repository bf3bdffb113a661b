//! Limits the turns that each subscriber of a chat has received.
//!
//! A client may request the latest turns only. All subscribers share the state of the chat;
//! they differ in the number of oldest turns that they have not received (SUB-18). Older
//! turns are sent to the requesting subscriber alone, so no other subscriber receives a
//! cursor (CHT-33).

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

/// Number of turns in one response to `fetchTurns`.
const TURN_PAGE_SIZE: usize = 50;

impl Host {
    /// Truncates a snapshot to the turns that the client requested, and records the number
    /// of hidden ones.
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
        // The latest turn can be resumed, so it is never hidden.
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

    /// Sends the next older turns to a subscriber (CHT-30, CHT-31).
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
            // Truncation may have reduced the number of hidden turns since the cursor was
            // issued.
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

    /// Sends a turn to the subscribers that have not received it, before an action changes
    /// it (CHT-32): a client that does not know the turn would ignore the action.
    pub(crate) fn load_turn_for_all(
        &mut self,
        channel: &Uri,
        action: &ReceivedAction,
        out: &mut Effects,
    ) {
        let ReceivedAction::Valid(Action::Chat(action)) = action else {
            return;
        };
        // For legacy clients a resumed turn is encoded as a truncation before it.
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

    /// Reduces the hidden turns of all subscribers to the number of turns that are left
    /// after a truncation.
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

    /// Sends the hidden turns from a position on to a subscriber.
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

    /// Records in the store if a client has received a part of a chat only. `reconnect`
    /// does not carry this, and actions on turns that the client does not know could not be
    /// replayed (SUB-19).
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
