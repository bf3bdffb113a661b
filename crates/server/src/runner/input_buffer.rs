//! The inputs of drivers that the host has not handled.

use std::collections::VecDeque;
use std::path::Path;

use crate::runner::RunnerError;
use crate::runner::spool::InputSpool;

/// Limit on the inputs in memory, in bytes. Further ones go to the spool; when that is full too,
/// the drivers wait, and with them the programs that write.
const MAX_MEMORY_BYTES: usize = 4 * 1024 * 1024;

/// Numbered inputs from the oldest that was not handled to the last: first those in memory, then
/// those in the spool.
#[derive(Debug)]
pub(crate) struct InputBuffer {
    memory: VecDeque<String>,
    memory_bytes: usize,
    spool: InputSpool,
    /// The number of the last input that the host has handled.
    handled: u64,
    /// The number of the last input that was sent to the connected host.
    sent: u64,
    last: u64,
}

impl InputBuffer {
    pub(crate) fn new(spool: &Path) -> Self {
        InputBuffer {
            memory: VecDeque::new(),
            memory_bytes: 0,
            spool: InputSpool::new(spool),
            handled: 0,
            sent: 0,
            last: 0,
        }
    }

    /// Returns the number of the last input that the host has handled.
    pub(crate) fn handled(&self) -> u64 {
        self.handled
    }

    /// Returns the number of the last input.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Returns `true` if the host has handled all inputs.
    pub(crate) fn is_empty(&self) -> bool {
        self.handled == self.last
    }

    /// Returns `true` if one more input can be taken.
    pub(crate) fn has_capacity(&self) -> bool {
        !self.spool.is_full()
    }

    /// Adds an input as the last one.
    pub(crate) fn push(&mut self, text: String) -> Result<(), RunnerError> {
        self.last += 1;
        if self.spool.is_empty() && self.memory_bytes < MAX_MEMORY_BYTES {
            self.memory_bytes += text.len();
            self.memory.push_back(text);
            Ok(())
        } else {
            self.spool.push(self.last, &text)
        }
    }

    /// Drops the inputs up to this number. Returns `false` if there is no such input.
    pub(crate) fn set_handled(&mut self, handled: u64) -> Result<bool, RunnerError> {
        if handled < self.handled || handled > self.last {
            return Ok(false);
        }
        while self.handled < handled {
            self.refill()?;
            let Some(text) = self.memory.pop_front() else {
                return Ok(false);
            };
            self.memory_bytes -= text.len();
            self.handled += 1;
        }
        self.sent = self.sent.max(handled);
        self.refill()?;
        Ok(true)
    }

    /// Sends all inputs again that were not handled, because another host has connected.
    pub(crate) fn rewind(&mut self) {
        self.sent = self.handled;
    }

    /// Returns the next input to send with its number.
    pub(crate) fn next_unsent(&self) -> Option<(u64, &str)> {
        let index = usize::try_from(self.sent - self.handled).ok()?;
        let text = self.memory.get(index)?;
        Some((self.sent + 1, text))
    }

    /// Marks the input of [`Self::next_unsent`] as sent.
    pub(crate) fn mark_sent(&mut self) {
        self.sent += 1;
    }

    /// Moves inputs from the spool to the memory.
    fn refill(&mut self) -> Result<(), RunnerError> {
        while self.memory_bytes < MAX_MEMORY_BYTES / 2 {
            let next = self.handled + self.memory.len() as u64 + 1;
            let Some(text) = self.spool.pop(next)? else {
                break;
            };
            self.memory_bytes += text.len();
            self.memory.push_back(text);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(buffer: &mut InputBuffer, count: u64) {
        for number in 1..=count {
            let text = format!("{number} {}", "x".repeat(100_000));
            buffer.push(text).unwrap();
        }
    }

    /// Handles all inputs one by one, and returns the numbers in their texts.
    fn drain(buffer: &mut InputBuffer) -> Result<Vec<u64>, RunnerError> {
        let mut found = Vec::new();
        while !buffer.is_empty() {
            let (number, text) = buffer.next_unsent().unwrap();
            found.push(text.split(' ').next().unwrap().parse().unwrap());
            buffer.mark_sent();
            assert!(buffer.set_handled(number)?);
        }
        Ok(found)
    }

    #[test]
    fn inputs_beyond_the_memory_return_from_the_spool_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("spool");
        let mut buffer = InputBuffer::new(&path);
        fill(&mut buffer, 100);
        assert!(path.metadata().unwrap().len() > 5_000_000);
        assert_eq!(drain(&mut buffer).unwrap(), (1..=100).collect::<Vec<_>>());
        assert_eq!(path.metadata().unwrap().len(), 0);
        drop(buffer);
        assert!(!path.exists());
    }

    #[test]
    fn an_altered_spool_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("spool");
        let mut buffer = InputBuffer::new(&path);
        fill(&mut buffer, 100);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let error = drain(&mut buffer).unwrap_err().to_string();
        assert!(error.contains("a record was altered"), "{error}");
    }

    #[test]
    fn a_truncated_spool_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("spool");
        let mut buffer = InputBuffer::new(&path);
        fill(&mut buffer, 100);
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(1_000_000).unwrap();
        let error = drain(&mut buffer).unwrap_err().to_string();
        assert!(error.contains("the file was cut off"), "{error}");
    }

    #[test]
    fn a_number_that_was_never_sent_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let mut buffer = InputBuffer::new(&directory.path().join("spool"));
        fill(&mut buffer, 3);
        assert!(buffer.set_handled(2).unwrap());
        assert!(!buffer.set_handled(4).unwrap());
        assert!(!buffer.set_handled(1).unwrap());
        assert_eq!(drain(&mut buffer).unwrap(), [3]);
    }

    #[test]
    fn another_host_receives_what_was_not_handled_again() {
        let directory = tempfile::tempdir().unwrap();
        let mut buffer = InputBuffer::new(&directory.path().join("spool"));
        fill(&mut buffer, 3);
        buffer.mark_sent();
        buffer.mark_sent();
        assert!(buffer.set_handled(1).unwrap());
        buffer.rewind();
        assert_eq!(drain(&mut buffer).unwrap(), [2, 3]);
    }
}
