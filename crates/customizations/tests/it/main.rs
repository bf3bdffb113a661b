//! Tests of customizations.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod client_plugins;
mod containers;
mod fetch;
mod generated;
mod hooks;
mod host;
mod many_packages;
mod parsing;
mod render;
mod special_files;
mod tool_hooks;
mod trust;
mod turns;
