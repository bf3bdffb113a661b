//! Reconnects after the connection was lost and recovers the subscribed channels.

use std::time::Duration;

use agenthost_protocol::connection::{
    CHANNEL_CURSORS_VERSION, ChannelReconnectParams, ChannelRecovery, ChannelReplayCursor,
    ReconnectParams, ReconnectRequest, ReconnectResponse, ReconnectResult,
};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::rpc::ErrorCode;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::version::Version;
use tokio::time::Instant;

use crate::client::{Client, ClientError, ClientUpdate};
use crate::optimistic::PendingAction;
use crate::transport::{HostTransport, TransportError};

/// Delay before the second attempt to reconnect. It doubles with each further attempt.
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
/// Maximum delay between two attempts, so that a restarted host is found within seconds.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// The state of a lost connection. It exists until the client has caught up, even if a
/// caller drops the future of a reconnect and starts another one.
#[derive(Debug)]
pub(crate) struct Outage {
    /// The error that ended the connection.
    error: TransportError,
    /// The time after which the client makes no further attempt.
    deadline: Instant,
    /// The delay before the next attempt.
    backoff: Duration,
    /// `true` if [`ClientUpdate::Disconnected`] has been returned to the caller.
    pub(crate) is_reported: bool,
}

/// The form of the `reconnect` request that a host accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReconnectForm {
    /// One sequence number for all channels.
    Connection,
    /// A replay cursor for each channel.
    Channels,
}

impl ReconnectForm {
    /// Returns the form to try first with a host that negotiated `version`. Any host of 1.x
    /// accepts this version, so [`Client::open_and_reconnect`] may fall back to the other
    /// form.
    pub(crate) fn for_version(version: &str) -> Self {
        match Version::parse(version) {
            Some(version) if version >= CHANNEL_CURSORS_VERSION => ReconnectForm::Channels,
            _ => ReconnectForm::Connection,
        }
    }
}

impl Client {
    /// Records that the connection is lost and sets the deadline for reconnecting.
    pub(crate) fn begin_outage(&mut self, error: TransportError) {
        // The host request belonged to the lost connection, and its id may be used again.
        self.pending_response = None;
        self.outage = Some(Outage {
            error,
            deadline: Instant::now() + self.options.reconnect_timeout,
            backoff: INITIAL_BACKOFF,
            is_reported: false,
        });
    }

