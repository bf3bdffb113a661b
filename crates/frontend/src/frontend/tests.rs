//! The core as the worker uses it: inputs in, effects out.

mod annotations;
mod apps;
mod chats;
mod file_saves;
mod files;

use agenthost_protocol::wire::read_input;
use serde_json::{Value, json};

use super::{ClientName, Frontend};
use crate::input::TimedInput;

mod customizations;
mod drafts;
mod link;
mod new_session;
mod races;
mod saved_state;
mod scope;
mod settings;
mod terminals;
mod updates;

const SESSION: &str = "shell:/s1";
/// Default chat of that session. Every client derives it from the URI of the session.
const CHAT: &str = "ahp-chat://default/c2hlbGw6L3Mx";

/// A core, and the host that it talks to.
struct Page {
    core: Frontend,
    now: i64,
    /// Messages to the host that the test has not looked at.
    sent: Vec<Value>,
    done: Vec<Value>,
    /// All effects of other kinds, by name.
    others: Vec<String>,
    wants_frame: bool,
    /// The newest state that the core has saved.
    saved: Option<String>,
    /// Delay of the timer.
    wake: Option<u64>,
}

/// Converts an input from the form of the worker, as `web/src/bridge.ts` does.
fn to_input(mut input: Value) -> Value {
    let fields = input.as_object_mut().unwrap();
    let kind = fields.remove("kind").unwrap();
    if let Some(command) = fields.get_mut("command") {
        let parts = command.as_object_mut().unwrap();
        let op = parts.remove("op").unwrap();
        let mut tagged = command.take();
        for word in op.as_str().unwrap().rsplit('.') {
            tagged = json!({ word: tagged });
        }
        *command = tagged;
    }
    json!({ kind.as_str().unwrap(): input })
}

impl Page {
    /// Opens a page with a saved state. It has no connection yet.
    fn closed(saved: Option<&str>) -> Self {
        let mut page = Page {
            core: Frontend::new(ClientName("agenthost-page")),
            now: 1_700_000_000_000,
            sent: Vec::new(),
            done: Vec::new(),
            others: Vec::new(),
            wants_frame: false,
            saved: None,
            wake: None,
        };
        page.input(json!({
            "kind": "open", "url": "ws://host/", "clientId": "web-0", "name": "laptop", "saved": saved,
        }));
        assert_eq!(page.others, ["wake", "connect"]);
        page
    }

    fn open() -> Self {
        Page::open_with(json!({"agents": [
            {"provider": "shell", "displayName": "Shell", "description": "", "models": []},
        ]}))
    }

    /// A page that is connected to a host with this root state.
    fn open_with(root: Value) -> Self {
        let mut page = Page::closed(None);
        page.input(json!({"kind": "socketOpened"}));
        page.initialize(&root, &json!({}));
        page
    }

    /// A page of a device with this scope.
    fn open_as(scope: &str) -> Self {
        let mut page = Page::closed(None);
        page.input(json!({"kind": "socketOpened"}));
        page.initialize(&json!({"agents": []}), &json!({"agenthost.scope": scope}));
        page
    }

    fn initialize(&mut self, root: &Value, meta: &Value) {
        let root = json!({"resource": "ahp-root://", "fromSeq": 1, "state": root});
        self.answer(
            "initialize",
            &json!({
                "protocolVersion": "1.1.0", "serverSeq": 1, "snapshots": [root],
                "serverInfo": {"name": "agenthost", "version": "9.8.7"},
                "defaultDirectory": "file:///home/me", "_meta": meta,
            }),
        );
        self.answer("listSessions", &json!({"items": [summary()]}));
    }

    fn input(&mut self, input: Value) -> Vec<Value> {
        self.now += 1;
        let timed: TimedInput =
            read_input(&json!({"now": self.now, "input": to_input(input)}).to_string()).unwrap();
        let effects = self.core.step(timed);
        let mut patches = Vec::new();
        for effect in serde_json::to_value(effects).unwrap().as_array().unwrap() {
            match effect["kind"].as_str().unwrap() {
                "sendText" => {
                    let text = effect["text"].as_str().unwrap();
                    self.sent.push(serde_json::from_str(text).unwrap());
                }
                "done" => self.done.push(effect.clone()),
                "patch" => patches.extend(effect["patches"].as_array().unwrap().clone()),
                "wantFrame" => self.wants_frame = true,
                "save" => self.saved = Some(effect["text"].as_str().unwrap().to_owned()),
                "wake" => {
                    self.wake = effect["afterMs"].as_u64();
                    self.others.push("wake".to_owned());
                }
                other => self.others.push(other.to_owned()),
            }
        }
        patches
    }

