//! Coming back when the connection was lost.

use std::time::Duration;

use agenthost_protocol::connection::{
    CHANNEL_CURSORS, ChannelReconnectParams, ChannelRecovery, ChannelReplayCursor, ReconnectParams,
    ReconnectRequest, ReconnectResponse, ReconnectResult,
};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::rpc::ErrorCode;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::version::Version;
use tokio::time::Instant;

use crate::ahead::Pending;
use crate::client::{Client, ClientError, Update};
use crate::transport::{Transport, TransportError};

/// How long to wait before trying again to come back, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The time while the connection is lost. It lasts until the client has caught
/// up, also when whoever waits for that gives up half-way and asks again.
#[derive(Debug)]
pub(crate) struct Outage {
    /// What was wrong at first.
    error: TransportError,
    /// When to give up.
    until: Instant,
    /// How long to wait before the next try.
    pause: Duration,
    /// Whether the one who asks for updates knows.
    pub(crate) told: bool,
}

/// Which form of `reconnect` the host takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReconnectForm {
    /// One sequence number for all channels.
    Connection,
    /// A cursor for each channel.
    Channels,
}

impl ReconnectForm {
    /// The form to try with a host that agreed on a version. Any host of 1.x
    /// agrees on this one, so it may still have to be taken back.
    pub(crate) fn of(version: &str) -> Self {
        match Version::parse(version) {
            Some(version) if version >= CHANNEL_CURSORS => ReconnectForm::Channels,
            _ => ReconnectForm::Connection,
        }
    }
}

impl Client {
    /// The connection is lost.
    pub(crate) fn lose(&mut self, error: TransportError) {
        // Nobody waits for it any more, and its number may come again.
        self.answer = None;
        self.outage = Some(Outage {
            error,
            until: Instant::now() + self.hello.patience,
            pause: FIRST_PAUSE,
            told: false,
        });
    }

    /// Comes back if the connection was lost, and catches up: what was missed
    /// is put aside as updates.
    pub(crate) async fn resume(&mut self) -> Result<(), ClientError> {
        while self.outage.is_some() {
            let tried = self.catch_up().await;
            let Some(outage) = &mut self.outage else {
                break;
            };
            match tried {
                Ok(()) => {
                    if outage.told {
                        self.aside.push_front(Update::Back);
                    }
                    self.outage = None;
                }
                Err(ClientError::Transport(_)) if Instant::now() + outage.pause < outage.until => {
                    let pause = outage.pause;
                    outage.pause = (pause * 2).min(LONGEST_PAUSE);
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
        let open;
        match self.reconnect().await {
            Ok(ReconnectResponse::Channels(result)) => {
                self.recover(result.channels);
                return self.send_again().await;
            }
            Ok(ReconnectResponse::Connection(ReconnectResult::Replay(replay))) => {
                for envelope in replay.actions {
                    let update = self.follow(envelope);
                    self.aside.push_back(update);
                }
                for gone in replay.missing {
                    self.mirror.remove(&gone);
                }
                return self.send_again().await;
            }
            Ok(ReconnectResponse::Connection(ReconnectResult::Snapshot(result))) => {
                open = self.give_up();
                // The host may not know the numbers that were seen so far.
                self.seen = ServerSeq(0);
                for snapshot in result.snapshots {
                    self.start(snapshot);
                }
            }
            // The host does not know us any more: start over (HSK-22).
            Err(ClientError::Refused(_)) => {
                let subscriptions = self.mirror.keys().cloned().collect();
                open = self.give_up();
                self.initialize(subscriptions).await?;
            }
            Err(error) => return Err(error),
        }
        // What was put aside is part of where the channels are now.
        self.aside.clear();
        let channels = self.mirror.keys().cloned().collect();
        self.aside.push_back(Update::Caught { channels, open });
        Ok(())
    }

    /// Connects, and asks for what was missed. A host that can't read cursors is
    /// asked without them on another connection: it may have taken the first
    /// question for something else.
    async fn reconnect(&mut self) -> Result<ReconnectResponse, ClientError> {
        loop {
            self.transport = Transport::connect(&self.address).await?;
            self.answer = None;
            let answered = self.ask(self.reconnect_request()).await;
            let understood = match &answered {
                Ok(ReconnectResponse::Channels(_)) => true,
                Ok(ReconnectResponse::Connection(_)) | Err(ClientError::Decode(_)) => false,
                Err(ClientError::Refused(error)) => error.code != ErrorCode::InvalidParams,
                Err(_) => true,
            };
            if understood || self.form == ReconnectForm::Connection {
                return answered;
            }
            self.form = ReconnectForm::Connection;
        }
    }

    fn reconnect_request(&self) -> ReconnectRequest {
        let client_id = self.hello.client_id.clone();
        match self.form {
            ReconnectForm::Connection => ReconnectRequest::Connection(ReconnectParams {
                channel: RootChannel,
                client_id,
                last_seen_server_seq: self.seen,
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

    /// Takes up each channel on its own; those without an outcome are let go.
    fn recover(&mut self, outcomes: Vec<ChannelRecovery>) {
        let mut before = std::mem::take(&mut self.mirror);
        let mut missed = Vec::new();
        let mut channels = Vec::new();
        let mut open = Vec::new();
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
                    open.extend(followed.iter().flat_map(|followed| {
                        let pending = followed.ahead.pending();
                        pending.map(|pending| (recovery.channel.clone(), pending.clone()))
                    }));
                    channels.push(recovery.channel);
                    self.start(recovery.snapshot);
                }
                // Like a channel without an outcome, it is left behind.
                ChannelRecovery::Missing(_) => {}
            }
        }
        // What was put aside of a channel is part of its snapshot, or of the past.
        self.aside.retain(|update| match update {
            Update::Action(envelope) => !channels.contains(&envelope.channel),
            _ => true,
        });
        // Channels follow from each other, so their actions are told in one order.
        missed.sort_by_key(|envelope| envelope.server_seq);
        for envelope in missed {
            let update = self.follow(envelope);
            self.aside.push_back(update);
        }
        // Numbers that the host does not know are in no cursor any more.
        let cursors = self.mirror.values().map(|followed| followed.cursor);
        self.seen = cursors.max().unwrap_or_default();
        if !(before.is_empty() && channels.is_empty()) {
            open.sort_by_key(|(_, pending): &(Uri, Pending)| pending.client_seq.0);
            self.aside.push_back(Update::Caught { channels, open });
        }
    }

    /// What the host has not spoken of after a replay, it has not heard.
    async fn send_again(&mut self) -> Result<(), ClientError> {
        for (channel, pending) in self.open() {
            self.send(&channel, pending.client_seq, pending.action)
                .await?;
        }
        Ok(())
    }

    /// Lets go of all channels. What was open in them is given back.
    fn give_up(&mut self) -> Vec<(Uri, Pending)> {
        let open = self.open();
        self.mirror.clear();
        open
    }

    /// What we did that the host has not spoken of, in the order we did it.
    fn open(&self) -> Vec<(Uri, Pending)> {
        let channels = self.mirror.iter();
        let mut open: Vec<_> = channels
            .flat_map(|(channel, followed)| {
                let pending = followed.ahead.pending();
                pending.map(|pending| (channel.clone(), pending.clone()))
            })
            .collect();
        open.sort_by_key(|(_, pending)| pending.client_seq.0);
        open
    }
}
