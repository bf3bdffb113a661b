//! Invariants between the channels of a host.
//!
//! Some information is repeated: the session repeats what a chat reports, and the list of sessions
//! repeats what a session reports. Each of these functions recomputes one place from another.

use agenthost_core::Effect;
use agenthost_protocol::action::{Action, ActionEnvelope};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{
    BackgroundWork, ChatAction, ChatInteractivity, ChatOrigin, ChatState, PendingMessageKind,
    ResponsePart, ToolCall, ToolResultContent,
};
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::ids::PendingMessageId;
use agenthost_protocol::rpc::HostNotification;
use agenthost_protocol::session::{SessionLifecycle, SessionState, SessionSummary};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

use crate::log::Log;

type Channels = BTreeMap<Uri, ChannelState>;

fn chat<'a>(channels: &'a Channels, uri: &Uri) -> &'a ChatState {
    match channels.get(uri) {
        Some(ChannelState::Chat(chat)) => chat,
        other => panic!("{uri} is no chat: {other:?}"),
    }
}

fn sessions(log: &Log) -> impl Iterator<Item = (&Uri, &SessionState)> {
    log.channels.iter().filter_map(|(uri, state)| match state {
        ChannelState::Session(session) => Some((uri, &**session)),
        _ => None,
    })
}

/// Checks all invariants.
pub(crate) fn check(log: &Log) {
    let listed: Vec<_> = log.sessions.keys().collect();
    let there: Vec<_> = sessions(log).map(|(uri, _)| uri).collect();
    assert_eq!(
        listed, there,
        "sessions that are listed and those there are"
    );
    for (uri, session) in sessions(log) {
        chats_of_a_session(log, uri, session);
        summary_of_a_session(log, uri, session);
        check_input_needed(log, uri, session);
    }
    workers(log);
    number_of_sessions(log);
}

/// CHT-19, MOV: the chat catalog of a session matches the summaries of its chats.
fn chats_of_a_session(log: &Log, uri: &Uri, session: &SessionState) {
    for entry in session.chats.items() {
        let chat = chat(&log.channels, &entry.resource);
        // Only the catalog has the totals of changes (SYN-2).
        let mut said = chat.summary.clone();
        said.changes.clone_from(&entry.changes);
        assert_eq!(said, *entry, "{uri} about {}", entry.resource);
    }
    let meta = session.meta.as_ref();
    let noted = meta.and_then(|meta| meta.get("agenthost.agentSessions")?.as_object());
    for chat in noted.into_iter().flat_map(|noted| noted.keys()) {
        let mut chats = session.chats.items();
        let its = chats.any(|entry| entry.resource.as_str() == chat);
        assert!(its, "{uri} has a note about {chat}");
    }
    let default = session.default_chat.as_ref().unwrap();
    assert!(session.chats.items().any(|chat| chat.resource == *default));
}

/// ROOT-12, CHT-21, AGG-8 to AGG-14: the list of sessions matches the sessions.
fn summary_of_a_session(log: &Log, uri: &Uri, session: &SessionState) {
    let summary = &log.sessions[uri];
    let chats: Vec<_> = session
        .chats
        .items()
        .map(|chat| {
            let mut entry =
                json!({"resource": chat.resource, "title": chat.title, "status": chat.status});
            for (key, value) in [
                ("origin", serde_json::to_value(&chat.origin)),
                ("interactivity", serde_json::to_value(chat.interactivity)),
                ("changes", serde_json::to_value(&chat.changes)),
            ] {
                let value = value.unwrap();
                if !value.is_null() {
                    entry[key] = value;
                }
            }
            entry
        })
        .collect();
    assert_eq!(
        serde_json::to_value(&summary.chats).unwrap(),
        json!(chats),
        "{uri}"
    );
    assert_eq!(summary.default_chat, session.default_chat, "{uri}");
    let (listed, own) = (&summary.metadata, &session.metadata);
    assert_eq!(listed.title, own.title, "{uri}");
    assert_eq!(listed.activity, own.activity, "{uri}");
    assert_eq!(listed.project, own.project, "{uri}");
    assert_eq!(listed.provider, own.provider, "{uri}");
    assert_eq!(listed.working_directories, own.working_directories, "{uri}");
    for flag in [SessionStatus::IS_READ, SessionStatus::IS_ARCHIVED] {
        assert_eq!(
            listed.status.contains(flag),
            own.status.contains(flag),
            "{uri}"
        );
    }
    assert_eq!(listed.status.activity(), aggregate(session), "{uri}");
    let counts = listed.annotations.as_ref().unwrap();
    let Some(ChannelState::Annotations(annotations)) = log.channels.get(&counts.resource) else {
        panic!("{uri} has no annotations");
    };
    let entries = annotations.annotations.items().map(|one| one.entries.len());
    let counted = serde_json::to_value(counts).unwrap();
    assert_eq!(
        counted["annotationCount"],
        annotations.annotations.len(),
        "{uri}"
    );
    assert_eq!(counted["entryCount"], entries.sum::<usize>(), "{uri}");
}

