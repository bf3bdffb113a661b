//! Signs devices in with a one-time code, and out.

use agenthost_core::Input;
use agenthost_stdx::result::IgnoreResult;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::auth::UpgradeRejection;
use crate::auth::device_registry::{PairingError, device_identity};
use crate::connection::message::LoopEvent;
use crate::page::{HttpState, now_ms};

/// Limit on the body of a request.
const MAX_BODY_BYTES: usize = 4 * 1024;

/// The body of `POST /pair`.
#[derive(Deserialize)]
struct PairingBody {
    /// The code that the user typed, or that was in the link.
    code: String,
    /// A name for the device, used if the user has not chosen one with the code.
    name: Option<String>,
}

/// Handles `POST /pair`: exchanges a one-time code for the cookie of a new device. The new cookie
/// replaces that of a device which the browser was before, so that device is removed.
pub(crate) async fn pair(
    State(state): State<HttpState>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    if let Err(rejection) = state.guard.check_page_request(&headers) {
        return state.refuse(rejection);
    }
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY_BYTES).await else {
        let reason = "the request has at most 4096 bytes\n";
        return (StatusCode::PAYLOAD_TOO_LARGE, reason).into_response();
    };
    let Ok(body) = serde_json::from_slice::<PairingBody>(&body) else {
        let reason = "expected a JSON object with `code` and optionally `name`\n";
        return (StatusCode::BAD_REQUEST, reason).into_response();
    };
    let before = state.find_device(&headers).await;
    let before = before.map(|(_, found)| found.device.id);
    let devices = state.devices.clone();
    let paired = tokio::task::spawn_blocking(move || {
        let name = body.name.as_deref();
        devices.pair(&body.code, name, before.as_deref(), now_ms())
    });
    match paired.await {
        Ok(Ok((device, secret))) => {
            let scope = device.scope.name();
            tracing::info!(device = device.id, scope, "paired a device");
            let paired = Input::DevicePaired(device_identity(&device));
            // A host that has stopped records nothing.
            let sent = state.context.events.send(LoopEvent::Input(paired)).await;
            sent.ignore_closed();
            let mut response = StatusCode::NO_CONTENT.into_response();
            set_cookie(
                &mut response,
                &state.guard.cookie_for(&headers).set(&secret),
            );
            response
        }
        Ok(Err(error)) => refuse_pairing(&state, &error),
        Err(error) => {
            tracing::error!(%error, "the pairing of a device panicked");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Handles `POST /unpair`: removes the device that sent the request.
pub(crate) async fn unpair(State(state): State<HttpState>, headers: HeaderMap) -> Response {
    if let Err(rejection) = state.guard.check_page_request(&headers) {
        return state.refuse(rejection);
    }
    let Some((given, found)) = state.find_device(&headers).await else {
        return state.refuse(UpgradeRejection::InvalidToken);
    };
    let devices = state.devices.clone();
    let revoked = tokio::task::spawn_blocking(move || devices.revoke(&found.device.id));
    if let Ok(Ok(_)) = revoked.await {
        let mut response = StatusCode::NO_CONTENT.into_response();
        set_cookie(&mut response, &given.cookie.remove());
        response
    } else {
        tracing::error!("failed to remove a device");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}

/// Handles `GET /device`: describes the device that sent the request. A browser does not tell
/// a page why a WebSocket was refused, so the page asks here if it is still signed in.
pub(crate) async fn describe_device(
    State(state): State<HttpState>,
    headers: HeaderMap,
) -> Response {
    if let Err(rejection) = state.guard.check_request(&headers) {
        return state.refuse(rejection);
    }
    let Some((_, found)) = state.find_device(&headers).await else {
        return state.refuse(UpgradeRejection::InvalidToken);
    };
    let device = serde_json::json!({
        "id": found.device.id,
        "name": found.device.name,
        "scope": found.device.scope.name(),
    });
    let mut response = Response::new(Body::from(device.to_string()));
    let fields = response.headers_mut();
    let json = HeaderValue::from_static("application/json");
    fields.insert(header::CONTENT_TYPE, json);
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl HttpState {
    /// Sets the cookie of a device again, if it is a day old.
    pub(crate) async fn renew_cookie(&self, headers: &HeaderMap, response: &mut Response) {
        let Some((given, found)) = self.find_device(headers).await else {
            return;
        };
        if !found.needs_renewal {
            return;
        }
        let devices = self.devices.clone();
        let id = found.device.id;
        let renewed = tokio::task::spawn_blocking(move || devices.renew(&id, now_ms()));
        if let Ok(Ok(())) = renewed.await {
            set_cookie(response, &given.cookie.set(&given.secret));
        } else {
            tracing::warn!("failed to renew the cookie of a device");
        }
    }
}

fn refuse_pairing(state: &HttpState, error: &PairingError) -> Response {
    let mut response = pairing_response(error);
    if let Some(suppressed) = state.log.permit() {
        tracing::info!(%error, suppressed, "refused to pair a device");
    }
    state.report_refusal(&error.to_string(), &mut response);
    response
}

fn pairing_response(error: &PairingError) -> Response {
    match error {
        PairingError::WrongCode => (StatusCode::FORBIDDEN, format!("{error}\n")).into_response(),
        PairingError::Locked { retry_after_ms } => {
            let seconds = HeaderValue::from(retry_after_ms.div_ceil(1_000));
            let headers = [(header::RETRY_AFTER, seconds)];
            let status = StatusCode::TOO_MANY_REQUESTS;
            (status, headers, format!("{error}\n")).into_response()
        }
        PairingError::Storage(_) => {
            let reason = "the host could not store the device; see its log\n";
            (StatusCode::INTERNAL_SERVER_ERROR, reason).into_response()
        }
    }
}

/// Adds a cookie to a response, which must not be stored then.
fn set_cookie(response: &mut Response, cookie: &str) {
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        let fields = response.headers_mut();
        fields.insert(header::SET_COOKIE, cookie);
        fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}