    /// Removes the next message to the host from `sent`, and asserts its method.
    fn sent(&mut self, method: &str) -> Value {
        assert!(!self.sent.is_empty(), "no {method}");
        let message = self.sent.remove(0);
        assert_eq!(message["method"], method, "{message}");
        message
    }

    fn answer(&mut self, method: &str, result: &Value) {
        let request = self.sent(method);
        let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.text(&message);
    }

    fn text(&mut self, message: &Value) {
        self.input(json!({"kind": "socketText", "text": message.to_string()}));
    }

    fn act(&mut self, channel: &str, seq: u64, origin: Option<u64>, action: Value) {
        let mut params = json!({"channel": channel, "serverSeq": seq, "action": action});
        if let Some(client_seq) = origin {
            params["origin"] = json!({"clientId": "web-0", "clientSeq": client_seq});
        }
        self.text(&json!({"jsonrpc": "2.0", "method": "action", "params": params}));
    }

    fn command(&mut self, command: Value) {
        self.input(json!({"kind": "do", "id": 7, "command": command}));
    }

    fn frame(&mut self) -> Vec<Value> {
        assert!(std::mem::take(&mut self.wants_frame), "nothing changed");
        self.input(json!({"kind": "frame"}))
    }

    /// Selects the session, which then has an empty chat.
    fn select(&mut self) {
        self.command(json!({"op": "selectSession", "session": SESSION}));
        let state = json!({
            "provider": "shell", "title": "One", "status": 1, "lifecycle": "ready",
            "activeClients": [], "chats": [], "defaultChat": CHAT,
        });
        let session = json!({"resource": SESSION, "fromSeq": 2, "state": state});
        self.answer("subscribe", &json!({"snapshot": session}));
        let state = json!({
            "resource": CHAT, "title": "", "status": 1, "modifiedAt": "2026-01-01T00:00:00Z", "turns": [],
        });
        let chat = json!({"resource": CHAT, "fromSeq": 2, "state": state});
        self.answer("subscribe", &json!({"snapshot": chat}));
    }
}

fn summary() -> Value {
    json!({
        "resource": SESSION, "provider": "shell", "title": "One", "status": 33,
        "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z",
        "workingDirectories": ["file:///work"],
    })
}

fn slice<'a>(patches: &'a [Value], name: &str) -> &'a Value {
    let mut patches = patches.iter();
    patches.find(|patch| patch["slice"] == name).unwrap()
}

#[test]
fn the_first_frame_has_the_sessions_and_the_agents() {
    let mut page = Page::open();
    let patches = page.frame();
    assert_eq!(slice(&patches, "link")["value"]["state"], "live");
    let sessions = slice(&patches, "sessions");
    assert_eq!(sessions["order"], json!([SESSION]));
    assert_eq!(sessions["set"][SESSION]["folder"], "/work");
    assert_eq!(
        slice(&patches, "host")["value"]["agents"][0]["label"],
        "Shell"
    );
    // Nothing happened since, so there is nothing to draw.
    assert!(!page.wants_frame);
}

#[test]
fn a_message_is_shown_at_once_and_confirmed_later() {
    let mut page = Page::open();
    page.select();
    page.frame();
    page.done.clear();
    page.command(json!({"op": "send", "text": "hello"}));
    let dispatched = page.sent("dispatchAction");
    let action = dispatched["params"]["action"].clone();
    assert_eq!(action["type"], "chat/turnStarted");
    let patches = page.frame();
    let timeline = slice(&patches, "timeline");
    let rows = timeline["set"].as_object().unwrap();
    let row = rows.values().find(|row| row["kind"] == "message").unwrap();
    assert_eq!(
        (&row["text"], &row["state"]),
        (&json!("hello"), &json!("sent"))
    );
    assert_eq!(slice(&patches, "link")["value"]["pending"], 1);
    assert!(page.done.is_empty());

    let turn = action["turnId"].clone();
    page.act(CHAT, 3, Some(1), action);
    assert_eq!(page.done, [json!({"kind": "done", "id": 7})]);
    let patches = page.frame();
    let rows = slice(&patches, "timeline")["set"].as_object().unwrap();
    assert!(
        rows.values()
            .any(|row| row["text"] == "hello" && row["state"] != "sent")
    );

    // A delta changes one row.
    let part = json!({"kind": "markdown", "id": "p", "content": "wor"});
    page.act(
        CHAT,
        4,
        None,
        json!({"type": "chat/responsePart", "turnId": turn, "part": part}),
    );
    page.frame();
    page.act(
        CHAT,
        5,
        None,
        json!({"type": "chat/delta", "turnId": turn, "partId": "p", "content": "ld"}),
    );
    let patches = page.frame();
    let timeline = slice(&patches, "timeline");
    assert_eq!(timeline["set"].as_object().unwrap().len(), 1);
    assert_eq!(timeline.get("splice"), None);
}

