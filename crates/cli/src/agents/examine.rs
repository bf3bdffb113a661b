//! Whether agents are here and work.

use std::path::Path;
use std::sync::Arc;

use agenthost_agents::{AcpAgent, KnownAgent, SignedIn, examine, program_version};
use anyhow::{Context, bail};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::config::{Candidate, Standing};
use crate::output;

/// Most agents that start at the same time: some take all of a machine for a
/// moment.
const AT_ONCE: usize = 3;

/// How closely agents are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Whether they are installed.
    Look,
    /// Those that are, are started for a moment.
    Start,
}

/// What was found out about an agent.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// In words.
    pub(crate) found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

/// How far an agent can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// It begins sessions.
    Ready,
    /// It is there; more was not tried.
    Installed,
    /// Somebody has to sign in.
    SignIn,
    /// It does not work.
    Broken,
    /// It would do everything without asking, so it is not offered.
    NotOffered,
    /// The configuration hides it.
    Hidden,
    /// It is not installed.
    NotInstalled,
}

impl State {
    /// For people.
    pub(crate) fn word(self) -> &'static str {
        match self {
            State::Ready => "ready",
            State::Installed => "installed",
            State::SignIn => "sign in",
            State::Broken => "broken",
            State::NotOffered => "not offered",
            State::Hidden => "hidden",
            State::NotInstalled => "not installed",
        }
    }

    /// Whether a person should do something about it.
    pub(crate) fn is_problem(self) -> bool {
        match self {
            State::SignIn | State::Broken => true,
            State::Ready
            | State::Installed
            | State::NotOffered
            | State::Hidden
            | State::NotInstalled => false,
        }
    }
}

/// Looks at agents, some at once, and reports in their order. Each takes a
/// bounded time, and leaves nothing running.
pub(crate) async fn examine_all(
    candidates: Vec<Candidate>,
    depth: Depth,
) -> anyhow::Result<Vec<Report>> {
    let folder = tempfile::tempdir().context("a folder to try agents in")?;
    let mut tasks = JoinSet::new();
    let starts = Arc::new(Semaphore::new(AT_ONCE));
    for (place, candidate) in candidates.into_iter().enumerate() {
        let folder = folder.path().to_owned();
        let starts = Arc::clone(&starts);
        tasks.spawn(async move {
            // It is never closed.
            let _turn = starts.acquire().await;
            (place, report(candidate, depth, &folder).await)
        });
    }
    let mut stop = std::pin::pin!(interrupted());
    let mut reports = Vec::new();
    loop {
        let done = tokio::select! {
            done = tasks.join_next() => done,
            () = &mut stop => {
                // What they started ends with them.
                tasks.shutdown().await;
                bail!("interrupted");
            }
        };
        match done {
            Some(report) => reports.push(report.context("try an agent")?),
            None => break,
        }
    }
    reports.sort_by_key(|(place, _)| *place);
    Ok(reports.into_iter().map(|(_, report)| report).collect())
}

async fn report(candidate: Candidate, depth: Depth, folder: &Path) -> Report {
    let program = candidate.program.as_ref();
    let program = program.map(|program| output::plain(&program.display().to_string()));
    let shown = program.clone().unwrap_or_default();
    let known = candidate.known;
    let mut report = Report {
        id: candidate.id,
        name: candidate.name,
        state: State::NotInstalled,
        program,
        version: None,
        found: String::new(),
        hint: None,
    };
    let agent = match candidate.standing {
        Standing::Missing => {
            report.found = known.map_or(String::new(), |known| known.install.clone());
            return report;
        }
        Standing::Hidden => {
            report.state = State::Hidden;
            report.found = "the configuration says `enabled = false`".to_owned();
            return report;
        }
        Standing::NeverAsks => {
            report.state = State::NotOffered;
            report.found = format!("{shown} does everything without asking");
            let hint = "`allow_trusting = true` for it in the configuration offers it all the same";
            report.hint = Some(hint.to_owned());
            return report;
        }
        Standing::Offered(agent) => agent,
    };
    if report.program.is_none() {
        report.state = State::Broken;
        let program = output::plain(&agent.launch().program);
        report.found = format!("there is no program `{program}`");
        report.hint = Some("correct its `command` in the configuration".to_owned());
        return report;
    }
    if known.is_some_and(|known| known.not_as_root) && is_root() {
        report.state = State::Broken;
        report.found = format!("{shown} does not work for root");
        report.hint = Some("run the host as another user".to_owned());
        return report;
    }
    if depth == Depth::Look {
        report.state = State::Installed;
        report.found = shown;
        return report;
    }
    start(report, &shown, &agent, known, folder).await
}

async fn start(
    mut report: Report,
    shown: &str,
    agent: &AcpAgent,
    known: Option<&KnownAgent>,
    folder: &Path,
) -> Report {
    let examined = examine(agent, folder).await;
    let said = examined
        .as_ref()
        .ok()
        .and_then(|examined| examined.version.clone());
    let ask = known.map_or(&[][..], |known| &known.version);
    report.version = match said {
        None if !ask.is_empty() => program_version(&agent.launch(), ask).await,
        said => said,
    };
    let version = report.version.as_ref();
    let version = version.map(|version| format!(", version {}", output::plain(version)));
    let shown = format!("{shown}{}", version.unwrap_or_default());
    let install = known.map(|known| format!("to install it again: {}", known.install));
    let (state, found, hint) = match examined {
        Ok(examined) => match examined.signed_in {
            SignedIn::Yes => (State::Ready, shown, None),
            SignedIn::No(hint) => {
                let found = format!("{shown}, and nobody is signed in");
                (State::SignIn, found, Some(hint))
            }
            SignedIn::Unknown(reason) => {
                let found = format!("{shown}, can't begin a session: {reason}");
                let hint = known.map(|known| known.sign_in.clone());
                (State::Broken, found, hint)
            }
        },
        Err(reason) => {
            let found = format!("{shown}, does not answer: {reason}");
            (State::Broken, found, install)
        }
    };
    report.state = state;
    report.found = output::plain(&found);
    report.hint = hint.map(|hint| output::plain(&hint));
    report
}

/// Waits until somebody wants no more. Agents are in process groups of their
/// own, so they do not hear of it themselves.
pub(crate) async fn interrupted() {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
    let [interrupt, terminate] = kinds.map(signal);
    match (interrupt, terminate) {
        (Ok(mut interrupt), Ok(mut terminate)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        // Then the system does what it does by itself.
        _ => std::future::pending().await,
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    // What this process makes is its user's.
    let own = std::fs::metadata("/proc/self");
    own.is_ok_and(|own| own.uid() == 0)
}
