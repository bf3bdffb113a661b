//! A reader that returns an error after a given number of bytes.

use std::cell::Cell;
use std::io::{Error, Read, Result, Seek, SeekFrom};
use std::rc::Rc;

/// The number of bytes that may still be read. Clones share one count.
#[derive(Debug, Clone)]
pub(super) struct ByteBudget {
    left: Rc<Cell<u64>>,
    exceeded: Rc<Cell<bool>>,
}

impl ByteBudget {
    pub(super) fn new(bytes: u64) -> Self {
        ByteBudget {
            left: Rc::new(Cell::new(bytes)),
            exceeded: Rc::new(Cell::new(false)),
        }
    }

    /// Replaces the remaining budget.
    pub(super) fn reset(&self, bytes: u64) {
        self.left.set(bytes);
    }

    /// Returns `true` once a read has failed because the budget was exhausted. Parsers wrap
    /// or replace the error of a read, so the error value can't be used to recognize this
    /// case.
    pub(super) fn is_exceeded(&self) -> bool {
        self.exceeded.get()
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> u64 {
        self.left.get()
    }
}

/// A reader that fails at the end of its budget, unless its source ends there, too.
#[derive(Debug)]
pub(super) struct BoundedReader<R> {
    source: R,
    budget: ByteBudget,
}

impl<R> BoundedReader<R> {
    pub(super) fn new(source: R, budget: ByteBudget) -> Self {
        BoundedReader { source, budget }
    }
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let left = self.budget.left.get();
        if left == 0 {
            // One more byte distinguishes the end of the source from an excess.
            return match self.source.read(&mut [0_u8])? {
                0 => Ok(0),
                _ => {
                    self.budget.exceeded.set(true);
                    Err(Error::other("more data than expected"))
                }
            };
        }
        let most = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let count = match buffer.get_mut(..most) {
            Some(buffer) => self.source.read(buffer)?,
            None => 0,
        };
        self.budget.left.set(left.saturating_sub(count as u64));
        Ok(count)
    }
}

impl<R: Seek> Seek for BoundedReader<R> {
    fn seek(&mut self, position: SeekFrom) -> Result<u64> {
        self.source.seek(position)
    }
}
