//! Writes the archive of a backup.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use agenthost_stdx::hex::encode_hex;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use super::{ArchiveSummary, FORMAT, FORMAT_ENTRY, LIST_ENTRY, list_line};

/// Writes entries, and the list of them at the end.
pub(crate) struct ArchiveWriter<W: Write> {
    archive: Builder<GzEncoder<W>>,
    list: String,
    summary: ArchiveSummary,
}

impl<W: Write> ArchiveWriter<W> {
    pub(crate) fn start(target: W) -> io::Result<Self> {
        let mut writer = ArchiveWriter {
            archive: Builder::new(GzEncoder::new(target, Compression::fast())),
            list: String::new(),
            summary: ArchiveSummary::default(),
        };
        writer.add_bytes(FORMAT_ENTRY, FORMAT)?;
        Ok(writer)
    }

    /// Adds a file or a directory with everything in it. Sockets and pipes are left out, and
    /// so are files that another process removes meanwhile.
    pub(crate) fn add_tree(&mut self, path: &Path, name: &Path) -> io::Result<()> {
        let Some(metadata) = unless_missing(path.symlink_metadata())? else {
            return Ok(());
        };
        if metadata.is_file() {
            return self.add_file(path, name);
        }
        if metadata.is_symlink() {
            return self.add_link(path, name);
        }
        if !metadata.is_dir() {
            return Ok(());
        }
        let mut header = header_of(&metadata, EntryType::Directory, 0);
        self.archive.append_data(&mut header, name, io::empty())?;
        self.note("directory", &metadata, "-", name)?;
        let Some(entries) = unless_missing(std::fs::read_dir(path))? else {
            return Ok(());
        };
        let entries = entries.map(|entry| entry.map(|entry| entry.file_name()));
        let mut names: Vec<_> = entries.collect::<Result<_, _>>()?;
        // In a git repository, references to an object are written after it.
        names.sort_by_key(|name| (name == "objects", name.clone()));
        for entry in names {
            self.add_tree(&path.join(&entry), &name.join(&entry))?;
        }
        Ok(())
    }

    /// Adds a file. If another process shortens it meanwhile, zeros follow.
    pub(crate) fn add_file(&mut self, path: &Path, name: &Path) -> io::Result<()> {
        let Some(file) = unless_missing(File::open(path))? else {
            return Ok(());
        };
        let metadata = file.metadata()?;
        let length = metadata.len();
        let mut header = header_of(&metadata, EntryType::Regular, length);
        let mut content = HashingReader::new(file.take(length).chain(io::repeat(0)).take(length));
        self.archive.append_data(&mut header, name, &mut content)?;
        self.summary.files += 1;
        self.summary.bytes += length;
        let digest = content.finish();
        self.note("file", &metadata, &digest, name)
    }

    /// Writes the list and the end of the archive.
    pub(crate) fn finish(mut self) -> io::Result<ArchiveSummary> {
        let list = std::mem::take(&mut self.list);
        self.add_bytes(LIST_ENTRY, list.as_bytes())?;
        self.archive.into_inner()?.finish()?.flush()?;
        Ok(self.summary)
    }

    fn add_link(&mut self, path: &Path, name: &Path) -> io::Result<()> {
        let Some(target) = unless_missing(std::fs::read_link(path))? else {
            return Ok(());
        };
        let metadata = path.symlink_metadata()?;
        let mut header = header_of(&metadata, EntryType::Symlink, 0);
        self.archive.append_link(&mut header, name, &target)?;
        let target = target.to_string_lossy().into_owned();
        self.note("link", &metadata, &format!("{target:?}"), name)
    }

    fn add_bytes(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        self.archive.append_data(&mut header, name, bytes)
    }

    fn note(
        &mut self,
        kind: &str,
        metadata: &Metadata,
        content: &str,
        name: &Path,
    ) -> io::Result<()> {
        let name = name.to_str().ok_or_else(|| {
            io::Error::other(format!("the name of `{}` is not UTF-8", name.display()))
        })?;
        let mode = metadata.mode() & 0o777;
        self.list.push_str(&list_line(kind, mode, content, name));
        Ok(())
    }
}

fn header_of(metadata: &Metadata, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(metadata.mode() & 0o777);
    header.set_mtime(u64::try_from(metadata.mtime()).unwrap_or(0));
    header
}

fn unless_missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Computes the SHA-256 of the bytes that pass through it.
pub(super) struct HashingReader<R> {
    inner: R,
    hash: Sha256,
}

impl<R> HashingReader<R> {
    pub(super) fn new(inner: R) -> Self {
        HashingReader {
            inner,
            hash: Sha256::new(),
        }
    }

    pub(super) fn finish(self) -> String {
        encode_hex(&self.hash.finalize())
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}
