//! Coming back when the connection was lost.

use std::time::Duration;

use agenthost_protocol::connection::{ReconnectParams, ReconnectResult};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::uri::{RootChannel, Uri};
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
        self.transport = Transport::connect(&self.address).await?;
        self.answer = None;
        let subscriptions: Vec<_> = self.mirror.keys().cloned().collect();
        let reconnect = ReconnectParams {
            channel: RootChannel,
            client_id: self.hello.client_id.clone(),
            last_seen_server_seq: self.seen,
            subscriptions: subscriptions.clone(),
            meta: None,
        };
        let open;
        match self.ask(reconnect).await {
            Ok(ReconnectResult::Replay(replay)) => {
                for envelope in replay.actions {
                    let update = self.follow(envelope);
                    self.aside.push_back(update);
                }
                for gone in replay.missing {
                    self.mirror.remove(&gone);
                }
                return self.send_again().await;
            }
            Ok(ReconnectResult::Snapshot(result)) => {
                open = self.give_up();
                // The host may not know the numbers that were seen so far.
                self.seen = ServerSeq(0);
                for snapshot in result.snapshots {
                    self.start(snapshot);
                }
            }
            // The host does not know us any more: start over (HSK-22).
            Err(ClientError::Refused(_)) => {
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
            .flat_map(|(channel, ahead)| {
                let pending = ahead.pending();
                pending.map(|pending| (channel.clone(), pending.clone()))
            })
            .collect();
        open.sort_by_key(|(_, pending)| pending.client_seq.0);
        open
    }
}
