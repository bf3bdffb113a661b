//! Reads and applies customizations: plugins, watched directories and the MCP servers that
//! they declare.
//!
//! **What it does.** It reads packages and folders, reports the customizations to the host,
//! which publishes them to clients, prepares turns with rules, commands and hook results,
//! and resolves the specs of MCP servers.
//!
//! **What it never does.** It decides no permissions and holds no protocol state. The
//! commands of hooks and MCP servers are never sent to a client (CUS-19); only the user who
//! approves them sees them ([`inspect()`]). Code of a package never runs without the
//! approval of a user.
//!
//! **Where to start.** [`CustomizationDriver`] for the commands and events of the host,
//! [`inspect()`] for the command line, [`parse`] for file formats. The `agenthost-mcp`
//! crate runs the MCP servers.

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
