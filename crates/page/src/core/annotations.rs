//! Comments on lines of the changes.

use super::PageCore;
use crate::input::AnnotationCommand;

impl PageCore {
    pub(super) fn execute_annotation(&mut self, _id: u64, command: AnnotationCommand) {
        match command {}
    }
}
