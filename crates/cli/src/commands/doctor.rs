//! `agenthost doctor`: checks the installation and prints a hint for each problem.

mod customizations;
mod deep;
mod disk;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agenthost_client::{Client, ReadyFile};
use agenthost_server::{HOST_FILE, ServerConfig};
use agenthost_store::StoreError;
use serde::Serialize;

use crate::commands::agents::{AgentReport, AgentStatus, CheckDepth, probe_agents};
use crate::config;
use crate::config::FileConfig;
use crate::connect::{HostOptions, HostSettings, client_options};
use crate::host_settings::storage_problem;
use crate::{output, terminal_environment};

/// Check the installation, and print how to fix problems
#[derive(clap::Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    host: HostOptions,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// Check every row of the database and all stored content, without changing anything. A
    /// host may run meanwhile
    #[arg(long)]
    deep: bool,
}

/// The result of one check.
#[derive(Debug, Serialize)]
struct DoctorCheck {
    what: Cow<'static, str>,
    ok: bool,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl DoctorCheck {
    fn passed(what: impl Into<Cow<'static, str>>, found: impl Into<String>) -> Self {
        DoctorCheck {
            what: what.into(),
            ok: true,
            found: found.into(),
            hint: None,
        }
    }

    fn failed(
        what: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        DoctorCheck {
            what: what.into(),
            ok: false,
            found: found.into(),
            hint: Some(hint.into()),
        }
    }
}

pub(crate) async fn run(arguments: DoctorArgs) -> anyhow::Result<ExitCode> {
    let mut findings = vec![DoctorCheck::passed("version", env!("CARGO_PKG_VERSION"))];
    findings.push(diagnose_configuration(&arguments.host));
    let settings = arguments.host.resolve_settings();
    match &settings {
        Ok(settings) => {
            let directory = &settings.data_directory;
            findings.push(diagnose_data_directory(directory));
            findings.push(disk::diagnose_disk(directory));
            findings.push(diagnose_host(directory).await);
            if arguments.deep {
                findings.extend(deep::check_data(directory, arguments.json)?);
            }
            findings.extend(list_worktrees(directory));
        }
        // `diagnose_configuration` has reported the error.
        Err(_) => {
            let named = arguments.host.data_dir.as_deref();
            findings.extend(named.map(diagnose_data_directory));
        }
    }
    findings.push(diagnose_shell());
    findings.push(diagnose_git());
    findings.push(list_passed_variables());
    if let Ok(settings) = &settings {
        findings.extend(customizations::diagnose_customizations(&arguments.host).await);
        findings.extend(diagnose_agents(settings).await?);
    }
    let mut ok = true;
    for finding in &findings {
        ok &= finding.ok;
        let line = if arguments.json {
            serde_json::to_string(finding)?
        } else {
            let mark = if finding.ok { "ok      " } else { "problem " };
            let hint = finding.hint.as_ref();
            let hint = hint.map_or(String::new(), |hint| format!("\n        {hint}"));
            output::escape_lines(&format!(
                "{mark}{:<15}{}{hint}",
                finding.what, finding.found
            ))
        };
        output::print_data(&line)?;
    }
    Ok(if ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn diagnose_configuration(options: &HostOptions) -> DoctorCheck {
    let what = "configuration";
    let read = FileConfig::load(options.config.as_deref());
    let applied = read.and_then(|file| file.apply(&mut ServerConfig::new("unused")));
    if let Err(error) = applied {
        let hint = "correct the file; docs/configuration.md has every key";
        return DoctorCheck::failed(what, format!("{error:#}"), hint);
    }
    match (&options.config, config::default_config_path()) {
        (Some(path), _) => DoctorCheck::passed(what, path.display().to_string()),
        (None, Some(path)) if path.exists() => {
            DoctorCheck::passed(what, path.display().to_string())
        }
        (None, Some(path)) => {
            let found = format!("none (optional); the default path is {}", path.display());
            DoctorCheck::passed(what, found)
        }
        (None, None) => DoctorCheck::passed(what, "none (optional)"),
    }
}

fn diagnose_data_directory(directory: &Path) -> DoctorCheck {
    let what = "data";
    let shown = directory.display();
    if !directory.exists() {
        return DoctorCheck::passed(what, format!("{shown} will be created at the first start"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = directory.metadata().map(|found| found.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            let hint = format!("chmod 700 {shown}");
            return DoctorCheck::failed(what, format!("{shown} can be read by other users"), hint);
        }
        let token = directory.join("token");
        let mode = token.metadata().map(|found| found.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            let hint = format!("chmod 600 {}", token.display());
            let found = format!("{} can be read by other users", token.display());
            return DoctorCheck::failed(what, found, hint);
        }
    }
    match agenthost_store::inspect(directory) {
        Ok(None) => DoctorCheck::passed(what, format!("{shown}, 0 sessions")),
        Ok(Some(summary)) => {
            let count = summary.sessions;
            let sessions = if count == 1 { "session" } else { "sessions" };
            let migration = match summary.needs_migration {
                true => "; the next start of the host converts it",
                false => "",
            };
            // A failure to read the lock is reported by the commands that need it.
            let in_use = match agenthost_store::is_in_use(directory) {
                Ok(true) => ", in use",
                Ok(false) | Err(_) => "",
            };
            DoctorCheck::passed(
                what,
                format!("{shown}, {count} {sessions}{in_use}{migration}"),
            )
        }
        Err(StoreError::NoSpace { problem, .. }) => {
            DoctorCheck::failed(what, format!("{shown}: {problem}"), disk::SPACE_HINT)
        }
        Err(error) => {
            let hint = "restore the directory from a backup, or select another with --data-dir";
            DoctorCheck::failed(what, error.to_string(), hint)
        }
    }
}

async fn diagnose_host(directory: &Path) -> DoctorCheck {
    let what = "host";
    let Ok(found) = ReadyFile::read(&directory.join(HOST_FILE)) else {
        return DoctorCheck::passed(what, "not running; `agenthost start` starts it");
    };
    let address = match found.address() {
        Ok(address) => address,
        Err(error) => return DoctorCheck::passed(what, error.to_string()),
    };
    let hello = match client_options(Duration::ZERO) {
        Ok(hello) => hello,
        Err(error) => {
            return DoctorCheck::failed(
                what,
                error.to_string(),
                "check that /dev/urandom is available",
            );
        }
    };
    let shown = match (&found.url, &found.socket) {
        (Some(url), _) => url.clone(),
        (None, Some(socket)) => socket.display().to_string(),
        (None, None) => String::new(),
    };
    match Client::connect(&address, hello).await {
        Ok(mut client) => {
            if let Ok(Some(problem)) = storage_problem(&mut client).await {
                let pid = found.pid;
                let found = format!("process {pid} refuses changes: {problem}");
                return DoctorCheck::failed(what, found, disk::SPACE_HINT);
            }
            DoctorCheck::passed(
                what,
                format!(
                    "version {} runs as process {} at {shown}",
                    found.version, found.pid
                ),
            )
        }
        Err(error) => {
            let found = format!("process {} at {shown} does not respond: {error}", found.pid);
            let hint = "the host was killed or hangs; `agenthost start` continues from the log";
            DoctorCheck::failed(what, found, hint)
        }
    }
}

/// Probes the agents. Reports each installed agent, and the others together on one line.
async fn diagnose_agents(settings: &HostSettings) -> anyhow::Result<Vec<DoctorCheck>> {
    // `diagnose_configuration` has reported the error.
    let candidates = settings.candidates().unwrap_or_default();
    let order: Vec<_> = candidates.iter().map(|one| one.id.clone()).collect();
    let mut reports = Vec::new();
    let add_report = |report| {
        reports.push(report);
        Ok(())
    };
    probe_agents(candidates, CheckDepth::StartAgent, add_report).await?;
    reports.sort_by_key(|report: &AgentReport| order.iter().position(|id| *id == report.id));
    let missing = |report: &&AgentReport| report.state == AgentStatus::NotInstalled;
    let missing: Vec<_> = reports.iter().filter(missing).collect();
    let names: Vec<_> = missing.iter().map(|report| report.id.as_str()).collect();
    let mut found = Vec::new();
    for report in reports
        .iter()
        .filter(|one| one.state != AgentStatus::NotInstalled)
    {
        found.push(DoctorCheck {
            what: format!("agent {}", report.id).into(),
            ok: !report.state.is_problem(),
            found: match report.state {
                AgentStatus::Ready => format!("{}, signed in", report.found),
                _ => report.found.clone(),
            },
            hint: report.hint.clone(),
        });
    }
    if !names.is_empty() {
        let names = names.join(", ");
        let line = format!("not installed: {names}; `agenthost agents` prints how to install them");
        found.push(DoctorCheck::passed("agents", line));
    }
    Ok(found)
}

/// Lists the worktrees of sessions, and those that were kept when their session was
/// removed.
fn list_worktrees(directory: &Path) -> Vec<DoctorCheck> {
    let folders = |path: PathBuf| {
        let entries = std::fs::read_dir(path).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path()))
    };
    let sessions = folders(directory.join("changes/worktrees"));
    let found = sessions.flat_map(folders);
    found
        .map(|path| DoctorCheck::passed("worktree", path.display().to_string()))
        .collect()
}

fn diagnose_git() -> DoctorCheck {
    let hint = "install git to show, undo and commit the changes of agents";
    match agenthost_workspace::git_version() {
        Ok(version) => {
            let version = version.trim_start_matches("git version ");
            DoctorCheck::passed("git", output::escape_invisible(version))
        }
        Err(error) => DoctorCheck::failed("git", format!("cannot run git: {error}"), hint),
    }
}

/// Lists the variables that sessions get from this terminal, without their values.
fn list_passed_variables() -> DoctorCheck {
    let names = terminal_environment::passed_names().join(", ");
    DoctorCheck::passed(
        "environment",
        format!("sessions of this terminal get {names}"),
    )
}

fn diagnose_shell() -> DoctorCheck {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join("sh"));
    match found.into_iter().find(|path| path.is_file()) {
        Some(path) => DoctorCheck::passed("agent shell", path.display().to_string()),
        None => DoctorCheck::failed(
            "agent shell",
            "`sh` was not found on PATH",
            "install a shell",
        ),
    }
}
