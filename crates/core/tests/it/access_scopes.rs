//! Paired devices with fewer rights than the token.

use expect_test::expect;

use crate::script::check;

/// A device that may only read sees everything and changes nothing, not even by
/// the special treatment of a known client.
#[test]
fn a_read_only_device_cannot_change_anything() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c2 connect phone/read
        c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "b", "clientInfo": {"name": "vscode"}}
        c2 listSessions {}
        c2 createSession s2 {}
        c2 createTerminal ahp-terminal:/t {"claim": {"kind": "client", "clientId": "b"}}
        c2 resourceWrite {"uri": "file:///x", "data": "", "encoding": "utf-8"}
        c2 disposeSession s1
        c2 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}}
        c2 ! s1.chat chat/draftChanged {"draft": {"text": "x", "origin": {"kind": "user"}}}
        c2 ! s1 session/isReadChanged {"isRead": true}
        c2 ! s1 session/titleChanged {"title": "x"}
        "#,
        expect![[r#"
            c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "b", "clientInfo": {"name": "vscode"}}
                c2: version 1.0.0 at 2 with [] and {"agenthost.scope":"read"}
            c2 listSessions {}
                c2: sessions [s1]
            c2 createSession s2 {}
                c2: error -32009 `createSession` needs the scope `operate`, and this device has the scope `read`; `agenthost pair --scope operate` pairs a device with more rights
            c2 createTerminal ahp-terminal:/t {"claim": {"kind": "client", "clientId": "b"}}
                c2: error -32009 `createTerminal` needs the scope `terminal`, and this device has the scope `read`; `agenthost pair --scope terminal` pairs a device with more rights
            c2 resourceWrite {"uri": "file:///x", "data": "", "encoding": "utf-8"}
                c2: error -32009 `resourceWrite` needs the scope `operate`, and this device has the scope `read`; `agenthost pair --scope operate` pairs a device with more rights
            c2 disposeSession s1
                c2: error -32009 `disposeSession` needs the scope `operate`, and this device has the scope `read`; `agenthost pair --scope operate` pairs a device with more rights
            c2 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}}
                c2: 3 rejected: `chat/turnStarted` needs the scope `operate`, and this device has the scope `read`; `agenthost pair --scope operate` pairs a device with more rights
            c2 ! s1.chat chat/draftChanged {"draft": {"text": "x", "origin": {"kind": "user"}}}
                c2: 4 rejected: `chat/draftChanged` needs the scope `operate`, and this device has the scope `read`; `agenthost pair --scope operate` pairs a device with more rights
            c2 ! s1 session/isReadChanged {"isRead": true}
                c2: 5 rejected: `session/isReadChanged` needs the scope `operate`, and this device has the scope `read`; `agenthost pair --scope operate` pairs a device with more rights
            c2 ! s1 session/titleChanged {"title": "x"}
                c2: 6 rejected: `session/titleChanged` needs the scope `operate`, and this device has the scope `read`; `agenthost pair --scope operate` pairs a device with more rights
        "#]],
    );
}

/// A device that operates can start turns, but has no terminal of its own.
#[test]
fn an_operating_device_cannot_use_terminals() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 createTerminal ahp-terminal:/t {"claim": {"kind": "client", "clientId": "a"}}
        - c2 connect phone/operate
        - c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "b"}
        c2 createTerminal ahp-terminal:/u {"claim": {"kind": "client", "clientId": "b"}}
        c2 ! ahp-terminal:/t terminal/input {"data": "x"}
        c2 ! ahp-terminal:/t terminal/resized {"cols": 90, "rows": 30}
        c2 ! ahp-terminal:/t terminal/claimed {"claim": {"kind": "client", "clientId": "b"}}
        c2 ! s1 session/titleChanged {"title": "x"}
        "#,
        expect![[r#"
            c2 createTerminal ahp-terminal:/u {"claim": {"kind": "client", "clientId": "b"}}
                c2: error -32009 `createTerminal` needs the scope `terminal`, and this device has the scope `operate`; `agenthost pair --scope terminal` pairs a device with more rights
            c2 ! ahp-terminal:/t terminal/input {"data": "x"}
                c2: 4 rejected: `terminal/input` needs the scope `terminal`, and this device has the scope `operate`; `agenthost pair --scope terminal` pairs a device with more rights
            c2 ! ahp-terminal:/t terminal/resized {"cols": 90, "rows": 30}
                c2: 5 rejected: `terminal/resized` needs the scope `terminal`, and this device has the scope `operate`; `agenthost pair --scope terminal` pairs a device with more rights
            c2 ! ahp-terminal:/t terminal/claimed {"claim": {"kind": "client", "clientId": "b"}}
                c2: 6 rejected: `terminal/claimed` needs the scope `terminal`, and this device has the scope `operate`; `agenthost pair --scope terminal` pairs a device with more rights
            c2 ! s1 session/titleChanged {"title": "x"}
                nothing
        "#]],
    );
}

/// All clients show the name that the user gave the device, whatever the device
/// says; and its client id belongs to it.
#[test]
fn a_device_is_displayed_with_its_paired_name() {
    check(
        r#"
        - c1 connect phone/terminal
        - c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "b"}
        - c1 opens s1
        - c1 subscribe s1
        c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "b", "displayName": "desk", "tools": []}}
        - c2 connect tablet/read
        c2 reconnect {"clientId": "b", "lastSeenServerSeq": 0, "subscriptions": []}
        c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "b"}
        "#,
        expect![[r#"
            c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "b", "displayName": "desk", "tools": []}}
                c1: 3 s1 by b session/activeClientSet {"activeClient":{"clientId":"b","displayName":"phone","tools":[]}}
                agent s1: tools []
            c2 reconnect {"clientId": "b", "lastSeenServerSeq": 0, "subscriptions": []}
                c2: error -32008 client `b` is not known: send `initialize`
            c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "b"}
                c2: error -32009 client id `b` belongs to another principal
        "#]],
    );
}
