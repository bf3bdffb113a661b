//! The chat channel: a conversation with an agent, and the largest part of the protocol.
//!
//! Start with [`ChatState`]. [`ChatAction`] lists the actions that change it, and
//! `ChatState::reduce` applies them.

mod actions;
mod attachment;
mod background;
mod commands;
mod input;
mod message;
mod parts;
mod reducer;
mod response;
mod state;
mod tool_call;
mod tool_result;
mod turn;

pub use actions::*;
pub use attachment::*;
pub use background::*;
pub use commands::*;
pub use input::*;
pub use message::*;
pub use parts::*;
pub use response::*;
pub use state::*;
pub use tool_call::*;
pub use tool_result::*;
pub use turn::*;
