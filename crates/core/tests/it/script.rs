//! Runs a host from a script of text lines and renders its effects as text.
//!
//! Each line of a script is one of these commands. `c1` is the connection with number 1. "The
//! oldest" is the first job, request or timer of its kind that is still open.
//!
//! ```text
//! Clients
//! c1 connect [PRINCIPAL[/SCOPE] [was c0]]
//!                      connects as a principal (default: `me`), or as a device with an access
//!                      scope; `was c0` keeps the state that the client had on connection c0
//! c1 leave             disconnects
//! c1 joins CLIENT      connects as `me` and sends `initialize` with this client id
//! c1 opens SESSION [{params}]
//!                      creates a session; its agent reports that it is ready
//! c1 starts TURN [in CHAT]
//!                      starts a turn with the message `go` (default: in the default chat of `s1`)
//! c1 says TURN TEXT    starts a turn with this message in the default chat of `s1`
//! c1 METHOD [CHANNEL] {params}
//!                      sends a request (default: on `root`); `-` omits the channel
//! c1 recovers CLIENT CHANNEL[=SEQ] ..
//!                      reconnects with a sequence number for each channel (default: the last
//!                      one that the client has seen on this channel)
//! c1 unsubscribe CHANNEL
//! c1 answers {result}  answers the oldest host request to this client
//! c1 refuses CODE      answers it with an error
//! c1 ! CHANNEL ACTION {payload}
//!                      dispatches an action
//! grace CLIENT [NTH]   the grace period of a client ends: the current one, or the one with
//!                      this number
//!
//! Host
//! restart              the host is killed and started again
//! full                 the disk is full
//! space                there is space on the disk again
//! revoke DEVICE        a paired device is revoked
//! quiet                the eviction interval has passed
//! retention DAYS|- [BYTES SESSION=BYTES ..]
//!                      the limits on sessions are checked: their age, and the size of all
//! refused ADDRESS REASON
//!                      a peer was refused before it had a connection
//! wait MS              advances the clock; the host receives no input
//!
//! Agents
//! agent SESSION [in CHAT] EVENT
//!                      an agent event (default: in the default chat of the session); the
//!                      testkit's `parse_event` lists the events
//! untold               the timeout to announce the oldest gateway call has passed
//! learned              the debounce delay of the agent list has passed
//! agents NAME[!] ..    the agents were replaced by these; `!` marks those that have changed
//! silent               the timeout of the oldest client tool call has passed
//! expired              the oldest access token has expired
//!
//! Files and resource watches
//! found PATH ..        the results of the oldest file search; a folder ends with `/`
//! done                 the oldest file job has succeeded
//! unanswered           the timeout of the oldest host request has passed
//! ungranted            the timeout of the oldest access request has passed without a grant
//! watching [REASON]    the oldest resource watch has started, or failed for this reason
//! changed WATCH FILE   a resource watch reports a changed file
//! unwatched WATCH      the idle timeout of a resource watch has passed
//!
//! Terminals
//! terminal T wrote TEXT | title TEXT | in FOLDER | exited [CODE [TEXT]]
//!            | detects | runs LINE | ran [CODE] | failed REASON
//!                      an event of a terminal; `detects`: command detection is enabled
//! previewed            the delay until the next output preview has passed
//!
//! Checkpoints and changesets: the result of the oldest job, or `failed REASON` as its result
//! marked [{git: {..}, session: [+, -, files], chat: [..]}]
//!                      a checkpoint was taken
//! compared [FILE+1-2 ..]
//!                      a diff was computed
//! operated TEXT        a changeset operation has finished with this message
//! worktree FOLDER      the worktree of a session was created
//! surveyed [FILE +NEW -GONE ..] [confirmed]
//!                      the oldest edit survey has finished; `failed` is not possible
//! look                 the refresh interval of the changeset scheduled last has passed
//!
//! Customizations and MCP servers: `customizations` lists the events
//! customized SESSION ..   an event of the customization driver
//! tools SESSION ..        an event of the MCP servers or the gateway
//! ```
//!
//! A line that starts with `- ` runs like any other, but is not in the result.
//!
//! The script runner completes the checkpoints before turns itself: after every line, or, if the
//! script has `marked` lines, after every line that follows the last of them.
//!
//! `<N bytes>` stands for N letters `x`, in scripts and in results.
//!
//! `s1` is short for the session `ahp-session:/s1`, `s1.chat` for its default chat, `root` for
//! the root channel, and `run` for the terminal that the host opened last.

