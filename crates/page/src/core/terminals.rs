//! Terminals.

use super::PageCore;
use crate::input::TerminalCommand;

impl PageCore {
    pub(super) fn execute_terminal(&mut self, _id: u64, command: TerminalCommand) {
        match command {}
    }
}
