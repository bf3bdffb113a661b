//! The engine without a transport: messages in, messages and updates out.

use std::sync::Arc;

use agenthost_client::{ClientEngine, ClientUpdate, EngineOptions, EnginePhase, MAX_MESSAGE_BYTES};
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::connection::{Implementation, SubscribeParams};
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::root::ListSessionsParams;
use agenthost_protocol::session::{SessionAction, SessionTitleChanged};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire;
use serde_json::{Value, json};

const SESSION: &str = "ahp-session:/1";

fn engine() -> ClientEngine {
    ClientEngine::new(EngineOptions {
        client_id: ClientId::from("a"),
        info: Implementation {
            name: "test".to_owned(),
            version: None,
            title: None,
        },
        subscriptions: vec![Uri::from(SESSION)],
        capabilities: None,
    })
}

fn snapshot(channel: &str, seq: u64, title: &str) -> Value {
    let state = json!({
        "provider": "p", "title": title, "status": 1, "lifecycle": "ready", "activeClients": [],
        "chats": [],
    });
    json!({"resource": channel, "state": state, "fromSeq": seq})
}

/// Takes the next message of the engine, which has to be this request or notification.
fn sent(engine: &mut ClientEngine, method: &str) -> Value {
    let text = engine.take_message().expect(method);
    let message: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(message["method"], method, "{message}");
    message
}

fn receive(engine: &mut ClientEngine, message: &Value) {
    engine.receive(message.to_string()).unwrap();
}

fn answer(engine: &mut ClientEngine, request: &Value, outcome: &str, value: Value) {
    let message = json!({"jsonrpc": "2.0", "id": request["id"], outcome: value});
    receive(engine, &message);
}

/// An engine that is live on a host of this version.
fn live(version: &str) -> ClientEngine {
    let mut engine = engine();
    engine.open().unwrap();
    let request = sent(&mut engine, "initialize");
    let hello = json!({"protocolVersion": version, "serverSeq": 1, "snapshots": [snapshot(SESSION, 1, "")]});
    answer(&mut engine, &request, "result", hello);
    assert_eq!(engine.phase(), EnginePhase::Live);
    engine
}

fn title(engine: &ClientEngine, channel: &str) -> Option<String> {
    match engine.state(&Uri::from(channel))? {
        ChannelState::Session(session) => Some(session.metadata.title.clone()),
        _ => None,
    }
}

fn rename(title: &str) -> Action {
    let action = json!({"type": "session/titleChanged", "title": title});
    wire::from_str(&action.to_string()).unwrap()
}

/// Returns the updates as words.
fn updates(engine: &mut ClientEngine) -> Vec<String> {
    let next = std::iter::from_fn(|| engine.take_update());
    let words = next.map(|update| match update {
        ClientUpdate::Action(envelope) => format!("action {}", envelope.server_seq.0),
        ClientUpdate::Rejected { reason, .. } => format!("rejected {reason}"),
        ClientUpdate::Notification(_) => "notification".to_owned(),
        ClientUpdate::Disconnected => "disconnected".to_owned(),
        ClientUpdate::Reconnected => "reconnected".to_owned(),
        ClientUpdate::Resynced {
            channels,
            unconfirmed,
        } => format!(
            "resynced {} channels, {} open",
            channels.len(),
            unconfirmed.len()
        ),
    });
    words.collect()
}

/// An action shows at once; offline it is kept, and it is sent once on the next
/// connection.
#[test]
fn an_action_without_a_connection_is_sent_when_it_resumes() {
    let mut engine = live("1.1.0");
    engine.close();
    engine
        .dispatch(&Uri::from(SESSION), rename("mine"))
        .unwrap();
    assert_eq!(title(&engine, SESSION).as_deref(), Some("mine"));
    assert!(!engine.has_messages());
    engine.open().unwrap();
    let request = sent(&mut engine, "reconnect");
    let cursor = json!([{"channel": SESSION, "lastSeenServerSeq": 1}]);
    assert_eq!(request["params"]["subscriptions"], cursor);
    let replay = json!({"channels": [{"kind": "replay", "channel": SESSION, "actions": [
        {"channel": SESSION, "serverSeq": 2, "action": {"type": "session/titleChanged", "title": "theirs"}},
    ]}]});
    answer(&mut engine, &request, "result", replay);
    // Their action comes first in the log, so mine is applied after it.
    assert_eq!(title(&engine, SESSION).as_deref(), Some("mine"));
    let dispatch = sent(&mut engine, "dispatchAction");
    assert_eq!(dispatch["params"]["clientSeq"], 1);
    assert!(!engine.has_messages());
    assert_eq!(engine.unconfirmed_count(), 1);
    receive(
        &mut engine,
        &json!({"jsonrpc": "2.0", "method": "action", "params": {
            "channel": SESSION, "serverSeq": 3, "origin": {"clientId": "a", "clientSeq": 1},
            "action": {"type": "session/titleChanged", "title": "mine"},
        }}),
    );
    assert_eq!(engine.unconfirmed_count(), 0);
    assert_eq!(updates(&mut engine), ["action 2", "action 3"]);
}

