//! Chooses the agent of a new session.

use agenthost_client::Client;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::{Json, Object};
use anyhow::bail;

use super::question::choose;
use crate::connect::HostTarget;
use crate::host_settings::{self, DEFAULT_AGENT_KEY};
use crate::output;
use crate::terminal::can_ask;

/// The id of the built-in agent that runs messages as commands.
pub(crate) const SHELL_AGENT: &str = "shell";

/// Returns the agent for a new session: the named one, or the default agent. If the user has
/// agents besides the shell and has never chosen one, asks once and remembers the answer.
pub(crate) async fn choose_agent(
    client: &mut Client,
    named: Option<&str>,
    target: &HostTarget,
) -> anyhow::Result<Option<ProviderId>> {
    if let Some(named) = named {
        return Ok(Some(ProviderId::from(named)));
    }
    let default = host_settings::default_agent(client).await?;
    let is_shell = default
        .agent
        .as_ref()
        .is_none_or(|agent| agent.as_str() == SHELL_AGENT);
    let is_chosen = default.is_chosen
        || target.remote.is_none() && target.local.resolve_settings()?.file.has_default_agent();
    if is_chosen || !is_shell || default.agents.len() < 2 {
        return Ok(default.agent);
    }
    if !can_ask() {
        output::print_note(
            "no agent was chosen yet, so the message is run as a command; --agent NAME names one",
        );
        return Ok(default.agent);
    }
    // The shell is the last choice: the others understand sentences.
    let (shell, mut agents): (Vec<AgentInfo>, Vec<AgentInfo>) = default
        .agents
        .into_iter()
        .partition(|agent| agent.provider.as_str() == SHELL_AGENT);
    agents.extend(shell);
    let labels: Vec<_> = agents.iter().map(agent_label).collect();
    let question = "Which agent should get your messages? The answer is remembered.";
    let Some(agent) = choose(question, &labels)?.and_then(|index| agents.get(index)) else {
        bail!("no agent was chosen\nhint: `--agent NAME` names one");
    };
    let agent = agent.provider.clone();
    remember_agent(client, &agent).await?;
    output::print_note(&format!(
        "`{agent}` is the default agent now; `--agent NAME` names another one, and a message that \
         begins with `!` runs a command"
    ));
    Ok(Some(agent))
}

/// Returns the named agent, or the default agent without asking.
pub(crate) async fn default_or_named_agent(
    client: &mut Client,
    named: Option<&str>,
) -> anyhow::Result<Option<ProviderId>> {
    match named {
        Some(named) => Ok(Some(ProviderId::from(named))),
        None => Ok(host_settings::default_agent(client).await?.agent),
    }
}

async fn remember_agent(client: &mut Client, agent: &ProviderId) -> anyhow::Result<()> {
    let root = Uri::from(RootChannel);
    host_settings::read_settings(client).await?;
    let value = (DEFAULT_AGENT_KEY.to_owned(), Json::from(agent.as_str()));
    host_settings::change_settings(client, Object::from_iter([value])).await?;
    client.unsubscribe(&root).await?;
    Ok(())
}

fn agent_label(agent: &AgentInfo) -> String {
    match agent.provider.as_str() {
        SHELL_AGENT => format!("{SHELL_AGENT} (runs each message as a command)"),
        id if agent.display_name.eq_ignore_ascii_case(id) || agent.display_name.is_empty() => {
            id.to_owned()
        }
        id => format!("{id} ({})", agent.display_name),
    }
}

/// Returns the agent of a session whose channel is subscribed.
pub(crate) fn agent_of_session(client: &Client, session: &Uri) -> Option<ProviderId> {
    match client.state(session)? {
        ChannelState::Session(state) => Some(state.metadata.provider.clone()),
        _ => None,
    }
}
