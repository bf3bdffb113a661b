//! `agenthost restore-backup`: replaces the data directory by a backup.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agenthost_store::{check_database, is_in_use};
use anyhow::{Context, bail};

use crate::backup_archive::unpack_archive;
use crate::commands::backup::describe_bytes;
use crate::connect::{HostOptions, check_owner};
use crate::output;

/// Restore the data of the host from a file that `agenthost backup` has written
///
/// The file is verified completely before anything is replaced. No host may use the data
/// directory. Clients that were connected get the restored state when they reconnect.
#[derive(clap::Args)]
#[command(after_help = RESTORE_EXAMPLES)]
pub(crate) struct RestoreBackupArgs {
    /// File of `agenthost backup`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Rename an existing data directory, and restore in its place
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    host: HostOptions,
}

const RESTORE_EXAMPLES: &str = "\
Examples:
  agenthost restore-backup agenthost.backup --data-dir copy
  agenthost restore-backup agenthost.backup --force";

pub(crate) fn run(arguments: &RestoreBackupArgs) -> anyhow::Result<ExitCode> {
    let settings = arguments.host.resolve_settings()?;
    let directory = &settings.data_directory;
    check_target(directory, arguments.force)?;
    let parent = directory
        .parent()
        .context("the data directory has no parent")?;
    std::fs::create_dir_all(parent).with_context(|| format!("create `{}`", parent.display()))?;
    // It is removed unless everything succeeds.
    let unpacked = tempfile::Builder::new()
        .prefix(".agenthost-restore-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent)
        .with_context(|| format!("create a directory in `{}`", parent.display()))?;
    let file = &arguments.file;
    output::print_note("verifying the backup");
    let summary = unpack_archive(file, unpacked.path())
        .with_context(|| format!("restore `{}`; nothing was changed", file.display()))?;
    verify_database(unpacked.path())
        .with_context(|| format!("restore `{}`; nothing was changed", file.display()))?;
    // A host may have been started meanwhile.
    check_target(directory, arguments.force)?;
    let moved = move_aside(directory)?;
    std::fs::rename(unpacked.path(), directory)
        .with_context(|| format!("rename the restored data to `{}`", directory.display()))?;
    output::print_data(&output::escape_invisible(&format!(
        "{}: {} files, {}",
        directory.display(),
        summary.files,
        describe_bytes(summary.bytes)
    )))?;
    if let Some(moved) = moved {
        output::print_note(&output::escape_invisible(&format!(
            "the previous data is in `{}`",
            moved.display()
        )));
    }
    Ok(ExitCode::SUCCESS)
}

fn check_target(directory: &Path, force: bool) -> anyhow::Result<()> {
    if directory.symlink_metadata().is_err() {
        return Ok(());
    }
    check_owner(directory)?;
    if is_in_use(directory)? {
        bail!(
            "a host uses `{}`\nhint: `agenthost stop` stops it",
            directory.display()
        );
    }
    let is_empty = std::fs::read_dir(directory)?.next().is_none();
    if !is_empty && !force {
        bail!(
            "`{}` is not empty\nhint: `--force` renames it first; `--data-dir` selects another \
             directory",
            directory.display()
        );
    }
    Ok(())
}

/// Reads every row of the database in a directory.
fn verify_database(directory: &Path) -> anyhow::Result<()> {
    let report = check_database(directory, &mut |_| {})?;
    if let Some(first) = report.problems.first() {
        output::print_note(&output::escape_invisible(&format!(
            "the backup has damaged rows, as the host had when it was written: {}: {}; `agenthost \
             doctor --deep` lists them",
            first.name, first.problem
        )));
    }
    Ok(())
}

/// Renames an existing directory to an unused name. An empty one is removed.
fn move_aside(directory: &Path) -> anyhow::Result<Option<PathBuf>> {
    if directory.symlink_metadata().is_err() || std::fs::remove_dir(directory).is_ok() {
        return Ok(None);
    }
    let mut number = 1;
    let target = loop {
        let mut name = directory.as_os_str().to_owned();
        name.push(format!(".before-restore-{number}"));
        let target = PathBuf::from(name);
        if target.symlink_metadata().is_err() {
            break target;
        }
        number += 1;
    };
    std::fs::rename(directory, &target)
        .with_context(|| format!("rename `{}` to `{}`", directory.display(), target.display()))?;
    Ok(Some(target))
}
