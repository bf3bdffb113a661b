//! `agenthost agents`: lists agents, probes them, and signs in.

pub(crate) mod check;
mod sign_in;

use std::process::ExitCode;

use agenthost_acp::{AcpAgent, KnownAgent};
use anyhow::{Context, bail};
use clap::Subcommand;

use crate::config::{AgentCandidate, OfferState};
use crate::connect::{HostOptions, HostSettings};
use crate::output;
pub(crate) use check::{AgentReport, AgentStatus, CheckDepth, probe_agents, wait_for_interrupt};

/// List the known agents, whether they work, and how to set up the others
///
/// Starts each installed agent briefly to check that it responds and is signed in, and prints
/// each result as soon as it is there. Sends no prompt.
#[derive(clap::Args)]
#[command(after_help = AGENTS_EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    command: Option<AgentsCommand>,
    #[command(flatten)]
    host: HostOptions,
    /// Only check which agents are installed; start nothing
    #[arg(long)]
    quick: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum AgentsCommand {
    SignIn(sign_in::SignInArgs),
}

const AGENTS_EXAMPLES: &str = "\
Examples:
  agenthost agents
  agenthost agents --quick --json
  agenthost agents sign-in gemini             list the methods, or use the only one
  agenthost agents sign-in gemini oauth-personal";

/// Returns an agent that is offered here, and its entry in the list of known agents.
pub(crate) fn find_offered_agent(
    settings: &HostSettings,
    name: &str,
) -> anyhow::Result<(SelectedAgent, AcpAgent)> {
    let mut candidates = settings.candidates()?.into_iter();
    let found = candidates.find(|candidate| candidate.id == name);
    let found = found.with_context(|| {
        if name == "shell" {
            "the built-in shell stores no sessions and needs no sign-in".to_owned()
        } else {
            format!("there is no agent `{name}`\nhint: `agenthost agents --quick` lists them")
        }
    })?;
    let agent = match found.offer_state {
        OfferState::Offered(agent) => *agent,
        OfferState::Missing => {
            let install = found.known.map_or("", |known| known.install.as_str());
            bail!("agent `{name}` is not installed\nhint: {install}");
        }
        OfferState::Hidden | OfferState::NeverAsks => {
            bail!(
                "agent `{name}` is not offered\nhint: `agenthost agents --quick` prints the reason"
            )
        }
    };
    let (name, known) = (found.name, found.known);
    Ok((SelectedAgent { name, known }, agent))
}

/// The name of an agent and its entry in the list of known agents, if it has one.
pub(crate) struct SelectedAgent {
    pub(crate) name: String,
    pub(crate) known: Option<&'static KnownAgent>,
}

pub(crate) async fn run(arguments: AgentsArgs) -> anyhow::Result<ExitCode> {
    if let Some(AgentsCommand::SignIn(arguments)) = arguments.command {
        return tokio::select! {
            done = sign_in::run(arguments) => done,
            () = check::wait_for_interrupt() => bail!("interrupted"),
        };
    }
    let settings = arguments.host.resolve_settings()?;
    let depth = if arguments.quick {
        CheckDepth::InstalledOnly
    } else {
        CheckDepth::StartAgent
    };
    let candidates = settings.candidates()?;
    let is_started = |candidate: &&AgentCandidate| {
        matches!(candidate.offer_state, OfferState::Offered(_)) && depth == CheckDepth::StartAgent
    };
    let started = candidates.iter().filter(is_started).count();
    if started > 0 && !arguments.json {
        output::print_note(&format!(
            "starting {started} {} to check {}, for up to {} s each",
            if started == 1 { "agent" } else { "agents" },
            if started == 1 { "it" } else { "them" },
            check::CHECK_TIMEOUT.as_secs()
        ));
    }
    let print_report = |report: AgentReport| {
        let line = if arguments.json {
            serde_json::to_string(&report)?
        } else {
            let hint = report.hint.as_ref();
            let hint = hint.map_or(String::new(), |hint| format!("\n{:25}{hint}", ""));
            let state = report.state.label();
            format!("{:<11}{state:<14}{}{hint}", report.id, report.found)
        };
        output::print_data(&line)
    };
    probe_agents(candidates, depth, print_report).await?;
    Ok(ExitCode::SUCCESS)
}
