//! Chats: turns, text, questions, waiting messages.

use agenthost_protocol::wire::Json;
use expect_test::expect;
use serde_json::json;

use super::check;

fn message(text: &str) -> Json {
    json!({"text": text, "origin": {"kind": "user"}})
}

fn idle() -> Json {
    json!({
        "resource": "ahp-chat:/1",
        "title": "chat",
        "status": 1 | 32,
        "modifiedAt": "2026-01-01T00:00:00.000Z",
        "turns": [
            {"id": "t0", "message": message("first"), "responseParts": [], "state": "complete"},
            {
                "id": "t1",
                "startedAt": "2026-01-01T00:00:00.000Z",
                "duration": 5,
                "message": message("second"),
                "responseParts": [
                    {"kind": "markdown", "id": "p1", "content": "Hi"},
                    {"kind": "error", "error": {"errorType": "net", "message": "gone"}, "resumable": true},
                ],
                "state": "error",
            },
        ],
        "turnsNextCursor": "older",
        "steeringMessage": {"id": "s1", "message": message("steer")},
        "queuedMessages": [
            {"id": "m1", "message": message("one")},
            {"id": "m2", "message": message("two")},
            {"id": "m3", "message": message("three")},
        ],
        "workingDirectories": ["file:///a"],
        "backgroundWork": [
            {"kind": "shell", "id": "b1", "label": "tests", "startedAt": "2026-01-01T00:00:00Z", "command": "make"},
        ],
    })
}

fn running() -> Json {
    let mut chat = idle();
    chat["status"] = json!(24 | 32);
    chat["activeTurn"] = json!({
        "id": "t2",
        "startedAt": "2026-01-01T00:00:00.000Z",
        "message": message("third"),
        "responseParts": [
            {"kind": "markdown", "id": "p1", "content": "Hel"},
            {"kind": "reasoning", "id": "r1", "content": "Hm"},
            {"kind": "inputRequest", "request": {"id": "q0"}, "response": "accept"},
            {
                "kind": "inputRequest",
                "request": {
                    "id": "q1",
                    "questions": [{"kind": "text", "id": "name", "message": "Name?"}],
                    "answers": {"name": {"state": "draft", "value": {"kind": "text", "value": "A"}}},
                },
            },
        ],
    });
    chat
}

