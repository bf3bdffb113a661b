//! Writing messages.

use serde::Serialize;

use super::error::RpcError;
use super::id::RequestId;

/// A value could not be written. Wire types always can; other values may not.
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

/// A message that wants an answer.
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

/// A message that wants none.
pub fn notification(method: &str, params: &impl Serialize) -> Result<String, EncodeError> {
    serde_json::to_string(&CallObject {
        jsonrpc: "2.0",
        id: None,
        method,
        params,
    })
}

/// A message that wants no answer, with parameters that are encoded already.
pub fn raw_notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// The answer to a request that went well. The result of a command without
/// one is [`super::Null`], and it is written (RPC-3).
pub fn success(id: &RequestId, result: &impl Serialize) -> Result<String, EncodeError> {
    serde_json::to_string(&ResultObject {
        jsonrpc: "2.0",
        id,
        result,
    })
}

/// The answer to a request that did not.
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
