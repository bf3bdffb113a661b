//! `agenthost doctor`: what is here, what works, what to do.

mod customizations;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agenthost_client::{Client, Ready};
use agenthost_server::{HOST_FILE, ServerConfig};
use agenthost_store::{Durability, Store, StoreError};
use serde::Serialize;

use crate::agents::{Depth, Report, State, examine_all};
use crate::config::{self, FileConfig};
use crate::output;
use crate::place::{Place, Settings, hello};

/// Check what is here, what works, and say what to do about the rest
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// Something that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    what: Cow<'static, str>,
    ok: bool,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Finding {
    fn good(what: impl Into<Cow<'static, str>>, found: impl Into<String>) -> Self {
        Finding {
            what: what.into(),
            ok: true,
            found: found.into(),
            hint: None,
        }
    }

    fn bad(
        what: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Finding {
            what: what.into(),
            ok: false,
            found: found.into(),
            hint: Some(hint.into()),
        }
    }
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let mut findings = vec![Finding::good("version", env!("CARGO_PKG_VERSION"))];
    findings.push(configuration(&arguments.place));
    let settings = arguments.place.settings();
    match &settings {
        Ok(settings) => {
            let directory = &settings.data_directory;
            findings.push(data(directory));
            findings.push(host(directory).await);
            findings.extend(worktrees(directory));
        }
        // What is wrong with them was said above.
        Err(_) => findings.extend(arguments.place.data_dir.as_deref().map(data)),
    }
    findings.push(shell());
    findings.push(git());
    if let Ok(settings) = &settings {
        findings.extend(customizations::look(&arguments.place).await);
        findings.extend(agents(settings).await?);
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
            output::plain_lines(&format!(
                "{mark}{:<15}{}{hint}",
                finding.what, finding.found
            ))
        };
        output::data(&line)?;
    }
    Ok(if ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn configuration(place: &Place) -> Finding {
    let what = "configuration";
    let read = FileConfig::load(place.config.as_deref());
    let applied = read.and_then(|file| file.apply(&mut ServerConfig::new("unused")));
    if let Err(error) = applied {
        let hint = "correct the file; docs/configuration.md has every key";
        return Finding::bad(what, format!("{error:#}"), hint);
    }
    match (&place.config, config::usual_place()) {
        (Some(path), _) => Finding::good(what, path.display().to_string()),
        (None, Some(path)) if path.exists() => Finding::good(what, path.display().to_string()),
        (None, Some(path)) => {
            let found = format!("none, and none needed; it would be in {}", path.display());
            Finding::good(what, found)
        }
        (None, None) => Finding::good(what, "none, and none needed"),
    }
}

fn data(directory: &Path) -> Finding {
    let what = "data";
    let shown = directory.display();
    if !directory.exists() {
        return Finding::good(what, format!("{shown} will be made at the first start"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = directory.metadata().map(|found| found.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            let hint = format!("chmod 700 {shown}");
            return Finding::bad(what, format!("{shown} can be read by others"), hint);
        }
        let token = directory.join("token");
        let mode = token.metadata().map(|found| found.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            let hint = format!("chmod 600 {}", token.display());
            let found = format!("{} can be read by others", token.display());
            return Finding::bad(what, found, hint);
        }
    }
    match Store::open(directory, Durability::Process) {
        Ok(mut store) => match store.remembered() {
            Ok(remembered) => {
                let count = remembered.sessions.len();
                let (found, seq) = (format!("{shown}, {count} sessions"), remembered.seq.0);
                Finding::good(what, format!("{found}, {seq} actions so far"))
            }
            Err(error) => Finding::bad(what, error.to_string(), "restore a copy of the directory"),
        },
        // A host has it, and that is how it should be.
        Err(StoreError::InUse { holder, .. }) => {
            Finding::good(what, format!("{shown}, in use by {}", holder.trim()))
        }
        Err(error) => {
            let hint = "restore a copy of the directory, or name another with --data-dir";
            Finding::bad(what, error.to_string(), hint)
        }
    }
}

async fn host(directory: &Path) -> Finding {
    let what = "host";
    let Ok(found) = Ready::read(&directory.join(HOST_FILE)) else {
        return Finding::good(what, "not running; `agenthost serve` starts it");
    };
    let address = match found.address() {
        Ok(address) => address,
        Err(error) => return Finding::good(what, error.to_string()),
    };
    let hello = match hello(Duration::ZERO) {
        Ok(hello) => hello,
        Err(error) => return Finding::bad(what, error.to_string(), "is /dev/urandom there?"),
    };
    let shown = match (&found.url, &found.socket) {
        (Some(url), _) => url.clone(),
        (None, Some(socket)) => socket.display().to_string(),
        (None, None) => String::new(),
    };
    match Client::connect(&address, hello).await {
        Ok(_) => Finding::good(
            what,
            format!(
                "version {} runs as process {} at {shown}",
                found.version, found.pid
            ),
        ),
        Err(error) => {
            let found = format!(
                "process {} was at {shown} and does not answer: {error}",
                found.pid
            );
            let hint = "it was killed, or is stuck; `agenthost serve` goes on where it was";
            Finding::bad(what, found, hint)
        }
    }
}

/// Agents: those that are here with all there is to say, the others in a line.
async fn agents(settings: &Settings) -> anyhow::Result<Vec<Finding>> {
    // What is wrong with the configuration was said above.
    let candidates = settings.candidates().unwrap_or_default();
    let reports = examine_all(candidates, Depth::Start).await?;
    let missing = |report: &&Report| report.state == State::NotInstalled;
    let missing: Vec<_> = reports.iter().filter(missing).collect();
    let names: Vec<_> = missing.iter().map(|report| report.id.as_str()).collect();
    let mut found = Vec::new();
    for report in reports
        .iter()
        .filter(|one| one.state != State::NotInstalled)
    {
        found.push(Finding {
            what: format!("agent {}", report.id).into(),
            ok: !report.state.is_problem(),
            found: match report.state {
                State::Ready => format!("{}, signed in", report.found),
                _ => report.found.clone(),
            },
            hint: report.hint.clone(),
        });
    }
    if !names.is_empty() {
        let names = names.join(", ");
        let line = format!("not installed: {names}; `agenthost agents` says how to get them");
        found.push(Finding::good("agents", line));
    }
    Ok(found)
}

/// Worktrees of sessions, and those that were worth keeping when their session
/// went.
fn worktrees(directory: &Path) -> Vec<Finding> {
    let folders = |path: PathBuf| {
        let entries = std::fs::read_dir(path).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path()))
    };
    let sessions = folders(directory.join("changes/worktrees"));
    let found = sessions.flat_map(folders);
    found
        .map(|path| Finding::good("worktree", path.display().to_string()))
        .collect()
}

fn git() -> Finding {
    let hint = "install git to see, undo and commit what agents change";
    match agenthost_workspace::git_version() {
        Ok(version) => {
            let version = version.trim_start_matches("git version ");
            Finding::good("git", output::plain(version))
        }
        Err(error) => Finding::bad("git", format!("it can't be run: {error}"), hint),
    }
}

fn shell() -> Finding {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join("sh"));
    match found.into_iter().find(|path| path.is_file()) {
        Some(path) => Finding::good("agent shell", path.display().to_string()),
        None => Finding::bad("agent shell", "there is no `sh` on PATH", "install a shell"),
    }
}
