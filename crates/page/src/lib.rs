//! The page that the host serves.
//!
//! **What it does.** [`PageCore`] is the client behind the page, as a state machine: it takes
//! messages of the host and commands of the user, and returns messages to send and patches of what
//! the page shows. It runs as WebAssembly in a worker of the page. [`ASSETS`] has the built
//! files of the page, for the host to serve.
//!
//! **What it must never do.** The core does no I/O and reads no clock. It uses the protocol
//! like any other client; the host has no interface that is only for the page.
//!
//! **Where to start.** [`PageCore::step`]; `web/src/worker.ts` is its caller.

#[cfg(target_arch = "wasm32")]
mod abi;
#[cfg(not(target_arch = "wasm32"))]
mod assets;
#[cfg(not(target_arch = "wasm32"))]
mod content_type;
mod core;
mod effect;
mod input;

#[cfg(not(target_arch = "wasm32"))]
pub use assets::{ASSETS, PageFile};
#[cfg(not(target_arch = "wasm32"))]
pub use content_type::content_type;
pub use core::PageCore;
pub use effect::{PageEffect, SlicePatch};
pub use input::{PageCommand, PageInput, TimedInput};
