//! The user's editor, which has the terminal while it runs.

use std::io::Write;

use tempfile::NamedTempFile;
use tokio::process::{Child, Command};

/// A running editor and the file that it edits.
pub(super) struct EditorRun {
    file: NamedTempFile,
    child: Child,
}

impl EditorRun {
    /// Starts an editor with a text. `command` is a line of the shell, as in `$EDITOR`.
    pub(super) fn start(command: &str, text: &str) -> std::io::Result<Self> {
        let mut file = tempfile::Builder::new()
            .prefix("agenthost-message-")
            .suffix(".md")
            .tempfile()?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        let child = Command::new("/bin/sh")
            .args(["-c", &format!("{command} \"$1\""), "sh"])
            .arg(file.path())
            .kill_on_drop(true)
            .spawn()?;
        Ok(EditorRun { file, child })
    }

    /// Waits for the end of the editor. Returns the text, or `None` if the editor failed: then the
    /// user does not want it. This method is cancel safe.
    pub(super) async fn wait(&mut self) -> std::io::Result<Option<String>> {
        if !self.child.wait().await?.success() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(self.file.path())?;
        Ok(Some(text.trim_end_matches('\n').to_owned()))
    }
}
