//! Renders the effects of a host as text.

use agenthost_core::agent::{AgentCommand, AttachmentContent, ChatContext};
use agenthost_core::{
    ChangeTask, CheckpointId, ConnectionId, DiffEndpoint, Effect, Effects, Input, PtyCommand,
    Recipient, RecoveryOutcome, ResponseBody, TerminalProgram, WorktreeDisposal,
};
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use crate::customizations;
use crate::script::uri;

/// Returns the short name of a channel.
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
    match channel.as_str().strip_prefix("ahp-terminal:/command-") {
        Some(_) => "run".to_owned(),
        None => channel.to_string(),
    }
}

pub(crate) fn render(effects: &Effects) -> Vec<String> {
    let mut lines = Vec::new();
    for effect in &effects.effects {
        lines.push(match effect {
            Effect::Respond {
                connection,
                result: answer,
                ..
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
            Effect::PublishLegacy { envelope, to, .. } => {
                format!(
                    "{}: {} retold {} {}",
                    names(to),
                    envelope.server_seq.0,
                    short(&envelope.channel),
                    render_action(&envelope.action)
                )
            }
            Effect::PublishToOne {
                connection,
                envelope,
            } => format!(
                "{}: {} shown {}",
                name(connection),
                envelope.server_seq.0,
                render_action(&envelope.action)
            ),
            Effect::RejectAction {
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
            Effect::SendRequest {
                connection,
                request,
                ..
            } => {
                let params = wire_json(request.as_ref());
                assert_eq!(params["channel"], "ahp-root://");
                format!(
                    "{}: asked {} {}",
                    name(connection),
                    request.method(),
                    params["uri"].as_str().unwrap()
                )
            }
            Effect::CloseConnection { connection } => format!("close {}", name(connection)),
            Effect::Agent {
                session, command, ..
            } => format!("agent {}: {}", short(session), render_command(command)),
            Effect::ReportRemoved { session, rule } => {
                format!("removed {} by {rule}", short(session))
            }
            Effect::ReportDiscarded {
                channel,
                action,
                reason,
            } => format!("discarded {} {action}: {reason}", short(channel)),
            Effect::Watch(errand) => format!("watch {} as {}", errand.watch.root, errand.channel),
            Effect::Terminal {
                terminal, command, ..
            } => {
                format!("terminal {}: {}", short(terminal), render_use(command))
            }
            Effect::TrackChanges(errand) => format!(
                "changes {}: {}",
                short(&errand.session),
                render_changes(&errand.task)
            ),
            Effect::TrustCode { keys } => format!("trust code {keys:?}"),
            Effect::StoreContent(kept) => format!("keep {:?} as {}", kept.text, kept.name),
            Effect::ShareContent { from, to } => {
                format!("share content of {} with {}", short(from), short(to))
            }
            // Part of every disposal, so not shown.
            Effect::DeleteContent { .. } => continue,
            Effect::Unwatch { channel } => format!("unwatch {channel}"),
            Effect::StoreToken { key: place, token } => {
                let what = if token.is_some() { "token" } else { "no token" };
                format!("{what} of {} for {}", place.principal.0, place.resource)
            }
            // Not shown if `me` is the only principal.
            Effect::SetTokenPrincipals { principals, .. } => {
                let names: Vec<_> = principals.iter().map(|one| one.0.as_str()).collect();
                if names.iter().all(|name| *name == "me") {
                    continue;
                }
                format!("tokens of [{}]", names.join(", "))
            }
            Effect::AccessFiles(errand) => {
                let roots: Vec<_> = errand
                    .roots
                    .iter()
                    .map(|root| format!("{:?} {}", root.access, root.uri))
                    .collect();
                format!("files in [{}]", roots.join(", "))
            }
            Effect::Customization(errand) => {
                format!("customizations: {}", customizations::render(errand))
            }
            Effect::Mcp(errand) => format!("tools: {}", customizations::render_tools(errand)),
            Effect::ForwardMcpNotification { method, params, to } => {
                let to: Vec<_> = to.iter().map(name).collect();
                format!(
                    "{}: {method} {}",
                    to.join(","),
                    Json::Object(params.clone())
                )
            }
            Effect::SearchFiles(search) => {
                let names: Vec<_> = search.directories.iter().map(Uri::as_str).collect();
                format!("find {:?} in [{}]", search.query, names.join(", "))
            }
            Effect::Schedule {
                delay: after,
                input,
            } => format!("{} {}", render_later(input), after.0),
        });
    }
    if lines.is_empty() {
        lines.push("nothing".to_owned());
    }
    lines
}

/// Renders a command for a terminal.
fn render_use(command: &PtyCommand) -> String {
    match command {
        PtyCommand::Open {
            program,
            directory,
            cols,
            rows,
        } => {
            let program = match program {
                TerminalProgram::Shell => "a shell".to_owned(),
                TerminalProgram::Command(line) => format!("{:?}", line.0),
            };
            let place = directory.as_ref().map_or("home", |uri| uri.as_str());
            format!("open {program} in {place}, {cols} by {rows}")
        }
        PtyCommand::Write(typed) => format!("type {:?}", typed.data),
        PtyCommand::Resize { cols, rows } => format!("resize to {cols} by {rows}"),
        PtyCommand::Close => "close".to_owned(),
    }
}

/// Renders a scheduled input.
fn render_later(input: &Input) -> String {
    match input {
        Input::GraceExpired { client, .. } => format!("grace {client}"),
        Input::TokenExpired { key: place, .. } => format!("token for {} expires", place.resource),
        Input::ClientToolTimedOut { call, .. } => format!("await {}", call.key().unwrap()),
        Input::AgentListDebounced => "show agents".to_owned(),
        Input::CallAnnouncementTimedOut { call } => format!("await what is told of {}", call.0),
        Input::WatchIdleTimedOut { channel } => format!("await {channel}"),
        Input::AccessRequestTimedOut { .. } => "await a grant".to_owned(),
        Input::ChangesetRefreshDue { channel, .. } => {
            format!("look again at {}", shorten_text(channel.as_str()))
        }
        Input::PreviewDue { terminal } => format!("preview {}", shorten_text(terminal.as_str())),
        Input::HostRequestTimedOut { .. } => "await an answer".to_owned(),
        other => panic!("nobody waits for {other:?}"),
    }
}

fn wire_json(value: &impl serde::Serialize) -> Json {
    serde_json::to_value(value).unwrap()
}

fn render_changes(task: &ChangeTask) -> String {
    match task {
        ChangeTask::TakeCheckpoint {
            checkpoint: mark,
            chat_start: chat_began,
        } => {
            let since = chat_began.as_ref().map(render_checkpoint);
            let since = since.map_or(String::new(), |since| format!(", chat since {since}"));
            format!("mark {}{since}", render_checkpoint(mark))
        }
        ChangeTask::ComputeDiff {
            channel,
            range: span,
        } => format!(
            "compare {} with {} for {}",
            render_endpoint(&span.from),
            render_endpoint(&span.to),
            shorten_text(channel.as_str())
        ),
        ChangeTask::RunOperation {
            operation_id: name,
            request: wanted,
        } => {
            let file = wanted.file.as_ref();
            let file = file.map_or(String::new(), |file| format!(" {file}"));
            format!(
                "{name}{file} as {:?}: {:?}",
                wanted.operation, wanted.message
            )
        }
        ChangeTask::SurveyEdits(survey) => {
            let claimed: Vec<_> = survey
                .claimed
                .iter()
                .filter_map(|edit| Some(edit.after.as_ref()?.uri.to_string()))
                .collect();
            let base = match survey.base == survey.turn {
                true => String::new(),
                false => format!(" since {}", survey.base.turn),
            };
            format!(
                "survey {}{base} {:?} {}",
                survey.turn.turn,
                survey.scope,
                claimed.join(" ")
            )
            .trim_end()
            .to_owned()
        }
        ChangeTask::CreateWorktree(wish) => {
            let wish = format!("{wish:?}").replacen("WorktreeRequest", "WorktreeWish", 1);
            format!("worktree {wish}")
        }
        ChangeTask::ForgetSession { worktree } => match worktree {
            WorktreeDisposal::KeepWork => "forget".to_owned(),
            WorktreeDisposal::Discard => "forget, discard the worktree".to_owned(),
        },
    }
}

fn render_checkpoint(mark: &CheckpointId) -> String {
    match mark {
        CheckpointId::SessionStart => "start".to_owned(),
        CheckpointId::BeforeTurn(turn) => format!("before {}", turn.turn),
        CheckpointId::AfterTurn(turn) => format!("after {}", turn.turn),
    }
}

fn render_endpoint(moment: &DiffEndpoint) -> String {
    match moment {
        DiffEndpoint::Head => "the commit".to_owned(),
        DiffEndpoint::MergeBase => "the branch point".to_owned(),
        DiffEndpoint::Checkpoint(mark) => render_checkpoint(mark),
        DiffEndpoint::WorkingTree => "now".to_owned(),
    }
}

/// Renders JSON with short names of channels.
fn shorten(json: &Json) -> String {
    shorten_text(&json.to_string())
}

fn shorten_text(text: &str) -> String {
    let mut text = text.to_owned();
    for name in ["s1.chat", "s2.chat", "s3.chat", "s1", "s2", "s3"] {
        text = text.replace(uri(name).as_str(), name);
    }
    // Replaces ids that the host has generated.
    for (made, name) in [
        ("command-0000000000000000", "a-command"),
        ("changes-0000000000000000", "changes"),
    ] {
        while let Some(at) = text.find(made) {
            let end = text[at..].find('"').unwrap_or(made.len());
            text.replace_range(at..at + end, name);
        }
    }
    text
}

fn render_action(action: &Action) -> String {
    let mut json = wire_json(action);
    let name = json["type"].as_str().unwrap().to_owned();
    json.as_object_mut().unwrap().remove("type");
    format!("{name} {}", shorten(&json))
}

fn render_answer(answer: &ResponseBody) -> String {
    match answer {
        ResponseBody::Null => "null".to_owned(),
        ResponseBody::Empty => "{}".to_owned(),
        ResponseBody::ChangesetOperation(result) => shorten(&wire_json(result)),
        ResponseBody::Initialize(result) => {
            let snapshots = result.snapshots.iter().map(|s| short(&s.resource));
            let meta = result.meta.as_ref().map(|meta| {
                let meta = serde_json::to_value(meta).unwrap();
                format!(" and {meta}")
            });
            format!(
                "version {} at {} with [{}]{}",
                result.protocol_version,
                result.server_seq.0,
                snapshots.collect::<Vec<_>>().join(", "),
                meta.unwrap_or_default()
            )
        }
        ResponseBody::Replay {
            after,
            until,
            channels,
            missing,
            apps: _,
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
        ResponseBody::Snapshots(result) => {
            let snapshots = result.snapshots.iter().map(|s| short(&s.resource));
            format!(
                "snapshots of [{}]",
                snapshots.collect::<Vec<_>>().join(", ")
            )
        }
        ResponseBody::Recoveries {
            channels,
            until,
            apps: _,
        } => {
            let one = |recovery: &RecoveryOutcome| match recovery {
                RecoveryOutcome::Replay { channel, after } => {
                    format!("replay ({}, {}] of {}", after.0, until.0, short(channel))
                }
                RecoveryOutcome::Stateless(channel) => format!("nothing of {channel}"),
                RecoveryOutcome::Snapshot(snapshot) => format!(
                    "snapshot of {} at {}",
                    short(&snapshot.resource),
                    snapshot.from_seq.0
                ),
                RecoveryOutcome::Missing(channel) => format!("missing {}", short(channel)),
            };
            format!(
                "recovers [{}]",
                channels.iter().map(one).collect::<Vec<_>>().join(", ")
            )
        }
        ResponseBody::Subscribe(result) => {
            let Some(snapshot) = &result.snapshot else {
                return "subscribed".to_owned();
            };
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
        ResponseBody::ListSessions(result) => {
            let items = result.items.iter().map(|item| short(&item.resource));
            let more = result.next_cursor.as_ref().map_or("", |_| " and more");
            format!("sessions [{}]{more}", items.collect::<Vec<_>>().join(", "))
        }
        ResponseBody::ResolveSessionConfig(result) => {
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
        ResponseBody::SessionConfigCompletions(result) => {
            let values: Vec<_> = result.items.iter().map(|item| &item.value).collect();
            format!("values {}", serde_json::to_string(&values).unwrap())
        }
        ResponseBody::CreateResourceWatch(result) => format!("watch {}", result.channel),
        ResponseBody::ResourceRead(_)
        | ResponseBody::ResourceList(_)
        | ResponseBody::ResourceResolve(_) => "about a file".to_owned(),
        ResponseBody::McpResult(answer) => format!("the server says {answer}"),
        ResponseBody::Completions(result) => {
            let items = result.items.iter().map(|item| {
                let range = item.range_start.zip(item.range_end);
                let (start, end) = range.unwrap();
                format!("{} for {start}..{end}", item.insert_text)
            });
            format!("items [{}]", items.collect::<Vec<_>>().join(", "))
        }
        ResponseBody::MoveChat(result) => format!("in {}", short(&result.session)),
    }
}

fn render_command(command: &AgentCommand) -> String {
    match command {
        AgentCommand::Open { notes, .. } if notes.is_empty() => "open".to_owned(),
        AgentCommand::Open { notes, .. } => {
            let notes = notes
                .iter()
                .map(|(chat, note)| format!("{}: {note}", short(chat)));
            format!("open, noted [{}]", notes.collect::<Vec<_>>().join(", "))
        }
        AgentCommand::Prompt { turn, message, .. } => format!("prompt {turn} {:?}", message.text),
        AgentCommand::Resume { turn, .. } => format!("resume {turn}"),
        AgentCommand::Cancel { turn, .. } => format!("cancel {turn}"),
        AgentCommand::DecideToolCall { call, decision, .. } => {
            format!("decide {call} {decision:?}")
        }
        AgentCommand::AnswerInput {
            request,
            response,
            answers,
            ..
        } => {
            let answers = wire_json(answers);
            format!("answer {request} {} {answers}", response.as_str())
        }
        AgentCommand::OpenChat { chat, context } => match context {
            ChatContext::History { turns, copy_of } => {
                let copy = copy_of
                    .as_ref()
                    .map(|chat| format!(", all of {}", short(chat)));
                let copy = copy.unwrap_or_default();
                format!("chat {} with {} turns{copy}", short(chat), turns.len())
            }
            ChatContext::SideChat {
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
        AgentCommand::UseTerminal {
            terminal, command, ..
        } => format!("terminal {}: {}", short(terminal), render_use(command)),
        AgentCommand::ContinueInBackground {
            terminal, output, ..
        } => format!(
            "terminal {}: continue in the background after {output:?}",
            short(terminal)
        ),
        AgentCommand::SetConfig { values } => format!("configure {}", wire_json(values)),
        AgentCommand::SetDirectories { directories } => {
            let names: Vec<_> = directories.iter().map(Uri::as_str).collect();
            format!("directories [{}]", names.join(", "))
        }
        AgentCommand::AddAttachment {
            resource, content, ..
        } => match content {
            AttachmentContent::Turns(turns) => {
                format!("attached {} with {} turns", short(resource), turns.len())
            }
            AttachmentContent::Resource(read) => {
                format!("attached {resource} {:?} as {:?}", read.data, read.encoding)
            }
            AttachmentContent::Unreadable(reason) => {
                format!("attached {resource} unread: {reason}")
            }
            AttachmentContent::Annotations(notes) => {
                format!("attached {} with {} notes", short(resource), notes.len())
            }
        },
        AgentCommand::Steer {
            turn, id, message, ..
        } => {
            format!("steer {turn} by {id} {:?}", message.text)
        }
        AgentCommand::CloseChat { chat } => format!("close chat {}", short(chat)),
        AgentCommand::CompleteToolCall { call, result, .. } => {
            format!("completed {call} {}", result.success)
        }
        AgentCommand::HandOverToolCall { call, tool, .. } => format!("called {tool} as {call}"),
        AgentCommand::SetMcpTools { tools } => {
            let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
            format!("server tools [{}]", names.join(", "))
        }
        AgentCommand::SetClientTools { tools } => {
            let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
            format!("tools [{}]", names.join(", "))
        }
        AgentCommand::Rewind {
            last_turn: last, ..
        } => format!("rewind to {last:?}"),
        AgentCommand::Close => "close".to_owned(),
    }
}

fn name(connection: &ConnectionId) -> String {
    format!("c{}", connection.0)
}

/// Renders recipients, with the maximum latency of each, if any.
fn recipients(to: &[Recipient]) -> String {
    let one = |to: &Recipient| match to.max_latency.0 {
        0 => name(&to.connection),
        patience => format!("{} within {patience}", name(&to.connection)),
    };
    to.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn names(connections: &[ConnectionId]) -> String {
    connections.iter().map(name).collect::<Vec<_>>().join(", ")
}
