//! An agent that runs scripts inside of the test process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agenthost_agents::{Agent, AgentEventSender, HostGone, SessionContext, SessionFuture};
use agenthost_core::agent::{AgentCommand, AgentEvent, ToolCallDecision};
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

use crate::event::{EventTarget, parse_event, split_word};

/// Capacity of the command queue of a turn.
const SCRIPT_QUEUE: usize = 64;

/// An agent that runs every message as a script, line by line, so that any client can
/// control its behaviour:
///
/// ```text
/// say TEXT             a part of the response     think TEXT   of the reasoning
/// call ID NAME ask     a call with approval       call ID NAME run
/// call ID NAME for CLIENT                         a call of a client tool
/// done ID              the call succeeded         failed ID
/// form ID {request}    an input request
/// wait                 waits for a decision, an answer or a result
/// + LINE   - LINE      only if that was yes, or no
/// sleep MS             waits                      hang         until it is ended
/// break                the agent fails
/// prepared             says the prepared additions of the turn, as JSON
/// resumable            the turn fails; a resumed turn runs the rest
/// in CHAT LINE         runs a line in another chat
/// ```
///
/// and all events of [`parse_event`]. `;;` ends a line, too. At the end of the script the
/// turn ends. A line that can't be parsed fails the turn.
#[derive(Debug, Clone, Default)]
pub struct ScriptedAgent {
    received: Arc<Mutex<Vec<String>>>,
}

