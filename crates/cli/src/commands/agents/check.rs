//! Checks which agents are installed, start and are signed in.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agenthost_acp::{AcpAgent, KnownAgent, SignInState, probe_agent, program_version};
use anyhow::{Context, bail};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::config::{AgentCandidate, OfferState};
use crate::output;

/// Maximum number of agents that are started at the same time. Some use all cores while
/// they start.
const MAX_CONCURRENT_STARTS: usize = 3;

/// Time after which an agent no longer counts as one that is starting.
const START_TURN: Duration = Duration::from_secs(10);

/// Timeout for the check of one agent. The first start of some agents takes ten seconds on an
/// idle machine.
pub(crate) const CHECK_TIMEOUT: Duration = Duration::from_secs(45);

/// The extent of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckDepth {
    /// Checks only if the program is installed.
    InstalledOnly,
    /// Also starts each installed agent for a short time.
    StartAgent,
}

/// The result of checking an agent.
#[derive(Debug, Serialize)]
pub(crate) struct AgentReport {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) state: AgentStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// A description for the user.
    pub(crate) found: String,
    /// A suggestion how to fix the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

/// The state of an agent, as reported to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AgentStatus {
    /// The agent can start sessions.
    Ready,
    /// The agent is installed; it was not started.
    Installed,
    /// The agent requires the user to sign in.
    SignIn,
    /// The agent does not start, or cannot create a session.
    Broken,
    /// The agent would run everything without asking, so it is not offered.
    NotOffered,
    /// The configuration disables the agent.
    Hidden,
    /// The program of the agent was not found.
    NotInstalled,
}

impl AgentStatus {
    /// Returns the text that is printed for this state.
    pub(crate) fn label(self) -> &'static str {
        match self {
            AgentStatus::Ready => "ready",
            AgentStatus::Installed => "installed",
            AgentStatus::SignIn => "sign in",
            AgentStatus::Broken => "broken",
            AgentStatus::NotOffered => "not offered",
            AgentStatus::Hidden => "hidden",
            AgentStatus::NotInstalled => "not installed",
        }
    }

    /// Returns `true` if the user has to act before the agent can be used.
    pub(crate) fn is_problem(self) -> bool {
        match self {
            AgentStatus::SignIn | AgentStatus::Broken => true,
            AgentStatus::Ready
            | AgentStatus::Installed
            | AgentStatus::NotOffered
            | AgentStatus::Hidden
            | AgentStatus::NotInstalled => false,
        }
    }
}

/// Checks agents concurrently and passes each report to `on_report` as soon as there is one. Each
/// check has a timeout and leaves no process running.
pub(crate) async fn probe_agents(
    candidates: Vec<AgentCandidate>,
    depth: CheckDepth,
    mut on_report: impl FnMut(AgentReport) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let folder = tempfile::tempdir().context("create a temporary folder for the agents")?;
    let mut tasks = JoinSet::new();
    let starts = Arc::new(Semaphore::new(MAX_CONCURRENT_STARTS));
    for candidate in candidates {
        let folder = folder.path().to_owned();
        let starts = Arc::clone(&starts);
        tasks.spawn(async move {
            // The semaphore is never closed, so this cannot fail.
            let permit = starts.acquire().await;
            let mut probe = std::pin::pin!(probe_candidate(candidate, depth, &folder));
            tokio::select! {
                report = &mut probe => return report,
                // An agent that hangs must not keep others from starting.
                () = tokio::time::sleep(START_TURN) => drop(permit),
            }
            probe.await
        });
    }
    let mut stop = std::pin::pin!(wait_for_interrupt());
    loop {
        let done = tokio::select! {
            done = tasks.join_next() => done,
            () = &mut stop => {
                // Aborting the tasks ends the agent processes.
                tasks.shutdown().await;
                bail!("interrupted");
            }
        };
        match done {
            Some(report) => on_report(report.context("probe an agent")?)?,
            None => return Ok(()),
        }
    }
}

