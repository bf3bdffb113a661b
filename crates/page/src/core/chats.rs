//! The chats of a session.

use super::PageCore;
use crate::input::ChatCommand;

impl PageCore {
    pub(super) fn execute_chat(&mut self, _id: u64, command: ChatCommand) {
        match command {}
    }
}
