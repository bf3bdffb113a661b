//! Reads and changes the settings in the root channel of the host, such as granted folders
//! and trusted code.

use agenthost_client::{Client, ClientUpdate};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::root::{AgentInfo, RootAction, RootConfigChanged};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::{Json, Object};
use anyhow::{Context, bail};

/// The setting with the agent of sessions that name none.
pub(crate) const DEFAULT_AGENT_KEY: &str = "defaultAgent";

/// The setting with the reason why the host can't store changes.
const STORAGE_PROBLEM_KEY: &str = "storageProblem";

/// Returns the reason why the host can't store changes, if it can't.
pub(crate) async fn storage_problem(client: &mut Client) -> anyhow::Result<Option<String>> {
    let settings = read_settings(client).await?;
    let problem = settings.get(STORAGE_PROBLEM_KEY).and_then(Json::as_str);
    Ok(problem.map(str::to_owned))
}

/// Subscribes to the root channel and returns the settings of the host.
pub(crate) async fn read_settings(client: &mut Client) -> anyhow::Result<Object> {
    client.subscribe(&Uri::from(RootChannel)).await?;
    confirmed_settings(client)
}

/// The agent for sessions that name none.
pub(crate) struct DefaultAgent {
    /// The chosen agent, or the first one of the host.
    pub(crate) agent: Option<ProviderId>,
    /// `true` if the user has chosen it with the setting.
    pub(crate) is_chosen: bool,
    /// All agents of the host.
    pub(crate) agents: Vec<AgentInfo>,
}

/// Returns the agent for sessions that name none: the chosen one, or the first.
pub(crate) async fn default_agent(client: &mut Client) -> anyhow::Result<DefaultAgent> {
    let root = Uri::from(RootChannel);
    client.subscribe(&root).await?;
    let Some(ChannelState::Root(state)) = client.confirmed_state(&root) else {
        bail!("the host sent no state of the root channel");
    };
    let config = state.config.as_ref();
    let value = config.and_then(|config| config.values.get(DEFAULT_AGENT_KEY)?.as_str());
    let default = config.and_then(|config| {
        let property = config.schema.properties.get(DEFAULT_AGENT_KEY)?;
        property.default.as_ref()?.as_str()
    });
    let first = state.agents.first().map(|agent| agent.provider.clone());
    let found = DefaultAgent {
        agent: value.or(default).map(ProviderId::from).or(first),
        is_chosen: value.is_some(),
        agents: state.agents.clone(),
    };
    client.unsubscribe(&root).await?;
    Ok(found)
}

/// Changes settings of the host and waits until the host confirms them. [`read_settings`]
/// has to be called before, because it subscribes to the root channel.
pub(crate) async fn change_settings(client: &mut Client, config: Object) -> anyhow::Result<Object> {
    let replace = None;
    let changed = RootAction::ConfigChanged(RootConfigChanged {
        config: config.clone(),
        replace,
    });
    let sent = client.dispatch(&Uri::from(RootChannel), changed).await?;
    loop {
        match client.next_update().await? {
            ClientUpdate::Rejected { reason, .. } => {
                bail!("the host refused the settings: {reason}")
            }
            ClientUpdate::Action(envelope) => {
                let own = envelope.origin.map(|origin| origin.client_seq);
                if own == Some(sent) {
                    return confirmed_settings(client);
                }
            }
            // After a long interruption there is no echo: the state says what became of it.
            ClientUpdate::Resynced { unconfirmed, .. }
                if unconfirmed
                    .iter()
                    .any(|(_, action)| action.client_seq == sent) =>
            {
                return confirmed_change(client, &config);
            }
            _ => {}
        }
    }
}

/// Returns the settings if they have these values, which the host may have received.
fn confirmed_change(client: &Client, config: &Object) -> anyhow::Result<Object> {
    let settings = confirmed_settings(client)?;
    let mut changed = config.iter();
    if changed.all(|(key, value)| settings.get(key) == Some(value)) {
        Ok(settings)
    } else {
        bail!(
            "the connection to the host was lost before it confirmed the settings\n\
             hint: run the command again"
        )
    }
}

/// Returns the strings of a setting that is a list.
pub(crate) fn string_list(values: &Object, key: &str) -> Vec<String> {
    let texts = values.get(key).and_then(Json::as_array);
    let texts = texts.into_iter().flatten();
    texts
        .filter_map(|text| Some(text.as_str()?.to_owned()))
        .collect()
}

fn confirmed_settings(client: &Client) -> anyhow::Result<Object> {
    let Some(ChannelState::Root(state)) = client.confirmed_state(&RootChannel.into()) else {
        bail!("the host sent no state of the root channel");
    };
    let config = state.config.as_ref();
    let config = config.context("the host has no settings")?;
    Ok(config.values.clone())
}