/// Derives the activity of a session from its chats.
fn aggregate(session: &SessionState) -> SessionStatus {
    if session.lifecycle == SessionLifecycle::Failed {
        return SessionStatus::ERROR;
    }
    let activities: Vec<_> = session
        .chats
        .items()
        .map(|chat| chat.status.activity())
        .collect();
    for promoted in [SessionStatus::INPUT_NEEDED, SessionStatus::ERROR] {
        if activities.contains(&promoted) {
            return promoted;
        }
    }
    let default = session.default_chat.as_ref();
    let mut chats = session.chats.items();
    let default = chats.find(|chat| Some(&chat.resource) == default);
    default.unwrap().status.activity()
}

/// AGG-1, AGG-4: `inputNeeded` of a session has exactly what its chats wait for.
fn check_input_needed(log: &Log, uri: &Uri, session: &SessionState) {
    let said = serde_json::to_value(&session.input_needed).unwrap();
    let mut said: Vec<_> = said
        .as_array()
        .into_iter()
        .flatten()
        .map(waits_for)
        .collect();
    let mut found = Vec::new();
    for entry in session.chats.items() {
        let json = serde_json::to_value(chat(&log.channels, &entry.resource)).unwrap();
        let parts = json["activeTurn"]["responseParts"].as_array();
        found.extend(parts.into_iter().flatten().filter_map(|part| {
            let name = blocks(part)?;
            Some((json["resource"].to_string(), name))
        }));
    }
    said.sort();
    found.sort();
    found.dedup();
    assert_eq!(said, found, "{uri} waits for something else");
}

/// Returns the chat, and the request or tool call id, of an entry of `inputNeeded`.
fn waits_for(entry: &Json) -> (String, String) {
    let name = match entry["kind"].as_str().unwrap() {
        "chatInput" => &entry["request"]["id"],
        _ => &entry["toolCall"]["toolCallId"],
    };
    (entry["chat"].to_string(), name.to_string())
}

/// Returns the id of a response part, if its session must list it in `inputNeeded`.
fn blocks(part: &Json) -> Option<String> {
    let call = &part["toolCall"];
    let waits = match call["status"].as_str() {
        Some("pending-confirmation" | "pending-result-confirmation" | "auth-required") => true,
        Some("running") => call["contributor"]["kind"] == "client",
        Some(_) => false,
        None => part["kind"] == "inputRequest" && part.get("response").is_none(),
    };
    let name = call.get("toolCallId").unwrap_or(&part["request"]["id"]);
    waits.then(|| name.to_string())
}