/// The host does not log input (TER-20), so its replay does not tell whether it was received.
#[test]
fn terminal_input_is_not_sent_twice() {
    let terminal = Uri::from("ahp-terminal:/1");
    let mut engine = live("1.1.0");
    let subscribed = SubscribeParams::of_channel(terminal.clone());
    engine.subscribe(subscribed).unwrap();
    let request = sent(&mut engine, "subscribe");
    let state = json!({"title": "", "content": [], "claim": {"kind": "client", "clientId": "a"}, "lifecycle": {"status": "running"}});
    let snapshot = json!({"resource": "ahp-terminal:/1", "state": state, "fromSeq": 1});
    answer(
        &mut engine,
        &request,
        "result",
        json!({"snapshot": snapshot}),
    );
    assert_eq!(updates(&mut engine), ["resynced 1 channels, 0 open"]);
    let input = json!({"type": "terminal/input", "data": "rm draft\n"});
    let input: Action = wire::from_str(&input.to_string()).unwrap();
    engine.dispatch(&terminal, input).unwrap();
    sent(&mut engine, "dispatchAction");
    engine.close();
    engine.open().unwrap();
    let request = sent(&mut engine, "reconnect");
    let replay = json!({"channels": [
        {"kind": "replay", "channel": SESSION, "actions": []},
        {"kind": "replay", "channel": "ahp-terminal:/1", "actions": []},
    ]});
    answer(&mut engine, &request, "result", replay);
    assert!(!engine.has_messages());
    assert_eq!(engine.unconfirmed_count(), 0);
    let lost = "rejected the connection was lost before the host confirmed this input";
    assert_eq!(updates(&mut engine), [lost]);
}

#[test]
fn a_request_without_a_response_is_interrupted() {
    let mut engine = live("1.1.0");
    let list = ListSessionsParams {
        channel: RootChannel,
        cursor: None,
        limit: None,
        meta: None,
    };
    let id = engine.request(&list).unwrap();
    engine.close();
    let response = engine.take_response().unwrap();
    assert_eq!(response.id, id);
    assert!(response.decode::<ListSessionsParams>().unwrap().is_none());
    assert_eq!(updates(&mut engine), ["disconnected"]);
}

/// The loss was shown, so its end is shown as well.
#[test]
fn a_client_unknown_to_the_host_initializes_again() {
    let mut engine = live("1.0.0");
    engine
        .dispatch(&Uri::from(SESSION), rename("mine"))
        .unwrap();
    engine.close();
    assert_eq!(updates(&mut engine), ["disconnected"]);
    engine.open().unwrap();
    let request = sent(&mut engine, "reconnect");
    let error = json!({"code": -32008, "message": "unknown client"});
    answer(&mut engine, &request, "error", error);
    let request = sent(&mut engine, "initialize");
    assert_eq!(request["params"]["initialSubscriptions"], json!([SESSION]));
    let hello = json!({"protocolVersion": "1.0.0", "serverSeq": 9, "snapshots": [snapshot(SESSION, 9, "new")]});
    answer(&mut engine, &request, "result", hello);
    assert_eq!(title(&engine, SESSION).as_deref(), Some("new"));
    let expected = ["reconnected", "resynced 1 channels, 1 open"];
    assert_eq!(updates(&mut engine), expected);
    assert!(!engine.has_messages());
}

