//! Encodes JSON-RPC requests, responses and notifications.

use serde::Serialize;

use super::error::RpcError;
use super::id::RequestId;

/// The error of a value that can't be encoded. Wire types never fail; other values can.
pub type EncodeError = serde_json::Error;

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
    let mut message = format!(r#"{{"jsonrpc":"2.0","id":{id}"#);
    push_method(&mut message, method)?;
    push_last(message, params)
}

/// Encodes a notification, which expects no response.
pub fn notification(method: &str, params: &impl Serialize) -> Result<String, EncodeError> {
    let mut message = String::from(r#"{"jsonrpc":"2.0""#);
    push_method(&mut message, method)?;
    push_last(message, params)
}

/// Encodes a notification with parameters that are already JSON text.
pub fn raw_notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// Encodes the response to a successful request. The result of a command without one is
/// [`super::Null`], which is encoded explicitly (RPC-3).
pub fn success(id: &RequestId, result: &impl Serialize) -> Result<String, EncodeError> {
    push_last(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#), result)
}

/// Encodes the response to a failed request.
pub fn failure(id: &RequestId, error: &RpcError) -> Result<String, EncodeError> {
    let error = EncodedError {
        code: error.code.number(),
        message: &error.message,
        data: error.data.as_ref(),
    };
    push_last(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#), &error)
}

fn push_method(message: &mut String, method: &str) -> Result<(), EncodeError> {
    message.push_str(r#","method":"#);
    message.push_str(&serde_json::to_string(method)?);
    message.push_str(r#","params":"#);
    Ok(())
}

/// Adds the last value of a message and its end.
fn push_last(mut message: String, value: &impl Serialize) -> Result<String, EncodeError> {
    message.push_str(&serde_json::to_string(value)?);
    message.push('}');
    Ok(message)
}
