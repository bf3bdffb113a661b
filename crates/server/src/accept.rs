//! Letting TCP connections in, up to the request that opens a WebSocket.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long a peer may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connections beyond those of clients: for whoever has not said yet what it
/// wants, and for `/healthz`. More wait to be accepted.
const STRANGERS: usize = 64;

/// Accepts connections until the host stops. One that says nothing is gone
/// before long, and keeps nobody else out.
pub(crate) async fn accept<L: Listener>(
    mut listener: L,
    router: Router,
    clients: usize,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(clients + STRANGERS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await.0)
        };
        let (place, stream) = tokio::select! {
            next = next => next,
            () = stop.cancelled() => break,
        };
        let service = TowerToHyperService::new(router.clone());
        let stop = stop.clone();
        connections.spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades();
            let mut connection = std::pin::pin!(connection);
            let served = tokio::select! {
                served = &mut connection => served,
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = served {
                tracing::debug!(%error, "a connection ended before it opened a WebSocket");
            }
            drop(place);
        });
    }
    // Whoever still has not said what it wants never will.
    let all = async { while connections.join_next().await.is_some() {} };
    drop(tokio::time::timeout(Duration::from_secs(1), all).await);
}
