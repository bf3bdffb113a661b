//! Tests for malformed input and its exact error messages.

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::rpc::{
    CallError, ClientNotification, ClientRequest, ErrorCode, Message, RpcError,
};
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Document, Json, Limits, ParseError, Wire};
use expect_test::{Expect, expect};

/// Checks a table in which each line is an input, and the line below it the error.
fn check(refuse: impl Fn(&str) -> String, table: Expect) {
    let mut result = String::new();
    let lines = table.data().lines().map(str::trim);
    let inputs = lines.filter(|line| !line.is_empty() && !line.starts_with("=> "));
    for input in inputs {
        result.push_str(&format!("{input}\n    => {}\n", refuse(input)));
    }
    table.assert_eq(&result);
}

fn refuse<T: Wire + std::fmt::Debug>(input: &str) -> String {
    match wire::from_str::<T>(input) {
        Ok(value) => format!("accepted: {}", serde_json::to_string(&value).unwrap()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn invalid_json_is_rejected() {
    check(
        refuse::<Json>,
        expect![[r#"
            {
                => syntax error at byte 1: expected a key in quotes
            {"a"
                => syntax error at byte 4: expected a colon
            {"a":
                => syntax error at byte 5: expected a value
            {"a":1
                => syntax error at byte 6: expected a comma or `}`
            {"a":1,
                => syntax error at byte 7: expected a key in quotes
            {"a":1,}
                => syntax error at byte 7: expected a key in quotes
            {a:1}
                => syntax error at byte 1: expected a key in quotes
            {'a':1}
                => syntax error at byte 1: expected a key in quotes
            [
                => syntax error at byte 1: expected a value
            [1
                => syntax error at byte 2: expected a comma or `]`
            [1,]
                => syntax error at byte 3: expected a value
            [1 2]
                => syntax error at byte 3: expected a comma or `]`
            {"a":1}}
                => syntax error at byte 7: expected nothing after the value
            {"a":1} x
                => syntax error at byte 8: expected nothing after the value
            nul
                => syntax error at byte 0: expected a value
            nulll
                => syntax error at byte 4: expected nothing after the value
            True
                => syntax error at byte 0: expected a value
            NaN
                => syntax error at byte 0: expected a value
            Infinity
                => syntax error at byte 0: expected a value
            undefined
                => syntax error at byte 0: expected a value
            01
                => syntax error at byte 1: expected nothing after the value
            -
                => syntax error at byte 1: expected a digit
            +1
                => syntax error at byte 0: expected a value
            1.
                => syntax error at byte 2: expected a digit
            .5
                => syntax error at byte 0: expected a value
            1e
                => syntax error at byte 2: expected a digit
            1e+
                => syntax error at byte 3: expected a digit
            0x10
                => syntax error at byte 1: expected nothing after the value
            1e999
                => syntax error at byte 5: expected a number within the range of a double
            "abc
                => syntax error at byte 4: expected a closing quote
            "\x"
                => syntax error at byte 2: expected an escape sequence
            "\u12"
                => syntax error at byte 5: expected four hexadecimal digits
            "\u12g4"
                => syntax error at byte 5: expected four hexadecimal digits
            "\ud800"
                => syntax error at byte 7: expected a whole character, found half
            "\ud800\u0041"
                => syntax error at byte 13: expected a whole character, found half
            "\udc00"
                => syntax error at byte 7: expected a whole character, found half
            // comment
                => syntax error at byte 0: expected a value
            "ok" // comment
                => syntax error at byte 5: expected nothing after the value
        "#]],
    );
    let cases = [
        ("", "syntax error at byte 0: expected a value"),
        (" \n ", "syntax error at byte 3: expected a value"),
        ("\u{feff}{}", "syntax error at byte 0: expected a value"),
        (
            "\"\u{1}\"",
            "syntax error at byte 1: expected control characters to be escaped",
        ),
        (
            "\"a\nb\"",
            "syntax error at byte 2: expected control characters to be escaped",
        ),
        ("\u{a0}1", "syntax error at byte 0: expected a value"),
        (
            "[1\u{b}]",
            "syntax error at byte 2: expected a comma or `]`",
        ),
    ];
    for (input, error) in cases {
        assert_eq!(refuse::<Json>(input), error, "{input:?}");
    }
}

#[test]
fn text_over_the_limits_is_rejected() {
    let limits = Limits {
        bytes: 10,
        depth: 3,
        values: 5,
    };
    assert!(Document::parse("[[[1]]]", limits).is_ok());
    assert!(Document::parse(r#"{"a":[1]}"#, limits).is_ok());
    assert_eq!(
        Document::parse("[[[[1]]]]", limits).unwrap_err(),
        ParseError::TooDeep { allowed: 3 }
    );
    assert_eq!(
        Document::parse("[1, 2, 3, 4]", limits)
            .unwrap_err()
            .to_string(),
        "message of 12 bytes is too large: at most 10 are allowed"
    );
    assert_eq!(Document::parse("[1,2,3,4]", limits).map(|_| ()), Ok(()));
    assert_eq!(
        Document::parse(
            "[1,2,3,4,5]",
            Limits {
                bytes: 20,
                ..limits
            }
        )
        .unwrap_err()
        .to_string(),
        "message has too many values: at most 5 are allowed"
    );
    // The depth is limited even without a configured limit: a million brackets do not overflow the
    // stack.
    let deep = "[".repeat(1_000_000);
    let unlimited = Limits {
        bytes: usize::MAX,
        depth: usize::MAX,
        values: usize::MAX,
    };
    assert_eq!(
        Document::parse(&deep, unlimited).unwrap_err().to_string(),
        "message is nested too deeply: at most 128 levels are allowed"
    );
    let deep = format!("{}{}", r#"{"a":"#.repeat(100), "1");
    assert_eq!(
        Document::parse(&deep, Limits::default())
            .unwrap_err()
            .to_string(),
        "message is nested too deeply: at most 64 levels are allowed"
    );
}

#[test]
fn invalid_actions_are_rejected() {
    check(
        refuse::<Action>,
        expect![[r#"
            42
                => expected an object, found 42
            null
                => expected an object, found null
            "chat/delta"
                => expected an object, found a string
            [{"type": "chat/delta"}]
                => expected an object, found an array
            {}
                => type: missing
            {"type": 42}
                => type: expected a string, found 42
            {"type": null}
                => type: expected a string, found null
            {"type": ""}
                => type: unknown action type ""
            {"type": "chat/nonsense"}
                => type: unknown action type "chat/nonsense"
            {"type": "chat/delta", "type": "chat/delta"}
                => type: given twice
            {"type": "chat/delta"}
                => turnId: missing
            {"type": "chat/delta", "turnId": "t"}
                => partId: missing
            {"type": "chat/delta", "turnId": null, "partId": "p", "content": "c"}
                => turnId: expected a string, found null
            {"type": "chat/delta", "turnId": 42, "partId": "p", "content": "c"}
                => turnId: expected a string, found 42
            {"type": "chat/delta", "turnId": "t", "partId": "p", "content": ["c"]}
                => content: expected a string, found an array
            {"type": "chat/delta", "turnId": "t", "turnId": "t", "partId": "p", "content": "c"}
                => turnId: given twice
            {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "c", "_meta": 1}
                => _meta: expected an object, found 1
            {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "c", "_meta": null, "extra": [1]}
                => accepted: {"type":"chat/delta","turnId":"t","partId":"p","content":"c"}
            {"type": "chat/delta", "turn\u0049d": "t", "partId": "p", "content": "c"}
                => accepted: {"type":"chat/delta","turnId":"t","partId":"p","content":"c"}
            {"type": "chat/turnComplete", "turnId": "t"}
                => duration: missing
            {"type": "chat/turnComplete", "turnId": "t", "duration": "12"}
                => duration: expected a number of milliseconds, found a string
            {"type": "chat/turnComplete", "turnId": "t", "duration": 1e300}
                => duration: expected a number of milliseconds, found 1e300
            {"type": "chat/turnComplete", "turnId": "t", "duration": 12.7}
                => accepted: {"type":"chat/turnComplete","turnId":"t","duration":13}
            {"type": "chat/turnStarted", "turnId": "t", "startedAt": 5, "message": {}}
                => startedAt: expected a string, found 5
            {"type": "chat/turnStarted", "turnId": "t", "startedAt": "x", "message": "hello"}
                => message: expected an object, found a string
            {"type": "chat/turnStarted", "turnId": "t", "startedAt": "x", "message": {"text": "x"}}
                => message.origin: missing
            {"type": "chat/turnStarted", "turnId": "t", "startedAt": "x", "message": {"text": "x", "origin": "user"}}
                => message.origin: expected an object, found a string
            {"type": "chat/turnStarted", "turnId": "t", "startedAt": "x", "message": {"text": "x", "origin": {"kind": 1}}}
                => message.origin.kind: expected a string, found 1
            {"type": "chat/turnStarted", "turnId": "t", "startedAt": "x", "message": {"text": "x", "origin": {"kind": "user"}, "attachments": [{"type": "chat", "label": "l"}]}}
                => message.attachments[0].resource: missing
            {"type": "chat/turnStarted", "turnId": "t", "startedAt": "x", "message": {"text": "x", "origin": {"kind": "user"}, "attachments": [{"type": "simple", "label": "l"}, {"type": "resource", "label": "l", "uri": "u", "sizeHint": -1}]}}
                => message.attachments[1].sizeHint: expected a whole number of at least 0, found -1
            {"type": "chat/turnStarted", "turnId": "t", "startedAt": "x", "message": {"text": "x", "origin": {"kind": "user"}, "model": {"id": "m", "config": []}}}
                => message.model.config: expected an object, found an array
            {"type": "chat/responsePart", "turnId": "t", "part": {"kind": "markdown", "id": "p", "content": 42}}
                => part.content: expected a string, found 42
            {"type": "chat/responsePart", "turnId": "t", "part": {"id": "p", "content": "c"}}
                => part.kind: missing
            {"type": "chat/responsePart", "turnId": "t", "part": {"kind": "toolCall", "toolCall": {"status": "running"}}}
                => part.toolCall.toolCallId: missing
            {"type": "chat/responsePart", "turnId": "t", "part": {"kind": "toolCall", "toolCall": {"status": "running", "toolCallId": "c", "toolName": "n", "displayName": "d", "invocationMessage": {"text": "x"}, "confirmed": "setting"}}}
                => part.toolCall.invocationMessage.markdown: missing
            {"type": "chat/responsePart", "turnId": "t", "part": {"kind": "toolCall", "toolCall": {"status": "running", "toolCallId": "c", "toolName": "n", "displayName": "d", "invocationMessage": 7, "confirmed": "setting"}}}
                => part.toolCall.invocationMessage: expected a string or an object, found 7
            {"type": "chat/responsePart", "turnId": "t", "part": {"kind": "toolCall", "toolCall": {"status": "running", "toolCallId": "c", "toolName": "n", "displayName": "d", "invocationMessage": "i", "confirmed": "setting", "content": [{"type": "text"}]}}}
                => part.toolCall.content[0].text: missing
            {"type": "chat/error", "turnId": "t", "duration": 1, "part": {"kind": "markdown", "error": {"errorType": "e", "message": "m"}}}
                => part.kind: expected `error`, found "markdown"
            {"type": "chat/error", "turnId": "t", "duration": 1, "part": {"error": {"errorType": "e", "message": "m"}}}
                => part.kind: missing
            {"type": "chat/pendingMessageSet", "kind": "later", "id": "m", "message": {"text": "x", "origin": {"kind": "user"}}}
                => kind: expected one of `steering`, `queued`, found "later"
            {"type": "chat/inputCompleted", "requestId": "r", "response": "maybe"}
                => response: expected one of `accept`, `decline`, `cancel`, found "maybe"
            {"type": "chat/inputCompleted", "requestId": "r", "response": "accept", "answers": {"q 1": {"state": "submitted"}}}
                => answers["q 1"].value: missing
            {"type": "chat/inputCompleted", "requestId": "r", "response": "accept", "answers": {"q": {"state": "skipped"}, "q": {"state": "skipped"}}}
                => answers["q"]: given twice
            {"type": "chat/toolCallConfirmed", "turnId": "t", "toolCallId": "c", "approved": "yes"}
                => approved: expected true or false, found a string
            {"type": "chat/toolCallConfirmed", "turnId": "t", "toolCallId": "c", "approved": false, "reason": "bored"}
                => reason: expected one of `denied`, `skipped`, `result-denied`, found "bored"
            {"type": "session/activeClientSet", "activeClient": {"clientId": "c", "tools": [], "customizations": [{"type": "mcpServer", "id": "i", "uri": "u", "name": "n"}]}}
                => activeClient.customizations[0].type: expected `plugin`, found "mcpServer"
            {"type": "session/activeClientSet", "activeClient": {"clientId": "c", "tools": {}}}
                => activeClient.tools: expected an array, found an object
            {"type": "session/configChanged", "config": []}
                => config: expected an object, found an array
            {"type": "session/isReadChanged", "isRead": 1}
                => isRead: expected true or false, found 1
            {"type": "root/activeSessionsChanged", "activeSessions": -1}
                => activeSessions: expected a whole number of at least 0, found -1
            {"type": "root/activeSessionsChanged", "activeSessions": 1.5}
                => activeSessions: expected a whole number, found 1.5
            {"type": "root/activeSessionsChanged", "activeSessions": 3.0}
                => accepted: {"type":"root/activeSessionsChanged","activeSessions":3}
            {"type": "root/activeSessionsChanged", "activeSessions": 1e30}
                => activeSessions: expected a whole number of at most 18446744073709551615, found 1e30
            {"type": "terminal/claimed", "claim": {"kind": "nobody"}}
                => claim.kind: expected one of `client`, `session`, found "nobody"
            {"type": "terminal/claimed", "claim": {"kind": "session", "session": "s"}}
                => claim.chat: missing
            {"type": "resourceWatch/changed", "changes": {"items": [{"uri": "u", "type": "moved"}]}}
                => changes.items[0].type: expected one of `added`, `updated`, `deleted`, found "moved"
            {"type": "annotations/updated", "annotationId": "a", "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0.5, "character": 0}}}
                => range.end.line: expected a whole number, found 0.5
        "#]],
    );
}

#[test]
fn invalid_states_are_rejected() {
    check(
        refuse::<ChannelState>,
        expect![[r#"
            []
                => expected an object, found an array
            {}
                => expected the state of a channel, found an object without any of `activeClients` `turns` `content` `files` `recursive` `canvasId` `sessions` `agents` `annotations` `entries`
            {"turns": []}
                => resource: missing
            {"turns": {}, "resource": "r", "title": "t", "status": 1, "modifiedAt": "m"}
                => turns: expected an array, found an object
            {"turns": [], "resource": "r", "title": "t", "status": -1, "modifiedAt": "m"}
                => status: expected a whole number of at least 0, found -1
            {"turns": [], "resource": "r", "title": "t", "status": 4294967296, "modifiedAt": "m"}
                => status: expected a whole number of at most 4294967295, found 4294967296
            {"turns": [], "resource": "r", "title": "t", "status": 4294967295, "modifiedAt": "m", "future": {}}
                => accepted: {"resource":"r","title":"t","status":4294967295,"modifiedAt":"m","turns":[]}
            {"agents": [{"provider": "p"}]}
                => agents[0].displayName: missing
            {"content": [], "title": "t", "lifecycle": "running", "claim": {"kind": "client", "clientId": "c"}}
                => lifecycle: expected an object, found a string
            {"content": [], "title": "t", "lifecycle": {"status": "exited", "exitCode": "0"}, "claim": {"kind": "client", "clientId": "c"}}
                => lifecycle.exitCode: expected a whole number, found a string
        "#]],
    );
    check(
        refuse::<Snapshot>,
        expect![[r#"
            {"resource": "r", "state": {"entries": [{}]}, "fromSeq": 1}
                => state.entries[0].resource: missing
            {"resource": "r", "state": {"entries": []}, "fromSeq": -1}
                => fromSeq: expected a whole number of at least 0, found -1
            {"resource": "r", "state": {"entries": []}}
                => fromSeq: missing
            {"resource": "r", "state": {"entries": []}, "fromSeq": 7}
                => accepted: {"resource":"r","state":{"entries":[]},"fromSeq":7}
        "#]],
    );
}

/// Returns how a host answers any input: error code, id and message.
fn answer(input: &str) -> String {
    let document = match Document::parse(input, Limits::default()) {
        Ok(document) => document,
        Err(error) => return format!("{} null {error}", ErrorCode::ParseError.number()),
    };
    let show =
        |id: String, error: RpcError| format!("{} {id} {}", error.code.number(), error.message);
    match Message::decode(&document) {
        Err(invalid) => {
            let id = invalid.id.to_string();
            show(id, invalid.into())
        }
        Ok(Message::Request(id, call)) => match ClientRequest::decode(&call) {
            Ok(request) => format!(
                "{} {}",
                request.method(),
                serde_json::to_string(&request).unwrap()
            ),
            Err(error) => show(id.to_string(), error.into()),
        },
        Ok(Message::Notification(call)) => match ClientNotification::decode(&call) {
            Ok(notification) => format!("{notification:?}"),
            Err(CallError::UnknownMethod(method)) => format!("ignored {method}"),
            Err(CallError::InvalidParams(error)) => format!("ignored: {error}"),
        },
        Ok(Message::Response(response)) => format!(
            "response {} {:?}",
            response.id,
            response.outcome.map(|result| result.to_json().to_string())
        ),
    }
}

#[test]
fn invalid_messages_are_rejected() {
    check(
        answer,
        expect![[r#"
            {"jsonrpc": "2.0", "id": 1, "method": "ping"
                => -32700 null syntax error at byte 44: expected a comma or `}`
            []
                => -32600 null expected one message, found a batch: send each message by itself
            [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]
                => -32600 null expected one message, found a batch: send each message by itself
            42
                => -32600 null expected an object, found 42
            "ping"
                => -32600 null expected an object, found a string
            {}
                => -32600 null jsonrpc: missing
            {"id": 1, "method": "ping"}
                => -32600 1 jsonrpc: missing
            {"jsonrpc": "1.0", "id": 1, "method": "ping"}
                => -32600 1 jsonrpc: expected `2.0`, found "1.0"
            {"jsonrpc": 2.0, "id": 1, "method": "ping"}
                => -32600 1 jsonrpc: expected a string, found 2.0
            {"jsonrpc": "2.0", "id": 1}
                => -32600 1 expected `method`, `result` or `error`, found none
            {"jsonrpc": "2.0", "id": {}, "method": "ping"}
                => -32600 null id: expected a string, a number or null, found an object
            {"jsonrpc": "2.0", "id": true, "method": "ping"}
                => -32600 null id: expected a string, a number or null, found true
            {"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}
                => -32600 null id: given twice
            {"jsonrpc": "2.0", "id": 1, "method": 42}
                => -32600 1 method: expected a string, found 42
            {"jsonrpc": "2.0", "id": 1, "method": "ping", "result": null}
                => -32600 1 expected `method` or a response, found both
            {"jsonrpc": "2.0", "id": 1, "method": "ping", "error": {}}
                => -32600 1 expected `method` or a response, found both
            {"jsonrpc": "2.0", "id": 1, "result": 1, "error": {"code": 1, "message": "m"}}
                => -32600 1 expected `result` or `error`, found both
            {"jsonrpc": "2.0", "result": 1}
                => -32600 null id: missing
            {"jsonrpc": "2.0", "id": 1, "error": "bad"}
                => -32600 1 error: expected an object, found a string
            {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": "m"}}
                => -32600 1 error.code: expected a whole number, found a string
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -32008, "message": "gone", "data": {"a": 1}}}
                => response 1 Err(RpcError { code: NotFound, message: "gone", data: Some(Object {"a": Number(1)}) })
            {"jsonrpc": "2.0", "id": "x", "result": null}
                => response "x" Ok("null")
            {"jsonrpc": "2.0", "id": 1, "method": "ping"}
                => ping {}
            {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": null}
                => ping {}
            {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"channel": "ahp-root://"}}
                => ping {"channel":"ahp-root://"}
            {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"channel": "ahp-session:/1"}}
                => -32602 1 channel: expected `ahp-root://`, found "ahp-session:/1"
            {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}
                => -32602 1 expected an object, found an array
            {"jsonrpc": "2.0", "id": "a\"b", "method": "Ping"}
                => -32601 "a\"b" unknown method `Ping`
            {"jsonrpc": "2.0", "id": null, "method": "nope"}
                => -32601 null unknown method `nope`
            {"jsonrpc": "2.0", "id": 1, "method": "subscribe"}
                => -32602 1 channel: missing
            {"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"channel": 1}}
                => -32602 1 channel: expected a string, found 1
            {"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"channel": "c", "view": {"turns": -1}}}
                => -32602 1 view.turns: expected a whole number of at least 0, found -1
            {"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"channel": "c", "view": {"turns": 20, "fromTheFuture": true}, "delivery": {"maxLatencyMs": 16.6}}}
                => subscribe {"channel":"c","delivery":{"maxLatencyMs":17},"view":{"turns":20}}
            {"jsonrpc": "2.0", "id": 1, "method": "listSessions", "params": {"channel": "ahp-session:/1"}}
                => -32602 1 channel: expected `ahp-root://`, found "ahp-session:/1"
            {"jsonrpc": "2.0", "id": 1, "method": "runAutomation", "params": {"channel": "ahp-root://", "automation": "a", "requestId": "r"}}
                => -32602 1 channel: expected `ahp-automations://`, found "ahp-root://"
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"channel": "ahp-root://", "protocolVersions": "1.0.0", "clientId": "c"}}
                => -32602 1 protocolVersions: expected an array, found a string
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"channel": "ahp-root://", "protocolVersions": [1], "clientId": "c"}}
                => -32602 1 protocolVersions[0]: expected a string, found 1
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"channel": "ahp-root://", "clientId": "c", "lastSeenServerSeq": -1, "subscriptions": []}}
                => -32602 1 lastSeenServerSeq: expected a whole number of at least 0, found -1
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"channel": "ahp-session:/1", "clientId": "c", "lastSeenServerSeq": 1, "subscriptions": []}}
                => -32602 1 channel: expected `ahp-root://`, found "ahp-session:/1"
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"clientId": "c", "subscriptions": ["a"]}}
                => -32602 1 lastSeenServerSeq: missing
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"clientId": "c", "lastSeenServerSeq": 1}}
                => -32602 1 subscriptions: missing
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"clientId": "c", "lastSeenServerSeq": 1, "subscriptions": "a"}}
                => -32602 1 subscriptions: expected an array, found a string
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"clientId": "c", "subscriptions": [{"channel": "a", "lastSeenServerSeq": 1}, "b"]}}
                => -32602 1 subscriptions[1]: expected an object, found a string
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"clientId": "c", "lastSeenServerSeq": 1, "subscriptions": ["b", {"channel": "a", "lastSeenServerSeq": 1}]}}
                => -32602 1 subscriptions[0]: expected an object, found a string
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"clientId": "c", "subscriptions": [{"channel": "a"}]}}
                => -32602 1 subscriptions[0].lastSeenServerSeq: missing
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"clientId": "c", "subscriptions": [{"channel": "a", "lastSeenServerSeq": -1}]}}
                => -32602 1 subscriptions[0].lastSeenServerSeq: expected a whole number of at least 0, found -1
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"clientId": "c", "subscriptions": [{"channel": "a", "lastSeenServerSeq": 1}, null]}}
                => -32602 1 subscriptions[1]: expected an object, found null
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"clientId": "c", "lastSeenServerSeq": 1, "subscriptions": ["a"], "windows": {"items": []}}}
                => reconnect {"channel":"ahp-root://","clientId":"c","lastSeenServerSeq":1,"subscriptions":["a"]}
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"clientId": "c", "subscriptions": [{"channel": "a", "lastSeenServerSeq": 0}]}}
                => reconnect {"channel":"ahp-root://","clientId":"c","subscriptions":[{"channel":"a","lastSeenServerSeq":0}]}
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"clientId": "c", "lastSeenServerSeq": 1, "subscriptions": []}}
                => reconnect {"channel":"ahp-root://","clientId":"c","lastSeenServerSeq":1,"subscriptions":[]}
            {"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {"clientId": "c", "subscriptions": []}}
                => reconnect {"channel":"ahp-root://","clientId":"c","subscriptions":[]}
            {"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"channel": "c", "flowControl": {"receive": {"windowBytes": 1}}}}
                => subscribe {"channel":"c"}
            {"jsonrpc": "2.0", "id": 1, "method": "createChat", "params": {"channel": "s", "chat": "c", "source": {"kind": "graft", "chat": "x", "turnId": "t"}}}
                => -32602 1 source.kind: expected one of `fork`, `sideChat`, found "graft"
            {"jsonrpc": "2.0", "id": 1, "method": "moveChat", "params": {"channel": "c", "destination": {"kind": "moon"}}}
                => -32602 1 destination.kind: expected one of `session`, `newSession`, found "moon"
            {"jsonrpc": "2.0", "id": 1, "method": "authenticate", "params": {"channel": "ahp-root://", "resource": "r", "token": "secret", "expiresIn": "soon"}}
                => -32602 1 expiresIn: expected a whole number, found a string
            {"jsonrpc": "2.0", "id": 1, "method": "resourceWrite", "params": {"channel": "ahp-root://", "uri": "u", "data": "d", "encoding": "latin-1"}}
                => -32602 1 encoding: expected one of `base64`, `utf-8`, found "latin-1"
            {"jsonrpc": "2.0", "method": "nope", "params": {}}
                => ignored nope
            {"jsonrpc": "2.0", "method": "unsubscribe"}
                => ignored: channel: missing
            {"jsonrpc": "2.0", "method": "dispatchAction", "params": {"channel": "c", "action": {"type": "chat/draftChanged"}}}
                => ignored: clientSeq: missing
        "#]],
    );
}

