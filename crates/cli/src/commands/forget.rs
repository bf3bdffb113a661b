//! `agenthost forget`: removes all data of the host.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agenthost_core::{SessionKey, WorktreeDisposal};
use agenthost_protocol::uri::Uri;
use agenthost_server::{ServerConfig, end_runner};
use agenthost_stdx::disk_space::tree_bytes;
use agenthost_store::{DATABASE_FILE, lock_directory, measure_database};
use agenthost_workspace::ChangeTracker;
use anyhow::{Context, bail};

use crate::background::StartPermit;
use crate::background::log_files::LogFiles;
use crate::background::running_host::{RunnerFate, RunningHost};
use crate::commands::backup::describe_bytes;
use crate::commands::sessions::removal::describe_work;
use crate::connect::{HostOptions, check_owner};
use crate::output;

/// The word that the user types.
const CONFIRMATION: &str = "forget";

/// The entries of a data directory, in the order of their removal. The marker goes before the
/// database: a database without it is complete, and the other way around it would be missing.
const ENTRIES: &[&str] = &[
    "agenthost.made",
    DATABASE_FILE,
    "agenthost.db-wal",
    "agenthost.db-shm",
    "reserve",
    "content",
    "changes",
    "packages",
    "devices",
    "token",
    "start.json",
    "open.html",
    "tmp",
    "running",
    "running-host",
    "runner.json",
    "runner.spool",
    "host.json",
    ".gitignore",
];

/// The beginning of the names of copies of damaged databases.
const DAMAGED_PREFIX: &str = "agenthost.db.damaged-";

/// Remove all data of the host
///
/// Removes sessions, stored content, checkpoints, worktrees, downloaded plugins, paired devices,
/// the token, the audit log and the log files, after you have typed a word. A running host is
/// stopped. The configuration file, your projects and the sessions that agents have stored
/// themselves stay. Branches of worktrees are removed with them.
#[derive(clap::Args)]
pub(crate) struct ForgetArgs {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    host: HostOptions,
}

pub(crate) async fn run(arguments: ForgetArgs) -> anyhow::Result<ExitCode> {
    let settings = arguments.host.resolve_settings()?;
    let directory = &settings.data_directory;
    check_owner(directory)?;
    if !directory.join(DATABASE_FILE).exists() {
        bail!("there is no host data in `{}`", directory.display());
    }
    let permit = StartPermit::acquire(directory).await?;
    let host = RunningHost::find_settled(directory).await?;
    describe(directory, host).await?;
    if !arguments.yes && !confirm()? {
        output::print_note("nothing was removed");
        return Ok(ExitCode::FAILURE);
    }
    if let Some(host) = RunningHost::find_settled(directory).await? {
        host.stop(directory, RunnerFate::Ends).await?;
        output::print_note("stopped the host");
    }
    // A host that was killed has left its agents and terminals.
    end_runner(directory).await.context("end the runner")?;
    // No host starts and no other program writes while the files are removed.
    let lock = lock_directory(directory)?;
    remove_worktrees(directory);
    remove_entries(directory)?;
    drop(lock);
    remove_logs(directory, permit)?;
    remove_path(&directory.join("lock"))?;
    // A directory with other files stays.
    if std::fs::remove_dir(directory).is_err() && directory.exists() {
        output::print_note(&format!(
            "`{}` has files that are not of the host, and stays",
            directory.display()
        ));
    }
    output::print_note("removed all data of the host");
    Ok(ExitCode::SUCCESS)
}

/// Prints what the removal loses.
async fn describe(directory: &Path, host: Option<RunningHost>) -> anyhow::Result<()> {
    let usage = measure_database(directory);
    let count = usage.as_ref().map_or(0, |usage| usage.sessions.len());
    let bytes = tree_bytes(directory).unwrap_or(0);
    let sessions = match count {
        1 => "1 session".to_owned(),
        count => format!("{count} sessions"),
    };
    output::print_note(&format!(
        "`{}` has {sessions} and {}; all of it is removed",
        directory.display(),
        describe_bytes(bytes)
    ));
    if let Some(mut host) = host {
        let running = host.count_sessions().await?.running;
        let turns = match running {
            0 => String::new(),
            1 => ", and a turn that is running ends".to_owned(),
            count => format!(", and {count} turns that are running end"),
        };
        output::print_note(&format!("the host is stopped{turns}"));
    }
    let tracker = ChangeTracker::new(ServerConfig::new(directory).changes_dir());
    let sessions: Vec<_> = usage
        .iter()
        .flat_map(|usage| usage.sessions.keys())
        .collect();
    for worktree in list_kept_worktrees(directory, &sessions) {
        output::print_note(&format!(
            "{} was kept when its session was removed",
            worktree.display()
        ));
    }
    for session in sessions {
        match tracker.unmerged_work(session) {
            Ok(None) => {}
            Ok(Some(work)) => output::print_note(&format!("{session}: {}", describe_work(&work))),
            Err(error) => {
                output::print_note(&format!("{session}: its worktree can't be read: {error}"))
            }
        }
    }
    Ok(())
}

/// Returns the worktrees of sessions that were removed before.
fn list_kept_worktrees(directory: &Path, sessions: &[&Uri]) -> Vec<PathBuf> {
    let worktrees = ChangeTracker::worktrees_in(&ServerConfig::new(directory).changes_dir());
    let keys: Vec<_> = sessions
        .iter()
        .map(|session| SessionKey::of(session))
        .collect();
    let list = |path: &Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path()))
    };
    let is_kept = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        !keys.iter().any(|key| Some(key.as_str()) == name)
    };
    let folders = list(&worktrees).filter(is_kept);
    folders.flat_map(|folder| list(&folder)).collect()
}

/// Asks the user to type the word.
fn confirm() -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("there is no terminal to confirm the removal\nhint: `--yes` removes without asking");
    }
    output::print_note(&format!("type `{CONFIRMATION}` to remove all of it"));
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.context("read the answer")?;
    Ok(line.trim() == CONFIRMATION)
}

/// Removes the worktrees of all sessions from their repositories. A worktree that git can't remove
/// is removed as a directory.
fn remove_worktrees(directory: &Path) {
    let Ok(usage) = measure_database(directory) else {
        return;
    };
    let tracker = ChangeTracker::new(ServerConfig::new(directory).changes_dir());
    for session in usage.sessions.keys() {
        let removed = tracker.remove_worktree(session, WorktreeDisposal::Discard);
        if let Err(error) = removed {
            output::print_note(&format!(
                "{session}: git did not remove its worktree: {error}\n\
                 `git worktree prune` removes the entry in its repository"
            ));
        }
    }
}

fn remove_entries(directory: &Path) -> anyhow::Result<()> {
    for name in ENTRIES {
        remove_path(&directory.join(name))?;
    }
    let entries =
        std::fs::read_dir(directory).with_context(|| format!("list `{}`", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.starts_with(DAMAGED_PREFIX)) {
            remove_path(&path)?;
        }
    }
    Ok(())
}

/// Removes the log files. They may be in the state directory of the user.
fn remove_logs(directory: &Path, permit: StartPermit) -> anyhow::Result<()> {
    let files = LogFiles::of(directory);
    drop(permit);
    match files.log_path().parent() {
        Some(logs) => remove_path(logs),
        None => Ok(()),
    }
}

fn remove_path(path: &Path) -> anyhow::Result<()> {
    let is_directory = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let removed = match is_directory {
        true => std::fs::remove_dir_all(path),
        false => std::fs::remove_file(path),
    };
    let removed = match removed {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    removed.with_context(|| format!("remove `{}`", path.display()))
}
