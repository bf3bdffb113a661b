//! A chat with an agent, mirrored by the official client and its reducers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ahp::reducers::apply_action_to_chat;
use ahp::{Client, SessionSubscription, SubscriptionEvent};
use ahp_types::actions::StateAction;
use ahp_types::state::{ChatState, SnapshotState};
use serde_json::{Value, json};

use crate::agent_entry::{Commands, Entry, marker_of};
use crate::host::Host;

/// The time for which an agent may be silent before the test fails.
pub(crate) const AGENT_TIMEOUT: Duration = Duration::from_secs(90);

/// The time for which an agent may be silent about an error of its model. Some agents retry for
/// minutes.
pub(crate) const MODEL_ERROR_TIMEOUT: Duration = Duration::from_secs(45);

/// The result of a step. A failure is returned instead of a panic, so that the other tests run.
pub(crate) type StepResult<T> = Result<T, String>;

/// The answer to permission requests of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decide {
    Approve,
    Deny,
}

/// A session of an agent, and its chat.
pub(crate) struct AgentChat {
    pub(crate) client: Client,
    pub(crate) session: String,
    chat: String,
    pub(crate) folder: PathBuf,
    state: ChatState,
    actions: SessionSubscription,
    turns: u32,
    pub(crate) commands: Commands,
    /// The time for which the agent may be silent now.
    pub(crate) patience: Duration,
}

/// A turn that has ended.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) json: Value,
    /// The options of each permission request.
    pub(crate) asked: Vec<Value>,
}

impl AgentChat {
    /// Creates a session of an agent in a folder of its own.
    pub(crate) async fn begin(
        host: &Host,
        entry: &Entry,
        place: &Path,
        name: &str,
    ) -> StepResult<Self> {
        AgentChat::begin_with(host, entry, place, name, &[]).await
    }

    /// Creates a session like [`Talk::begin`], with tools that the client carries out.
    pub(crate) async fn begin_with(
        host: &Host,
        entry: &Entry,
        place: &Path,
        name: &str,
        tools: &[Value],
    ) -> StepResult<Self> {
        let folder = place.join("work").join(name);
        entry.make_folder(&folder);
        let client_id = format!("client-{name}");
        let client = host.join(&client_id).await;
        let session = format!("ahp-session:/{}-{name}", marker_of(&entry.id));
        let mut params = json!({
            "channel": session, "provider": entry.id,
            "workingDirectories": [format!("file://{}", folder.display())],
        });
        if !entry.config.is_empty() {
            params["config"] = json!(entry.config);
        }
        if !tools.is_empty() {
            params["activeClient"] = json!({
                "clientId": client_id, "displayName": "Heron editor",
                "tools": tools, "customizations": [],
            });
        }
        let () = client
            .request("createSession", params)
            .await
            .map_err(|error| format!("createSession: {error}"))?;
        let chat = ready(&client, &session).await?;
        let mut agent_chat = AgentChat::subscribe_to(client, session, chat, folder).await?;
        agent_chat.commands = entry.commands;
        Ok(agent_chat)
    }

    /// Opens the same chat on another host.
    pub(crate) async fn again(self, host: &Host) -> StepResult<Self> {
        let client = host.join("client-again").await;
        ready(&client, &self.session).await?;
        let agent_chat =
            AgentChat::subscribe_to(client, self.session, self.chat, self.folder).await?;
        Ok(AgentChat {
            turns: self.turns,
            commands: self.commands,
            ..agent_chat
        })
    }

    async fn subscribe_to(
        client: Client,
        session: String,
        chat: String,
        folder: PathBuf,
    ) -> StepResult<Self> {
        let subscribed = client.subscribe(chat.clone()).await;
        let (result, actions) = subscribed.map_err(|error| format!("subscribe: {error}"))?;
        let state = result.snapshot.map(|snapshot| snapshot.state);
        let Some(SnapshotState::Chat(state)) = state else {
            return Err("the chat has no state".to_owned());
        };
        Ok(AgentChat {
            client,
            session,
            chat,
            folder,
            state: *state,
            actions,
            turns: 0,
            commands: Commands::default(),
            patience: AGENT_TIMEOUT,
        })
    }