/// DSP-6: the `clientSeq` of an invalid action is still decoded, so that the host can reject it.
#[test]
fn the_client_seq_of_an_invalid_action_is_decoded() {
    let dispatched = |action: &str| {
        let text = format!(
            r#"{{"jsonrpc": "2.0", "method": "dispatchAction", "params": {{"channel": "c", "clientSeq": 7, "action": {action}}}}}"#
        );
        let document = Document::parse(&text, Limits::default()).unwrap();
        let Ok(Message::Notification(call)) = Message::decode(&document) else {
            panic!("expected a notification");
        };
        let Ok(ClientNotification::DispatchAction(params)) = ClientNotification::decode(&call)
        else {
            panic!("expected a dispatch");
        };
        assert_eq!(params.client_seq.0, 7);
        match params.action.into_valid() {
            Ok(action) => action.info().name.to_owned(),
            Err((raw, reason)) => {
                assert_eq!(raw.0, serde_json::from_str::<Json>(action).unwrap());
                reason
            }
        }
    };
    check(
        dispatched,
        expect![[r#"
            {"type": "chat/draftChanged"}
                => chat/draftChanged
            {"type": "chat/responsePart", "turnId": "t", "part": {"kind": "markdown", "id": "p", "content": 42}}
                => action.part.content: expected a string, found 42
            {"type": "chat/fromTheFuture"}
                => action.type: unknown action type "chat/fromTheFuture"
            {"turnId": "t"}
                => action.type: missing
            42
                => action: expected an object, found 42
            null
                => action: expected an object, found null
        "#]],
    );
}

/// Errors go to logs and to other users, so they never quote the value.
#[test]
fn an_error_never_quotes_a_string() {
    let secret = "hunter2";
    let inputs = [
        format!(r#"{{"type": "chat/turnComplete", "turnId": "t", "duration": "{secret}"}}"#),
        format!(r#"{{"type": "session/isReadChanged", "isRead": "{secret}"}}"#),
        format!(r#"{{"type": "chat/draftChanged", "draft": "{secret}"}}"#),
        format!(r#"{{"type": "chat/usage", "turnId": "t", "usage": ["{secret}"]}}"#),
    ];
    for input in inputs {
        let error = wire::from_str::<Action>(&input).unwrap_err().to_string();
        assert!(!error.contains(secret), "{error}");
    }
    // `Debug` does not print it, either.
    let text =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"authenticate","params":["{secret}"]}}"#);
    let document = Document::parse(&text, Limits::default()).unwrap();
    let message = Message::decode(&document).unwrap();
    assert!(!format!("{message:?} {document:?}").contains(secret));
    let text = format!(r#"{{"type":"terminal/input","data":["{secret}"]}}"#);
    let action: agenthost_protocol::action::ReceivedAction = wire::from_str(&text).unwrap();
    assert!(!format!("{action:?}").contains(secret));
    let text = format!(r#"{{"channel": "ahp-root://", "resource": "r", "token": "{secret}"}}"#);
    let params: agenthost_protocol::root::AuthenticateParams = wire::from_str(&text).unwrap();
    assert!(!format!("{params:?}").contains(secret));
    let text = format!(r#"{{"type": "terminal/input", "data": "{secret}"}}"#);
    let action: Action = wire::from_str(&text).unwrap();
    assert!(!format!("{action:?}").contains(secret));
}

/// A draft that is as deep as a message may be can still be read from a snapshot.
#[test]
fn an_accepted_value_can_be_decoded_from_a_snapshot() {
    let depth = Limits::MESSAGE.depth - 2;
    let nested = format!("{}1{}", r#"{"a":"#.repeat(depth - 2), "}".repeat(depth - 2));
    let action = format!(
        r#"{{"type":"chat/draftChanged","draft":{{"text":"","origin":{{"kind":"user"}},"_meta":{nested}}}}}"#
    );
    let action: Action = wire::from_str(&action).unwrap();
    let chat = r#"{"resource":"c","title":"","status":1,"modifiedAt":"m","turns":[]}"#;
    let mut chat: ChannelState = wire::from_str(chat).unwrap();
    assert_eq!(
        chat.reduce(&action),
        agenthost_protocol::outcome::Outcome::Applied
    );
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"snapshots":[{{"state":{}}}]}}}}"#,
        serde_json::to_string(&chat).unwrap()
    );
    assert!(Document::parse(&answer, Limits::MESSAGE).is_err());
    assert!(Document::parse(&answer, Limits::STATE).is_ok());
}

/// The kind of a state is recognized by its required fields, because a newer host may add any field
/// to any state.
#[test]
fn the_kind_of_a_state_is_recognized_by_its_required_fields() {
    use agenthost_protocol::channel::ChannelKind;
    for field in [
        "turns",
        "content",
        "files",
        "recursive",
        "entries",
        "sessions",
        "canvasId",
    ] {
        let text = format!(r#"{{"agents":[],"{field}":[]}}"#);
        let state: ChannelState = wire::from_str(&text).unwrap();
        assert_eq!(state.kind(), ChannelKind::Root, "{field}");
    }
}

/// Names from a peer are shortened in errors, so that an error is never longer than a screen.
#[test]
fn an_error_stays_short() {
    let long = "x".repeat(100_000);
    let inputs = [
        format!(r#"{{"type": "{long}"}}"#),
        format!(r#"{{"type": "chat/pendingMessageRemoved", "kind": "{long}", "id": "m"}}"#),
        format!(
            r#"{{"type": "chat/inputCompleted", "requestId": "r", "response": "accept", "answers": {{"{long}": 1}}}}"#
        ),
        format!(
            r#"{{"type": "root/activeSessionsChanged", "activeSessions": {}}}"#,
            "9".repeat(200)
        ),
    ];
    for input in inputs {
        let error = wire::from_str::<Action>(&input).unwrap_err().to_string();
        assert!(error.len() < 300, "{error}");
    }
}
