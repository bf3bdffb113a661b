//! Parses agent events from text.

use agenthost_core::agent::{AgentEvent, ForbiddenValue, ImportedTurn, SlashCommand, WorkerChat};
use agenthost_protocol::action::Action;
use agenthost_protocol::chat::{ChatInteractivity, ErrorPart, Message};
use agenthost_protocol::common::{ErrorInfo, ToolDefinition};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use serde_json::json;

/// The chat and turn of an event.
#[derive(Debug, Clone)]
pub struct EventTarget {
    /// The chat of the event.
    pub chat: Uri,
    /// The turn for actions that name none.
    pub turn: Option<TurnId>,
}

/// Parses one event.
///
/// ```text
/// opened [TOOL ...]           the agent is ready, with these tools
/// stopped REASON              the agent has stopped
/// begin TURN {message}        the agent begins a turn by itself
/// end [TURN]                  the turn has ended
/// error [TURN] | resumable [TURN]
///                             the turn failed; it can be resumed
/// steered ID                  the agent accepted a steering message
/// commands NAME ...           the slash commands of the agent
/// note [TEXT]                 a note that is sent back when the session is resumed
/// adopt TURN {message} [ACTION {payload}]
///                             an imported turn from before the chat existed
/// title TEXT                  a suggested title of the chat
/// options {schema} {values}   the configuration schema and its values
/// forbids KEY VALUE REASON    a value that clients must not choose
/// signin                      the user has to sign in first
/// worker CHAT CALL MODE       a worker chat: read-only, hidden, full
/// close CHAT                  the end of a worker chat
/// ACTION {payload}            an action of a chat or a terminal
/// ```
///
/// # Errors
///
/// A description as text, if it is none of these.
pub fn parse_event(target: &EventTarget, text: &str) -> Result<AgentEvent, String> {
    let (verb, rest) = split_word(text);
    let chat = target.chat.clone();
    Ok(match verb {
        "opened" => AgentEvent::Opened {
            tools: rest.split_whitespace().map(tool_definition).collect(),
        },
        "stopped" => AgentEvent::Stopped {
            error: error_info(if rest.is_empty() {
                "no such file"
            } else {
                rest
            }),
        },
        "begin" => parse_turn_start(chat, rest)?,
        "end" => turn_ended(target, rest, None),
        "error" => turn_ended(target, rest, Some(error_part(None))),
        "resumable" => turn_ended(target, rest, Some(error_part(Some(true)))),
        "steered" => AgentEvent::SteeringAccepted {
            chat,
            id: rest.into(),
        },
        "commands" => AgentEvent::SlashCommandsChanged {
            commands: rest.split_whitespace().map(slash_command).collect(),
        },
        "note" => AgentEvent::NoteChanged {
            chat,
            note: (!rest.is_empty()).then(|| rest.to_owned()),
        },
        "adopt" => parse_imported_turn(chat, rest)?,
        "title" => AgentEvent::TitleSuggested {
            chat,
            title: rest.to_owned(),
        },
        "options" => parse_config_schema(rest)?,
        "forbids" => parse_forbidden_value(rest),
        "signin" => AgentEvent::AuthRequired,
        "worker" => parse_worker(chat, rest),
        "close" => AgentEvent::WorkerClosed {
            chat: Uri::from(rest),
        },
        name => parse_action(target, name, rest)?,
    })
}

/// Parses `begin TURN {message}`.
fn parse_turn_start(chat: Uri, rest: &str) -> Result<AgentEvent, String> {
    let (turn, message) = split_word(rest);
    Ok(AgentEvent::TurnStarted {
        chat,
        turn: TurnId::from(turn),
        message: parse_json::<Message>(message)?.into(),
    })
}

/// Returns the end of the named turn, or else of the target's turn.
fn turn_ended(target: &EventTarget, named: &str, error: Option<ErrorPart>) -> AgentEvent {
    AgentEvent::TurnEnded {
        chat: target.chat.clone(),
        turn: match (named, &target.turn) {
            ("", Some(turn)) => turn.clone(),
            _ => TurnId::from(named),
        },
        error,
    }
}