    /// Starts a turn with a message. Returns the id of the turn.
    pub(crate) async fn start_turn(&mut self, text: &str) -> StepResult<String> {
        self.turns += 1;
        let turn = format!("turn-{}", self.turns);
        self.dispatch(json!({
            "type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-01-05T09:00:00Z",
            "message": {"text": text, "origin": {"kind": "user"}},
        }))
        .await?;
        Ok(turn)
    }

    /// Starts a turn with a message, and waits for its end.
    pub(crate) async fn turn(&mut self, text: &str, decide: Decide) -> StepResult<Turn> {
        let id = self.start_turn(text).await?;
        self.finish(&id, decide).await
    }

    /// Waits for the end of a turn, and answers its permission requests.
    pub(crate) async fn finish(&mut self, id: &str, decide: Decide) -> StepResult<Turn> {
        let mut asked = Vec::new();
        loop {
            let action = self.next().await?;
            match action["type"].as_str().unwrap_or_default() {
                "chat/toolCallReady" if action["confirmed"].is_null() => {
                    self.decide(&action, decide).await?;
                    asked.push(action["options"].clone());
                }
                "chat/turnComplete" | "chat/turnCancelled" | "chat/error"
                    if action["turnId"] == id =>
                {
                    return Ok(Turn {
                        json: self.checked(id).await?,
                        asked,
                    });
                }
                _ => {}
            }
        }
    }

    /// Waits for an action that satisfies a condition. Fails if the turn ends before that.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> StepResult<Value> {
        loop {
            let action = self.next().await?;
            if wanted(&action) {
                return Ok(action);
            }
            if action["type"] == "chat/turnComplete" || action["type"] == "chat/error" {
                return Err(format!("the turn ended before that: {}", short(&action)));
            }
        }
    }

    /// Cancels a turn, as a user does.
    pub(crate) async fn cancel(&mut self, turn: &str) -> StepResult<()> {
        let action = json!({"type": "chat/turnCancelled", "turnId": turn, "duration": 0});
        self.dispatch(action).await
    }

    pub(crate) async fn dispatch(&mut self, action: Value) -> StepResult<()> {
        let action: StateAction = serde_json::from_value(action).unwrap();
        assert!(!matches!(action, StateAction::Unknown(_)));
        let sent = self.client.dispatch(self.chat.clone(), action).await;
        sent.map(drop).map_err(|error| format!("dispatch: {error}"))
    }

    /// Returns the current state of the session.
    pub(crate) async fn session_state(&self) -> StepResult<Value> {
        let subscribed = self.client.subscribe(self.session.clone()).await;
        let (result, _) = subscribed.map_err(|error| format!("subscribe: {error}"))?;
        match result.snapshot.map(|snapshot| snapshot.state) {
            Some(SnapshotState::Session(state)) => Ok(json!(state)),
            _ => Err("the session has no state".to_owned()),
        }
    }

    /// Returns a turn, after checking that the official reducers and the host agree on it.
    pub(crate) async fn checked(&mut self, id: &str) -> StepResult<Value> {
        let subscribed = self.client.subscribe(self.chat.clone()).await;
        let (result, _) = subscribed.map_err(|error| format!("subscribe: {error}"))?;
        let Some(SnapshotState::Chat(host)) = result.snapshot.map(|snapshot| snapshot.state) else {
            return Err("the chat has no state".to_owned());
        };
        let (host, own) = (json!(host), json!(self.state));
        let turn = |state: &Value| {
            let turns = state["turns"].as_array()?;
            turns.iter().find(|turn| turn["id"] == id).cloned()
        };
        let Some(turn_of_host) = turn(&host) else {
            return Err("the host does not have the turn".to_owned());
        };
        if turn(&own) != Some(turn_of_host.clone()) {
            return Err("the official reducers have another turn than the host".to_owned());
        }
        Ok(turn_of_host)
    }

    /// Disposes the session, and closes the connection.
    pub(crate) async fn dispose(self) -> StepResult<()> {
        let params = json!({"channel": self.session});
        let disposed: Result<Value, _> = self.client.request("disposeSession", params).await;
        let disposed = disposed.map(drop);
        self.client.shutdown().await;
        disposed.map_err(|error| format!("disposeSession: {error}"))
    }

    /// Answers a permission request.
    pub(crate) async fn decide(&mut self, asked: &Value, decide: Decide) -> StepResult<()> {
        let (approved, kind) = match decide {
            Decide::Approve => (true, "approve"),
            Decide::Deny => (false, "deny"),
        };
        let mut answer = json!({
            "type": "chat/toolCallConfirmed", "turnId": asked["turnId"],
            "toolCallId": asked["toolCallId"], "approved": approved,
        });
        match decide {
            Decide::Approve => answer["confirmed"] = json!("user-action"),
            Decide::Deny => answer["reason"] = json!("denied"),
        }
        let options = asked["options"].as_array();
        let fitting =
            options.and_then(|options| options.iter().find(|option| option["kind"] == kind));
        if let Some(option) = fitting {
            answer["selectedOptionId"] = option["id"].clone();
        }
        self.dispatch(answer).await
    }

    /// Waits for the next action, and applies it to the mirrored state.
    pub(crate) async fn next(&mut self) -> StepResult<Value> {
        let next = tokio::time::timeout(self.patience, self.actions.recv()).await;
        let next = next.map_err(|_| format!("nothing for {} s", self.patience.as_secs()))?;
        let Some(SubscriptionEvent::Action(envelope)) = next else {
            return Err("the connection ended".to_owned());
        };
        if let Some(reason) = envelope.rejection_reason {
            return Err(format!("refused: {reason}"));
        }
        apply_action_to_chat(&mut self.state, &envelope.action);
        Ok(json!(envelope.action))
    }
}