use agenthost_core::resource::uris;
use agenthost_core::{
    AgentCatalog, ChangeJob, ChangeTask, ClientMessage, CommandLine, ConnectionId, Effects,
    FileKind, FileMatch, GracePeriodId, Input, McpClientMessage, Principal, RawResponse,
    RefusedPeer, RequestFailure, ResponseBody, TerminalEnd, TerminalEvent,
};
use agenthost_protocol::ids::{ClientId, ProviderId};
use agenthost_protocol::rpc::{ClientNotification, ClientRequest, Message, RequestId, RpcError};
use agenthost_protocol::terminal::TerminalData;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Document, Json, Limits};
use agenthost_testkit::{EventTarget, parse_event};
use expect_test::Expect;
use serde_json::json;

use crate::change_results;
use crate::customizations;
use crate::render::render;
use crate::retention;
use crate::test_host::{TestHost, agent_info};

/// Runs a script and compares the result, which has each line of the script with its effects below.
pub(crate) fn check(script: &str, expected: Expect) {
    let mut test_host = TestHost::new();
    let result = run(&mut test_host, script);
    test_host.check_mirrors();
    expected.assert_eq(&format!("{result}\n"));
}

/// Like [`check`], with customizations enabled.
pub(crate) fn check_customized(script: &str, expected: Expect) {
    let mut config = crate::test_host::config();
    let agents = config
        .catalog
        .agents
        .iter()
        .map(|agent| agent.provider.clone());
    config.catalog.customizable = Some(agents.collect());
    let mut test_host = TestHost::with(config);
    let result = run(&mut test_host, script);
    test_host.check_mirrors();
    expected.assert_eq(&format!("{result}\n"));
}

/// Runs a script in a world and returns the lines with their effects. Lines that start with `-` are
/// left out.
pub(crate) fn run(test_host: &mut TestHost, script: &str) -> String {
    let mut runner = Runner {
        test_host,
        requests: 0,
    };
    let mut result = Vec::new();
    let lines = script.lines().map(str::trim);
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    let is_marked = |line: &&str| line.trim_start_matches("- ").starts_with("marked");
    let last_marked = lines.iter().rposition(is_marked);
    for (number, line) in lines.iter().copied().enumerate() {
        let quiet = line.strip_prefix("- ");
        let mut effects = runner.run(&fill(quiet.unwrap_or(line)));
        if last_marked.is_none_or(|last| number > last) {
            runner.take_checkpoints(&mut effects);
        }
        if quiet.is_some() {
            continue;
        }
        result.push(line.to_owned());
        let rendered = render(&effects);
        result.extend(rendered.iter().map(|line| format!("    {}", unfill(line))));
    }
    result.join("\n")
}

/// Returns the input that replaces the agents of the host.
fn replaced_agents(names: &str) -> Input {
    let named = names.split(' ').map(|name| name.trim_end_matches('!'));
    let changed = names.split(' ').filter_map(|name| name.strip_suffix('!'));
    Input::AgentsReplaced {
        catalog: Box::new(AgentCatalog {
            agents: named.map(agent_info).collect(),
            ..AgentCatalog::default()
        }),
        changed: changed.map(ProviderId::from).collect(),
    }
}

