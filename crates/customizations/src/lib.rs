//! What makes agents behave as they should here: plugins, watched directories,
//! servers of tools.
//!
//! **What it does.** It reads packages and folders, tells the host what
//! clients may see of them, finds out what a turn needs of them, and runs
//! servers of tools (MCP) for the agents of sessions.
//!
//! **What it never does.** It decides nothing about who may do what and keeps
//! no state of the protocol. What a hook or a server runs is told to no client
//! (CUS-19), only to the person who has to allow it ([`inspect()`]). Nothing here
//! runs code of a package that no person allowed to.
//!
//! **Where to start.** [`CustomizationDriver`] for what the host wants to know,
//! [`inspect()`] for what a person does, [`parse`] for what files mean, `mcp` for
//! servers of tools.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;

mod inspect;
mod syntax;
mod turn_view;
mod watcher;

mod driver;
pub mod fetch;
mod hooks;
pub mod package;
pub mod parse;
mod sources;

pub use driver::{CustomizationDriver, ServerSpecError, UntrustedCode};
pub use inspect::{
    CODE_META_KEY, CodeEntry, CodeTrust, ContainerCode, InspectedContainer,
    apply_stored_enablement, inspect,
};
pub use sources::{
    ConfiguredPlugin, CustomizationSettings, code_key, configured_customizations,
    is_current_code_key,
};
pub use syntax::placeholders::UnsetPlaceholder;
