//! The connection to the host, opened again whenever the frontend asks for it.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use agenthost_client::{HostAddress, HostTransport, TransportError};
use futures_util::FutureExt;
use tokio::time::timeout;

/// A connection that is being opened.
type ConnectFuture = Pin<Box<dyn Future<Output = Result<HostTransport, TransportError>>>>;

/// The connection to the host.
pub(super) struct HostLink {
    address: HostAddress,
    state: LinkPhase,
    /// Messages that were not written yet. The frontend bounds them: it has a limit for
    /// unconfirmed actions, and sends nothing else without a response.
    outgoing: VecDeque<String>,
}

enum LinkPhase {
    Closed,
    Opening(ConnectFuture),
    Open(Box<HostTransport>),
}

/// An event of the connection.
#[derive(Debug)]
pub(super) enum LinkEvent {
    Opened,
    Message(String),
    /// The connection is lost, or could not be opened, for this reason.
    Closed(String),
}

impl HostLink {
    pub(super) fn new(address: HostAddress) -> Self {
        HostLink {
            address,
            state: LinkPhase::Closed,
            outgoing: VecDeque::new(),
        }
    }

    /// Opens a new connection in place of the present one.
    pub(super) fn connect(&mut self) {
        self.outgoing.clear();
        let address = self.address.clone();
        self.state = LinkPhase::Opening(Box::pin(
            async move { HostTransport::connect(&address).await },
        ));
    }

    pub(super) fn close(&mut self) {
        self.state = LinkPhase::Closed;
        self.outgoing.clear();
    }

    pub(super) fn send(&mut self, text: String) {
        if !matches!(self.state, LinkPhase::Closed) {
            self.outgoing.push_back(text);
        }
    }

    /// Writes waiting messages and returns the next event. This method is cancel safe.
    pub(super) async fn next(&mut self) -> LinkEvent {
        let result = match &mut self.state {
            LinkPhase::Closed => std::future::pending().await,
            LinkPhase::Opening(connecting) => match connecting.await {
                Ok(transport) => {
                    self.state = LinkPhase::Open(Box::new(transport));
                    return LinkEvent::Opened;
                }
                Err(error) => Err(error),
            },
            LinkPhase::Open(transport) => exchange(transport, &mut self.outgoing).await,
        };
        match result {
            Ok(text) => LinkEvent::Message(text),
            Err(error) => {
                self.close();
                LinkEvent::Closed(error.to_string())
            }
        }
    }

    /// Writes waiting messages. Returns `false` if the host does not take them in time. Without a
    /// connection there are none.
    pub(super) async fn flush(&mut self, limit: Duration) -> bool {
        match &mut self.state {
            LinkPhase::Open(transport) => {
                let written = timeout(limit, write_all(transport, &mut self.outgoing)).await;
                matches!(written, Ok(Ok(())))
            }
            LinkPhase::Closed | LinkPhase::Opening(_) => true,
        }
    }

    /// Returns the next event if it is there already.
    pub(super) fn try_next(&mut self) -> Option<LinkEvent> {
        self.next().now_or_never()
    }
}

/// Writes all messages, then waits for one. Dropping the future loses nothing.
async fn exchange(
    transport: &mut HostTransport,
    outgoing: &mut VecDeque<String>,
) -> Result<String, TransportError> {
    write_all(transport, outgoing).await?;
    transport.next_message().await
}

async fn write_all(
    transport: &mut HostTransport,
    outgoing: &mut VecDeque<String>,
) -> Result<(), TransportError> {
    while !outgoing.is_empty() {
        transport.ready().await?;
        if let Some(text) = outgoing.pop_front() {
            transport.start_send(text)?;
        }
    }
    transport.flush().await
}