impl ScriptedAgent {
    /// Returns the commands that the host has sent so far.
    pub fn received_commands(&self) -> Vec<String> {
        let heard = self.received.lock();
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

    fn supports_steering(&self) -> bool {
        true
    }

    fn config_schema(&self) -> Option<SessionConfigSchema> {
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

    fn run_session(&self, session: SessionContext) -> SessionFuture {
        Box::pin(run_session(session, Arc::clone(&self.received)))
    }
}

async fn run_session(
    mut session: SessionContext,
    received: Arc<Mutex<Vec<String>>>,
) -> Result<(), String> {
    let mut running: BTreeMap<Uri, mpsc::Sender<AgentCommand>> = BTreeMap::new();
    let mut turns: JoinSet<Result<(), String>> = JoinSet::new();
    let mut failed = BTreeMap::new();
    let mut run_count = 0;
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
        record_command(&received, &command);
        match command {
            AgentCommand::Close => return Ok(()),
            AgentCommand::Open { .. } => {
                let events = &session.events;
                events
                    .send(AgentEvent::Opened { tools: Vec::new() })
                    .await?;
            }
            AgentCommand::Prompt { .. } | AgentCommand::Resume { .. } => {
                let prepared = prepared_json(&command);
                let Some((chat, turn, script)) = next_script(command, &mut failed) else {
                    continue;
                };
                let (sender, commands) = mpsc::channel(SCRIPT_QUEUE);
                running.insert(chat.clone(), sender);
                run_count += 1;
                let play = ScriptRun {
                    target: EventTarget {
                        chat,
                        turn: Some(turn.clone()),
                    },
                    turn,
                    commands,
                    events: session.events.clone(),
                    run_number: run_count,
                    part_count: 0,
                    was_approved: true,
                    prepared,
                };
                turns.spawn(async move { play.run(&script).await });
            }
            command => {
                let turn = command.chat().and_then(|chat| running.get(chat));
                if let Some(turn) = turn {
                    // A turn that has ended, or does not read its queue, ignores commands.
                    turn.try_send(command).unwrap_or_default();
                }
            }
        }
    }
}

/// Returns the script of a turn: a message, or the rest of one that failed.
fn next_script(
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
            // The expansion of a slash command replaces the message.
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

/// Returns the additions of customizations to a prompt.
fn prepared_json(command: &AgentCommand) -> Json {
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

fn record_command(received: &Mutex<Vec<String>>, command: &AgentCommand) {
    let text = format!("{command:?}");
    let mut heard = received.lock().unwrap_or_else(PoisonError::into_inner);
    heard.push(text);
}

/// A turn that runs a script.
struct ScriptRun {
    target: EventTarget,
    turn: TurnId,
    commands: mpsc::Receiver<AgentCommand>,
    events: AgentEventSender,
    /// The number of this run, for unique part ids.
    run_number: u32,
    part_count: u32,
    /// `true` if the last answer was yes.
    was_approved: bool,
    /// The additions of customizations to the prompt.
    prepared: Json,
}

/// The result of a line.
enum ScriptStep {
    Continue,
    /// The turn has ended, and the host has received the event.
    TurnOver,
}

impl ScriptRun {
    async fn run(mut self, script: &str) -> Result<(), String> {
        let lines = script.lines().flat_map(|line| line.split(";;"));
        for line in lines.map(str::trim) {
            match self.run_line(line).await? {
                ScriptStep::Continue => {}
                ScriptStep::TurnOver => return Ok(()),
            }
        }
        Ok(self.end_turn(None).await?)
    }

    async fn run_line(&mut self, line: &str) -> Result<ScriptStep, String> {
        let (what, rest) = split_word(line);
        match what {
            "" => {}
            "+" if self.was_approved => return Box::pin(self.run_line(rest)).await,
            "-" if !self.was_approved => return Box::pin(self.run_line(rest)).await,
            "+" | "-" => {}
            "in" => {
                let (chat, rest) = split_word(rest);
                let there = EventTarget {
                    chat: Uri::from(chat),
                    turn: None,
                };
                let here = std::mem::replace(&mut self.target, there);
                let went = Box::pin(self.run_line(rest)).await;
                self.target = here;
                // The end of a turn in the other chat does not end this script.
                went?;
            }
            "say" => self.send_part("markdown", rest).await?,
            "think" => self.send_part("reasoning", rest).await?,
            "prepared" => {
                let prepared = self.prepared.to_string();
                self.send_part("markdown", &prepared).await?;
            }
            "call" => self.send_call(rest).await?,
            "done" | "failed" => {
                let success = what == "done";
                let result = json!({"success": success, "pastTenseMessage": format!("It {what}")});
                let payload = json!({"toolCallId": rest, "result": result});
                self.send_event(&format!("chat/toolCallComplete {payload}"))
                    .await?;
            }
            "form" => {
                let (id, request) = split_word(rest);
                let request: Json =
                    serde_json::from_str(request).map_err(|error| error.to_string())?;
                let request = merge_fields(request, json!({"id": id}));
                self.send_event(&format!(
                    "chat/inputRequested {}",
                    json!({"request": request})
                ))
                .await?;
            }
            "sleep" => {
                let pause = rest.parse().map_err(|_| "sleep: expected a number")?;
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            "wait" | "hang" => return self.wait_for_answer(what == "hang").await,
            "break" => return Err("the script says so".to_owned()),
            "end" | "error" | "resumable" => {
                self.send_event(line).await?;
                return Ok(ScriptStep::TurnOver);
            }
            _ => match parse_event(&self.target, line) {
                Ok(event) => self.events.send(event).await?,
                Err(problem) => {
                    let error = ErrorInfo::new("script", format!("can't be read: {problem}"));
                    let resumable = None;
                    self.end_turn(Some(ErrorPart { error, resumable })).await?;
                    return Ok(ScriptStep::TurnOver);
                }
            },
        }
        Ok(ScriptStep::Continue)
    }

    /// Waits for an answer, or without end if `for_ever` is set. Ends with the turn.
    async fn wait_for_answer(&mut self, for_ever: bool) -> Result<ScriptStep, String> {
        while let Some(command) = self.commands.recv().await {
            let agreed = match command {
                AgentCommand::Cancel { .. } => return Ok(ScriptStep::TurnOver),
                AgentCommand::DecideToolCall { decision, .. } => match decision {
                    ToolCallDecision::Approved { .. } | ToolCallDecision::ResultApproved => true,
                    ToolCallDecision::Denied { .. } | ToolCallDecision::ResultDenied => false,
                },
                AgentCommand::AnswerInput { response, .. } => response == InputResponseKind::Accept,
                AgentCommand::CompleteToolCall { result, .. } => result.success,
                AgentCommand::Steer { chat, id, .. } => {
                    self.events
                        .send(AgentEvent::SteeringAccepted { chat, id })
                        .await?;
                    continue;
                }
                _ => continue,
            };
            if !for_ever {
                self.was_approved = agreed;
                return Ok(ScriptStep::Continue);
            }
        }
        Ok(ScriptStep::TurnOver)
    }

    async fn send_part(&mut self, kind: &str, text: &str) -> Result<(), String> {
        self.part_count += 1;
        let id = format!("part-{}.{}", self.run_number, self.part_count);
        let part = json!({"part": {"kind": kind, "id": id, "content": ""}});
        self.send_event(&format!("chat/responsePart {part}"))
            .await?;
        let name = match kind {
            "markdown" => "chat/delta",
            _ => "chat/reasoning",
        };
        let delta = json!({"partId": id, "content": format!("{text}\n")});
        self.send_event(&format!("{name} {delta}")).await
    }

    async fn send_call(&mut self, text: &str) -> Result<(), String> {
        let (id, rest) = split_word(text);
        let (name, how) = split_word(rest);
        let (how, client) = split_word(how);
        let start = json!({"toolCallId": id, "toolName": name, "displayName": name});
        let ready = json!({"toolCallId": id, "invocationMessage": format!("Run {name}")});
        let at_once = json!({"confirmed": "not-needed"});
        let (start, ready) = match how {
            "for" => {
                let contributor = json!({"kind": "client", "clientId": client});
                let start = merge_fields(start, json!({"contributor": contributor}));
                (start, merge_fields(ready, at_once))
            }
            "run" => (start, merge_fields(ready, at_once)),
            _ => {
                let options = json!([
                    {"id": "once", "label": "Allow once", "kind": "approve"},
                    {"id": "never", "label": "Never", "kind": "deny"},
                ]);
                let question = json!({"toolInput": name, "editable": true, "options": options});
                (start, merge_fields(ready, question))
            }
        };
        self.send_event(&format!("chat/toolCallStart {start}"))
            .await?;
        self.send_event(&format!("chat/toolCallReady {ready}"))
            .await
    }

    async fn send_event(&self, line: &str) -> Result<(), String> {
        let event = parse_event(&self.target, line)?;
        Ok(self.events.send(event).await?)
    }

    async fn end_turn(&self, error: Option<ErrorPart>) -> Result<(), HostGone> {
        let ended = AgentEvent::TurnEnded {
            chat: self.target.chat.clone(),
            turn: self.turn.clone(),
            error,
        };
        self.events.send(ended).await
    }
}

/// Returns an object with the fields of both.
fn merge_fields(mut object: Json, more: Json) -> Json {
    if let (Json::Object(object), Json::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}