/// Waits until a session is ready. Returns the URI of its chat.
async fn ready(client: &Client, session: &str) -> StepResult<String> {
    let subscribed = client.subscribe(session.to_owned()).await;
    let (result, mut actions) = subscribed.map_err(|error| format!("subscribe: {error}"))?;
    let Some(SnapshotState::Session(state)) = result.snapshot.map(|snapshot| snapshot.state) else {
        return Err("the session has no state".to_owned());
    };
    let mut state = *state;
    loop {
        let now = json!(state);
        match now["lifecycle"].as_str().unwrap_or_default() {
            "ready" => {
                let chat = now["chats"][0]["resource"].as_str();
                return chat.map(str::to_owned).ok_or("it has no chat".to_owned());
            }
            "failed" => {
                let why = now["creationError"]["message"].as_str().unwrap_or_default();
                return Err(format!("the session could not begin: {why}"));
            }
            _ => {}
        }
        let next = tokio::time::timeout(AGENT_TIMEOUT, actions.recv()).await;
        match next {
            Ok(Some(SubscriptionEvent::Action(envelope))) => {
                ahp::reducers::apply_action_to_session(&mut state, &envelope.action);
            }
            Ok(Some(_)) => {}
            Ok(None) => return Err("the connection ended".to_owned()),
            Err(_) => return Err("the session does not begin".to_owned()),
        }
    }
}

/// Returns the text of all parts of one kind in a turn.
pub(crate) fn text_of_parts(turn: &Value, kind: &str) -> String {
    let parts = turn["responseParts"].as_array().into_iter().flatten();
    let parts = parts.filter(|part| part["kind"] == kind);
    let texts = parts.filter_map(|part| match &part["content"] {
        Value::String(text) => Some(text.clone()),
        other => other["markdown"].as_str().map(str::to_owned),
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// Returns the tool calls of a turn.
pub(crate) fn calls(turn: &Value) -> Vec<&Value> {
    let parts = turn["responseParts"].as_array().into_iter().flatten();
    let calls = parts.filter(|part| part["kind"] == "toolCall");
    calls.map(|part| &part["toolCall"]).collect()
}

/// Returns the first 160 characters of a value.
pub(crate) fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.chars().take(160).collect()
}
