//! Commands on the settings of the host.

use agenthost_protocol::wire::{Input, Json};

/// A command on the settings of the host; the page names it `settings.VARIANT`.
#[derive(Debug, Input)]
pub enum SettingsCommand {
    /// The panel was opened or closed.
    Watch { open: bool },
    /// Changes the value of a setting.
    Set { key: String, value: Json },
    /// Changes a setting to its default.
    Reset { key: String },
    /// Adds an item to a list.
    Add { key: String, item: Json },
    /// Removes an item from a list.
    Remove { key: String, item: Json },
    /// Adds an entry to a map, or changes it.
    SetEntry {
        key: String,
        name: String,
        value: Json,
    },
    /// Removes an entry from a map.
    RemoveEntry { key: String, name: String },
}
