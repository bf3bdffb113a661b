//! Errors that answer a request.

use crate::common::ProtectedResource;
use crate::resource::ResourceRequestParams;
use crate::wire;
use crate::wire::{Json, Wire};

/// What kind of error it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The text is not JSON.
    ParseError,
    /// The JSON is not a request.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// The parameters are wrong.
    InvalidParams,
    /// Something broke that should not have.
    InternalError,
    /// There is no such session or chat.
    SessionNotFound,
    /// There is no such agent.
    ProviderNotFound,
    /// The session is there already.
    SessionAlreadyExists,
    /// A turn is running.
    TurnInProgress,
    /// No common version; says which are spoken.
    UnsupportedProtocolVersion,
    /// A token is needed; says for what.
    AuthRequired,
    /// There is no such file, folder or URI.
    NotFound,
    /// It may not be accessed; may say what to ask for.
    PermissionDenied,
    /// It is there already.
    AlreadyExists,
    /// It has changed in the meantime.
    Conflict,
    /// A code of a newer version, or of another protocol.
    Other(i64),
}

impl ErrorCode {
    /// The number on the wire.
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

    /// The kind that a number stands for.
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

/// An error that answers a request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message} ({})", code.number())]
pub struct RpcError {
    /// What kind of error.
    pub code: ErrorCode,
    /// A sentence for people, without paths, tokens or stack traces (ERR-6).
    pub message: String,
    /// What programs may want to know. Three codes have a shape for it; make
    /// them with their own constructors.
    pub data: Option<Json>,
}

/// `data` of [`ErrorCode::UnsupportedProtocolVersion`].
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct UnsupportedVersionData {
    /// Versions or ranges that the host speaks, such as `^1.0.0`.
    pub supported_versions: Vec<String>,
}

/// `data` of [`ErrorCode::AuthRequired`].
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AuthRequiredData {
    /// What tokens are needed for.
    pub resources: Vec<ProtectedResource>,
}

/// `data` of [`ErrorCode::PermissionDenied`].
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct PermissionDeniedData {
    /// The access to ask for; absent if asking would not help.
    pub request: Option<ResourceRequestParams>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        RpcError {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// No common version. The data is required (ERR-2).
    pub fn unsupported_version(message: impl Into<String>, data: &UnsupportedVersionData) -> Self {
        Self::new(ErrorCode::UnsupportedProtocolVersion, message).with_data(data)
    }

    /// A token is needed. The data is required (ERR-2).
    pub fn auth_required(message: impl Into<String>, data: &AuthRequiredData) -> Self {
        Self::new(ErrorCode::AuthRequired, message).with_data(data)
    }

    /// Access denied, perhaps with a way to get it (RES-13).
    pub fn permission_denied(message: impl Into<String>, data: &PermissionDeniedData) -> Self {
        Self::new(ErrorCode::PermissionDenied, message).with_data(data)
    }

    fn with_data(mut self, data: &impl Wire) -> Self {
        self.data = Some(wire::to_json(data));
        self
    }
}
