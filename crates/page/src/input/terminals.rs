//! Commands on terminals.

use serde::Deserialize;

/// A command on terminals; the page names it `terminal.VARIANT`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "fields are named like those of the protocol")]
pub enum TerminalCommand {}
