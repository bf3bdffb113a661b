//! Coming back when the connection was lost.

use std::time::Duration;

use agenthost_protocol::connection::{ReconnectParams, ReconnectResult};
use agenthost_protocol::uri::{RootChannel, Uri};
use tokio::time::Instant;

use crate::ahead::Pending;
use crate::client::{Client, ClientError, Update};
use crate::transport::{Transport, TransportError};

/// How long to wait before trying again to come back, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl Client {
    /// Comes back after the connection was lost, and catches up: what was
    /// missed is put aside as updates.
    pub(crate) async fn resume(&mut self, lost: TransportError) -> Result<(), ClientError> {
        let deadline = Instant::now() + self.hello.patience;
        let mut pause = FIRST_PAUSE;
        loop {
            match self.catch_up().await {
                Ok(()) => return Ok(()),
                Err(ClientError::Transport(_)) if Instant::now() + pause < deadline => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(ClientError::Transport(_)) => return Err(lost.into()),
                Err(other) => return Err(other),
            }
        }
    }

    async fn catch_up(&mut self) -> Result<(), ClientError> {
        self.transport = Transport::connect(&self.address).await?;
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
