//! The settings of the host.

use super::PageCore;
use crate::input::SettingsCommand;

impl PageCore {
    pub(super) fn execute_settings(&mut self, _id: u64, command: SettingsCommand) {
        match command {}
    }
}
