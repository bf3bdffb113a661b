//! `agenthost backup`: writes the data of the host to one file, also while the host runs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agenthost_store::{DATABASE_FILE, copy_database};
use anyhow::{Context, bail};

use crate::backup_archive::{ArchiveSummary, ArchiveWriter};
use crate::connect::{HostOptions, check_owner};
use crate::output;

/// Entries of the data directory that a backup contains, besides the database. Directories for
/// processes and logs, sockets and copies of damaged databases are left out.
const ENTRIES: &[&str] = &[
    ".gitignore",
    "agenthost.made",
    "token",
    "devices",
    "packages",
    "content",
    "changes",
];

/// Write all data of the host to one file
///
/// The file contains sessions, stored content, checkpoints, worktrees, downloaded plugins,
/// paired devices and the token. It contains prompts and secrets, so keep it private. The host
/// may run meanwhile: the sessions are those of one moment. `agenthost restore-backup` reads the
/// file.
#[derive(clap::Args)]
#[command(after_help = BACKUP_EXAMPLES)]
pub(crate) struct BackupArgs {
    /// File to write; it must not exist
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    host: HostOptions,
}

const BACKUP_EXAMPLES: &str = "\
Examples:
  agenthost backup agenthost.backup
  agenthost restore-backup agenthost.backup --data-dir copy";

pub(crate) fn run(arguments: &BackupArgs) -> anyhow::Result<ExitCode> {
    let settings = arguments.host.resolve_settings()?;
    let directory = &settings.data_directory;
    check_owner(directory)?;
    if !directory.join(DATABASE_FILE).exists() {
        bail!("there is no host data in `{}`", directory.display());
    }
    let file = &arguments.file;
    if file.exists() {
        bail!(
            "`{}` exists\nhint: choose another name, or remove it first",
            file.display()
        );
    }
    let summary = write_backup(directory, file)
        .with_context(|| format!("write backup `{}`", file.display()))?;
    output::print_data(&output::escape_invisible(&format!(
        "{}: {} files, {}",
        file.display(),
        summary.files,
        describe_bytes(summary.bytes)
    )))?;
    output::print_note(
        "it contains prompts, outputs, the token of the host and the keys of paired devices: \
         keep it private",
    );
    Ok(ExitCode::SUCCESS)
}

/// Writes the archive under a temporary name, and renames it once it is on the disk.
fn write_backup(directory: &Path, file: &Path) -> anyhow::Result<ArchiveSummary> {
    let absolute = std::path::absolute(file)?;
    let folder = absolute.parent().context("it has no parent directory")?;
    let scratch = tempfile::Builder::new()
        .prefix(".agenthost-backup-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(folder)?;
    let database = scratch.path().join(DATABASE_FILE);
    output::print_note("copying the database");
    copy_database(directory, &database)?;
    // Its mode is 0600.
    let target = tempfile::NamedTempFile::new_in(folder)?;
    let mut archive = ArchiveWriter::start(target.as_file())?;
    archive.add_file(&database, Path::new(DATABASE_FILE))?;
    // Files come after the database: the content of a row was written before the row.
    for name in ENTRIES {
        let path = directory.join(name);
        if path.symlink_metadata().is_ok() {
            output::print_note(&format!("copying {name}"));
            archive.add_tree(&path, Path::new(name))?;
        }
    }
    let summary = archive.finish()?;
    target.as_file().sync_all()?;
    target.persist_noclobber(&absolute)?;
    Ok(summary)
}

pub(crate) fn describe_bytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{} MB", bytes.div_ceil(1_000_000)),
    }
}