/// Parses `adopt TURN {message} [ACTION {payload}]`.
fn parse_imported_turn(chat: Uri, rest: &str) -> Result<AgentEvent, String> {
    let (turn, rest) = split_word(rest);
    let mut parts = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
    let message = parts.next().and_then(Result::ok).unwrap_or_default();
    let (name, payload) = split_word(rest.get(parts.byte_offset()..).unwrap_or_default().trim());
    let place = EventTarget {
        chat: chat.clone(),
        turn: Some(TurnId::from(turn)),
    };
    let actions = match name {
        "" => Vec::new(),
        name => match parse_action(&place, name, payload)? {
            AgentEvent::Chat { action, .. } => vec![*action],
            _ => return Err(format!("{name}: not an action of a chat")),
        },
    };
    Ok(AgentEvent::HistoryImported {
        chat,
        turns: vec![ImportedTurn {
            id: TurnId::from(turn),
            message: parse_json::<Message>(&message.to_string())?.into(),
            actions,
        }],
    })
}

/// Parses `options {schema} {values}`.
fn parse_config_schema(rest: &str) -> Result<AgentEvent, String> {
    let mut parts = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
    let mut part = || match parts.next() {
        Some(Ok(part)) => Ok(part),
        _ => Err(format!("{rest}: expected a schema and values")),
    };
    Ok(AgentEvent::ConfigSchemaChanged {
        schema: Box::new(parse_json(&part()?.to_string())?),
        values: part()?.as_object().cloned().unwrap_or_default(),
    })
}

/// Parses `forbids KEY VALUE REASON`.
fn parse_forbidden_value(rest: &str) -> AgentEvent {
    let (key, rest) = split_word(rest);
    let (value, reason) = split_word(rest);
    AgentEvent::ForbiddenValuesChanged {
        values: vec![ForbiddenValue {
            key: key.to_owned(),
            value: value.into(),
            reason: reason.to_owned(),
        }],
    }
}

/// Parses `worker CHAT CALL MODE`.
fn parse_worker(parent: Uri, rest: &str) -> AgentEvent {
    let (worker, rest) = split_word(rest);
    let (call, how) = split_word(rest);
    AgentEvent::WorkerOpened(Box::new(WorkerChat {
        chat: Uri::from(worker),
        parent,
        call: call.into(),
        title: "a worker".to_owned(),
        interactivity: match how {
            "hidden" => ChatInteractivity::Hidden,
            "full" => ChatInteractivity::Full,
            _ => ChatInteractivity::ReadOnly,
        },
    }))
}

fn parse_action(target: &EventTarget, name: &str, payload: &str) -> Result<AgentEvent, String> {
    let payload = if payload.is_empty() { "{}" } else { payload };
    let mut action: Json =
        serde_json::from_str(payload).map_err(|error| format!("{name} {payload}: {error}"))?;
    let fields = action.as_object_mut().ok_or("expected an object")?;
    fields.insert("type".to_owned(), json!(name));
    if let (Some(turn), false) = (&target.turn, fields.contains_key("turnId")) {
        fields.insert("turnId".to_owned(), json!(turn));
    }
    match parse_json::<Action>(&action.to_string())? {
        Action::Chat(action) => Ok(AgentEvent::Chat {
            chat: target.chat.clone(),
            action: Box::new(action),
        }),
        Action::Terminal(action) => Ok(AgentEvent::Terminal {
            terminal: Uri::from("ahp-terminal:/1"),
            action: Box::new(action),
        }),
        _ => Err(format!("{name}: not an action of an agent")),
    }
}

fn parse_json<T: wire::Wire>(json: &str) -> Result<T, String> {
    wire::from_str(json).map_err(|error| format!("{json}: {error}"))
}

fn tool_definition(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        title: None,
        description: None,
        input_schema: None,
        output_schema: None,
        annotations: None,
        meta: None,
    }
}

fn slash_command(name: &str) -> SlashCommand {
    SlashCommand {
        name: name.to_owned(),
        description: String::new(),
    }
}

fn error_info(message: &str) -> ErrorInfo {
    ErrorInfo::new("test", message)
}

fn error_part(resumable: Option<bool>) -> ErrorPart {
    ErrorPart {
        error: error_info("it broke"),
        resumable,
    }
}

/// Splits a text into its first word and the rest.
pub(crate) fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    (word, rest.trim())
}
