//! Commands on the settings of the host.

use serde::Deserialize;

/// A command on the settings of the host; the page names it `settings.VARIANT`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "fields are named like those of the protocol")]
pub enum SettingsCommand {}
