//! Reads the entries of a gzip-compressed tar archive.
//!
//! The tar reader would collect long names and pax headers in memory without a limit. It
//! therefore runs in raw mode, and this module reads them with a limit.

use std::io::Read;

use flate2::read::GzDecoder;
use tar::{EntryType, PaxExtensions};

use super::limited_reader::{BoundedReader, ByteBudget};
use super::{ArchiveEntries, MAX_ENTRIES, MAX_NAME_BYTES, UnpackedArchive, archive_error};
use crate::fetch::FetchError;
use crate::package::MAX_PACKAGE_BYTES;

/// Maximum size of the decompressed archive in bytes: the files, and for each entry a
/// header and padding of one block each.
pub(super) const MAX_STREAM_BYTES: u64 = MAX_PACKAGE_BYTES + MAX_ENTRIES as u64 * 2 * 512;

/// Maximum size of a pax header in bytes. It holds a path, times and a few attributes.
const MAX_PAX_BYTES: u64 = 64 * 1024;

/// Reads all files of a compressed archive.
pub(super) fn read(source: impl Read) -> Result<ArchiveEntries, FetchError> {
    let budget = ByteBudget::new(MAX_STREAM_BYTES);
    let stream = BoundedReader::new(GzDecoder::new(source), budget.clone());
    read_stream(stream).map_err(|error| {
        if budget.is_exceeded() {
            archive_error("its content is too large")
        } else {
            error
        }
    })
}

/// Reads all files of a decompressed archive.
pub(super) fn read_stream(stream: impl Read) -> Result<ArchiveEntries, FetchError> {
    let unreadable = |_| archive_error("it is neither a zip file nor a gzip-compressed tar file");
    let mut archive = tar::Archive::new(stream);
    let mut gathered = UnpackedArchive::default();
    let mut name = EntryName::default();
    let entries = archive.entries().map_err(unreadable)?.raw(true);
    for (number, entry) in entries.enumerate() {
        if number >= MAX_ENTRIES {
            return Err(archive_error(&format!(
                "it has more than {MAX_ENTRIES} entries"
            )));
        }
        let mut entry = entry.map_err(unreadable)?;
        match entry.header().entry_type() {
            EntryType::GNULongName => {
                name.long = Some(read_bounded(&mut entry, MAX_NAME_BYTES as u64, "a name")?);
            }
            EntryType::XHeader => {
                let size = MAX_PAX_BYTES;
                let pax = read_bounded(&mut entry, size, "a pax header")?;
                name.read_pax(&pax)?;
            }
            EntryType::XGlobalHeader => {}
            EntryType::Directory => name = EntryName::default(),
            EntryType::Regular => {
                let size = entry.header().entry_size().map_err(unreadable)?;
                if name.size.is_some_and(|declared| declared != size) {
                    return Err(archive_error("it declares two sizes for a file"));
                }
                let header = entry.header().path_bytes().into_owned();
                let name = std::mem::take(&mut name).resolve(header);
                gathered.add_entry(&String::from_utf8_lossy(&name), &mut entry)?;
            }
            _ => {
                return Err(archive_error("it contains a link or another special file"));
            }
        }
    }
    Ok(gathered.entries)
}

/// The name and size of a file, as given by the entries before it.
#[derive(Default)]
struct EntryName {
    /// The name of a GNU long-name entry.
    long: Option<Vec<u8>>,
    /// The path of a pax header.
    pax: Option<Vec<u8>>,
    /// The size of a pax header.
    size: Option<u64>,
}

impl EntryName {
    fn read_pax(&mut self, header: &[u8]) -> Result<(), FetchError> {
        let damaged = || archive_error("it has an invalid pax header");
        for extension in PaxExtensions::new(header) {
            let extension = extension.map_err(|_| damaged())?;
            match extension.key_bytes() {
                b"path" => self.pax = Some(extension.value_bytes().to_vec()),
                b"size" => {
                    let size = extension.value().ok().and_then(|size| size.parse().ok());
                    self.size = Some(size.ok_or_else(damaged)?);
                }
                key if key.starts_with(b"GNU.sparse.") => {
                    return Err(archive_error("it contains a sparse file"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the name of a file: the GNU long name, the pax path or the name of its
    /// header.
    fn resolve(self, header: Vec<u8>) -> Vec<u8> {
        match (self.long, self.pax) {
            (Some(mut long), _) => {
                if long.last() == Some(&0) {
                    long.pop();
                }
                long
            }
            (None, Some(pax)) => pax,
            (None, None) => header,
        }
    }
}

/// Reads an entry, and fails if it is longer than the limit.
fn read_bounded(entry: &mut impl Read, most: u64, what: &str) -> Result<Vec<u8>, FetchError> {
    let mut bytes = Vec::new();
    entry
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|_| archive_error("it is damaged"))?;
    if bytes.len() as u64 > most {
        Err(archive_error(&format!(
            "{what} in it is longer than {most} bytes"
        )))
    } else {
        Ok(bytes)
    }
}