async fn probe_candidate(
    candidate: AgentCandidate,
    depth: CheckDepth,
    folder: &Path,
) -> AgentReport {
    let program = candidate.program.as_ref();
    let program = program.map(|program| output::escape_invisible(&program.display().to_string()));
    let shown = program.clone().unwrap_or_default();
    let known = candidate.known;
    let mut report = AgentReport {
        id: candidate.id,
        name: candidate.name,
        state: AgentStatus::NotInstalled,
        program,
        version: None,
        found: String::new(),
        hint: None,
    };
    let agent = match candidate.offer_state {
        OfferState::Missing => {
            report.found = known.map_or(String::new(), |known| known.install.clone());
            return report;
        }
        OfferState::Hidden => {
            report.state = AgentStatus::Hidden;
            report.found = "disabled in the configuration (`enabled = false`)".to_owned();
            return report;
        }
        OfferState::NeverAsks => {
            report.state = AgentStatus::NotOffered;
            report.found = format!("{shown} runs everything without requesting approval");
            let hint = "set `allow_trusting = true` for it in the configuration to offer it anyway";
            report.hint = Some(hint.to_owned());
            return report;
        }
        OfferState::Offered(agent) => agent,
    };
    if report.program.is_none() {
        report.state = AgentStatus::Broken;
        let program = output::escape_invisible(&agent.launch().program);
        report.found = format!("program `{program}` was not found");
        report.hint = Some("correct its `command` in the configuration".to_owned());
        return report;
    }
    if known.is_some_and(|known| known.not_as_root) && is_root() {
        report.state = AgentStatus::Broken;
        report.found = format!("{shown} does not run as root");
        report.hint = Some("run the host as another user".to_owned());
        return report;
    }
    if depth == CheckDepth::InstalledOnly {
        report.state = AgentStatus::Installed;
        report.found = shown;
        return report;
    }
    probe_startup(report, &shown, &agent, known, folder).await
}

async fn probe_startup(
    mut report: AgentReport,
    description: &str,
    agent: &AcpAgent,
    known: Option<&KnownAgent>,
    folder: &Path,
) -> AgentReport {
    // Dropping the probe ends the processes of the agent.
    let examined = tokio::time::timeout(CHECK_TIMEOUT, probe_agent(agent, folder)).await;
    let Ok(examined) = examined else {
        let seconds = CHECK_TIMEOUT.as_secs();
        report.state = AgentStatus::Broken;
        report.found = format!("{description} does not respond within {seconds} s");
        report.hint = known.map(|known| format!("to reinstall it: {}", known.install));
        return report;
    };
    let reported_version = examined
        .as_ref()
        .ok()
        .and_then(|examined| examined.version.clone());
    let version_arguments = known.map_or(&[][..], |known| &known.version);
    report.version = match reported_version {
        None if !version_arguments.is_empty() => {
            program_version(&agent.launch(), version_arguments).await
        }
        said => said,
    };
    let version = report.version.as_ref();
    let version = version.map(|version| format!(", version {}", output::escape_invisible(version)));
    let shown = format!("{description}{}", version.unwrap_or_default());
    let install = known.map(|known| format!("to reinstall it: {}", known.install));
    let (state, found, hint) = match examined {
        Ok(examined) => match examined.sign_in_state {
            SignInState::SignedIn => (AgentStatus::Ready, shown, None),
            SignInState::SignedOut(hint) => {
                let found = format!("{shown}, not signed in or not set up");
                (AgentStatus::SignIn, found, Some(hint))
            }
            SignInState::Unknown(reason) => {
                let found = format!("{shown}, cannot create a session: {reason}");
                let hint = known.map(|known| known.sign_in.clone());
                (AgentStatus::Broken, found, hint)
            }
        },
        Err(reason) => {
            let found = format!("{shown}, does not respond: {reason}");
            (AgentStatus::Broken, found, install)
        }
    };
    report.state = state;
    report.found = output::escape_invisible(&found);
    report.hint = hint.map(|hint| output::escape_invisible(&hint));
    report
}

/// Waits for SIGINT or SIGTERM. Agents run in their own process groups, so the terminal
/// does not send them the signal.
pub(crate) async fn wait_for_interrupt() {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
    let [interrupt, terminate] = kinds.map(signal);
    match (interrupt, terminate) {
        (Ok(mut interrupt), Ok(mut terminate)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        // Without handlers, the default action of the signals ends the process.
        _ => std::future::pending().await,
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    // The owner of `/proc/self` is the effective user of this process.
    let own = std::fs::metadata("/proc/self");
    own.is_ok_and(|own| own.uid() == 0)
}
