//! Types, strict decoding and pure reducers of the Agent Host Protocol 1.0.0.
//!
//! **This crate** has a Rust type for every message, state and action of the protocol. It
//! decodes text strictly, with errors that name the location of the problem. Reducers change a
//! state in place and return an outcome. There is one folder per channel: `state` has the state
//! that subscribers receive, `actions` the changes, `reducer` their effects, and `commands` the
//! requests and responses.
//!
//! **It never** uses a clock, randomness, files, the environment, sockets or an async runtime,
//! and it does not decide permissions. It implements one protocol version; the crate
//! `agenthost-versions` translates legacy versions.
//!
//! **Start reading** at [`chat::ChatState`] and [`chat::ChatAction`], the largest channel.
//! [`action::Action`] has all actions with their tables, [`channel::ChannelState`] all states,
//! [`rpc::ClientRequest`] all requests of clients; [`wire`] decodes text into these types.
//!
//! ```
//! use agenthost_protocol::action::Action;
//! use agenthost_protocol::channel::ChannelState;
//! use agenthost_protocol::outcome::Outcome;
//! use agenthost_protocol::wire;
//!
//! let mut chat: ChannelState = wire::from_str(
//!     r#"{"resource": "ahp-chat:/1", "title": "", "status": 1,
//!         "modifiedAt": "2026-07-09T20:00:00.000Z", "turns": []}"#,
//! )?;
//! let action: Action = wire::from_str(
//!     r#"{"type": "chat/turnStarted", "turnId": "t1",
//!         "startedAt": "2026-07-09T20:00:00.000Z",
//!         "message": {"text": "hello", "origin": {"kind": "user"}}}"#,
//! )?;
//! assert_eq!(chat.reduce(&action), Outcome::Applied);
//!
//! let wrong = wire::from_str::<Action>(
//!     r#"{"type": "chat/delta", "turnId": "t1", "partId": "p1", "content": 42}"#,
//! );
//! assert_eq!(
//!     wrong.unwrap_err().to_string(),
//!     "content: expected a string, found 42",
//! );
//! # Ok::<(), wire::FromStrError>(())
//! ```

#![warn(missing_docs)]
#![deny(clippy::wildcard_enum_match_arm)]

// The derive macro refers to this crate by name, also from inside of it.
extern crate self as agenthost_protocol;

pub mod action;
pub mod annotations;
pub mod automation;
pub mod canvas;
pub mod changeset;
pub mod channel;
pub mod chat;
pub mod common;
pub mod connection;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
pub mod ids;
pub mod label;
pub mod list;
pub mod number;
pub mod outcome;
pub mod resource;
pub mod root;
pub mod rpc;
pub mod session;
pub mod sorted;
pub mod state_view;
pub mod terminal;
pub mod text;
pub mod timestamp;
pub mod uri;
pub mod version;
pub mod wire;
