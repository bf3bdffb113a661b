//! Coming back when the connection was lost.

use std::time::Duration;

use agenthost_protocol::action::ReceivedAction;
use agenthost_protocol::connection::{DispatchActionParams, ReconnectParams, ReconnectResult};
use agenthost_protocol::rpc::encode;
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
        let mut open: Vec<_> = self
            .mirror
            .iter()
            .flat_map(|(channel, ahead)| {
                let pending = ahead.pending();
                pending.map(|pending| (channel.clone(), pending.clone()))
            })
            .collect();
        open.sort_by_key(|(_, pending)| pending.client_seq.0);
        for (channel, pending) in open {
            let params = DispatchActionParams {
                channel,
                client_seq: pending.client_seq,
                action: ReceivedAction::Valid(pending.action),
            };
            let text = encode::notification("dispatchAction", &params)?;
            self.transport.send(text).await?;
        }
        Ok(())
    }

    /// Lets go of all channels. What was open in them is given back.
    fn give_up(&mut self) -> Vec<(Uri, Pending)> {
        let mirror = std::mem::take(&mut self.mirror);
        let open = mirror.into_iter().flat_map(|(channel, ahead)| {
            let pending: Vec<_> = ahead.pending().cloned().collect();
            pending
                .into_iter()
                .map(move |pending| (channel.clone(), pending))
        });
        open.collect()
    }
}
