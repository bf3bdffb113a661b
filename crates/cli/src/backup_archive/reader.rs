//! Unpacks and verifies the archive of a backup.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail, ensure};
use flate2::read::GzDecoder;
use tar::{Archive, Entry, EntryType};

use super::writer::HashingReader;
use super::{ArchiveSummary, FORMAT, FORMAT_ENTRY, LIST_ENTRY, list_line};

/// Maximum size of the list, in bytes: some millions of files.
const MAX_LIST_BYTES: u64 = 1024 * 1024 * 1024;

/// Unpacks an archive into an empty directory, and verifies that it is complete and unaltered. The
/// directory must not be used if this fails.
pub(crate) fn unpack_archive(file: &Path, directory: &Path) -> anyhow::Result<ArchiveSummary> {
    let source = File::open(file)?;
    let mut archive = Archive::new(GzDecoder::new(BufReader::new(source)));
    let mut entries = archive.entries()?;
    let first = entries.next().context("it is empty")?;
    check_format(first.context(NOT_A_BACKUP)?)?;
    let mut unpacked = UnpackedFiles::default();
    // Links come last, so that no file is written through one.
    let mut links = Vec::new();
    let mut modes = Vec::new();
    for entry in entries {
        ensure!(!unpacked.is_complete, "it has an entry after its list");
        let mut entry = entry.context(DAMAGED)?;
        let name = entry_name(&entry)?;
        let mode = entry.header().mode()? & 0o777;
        let path = directory.join(&name);
        let shown = name.to_str().context("a name is not UTF-8")?;
        match entry.header().entry_type() {
            EntryType::Regular if shown == LIST_ENTRY => unpacked.compare(&mut entry)?,
            EntryType::Regular => {
                let bytes = entry.size();
                let digest = write_file(&path, mode, entry).context(DAMAGED)?;
                unpacked
                    .list
                    .push_str(&list_line("file", mode, &digest, shown));
                unpacked.summary.files += 1;
                unpacked.summary.bytes += bytes;
            }
            EntryType::Directory => {
                std::fs::create_dir(&path).with_context(|| format!("create `{shown}`"))?;
                unpacked
                    .list
                    .push_str(&list_line("directory", mode, "-", shown));
                modes.push((path, mode));
            }
            EntryType::Symlink => {
                let target = entry.link_name()?.context("a link has no target")?;
                let text = format!("{:?}", target.to_string_lossy());
                unpacked
                    .list
                    .push_str(&list_line("link", mode, &text, shown));
                links.push((path, target.into_owned()));
            }
            _ => bail!("`{shown}` is of an unknown kind"),
        }
    }
    ensure!(unpacked.is_complete, "it is truncated");
    // The checksum at the end covers what the list does not, such as the times of entries.
    io::copy(&mut archive.into_inner(), &mut io::sink()).context(DAMAGED)?;
    for (path, target) in links {
        std::os::unix::fs::symlink(target, path)?;
    }
    // A directory may be read-only, so it gets its mode when everything is in it.
    for (path, mode) in modes.into_iter().rev() {
        std::fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    Ok(unpacked.summary)
}

const NOT_A_BACKUP: &str = "it is not a backup of agenthost";

const DAMAGED: &str = "it is truncated or damaged";

/// The files that were unpacked so far.
#[derive(Default)]
struct UnpackedFiles {
    list: String,
    summary: ArchiveSummary,
    is_complete: bool,
}

impl UnpackedFiles {
    fn compare(&mut self, entry: &mut impl Read) -> anyhow::Result<()> {
        let mut expected = String::new();
        entry
            .take(MAX_LIST_BYTES)
            .read_to_string(&mut expected)
            .context(DAMAGED)?;
        ensure!(
            expected == self.list,
            "it was altered: its files do not match its list"
        );
        self.is_complete = true;
        Ok(())
    }
}

fn check_format(mut entry: Entry<'_, impl Read>) -> anyhow::Result<()> {
    ensure!(
        entry.path().context(NOT_A_BACKUP)? == Path::new(FORMAT_ENTRY),
        NOT_A_BACKUP
    );
    let mut found = Vec::new();
    entry
        .by_ref()
        .take(1_024)
        .read_to_end(&mut found)
        .context(DAMAGED)?;
    ensure!(
        found == FORMAT,
        "its format is unknown\nhint: use the agenthost that wrote it, or a newer one"
    );
    Ok(())
}

/// Returns the name of an entry, which must be below the directory.
fn entry_name(entry: &Entry<'_, impl Read>) -> anyhow::Result<PathBuf> {
    let name = entry.path().context(DAMAGED)?.into_owned();
    let is_below = name
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    ensure!(
        is_below && name.components().next().is_some(),
        "an entry has an invalid name"
    );
    Ok(name)
}

fn write_file(path: &Path, mode: u32, entry: impl Read) -> io::Result<String> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(path)?;
    let mut content = HashingReader::new(entry);
    io::copy(&mut content, &mut file)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()?;
    Ok(content.finish())
}
