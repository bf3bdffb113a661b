//! Functions for commands that hold a conversation with an agent.

pub(crate) mod confirm;
pub(crate) mod form;
pub(crate) mod printer;
pub(crate) mod prompter;
pub(crate) mod question;

use std::sync::Arc;
use std::time::SystemTime;

use agenthost_client::{Client, ClientError, ClientUpdate};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatAction, Message, TurnStarted};
use agenthost_protocol::ids::{ProviderId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::rpc::ErrorCode;
use agenthost_protocol::session::{CreateSessionParams, SessionLifecycle};
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::{Uri, session_uri};
use agenthost_protocol::wire::Object;
use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, BufReader, Stdin};

use crate::connect::random_id;
use crate::host_settings;

/// Lines that the user types on standard input.
pub(crate) struct StdinLines {
    lines: tokio::io::Lines<BufReader<Stdin>>,
    ended: bool,
}

impl StdinLines {
    pub(crate) fn new() -> Self {
        StdinLines {
            lines: BufReader::new(tokio::io::stdin()).lines(),
            ended: false,
        }
    }

    /// Returns the next line, or `None` at the end of input. This method is cancel safe.
    pub(crate) async fn next_line(&mut self) -> Option<String> {
        if self.ended {
            return None;
        }
        let line = self.lines.next_line().await.ok().flatten();
        self.ended = line.is_none();
        line
    }
}

/// Creates a session in a folder, with the given or the default agent.
pub(crate) async fn create_session(
    client: &mut Client,
    agent: Option<&str>,
    directory: &std::path::Path,
    config: Option<Object>,
) -> anyhow::Result<Uri> {
    let provider = match agent {
        Some(agent) => Some(ProviderId::from(agent)),
        None => host_settings::default_agent(client).await?,
    };
    let id = random_id()?;
    let session = match &provider {
        Some(provider) => session_uri(provider, &id),
        None => Uri::from(format!("ahp-session:/{id}")),
    };
    let folder = agenthost_workspace::uri_of(directory);
    let folder = folder.context("the path of the folder is not UTF-8")?;
    let create = CreateSessionParams {
        channel: session.clone(),
        provider,
        working_directories: Some(vec![folder]),
        config,
        active_client: None,
        progress_token: None,
        meta: None,
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
                bail!("the agent failed to start: {reason}");
            }
            SessionLifecycle::Creating | SessionLifecycle::Unknown(_) => {}
        }
        let update = client.next_update().await?;
        on_update(&update)?;
    }
}

/// Creates a message of the user.
pub(crate) fn user_message(text: &str) -> Arc<Message> {
    Arc::new(Message::of_user(text))
}

/// Creates the action that starts a turn with a message of the user.
pub(crate) fn turn_started(id: TurnId, text: &str) -> ChatAction {
    ChatAction::TurnStarted(TurnStarted {
        turn_id: id,
        started_at: Timestamp::from_millis(now()),
        message: user_message(text),
        queued_message_id: None,
        meta: None,
    })
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
