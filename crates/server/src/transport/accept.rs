//! Accepts TCP connections and serves them up to the request that opens a WebSocket.
//!
//! Everything that a client without a token can delay happens in the task of its connection:
//! the TLS handshake, the request, the response. The accept loop waits for no client. A
//! connection has a slot until it has presented the token; when there are too many, the oldest
//! one is evicted ([`PendingConnections`]).

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agenthost_net::{LogLimiter, PendingConnections, PendingLimits, PendingSlot};
use axum::Router;
use axum::http::{HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::page::refusals::PeerAddress;
use crate::transport::tls::CertificateStore;

/// Limits on connections that have not presented the token. Clients that all reconnect at once
/// after a restart of the host, perhaps through one proxy, must not evict each other.
const PENDING_LIMITS: PendingLimits = PendingLimits {
    connections: 128,
    per_address: 64,
    timeout: Duration::from_secs(10),
    crowded_timeout: Duration::from_secs(3),
};

/// Limit on concurrent connection tasks. An evicted connection ends when its task runs next, so
/// for a short time there are more tasks than slots.
const MAX_TASKS: usize = 2 * PENDING_LIMITS.connections;

/// Size of the buffer for the head of a request. A browser sends all cookies of `localhost`,
/// from every port.
const MAX_REQUEST_BUFFER_BYTES: usize = 32 * 1024;

/// Limit on the headers of one request.
const MAX_REQUEST_HEADERS: usize = 64;

/// Delay before a retry after `accept` failed, for example for lack of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Additional time for a client to read its response: a file of the page is large for a slow
/// connection. The connection can still be evicted.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Timeout for connections to end when the host stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// The reason for which a connection ended before it opened a WebSocket.
#[derive(Debug, thiserror::Error)]
enum ConnectionError {
    #[error("TLS handshake: {0}")]
    Handshake(io::Error),
    #[error("HTTP request: {0}")]
    Request(#[from] hyper::Error),
    #[error("no valid request within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("evicted for a newer connection")]
    Evicted,
}

/// The TCP listener for clients, with the state that its connections share.
pub(crate) struct ClientListener {
    pub(crate) tcp: TcpListener,
    /// The certificate, if clients have to use TLS.
    pub(crate) certificates: Option<CertificateStore>,
    pub(crate) router: Router,
    pub(crate) stop: CancellationToken,
}

impl ClientListener {
    /// Accepts connections until the host stops.
    pub(crate) async fn run(self) {
        let pending = PendingConnections::new(PENDING_LIMITS);
        let log = Arc::new(LogLimiter::default());
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            if connections.len() >= MAX_TASKS {
                connections.join_next().await;
            }
            let accepted = tokio::select! {
                accepted = self.tcp.accept() => accepted,
                () = self.stop.cancelled() => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    if let Some(suppressed) = log.permit() {
                        tracing::warn!(%error, suppressed, "failed to accept a connection");
                    }
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            };
            let connection = PendingConnection {
                slot: pending.admit(peer.ip()),
                address: PeerAddress(peer.ip()),
                certificates: self.certificates.clone(),
                router: self.router.clone(),
                stop: self.stop.clone(),
                responded: Arc::default(),
            };
            let log = Arc::clone(&log);
            connections.spawn(async move {
                if let Err(error) = connection.serve(stream).await
                    && let Some(suppressed) = log.permit()
                {
                    tracing::debug!(
                        %error,
                        suppressed,
                        "connection closed before the WebSocket handshake completed"
                    );
                }
            });
            // A burst of connections must not evict one whose task has not run yet.
            tokio::task::yield_now().await;
        }
        let all = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, all).await.is_err() {
            tracing::debug!(count = connections.len(), "dropped connections at shutdown");
        }
    }
}

/// A connection that has not presented the token.
struct PendingConnection {
    slot: PendingSlot,
    address: PeerAddress,
    certificates: Option<CertificateStore>,
    router: Router,
    stop: CancellationToken,
    /// Set when the request was answered and the client reads the response.
    responded: Arc<AtomicBool>,
}

impl PendingConnection {
    /// Serves the connection until it becomes a WebSocket, is refused, times out or is evicted.
    async fn serve(self, stream: TcpStream) -> Result<(), ConnectionError> {
        let slot = self.slot.clone();
        let responded = Arc::clone(&self.responded);
        tokio::select! {
            biased;
            () = slot.wait_evicted() => Err(ConnectionError::Evicted),
            served = self.serve_stream(stream) => served,
            () = wait_timeout(&slot, &responded) => {
                Err(ConnectionError::TimedOut(slot.timeout()))
            }
        }
    }

    async fn serve_stream(self, stream: TcpStream) -> Result<(), ConnectionError> {
        // With Nagle's algorithm, a small message would wait for the acknowledgement of the
        // previous one.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "failed to set TCP_NODELAY");
        }
        match &self.certificates {
            None => self.serve_http(stream).await,
            Some(certificates) => {
                let acceptor = certificates.acceptor().await;
                let stream = acceptor.accept(stream).await;
                let stream = stream.map_err(ConnectionError::Handshake)?;
                self.serve_http(stream).await
            }
        }
    }

    /// Answers one request. A connection without a token can't send a second one, so that it
    /// can't keep its slot.
    async fn serve_http<S>(self, stream: S) -> Result<(), ConnectionError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let routes = TowerToHyperService::new(self.router);
        let slot = self.slot;
        let address = self.address;
        let responded = self.responded;
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(slot.clone());
            request.extensions_mut().insert(address);
            let response = routes.call(request);
            let responded = Arc::clone(&responded);
            async move {
                let mut response = response.await?;
                responded.store(true, Ordering::Relaxed);
                if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                    let close = HeaderValue::from_static("close");
                    response.headers_mut().insert(header::CONNECTION, close);
                }
                Ok::<_, Infallible>(response)
            }
        });
        let connection = http1::Builder::new()
            .max_buf_size(MAX_REQUEST_BUFFER_BYTES)
            .max_headers(MAX_REQUEST_HEADERS)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            served = &mut connection => Ok(served?),
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                Ok(connection.await?)
            }
        }
    }
}

/// Waits until the time for the request is over and, if it was answered, that for the response.
async fn wait_timeout(slot: &PendingSlot, responded: &AtomicBool) {
    tokio::time::sleep(slot.timeout()).await;
    if responded.load(Ordering::Relaxed) {
        tokio::time::sleep(RESPONSE_TIMEOUT).await;
    }
}
