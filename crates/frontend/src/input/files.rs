//! Commands on files.

use agenthost_protocol::wire::Input;
use agenthost_view::file_content::FileLineEnding;

/// A command on files; the page names it `file.VARIANT`.
#[derive(Debug, Input)]
pub enum FileCommand {
    /// Shows the panel: reads the folders and follows their changes.
    Show {
        /// Shows one folder at a time.
        flat: bool,
    },
    Hide {},
    Expand {
        uri: String,
    },
    Collapse {
        uri: String,
    },
    /// Shows a folder alone; without one, the working directories.
    Enter {
        uri: Option<String>,
    },
    SetHidden {
        shown: bool,
    },
    Refresh {},
    Open {
        uri: String,
    },
    Close {},
    /// Reads lines of the open file.
    Lines {
        start: usize,
        end: usize,
    },
    /// Returns the text of the open file, for an editor.
    Text {},
    /// Writes a text, if the file still has this `etag`.
    Save {
        uri: String,
        text: String,
        etag: Option<String>,
        /// Fails if the file exists.
        is_new: bool,
        line_ending: FileLineEnding,
    },
    /// Reads the bytes of any file.
    Bytes {
        uri: String,
    },
    /// Creates a file, with content in base64.
    Create {
        folder: String,
        name: String,
        data: String,
        replace: bool,
    },
    CreateFolder {
        folder: String,
        name: String,
    },
    Rename {
        uri: String,
        name: String,
    },
    /// Deletes a file, or a folder with everything in it.
    Delete {
        uri: String,
    },
    /// Asks the user of the host for access, and waits for the answer.
    RequestAccess {
        uri: String,
    },
}
