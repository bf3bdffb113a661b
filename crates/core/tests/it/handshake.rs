//! Tests for `initialize`, `reconnect` and `ping`.

use expect_test::expect;

use crate::script::check;

/// HSK-1, HSK-2, HSK-12, TRN-5, A-15.
#[test]
fn only_ping_works_before_the_handshake() {
    check(
        r#"
        c1 connect
        c1 ping
        c1 listSessions
        c1 subscribe root
        c1 unsubscribe root
        c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        c1 ping
        c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        "#,
        expect![[r#"
            c1 connect
                nothing
            c1 ping
                c1: null
            c1 listSessions
                c1: error -32600 send `initialize` first
            c1 subscribe root
                c1: error -32600 send `initialize` first
            c1 unsubscribe root
                nothing
            c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
                c1: version 1.0.0 at 0 with []
            c1 ping
                c1: null
            c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
                c1: error -32600 this connection is initialized already
        "#]],
    );
}

/// HSK-3 to HSK-8: the host selects the highest offered version that it supports, and returns it as
/// offered.
#[test]
fn the_highest_supported_version_is_selected() {
    check(
        r#"
        - c1 connect
        c1 initialize {"protocolVersions": ["1.0.0", "1.4.0", "2.0.0", "1.3.9"], "clientId": "a"}
        - c2 connect
        c2 initialize {"protocolVersions": ["0.9.0", "2.0.0"], "clientId": "b"}
        - c3 connect
        c3 initialize {"protocolVersions": [], "clientId": "c"}
        - c4 connect
        c4 initialize {"protocolVersions": ["1.0.0", "1.0"], "clientId": "d"}
        c4 initialize {"protocolVersions": ["1.0.0"], "clientId": "d"}
        "#,
        expect![[r#"
            c1 initialize {"protocolVersions": ["1.0.0", "1.4.0", "2.0.0", "1.3.9"], "clientId": "a"}
                c1: version 1.4.0 at 0 with []
            c2 initialize {"protocolVersions": ["0.9.0", "2.0.0"], "clientId": "b"}
                c2: version 0.9.0 at 0 with []
            c3 initialize {"protocolVersions": [], "clientId": "c"}
                c3: error -32005 none of the offered protocol versions is supported
                close c3
            c4 initialize {"protocolVersions": ["1.0.0", "1.0"], "clientId": "d"}
                c4: error -32602 protocolVersions: `1.0` is not a version of the form MAJOR.MINOR.PATCH
            c4 initialize {"protocolVersions": ["1.0.0"], "clientId": "d"}
                c4: version 1.0.0 at 0 with []
        "#]],
    );
}

/// HSK-13, HSK-14: `initialize` subscribes to the channels that exist and omits the others.
#[test]
fn initial_subscriptions_come_with_the_handshake() {
    check(
        r#"
        - c1 connect
        c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a", "initialSubscriptions": ["ahp-root://", "ahp-session:/none"]}
        - c2 connect
        c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "b"}
        c2 createSession s1
        "#,
        expect![[r#"
            c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a", "initialSubscriptions": ["ahp-root://", "ahp-session:/none"]}
                c1: version 1.0.0 at 0 with [root]
            c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "b"}
                c2: version 1.0.0 at 0 with []
            c2 createSession s1
                c2: null
                c1: root/sessionAdded {"summary":{"provider":"shell","title":"","status":1,"annotations":{"resource":"s1/annotations","annotationCount":0,"entryCount":0},"resource":"s1","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":1}],"defaultChat":"s1.chat"}}
                c1: 1 root root/activeSessionsChanged {"activeSessions":1}
                agent s1: open
        "#]],
    );
}

/// HSK-24: a client id belongs to the principal that used it first.
#[test]
fn a_client_id_is_bound_to_its_principal() {
    check(
        r#"
        - c1 connect alice
        c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        - c2 connect mallory
        c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        c2 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
        - c3 connect alice
        c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        c1 leave
        c3 leave
        "#,
        expect![[r#"
            c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
                c1: version 1.0.0 at 0 with []
            c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
                c2: error -32009 client id `a` belongs to another principal
            c2 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
                c2: error -32008 client `a` is not known: send `initialize`
            c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
                c3: version 1.0.0 at 0 with []
            c1 leave
                nothing
            c3 leave
                grace a 30000
        "#]],
    );
}

/// HSK-24: a client id stays bound during the grace period of its client, and after a restart of
/// the host.
#[test]
fn a_client_id_stays_bound_to_its_principal() {
    check(
        r#"
        - c1 connect alice
        c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        c1 leave
        - c2 connect mallory
        c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        c2 reconnect {"clientId": "a", "lastSeenServerSeq": 99, "subscriptions": []}
        - restart
        - c3 connect mallory
        c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        c3 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
        - c4 connect alice
        c4 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
        c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        c4 leave
        grace a
        c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        - wait 86400000
        c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        - restart
        - c5 connect alice
        c5 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
        c5 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        "#,
        expect![[r#"
            c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
                c1: version 1.0.0 at 0 with []
            c1 leave
                grace a 30000
            c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
                c2: error -32009 client id `a` belongs to another principal
            c2 reconnect {"clientId": "a", "lastSeenServerSeq": 99, "subscriptions": []}
                c2: error -32008 client `a` is not known: send `initialize`
            c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
                c3: error -32009 client id `a` belongs to another principal
            c3 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
                c3: error -32008 client `a` is not known: send `initialize`
            c4 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
                c4: replay (0, 0] of [], missing []
            c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
                c3: error -32009 client id `a` belongs to another principal
            c4 leave
                grace a 30000
            grace a
                nothing
            c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
                c3: error -32009 client id `a` belongs to another principal
            c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
                c3: version 1.0.0 at 0 with []
            c5 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
                c5: error -32008 client `a` is not known: send `initialize`
            c5 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
                c5: error -32009 client id `a` belongs to another principal
        "#]],
    );
}

/// REC-1 to REC-9, HSK-22: a client that returns receives exactly the actions that it missed, or
/// snapshots, or an error after which it can send `initialize`.
#[test]
fn a_reconnect_replays_sends_snapshots_or_fails() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        c1 subscribe s1
        c1 leave
        - c2 joins b
        c2 ! s1 session/titleChanged {"title": "meanwhile"}
        - c3 connect me was c1
        c3 reconnect {"clientId": "nobody", "lastSeenServerSeq": 2, "subscriptions": []}
        c3 reconnect {"clientId": "a", "lastSeenServerSeq": 99, "subscriptions": ["ahp-session:/s1", "ahp-session:/gone"]}
        - c3 leave
        - c4 connect
        c4 reconnect {"clientId": "a", "lastSeenServerSeq": 2, "subscriptions": ["ahp-session:/gone"]}
        c4 ! s1 session/titleChanged {"title": "not watching"}
        c4 leave
        grace a
        - wait 86400000
        - c5 connect
        c5 reconnect {"clientId": "a", "lastSeenServerSeq": 2, "subscriptions": []}
        c5 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        "#,
        expect![[r#"
            c1 subscribe s1
                c1: snapshot of s1 at 2
            c1 leave
                grace a 30000
            c2 ! s1 session/titleChanged {"title": "meanwhile"}
                nothing
            c3 reconnect {"clientId": "nobody", "lastSeenServerSeq": 2, "subscriptions": []}
                c3: error -32008 client `nobody` is not known: send `initialize`
            c3 reconnect {"clientId": "a", "lastSeenServerSeq": 99, "subscriptions": ["ahp-session:/s1", "ahp-session:/gone"]}
                c3: snapshots of [s1]
            c4 reconnect {"clientId": "a", "lastSeenServerSeq": 2, "subscriptions": ["ahp-session:/gone"]}
                c4: replay (2, 3] of [], missing [ahp-session:/gone]
            c4 ! s1 session/titleChanged {"title": "not watching"}
                nothing
            c4 leave
                grace a 30000
            grace a
                nothing
            c5 reconnect {"clientId": "a", "lastSeenServerSeq": 2, "subscriptions": []}
                c5: error -32008 client `a` is not known: send `initialize`
            c5 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
                c5: version 1.0.0 at 4 with []
        "#]],
    );
}

/// Each disconnect starts a full grace period; the timer of an earlier one has no effect.
#[test]
fn each_disconnect_starts_its_own_grace_period() {
    check(
        r#"
        - c1 joins a
        c1 leave
        - c2 connect me was c1
        - c2 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
        c2 leave
        grace a 1
        - c3 connect
        c3 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
        c3 leave
        grace a
        - wait 86400000
        - c4 connect
        c4 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
        "#,
        expect![[r#"
            c1 leave
                grace a 30000
            c2 leave
                grace a 30000
            grace a 1
                nothing
            c3 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
                c3: replay (0, 0] of [], missing []
            c3 leave
                grace a 30000
            grace a
                nothing
            c4 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
                c4: error -32008 client `a` is not known: send `initialize`
        "#]],
    );
}

/// While the client was away, its session was disposed and another one was created with the same
/// URI. The actions of one do not apply to the other, so the client gets snapshots.
#[test]
fn a_recreated_session_with_the_same_uri_is_not_replayed() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1
        c1 leave
        - c2 joins b
        - c2 disposeSession s1
        - c2 createSession s1
        - c3 connect me was c1
        c3 reconnect {"clientId": "a", "lastSeenServerSeq": 2, "subscriptions": ["ahp-session:/s1"]}
        "#,
        expect![[r#"
            c1 leave
                grace a 30000
            c3 reconnect {"clientId": "a", "lastSeenServerSeq": 2, "subscriptions": ["ahp-session:/s1"]}
                c3: snapshots of [s1]
        "#]],
    );
}

/// Every released VS Code sends `reconnect` without `channel`. If that were refused as invalid, VS
/// Code would retry forever.
#[test]
fn reconnect_needs_no_channel() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1
        - c1 leave
        - c2 connect me was c1
        c2 reconnect - {"clientId":"a","lastSeenServerSeq":2,"subscriptions":["ahp-session:/s1"]}
        - c2 leave
        - c3 connect me was c2
        c3 reconnect s1 {"clientId":"a","lastSeenServerSeq":2,"subscriptions":["ahp-session:/s1"]}
        "#,
        expect![[r#"
            c2 reconnect - {"clientId":"a","lastSeenServerSeq":2,"subscriptions":["ahp-session:/s1"]}
                c2: replay (2, 2] of [s1], missing []
            c3 reconnect s1 {"clientId":"a","lastSeenServerSeq":2,"subscriptions":["ahp-session:/s1"]}
                c3: error -32602 channel: expected `ahp-root://`, found "ahp-session:/s1"
        "#]],
    );
}
