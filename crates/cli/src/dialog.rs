//! Functions for commands that hold a conversation with an agent.

pub(crate) mod agent_choice;
pub(crate) mod attachments;
pub(crate) mod confirm;
pub(crate) mod form;
pub(crate) mod line_editor;
pub(crate) mod note;
pub(crate) mod printer;
pub(crate) mod prompter;
pub(crate) mod question;
pub(crate) mod stdin;
pub(crate) mod turn_output;
mod typed_line;
pub(crate) mod user_input;

use std::sync::Arc;
use std::time::SystemTime;

use agenthost_client::{Client, ClientError, ClientUpdate};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatAction, Message, TurnStarted};
use agenthost_protocol::connection::PingParams;
use agenthost_protocol::ids::{ProviderId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::rpc::ErrorCode;
use agenthost_protocol::session::{CreateSessionParams, SessionLifecycle};
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::{Uri, session_uri};
use agenthost_protocol::wire::Object;
use agenthost_view::request::RequestScope;
use anyhow::{Context, bail};

use crate::connect::random_id;
use crate::terminal_environment;

/// Creates a session in a folder with an agent.
pub(crate) async fn create_session(
    client: &mut Client,
    agent: Option<ProviderId>,
    directory: &std::path::Path,
    config: Option<Object>,
) -> anyhow::Result<Uri> {
    let id = random_id()?;
    let session = match &agent {
        Some(agent) => session_uri(agent, &id),
        None => Uri::from(format!("ahp-session:/{id}")),
    };
    let folder = agenthost_workspace::uri_of(directory);
    let folder = folder.context("the path of the folder is not UTF-8")?;
    let create = CreateSessionParams {
        channel: session.clone(),
        provider: agent,
        working_directories: Some(vec![folder]),
        config,
        active_client: None,
        progress_token: None,
        meta: terminal_environment::session_meta(),
    };
    match client.request(create).await {
        Err(ClientError::Refused(error)) if error.code == ErrorCode::ProviderNotFound => bail!(
            "{}\nhint: `agenthost agents` lists the agents and how to install them",
            error.message
        ),
        created => created?,
    };
    Ok(session)
}

/// Returns the text to show while a subscribed session starts.
pub(crate) fn start_label(client: &Client, session: &Uri) -> String {
    let agent = agent_choice::agent_of_session(client, session);
    agent.map_or("starting".to_owned(), |agent| format!("starting {agent}"))
}

/// Waits until a subscribed session is ready and returns its default chat. Updates that
/// arrive meanwhile are passed to `on_update`.
pub(crate) async fn wait_until_ready(
    client: &mut Client,
    session: &Uri,
    mut on_update: impl FnMut(&ClientUpdate) -> anyhow::Result<()>,
) -> anyhow::Result<Uri> {
    loop {
        let Some(ChannelState::Session(state)) = client.state(session) else {
            bail!("the session was removed");
        };
        match &state.lifecycle {
            SessionLifecycle::Ready => {
                let chat = state.default_chat.clone();
                return chat.context("the session has no chat");
            }
            SessionLifecycle::Failed => {
                let error = state.creation_error.as_ref();
                let reason = error.map_or("no reason was given", |error| &error.message);
                bail!("create the session: {reason}");
            }
            SessionLifecycle::Creating | SessionLifecycle::Unknown(_) => {}
        }
        let update = client.next_update().await?;
        on_update(&update)?;
    }
}

/// Waits until the client has received everything that the actions so far have caused in the
/// host: it reacts to an action before it answers a later request.
pub(crate) async fn receive_reactions(client: &mut Client) -> anyhow::Result<()> {
    match client.request(PingParams::default()).await {
        Ok(_) | Err(ClientError::Interrupted) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns the place of the requests of a chat, for their descriptions.
pub(crate) fn request_scope(client: &Client, session: &Uri, chat: &Uri) -> Option<RequestScope> {
    match client.state(session)? {
        ChannelState::Session(state) => Some(RequestScope::of_chat(session, state, chat)),
        _ => None,
    }
}

/// Creates the action that starts a turn with a message of the user.
pub(crate) fn turn_started(id: TurnId, message: Message) -> ChatAction {
    ChatAction::TurnStarted(TurnStarted {
        turn_id: id,
        started_at: Timestamp::from_millis(now()),
        message: Arc::new(message),
        queued_message_id: None,
        meta: None,
    })
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
