//! Customizations and MCP servers.

use super::PageCore;
use crate::input::CustomizationCommand;

impl PageCore {
    pub(super) fn execute_customization(&mut self, _id: u64, command: CustomizationCommand) {
        match command {}
    }
}
