//! Encodes JSON-RPC requests, responses and notifications.

use serde::Serialize;

use super::error::RpcError;
use super::id::RequestId;

/// The error of a value that can't be encoded. Wire types never fail; other values can.
pub type EncodeError = serde_json::Error;

#[derive(Serialize)]
struct CallObject<'a, P: Serialize> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RequestId>,
    method: &'a str,
    params: &'a P,
}

#[derive(Serialize)]
struct ResultObject<'a, R: Serialize> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: &'a R,
}

#[derive(Serialize)]
struct FailureObject<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    error: EncodedError<'a>,
}

#[derive(Serialize)]
struct EncodedError<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a crate::wire::Json>,
}

/// Encodes a request, which expects a response.
pub fn request(
    id: &RequestId,
    method: &str,
    params: &impl Serialize,
) -> Result<String, EncodeError> {
    serde_json::to_string(&CallObject {
        jsonrpc: "2.0",
        id: Some(id),
        method,
        params,
    })
}

/// Encodes a notification, which expects no response.
pub fn notification(method: &str, params: &impl Serialize) -> Result<String, EncodeError> {
    serde_json::to_string(&CallObject {
        jsonrpc: "2.0",
        id: None,
        method,
        params,
    })
}

/// Encodes a notification with parameters that are already JSON text.
pub fn raw_notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// Encodes the response to a successful request. The result of a command without one is
/// [`super::Null`], which is encoded explicitly (RPC-3).
pub fn success(id: &RequestId, result: &impl Serialize) -> Result<String, EncodeError> {
    serde_json::to_string(&ResultObject {
        jsonrpc: "2.0",
        id,
        result,
    })
}

/// Encodes the response to a failed request.
pub fn failure(id: &RequestId, error: &RpcError) -> Result<String, EncodeError> {
    serde_json::to_string(&FailureObject {
        jsonrpc: "2.0",
        id,
        error: EncodedError {
            code: error.code.number(),
            message: &error.message,
            data: error.data.as_ref(),
        },
    })
}
