//! `agenthost agents sign-in`: signs in with an agent.

use std::process::ExitCode;

use agenthost_acp::{
    AcpAgent, SignInKind, SignInMethod, SignInState, probe_agent, sign_in, sign_in_command,
};
use anyhow::{Context, bail};

use crate::connect::HostOptions;
use crate::output;

/// Sign in with an agent
///
/// Agents offer one or more sign-in methods. The agent signs in itself, often with a browser,
/// or a program runs in this terminal, or the agent needs a key in its environment. A single
/// method is used at once; if there are several and none is given, they are listed. agenthost
/// stores no credentials.
#[derive(clap::Args)]
pub(crate) struct SignInArgs {
    /// The agent
    agent: String,
    /// The id of the sign-in method [default: the only one]
    method: Option<String>,
    #[command(flatten)]
    host: HostOptions,
}

pub(crate) async fn run(arguments: SignInArgs) -> anyhow::Result<ExitCode> {
    let settings = arguments.host.resolve_settings()?;
    let name = &arguments.agent;
    let (found, agent) = super::find_offered_agent(&settings, name)?;
    let folder = tempfile::tempdir().context("create a temporary folder for the agent")?;
    let started = probe_agent(&agent, folder.path()).await;
    let examined = started.map_err(|reason| anyhow::anyhow!("start `{name}`: {reason}"))?;
    let hint = found.known.map(|known| known.sign_in.as_str());
    let method = match (&arguments.method, &*examined.sign_in_methods) {
        (Some(wanted), methods) => methods.iter().find(|method| method.id == *wanted),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let Some(method) = method else {
        if examined.sign_in_state == SignInState::SignedIn {
            output::print_note("already signed in");
        }
        list_methods(&examined.sign_in_methods, hint)?;
        return Ok(match &arguments.method {
            Some(_) => ExitCode::FAILURE,
            None => ExitCode::SUCCESS,
        });
    };
    run_method(&agent, method, folder.path()).await?;
    let checked = probe_agent(&agent, folder.path()).await;
    let checked = checked.map_err(|reason| anyhow::anyhow!("start `{name}`: {reason}"))?;
    match checked.sign_in_state {
        SignInState::SignedIn => {
            output::print_note(&format!("{} is ready", found.name));
            Ok(ExitCode::SUCCESS)
        }
        SignInState::SignedOut(hint) => {
            bail!("agent `{name}` still requires a sign-in\nhint: {hint}")
        }
        SignInState::Unknown(reason) => bail!("agent `{name}` cannot create a session: {reason}"),
    }
}

/// Prints the sign-in methods of an agent.
fn list_methods(methods: &[SignInMethod], hint: Option<&str>) -> anyhow::Result<()> {
    for method in methods {
        let how = match &method.kind {
            SignInKind::Agent => "by the agent".to_owned(),
            SignInKind::Terminal(_) => "in this terminal".to_owned(),
            SignInKind::Variables(names) => format!("needs {}", names.join(", ")),
        };
        let id = output::escape_invisible(&method.id);
        let about = method.description.as_deref().unwrap_or(&method.name);
        output::print_data(&format!(
            "{id:<20}{how:<20}{}",
            output::escape_invisible(about)
        ))?;
    }
    if let Some(hint) = hint {
        output::print_note(&format!("or: {hint}"));
    }
    Ok(())
}

async fn run_method(
    agent: &AcpAgent,
    method: &SignInMethod,
    folder: &std::path::Path,
) -> anyhow::Result<()> {
    match &method.kind {
        SignInKind::Agent => {
            output::print_note(&format!("signing in: {} (a browser may open)", method.name));
            sign_in_through_agent(agent, method, folder).await
        }
        SignInKind::Terminal(way) => {
            // The program uses the terminal until it exits, so nothing else may print
            // meanwhile.
            let mut command = sign_in_command(agent, way);
            let ran = tokio::task::spawn_blocking(move || command.status()).await;
            let status = ran.context("sign in")?.context("run the sign-in program")?;
            if !status.success() {
                bail!("the sign-in program failed: {status}");
            }
            Ok(())
        }
        SignInKind::Variables(names) => {
            let missing = names.iter().find(|name| !has_variable(agent, name));
            if let Some(missing) = missing {
                bail!(
                    "environment variable `{missing}` is not set\n\
                     hint: set it here and where the host runs, or in `env` of the agent in the configuration"
                );
            }
            sign_in_through_agent(agent, method, folder).await
        }
    }
}

async fn sign_in_through_agent(
    agent: &AcpAgent,
    method: &SignInMethod,
    folder: &std::path::Path,
) -> anyhow::Result<()> {
    let done = sign_in(agent, folder, &method.id).await;
    done.map_err(|reason| anyhow::anyhow!("sign in with `{}`: {reason}", agent.id()))
}

/// Returns `true` if the environment of the agent will contain a variable.
fn has_variable(agent: &AcpAgent, name: &str) -> bool {
    let environment = agent.launch().environment;
    let mut named = environment.iter().filter(|(other, _)| other == name);
    named.any(|(_, value)| match value.strip_prefix('$') {
        Some(reference) => std::env::var_os(reference).is_some(),
        None => true,
    })
}
