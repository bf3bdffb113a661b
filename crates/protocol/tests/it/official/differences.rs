//! Intended differences from the official crates: one test for each, with both behaviors and the
//! reason.

use agenthost_protocol::action::{Action, ActionEnvelope, ReceivedAction};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatMoveDestination, ChatSource, ResponsePart, ToolCall};
use agenthost_protocol::connection::{ReconnectParams, ReconnectResult};
use agenthost_protocol::outcome::{Invalid, Outcome};
use agenthost_protocol::rpc::{Message, RequestId};
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Document, Json, Limits, Wire};
use ahp::reducers::{ReduceOutcome, apply_action_to_chat, apply_action_to_session};
use ahp_types::actions::StateAction;
use ahp_types::{commands, messages, state};
use serde_json::json;

fn message(text: &str) -> Json {
    json!({"text": text, "origin": {"kind": "user"}})
}

fn chat(more: Json) -> Json {
    let mut chat = json!({
        "resource": "ahp-chat:/1",
        "title": "",
        "status": 1,
        "modifiedAt": "2026-01-01T00:00:00.000Z",
        "turns": [],
    });
    let fields = chat.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    chat
}

fn running(parts: Json) -> Json {
    chat(json!({"status": 8, "activeTurn": {
        "id": "t1",
        "startedAt": "2026-01-01T00:00:00.000Z",
        "message": message("go"),
        "responseParts": parts,
    }}))
}

/// Returns a tool call in any state, as the official types encode it.
fn call(id: &str, status: &str, more: Json) -> Json {
    let mut call = json!({
        "toolCallId": id, "toolName": "sh", "displayName": "Shell", "status": status,
        "invocationMessage": "Run",
    });
    call.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    json!({"kind": "toolCall", "toolCall": call})
}

/// Reduces a chat with both implementations and returns the state and outcome of each.
fn reduce_chat(chat: &Json, action: &Json) -> ((Json, Outcome), (Json, ReduceOutcome)) {
    let mut ours: ChannelState = decode(chat);
    let mut theirs: state::ChatState = official(chat);
    let outcome = ours.reduce(&decode::<Action>(action));
    let their_outcome = apply_action_to_chat(&mut theirs, &official(action));
    (
        (serde_json::to_value(&ours).unwrap(), outcome),
        (serde_json::to_value(&theirs).unwrap(), their_outcome),
    )
}

fn decode<T: Wire>(json: &Json) -> T {
    wire::from_str(&json.to_string()).unwrap()
}

fn refusal<T: Wire + std::fmt::Debug>(json: &Json) -> String {
    wire::from_str::<T>(&json.to_string())
        .unwrap_err()
        .to_string()
}

fn official<T: serde::de::DeserializeOwned>(json: &Json) -> T {
    serde_json::from_value(json.clone()).unwrap()
}

/// The protocol merges every field of a summary. A chat that can be moved now must not look as if
/// it could not.
#[test]
fn crt_1_chat_updated_merges_movable_and_interactivity() {
    let session = json!({
        "provider": "shell", "title": "", "status": 1, "lifecycle": "ready", "activeClients": [],
        "chats": [{"resource": "ahp-chat:/1", "title": "", "status": 1, "modifiedAt": "2026-01-01T00:00:00Z"}],
    });
    let action = json!({
        "type": "session/chatUpdated",
        "chat": "ahp-chat:/1",
        "changes": {"movable": true, "interactivity": "read-only"},
    });
    let mut theirs: state::SessionState = official(&session);
    assert_eq!(
        apply_action_to_session(&mut theirs, &official(&action)),
        ReduceOutcome::Applied
    );
    assert_eq!(theirs.chats[0].movable, None);
    assert_eq!(theirs.chats[0].interactivity, None);

    let mut ours: ChannelState = decode(&session);
    assert_eq!(ours.reduce(&decode(&action)), Outcome::Applied);
    let ours = serde_json::to_value(&ours).unwrap();
    assert_eq!(ours["chats"][0]["movable"], json!(true));
    assert_eq!(ours["chats"][0]["interactivity"], json!("read-only"));
}

