//! Reads the entries of a zip archive.
//!
//! The zip reader allocates memory by the number of entries that the end of the archive
//! declares, and keeps the whole directory in memory. This module therefore checks that
//! number first, and counts the bytes that the zip reader reads.

use std::io::{Read, Seek, SeekFrom};

use super::limited_reader::{BoundedReader, ByteBudget};
use super::{ArchiveEntries, MAX_ENTRIES, UnpackedArchive, archive_error};
use crate::fetch::FetchError;

/// Maximum number of bytes that are read before the entries are known: the end of the
/// archive with its comment, and the directory with all names and comments.
pub(super) const MAX_DIRECTORY_BYTES: u64 = 4 * 1024 * 1024;

/// Budget in bytes for reads besides the compressed content: the local headers of 30 bytes
/// each, and an allowance for buffers.
const LOCAL_HEADERS_BYTES: u64 = MAX_ENTRIES as u64 * 128;

/// The number of bytes at the end of an archive in which the end record can begin: the
/// record of 22 bytes, its comment, and a zip64 locator of 20 bytes before it.
const TAIL_BYTES: u64 = 65_535 + 128;

/// Signature of the end record of an archive.
const END_RECORD: &[u8] = b"PK\x05\x06";

/// Signature of the zip64 locator, which points to the zip64 end record.
const ZIP64_LOCATOR: &[u8] = b"PK\x06\x07";

/// Position of the number of entries in the end record.
const ENTRY_COUNT: std::ops::Range<usize> = 10..12;

/// Reads all files of an archive of a known size.
pub(super) fn read(mut source: impl Read + Seek, size: u64) -> Result<ArchiveEntries, FetchError> {
    check_entry_count(&mut source, size)?;
    let budget = ByteBudget::new(MAX_DIRECTORY_BYTES);
    let source = BoundedReader::new(source, budget.clone());
    let result = read_entries(source, &budget, size);
    result.map_err(|error| {
        if budget.is_exceeded() {
            archive_error("its content is too large")
        } else {
            error
        }
    })
}

pub(super) fn read_entries(
    source: BoundedReader<impl Read + Seek>,
    budget: &ByteBudget,
    size: u64,
) -> Result<ArchiveEntries, FetchError> {
    let unreadable = |_| archive_error("it is not a valid zip file");
    let mut archive = zip::ZipArchive::new(source).map_err(unreadable)?;
    if archive.len() > MAX_ENTRIES {
        return Err(too_many_entries());
    }
    // Entries can share their content, which is then read again for each of them. The
    // budget permits each byte of the archive once.
    budget.reset(size + LOCAL_HEADERS_BYTES);
    let mut gathered = UnpackedArchive::default();
    for number in 0..archive.len() {
        let mut entry = archive.by_index(number).map_err(unreadable)?;
        if entry.is_dir() {
            continue;
        }
        if entry.is_symlink() {
            return Err(archive_error("it contains a link"));
        }
        let name = entry.name().map_err(unreadable)?.into_owned();
        gathered.add_entry(&name, &mut entry)?;
    }
    Ok(gathered.entries)
}

/// Refuses archives that declare too many entries. The zip reader chooses among several end
/// records, so all of them are checked.
fn check_entry_count(source: &mut (impl Read + Seek), size: u64) -> Result<(), FetchError> {
    let unreadable = |_| archive_error("it is damaged");
    let start = size.saturating_sub(TAIL_BYTES);
    source.seek(SeekFrom::Start(start)).map_err(unreadable)?;
    let mut tail = Vec::new();
    source
        .take(TAIL_BYTES)
        .read_to_end(&mut tail)
        .map_err(unreadable)?;
    source.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    for start in 0..tail.len() {
        let rest = tail.get(start..).unwrap_or_default();
        if rest.starts_with(ZIP64_LOCATOR) {
            return Err(archive_error("it is a zip64 file, which is not supported"));
        }
        if let (true, Some(&[low, high])) = (rest.starts_with(END_RECORD), rest.get(ENTRY_COUNT))
            && usize::from(u16::from_le_bytes([low, high])) > MAX_ENTRIES
        {
            return Err(too_many_entries());
        }
    }
    Ok(())
}

fn too_many_entries() -> FetchError {
    archive_error(&format!("it has more than {MAX_ENTRIES} entries"))
}
