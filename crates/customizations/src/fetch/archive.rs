//! Archives, unpacked with care.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use super::{FetchError, LARGEST_ARCHIVE, file};
use crate::package::{DEEPEST, LARGEST_PACKAGE, MOST_FILES};

/// Unpacks an archive into a folder that is not there yet. If all of it is in
/// one folder, that is left out.
pub(super) fn unpack(archive: &Path, into: &Path) -> Result<(), FetchError> {
    let mut source = File::open(archive).map_err(file("open", archive))?;
    let size = source.metadata().map_err(file("open", archive))?.len();
    if size > LARGEST_ARCHIVE {
        return Err(broken("it is too large"));
    }
    let mut start = [0_u8; 2];
    let is_zip = source.read_exact(&mut start).is_ok() && &start == b"PK";
    source
        .seek(SeekFrom::Start(0))
        .map_err(file("read", archive))?;
    let entries = match is_zip {
        true => zip(source)?,
        false => tar(source)?,
    };
    if entries.is_empty() {
        return Err(broken("there is no file in it"));
    }
    let top = common_top(&entries);
    for (path, bytes) in &entries {
        let path = match &top {
            Some(top) => path.strip_prefix(top).unwrap_or(path),
            None => path,
        };
        write(&into.join(path), bytes)?;
    }
    Ok(())
}

type Entries = Vec<(PathBuf, Vec<u8>)>;

fn zip(source: File) -> Result<Entries, FetchError> {
    let unreadable = |_| broken("it is not a zip file that can be read");
    let mut archive = zip::ZipArchive::new(source).map_err(unreadable)?;
    let mut gathered = Gathered::default();
    for number in 0..archive.len() {
        let mut entry = archive.by_index(number).map_err(unreadable)?;
        if entry.is_dir() {
            continue;
        }
        if entry.is_symlink() {
            return Err(broken("it has a link in it"));
        }
        let name = entry.name().map_err(unreadable)?.into_owned();
        gathered.add(&name, &mut entry)?;
    }
    Ok(gathered.entries)
}

fn tar(source: File) -> Result<Entries, FetchError> {
    let unreadable = |_| broken("it is neither a zip file nor a tar file with gzip");
    let mut archive = tar::Archive::new(GzDecoder::new(source));
    let mut gathered = Gathered::default();
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let kind = entry.header().entry_type();
        if kind.is_dir() || kind.is_pax_global_extensions() || kind.is_pax_local_extensions() {
            continue;
        }
        if !kind.is_file() {
            return Err(broken("it has a link, or something that is no file, in it"));
        }
        let path = entry.path().map_err(unreadable)?;
        let name = path.to_string_lossy().into_owned();
        gathered.add(&name, &mut entry)?;
    }
    Ok(gathered.entries)
}

/// What was unpacked so far; in memory, so that nothing is written of an
/// archive that is not fine.
#[derive(Default)]
struct Gathered {
    entries: Entries,
    bytes: u64,
}

impl Gathered {
    fn add(&mut self, name: &str, content: &mut impl Read) -> Result<(), FetchError> {
        let path = safe(name).ok_or_else(|| {
            let name: String = name.chars().take(80).collect();
            broken(&format!("`{name}` leads out of it"))
        })?;
        if self.entries.len() >= MOST_FILES {
            return Err(broken(&format!("it has more than {MOST_FILES} files")));
        }
        let left = LARGEST_PACKAGE.saturating_sub(self.bytes);
        let mut bytes = Vec::new();
        content
            .take(left + 1)
            .read_to_end(&mut bytes)
            .map_err(|_| broken("it is damaged"))?;
        self.bytes += bytes.len() as u64;
        if bytes.len() as u64 > left {
            return Err(broken("what is in it is too large"));
        }
        self.entries.push((path, bytes));
        Ok(())
    }
}

/// A path that stays inside of where it is unpacked.
fn safe(name: &str) -> Option<PathBuf> {
    if name.starts_with('/') || name.contains(['\\', '\0']) {
        return None;
    }
    let mut path = PathBuf::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            _ => path.push(part),
        }
    }
    // The folder that all is in may be left out.
    let depth = path.iter().count();
    (depth > 0 && depth <= DEEPEST + 1).then_some(path)
}

fn common_top(entries: &Entries) -> Option<PathBuf> {
    let (first, _) = entries.first()?;
    let top = PathBuf::from(first.iter().next()?);
    entries
        .iter()
        .all(|(path, _)| path.starts_with(&top) && *path != top)
        .then_some(top)
        // A package whose only folder is `skills` is no package in a folder.
        .filter(|top| {
            let known = ["skills", "agents", "commands", "rules", "hooks", "prompts"];
            !known.iter().any(|known| top.as_os_str() == *known)
        })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), FetchError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(file("make", folder))?;
    }
    let mut target = File::create_new(path).map_err(file("write", path))?;
    target.write_all(bytes).map_err(file("write", path))?;
    crate::mirror::make_executable(&target, bytes).map_err(file("write", path))
}

fn broken(problem: &str) -> FetchError {
    FetchError::Archive(problem.to_owned())
}
