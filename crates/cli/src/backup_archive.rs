//! The file format of backups: a tar archive, compressed with gzip.
//!
//! The last entry lists every other entry with its kind, its mode and the SHA-256 of its content.
//! A file that was truncated or altered does not match the list, or has none.

mod reader;
mod writer;

pub(crate) use reader::unpack_archive;
pub(crate) use writer::ArchiveWriter;

/// The first entry, which identifies the format.
const FORMAT_ENTRY: &str = "agenthost-backup";

/// The last entry, with the list of all others.
const LIST_ENTRY: &str = "agenthost-backup.sums";

/// The content of the first entry.
const FORMAT: &[u8] = b"agenthost backup 1\n";

/// The number and size of the files in an archive.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ArchiveSummary {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

/// Returns a line of the list. The name comes last, in the form of a Rust string.
fn list_line(kind: &str, mode: u32, content: &str, name: &str) -> String {
    format!("{kind} {mode:o} {content} {name:?}\n")
}
