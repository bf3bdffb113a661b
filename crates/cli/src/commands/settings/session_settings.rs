//! Settings of a session that are a choice, such as its mode.

use agenthost_client::{Client, ClientUpdate};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::ClientSeq;
use agenthost_protocol::session::{
    ResolveSessionConfigParams, SessionAction, SessionConfigChanged, SessionConfigState,
};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::{Json, Object};
use agenthost_view::composer::{ConfigRow, choice_rows};
use anyhow::bail;

/// The setting with the mode of the agent.
pub(crate) const MODE_KEY: &str = "mode";

/// Returns a setting of a subscribed session. A session has the schema from when it was created,
/// and the host knows the settings of an agent only after its first start, so the host is asked.
pub(crate) async fn find_choice(
    client: &mut Client,
    session: &Uri,
    key: &str,
) -> anyhow::Result<ConfigRow> {
    let Some(ChannelState::Session(state)) = client.state(session) else {
        bail!("the session was removed");
    };
    let agent = state.metadata.provider.clone();
    let folders = state.metadata.working_directories.as_ref();
    let values = state.config.as_ref().map(|config| config.values.clone());
    let resolve = ResolveSessionConfigParams {
        channel: RootChannel,
        provider: Some(agent.clone()),
        working_directory: folders.and_then(|folders| folders.first()).cloned(),
        config: None,
        meta: None,
    };
    let mut resolved = client.request(resolve).await?;
    resolved.values.extend(values.unwrap_or_default());
    let config = SessionConfigState {
        schema: resolved.schema,
        values: resolved.values,
    };
    match choice_rows(&config).into_iter().find(|row| row.key == key) {
        Some(row) => Ok(row),
        None => bail!("the agent `{agent}` offers no {key}s"),
    }
}

/// Changes a setting of a subscribed session, and waits until the host confirms it.
pub(crate) async fn set_choice(
    client: &mut Client,
    session: &Uri,
    key: &str,
    value: &str,
) -> anyhow::Result<()> {
    let row = find_choice(client, session, key).await?;
    if !row.options.iter().any(|option| option.id == value) {
        let ids = row.options.iter().map(|option| option.id.as_str());
        let ids = ids.collect::<Vec<_>>().join(", ");
        bail!("there is no {key} `{value}`\nhint: the {key}s are {ids}");
    }
    let changed = SessionAction::ConfigChanged(SessionConfigChanged {
        config: Object::from_iter([(key.to_owned(), Json::from(value))]),
        replace: None,
    });
    let sent = client.dispatch(session, changed).await?;
    let is_set = |client: &Client| match client.confirmed_state(session) {
        Some(ChannelState::Session(state)) => {
            let config = state.config.as_ref();
            let current = config.and_then(|config| config.values.get(key)?.as_str());
            current == Some(value)
        }
        _ => false,
    };
    wait_until(client, sent, is_set).await
}

/// Waits until the host has confirmed a change. Fails if the host rejects the action.
pub(crate) async fn wait_until(
    client: &mut Client,
    sent: ClientSeq,
    is_confirmed: impl Fn(&Client) -> bool,
) -> anyhow::Result<()> {
    while !is_confirmed(client) {
        if let ClientUpdate::Rejected { origin, reason } = client.next_update().await?
            && origin.is_some_and(|origin| origin.client_seq == sent)
        {
            bail!("the host refused the change: {reason}");
        }
    }
    Ok(())
}
