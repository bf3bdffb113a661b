//! The spool: inputs that do not fit into the memory of the runner, in a file.
//!
//! A record is its length (4 bytes), its number (8 bytes), the first bytes of the SHA-256 of
//! number and text, and the text. Records are appended at the end and read from the start; the
//! file is emptied when all were read.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use agenthost_stdx::private_file;
use agenthost_stdx::result::IgnoreMissing;
use sha2::{Digest, Sha256};

use crate::runner::RunnerError;

/// Limit on the size of the file. When it is reached, drivers wait.
const MAX_SPOOL_BYTES: u64 = 256 * 1024 * 1024;

/// Length of a checksum, in bytes.
const CHECKSUM_BYTES: usize = 8;

/// Length of a record without its text, in bytes.
const HEADER_BYTES: usize = 4 + 8 + CHECKSUM_BYTES;

/// The file of inputs that wait for the host. It is removed on drop.
#[derive(Debug)]
pub(crate) struct InputSpool {
    path: PathBuf,
    /// Opened with the first record.
    file: Option<File>,
    read_offset: u64,
    write_offset: u64,
}

impl InputSpool {
    /// Creates an empty spool. The file of an earlier runner is removed.
    pub(crate) fn new(path: &Path) -> Self {
        std::fs::remove_file(path).ignore_missing("failed to remove the spool of a runner");
        InputSpool {
            path: path.to_owned(),
            file: None,
            read_offset: 0,
            write_offset: 0,
        }
    }

    /// Returns `true` if all records were read.
    pub(crate) fn is_empty(&self) -> bool {
        self.read_offset == self.write_offset
    }

    /// Returns `true` if the file has reached its limit.
    pub(crate) fn is_full(&self) -> bool {
        self.write_offset >= MAX_SPOOL_BYTES
    }

    /// Appends a record.
    pub(crate) fn push(&mut self, number: u64, text: &str) -> Result<(), RunnerError> {
        let mut record = Vec::with_capacity(HEADER_BYTES + text.len());
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&number.to_le_bytes());
        record.extend_from_slice(&checksum(number, text.as_bytes()));
        record.extend_from_slice(text.as_bytes());
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(private_file::open_read_write(&self.path)?),
        };
        file.seek(SeekFrom::Start(self.write_offset))?;
        file.write_all(&record)?;
        self.write_offset += record.len() as u64;
        Ok(())
    }

    /// Reads the next record, which must have this number. Returns `None` if there is none.
    pub(crate) fn pop(&mut self, expected: u64) -> Result<Option<String>, RunnerError> {
        if self.is_empty() {
            return Ok(None);
        }
        let path = self.path.clone();
        let damaged = |problem| RunnerError::Spool {
            path: path.clone(),
            problem,
        };
        let Some(file) = &mut self.file else {
            return Err(damaged("the file is not open"));
        };
        file.seek(SeekFrom::Start(self.read_offset))?;
        let mut header = [0; HEADER_BYTES];
        read_all(file, &mut header, &damaged)?;
        let (length, rest) = header.split_at(4);
        let (number, sum) = rest.split_at(8);
        let length = u32::from_le_bytes(length.try_into().unwrap_or_default());
        let number = u64::from_le_bytes(number.try_into().unwrap_or_default());
        let end = self.read_offset + (HEADER_BYTES as u64) + u64::from(length);
        if end > self.write_offset {
            return Err(damaged("a record has a wrong length"));
        }
        let mut text = vec![0; usize::try_from(length).unwrap_or(0)];
        read_all(file, &mut text, &damaged)?;
        if checksum(number, &text) != sum {
            return Err(damaged("a record was altered"));
        }
        if number != expected {
            return Err(damaged("a record has a wrong number"));
        }
        let text = String::from_utf8(text).map_err(|_| damaged("a record was altered"))?;
        self.read_offset = end;
        if self.read_offset == self.write_offset {
            file.set_len(0)?;
            (self.read_offset, self.write_offset) = (0, 0);
        }
        Ok(Some(text))
    }
}

impl Drop for InputSpool {
    fn drop(&mut self) {
        if self.file.is_some() {
            std::fs::remove_file(&self.path).ignore_missing("failed to remove a spool");
        }
    }
}

fn read_all(
    file: &mut File,
    bytes: &mut [u8],
    damaged: &impl Fn(&'static str) -> RunnerError,
) -> Result<(), RunnerError> {
    match file.read_exact(bytes) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Err(damaged("the file was cut off"))
        }
        read => Ok(read?),
    }
}

fn checksum(number: u64, text: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hash = Sha256::new();
    hash.update(number.to_le_bytes());
    hash.update(text);
    let hash = hash.finalize();
    let mut sum = [0; CHECKSUM_BYTES];
    sum.iter_mut()
        .zip(hash.iter())
        .for_each(|(to, from)| *to = *from);
    sum
}
