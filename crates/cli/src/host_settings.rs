//! What is set about the host by its clients, such as folders that may be used
//! and code that may run.

use agenthost_client::{Client, Update};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::root::{RootAction, RootConfigChanged};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::{Json, Object};
use anyhow::{Context, bail};

/// What the host is set to.
pub(crate) async fn read(client: &mut Client) -> anyhow::Result<Object> {
    client.subscribe(&Uri::from(RootChannel)).await?;
    known(client)
}

/// Sets something about the host, and waits until it is so. It has to have been
/// read before.
pub(crate) async fn change(client: &mut Client, config: Object) -> anyhow::Result<Object> {
    let replace = None;
    let changed = RootAction::ConfigChanged(RootConfigChanged { config, replace });
    let sent = client.dispatch(&Uri::from(RootChannel), changed).await?;
    loop {
        match client.next().await? {
            Update::Rejected { reason, .. } => bail!("the host refused: {reason}"),
            Update::Action(envelope) => {
                let own = envelope.origin.map(|origin| origin.client_seq);
                if own == Some(sent) {
                    return known(client);
                }
            }
            _ => {}
        }
    }
}

/// A setting that is a list of texts.
pub(crate) fn texts(values: &Object, key: &str) -> Vec<String> {
    let texts = values.get(key).and_then(Json::as_array);
    let texts = texts.into_iter().flatten();
    texts
        .filter_map(|text| Some(text.as_str()?.to_owned()))
        .collect()
}

fn known(client: &Client) -> anyhow::Result<Object> {
    let Some(ChannelState::Root(state)) = client.confirmed(&RootChannel.into()) else {
        bail!("the host does not show itself");
    };
    let config = state.config.as_ref();
    let config = config.context("the host has no settings")?;
    Ok(config.values.clone())
}
