//! Reconnects after the connection was lost: attempts with backoff until a deadline.

use std::time::Duration;

use tokio::time::Instant;

use crate::client::{Client, ClientError};
use crate::engine::EnginePhase;
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
}

impl Client {
    /// Records that the connection is lost and sets the deadline for reconnecting.
    pub(crate) fn begin_outage(&mut self, error: TransportError) {
        self.engine.close();
        self.outage = Some(Outage {
            error,
            deadline: Instant::now() + self.reconnect_timeout,
            backoff: INITIAL_BACKOFF,
        });
    }

    /// Reconnects if the connection is lost; the engine reports the missed actions as updates.
    /// Retries with backoff until the deadline; then returns the error that ended the
    /// connection.
    pub(crate) async fn ensure_connected(&mut self) -> Result<(), ClientError> {
        while self.outage.is_some() {
            let tried = self.resume().await;
            let Some(outage) = &mut self.outage else {
                break;
            };
            match tried {
                Ok(()) => self.outage = None,
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

    /// Opens a transport and resumes the subscriptions, with a second transport if the host
    /// does not know the form of the request.
    async fn resume(&mut self) -> Result<(), ClientError> {
        loop {
            self.transport = HostTransport::connect(&self.address).await?;
            self.engine.open()?;
            self.exchange_until_live().await?;
            if self.engine.phase() == EnginePhase::Live {
                return Ok(self.send_messages().await?);
            }
        }
    }
}
