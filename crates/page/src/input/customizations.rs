//! Commands on customizations and MCP servers.

use serde::Deserialize;

/// A command on customizations and MCP servers; the page names it `customization.VARIANT`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "fields are named like those of the protocol")]
pub enum CustomizationCommand {}
