//! Errors in the response to a request.

use serde::{Deserialize, Serialize};

use crate::common::ProtectedResource;
use crate::resource::ResourceRequestParams;
use crate::wire;
use crate::wire::{Json, Wire};

/// The kind of an error response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "i64", into = "i64")]
pub enum ErrorCode {
    /// The text is not valid JSON.
    ParseError,
    /// The JSON is not a valid request.
    InvalidRequest,
    /// The method is unknown.
    MethodNotFound,
    /// The parameters are invalid.
    InvalidParams,
    /// An unexpected internal error occurred.
    InternalError,
    /// The session or chat does not exist.
    SessionNotFound,
    /// The agent does not exist.
    ProviderNotFound,
    /// A session with this URI already exists.
    SessionAlreadyExists,
    /// A turn is already in progress.
    TurnInProgress,
    /// No offered version is supported; the data lists the supported ones.
    UnsupportedProtocolVersion,
    /// A token is required; the data lists the resources.
    AuthRequired,
    /// The file, folder or other resource does not exist.
    NotFound,
    /// Access is denied; the data can contain an access request.
    PermissionDenied,
    /// The resource already exists.
    AlreadyExists,
    /// The resource has changed in the meantime.
    Conflict,
    /// A code of a later protocol version, or of another protocol.
    Other(i64),
}

impl ErrorCode {
    /// Returns the number on the wire.
    pub fn number(self) -> i64 {
        match self {
            ErrorCode::ParseError => -32700,
            ErrorCode::InvalidRequest => -32600,
            ErrorCode::MethodNotFound => -32601,
            ErrorCode::InvalidParams => -32602,
            ErrorCode::InternalError => -32603,
            ErrorCode::SessionNotFound => -32001,
            ErrorCode::ProviderNotFound => -32002,
            ErrorCode::SessionAlreadyExists => -32003,
            ErrorCode::TurnInProgress => -32004,
            ErrorCode::UnsupportedProtocolVersion => -32005,
            ErrorCode::AuthRequired => -32007,
            ErrorCode::NotFound => -32008,
            ErrorCode::PermissionDenied => -32009,
            ErrorCode::AlreadyExists => -32010,
            ErrorCode::Conflict => -32011,
            ErrorCode::Other(number) => number,
        }
    }

    /// Returns the error code for a number on the wire.
    pub fn from_number(number: i64) -> Self {
        match number {
            -32700 => ErrorCode::ParseError,
            -32600 => ErrorCode::InvalidRequest,
            -32601 => ErrorCode::MethodNotFound,
            -32602 => ErrorCode::InvalidParams,
            -32603 => ErrorCode::InternalError,
            -32001 => ErrorCode::SessionNotFound,
            -32002 => ErrorCode::ProviderNotFound,
            -32003 => ErrorCode::SessionAlreadyExists,
            -32004 => ErrorCode::TurnInProgress,
            -32005 => ErrorCode::UnsupportedProtocolVersion,
            -32007 => ErrorCode::AuthRequired,
            -32008 => ErrorCode::NotFound,
            -32009 => ErrorCode::PermissionDenied,
            -32010 => ErrorCode::AlreadyExists,
            -32011 => ErrorCode::Conflict,
            other => ErrorCode::Other(other),
        }
    }
}

impl From<i64> for ErrorCode {
    fn from(number: i64) -> Self {
        ErrorCode::from_number(number)
    }
}

impl From<ErrorCode> for i64 {
    fn from(code: ErrorCode) -> Self {
        code.number()
    }
}

/// The error in a response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({})", code.number())]
pub struct RpcError {
    /// Kind of the error.
    pub code: ErrorCode,
    /// Human-readable message, without paths, tokens or stack traces (ERR-6).
    pub message: String,
    /// Machine-readable details. Three codes have a defined type; use their constructors.
    pub data: Option<Json>,
}

/// The `data` of [`ErrorCode::UnsupportedProtocolVersion`].
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct UnsupportedVersionData {
    /// Versions or ranges that the host supports, such as `^1.0.0`.
    pub supported_versions: Vec<String>,
}

/// The `data` of [`ErrorCode::AuthRequired`].
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AuthRequiredData {
    /// Resources that need a token.
    pub resources: Vec<ProtectedResource>,
}

/// The `data` of [`ErrorCode::PermissionDenied`].
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct PermissionDeniedData {
    /// Parameters of a `resourceRequest` that can grant access; absent if access can't be
    /// requested.
    pub request: Option<ResourceRequestParams>,
}

impl RpcError {
    /// Creates an error without data.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        RpcError {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Creates the error for an unsupported version. The data is required (ERR-2).
    pub fn unsupported_version(message: impl Into<String>, data: &UnsupportedVersionData) -> Self {
        Self::new(ErrorCode::UnsupportedProtocolVersion, message).with_data(data)
    }

    /// Creates the error for a missing token. The data is required (ERR-2).
    pub fn auth_required(message: impl Into<String>, data: &AuthRequiredData) -> Self {
        Self::new(ErrorCode::AuthRequired, message).with_data(data)
    }

    /// Creates the error for denied access, optionally with a request that can grant it
    /// (RES-13).
    pub fn permission_denied(message: impl Into<String>, data: &PermissionDeniedData) -> Self {
        Self::new(ErrorCode::PermissionDenied, message).with_data(data)
    }

    fn with_data(mut self, data: &impl Wire) -> Self {
        self.data = Some(wire::to_json(data));
        self
    }
}
