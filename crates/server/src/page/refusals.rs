//! Reports refused peers to the host, which records them in the audit log.

use std::net::IpAddr;

use agenthost_core::{Input, RefusedPeer};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tokio::sync::mpsc::error::TrySendError;

use crate::connection::message::LoopEvent;
use crate::page::HttpState;

/// The network address of a peer, an extension of its requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerAddress(pub(crate) IpAddr);

/// The reason of a refusal, an extension of its response. Responses beyond the rate limit have
/// none, so that peers without a credential can't fill the audit log.
#[derive(Debug, Clone)]
pub(crate) struct RefusalReport {
    pub(crate) reason: String,
    /// The number of refusals without a report since the last one.
    pub(crate) suppressed: u64,
}

/// Reports the refusal that a response contains.
pub(crate) async fn report_refusals(
    State(state): State<HttpState>,
    request: Request,
    next: Next,
) -> Response {
    let address = request.extensions().get::<PeerAddress>().copied();
    let mut response = next.run(request).await;
    if let Some(report) = response.extensions_mut().remove::<RefusalReport>() {
        let refused = Input::PeerRefused(RefusedPeer {
            address: address.map(|address| address.0.to_string()),
            reason: report.reason,
            suppressed: report.suppressed,
        });
        // The refusal must not wait for the clients that fill the queue.
        match state.context.events.try_send(LoopEvent::Input(refused)) {
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(_)) => {
                tracing::warn!("a refused connection is missing in the audit log");
            }
        }
    }
    response
}