/// Messages that are not named keep the order in which the user queued them (PEN-7); their ids have
/// no meaningful order.
#[test]
fn crt_2_reordering_keeps_the_order_of_the_rest() {
    let queue = |ids: &[&str]| -> Json {
        ids.iter()
            .map(|id| json!({"id": id, "message": message(id)}))
            .collect()
    };
    let before = chat(json!({"queuedMessages": queue(&["z", "m", "a", "k"])}));
    let action = json!({"type": "chat/queuedMessagesReordered", "order": ["m"]});
    let ((ours, _), (theirs, _)) = reduce_chat(&before, &action);
    assert_eq!(theirs["queuedMessages"], queue(&["m", "a", "k", "z"]));
    assert_eq!(ours["queuedMessages"], queue(&["m", "z", "a", "k"]));
}

/// A refused action changed nothing, also in a replay. The official type has the reason beside the
/// action, and the official mirror ignores it.
#[test]
fn crt_9_a_rejection_is_not_taken_for_an_action() {
    let rejected = json!({
        "channel": "ahp-chat:/1", "serverSeq": 3,
        "action": {"type": "chat/activityChanged", "activity": "x"},
        "origin": {"clientId": "a", "clientSeq": 1}, "rejectionReason": "no",
    });
    assert_eq!(
        refusal::<ActionEnvelope>(&rejected),
        "rejectionReason: expected an accepted action, found a rejection"
    );
    let future = json!({
        "channel": "ahp-chat:/1", "serverSeq": 4, "action": {"type": "chat/fromTheFuture"},
    });
    let replay = json!({"type": "replay", "missing": [], "actions": [rejected, future]});
    let ReconnectResult::Replay(replay) = decode(&replay) else {
        panic!("expected a replay");
    };
    assert_eq!(replay.actions[0].rejection_reason.as_deref(), Some("no"));
    assert!(matches!(
        replay.actions[1].action,
        ReceivedAction::Unknown(_)
    ));
}

/// A host that checks the outcome must not see `Applied` for an action without effect.
#[test]
fn crt_3_an_out_of_order_step_is_a_no_op() {
    let before = running(json!([call(
        "c1",
        "running",
        json!({"confirmed": "user-action"})
    )]));
    let confirm = json!({
        "type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": "c1",
        "approved": true, "confirmed": "user-action",
    });
    let ((ours, outcome), (theirs, their_outcome)) = reduce_chat(&before, &confirm);
    assert_eq!(ours, theirs);
    assert_eq!(their_outcome, ReduceOutcome::Applied);
    assert_eq!(outcome, Outcome::NoOp);

    let before = chat(json!({"queuedMessages": [{"id": "m", "message": message("m")}]}));
    let reorder = json!({"type": "chat/queuedMessagesReordered", "order": ["m"]});
    let ((ours, outcome), (theirs, their_outcome)) = reduce_chat(&before, &reorder);
    assert_eq!(ours, theirs);
    assert_eq!(their_outcome, ReduceOutcome::Applied);
    assert_eq!(outcome, Outcome::NoOp);

    let before = running(json!([{"kind": "reasoning", "id": "p1", "content": ""}]));
    let delta = json!({"type": "chat/delta", "turnId": "t1", "partId": "p1", "content": "x"});
    let ((ours, outcome), (theirs, their_outcome)) = reduce_chat(&before, &delta);
    assert_eq!(ours, theirs);
    assert_eq!(their_outcome, ReduceOutcome::Applied);
    assert_eq!(outcome, Outcome::NoOp);
}

/// A malformed action must be refused with a reason (DSP-6). As `Unknown`, it would be forwarded to
/// all subscribers.
#[test]
fn crt_4_a_malformed_action_is_not_an_unknown_one() {
    let malformed = json!({
        "type": "chat/responsePart", "turnId": "t1",
        "part": {"kind": "markdown", "id": "p1", "content": 42},
    });
    // The official types hide the mistake one level down, as a part of an unknown kind.
    let StateAction::ChatResponsePart(theirs) = official(&malformed) else {
        panic!("expected a response part");
    };
    assert!(matches!(theirs.part, state::ResponsePart::Unknown(_)));
    let ReceivedAction::Malformed(raw, error) = decode(&malformed) else {
        panic!("expected a malformed action");
    };
    assert_eq!(raw.0, malformed);
    assert_eq!(
        error.to_string(),
        "action.part.content: expected a string, found 42"
    );

    let malformed = json!({"type": "chat/delta", "turnId": "t1"});
    assert!(matches!(official(&malformed), StateAction::Unknown(_)));
    let ReceivedAction::Malformed(_, error) = decode(&malformed) else {
        panic!("expected a malformed action");
    };
    assert_eq!(error.to_string(), "action.partId: missing");

    let unknown = json!({"type": "chat/fromTheFuture", "x": 1});
    assert!(matches!(official(&unknown), StateAction::Unknown(_)));
    let ReceivedAction::Unknown(raw) = decode(&unknown) else {
        panic!("expected an unknown action");
    };
    assert_eq!(raw.0, unknown);

    // A union accepts an unknown kind, but not a known kind with wrong fields.
    let numbers = json!({"kind": "toolCall", "toolCall": 42});
    assert!(serde_json::from_value::<state::ResponsePart>(numbers.clone()).is_ok());
    assert_eq!(
        refusal::<ResponsePart>(&numbers),
        "toolCall: expected an object, found 42"
    );
}

