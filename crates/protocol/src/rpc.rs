//! JSON-RPC 2.0: the envelope around every message.
//!
//! [`Message::decode`] takes a message apart; [`ClientRequest`],
//! [`ClientNotification`], [`HostNotification`] and [`HostRequest`] are the
//! tables from method names to typed parameters; [`encode`] writes.

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
