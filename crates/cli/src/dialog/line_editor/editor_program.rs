//! Edits a message in the editor of the user.

use std::io::Write;
use std::process::Command;

use anyhow::{Context, bail};

/// The variables with the editor of the user, the most specific first.
const EDITOR_VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];

/// The editor without these variables, which POSIX requires.
const DEFAULT_EDITOR: &str = "vi";

/// Runs the editor on a private temporary file with a text, and returns the text afterwards.
pub(super) fn edit_text(text: &str) -> anyhow::Result<String> {
    let mut file = tempfile::Builder::new()
        .prefix("agenthost-message-")
        .suffix(".md")
        .tempfile()
        .context("create a file for the editor")?;
    file.write_all(text.as_bytes())
        .context("write the file for the editor")?;
    let mut named = EDITOR_VARIABLES.into_iter().filter_map(std::env::var_os);
    let named = named.find(|editor| !editor.is_empty());
    let editor = named.unwrap_or_else(|| DEFAULT_EDITOR.into());
    // The variable may contain arguments, so a shell runs it, as git does.
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{} \"$1\"", editor.to_string_lossy()))
        .arg("sh")
        .arg(file.path())
        .status();
    let status = status.with_context(|| format!("run `{}`", editor.display()))?;
    if !status.success() {
        bail!("`{}` failed: {status}", editor.display());
    }
    let edited = std::fs::read_to_string(file.path()).context("read the edited message")?;
    Ok(edited.trim_end().to_owned())
}