/// Replaces each `<N bytes>` by N letters `x`: large payloads would make scripts unreadable.
fn fill(line: &str) -> String {
    let mut filled = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('<') {
        filled.push_str(before);
        let count = after.split_once(" bytes>");
        match count.and_then(|(count, after)| Some((count.parse::<usize>().ok()?, after))) {
            Some((count, after)) => {
                filled.extend(std::iter::repeat_n('x', count));
                rest = after;
            }
            None => {
                filled.push('<');
                rest = after;
            }
        }
    }
    filled + rest
}

/// Replaces long runs of `x` by `<N bytes>`, the reverse of [`fill`].
fn unfill(text: &str) -> String {
    const SHORTEST: usize = 300;
    let mut short = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(&"x".repeat(SHORTEST)) {
        let run = &rest[start..];
        let count = run.len() - run.trim_start_matches('x').len();
        short.push_str(&rest[..start]);
        short.push_str(&format!("<{count} bytes>"));
        rest = &run[count..];
    }
    short + rest
}

struct Runner<'w> {
    test_host: &'w mut TestHost,
    requests: u64,
}

impl Runner<'_> {
    /// Takes the checkpoints that turns wait for, as scripts without `marked` expect it. Generated
    /// ids contain the number of the step, which must not depend on it.
    fn take_checkpoints(&mut self, effects: &mut Effects) {
        let steps = self.test_host.steps;
        for more in self.test_host.take_checkpoints() {
            effects.writes.extend(more.writes);
            effects.effects.extend(more.effects);
        }
        self.test_host.steps = steps;
    }

    fn run(&mut self, line: &str) -> Effects {
        let (who, rest) = word(line);
        match who {
            "agent" => {
                let (session, rest) = word(rest);
                let (chat, rest) = match rest.strip_prefix("in ") {
                    Some(rest) => {
                        let (chat, rest) = word(rest);
                        (uri(chat), rest)
                    }
                    None => (uri(&format!("{session}.chat")), rest),
                };
                let place = EventTarget { chat, turn: None };
                let event = parse_event(&place, rest).unwrap();
                self.test_host.step(Input::Agent {
                    session: uri(session),
                    event,
                })
            }
            "retention" => {
                let check = retention::parse_check(rest, self.test_host.now);
                self.test_host.step(Input::RetentionDue(Box::new(check)))
            }
            "refused" => {
                let (address, reason) = word(rest);
                self.test_host.step(Input::PeerRefused(RefusedPeer {
                    address: Some(address.to_owned()),
                    reason: reason.to_owned(),
                    suppressed: 0,
                }))
            }
            "found" => {
                let search = self.test_host.searches.pop_front().unwrap();
                let files = rest.split_whitespace().map(found).collect();
                self.test_host
                    .step(Input::FileSearchFinished { search, files })
            }
            "done" => {
                let errand = self.test_host.errands.pop_front().unwrap();
                self.test_host.step(Input::RequestCompleted {
                    connection: errand.connection,
                    id: errand.id,
                    result: Box::new(Ok(ResponseBody::Empty)),
                })
            }
            "terminal" => {
                let (terminal, rest) = word(rest);
                let (what, rest) = word(rest);
                let event = match what {
                    "title" => TerminalEvent::TitleChanged(rest.to_owned()),
                    "in" => TerminalEvent::DirectoryChanged(uri(rest)),
                    "detects" => TerminalEvent::CommandDetectionEnabled,
                    "runs" => TerminalEvent::CommandExecuted(CommandLine(rest.to_owned())),
                    "ran" => TerminalEvent::CommandFinished(rest.parse().ok()),
                    "failed" => TerminalEvent::Failed(rest.to_owned()),
                    "exited" => {
                        let (code, text) = word(rest);
                        TerminalEvent::Exited(TerminalEnd {
                            full_output: None,
                            exit_code: code.parse().ok(),
                            signal: None,
                            preview: (!text.is_empty()).then(|| text.to_owned()),
                            truncated: false,
                        })
                    }
                    _ => TerminalEvent::Output(TerminalData {
                        data: rest.to_owned(),
                    }),
                };
                let terminal = self.channel(terminal);
                self.test_host.step(Input::Terminal { terminal, event })
            }
            "marked" => {
                let errand = self.test_host.changes.pop_front().unwrap();
                self.test_host
                    .step(change_results::checkpoint_taken(*errand, rest))
            }
            "compared" => {
                let errand = self.test_host.changes.pop_front().unwrap();
                self.test_host
                    .step(change_results::diff_computed(*errand, rest))
            }
            "surveyed" => {
                let changes = &mut self.test_host.changes;
                let is_survey =
                    |errand: &ChangeJob| matches!(errand.task, ChangeTask::SurveyEdits(_));
                let index = changes.iter().position(|errand| is_survey(errand)).unwrap();
                let errand = changes.remove(index).unwrap();
                self.test_host
                    .step(change_results::survey_finished(*errand, rest))
            }
            "operated" => {
                let errand = self.test_host.changes.pop_front().unwrap();
                self.test_host
                    .step(change_results::operation_finished(*errand, rest))
            }
            "worktree" => {
                let errand = self.test_host.changes.pop_front().unwrap();
                self.test_host.step(change_results::worktree(*errand, rest))
            }
            "look" => {
                let (channel, round) = self.test_host.looks.pop_back().unwrap();
                self.test_host
                    .step(Input::ChangesetRefreshDue { channel, round })
            }
            "previewed" => {
                let due = self.test_host.previews.pop_front().unwrap();
                self.test_host.step(due)
            }
            "unanswered" => {
                let (connection, id) = self.test_host.unanswered.pop_front().unwrap();
                self.test_host
                    .step(Input::HostRequestTimedOut { connection, id })
            }
            "ungranted" => {
                let (connection, id) = self.test_host.grants.pop_front().unwrap();
                self.test_host
                    .step(Input::AccessRequestTimedOut { connection, id })
            }
            "watching" => {
                let errand = self.test_host.watches.pop_front().unwrap();
                let begun = match rest {
                    "" => Ok(()),
                    reason => Err(RequestFailure::Internal(reason.to_owned())),
                };
                self.test_host.step(Input::WatchStarted {
                    request: errand,
                    outcome: begun,
                })
            }
            "changed" => {
                let (channel, file) = word(rest);
                let change = json!({"uri": file, "type": "updated"}).to_string();
                let changes = vec![wire::from_str(&change).unwrap()];
                let channel = uri(channel);
                self.test_host
                    .step(Input::FilesChanged { channel, changes })
            }
            "unwatched" => self
                .test_host
                .step(Input::WatchIdleTimedOut { channel: uri(rest) }),
            "silent" => {
                let (session, call) = self.test_host.awaited.pop_front().unwrap();
                self.test_host
                    .step(Input::ClientToolTimedOut { session, call })
            }
            "expired" => {
                let expired = self.test_host.tokens.pop_front().unwrap();
                self.test_host.step(expired)
            }
            "customized" => self.test_host.step(customizations::event(rest)),
            "tools" => self.test_host.step(customizations::tool_event(rest)),
            "untold" => {
                let call = self.test_host.untold.pop_front().unwrap();
                self.test_host
                    .step(Input::CallAnnouncementTimedOut { call })
            }
            "learned" => self.test_host.step(Input::AgentListDebounced),
            "agents" => self.test_host.step(replaced_agents(rest)),
            "grace" => self.end_grace(rest),
            "wait" => {
                self.test_host.now += rest.parse::<i64>().unwrap();
                Effects::default()
            }
            "restart" => self.test_host.restart(),
            "takeover" => self.test_host.take_over(),
            "full" => self.test_host.fill_disk(),
            "space" => self.test_host.free_disk(),
            "revoke" => {
                let principal = Principal(format!("device:{rest}"));
                self.test_host.step(Input::PrincipalRevoked(principal))
            }
            "quiet" => self.test_host.step(Input::EvictionDue),
            client => {
                let connection = ConnectionId(client[1..].parse().unwrap());
                self.client(connection, rest)
            }
        }
    }

    /// Ends the current grace period of a client, or the one with a number.
    fn end_grace(&mut self, line: &str) -> Effects {
        let (client, departure) = match line.split_once(' ') {
            Some((client, nth)) => (client, Some(GracePeriodId(nth.parse().unwrap()))),
            None => (line, None),
        };
        let client = ClientId::from(client);
        let departure = departure.unwrap_or_else(|| self.test_host.departure_of(&client));
        self.test_host.step(Input::GraceExpired {
            client,
            grace_period: departure,
        })
    }

    fn channel(&self, name: &str) -> Uri {
        match name {
            "run" => self.test_host.opened.last().unwrap().clone(),
            name => uri(name),
        }
    }

    fn client(&mut self, connection: ConnectionId, line: &str) -> Effects {
        let (what, rest) = word(line);
        match what {
            "connect" => {
                let (principal, memory) = word(if rest.is_empty() { "me" } else { rest });
                let memory = memory.strip_prefix("was c");
                let memory = memory.map(|number| ConnectionId(number.parse().unwrap()));
                self.test_host.connect(connection, principal, memory)
            }
            "leave" => self.test_host.disconnect(connection),
            "joins" => {
                let mut all = self.test_host.connect(connection, "me", None);
                let hello = json!({"protocolVersions": ["1.0.0"], "clientId": rest});
                all.join(self.client(connection, &format!("initialize {hello}")));
                all
            }
            "opens" => {
                let mut all = self.client(connection, &format!("createSession {rest}"));
                let (session, _) = word(rest);
                all.join(self.run(&format!("agent {session} opened")));
                all
            }
            "recovers" => {
                let (client, channels) = word(rest);
                let seen = &self.test_host.clients[&connection].cursors;
                let cursor = |name: &str| {
                    let (channel, given) = match name.split_once('=') {
                        Some((name, given)) => (uri(name), given.parse().ok()),
                        None => (uri(name), None),
                    };
                    let seen = seen.get(&channel).map(|seen| seen.0).unwrap_or_default();
                    json!({"channel": channel, "lastSeenServerSeq": given.unwrap_or(seen)})
                };
                let cursors: Vec<_> = channels.split_whitespace().map(cursor).collect();
                let params = json!({"clientId": client, "subscriptions": cursors});
                self.client(connection, &format!("reconnect - {params}"))
            }
            "starts" => {
                let (turn, chat) = word(rest);
                let chat = chat.strip_prefix("in ").unwrap_or("s1.chat");
                let message = json!({"text": "go", "origin": {"kind": "user"}});
                self.start_turn(connection, turn, chat, &message)
            }
            "says" => {
                let (turn, text) = word(rest);
                let message = json!({"text": text, "origin": {"kind": "user"}});
                self.start_turn(connection, turn, "s1.chat", &message)
            }
            "answers" => self.answer(connection, "result", &object(rest)),
            "refuses" => {
                let code: i64 = rest.parse().unwrap();
                let error = json!({"code": code, "message": "not for you"});
                self.answer(connection, "error", &error)
            }
            "unsubscribe" => self.notify(connection, "unsubscribe", &json!({"channel": uri(rest)})),
            "!" => {
                let (channel, rest) = word(rest);
                let (name, payload) = word(rest);
                let mut action: Json = object(payload);
                action["type"] = json!(name);
                self.requests += 1;
                let params = json!({"channel": self.channel(channel), "clientSeq": self.requests, "action": action});
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
                if channel != Some("-") {
                    params["channel"] = json!(self.channel(channel.unwrap_or("root")));
                }
                self.requests += 1;
                let message = json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params});
                self.send(connection, &message)
            }
        }
    }

    /// Answers the oldest host request to a client.
    fn answer(&mut self, connection: ConnectionId, how: &str, what: &Json) -> Effects {
        let asked = &mut self.test_host.asked;
        let index = asked.iter().position(|(other, _)| *other == connection);
        let (_, id) = asked.remove(index.unwrap()).unwrap();
        self.send(
            connection,
            &json!({"jsonrpc": "2.0", "id": json_of(&id), how: what}),
        )
    }

    fn start_turn(
        &mut self,
        connection: ConnectionId,
        turn: &str,
        chat: &str,
        message: &Json,
    ) -> Effects {
        let started = "2026-01-05T09:00:00Z";
        let start = json!({"turnId": turn, "startedAt": started, "message": message});
        self.client(connection, &format!("! {chat} chat/turnStarted {start}"))
    }

    fn notify(&mut self, connection: ConnectionId, method: &str, params: &Json) -> Effects {
        self.send(
            connection,
            &json!({"jsonrpc": "2.0", "method": method, "params": params}),
        )
    }

    fn send(&mut self, connection: ConnectionId, message: &Json) -> Effects {
        let message = received(&message.to_string());
        self.test_host.step(Input::Received {
            connection,
            message,
        })
    }
}