#[test]
fn reconnect_without_cursors_needs_a_new_connection() {
    let mut engine = live("1.1.0");
    engine.close();
    engine.open().unwrap();
    let request = sent(&mut engine, "reconnect");
    let error = json!({"code": -32602, "message": "no cursors here"});
    answer(&mut engine, &request, "error", error);
    assert_eq!(engine.phase(), EnginePhase::Reopen);
    engine.open().unwrap();
    let request = sent(&mut engine, "reconnect");
    assert_eq!(request["params"]["lastSeenServerSeq"], 1);
    let replay = json!({"type": "replay", "actions": [], "missing": []});
    answer(&mut engine, &request, "result", replay);
    assert_eq!(engine.phase(), EnginePhase::Live);
}

#[test]
fn an_offline_subscribe_is_sent_after_connecting() {
    let mut engine = engine();
    let other = Uri::from("ahp-session:/2");
    engine
        .subscribe(SubscribeParams::of_channel(other.clone()))
        .unwrap();
    engine.open().unwrap();
    let request = sent(&mut engine, "initialize");
    let hello = json!({"protocolVersion": "1.1.0", "serverSeq": 1, "snapshots": []});
    answer(&mut engine, &request, "result", hello);
    let request = sent(&mut engine, "subscribe");
    // The connection is lost before the answer: the engine asks again.
    engine.close();
    engine.open().unwrap();
    let resume = sent(&mut engine, "reconnect");
    answer(&mut engine, &resume, "result", json!({"channels": []}));
    // An answer of the earlier connection is ignored.
    answer(&mut engine, &request, "result", json!({}));
    let request = sent(&mut engine, "subscribe");
    let result = json!({"snapshot": snapshot("ahp-session:/2", 4, "two")});
    answer(&mut engine, &request, "result", result);
    assert_eq!(title(&engine, "ahp-session:/2").as_deref(), Some("two"));
    let channels: Vec<_> = engine.channels().cloned().collect();
    assert_eq!(channels, [other]);
}

#[test]
fn a_broken_message_is_an_error_and_changes_nothing() {
    let mut engine = live("1.1.0");
    for text in [
        "",
        "{",
        "[]",
        "{\"jsonrpc\":\"2.0\",\"method\":\"action\",\"params\":{}}",
    ] {
        assert!(engine.receive(text.to_owned()).is_err(), "{text}");
    }
    assert_eq!(title(&engine, SESSION).as_deref(), Some(""));
    assert_eq!(updates(&mut engine), Vec::<String>::new());
}

/// An action whose message is too large for hosts.
fn large_rename() -> Action {
    let title = "x".repeat(MAX_MESSAGE_BYTES);
    Action::Session(SessionAction::TitleChanged(SessionTitleChanged { title }))
}

/// A host closes the connection instead of reading such a message, so it is neither sent nor kept.
#[test]
fn an_action_that_hosts_do_not_accept_is_refused() {
    let mut engine = live("1.1.0");
    for is_live in [true, false] {
        if !is_live {
            engine.close();
            updates(&mut engine);
        }
        let refused = engine.dispatch(&Uri::from(SESSION), large_rename());
        let text = refused.unwrap_err().to_string();
        assert!(
            text.starts_with("the message has 17 MB, and hosts accept at most 16 MB"),
            "{text}"
        );
        assert_eq!(title(&engine, SESSION).as_deref(), Some(""));
        assert_eq!(engine.unconfirmed_count(), 0);
        assert!(!engine.has_messages());
    }
}

/// An earlier version of a client may have saved one.
#[test]
fn a_restored_action_that_hosts_do_not_accept_is_rejected() {
    let mut engine = live("1.1.0");
    engine.close();
    engine
        .dispatch(&Uri::from(SESSION), rename("short"))
        .unwrap();
    let mut saved = engine.save(|_| true);
    saved.pending[0].action = Arc::new(large_rename());
    let mut engine = self::engine();
    engine.restore(saved).unwrap();
    engine.open().unwrap();
    let request = sent(&mut engine, "reconnect");
    let replay = json!({"channels": [{"kind": "replay", "channel": SESSION, "actions": []}]});
    answer(&mut engine, &request, "result", replay);
    assert!(!engine.has_messages());
    let words = updates(&mut engine);
    assert!(
        words
            .iter()
            .any(|word| word.starts_with("rejected the message has 17 MB")),
        "{words:?}"
    );
    assert_eq!(title(&engine, SESSION).as_deref(), Some(""));
}
