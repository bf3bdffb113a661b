//! Unpacks untrusted archives within limits.
//!
//! An archive is untrusted input of up to 64 MiB. The number of its entries, the length of
//! its names and the bytes that it unpacks to are limited before a parser sees them, so
//! that memory and work are bounded by these limits.

pub(crate) mod limited_reader;
mod tarball;
#[cfg(test)]
mod tests;
pub(crate) mod zip_file;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{FetchError, MAX_ARCHIVE_BYTES, file_error};
use crate::package::{MAX_FOLDER_DEPTH, MAX_PACKAGE_BYTES, MAX_PACKAGE_FILES};

/// Maximum number of entries in an archive: files, folders and separate headers.
const MAX_ENTRIES: usize = 10_000;

/// Maximum length of a path in an archive, in bytes.
const MAX_NAME_BYTES: usize = 4_096;

/// Maximum length of one path component in bytes, as in common file systems.
const MAX_COMPONENT_BYTES: usize = 255;

/// Maximum number of characters of a name that error messages show.
const SHOWN_NAME_CHARS: usize = 80;

/// Unpacks an archive into a folder that does not exist yet. A single top-level folder is
/// stripped.
pub(super) fn unpack(archive: &Path, into: &Path) -> Result<(), FetchError> {
    let mut source = File::open(archive).map_err(file_error("open", archive))?;
    let size = source
        .metadata()
        .map_err(file_error("open", archive))?
        .len();
    if size > MAX_ARCHIVE_BYTES {
        return Err(archive_error("it is too large"));
    }
    let mut start = [0_u8; 2];
    let is_zip = source.read_exact(&mut start).is_ok() && &start == b"PK";
    source
        .seek(SeekFrom::Start(0))
        .map_err(file_error("read", archive))?;
    let entries = if is_zip {
        zip_file::read(source, size)?
    } else {
        tarball::read(source)?
    };
    if entries.is_empty() {
        return Err(archive_error("it contains no files"));
    }
    let top = common_folder(&entries);
    for (path, bytes) in &entries {
        let path = match &top {
            Some(top) => path.strip_prefix(top).unwrap_or(path),
            None => path,
        };
        write_file(&into.join(path), bytes)?;
    }
    Ok(())
}

type ArchiveEntries = Vec<(PathBuf, Vec<u8>)>;

/// The unpacked files. They stay in memory until all entries have been checked, so that an
/// invalid archive leaves no files on disk.
#[derive(Default)]
struct UnpackedArchive {
    entries: ArchiveEntries,
    paths: BTreeSet<PathBuf>,
    bytes: u64,
}

impl UnpackedArchive {
    fn add_entry(&mut self, name: &str, content: &mut impl Read) -> Result<(), FetchError> {
        let path = checked_path(name).map_err(|problem| {
            let name = name.chars().take(SHOWN_NAME_CHARS);
            let name: String = name.flat_map(char::escape_debug).collect();
            archive_error(&format!("`{name}` {problem}"))
        })?;
        if self.entries.len() >= MAX_PACKAGE_FILES {
            return Err(archive_error(&format!(
                "it has more than {MAX_PACKAGE_FILES} files"
            )));
        }
        if !self.paths.insert(path.clone()) {
            return Err(archive_error("it has two files of the same name"));
        }
        let left = MAX_PACKAGE_BYTES.saturating_sub(self.bytes);
        let mut bytes = Vec::new();
        content
            .take(left + 1)
            .read_to_end(&mut bytes)
            .map_err(|_| archive_error("it is damaged"))?;
        self.bytes += bytes.len() as u64;
        if bytes.len() as u64 > left {
            return Err(archive_error("its content is too large"));
        }
        self.entries.push((path, bytes));
        Ok(())
    }
}

/// Returns the path of an entry if it stays inside of the target folder, otherwise the
/// problem with it.
fn checked_path(name: &str) -> Result<PathBuf, &'static str> {
    if name.len() > MAX_NAME_BYTES {
        return Err("is too long");
    }
    if name.starts_with('/') || name.contains(['\\', '\0']) {
        return Err("is outside of it");
    }
    let mut path = PathBuf::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err("is outside of it"),
            _ if part.len() > MAX_COMPONENT_BYTES => return Err("is too long"),
            _ => path.push(part),
        }
    }
    // One level more than the limit, because the top-level folder may be stripped.
    match path.iter().count() {
        0 => Err("is not a file name"),
        depth if depth > MAX_FOLDER_DEPTH + 1 => Err("is nested too deeply"),
        _ => Ok(path),
    }
}

fn common_folder(entries: &ArchiveEntries) -> Option<PathBuf> {
    let (first, _) = entries.first()?;
    let top = PathBuf::from(first.iter().next()?);
    entries
        .iter()
        .all(|(path, _)| path.starts_with(&top) && *path != top)
        .then_some(top)
        // A single folder with a known name, for example `skills`, is a part of the package
        // and not its top-level folder.
        .filter(|top| {
            let known = ["skills", "agents", "commands", "rules", "hooks", "prompts"];
            !known.iter().any(|known| top.as_os_str() == *known)
        })
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), FetchError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(file_error("create", folder))?;
    }
    let mut target = File::create_new(path).map_err(file_error("write", path))?;
    target.write_all(bytes).map_err(file_error("write", path))?;
    crate::package::mirror::make_executable(&target, bytes).map_err(file_error("write", path))
}

fn archive_error(problem: &str) -> FetchError {
    FetchError::InvalidArchive(problem.to_owned())
}
