//! A host driven by text, and what it does in text.
//!
//! ```text
//! c1 connect [principal [was c0]]   c1 leave
//! c1 METHOD {params}                a request; the channel may stand before the params
//! c1 unsubscribe CHANNEL
//! c1 ! CHANNEL ACTION {payload}     dispatches an action
//! agent SESSION opened | stopped | end TURN | error TURN | steered ID | ACTION {payload}
//! grace CLIENT         restart         quiet         wait MS
//! ```
//!
//! `s1` is short for the session `ahp-session:/s1`, `s1.chat` for its default
//! chat, `root` for the host.

use agenthost_core::agent::{AgentCommand, AgentEvent, ChatContext};
use agenthost_core::{Answer, ConnectionId, Effect, Effects, Input, Received, Recipient, uris};
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ErrorPart;
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::{ClientId, TurnId};
use agenthost_protocol::rpc::{ClientNotification, ClientRequest, Message, RpcError};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{self, Document, Json, Limits};
use expect_test::Expect;
use serde_json::json;

use crate::world::World;

/// Runs a script and compares what came of it. The lines of the script stand
/// in the result, with what came of each below it.
pub(crate) fn check(script: &str, expected: Expect) {
    let mut world = World::new();
    let result = run(&mut world, script);
    world.check_mirrors();
    expected.assert_eq(&format!("{result}\n"));
}

/// Runs a script in a world. A line that starts with `-` sets the scene, and
/// what comes of it is not shown.
pub(crate) fn run(world: &mut World, script: &str) -> String {
    let mut runner = Runner { world, requests: 0 };
    let mut result = Vec::new();
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let quiet = line.strip_prefix("- ");
        let effects = runner.run(quiet.unwrap_or(line));
        if quiet.is_some() {
            continue;
        }
        result.push(line.to_owned());
        result.extend(render(&effects).iter().map(|line| format!("    {line}")));
    }
    result.join("\n")
}

struct Runner<'w> {
    world: &'w mut World,
    requests: u64,
}

impl Runner<'_> {
    fn run(&mut self, line: &str) -> Effects {
        let (who, rest) = word(line);
        match who {
            "agent" => {
                let (session, rest) = word(rest);
                let event = agent_event(session, rest);
                self.world.step(Input::Agent {
                    session: uri(session),
                    event,
                })
            }
            "grace" => self.world.step(Input::GraceEnded {
                client: ClientId::from(rest),
            }),
            "wait" => {
                self.world.now += rest.parse::<i64>().unwrap();
                Effects::default()
            }
            "restart" => self.world.restart(),
            "quiet" => self.world.step(Input::Quiet),
            client => {
                let connection = ConnectionId(client[1..].parse().unwrap());
                self.client(connection, rest)
            }
        }
    }

    fn client(&mut self, connection: ConnectionId, line: &str) -> Effects {
        let (what, rest) = word(line);
        match what {
            "connect" => {
                let (principal, memory) = word(if rest.is_empty() { "me" } else { rest });
                let memory = memory.strip_prefix("was c");
                let memory = memory.map(|number| ConnectionId(number.parse().unwrap()));
                self.world.connect(connection, principal, memory)
            }
            "leave" => self.world.disconnect(connection),
            "unsubscribe" => self.notify(connection, "unsubscribe", &json!({"channel": uri(rest)})),
            "!" => {
                let (channel, rest) = word(rest);
                let (name, payload) = word(rest);
                let mut action: Json = object(payload);
                action["type"] = json!(name);
                self.requests += 1;
                let params =
                    json!({"channel": uri(channel), "clientSeq": self.requests, "action": action});
                self.notify(connection, "dispatchAction", &params)
            }
            method => {
                let (channel, params) = match rest.strip_prefix('{') {
                    Some(_) => (None, rest),
                    None => {
                        let (channel, params) = word(rest);
                        (Some(channel).filter(|channel| !channel.is_empty()), params)
                    }
                };
                let mut params = object(params);
                let channel = uri(channel.unwrap_or("root"));
                params["channel"] = json!(channel);
                self.requests += 1;
                let message = json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params});
                self.send(connection, &message)
            }
        }
    }

    fn notify(&mut self, connection: ConnectionId, method: &str, params: &Json) -> Effects {
        self.send(
            connection,
            &json!({"jsonrpc": "2.0", "method": method, "params": params}),
        )
    }

    fn send(&mut self, connection: ConnectionId, message: &Json) -> Effects {
        let message = received(&message.to_string());
        self.world.step(Input::Received {
            connection,
            message,
        })
    }
}

/// What the server makes of a text.
pub(crate) fn received(text: &str) -> Received {
    let document = Document::parse(text, Limits::default()).unwrap();
    match Message::decode(&document).unwrap() {
        Message::Request(id, call) => match ClientRequest::decode(&call) {
            Ok(request) => Received::Request(id, Box::new(request)),
            Err(error) => Received::Invalid(id, RpcError::from(error)),
        },
        Message::Notification(call) => {
            let notification = ClientNotification::decode(&call).unwrap();
            Received::Notification(Box::new(notification))
        }
        Message::Response(_) => panic!("expected a request or a notification"),
    }
}

