//! Commands on files of the host.

use serde::Deserialize;

/// A command on files of the host; the page names it `file.VARIANT`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "fields are named like those of the protocol")]
pub enum FileCommand {}
