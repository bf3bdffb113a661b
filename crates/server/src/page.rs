//! The web page that the host serves, and the requests with which its devices sign in and out.
//!
//! The files of the page are public, like the program itself. Every state of the host goes over
//! the WebSocket, which needs a credential. The page cannot be loaded under a foreign host name
//! (DNS rebinding), framed, or made to run a script that the host did not send.

pub(crate) mod app_frame;
pub(crate) mod files;
pub(crate) mod headers;
pub(crate) mod refusals;
pub(crate) mod sign_in;

use std::borrow::Cow;
use std::sync::Arc;

use agenthost_net::LogLimiter;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};

use crate::auth::device_registry::{AuthenticatedDevice, DeviceRegistry};
use crate::auth::{CookieSecret, UpgradeGuard, UpgradeRejection};
use crate::connection::ConnectionContext;
use crate::page::files::PageFiles;
use crate::page::refusals::RefusalReport;

/// A file of the page.
#[derive(Debug, Clone)]
pub struct PageAsset {
    /// The path below the address of the host, without a slash at its start. The page itself is
    /// `index.html`; in it, `__NONCE__` is replaced by a nonce for inline styles.
    pub path: Cow<'static, str>,
    /// The media type.
    pub content_type: Cow<'static, str>,
    /// The content.
    pub body: Cow<'static, [u8]>,
    /// The content in gzip format, if it is smaller.
    pub gzip: Option<Cow<'static, [u8]>>,
    /// A value that changes with the content, without quotes.
    pub etag: Cow<'static, str>,
}

/// State that all HTTP requests share.
#[derive(Clone)]
pub(crate) struct HttpState {
    pub(crate) guard: Arc<UpgradeGuard>,
    pub(crate) devices: DeviceRegistry,
    pub(crate) files: Arc<PageFiles>,
    pub(crate) context: ConnectionContext,
    pub(crate) log: Arc<LogLimiter>,
    /// Limits the refused peers in the audit log.
    pub(crate) audit_limiter: Arc<LogLimiter>,
}

impl HttpState {
    /// Returns the response to a request that is refused.
    pub(crate) fn refuse(&self, rejection: UpgradeRejection) -> Response {
        let reason = rejection.reason();
        let mut response = (rejection.status(), reason).into_response();
        if let Some(suppressed) = self.log.permit() {
            tracing::info!(reason = reason.trim(), suppressed, "refused a connection");
        }
        self.report_refusal(reason.trim(), &mut response);
        response
    }

    /// Adds a refusal to its response, for the audit log, unless there were too many.
    pub(crate) fn report_refusal(&self, reason: &str, response: &mut Response) {
        if let Some(suppressed) = self.audit_limiter.permit() {
            let reason = reason.to_owned();
            let report = RefusalReport { reason, suppressed };
            response.extensions_mut().insert(report);
        }
    }

    /// Finds the device of the cookies in a request, with its cookie.
    pub(crate) async fn find_device(
        &self,
        headers: &HeaderMap,
    ) -> Option<(CookieSecret, AuthenticatedDevice)> {
        let secrets = self.guard.cookie_secrets(headers);
        self.find_device_of(secrets).await
    }

    /// Finds the device that one of the secrets belongs to. If the files of the devices cannot
    /// be read, there is none.
    pub(crate) async fn find_device_of(
        &self,
        secrets: Vec<CookieSecret>,
    ) -> Option<(CookieSecret, AuthenticatedDevice)> {
        if secrets.is_empty() {
            return None;
        }
        let devices = self.devices.clone();
        let found = tokio::task::spawn_blocking(move || {
            for given in secrets {
                if let Some(device) = devices.authenticate(&given.secret, now_ms())? {
                    return Ok(Some((given, device)));
                }
            }
            Ok::<_, std::io::Error>(None)
        });
        match found.await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                tracing::warn!(%error, "failed to read the paired devices");
                None
            }
            Err(error) => {
                tracing::error!(%error, "the check of a device panicked");
                None
            }
        }
    }
}

/// Returns the time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