/// Appends the effects of a later step.
pub(crate) trait Join {
    fn join(&mut self, other: Effects);
}

impl Join for Effects {
    fn join(&mut self, mut other: Effects) {
        self.writes.append(&mut other.writes);
        self.effects.append(&mut other.effects);
    }
}

/// Decodes a message as the server does.
pub(crate) fn received(text: &str) -> ClientMessage {
    let document = Document::parse(text, Limits::default()).unwrap();
    match Message::decode(&document).unwrap() {
        Message::Request(id, call) if call.method.contains('/') => {
            let Json::Object(mut params) = call.params.unwrap().to_json() else {
                panic!("expected an object");
            };
            let channel = params.shift_remove("channel").unwrap();
            let message = McpClientMessage {
                channel: Uri::from(channel.as_str().unwrap()),
                method: call.method.into_owned(),
                params,
            };
            ClientMessage::ToMcpServer(Some(id), Box::new(message))
        }
        Message::Request(id, call) => match ClientRequest::decode(&call) {
            Ok(request) => ClientMessage::Request(id, Box::new(request)),
            Err(error) => ClientMessage::Invalid(id, RpcError::from(error)),
        },
        Message::Notification(call) => {
            let notification = ClientNotification::decode(&call).unwrap();
            ClientMessage::Notification(Box::new(notification))
        }
        Message::Response(response) => {
            let outcome = response.outcome.map(|node| RawResponse(node.to_json()));
            ClientMessage::Response(response.id, Box::new(outcome))
        }
    }
}

/// Returns a found file, or a directory if the path ends with `/`.
fn found(path: &str) -> FileMatch {
    let (path, kind) = match path.strip_suffix('/') {
        Some(path) => (path, FileKind::Directory),
        None => (path, FileKind::File),
    };
    FileMatch {
        uri: Uri::from(format!("file:///w/{path}")),
        path: path.to_owned(),
        kind,
    }
}

pub(crate) fn word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    (word, rest.trim())
}

/// Returns the id of a request as JSON.
pub(crate) fn json_of(id: &RequestId) -> Json {
    serde_json::from_str(&id.to_string()).unwrap()
}

pub(crate) fn object(text: &str) -> Json {
    if text.is_empty() {
        return json!({});
    }
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn uri(name: &str) -> Uri {
    if name == "root" {
        return Uri::from("ahp-root://");
    }
    match name.strip_suffix(".chat") {
        Some(session) => uris::default_chat_uri(&uri(session)),
        None if name.contains(':') => Uri::from(name),
        None => Uri::from(format!("ahp-session:/{name}")),
    }
}