#[test]
fn turn_starts_are_reduced() {
    check(
        &idle(),
        expect![[r#"
            chat/turnStarted {"turnId": "t2", "startedAt": "2026-02-01T00:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
                status: 33 -> 8
                modifiedAt: "2026-01-01T00:00:00.000Z" -> "2026-02-01T00:00:00Z"
                activeTurn: (none) -> {"id":"t2","startedAt":"2026-02-01T00:00:00Z","message":{"text":"go","origin":{"kind":"user"}},"responseParts":[]}
            chat/turnStarted {"turnId": "t2", "startedAt": "2026-02-01T00:00:00Z", "message": {"text": "two", "origin": {"kind": "user"}}, "queuedMessageId": "m2"}
                status: 33 -> 8
                modifiedAt: "2026-01-01T00:00:00.000Z" -> "2026-02-01T00:00:00Z"
                queuedMessages[1].id: "m2" -> "m3"
                queuedMessages[1].message.text: "two" -> "three"
                queuedMessages[2]: {"id":"m3","message":{"text":"three","origin":{"kind":"user"}}} -> (none)
                activeTurn: (none) -> {"id":"t2","startedAt":"2026-02-01T00:00:00Z","message":{"text":"two","origin":{"kind":"user"}},"responseParts":[]}
            chat/turnStarted {"turnId": "t2", "startedAt": "2026-02-01T00:00:00Z", "message": {"text": "steer", "origin": {"kind": "user"}}, "queuedMessageId": "s1"}
                status: 33 -> 8
                modifiedAt: "2026-01-01T00:00:00.000Z" -> "2026-02-01T00:00:00Z"
                steeringMessage: {"id":"s1","message":{"text":"steer","origin":{"kind":"user"}}} -> (none)
                activeTurn: (none) -> {"id":"t2","startedAt":"2026-02-01T00:00:00Z","message":{"text":"steer","origin":{"kind":"user"}},"responseParts":[]}
            chat/turnStarted {"turnId": "t2", "startedAt": "2026-02-01T00:00:00Z", "message": {"text": "?", "origin": {"kind": "user"}}, "queuedMessageId": "nobody"}
                status: 33 -> 8
                modifiedAt: "2026-01-01T00:00:00.000Z" -> "2026-02-01T00:00:00Z"
                activeTurn: (none) -> {"id":"t2","startedAt":"2026-02-01T00:00:00Z","message":{"text":"?","origin":{"kind":"user"}},"responseParts":[]}
            chat/turnResume {"turnId": "t1"}
                status: 33 -> 8
                turns[1]: {"id":"t1","startedAt":"2026-01-01T00:00:00.000Z","duration":5,"message":{"text":"second","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hi"},{"kind":"error","error":{"errorType":"net","message":"gone"},"resumable":true}],"state":"error"} -> (none)
                activeTurn: (none) -> {"id":"t1","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"second","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hi"},{"kind":"error","error":{"errorType":"net","message":"gone"},"resumable":true}]}
            chat/turnResume {"turnId": "t0"}
                no-op
        "#]],
    );
    check(
        &running(),
        expect![[r#"
            chat/turnStarted {"turnId": "t2", "startedAt": "2026-02-01T00:00:00Z", "message": {"text": "again", "origin": {"kind": "user"}}}
                no-op
            chat/turnStarted {"turnId": "t3", "startedAt": "2026-02-01T00:00:00Z", "message": {"text": "over it", "origin": {"kind": "user"}}}
                invalid: turn `t2` is in progress
            chat/turnResume {"turnId": "t1"}
                no-op
        "#]],
    );
}

#[test]
fn only_a_resumable_error_is_resumed() {
    let mut final_error = idle();
    final_error["turns"][1]["responseParts"][1]["resumable"] = json!(false);
    let mut no_start = idle();
    no_start["turns"][1]
        .as_object_mut()
        .unwrap()
        .remove("startedAt");
    let mut empty = idle();
    empty["turns"] = json!([]);
    let mut completed = idle();
    completed["turns"][1]["state"] = json!("complete");
    check(
        &final_error,
        expect![[r#"
            chat/turnResume {"turnId": "t1"}
                no-op
        "#]],
    );
    check(
        &completed,
        expect![[r#"
            chat/turnResume {"turnId": "t1"}
                no-op
        "#]],
    );
    check(
        &empty,
        expect![[r#"
            chat/turnResume {"turnId": "t1"}
                no-op
        "#]],
    );
    // Without a start of its own, the turn starts where the chat last was.
    check(
        &no_start,
        expect![[r#"
            chat/turnResume {"turnId": "t1"}
                status: 33 -> 8
                turns[1]: {"id":"t1","state":"error","duration":5,"message":{"text":"second","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hi"},{"kind":"error","error":{"errorType":"net","message":"gone"},"resumable":true}]} -> (none)
                activeTurn: (none) -> {"id":"t1","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"second","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hi"},{"kind":"error","error":{"errorType":"net","message":"gone"},"resumable":true}]}
        "#]],
    );
}

#[test]
fn text_deltas_are_reduced() {
    check(
        &running(),
        expect![[r#"
            chat/delta {"turnId": "t2", "partId": "p1", "content": "lo"}
                activeTurn.responseParts[0].content: "Hel" -> "Hello"
            chat/delta {"turnId": "t2", "partId": "r1", "content": "not text"}
                no-op
            chat/delta {"turnId": "t2", "partId": "p9", "content": "nowhere"}
                no-op
            chat/delta {"turnId": "t1", "partId": "p1", "content": "too late"}
                no-op
            chat/reasoning {"turnId": "t2", "partId": "r1", "content": "..."}
                activeTurn.responseParts[1].content: "Hm" -> "Hm..."
            chat/reasoning {"turnId": "t2", "partId": "p1", "content": "not a thought"}
                no-op
            chat/reasoning {"turnId": "t1", "partId": "r1", "content": "too late"}
                no-op
            chat/responsePart {"turnId": "t2", "part": {"kind": "markdown", "id": "p2", "content": ""}}
                activeTurn.responseParts[4]: (none) -> {"kind":"markdown","id":"p2","content":""}
            chat/responsePart {"turnId": "t2", "part": {"kind": "fromTheFuture", "x": 1}}
                activeTurn.responseParts[4]: (none) -> {"kind":"fromTheFuture","x":1}
            chat/responsePart {"turnId": "t2", "part": {"kind": "error", "error": {"errorType": "e", "message": "m"}}}
                no-op
            chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p2", "content": ""}}
                no-op
            chat/usage {"turnId": "t2", "usage": {"inputTokens": 3, "model": "m"}}
                activeTurn.usage: (none) -> {"inputTokens":3,"model":"m"}
            chat/usage {"turnId": "t1", "usage": {"inputTokens": 3}}
                no-op
        "#]],
    );
    check(
        &idle(),
        expect![[r#"
            chat/delta {"turnId": "t1", "partId": "p1", "content": "too late"}
                no-op
            chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p2", "content": ""}}
                no-op
            chat/usage {"turnId": "t1", "usage": {}}
                no-op
        "#]],
    );
}

#[test]
fn turn_ends_are_reduced() {
    check(
        &running(),
        expect![[r#"
            chat/turnComplete {"turnId": "t2", "duration": 1500}
                status: 56 -> 33
                modifiedAt: "2026-01-01T00:00:00.000Z" -> "2026-01-01T00:00:01.500Z"
                turns[2]: (none) -> {"id":"t2","startedAt":"2026-01-01T00:00:00.000Z","duration":1500,"message":{"text":"third","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hel"},{"kind":"reasoning","id":"r1","content":"Hm"},{"kind":"inputRequest","request":{"id":"q0"},"response":"accept"},{"kind":"inputRequest","request":{"id":"q1","questions":[{"kind":"text","id":"name","message":"Name?"}],"answers":{"name":{"state":"draft","value":{"kind":"text","value":"A"}}}}}],"state":"complete"}
                activeTurn: {"id":"t2","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"third","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hel"},{"kind":"reasoning","id":"r1","content":"Hm"},{"kind":"inputRequest","request":{"id":"q0"},"response":"accept"},{"kind":"inputRequest","request":{"id":"q1","questions":[{"kind":"text","id":"name","message":"Name?"}],"answers":{"name":{"state":"draft","value":{"kind":"text","value":"A"}}}}}]} -> (none)
            chat/turnComplete {"turnId": "t1", "duration": 1500}
                no-op
            chat/turnCancelled {"turnId": "t2", "duration": -3}
                status: 56 -> 33
                turns[2]: (none) -> {"id":"t2","startedAt":"2026-01-01T00:00:00.000Z","duration":0,"message":{"text":"third","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hel"},{"kind":"reasoning","id":"r1","content":"Hm"},{"kind":"inputRequest","request":{"id":"q0"},"response":"accept"},{"kind":"inputRequest","request":{"id":"q1","questions":[{"kind":"text","id":"name","message":"Name?"}],"answers":{"name":{"state":"draft","value":{"kind":"text","value":"A"}}}}}],"state":"cancelled"}
                activeTurn: {"id":"t2","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"third","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hel"},{"kind":"reasoning","id":"r1","content":"Hm"},{"kind":"inputRequest","request":{"id":"q0"},"response":"accept"},{"kind":"inputRequest","request":{"id":"q1","questions":[{"kind":"text","id":"name","message":"Name?"}],"answers":{"name":{"state":"draft","value":{"kind":"text","value":"A"}}}}}]} -> (none)
            chat/turnCancelled {"turnId": "t1", "duration": 0}
                no-op
            chat/error {"turnId": "t2", "duration": 12.7, "part": {"kind": "error", "error": {"errorType": "net", "message": "gone"}, "resumable": true}}
                status: 56 -> 34
                modifiedAt: "2026-01-01T00:00:00.000Z" -> "2026-01-01T00:00:00.013Z"
                turns[2]: (none) -> {"id":"t2","startedAt":"2026-01-01T00:00:00.000Z","duration":13,"message":{"text":"third","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hel"},{"kind":"reasoning","id":"r1","content":"Hm"},{"kind":"inputRequest","request":{"id":"q0"},"response":"accept"},{"kind":"inputRequest","request":{"id":"q1","questions":[{"kind":"text","id":"name","message":"Name?"}],"answers":{"name":{"state":"draft","value":{"kind":"text","value":"A"}}}}},{"kind":"error","error":{"errorType":"net","message":"gone"},"resumable":true}],"state":"error"}
                activeTurn: {"id":"t2","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"third","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hel"},{"kind":"reasoning","id":"r1","content":"Hm"},{"kind":"inputRequest","request":{"id":"q0"},"response":"accept"},{"kind":"inputRequest","request":{"id":"q1","questions":[{"kind":"text","id":"name","message":"Name?"}],"answers":{"name":{"state":"draft","value":{"kind":"text","value":"A"}}}}}]} -> (none)
            chat/error {"turnId": "t1", "duration": 1, "part": {"kind": "error", "error": {"errorType": "net", "message": "gone"}}}
                no-op
            chat/turnComplete {"turnId": "t2", "duration": 9223372036854775807}
                invalid: 9223372036854775807 ms after `2026-01-01T00:00:00.000Z` is out of range
        "#]],
    );
    check(
        &idle(),
        expect![[r#"
            chat/turnComplete {"turnId": "t1", "duration": 1}
                no-op
            chat/turnCancelled {"turnId": "t1", "duration": 1}
                no-op
            chat/error {"turnId": "t1", "duration": 1, "part": {"kind": "error", "error": {"errorType": "net", "message": "gone"}}}
                no-op
        "#]],
    );
    let mut timeless = running();
    timeless["activeTurn"]["startedAt"] = json!("yesterday");
    check(
        &timeless,
        expect![[r#"
            chat/turnComplete {"turnId": "t2", "duration": 1}
                invalid: `yesterday` is not an RFC 3339 timestamp such as `2026-07-09T20:00:00.000Z`
        "#]],
    );
}

#[test]
fn truncated_and_loaded_turns_are_reduced() {
    check(
        &running(),
        expect![[r#"
            chat/truncated {"turnId": "t0"}
                status: 56 -> 33
                turns[1]: {"id":"t1","startedAt":"2026-01-01T00:00:00.000Z","duration":5,"message":{"text":"second","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hi"},{"kind":"error","error":{"errorType":"net","message":"gone"},"resumable":true}],"state":"error"} -> (none)
                activeTurn: {"id":"t2","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"third","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hel"},{"kind":"reasoning","id":"r1","content":"Hm"},{"kind":"inputRequest","request":{"id":"q0"},"response":"accept"},{"kind":"inputRequest","request":{"id":"q1","questions":[{"kind":"text","id":"name","message":"Name?"}],"answers":{"name":{"state":"draft","value":{"kind":"text","value":"A"}}}}}]} -> (none)
            chat/truncated {"turnId": "t1"}
                status: 56 -> 33
                activeTurn: {"id":"t2","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"third","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hel"},{"kind":"reasoning","id":"r1","content":"Hm"},{"kind":"inputRequest","request":{"id":"q0"},"response":"accept"},{"kind":"inputRequest","request":{"id":"q1","questions":[{"kind":"text","id":"name","message":"Name?"}],"answers":{"name":{"state":"draft","value":{"kind":"text","value":"A"}}}}}]} -> (none)
            chat/truncated
                status: 56 -> 33
                turns[0]: {"id":"t0","message":{"text":"first","origin":{"kind":"user"}},"responseParts":[],"state":"complete"} -> (none)
                turns[1]: {"id":"t1","startedAt":"2026-01-01T00:00:00.000Z","duration":5,"message":{"text":"second","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hi"},{"kind":"error","error":{"errorType":"net","message":"gone"},"resumable":true}],"state":"error"} -> (none)
                turnsNextCursor: "older" -> (none)
                activeTurn: {"id":"t2","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"third","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hel"},{"kind":"reasoning","id":"r1","content":"Hm"},{"kind":"inputRequest","request":{"id":"q0"},"response":"accept"},{"kind":"inputRequest","request":{"id":"q1","questions":[{"kind":"text","id":"name","message":"Name?"}],"answers":{"name":{"state":"draft","value":{"kind":"text","value":"A"}}}}}]} -> (none)
            chat/truncated {"turnId": "t2"}
                no-op
            chat/turnsLoaded {"turns": [{"id": "t-1", "message": {"text": "older", "origin": {"kind": "user"}}, "responseParts": [], "state": "complete"}, {"id": "t0", "message": {"text": "known", "origin": {"kind": "user"}}, "responseParts": [], "state": "complete"}]}
                turns[0].id: "t0" -> "t-1"
                turns[0].message.text: "first" -> "older"
                turns[1].id: "t1" -> "t0"
                turns[1].startedAt: "2026-01-01T00:00:00.000Z" -> (none)
                turns[1].duration: 5 -> (none)
                turns[1].message.text: "second" -> "first"
                turns[1].responseParts[0]: {"kind":"markdown","id":"p1","content":"Hi"} -> (none)
                turns[1].responseParts[1]: {"kind":"error","error":{"errorType":"net","message":"gone"},"resumable":true} -> (none)
                turns[1].state: "error" -> "complete"
                turns[2]: (none) -> {"id":"t1","startedAt":"2026-01-01T00:00:00.000Z","duration":5,"message":{"text":"second","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p1","content":"Hi"},{"kind":"error","error":{"errorType":"net","message":"gone"},"resumable":true}],"state":"error"}
                turnsNextCursor: "older" -> (none)
            chat/turnsLoaded {"turns": [], "turnsNextCursor": "even older"}
                turnsNextCursor: "older" -> "even older"
        "#]],
    );
}

#[test]
fn input_requests_and_answers_are_reduced() {
    check(
        &running(),
        expect![[r#"
            chat/inputRequested {"request": {"id": "q2", "message": "Sure?"}}
                status: 56 -> 24
                activeTurn.responseParts[4]: (none) -> {"kind":"inputRequest","request":{"id":"q2","message":"Sure?"}}
            chat/inputRequested {"request": {"id": "q1", "message": "Really?"}}
                status: 56 -> 24
                activeTurn.responseParts[3].request.questions: [{"kind":"text","id":"name","message":"Name?"}] -> (none)
                activeTurn.responseParts[3].request.message: (none) -> "Really?"
            chat/inputRequested {"request": {"id": "q1", "answers": {}}}
                status: 56 -> 24
                activeTurn.responseParts[3].request.questions: [{"kind":"text","id":"name","message":"Name?"}] -> (none)
                activeTurn.responseParts[3].request.answers.name: {"state":"draft","value":{"kind":"text","value":"A"}} -> (none)
            chat/inputAnswerChanged {"requestId": "q1", "questionId": "name", "answer": {"state": "submitted", "value": {"kind": "text", "value": "B"}}}
                activeTurn.responseParts[3].request.answers.name.state: "draft" -> "submitted"
                activeTurn.responseParts[3].request.answers.name.value.value: "A" -> "B"
            chat/inputAnswerChanged {"requestId": "q1", "questionId": "other", "answer": {"state": "skipped"}}
                activeTurn.responseParts[3].request.answers.other: (none) -> {"state":"skipped"}
            chat/inputAnswerChanged {"requestId": "q1", "questionId": "name"}
                activeTurn.responseParts[3].request.answers: {"name":{"state":"draft","value":{"kind":"text","value":"A"}}} -> (none)
            chat/inputAnswerChanged {"requestId": "q0", "questionId": "name"}
                no-op
            chat/inputAnswerChanged {"requestId": "q9", "questionId": "name"}
                no-op
            chat/inputCompleted {"requestId": "q1", "response": "accept", "answers": {"more": {"state": "skipped"}}}
                status: 56 -> 40
                activeTurn.responseParts[3].request.answers.more: (none) -> {"state":"skipped"}
                activeTurn.responseParts[3].response: (none) -> "accept"
            chat/inputCompleted {"requestId": "q1", "response": "decline"}
                status: 56 -> 40
                activeTurn.responseParts[3].response: (none) -> "decline"
            chat/inputCompleted {"requestId": "q0", "response": "cancel"}
                no-op
            chat/inputCompleted {"requestId": "q9", "response": "cancel"}
                no-op
        "#]],
    );
    check(
        &idle(),
        expect![[r#"
            chat/inputRequested {"request": {"id": "q2"}}
                no-op
            chat/inputAnswerChanged {"requestId": "q1", "questionId": "name"}
                no-op
            chat/inputCompleted {"requestId": "q1", "response": "accept"}
                no-op
        "#]],
    );
}

#[test]
fn pending_messages_are_reduced() {
    check(
        &idle(),
        expect![[r#"
            chat/pendingMessageSet {"kind": "steering", "id": "s2", "message": {"text": "other", "origin": {"kind": "user"}}}
                steeringMessage.id: "s1" -> "s2"
                steeringMessage.message.text: "steer" -> "other"
            chat/pendingMessageSet {"kind": "queued", "id": "m2", "message": {"text": "edited", "origin": {"kind": "user"}}}
                queuedMessages[1].message.text: "two" -> "edited"
            chat/pendingMessageSet {"kind": "queued", "id": "m4", "message": {"text": "four", "origin": {"kind": "user"}}}
                queuedMessages[3]: (none) -> {"id":"m4","message":{"text":"four","origin":{"kind":"user"}}}
            chat/pendingMessageRemoved {"kind": "steering", "id": "s1"}
                steeringMessage: {"id":"s1","message":{"text":"steer","origin":{"kind":"user"}}} -> (none)
            chat/pendingMessageRemoved {"kind": "steering", "id": "m1"}
                no-op
            chat/pendingMessageRemoved {"kind": "queued", "id": "m1"}
                queuedMessages[0].id: "m1" -> "m2"
                queuedMessages[0].message.text: "one" -> "two"
                queuedMessages[1].id: "m2" -> "m3"
                queuedMessages[1].message.text: "two" -> "three"
                queuedMessages[2]: {"id":"m3","message":{"text":"three","origin":{"kind":"user"}}} -> (none)
            chat/pendingMessageRemoved {"kind": "queued", "id": "s1"}
                no-op
            chat/queuedMessagesReordered {"order": ["m3", "m1", "m2"]}
                queuedMessages[0].id: "m1" -> "m3"
                queuedMessages[0].message.text: "one" -> "three"
                queuedMessages[1].id: "m2" -> "m1"
                queuedMessages[1].message.text: "two" -> "one"
                queuedMessages[2].id: "m3" -> "m2"
                queuedMessages[2].message.text: "three" -> "two"
            chat/queuedMessagesReordered {"order": ["m2"]}
                queuedMessages[0].id: "m1" -> "m2"
                queuedMessages[0].message.text: "one" -> "two"
                queuedMessages[1].id: "m2" -> "m1"
                queuedMessages[1].message.text: "two" -> "one"
            chat/queuedMessagesReordered {"order": ["nobody", "m3", "m3", "m1"]}
                queuedMessages[0].id: "m1" -> "m3"
                queuedMessages[0].message.text: "one" -> "three"
                queuedMessages[1].id: "m2" -> "m1"
                queuedMessages[1].message.text: "two" -> "one"
                queuedMessages[2].id: "m3" -> "m2"
                queuedMessages[2].message.text: "three" -> "two"
            chat/queuedMessagesReordered {"order": []}
                no-op
            chat/draftChanged {"draft": {"text": "half a", "origin": {"kind": "user"}}}
                draft: (none) -> {"text":"half a","origin":{"kind":"user"}}
            chat/draftChanged
                the same
        "#]],
    );
    let mut last = idle();
    last["queuedMessages"] = json!([{"id": "m1", "message": message("one")}]);
    check(
        &last,
        expect![[r#"
            chat/pendingMessageRemoved {"kind": "queued", "id": "m1"}
                queuedMessages: [{"id":"m1","message":{"text":"one","origin":{"kind":"user"}}}] -> (none)
        "#]],
    );
    let mut none = idle();
    none.as_object_mut().unwrap().remove("queuedMessages");
    check(
        &none,
        expect![[r#"
            chat/queuedMessagesReordered {"order": ["m1"]}
                no-op
            chat/pendingMessageRemoved {"kind": "queued", "id": "m1"}
                no-op
        "#]],
    );
}

#[test]
fn other_fields_of_a_chat_are_reduced() {
    check(
        &idle(),
        expect![[r#"
            chat/activityChanged {"activity": "thinking"}
                activity: (none) -> "thinking"
            chat/activityChanged
                the same
            chat/backgroundWorkSet {"work": {"kind": "shell", "id": "b1", "label": "tests", "startedAt": "2026-01-01T00:00:00Z", "command": "make check"}}
                backgroundWork[0].command: "make" -> "make check"
            chat/backgroundWorkSet {"work": {"kind": "subagent", "id": "b2", "label": "helper", "startedAt": "2026-01-01T00:00:00Z", "chat": "ahp-chat:/2"}}
                backgroundWork[1]: (none) -> {"kind":"subagent","id":"b2","label":"helper","startedAt":"2026-01-01T00:00:00Z","chat":"ahp-chat:/2"}
            chat/backgroundWorkSet {"work": {"kind": "fromTheFuture"}}
                no-op
            chat/backgroundWorkRemoved {"id": "b1"}
                backgroundWork[0]: {"kind":"shell","id":"b1","label":"tests","startedAt":"2026-01-01T00:00:00Z","command":"make"} -> (none)
            chat/backgroundWorkRemoved {"id": "b9"}
                no-op
            chat/movableChanged {"movable": true}
                movable: (none) -> true
            chat/changesetsChanged {"changesets": [{"label": "all", "uriTemplate": "x:/", "changeKind": "session"}]}
                changesets: (none) -> [{"label":"all","uriTemplate":"x:/","changeKind":"session"}]
            chat/changesetsChanged
                the same
            chat/canvasesChanged {"canvases": [{"resource": "ahp-canvas:/1"}]}
                canvases: (none) -> [{"resource":"ahp-canvas:/1"}]
            chat/canvasesChanged
                the same
            chat/workingDirectorySet {"directory": "file:///b"}
                workingDirectories[1]: (none) -> "file:///b"
            chat/workingDirectorySet {"directory": "file:///a"}
                no-op
            chat/workingDirectoryRemoved {"directory": "file:///a"}
                workingDirectories[0]: "file:///a" -> (none)
            chat/workingDirectoryRemoved {"directory": "file:///b"}
                no-op
            chat/isReadChanged {"isRead": false}
                status: 33 -> 1
            chat/isArchivedChanged {"isArchived": true}
                status: 33 -> 97
            session/titleChanged {"title": "not for a chat"}
                wrong channel
        "#]],
    );
    let mut inherits = idle();
    inherits
        .as_object_mut()
        .unwrap()
        .remove("workingDirectories");
    inherits.as_object_mut().unwrap().remove("backgroundWork");
    // DIR-8: the first directory narrows what was inherited.
    check(
        &inherits,
        expect![[r#"
            chat/workingDirectorySet {"directory": "file:///a"}
                workingDirectories: (none) -> ["file:///a"]
            chat/workingDirectoryRemoved {"directory": "file:///a"}
                no-op
            chat/backgroundWorkRemoved {"id": "b1"}
                no-op
        "#]],
    );
}
