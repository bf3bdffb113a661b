//! The Agent Host Protocol 1.0.0: types, strict decoding, pure reducers.
//!
//! **What it does.** Every message, state and action of the protocol is a Rust
//! type here. Text is decoded strictly, with errors that name the place;
//! reducers change state in place and say what happened. A folder per channel:
//! `state` is what a subscriber sees, `actions` is what can happen, `reducer`
//! is what it does, `commands` is what can be asked for.
//!
//! **What it never does.** No clock, randomness, file, environment, socket or
//! async runtime; no decision about who may do what. It knows one version:
//! older ones are translated elsewhere.
//!
//! **Where to start.** [`chat::ChatState`] and [`chat::ChatAction`] are the
//! heart; [`action::Action`] is all actions with their tables;
//! [`channel::ChannelState`] is all states; [`rpc::ClientRequest`] is all
//! requests; [`wire`] is how text becomes types.
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

#![deny(clippy::wildcard_enum_match_arm)]

// The derive names this crate, also from inside.
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
pub mod state_view;
pub mod terminal;
pub mod text;
pub mod timestamp;
pub mod uri;
pub mod version;
pub mod wire;
