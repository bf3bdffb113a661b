//! The model of a chat. Each message names its model; the draft of the chat has that of the next.

use std::sync::Arc;

use agenthost_client::Client;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatAction, ChatState, DraftChanged, Message};
use agenthost_protocol::common::ModelSelection;
use agenthost_protocol::ids::{ModelId, ProviderId};
use agenthost_protocol::uri::Uri;
use agenthost_view::composer::{NamedOption, model_options};
use anyhow::bail;

use super::session_settings::wait_until;
use crate::host_settings;

/// Returns the models that an agent offers.
pub(crate) async fn offered_models(
    client: &mut Client,
    agent: &ProviderId,
) -> anyhow::Result<Vec<NamedOption>> {
    let agents = host_settings::default_agent(client).await?.agents;
    let found = agents.iter().find(|known| known.provider == *agent);
    Ok(found.map(model_options).unwrap_or_default())
}

/// Returns the named model. Agents that have not started yet have told no models, so that any
/// name is accepted.
pub(crate) fn select_model(offered: &[NamedOption], named: &str) -> anyhow::Result<ModelSelection> {
    if !offered.is_empty() && !offered.iter().any(|option| option.id == named) {
        let ids = offered.iter().map(|option| option.id.as_str());
        let ids = ids.collect::<Vec<_>>().join(", ");
        bail!("there is no model `{named}`\nhint: the models are {ids}");
    }
    Ok(ModelSelection {
        id: ModelId::from(named),
        config: None,
    })
}

/// Returns the model of the next message of a subscribed chat: that of its draft, or of the last
/// message.
pub(crate) fn current_model(client: &Client, chat: &Uri) -> Option<ModelSelection> {
    let state = chat_state(client, chat)?;
    let active = state.active_turn.as_ref().map(|turn| &turn.message);
    let last = state.turns.last_item().map(|turn| &turn.message);
    let messages = [state.draft.as_ref(), active, last];
    let mut models = messages.into_iter().flatten();
    models.find_map(|message| message.model.clone())
}

/// Changes the model of the next message of a subscribed chat, and keeps the text of the draft.
pub(crate) async fn set_model(
    client: &mut Client,
    chat: &Uri,
    model: ModelSelection,
) -> anyhow::Result<()> {
    let draft = chat_state(client, chat).and_then(|state| state.draft.clone());
    let draft = draft.map_or_else(|| Message::of_user(""), |draft| Message::clone(&draft));
    let draft = Arc::new(Message {
        model: Some(model),
        ..draft
    });
    let wanted = draft.model.clone();
    let draft = Some(draft);
    let changed = ChatAction::DraftChanged(DraftChanged { draft });
    let sent = client.dispatch(chat, changed).await?;
    let is_set = |client: &Client| match client.confirmed_state(chat) {
        Some(ChannelState::Chat(state)) => {
            let draft = state.draft.as_ref();
            draft.is_some_and(|draft| draft.model == wanted)
        }
        _ => false,
    };
    wait_until(client, sent, is_set).await
}

fn chat_state<'a>(client: &'a Client, chat: &Uri) -> Option<&'a ChatState> {
    match client.state(chat)? {
        ChannelState::Chat(state) => Some(state),
        _ => None,
    }
}
