//! The page that the host serves.
//!
//! **What it does.** Exports the client behind the page, `Frontend` of the crate `frontend`, as
//! WebAssembly to a worker of the page. `ASSETS` has the built files of the page, for the host to
//! serve.
//!
//! **What it must never do.** It has no logic of its own.
//!
//! **Where to start.** `abi.rs`; `web/src/worker.ts` is its caller.

#[cfg(target_arch = "wasm32")]
mod abi;
#[cfg(not(target_arch = "wasm32"))]
mod assets;
#[cfg(not(target_arch = "wasm32"))]
mod content_type;

#[cfg(not(target_arch = "wasm32"))]
pub use assets::{ASSETS, PageFile};
#[cfg(not(target_arch = "wasm32"))]
pub use content_type::content_type;