fn word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    (word, rest.trim())
}

fn object(text: &str) -> Json {
    if text.is_empty() {
        return json!({});
    }
    // Names of channels are short inside, too.
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn uri(name: &str) -> Uri {
    if name == "root" {
        return Uri::from("ahp-root://");
    }
    match name.strip_suffix(".chat") {
        Some(session) => uris::default_chat(&uri(session)),
        None if name.contains(':') => Uri::from(name),
        None => Uri::from(format!("ahp-session:/{name}")),
    }
}

/// The short name of a channel.
fn short(channel: &Uri) -> String {
    for session in ["s1", "s2", "s3"] {
        if *channel == uri(session) {
            return session.to_owned();
        }
        if *channel == uri(&format!("{session}.chat")) {
            return format!("{session}.chat");
        }
    }
    if channel.as_str() == "ahp-root://" {
        return "root".to_owned();
    }
    channel.to_string()
}

fn agent_event(session: &str, text: &str) -> AgentEvent {
    let chat = uri(&format!("{session}.chat"));
    let error = |message: &str| ErrorInfo {
        error_type: "test".to_owned(),
        message: message.to_owned(),
        stack: None,
        meta: None,
    };
    let (what, rest) = word(text);
    match what {
        "opened" => AgentEvent::Opened { tools: Vec::new() },
        "stopped" => AgentEvent::Stopped {
            error: error("no such file"),
        },
        "steered" => AgentEvent::Steered {
            chat,
            id: rest.into(),
        },
        "end" => AgentEvent::TurnEnded {
            chat,
            turn: TurnId::from(rest),
            error: None,
        },
        "error" => AgentEvent::TurnEnded {
            chat,
            turn: TurnId::from(rest),
            error: Some(ErrorPart {
                error: error("it broke"),
                resumable: None,
            }),
        },
        name => {
            let mut action = object(rest);
            action["type"] = json!(name);
            match wire::from_str::<Action>(&action.to_string()).unwrap() {
                Action::Chat(action) => AgentEvent::Chat {
                    chat,
                    action: Box::new(action),
                },
                Action::Terminal(action) => AgentEvent::Terminal {
                    terminal: uri("ahp-terminal:/1"),
                    action: Box::new(action),
                },
                other => panic!("not an action of an agent: {other:?}"),
            }
        }
    }
}

fn render(effects: &Effects) -> Vec<String> {
    let mut lines = Vec::new();
    for effect in &effects.effects {
        lines.push(match effect {
            Effect::Reply {
                connection, answer, ..
            } => match answer {
                Ok(answer) => format!("{}: {}", name(connection), render_answer(answer)),
                Err(error) => format!(
                    "{}: error {} {}",
                    name(connection),
                    error.code.number(),
                    error.message
                ),
            },
            Effect::Publish { envelope, to } => {
                let by = envelope.origin.as_ref();
                let by = by.map_or(String::new(), |by| format!(" by {}", by.client_id));
                format!(
                    "{}: {} {}{by} {}",
                    recipients(to),
                    envelope.server_seq.0,
                    short(&envelope.channel),
                    render_action(&envelope.action)
                )
            }
            Effect::Show {
                connection,
                envelope,
            } => format!(
                "{}: {} shown {}",
                name(connection),
                envelope.server_seq.0,
                render_action(&envelope.action)
            ),
            Effect::Reject {
                connection,
                rejection,
            } => format!(
                "{}: {} rejected: {}",
                name(connection),
                rejection.server_seq.0,
                rejection.rejection_reason
            ),
            Effect::Notify { notification, to } => {
                let mut params = wire_json(notification.as_ref());
                params.as_object_mut().unwrap().remove("channel");
                format!(
                    "{}: {} {}",
                    names(to),
                    notification.method(),
                    shorten(&params)
                )
            }
            Effect::Close { connection } => format!("close {}", name(connection)),
            Effect::Agent {
                session, command, ..
            } => format!("agent {}: {}", short(session), render_command(command)),
            Effect::Discarded {
                channel,
                action,
                reason,
            } => format!("discarded {} {action}: {reason}", short(channel)),
            Effect::StartGrace { client, after } => format!("grace {client} {}", after.0),
        });
    }
    if lines.is_empty() {
        lines.push("nothing".to_owned());
    }
    lines
}

fn wire_json(value: &impl serde::Serialize) -> Json {
    serde_json::to_value(value).unwrap()
}

/// JSON with short names of channels.
fn shorten(json: &Json) -> String {
    let mut text = json.to_string();
    for name in ["s1.chat", "s2.chat", "s3.chat", "s1", "s2", "s3"] {
        text = text.replace(uri(name).as_str(), name);
    }
    text
}

fn render_action(action: &Action) -> String {
    let mut json = wire_json(action);
    let name = json["type"].as_str().unwrap().to_owned();
    json.as_object_mut().unwrap().remove("type");
    format!("{name} {}", shorten(&json))
}

fn render_answer(answer: &Answer) -> String {
    match answer {
        Answer::Null => "null".to_owned(),
        Answer::Empty => "{}".to_owned(),
        Answer::Initialize(result) => {
            let snapshots = result.snapshots.iter().map(|s| short(&s.resource));
            format!(
                "version {} at {} with [{}]",
                result.protocol_version,
                result.server_seq.0,
                snapshots.collect::<Vec<_>>().join(", ")
            )
        }
        Answer::Replay {
            after,
            until,
            channels,
            missing,
        } => {
            let list = |uris: &[Uri]| uris.iter().map(short).collect::<Vec<_>>().join(", ");
            format!(
                "replay ({}, {}] of [{}], missing [{}]",
                after.0,
                until.0,
                list(channels),
                list(missing)
            )
        }
        Answer::Snapshots(result) => {
            let snapshots = result.snapshots.iter().map(|s| short(&s.resource));
            format!(
                "snapshots of [{}]",
                snapshots.collect::<Vec<_>>().join(", ")
            )
        }
        Answer::Subscribe(result) => {
            let snapshot = result.snapshot.as_ref().unwrap();
            let shown = match &snapshot.state {
                ChannelState::Chat(chat) if chat.turns_next_cursor.is_some() => {
                    let ids: Vec<_> = chat.turns.items().map(|turn| turn.id.as_str()).collect();
                    format!(", only [{}]", ids.join(", "))
                }
                _ => String::new(),
            };
            format!(
                "snapshot of {} at {}{shown}",
                short(&snapshot.resource),
                snapshot.from_seq.0
            )
        }
        Answer::ListSessions(result) => {
            let items = result.items.iter().map(|item| short(&item.resource));
            let more = result.next_cursor.as_ref().map_or("", |_| " and more");
            format!("sessions [{}]{more}", items.collect::<Vec<_>>().join(", "))
        }
        Answer::ResolveSessionConfig(result) => {
            let keys: Vec<_> = result
                .schema
                .properties
                .keys()
                .map(String::as_str)
                .collect();
            format!(
                "schema of [{}], {}",
                keys.join(", "),
                wire_json(&result.values)
            )
        }
        Answer::SessionConfigCompletions(result) => format!("{} values", result.items.len()),
        Answer::MoveChat(result) => format!("in {}", short(&result.session)),
    }
}

fn render_command(command: &AgentCommand) -> String {
    match command {
        AgentCommand::Open { .. } => "open".to_owned(),
        AgentCommand::Prompt { turn, message, .. } => format!("prompt {turn} {:?}", message.text),
        AgentCommand::Resume { turn, .. } => format!("resume {turn}"),
        AgentCommand::Cancel { turn, .. } => format!("cancel {turn}"),
        AgentCommand::Decide { call, decision, .. } => format!("decide {call} {decision:?}"),
        AgentCommand::Answer {
            request,
            response,
            answers,
            ..
        } => {
            let answers = wire_json(answers);
            format!("answer {request} {} {answers}", response.as_str())
        }
        AgentCommand::OpenChat { chat, context } => match context {
            ChatContext::Own(turns) => format!("chat {} with {} turns", short(chat), turns.len()),
            ChatContext::Beside {
                turns,
                running,
                selection,
            } => {
                let running = usize::from(running.is_some());
                let turns = turns.len();
                format!(
                    "chat {} beside {turns} turns and {running}, about {selection:?}",
                    short(chat)
                )
            }
        },
        AgentCommand::Configure { values } => format!("configure {}", wire_json(values)),
        AgentCommand::Directories { directories } => {
            let names: Vec<_> = directories.iter().map(Uri::as_str).collect();
            format!("directories [{}]", names.join(", "))
        }
        AgentCommand::Attached {
            resource, turns, ..
        } => {
            format!("attached {} with {} turns", short(resource), turns.len())
        }
        AgentCommand::Steer {
            turn, id, message, ..
        } => {
            format!("steer {turn} by {id} {:?}", message.text)
        }
        AgentCommand::CloseChat { chat } => format!("close chat {}", short(chat)),
        AgentCommand::ToolCompleted { call, result, .. } => {
            format!("completed {call} {}", result.success)
        }
        AgentCommand::ClientTools { clients } => {
            let tools = clients.iter().flat_map(|client| &client.tools);
            let names: Vec<_> = tools.map(|tool| tool.name.as_str()).collect();
            format!("tools [{}]", names.join(", "))
        }
        AgentCommand::Rewind { last, .. } => format!("rewind to {last:?}"),
        AgentCommand::Close => "close".to_owned(),
    }
}

fn name(connection: &ConnectionId) -> String {
    format!("c{}", connection.0)
}

/// With how long each may be kept waiting, if at all.
fn recipients(to: &[Recipient]) -> String {
    let one = |to: &Recipient| match to.patience.0 {
        0 => name(&to.connection),
        patience => format!("{} within {patience}", name(&to.connection)),
    };
    to.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn names(connections: &[ConnectionId]) -> String {
    connections.iter().map(name).collect::<Vec<_>>().join(", ")
}
