//! Questions of commands, before a session is open.

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
    ask_yes_no(question)
}

/// Asks a question on the terminal until the user answers it. The end of input denies it.
pub(crate) fn ask_yes_no(question: &str) -> anyhow::Result<bool> {
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

/// Asks the user to choose from a list; Enter and `y` choose the first entry. Returns the index
/// of the choice, or `None` at the end of input.
pub(crate) fn choose(question: &str, choices: &[String]) -> anyhow::Result<Option<usize>> {
    loop {
        output::print_note(question);
        for (index, choice) in choices.iter().enumerate() {
            output::print_note(&format!("{}) {choice}", index + 1));
        }
        output::print_note("a number or a name; Enter takes the first");
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        if read.context("read the answer")? == 0 {
            return Ok(None);
        }
        let line = line.trim();
        if line.is_empty() || parse_yes_no(line) == Some(true) {
            return Ok(Some(0));
        }
        let number = line.parse::<usize>().ok();
        let number = number.and_then(|number| number.checked_sub(1));
        let by_name = || {
            choices
                .iter()
                .position(|choice| choice.split(' ').next() == Some(line))
        };
        let chosen = number
            .filter(|index| *index < choices.len())
            .or_else(by_name);
        if let Some(chosen) = chosen {
            return Ok(Some(chosen));
        }
    }
}