/// CHT-16, BGW-2, BGW-4: workers and the calls that spawned them refer to each other, and no worker
/// runs after its turn has ended, unless it is background work or open to users.
fn workers(log: &Log) {
    for (uri, state) in &log.channels {
        let ChannelState::Chat(worker) = state else {
            continue;
        };
        for work in worker.background_work.iter().flat_map(|work| work.items()) {
            if let BackgroundWork::Subagent(work) = work {
                assert!(log.channels.contains_key(&work.chat), "{uri}: {work:?}");
            }
        }
        let Some(ChatOrigin::Tool(origin)) = &worker.summary.origin else {
            continue;
        };
        let parent = chat(&log.channels, &origin.chat);
        let active = parent
            .active_turn
            .iter()
            .flat_map(|turn| turn.response_parts.items());
        let call = active.filter_map(|part| match part {
            ResponsePart::ToolCall(part) => Some(&part.tool_call),
            _ => None,
        });
        let call: Vec<_> = call
            .filter(|call| {
                call.head()
                    .is_some_and(|head| head.tool_call_id == origin.tool_call_id)
            })
            .collect();
        let content = call.iter().find_map(|call| match call {
            ToolCall::Running(call) => Some(call.content.clone().unwrap_or_default()),
            ToolCall::Completed(call) => Some(call.result.content.clone().unwrap_or_default()),
            _ => None,
        });
        if let Some(content) = content {
            let named = content.iter().any(|block| {
                matches!(block, ToolResultContent::Subagent(block) if block.resource == *uri)
            });
            assert!(named, "{uri} is not named by its call: {content:?}");
        }
        let mut work = parent.background_work.iter().flat_map(|work| work.items());
        let background =
            work.any(|work| matches!(work, BackgroundWork::Subagent(work) if work.chat == *uri));
        let theirs = worker.summary.interactivity == Some(ChatInteractivity::Full);
        assert!(
            worker.active_turn.is_none() || theirs || background || !call.is_empty(),
            "{uri} works for nobody"
        );
    }
}

/// ROOT-4.
fn number_of_sessions(log: &Log) {
    let Some(ChannelState::Root(root)) = log.channels.get(&Uri::from("ahp-root://")) else {
        return;
    };
    assert_eq!(root.active_sessions, Some(log.listed().count() as u64));
}

/// The list of sessions as a client keeps it: the list at the time of its subscription, and later
/// notifications (ROOT-10 to ROOT-14).
#[derive(Debug, Clone, Default)]
pub(crate) struct Listing {
    sessions: BTreeMap<Uri, Json>,
    /// Set for a client that came back. It may be notified of changes that it already has.
    returned: bool,
}

impl Listing {
    pub(crate) fn of(log: &Log) -> Self {
        let all = log.listed();
        let sessions = all.map(|summary| (summary.resource.clone(), plain(summary)));
        Listing {
            sessions: sessions.collect(),
            returned: false,
        }
    }

    /// Returns the list of a client that came back and is notified again of changes that it missed.
    pub(crate) fn of_reconnected_client(log: &Log) -> Self {
        Listing {
            returned: true,
            ..Listing::of(log)
        }
    }

    pub(crate) fn observe(&mut self, notification: &HostNotification) {
        match notification {
            HostNotification::SessionAdded(added) => {
                let summary = plain(&added.summary);
                let resource = added.summary.resource.clone();
                let before = self.sessions.insert(resource, summary);
                assert!(before.is_none() || self.returned, "added twice: {added:?}");
            }
            HostNotification::SessionRemoved(removed) => {
                let before = self.sessions.remove(&removed.session);
                assert!(before.is_some() || self.returned, "{removed:?}");
            }
            HostNotification::SessionSummaryChanged(changed) => {
                let changes = serde_json::to_value(&changed.changes).unwrap();
                let summary = self.sessions.get_mut(&changed.session);
                let summary = summary.unwrap_or_else(|| panic!("not listed: {changed:?}"));
                for (key, value) in changes.as_object().unwrap() {
                    let fixed = ["resource", "provider", "createdAt"].contains(&key.as_str());
                    assert!(!fixed, "{key} never changes (ROOT-13)");
                    summary[key] = value.clone();
                }
                remove_empty_fields(summary);
            }
            _ => {}
        }
    }

    pub(crate) fn check(&self, log: &Log) {
        let expected = Listing::of(log).sessions;
        assert_eq!(self.sessions, expected, "a client lists other sessions");
    }
}

/// Returns a summary as JSON. Fields can't be cleared, so an empty activity means that there is
/// none.
fn plain(summary: &SessionSummary) -> Json {
    let mut summary = serde_json::to_value(summary).unwrap();
    remove_empty_fields(&mut summary);
    summary
}

fn remove_empty_fields(summary: &mut Json) {
    if summary["activity"] == "" {
        summary.as_object_mut().unwrap().remove("activity");
    }
}

/// Pending messages according to the log: each one is removed by a client, becomes one turn, or
/// stays pending (PEN-3, PEN-9).
#[derive(Debug, Clone, Default)]
pub(crate) struct Queues {
    waiting: BTreeSet<(Uri, PendingMessageId)>,
    /// Steering messages that the host has queued. It removes them again if their turn is
    /// cancelled.
    steering: BTreeSet<(Uri, PendingMessageId)>,
    /// The message that the host has just taken from the queue; its turn has to follow at once.
    due: Option<(Uri, PendingMessageId)>,
}

