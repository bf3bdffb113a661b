//! Subscriptions, with an exact boundary between snapshot and stream.
//!
//! The host takes the snapshot and registers the subscriber in one step, so every later
//! action has a greater number and none is lost (SUB-6). The response is an effect before
//! all of these actions, so it is also sent before them (SUB-7).

use std::sync::Arc;

use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::connection::{SubscribeParams, SubscribeResult};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;

use crate::changeset::view;
use crate::host::Host;
use crate::host::channels::Subscription;
use crate::host::effect::{Effects, ResponseBody};
use crate::host::error::RequestFailure;
use crate::host::input::ConnectionId;
use crate::host::step::Env;
use crate::tools::mcp::app_channel::strip_apps_from_state;

/// Limit for the latency that a client can request for coalescing. A longer delay would be
/// noticeable, without any further benefit.
const MAX_COALESCING_LATENCY: Millis = Millis(1_000);

impl Host {
    /// Subscribes a connection to a channel. A repeated subscription replaces the options
    /// and returns a new snapshot, but there is still only one subscription (SUB-8).
    pub(crate) fn subscribe(
        &mut self,
        connection: ConnectionId,
        params: &SubscribeParams,
        out: &mut Effects,
    ) -> Result<ResponseBody, RequestFailure> {
        if self.is_stateless(connection, &params.channel) {
            let nothing = SubscribeResult { snapshot: None };
            return Ok(ResponseBody::Subscribe(Box::new(nothing)));
        }
        let mut snapshot = self.subscribe_derived(connection, &params.channel, out)?;
        let delivery = params.delivery.as_ref();
        let patience = delivery.and_then(|delivery| delivery.max_latency_ms);
        if let Some(channel) = self.channels.get_mut(&params.channel) {
            let patience = patience
                .unwrap_or_default()
                .clamp(Millis(0), MAX_COALESCING_LATENCY);
            if let Some(subscription) = channel.subscribers.get_mut(&connection) {
                subscription.max_latency = patience;
            }
        }
        self.apply_view_limit(connection, params, &mut snapshot, out);
        Ok(ResponseBody::Subscribe(Box::new(SubscribeResult {
            snapshot: Some(snapshot),
        })))
    }

    /// Returns `true` if a channel has no state and the client may subscribe to it:
    /// messages on the channels of MCP servers are not stored.
    pub(crate) fn is_stateless(&self, connection: ConnectionId, channel: &Uri) -> bool {
        self.find_server_at(channel).is_some() && self.supports_apps(connection)
    }

    /// Registers a subscriber, and returns the snapshot that its stream starts from.
    fn subscribe_with_snapshot(
        &mut self,
        connection: ConnectionId,
        channel: &Uri,
    ) -> Result<Snapshot, RequestFailure> {
        self.add_subscriber(connection, channel)?;
        let mut state = self
            .snapshot_state(channel)
            .ok_or_else(|| RequestFailure::ChannelUnreadable(channel.clone()))?;
        if !self.supports_apps(connection) {
            strip_apps_from_state(&mut state);
        }
        Ok(Snapshot {
            resource: channel.clone(),
            state,
            from_seq: self.log.seq,
        })
    }

    /// Subscribes to a channel, and first creates derived state that only exists for
    /// subscribers.
    pub(crate) fn subscribe_derived(
        &mut self,
        connection: ConnectionId,
        channel: &Uri,
        out: &mut Effects,
    ) -> Result<Snapshot, RequestFailure> {
        self.ensure_changeset(channel, out)?;
        self.track_customizations(channel, out);
        self.subscribe_with_snapshot(connection, channel)
    }

    /// Registers a connection as a subscriber, within the limit of its subscriptions.
    pub(crate) fn add_subscriber(
        &mut self,
        connection: ConnectionId,
        channel: &Uri,
    ) -> Result<(), RequestFailure> {
        let most = self.config.max_subscriptions;
        let renamed = self.connection_quirks(connection).provider_schemes;
        let target = self.channels.get_mut(channel);
        let target = target.ok_or_else(|| unknown_channel(channel))?;
        let Some(subscriber) = self.clients.connections.get_mut(&connection) else {
            return Err(RequestFailure::NotInitialized);
        };
        let new = !subscriber.subscriptions.contains(channel);
        if new && subscriber.subscriptions.len() >= most {
            return Err(RequestFailure::InvalidParams(format!(
                "a connection can subscribe to at most {most} channels"
            )));
        }
        subscriber.subscriptions.insert(channel.clone());
        let subscription = Subscription {
            is_legacy: renamed || subscriber.release < Release::CURRENT,
            ..Subscription::default()
        };
        target.subscribers.insert(connection, subscription);
        Ok(())
    }

    pub(crate) fn unsubscribe(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        channel: &Uri,
        out: &mut Effects,
    ) {
        if let Some(channel) = self.channels.get_mut(channel) {
            channel.subscribers.remove(&connection);
        }
        if let Some(subscriber) = self.clients.connections.get_mut(&connection) {
            subscriber.subscriptions.remove(channel);
        }
        self.stop_idle_watch(channel, out);
        if let Some(client) = self.clients.client_of(connection).cloned() {
            self.leave_unsubscribed_session(env, &client, channel, out);
        }
    }

    /// Returns the state of a channel for a snapshot. No action carries the activity of a
    /// session, its number of annotations, or the change totals of a chat: a snapshot takes
    /// them from the lists (A-4, SYN-1, SYN-2).
    fn snapshot_state(&self, channel: &Uri) -> Option<ChannelState> {
        let mut state = self.state(channel)?.clone();
        if let ChannelState::Chat(chat) = &mut state {
            let changes = self.changes_of_chat(channel);
            if chat.summary.changes != changes {
                Arc::make_mut(chat).summary.changes = changes;
            }
        }
        if let ChannelState::Session(session) = &mut state {
            let metadata = &mut Arc::make_mut(session).metadata;
            if let Some(listed) = self.sessions.get(channel) {
                metadata.status = metadata
                    .status
                    .with_activity(listed.metadata.status.activity());
                metadata
                    .annotations
                    .clone_from(&listed.metadata.annotations);
            }
        }
        Some(state)
    }
}

/// Returns the error for an unknown channel (ERR-5).
fn unknown_channel(channel: &Uri) -> RequestFailure {
    let conversation = ["ahp-session:", "ahp-chat:"];
    let named = |scheme: &&str| channel.as_str().starts_with(scheme);
    if conversation.iter().any(named) && !view::is_changeset_uri(channel) {
        RequestFailure::UnknownSession(channel.clone())
    } else {
        RequestFailure::UnknownChannel(channel.clone())
    }
}
