//! JSON-RPC 2.0 messages: requests, responses, notifications and errors.
//!
//! [`Message::decode`] parses a message. [`ClientRequest`], [`ClientNotification`],
//! [`HostNotification`] and [`HostRequest`] map method names to typed parameters. [`encode`]
//! writes messages.

pub mod encode;
mod error;
mod id;
mod message;
mod methods;

pub use error::{
    AuthRequiredData, ErrorCode, PermissionDeniedData, RpcError, UnsupportedVersionData,
};
pub use id::RequestId;
pub use message::{Call, InvalidMessage, Message, Response};
pub use methods::{
    CallError, ClientNotification, ClientRequest, Command, Empty, HostNotification, HostRequest,
    Null,
};
