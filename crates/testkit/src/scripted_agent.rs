//! An agent that does what a script says.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agenthost_agents::{Agent, Events, HostGone, Session, SessionFuture};
use agenthost_core::agent::{AgentCommand, AgentEvent, Decision};
use agenthost_protocol::chat::{ErrorPart, InputResponseKind};
use agenthost_protocol::common::{ErrorInfo, SessionConfigSchema};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::root::{
    AgentCapabilities, AgentInfo, MultipleChatsCapability, MultipleWorkingDirectoriesCapability,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::event::{Place, event, word};

/// Commands that wait for a turn.
const COMMANDS: usize = 64;

/// Plays every message as a script, a line at a time, so that any client can
/// make any agent of it:
///
/// ```text
/// say TEXT             a part of the answer       think TEXT   of its thoughts
/// call ID NAME ask     a tool call that asks      call ID NAME run
/// call ID NAME for CLIENT                         one that a client runs
/// done ID              it went well               failed ID
/// form ID {request}    asks questions
/// wait                 until somebody decides, answers or completes
/// + LINE   - LINE      only if that was yes, or no
/// sleep MS             pause                      hang         until it is ended
/// break                the agent breaks
/// prepared             says what customizations have to add, as JSON
/// resumable            the turn fails; what comes after is for when it is resumed
/// in CHAT LINE         somewhere else
/// ```
///
/// and everything that [`event`] reads. `;;` ends a line, too. At the end of the script the turn is
/// over. What can't be read is said.
#[derive(Debug, Clone, Default)]
pub struct ScriptedAgent {
    heard: Arc<Mutex<Vec<String>>>,
}

impl ScriptedAgent {
    /// What the host wanted of it so far.
    pub fn heard(&self) -> Vec<String> {
        let heard = self.heard.lock();
        heard.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Agent for ScriptedAgent {
    fn info(&self) -> AgentInfo {
        AgentInfo {
            capabilities: Some(AgentCapabilities {
                multiple_chats: Some(MultipleChatsCapability {
                    fork: Some(true),
                    side_chat: Some(true),
                }),
                multiple_working_directories: Some(MultipleWorkingDirectoriesCapability {
                    immutable_primary: None,
                    primary_replacement: Some(true),
                }),
            }),
            ..AgentInfo::new("scripted", "Scripted", "Does what a message says.")
        }
    }

    fn schema(&self) -> Option<SessionConfigSchema> {
        let schema = json!({
            "type": "object",
            "properties": {
                "mode": {
                    "type": "string", "title": "Mode", "enum": ["ask", "do"], "default": "ask",
                    "sessionMutable": true,
                },
            },
        });
        agenthost_protocol::wire::from_str(&schema.to_string()).ok()
    }

    fn work(&self, session: Session) -> SessionFuture {
        Box::pin(work(session, Arc::clone(&self.heard)))
    }
}

async fn work(mut session: Session, heard: Arc<Mutex<Vec<String>>>) -> Result<(), String> {
    let mut running: BTreeMap<Uri, mpsc::Sender<AgentCommand>> = BTreeMap::new();
    let mut turns: JoinSet<Result<(), String>> = JoinSet::new();
    let mut failed = BTreeMap::new();
    let mut plays = 0;
    loop {
        let command = tokio::select! {
            command = session.commands.recv() => command,
            Some(ended) = turns.join_next() => {
                ended.map_err(|error| error.to_string())??;
                continue;
            }
        };
        let Some(command) = command else {
            return Ok(());
        };
        note(&heard, &command);
        match command {
            AgentCommand::Close => return Ok(()),
            AgentCommand::Open { .. } => {
                let events = &session.events;
                events
                    .send(AgentEvent::Opened { tools: Vec::new() })
                    .await?;
            }
            AgentCommand::Prompt { .. } | AgentCommand::Resume { .. } => {
                let prepared = prepared(&command);
                let Some((chat, turn, script)) = script(command, &mut failed) else {
                    continue;
                };
                let (sender, commands) = mpsc::channel(COMMANDS);
                running.insert(chat.clone(), sender);
                plays += 1;
                let play = Play {
                    place: Place {
                        chat,
                        turn: Some(turn.clone()),
                    },
                    turn,
                    commands,
                    events: session.events.clone(),
                    play: plays,
                    parts: 0,
                    agreed: true,
                    prepared,
                };
                turns.spawn(async move { play.run(&script).await });
            }
            command => {
                let turn = command.chat().and_then(|chat| running.get(chat));
                if let Some(turn) = turn {
                    // A turn that is over, or does not listen, needs nothing.
                    turn.try_send(command).unwrap_or_default();
                }
            }
        }
    }
}

/// What to play: a message, or what is left of one that failed half-way.
fn script(
    command: AgentCommand,
    failed: &mut BTreeMap<Uri, String>,
) -> Option<(Uri, TurnId, String)> {
    let (chat, turn, script) = match command {
        AgentCommand::Prompt {
            chat,
            turn,
            message,
            prepared,
            ..
        } => {
            // What stands behind a name is what counts.
            let text = prepared.text.unwrap_or_else(|| message.text.clone());
            (chat, turn, text)
        }
        AgentCommand::Resume { chat, turn } => {
            let left = failed.remove(&chat).unwrap_or_default();
            (chat, turn, left)
        }
        _ => return None,
    };
    if let Some((_, left)) = script.split_once("resumable") {
        failed.insert(chat.clone(), left.to_owned());
    }
    Some((chat, turn, script))
}

/// What customizations have to add to a message.
fn prepared(command: &AgentCommand) -> Json {
    match command {
        AgentCommand::Prompt { prepared, .. } => json!({
            "text": prepared.text,
            "instructions": prepared.instructions.as_deref(),
            "context": prepared.context,
            "model": prepared.model.as_ref().map(|model| model.id.to_string()),
        }),
        _ => Json::Null,
    }
}

fn note(heard: &Mutex<Vec<String>>, command: &AgentCommand) {
    let text = format!("{command:?}");
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    heard.push(text);
}

/// A turn that is played.
struct Play {
    place: Place,
    turn: TurnId,
    commands: mpsc::Receiver<AgentCommand>,
    events: Events,
    /// Which play this is, for names of its own.
    play: u32,
    parts: u32,
    /// Whether the last answer was yes.
    agreed: bool,
    /// What customizations have to add.
    prepared: Json,
}

/// How a line went.
enum Went {
    On,
    /// The turn is over, and the host knows.
    Over,
}

impl Play {
    async fn run(mut self, script: &str) -> Result<(), String> {
        let lines = script.lines().flat_map(|line| line.split(";;"));
        for line in lines.map(str::trim) {
            match self.line(line).await? {
                Went::On => {}
                Went::Over => return Ok(()),
            }
        }
        Ok(self.end(None).await?)
    }

    async fn line(&mut self, line: &str) -> Result<Went, String> {
        let (what, rest) = word(line);
        match what {
            "" => {}
            "+" if self.agreed => return Box::pin(self.line(rest)).await,
            "-" if !self.agreed => return Box::pin(self.line(rest)).await,
            "+" | "-" => {}
            "in" => {
                let (chat, rest) = word(rest);
                let there = Place {
                    chat: Uri::from(chat),
                    turn: None,
                };
                let here = std::mem::replace(&mut self.place, there);
                let went = Box::pin(self.line(rest)).await;
                self.place = here;
                // What is over there goes on here.
                went?;
            }
            "say" => self.part("markdown", rest).await?,
            "think" => self.part("reasoning", rest).await?,
            "prepared" => {
                let prepared = self.prepared.to_string();
                self.part("markdown", &prepared).await?;
            }
            "call" => self.call(rest).await?,
            "done" | "failed" => {
                let success = what == "done";
                let result = json!({"success": success, "pastTenseMessage": format!("It {what}")});
                let payload = json!({"toolCallId": rest, "result": result});
                self.tell(&format!("chat/toolCallComplete {payload}"))
                    .await?;
            }
            "form" => {
                let (id, request) = word(rest);
                let request: Json =
                    serde_json::from_str(request).map_err(|error| error.to_string())?;
                let request = with(request, json!({"id": id}));
                self.tell(&format!(
                    "chat/inputRequested {}",
                    json!({"request": request})
                ))
                .await?;
            }
            "sleep" => {
                let pause = rest.parse().map_err(|_| "sleep: expected a number")?;
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            "wait" | "hang" => return self.wait(what == "hang").await,
            "break" => return Err("the script says so".to_owned()),
            "end" | "error" | "resumable" => {
                self.tell(line).await?;
                return Ok(Went::Over);
            }
            _ => match event(&self.place, line) {
                Ok(event) => self.events.send(event).await?,
                Err(problem) => {
                    let error = ErrorInfo::new("script", format!("can't be read: {problem}"));
                    let resumable = None;
                    self.end(Some(ErrorPart { error, resumable })).await?;
                    return Ok(Went::Over);
                }
            },
        }
        Ok(Went::On)
    }

    /// Waits for an answer; for ever, if none is wanted. Ends with the turn.
    async fn wait(&mut self, for_ever: bool) -> Result<Went, String> {
        while let Some(command) = self.commands.recv().await {
            let agreed = match command {
                AgentCommand::Cancel { .. } => return Ok(Went::Over),
                AgentCommand::Decide { decision, .. } => match decision {
                    Decision::Approved { .. } | Decision::ResultApproved => true,
                    Decision::Denied { .. } | Decision::ResultDenied => false,
                },
                AgentCommand::Answer { response, .. } => response == InputResponseKind::Accept,
                AgentCommand::ToolCompleted { result, .. } => result.success,
                AgentCommand::Steer { chat, id, .. } => {
                    self.events.send(AgentEvent::Steered { chat, id }).await?;
                    continue;
                }
                _ => continue,
            };
            if !for_ever {
                self.agreed = agreed;
                return Ok(Went::On);
            }
        }
        Ok(Went::Over)
    }

    async fn part(&mut self, kind: &str, text: &str) -> Result<(), String> {
        self.parts += 1;
        let id = format!("part-{}.{}", self.play, self.parts);
        let part = json!({"part": {"kind": kind, "id": id, "content": ""}});
        self.tell(&format!("chat/responsePart {part}")).await?;
        let name = match kind {
            "markdown" => "chat/delta",
            _ => "chat/reasoning",
        };
        let delta = json!({"partId": id, "content": format!("{text}\n")});
        self.tell(&format!("{name} {delta}")).await
    }

    async fn call(&mut self, text: &str) -> Result<(), String> {
        let (id, rest) = word(text);
        let (name, how) = word(rest);
        let (how, client) = word(how);
        let start = json!({"toolCallId": id, "toolName": name, "displayName": name});
        let ready = json!({"toolCallId": id, "invocationMessage": format!("Run {name}")});
        let at_once = json!({"confirmed": "not-needed"});
        let (start, ready) = match how {
            "for" => {
                let contributor = json!({"kind": "client", "clientId": client});
                let start = with(start, json!({"contributor": contributor}));
                (start, with(ready, at_once))
            }
            "run" => (start, with(ready, at_once)),
            _ => {
                let options = json!([
                    {"id": "once", "label": "Allow once", "kind": "approve"},
                    {"id": "never", "label": "Never", "kind": "deny"},
                ]);
                let question = json!({"toolInput": name, "editable": true, "options": options});
                (start, with(ready, question))
            }
        };
        self.tell(&format!("chat/toolCallStart {start}")).await?;
        self.tell(&format!("chat/toolCallReady {ready}")).await
    }

    async fn tell(&self, line: &str) -> Result<(), String> {
        let event = event(&self.place, line)?;
        Ok(self.events.send(event).await?)
    }

    async fn end(&self, error: Option<ErrorPart>) -> Result<(), HostGone> {
        let ended = AgentEvent::TurnEnded {
            chat: self.place.chat.clone(),
            turn: self.turn.clone(),
            error,
        };
        self.events.send(ended).await
    }
}

/// An object with the fields of another, too.
fn with(mut object: Json, more: Json) -> Json {
    if let (Json::Object(object), Json::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}
