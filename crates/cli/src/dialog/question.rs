//! Yes-or-no questions of commands.

use std::io::IsTerminal;

use anyhow::{Context, bail};

use super::form::parse_yes_no;
use crate::output;

/// Asks a question on the terminal until the user answers it. Without a terminal it is an error
/// with the hint.
pub(crate) fn confirm(question: &str, hint: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("{question}\nhint: there is no terminal to answer; {hint}");
    }
    loop {
        output::print_note(&format!("{question} (y, n)"));
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        if read.context("read the answer")? == 0 {
            return Ok(false);
        }
        if let Some(answer) = parse_yes_no(line.trim()) {
            return Ok(answer);
        }
    }
}
