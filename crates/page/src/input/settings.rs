//! Commands on the settings of the host.

use serde::Deserialize;
use serde_json::Value;

/// A command on the settings of the host; the page names it `settings.VARIANT`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SettingsCommand {
    /// The panel was opened or closed.
    Watch { open: bool },
    /// Changes the value of a setting.
    Set { key: String, value: Value },
    /// Changes a setting to its default.
    Reset { key: String },
    /// Adds an item to a list.
    Add { key: String, item: Value },
    /// Removes an item from a list.
    Remove { key: String, item: Value },
    /// Adds an entry to a map, or changes it.
    SetEntry {
        key: String,
        name: String,
        value: Value,
    },
    /// Removes an entry from a map.
    RemoveEntry { key: String, name: String },
}