#[test]
fn a_rejected_message_is_restored_with_the_reason() {
    let mut page = Page::open();
    page.select();
    page.done.clear();
    page.command(json!({"op": "send", "text": "hello"}));
    let action = page.sent("dispatchAction")["params"]["action"].clone();
    let params = json!({
        "channel": CHAT, "serverSeq": 3, "action": action, "rejectionReason": "a turn is in progress",
        "origin": {"clientId": "web-0", "clientSeq": 1},
    });
    page.text(&json!({"jsonrpc": "2.0", "method": "action", "params": params}));
    assert_eq!(page.done[0]["error"], "a turn is in progress");
    let patches = page.frame();
    let note = &slice(&patches, "notes")["value"][0];
    assert_eq!(
        (&note["text"], &note["restored"]),
        (&json!("a turn is in progress"), &json!("hello"))
    );
    let rows = slice(&patches, "timeline")
        .get("set")
        .and_then(Value::as_object);
    assert!(rows.is_none_or(|rows| rows.is_empty()));
}

#[test]
fn a_lost_connection_is_shown_and_resumed() {
    let mut page = Page::open();
    page.select();
    page.frame();
    page.others.clear();
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    assert_eq!(page.others, ["wake"]);
    let patches = page.frame();
    let link = &slice(&patches, "link")["value"];
    assert_eq!(link["state"], "offline");
    assert!(link["since"].is_string());
    // A message that the user sends while offline is kept.
    page.command(json!({"op": "send", "text": "later"}));
    assert!(page.sent.is_empty());
    page.input(json!({"kind": "timer"}));
    page.input(json!({"kind": "socketOpened"}));
    let request = page.sent("reconnect");
    assert_eq!(
        request["params"]["subscriptions"].as_array().unwrap().len(),
        3
    );
    let channels = ["ahp-root://", SESSION, CHAT]
        .map(|channel| json!({"kind": "replay", "channel": channel, "actions": []}));
    let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"channels": channels}});
    page.text(&message);
    let methods: Vec<_> = page
        .sent
        .iter()
        .map(|message| message["method"].clone())
        .collect();
    assert!(methods.contains(&json!("dispatchAction")), "{methods:?}");
    let patches = page.frame();
    assert_eq!(slice(&patches, "link")["value"]["state"], "live");
}

#[test]
fn an_approval_is_answered_with_the_option_of_the_agent() {
    let mut page = Page::open();
    page.select();
    page.frame();
    let call = json!({
        "status": "pending-confirmation", "toolCallId": "c", "toolName": "run", "displayName": "Run",
        "invocationMessage": "Run it", "toolInput": "ls",
        "options": [{"id": "once", "label": "Allow once", "kind": "approve"}, {"id": "no", "label": "Deny", "kind": "deny"}],
    });
    let request = json!({"kind": "toolConfirmation", "id": "r", "chat": CHAT, "turnId": "t", "toolCall": call});
    page.act(
        SESSION,
        3,
        None,
        json!({"type": "session/inputNeededSet", "request": request}),
    );
    let patches = page.frame();
    let inbox = slice(&patches, "inbox");
    let (key, row) = inbox["set"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(row["card"]["options"][0]["label"], "Allow once");
    page.command(json!({"op": "answerApproval", "key": key, "optionId": "once", "approve": true}));
    let action = &page.sent("dispatchAction")["params"]["action"];
    assert_eq!(action["type"], "chat/toolCallConfirmed");
    assert_eq!(action["selectedOptionId"], "once");
    // An answer is rejected after the request is gone.
    page.act(
        SESSION,
        4,
        None,
        json!({"type": "session/inputNeededRemoved", "id": "r"}),
    );
    page.done.clear();
    page.command(json!({"op": "answerApproval", "key": key, "optionId": "no", "approve": false}));
    assert_eq!(
        page.done[0]["error"],
        "another device has answered this already"
    );
}

#[test]
fn folder_paths_become_file_uris() {
    use super::sessions::folder_uri;
    assert_eq!(folder_uri("/a b/ü").as_str(), "file:///a%20b/%C3%BC");
    for uri in ["file:///a", "agenthost-content:/a?1.2"] {
        assert_eq!(folder_uri(uri).as_str(), uri);
    }
    assert_eq!(folder_uri("/a:b").as_str(), "file:///a%3Ab");
}
