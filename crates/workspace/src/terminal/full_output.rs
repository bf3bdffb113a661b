//! Stores the full output of a command that is longer than its preview.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use agenthost_core::SessionKey;
use agenthost_protocol::common::ContentRef;
use agenthost_protocol::terminal::PlainOutput;

use crate::content_store::ContentStore;
use crate::file_service::MAX_FILE_BYTES;

/// File name of the stored output.
const OUTPUT_FILE_NAME: &str = "output.txt";

/// Bytes that are reserved for the note about truncated output.
const TRUNCATION_NOTE_BYTES: u64 = 100;

/// Maximum length of an unfinished line. A longer one is written, so carriage returns can't
/// overwrite it any more.
const MAX_OPEN_LINE_BYTES: usize = 64 * 1024;

/// The store for the full output of a command.
#[derive(Debug, Clone)]
pub struct OutputSink {
    /// Content store of all sessions.
    pub content_store: Arc<ContentStore>,
    /// The session that owns the content.
    pub session: SessionKey,
}

/// Collects the output of a running command as plain text.
pub(super) struct FullOutput {
    sink: OutputSink,
    plain: PlainOutput,
    /// An unnamed temporary file, so the system removes it even if the host is killed.
    file: File,
    written: u64,
    left_out: u64,
}

impl FullOutput {
    pub(super) fn create(sink: OutputSink) -> io::Result<Self> {
        Ok(FullOutput {
            sink,
            plain: PlainOutput::default(),
            file: tempfile::tempfile()?,
            written: 0,
            left_out: 0,
        })
    }

    /// Appends output. Text beyond the size limit is counted and dropped.
    pub(super) fn push(&mut self, text: &str) -> io::Result<()> {
        let mut text = self.plain.push(text);
        if self.plain.open_line_bytes() > MAX_OPEN_LINE_BYTES {
            text.push_str(&self.plain.take_open_line());
        }
        self.write(&text)
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        let capacity = (MAX_FILE_BYTES - TRUNCATION_NOTE_BYTES).saturating_sub(self.written);
        let capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
        let (kept, rest) = text.split_at(text.floor_char_boundary(capacity.min(text.len())));
        self.file.write_all(kept.as_bytes())?;
        self.written += kept.len() as u64;
        self.left_out += rest.len() as u64;
        Ok(())
    }

    /// Stores the output and returns its reference.
    pub(super) fn finish(mut self) -> io::Result<ContentRef> {
        let last = std::mem::take(&mut self.plain).finish();
        self.write(&last)?;
        let mut text = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_end(&mut text)?;
        if self.left_out > 0 {
            let remark = format!("\n({} more bytes were not stored)\n", self.left_out);
            text.extend_from_slice(remark.as_bytes());
        }
        let OutputSink {
            content_store: contents,
            session,
        } = &self.sink;
        let kept = contents.insert(session, &text, OUTPUT_FILE_NAME);
        kept.map_err(io::Error::other)
    }
}