/// Where a host has to decide, it refuses unknown kinds (FWD-3).
#[test]
fn crt_4_unknown_kinds_of_a_decision_are_rejected() {
    let source = json!({"kind": "graft", "chat": "ahp-chat:/1", "turnId": "t1"});
    assert!(matches!(
        official(&source),
        commands::ChatSource::Unknown(_)
    ));
    assert_eq!(
        refusal::<ChatSource>(&source),
        r#"kind: expected one of `fork`, `sideChat`, found "graft""#
    );
    let destination = json!({"kind": "moon"});
    assert!(matches!(
        official(&destination),
        commands::ChatMoveDestination::Unknown(_)
    ));
    assert_eq!(
        refusal::<ChatMoveDestination>(&destination),
        r#"kind: expected one of `session`, `newSession`, found "moon""#
    );
}

/// A request has to be answered, whatever its id (RPC-1, RPC-2).
#[test]
fn crt_5_a_request_with_a_string_id_is_a_request() {
    for id in ["\"abc\"", "-1", "1.5", "null", "18446744073709551616"] {
        let text = format!(r#"{{"jsonrpc": "2.0", "id": {id}, "method": "ping", "params": {{}}}}"#);
        let theirs: messages::JsonRpcMessage = serde_json::from_str(&text).unwrap();
        assert!(
            matches!(theirs, messages::JsonRpcMessage::Notification(_)),
            "{id}"
        );

        let document = Document::parse(&text, Limits::default()).unwrap();
        let Ok(Message::Request(read, call)) = Message::decode(&document) else {
            panic!("expected a request for {id}");
        };
        assert_eq!(call.method, "ping");
        assert_eq!(read.to_string(), id);
    }
    // The error response to an unreadable message is not lost, either.
    let text = r#"{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no JSON"}}"#;
    assert!(serde_json::from_str::<messages::JsonRpcMessage>(text).is_err());
    let document = Document::parse(text, Limits::default()).unwrap();
    let Ok(Message::Response(response)) = Message::decode(&document) else {
        panic!("expected a response");
    };
    assert_eq!(response.id, RequestId::Null);
    assert_eq!(response.outcome.unwrap_err().message, "no JSON");
}

/// The response of a running turn must not be lost (TUR-4). Repeating the same start is harmless
/// (A-24).
#[test]
fn crt_6_a_turn_does_not_replace_a_running_one() {
    let before = running(json!([{"kind": "markdown", "id": "p1", "content": "precious"}]));
    let start = |id: &str| {
        json!({
            "type": "chat/turnStarted", "turnId": id,
            "startedAt": "2026-01-01T00:00:00Z", "message": message("again"),
        })
    };
    let ((ours, outcome), (theirs, their_outcome)) = reduce_chat(&before, &start("t2"));
    assert_eq!(their_outcome, ReduceOutcome::Applied);
    assert_eq!(theirs["activeTurn"]["responseParts"], json!([]));
    assert_eq!(theirs["turns"], json!([]));
    assert_eq!(
        outcome,
        Outcome::Invalid(Invalid::TurnInProgress {
            active: "t1".into()
        })
    );
    assert_eq!(ours, before);

    let ((ours, outcome), _) = reduce_chat(&before, &start("t1"));
    assert_eq!(outcome, Outcome::NoOp);
    assert_eq!(ours, before);
}

/// The action means that a user confirmed, so "not needed" would be wrong in the transcript. The
/// TypeScript reducer omits the required field.
#[test]
fn crt_8_an_approval_without_a_reason_is_a_user_action() {
    let before = running(json!([call("c1", "pending-confirmation", json!({}))]));
    let action = json!({
        "type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": "c1", "approved": true,
    });
    let ((ours, _), (theirs, _)) = reduce_chat(&before, &action);
    let confirmed =
        |chat: &Json| chat["activeTurn"]["responseParts"][0]["toolCall"]["confirmed"].clone();
    assert_eq!(confirmed(&theirs), json!("not-needed"));
    assert_eq!(confirmed(&ours), json!("user-action"));
}

/// A call that waits for a token is encoded with one `status`, and decoded as the same state.
#[test]
fn crt_16_auth_required_is_encoded_once_and_survives_a_round_trip() {
    let waiting = call(
        "c1",
        "auth-required",
        json!({
            "confirmed": "not-needed",
            "contributor": {"kind": "mcp", "customizationId": "srv"},
            "auth": {"reason": "required", "resource": {"resource": "https://mcp.example"}},
        }),
    );
    let json = &waiting["toolCall"];
    assert!(matches!(official(json), state::ToolCallState::Unknown(_)));
    let ours: ToolCall = decode(json);
    assert!(matches!(ours, ToolCall::AuthRequired(_)));
    let text = serde_json::to_string(&ours).unwrap();
    assert_eq!(text.matches("\"status\"").count(), 1);
    assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), *json);

    // The official reducer reaches the state, and its encoder writes the key twice.
    let mut theirs: state::ChatState = official(&running(json!([call(
        "c1",
        "running",
        json!({"confirmed": "not-needed", "contributor": {"kind": "mcp", "customizationId": "srv"}}),
    )])));
    let action: StateAction = official(&json!({
        "type": "chat/toolCallAuthRequired", "turnId": "t1", "toolCallId": "c1",
        "auth": {"reason": "required", "resource": {"resource": "https://mcp.example"}},
    }));
    assert_eq!(
        apply_action_to_chat(&mut theirs, &action),
        ReduceOutcome::Applied
    );
    let parts = theirs.active_turn.unwrap().response_parts;
    let text = serde_json::to_string(&parts[0]).unwrap();
    assert_eq!(text.matches("\"status\"").count(), 2);
    assert_eq!(
        wire::from_str::<ResponsePart>(&text)
            .unwrap_err()
            .to_string(),
        "toolCall.status: given twice"
    );
}