impl Queues {
    pub(crate) fn observe(&mut self, envelope: &ActionEnvelope) {
        let Action::Chat(action) = &*envelope.action else {
            return;
        };
        let named = |id: &PendingMessageId| (envelope.channel.clone(), id.clone());
        match action {
            ChatAction::PendingMessageSet(set) if set.kind == PendingMessageKind::Queued => {
                self.waiting.insert(named(&set.id));
                if envelope.origin.is_none() {
                    self.steering.insert(named(&set.id));
                } else {
                    self.steering.remove(&named(&set.id));
                }
            }
            ChatAction::PendingMessageRemoved(removed)
                if removed.kind == PendingMessageKind::Queued =>
            {
                assert!(
                    self.waiting.remove(&named(&removed.id)),
                    "removed twice: {removed:?}"
                );
                let was_steering = self.steering.remove(&named(&removed.id));
                if envelope.origin.is_none() && !was_steering {
                    assert_eq!(self.due, None, "lost");
                    self.due = Some(named(&removed.id));
                }
            }
            ChatAction::TurnStarted(start) => match (&start.queued_message_id, self.due.take()) {
                (Some(id), Some(due)) => assert_eq!(named(id), due, "another one is due"),
                (Some(id), None) => {
                    self.waiting.remove(&named(id));
                }
                (None, Some(due)) => panic!("lost: {due:?}"),
                (None, None) => {}
            },
            _ => {}
        }
    }

    pub(crate) fn gone(&mut self, channel: &Uri) {
        self.waiting.retain(|(chat, _)| chat != channel);
    }

    pub(crate) fn check(&self, channels: &Channels) {
        assert_eq!(
            self.due, None,
            "taken from the queue, and no turn came of it"
        );
        let mut there = BTreeSet::new();
        for (uri, state) in channels {
            if let ChannelState::Chat(chat) = state {
                let queue = chat.queued_messages.iter().flat_map(|queue| queue.items());
                there.extend(queue.map(|message| (uri.clone(), message.id.clone())));
            }
        }
        assert_eq!(self.waiting, there, "messages that wait");
    }
}

/// Checks that no turn runs and no session waits for input.
pub(crate) fn check_at_rest(log: &Log) {
    for (uri, state) in &log.channels {
        match state {
            ChannelState::Chat(chat) => {
                assert!(chat.active_turn.is_none(), "{uri} is stuck");
                assert!(
                    !chat.summary.status.contains(SessionStatus::IN_PROGRESS),
                    "{uri}"
                );
                assert_eq!(chat.summary.activity, None, "{uri}");
            }
            ChannelState::Session(session) => {
                assert!(session.input_needed.is_none(), "{uri} waits for something");
            }
            _ => {}
        }
    }
    for (uri, summary) in &log.sessions {
        let status = summary.metadata.status;
        assert!(
            !status.contains(SessionStatus::IN_PROGRESS),
            "{uri} is listed as busy"
        );
    }
}

/// Numbers of accepted and refused client actions, by action name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdicts {
    pub(crate) accepted: BTreeMap<&'static str, u32>,
    pub(crate) refused: BTreeMap<String, u32>,
}

impl Verdicts {
    pub(crate) fn add(&mut self, other: &Verdicts) {
        for (name, count) in &other.accepted {
            *self.accepted.entry(name).or_default() += count;
        }
        for (name, count) in &other.refused {
            *self.refused.entry(name.clone()).or_default() += count;
        }
    }

    /// Returns how often an action was accepted, and how often it was refused.
    pub(crate) fn of(&self, name: &str) -> [u32; 2] {
        let accepted = self.accepted.get(name);
        let refused = self.refused.get(name);
        [accepted, refused].map(|count| count.copied().unwrap_or(0))
    }

    pub(crate) fn observe(&mut self, effect: &Effect) {
        if let Effect::RejectAction { rejection, .. } = effect {
            let name = rejection.action.0["type"].as_str().unwrap_or_default();
            *self.refused.entry(name.to_owned()).or_default() += 1;
        }
    }
}