    /// Reconnects if the connection is lost, and buffers the missed actions as updates.
    /// Retries with backoff until the deadline; then returns the error that ended the
    /// connection.
    pub(crate) async fn ensure_connected(&mut self) -> Result<(), ClientError> {
        while self.outage.is_some() {
            let tried = self.catch_up().await;
            let Some(outage) = &mut self.outage else {
                break;
            };
            match tried {
                Ok(()) => {
                    if outage.is_reported {
                        self.buffered.push_front(ClientUpdate::Reconnected);
                    }
                    self.outage = None;
                }
                Err(ClientError::Transport(_))
                    if Instant::now() + outage.backoff < outage.deadline =>
                {
                    let pause = outage.backoff;
                    outage.backoff = (pause * 2).min(MAX_BACKOFF);
                    tokio::time::sleep(pause).await;
                }
                Err(ClientError::Transport(again)) => {
                    let first = self.outage.take().map(|outage| outage.error);
                    return Err(first.unwrap_or(again).into());
                }
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    async fn catch_up(&mut self) -> Result<(), ClientError> {
        let unconfirmed;
        match self.open_and_reconnect().await {
            Ok(ReconnectResponse::Channels(result)) => {
                self.apply_recoveries(result.channels);
                return self.resend_unconfirmed().await;
            }
            Ok(ReconnectResponse::Connection(ReconnectResult::Replay(replay))) => {
                for envelope in replay.actions {
                    let update = self.apply_envelope(envelope);
                    self.buffered.push_back(update);
                }
                for gone in replay.missing {
                    self.mirror.remove(&gone);
                }
                return self.resend_unconfirmed().await;
            }
            Ok(ReconnectResponse::Connection(ReconnectResult::Snapshot(result))) => {
                unconfirmed = self.clear_mirror();
                // The host may not know the sequence numbers that were seen so far.
                self.last_seen_seq = ServerSeq(0);
                for snapshot in result.snapshots {
                    self.install_snapshot(snapshot);
                }
            }
            // The host does not know this client any more: initialize again (HSK-22).
            Err(ClientError::Refused(_)) => {
                let subscriptions = self.mirror.keys().cloned().collect();
                unconfirmed = self.clear_mirror();
                self.initialize(subscriptions).await?;
            }
            Err(error) => return Err(error),
        }
        // The new snapshots contain the effect of all buffered updates.
        self.buffered.clear();
        let channels = self.mirror.keys().cloned().collect();
        self.buffered.push_back(ClientUpdate::Resynced {
            channels,
            unconfirmed,
        });
        Ok(())
    }

    /// Opens a connection and sends a `reconnect` request. If the host does not support
    /// cursors, the client falls back to the other form on a new connection, because the
    /// host may have misread the first request.
    async fn open_and_reconnect(&mut self) -> Result<ReconnectResponse, ClientError> {
        loop {
            self.transport = HostTransport::connect(&self.address).await?;
            self.pending_response = None;
            let answered = self.send_request(self.reconnect_request()).await;
            let understood = match &answered {
                Ok(ReconnectResponse::Channels(_)) => true,
                Ok(ReconnectResponse::Connection(_)) | Err(ClientError::Decode(_)) => false,
                Err(ClientError::Refused(error)) => error.code != ErrorCode::InvalidParams,
                Err(_) => true,
            };
            if understood || self.reconnect_form == ReconnectForm::Connection {
                return answered;
            }
            self.reconnect_form = ReconnectForm::Connection;
        }
    }

    fn reconnect_request(&self) -> ReconnectRequest {
        let client_id = self.options.client_id.clone();
        match self.reconnect_form {
            ReconnectForm::Connection => ReconnectRequest::Connection(ReconnectParams {
                channel: RootChannel,
                client_id,
                last_seen_server_seq: self.last_seen_seq,
                subscriptions: self.mirror.keys().cloned().collect(),
                meta: None,
            }),
            ReconnectForm::Channels => {
                let cursors = self.mirror.iter();
                let cursors = cursors.map(|(channel, followed)| ChannelReplayCursor {
                    channel: channel.clone(),
                    last_seen_server_seq: followed.cursor,
                });
                ReconnectRequest::Channels(ChannelReconnectParams {
                    channel: RootChannel,
                    client_id,
                    subscriptions: cursors.collect(),
                    meta: None,
                })
            }
        }
    }

    /// Applies the outcome of each channel. Channels without an outcome are removed from
    /// the mirror.
    fn apply_recoveries(&mut self, outcomes: Vec<ChannelRecovery>) {
        let mut before = std::mem::take(&mut self.mirror);
        let mut missed = Vec::new();
        let mut channels = Vec::new();
        let mut unconfirmed = Vec::new();
        for outcome in outcomes {
            match outcome {
                ChannelRecovery::Replay(replay) => {
                    if let Some(followed) = before.remove(&replay.channel) {
                        self.mirror.insert(replay.channel, followed);
                        missed.extend(replay.actions);
                    }
                }
                ChannelRecovery::Snapshot(recovery) => {
                    let followed = before.remove(&recovery.channel);
                    unconfirmed.extend(followed.iter().flat_map(|followed| {
                        let pending = followed.optimistic.pending();
                        pending.map(|pending| (recovery.channel.clone(), pending.clone()))
                    }));
                    channels.push(recovery.channel);
                    self.install_snapshot(recovery.snapshot);
                }
                // The channel stays removed, like a channel without an outcome.
                ChannelRecovery::Missing(_) => {}
            }
        }
        // A snapshot contains the effect of the buffered actions of its channel.
        self.buffered.retain(|update| match update {
            ClientUpdate::Action(envelope) => !channels.contains(&envelope.channel),
            _ => true,
        });
        // Channels depend on each other, so their actions are returned in one global order.
        missed.sort_by_key(|envelope| envelope.server_seq);
        for envelope in missed {
            let update = self.apply_envelope(envelope);
            self.buffered.push_back(update);
        }
        // After the recovery, no cursor contains a number that the host does not know.
        let cursors = self.mirror.values().map(|followed| followed.cursor);
        self.last_seen_seq = cursors.max().unwrap_or_default();
        if !(before.is_empty() && channels.is_empty()) {
            unconfirmed.sort_by_key(|(_, pending): &(Uri, PendingAction)| pending.client_seq.0);
            self.buffered.push_back(ClientUpdate::Resynced {
                channels,
                unconfirmed,
            });
        }
    }

    /// Dispatches the pending actions again. After a replay, an action that the host has
    /// neither confirmed nor rejected was never received.
    async fn resend_unconfirmed(&mut self) -> Result<(), ClientError> {
        for (channel, pending) in self.unconfirmed_actions() {
            self.send_dispatch(&channel, pending.client_seq, pending.action)
                .await?;
        }
        Ok(())
    }

    /// Clears the mirror and returns its pending actions.
    fn clear_mirror(&mut self) -> Vec<(Uri, PendingAction)> {
        let open = self.unconfirmed_actions();
        self.mirror.clear();
        open
    }

    /// Returns the pending actions of all channels in the order of their dispatch.
    fn unconfirmed_actions(&self) -> Vec<(Uri, PendingAction)> {
        let channels = self.mirror.iter();
        let mut open: Vec<_> = channels
            .flat_map(|(channel, followed)| {
                let pending = followed.optimistic.pending();
                pending.map(|pending| (channel.clone(), pending.clone()))
            })
            .collect();
        open.sort_by_key(|(_, pending)| pending.client_seq.0);
        open
    }
}