/// JavaScript measures time in fractions; such a turn must still be able to end.
#[test]
fn crt_17_a_fractional_duration_is_rounded() {
    for (duration, rounded) in [("12.7", 13), ("12.0", 12), ("12.5", 13), ("1.2e3", 1200)] {
        let text =
            format!(r#"{{"type": "chat/turnComplete", "turnId": "t1", "duration": {duration}}}"#);
        let theirs: StateAction = serde_json::from_str(&text).unwrap();
        assert!(matches!(theirs, StateAction::Unknown(_)), "{duration}");
        let ours: Action = wire::from_str(&text).unwrap();
        assert_eq!(
            serde_json::to_value(&ours).unwrap()["duration"],
            json!(rounded)
        );
    }
    // A count, unlike a duration, must be a whole number.
    let text = r#"{"type": "terminal/resized", "cols": 80.0, "rows": 24}"#;
    assert!(wire::from_str::<Action>(text).is_ok());
    let text = r#"{"type": "terminal/resized", "cols": 80.5, "rows": 24}"#;
    assert_eq!(
        wire::from_str::<Action>(text).unwrap_err().to_string(),
        "cols: expected a whole number, found 80.5"
    );
}

/// Clients of earlier versions omit fields that have since become required; the error names the
/// field.
#[test]
fn crt_18_a_missing_field_is_named_in_the_error() {
    let old = json!({"type": "chat/turnStarted", "turnId": "t1", "message": message("go")});
    assert!(matches!(official(&old), StateAction::Unknown(_)));
    assert_eq!(refusal::<Action>(&old), "startedAt: missing");

    let older = json!({
        "type": "chat/turnStarted", "turnId": "t1", "startedAt": "2026-01-01T00:00:00Z",
        "message": {"text": "go"},
    });
    assert!(matches!(official(&older), StateAction::Unknown(_)));
    assert_eq!(refusal::<Action>(&older), "message.origin: missing");
}

/// The error for an invalid snapshot names the place; the official one says only that nothing
/// matched.
#[test]
fn crt_19_the_error_of_an_invalid_snapshot_has_a_path() {
    let root = json!({"activeSessions": 1});
    let theirs = serde_json::from_value::<state::SnapshotState>(root.clone()).unwrap_err();
    assert!(theirs.to_string().contains("did not match any variant"));
    assert!(refusal::<ChannelState>(&root).starts_with("expected the state of a channel"));

    let mut chat = chat(json!({}));
    chat["turns"] =
        json!([{"id": "t1", "message": message("x"), "responseParts": [{}], "state": "complete"}]);
    assert!(serde_json::from_value::<state::SnapshotState>(chat.clone()).is_ok());
    assert_eq!(
        refusal::<ChannelState>(&chat),
        "turns[0].responseParts[0].kind: missing"
    );
}

/// FWD-1: a call in an unknown state, of a newer version, is kept when its turn ends. The official
/// reducer overwrites it with an empty call.
#[test]
fn an_unknown_call_survives_the_end_of_its_turn() {
    let future = call("c1", "paused", json!({"until": "tomorrow"}));
    let before = running(json!([future]));
    let end = json!({"type": "chat/turnComplete", "turnId": "t1", "duration": 1});
    let ((ours, _), (theirs, _)) = reduce_chat(&before, &end);
    assert_eq!(
        theirs["turns"][0]["responseParts"][0]["toolCall"]["toolCallId"],
        json!("")
    );
    assert_eq!(ours["turns"][0]["responseParts"][0], future);
}

/// An action without effect leaves the state as it is. The official reducer leaves an empty list.
#[test]
fn an_unknown_customization_leaves_no_empty_list() {
    let session = json!({
        "provider": "shell", "title": "", "status": 1, "lifecycle": "ready",
        "activeClients": [], "chats": [],
    });
    let action = json!({
        "type": "session/customizationUpdated",
        "customization": {"type": "fromTheFuture", "id": "x"},
    });
    let mut theirs: state::SessionState = official(&session);
    assert_eq!(
        apply_action_to_session(&mut theirs, &official(&action)),
        ReduceOutcome::NoOp
    );
    assert_eq!(theirs.customizations, Some(vec![]));

    let mut ours: ChannelState = decode(&session);
    assert_eq!(ours.reduce(&decode(&action)), Outcome::NoOp);
    assert_eq!(serde_json::to_value(&ours).unwrap(), session);
}

/// Changes of files have a shape, and a resource watch must not forward anything else.
#[test]
fn watched_changes_are_typed() {
    let action = json!({"type": "resourceWatch/changed", "changes": 42});
    assert!(matches!(
        official(&action),
        StateAction::ResourceWatchChanged(_)
    ));
    assert_eq!(
        refusal::<Action>(&action),
        "changes: expected an object, found 42"
    );
}

/// Whole numbers are written without a fraction, as every other peer does.
#[test]
fn a_whole_number_has_no_fraction() {
    let json = json!({"value": 5});
    let theirs: state::ChatInputNumberAnswerValue = official(&json);
    assert_eq!(serde_json::to_string(&theirs).unwrap(), r#"{"value":5.0}"#);
    let ours: agenthost_protocol::chat::NumberValue = decode(&json);
    assert_eq!(serde_json::to_string(&ours).unwrap(), r#"{"value":5}"#);
}

/// Every released VS Code sends `reconnect` without `channel`, and would retry forever if that were
/// refused as invalid. Only one channel is possible.
#[test]
fn reconnect_needs_no_channel() {
    let params = json!({
        "clientId": "a", "lastSeenServerSeq": 7, "subscriptions": ["ahp-root://"],
    });
    assert!(serde_json::from_value::<commands::ReconnectParams>(params.clone()).is_err());
    let ours: ReconnectParams = decode(&params);
    let mut written = params.clone();
    written["channel"] = json!("ahp-root://");
    assert_eq!(serde_json::to_value(&ours).unwrap(), written);

    // Another channel is still refused (RPC-8).
    let mut elsewhere = params;
    elsewhere["channel"] = json!("ahp-session:/1");
    assert_eq!(
        refusal::<ReconnectParams>(&elsewhere),
        r#"channel: expected `ahp-root://`, found "ahp-session:/1""#
    );
}
