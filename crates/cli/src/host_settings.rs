//! Reads and changes the settings in the root channel of the host, such as granted folders
//! and trusted code.

use agenthost_client::{Client, ClientUpdate};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::root::{RootAction, RootConfigChanged};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::{Json, Object};
use anyhow::{Context, bail};

/// The setting with the agent of sessions that name none.
const DEFAULT_AGENT_KEY: &str = "defaultAgent";

/// Subscribes to the root channel and returns the settings of the host.
pub(crate) async fn read_settings(client: &mut Client) -> anyhow::Result<Object> {
    client.subscribe(&Uri::from(RootChannel)).await?;
    confirmed_settings(client)
}

/// Returns the agent for sessions that name none: the configured one, or the first.
pub(crate) async fn default_agent(client: &mut Client) -> anyhow::Result<Option<ProviderId>> {
    let root = Uri::from(RootChannel);
    client.subscribe(&root).await?;
    let agent = match client.confirmed_state(&root) {
        Some(ChannelState::Root(state)) => {
            let config = state.config.as_ref();
            let chosen = config.and_then(|config| {
                let default = || {
                    config
                        .schema
                        .properties
                        .get(DEFAULT_AGENT_KEY)?
                        .default
                        .as_ref()
                };
                config
                    .values
                    .get(DEFAULT_AGENT_KEY)
                    .or_else(default)?
                    .as_str()
            });
            let first = state.agents.first().map(|agent| agent.provider.clone());
            chosen.map(ProviderId::from).or(first)
        }
        _ => None,
    };
    client.unsubscribe(&root).await?;
    Ok(agent)
}

/// Changes settings of the host and waits until the host confirms them. [`read_settings`]
/// has to be called before, because it subscribes to the root channel.
pub(crate) async fn change_settings(client: &mut Client, config: Object) -> anyhow::Result<Object> {
    let replace = None;
    let changed = RootAction::ConfigChanged(RootConfigChanged { config, replace });
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
            _ => {}
        }
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
