//! Clients that are away for longer than their grace period.

use expect_test::expect;

use crate::script::check;

/// SUB-21: after its grace period, a client has left its sessions. When it returns within the retention,
/// it gets exactly the actions that it missed. The host remembers it across a restart.
#[test]
fn a_client_returns_after_hours() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"activeClient": {"clientId": "a", "tools": [{"name": "look"}]}}
        - c1 subscribe s1
        - c2 joins b
        - c2 subscribe s1
        - c1 leave
        grace a
        - c2 ! s1 session/titleChanged {"title": "meanwhile"}
        - wait 80000000
        - restart
        - c3 connect me was c1
        c3 reconnect {"clientId": "a", "lastSeenServerSeq": 2, "subscriptions": ["ahp-session:/s1"]}
        "#,
        expect![[r#"
            grace a
                c2: 3 s1 session/activeClientRemoved {"clientId":"a"}
                agent s1: tools []
            c3 reconnect {"clientId": "a", "lastSeenServerSeq": 2, "subscriptions": ["ahp-session:/s1"]}
                c3: replay (2, 4] of [s1], missing []
        "#]],
    );
}

/// Two clients are remembered here. The one that left first is forgotten.
#[test]
fn the_longest_absent_client_is_forgotten_first() {
    check(
        r#"
        - c1 joins a
        - c2 joins b
        - c3 joins c
        - c1 leave
        - c2 leave
        - c3 leave
        - grace b
        - wait 1000
        - grace a
        - wait 1000
        - grace c
        - c4 connect
        c4 reconnect {"clientId": "b", "lastSeenServerSeq": 0, "subscriptions": []}
        - c5 connect
        c5 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
        - c6 connect
        c6 reconnect {"clientId": "c", "lastSeenServerSeq": 0, "subscriptions": []}
        "#,
        expect![[r#"
            c4 reconnect {"clientId": "b", "lastSeenServerSeq": 0, "subscriptions": []}
                c4: error -32008 client `b` is not known: send `initialize`
            c5 reconnect {"clientId": "a", "lastSeenServerSeq": 0, "subscriptions": []}
                c5: replay (0, 0] of [], missing []
            c6 reconnect {"clientId": "c", "lastSeenServerSeq": 0, "subscriptions": []}
                c6: replay (0, 0] of [], missing []
        "#]],
    );
}

/// A program that starts over with the client id of a remembered one is not taken for a second
/// program: it gets replays again.
#[test]
fn a_remembered_client_can_start_over() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 leave
        - grace a
        - c2 joins a
        - c2 subscribe s1
        - c2 leave
        - restart
        - c3 connect me was c2
        c3 reconnect {"clientId": "a", "lastSeenServerSeq": 2, "subscriptions": ["ahp-session:/s1"]}
        "#,
        expect![[r#"
            c3 reconnect {"clientId": "a", "lastSeenServerSeq": 2, "subscriptions": ["ahp-session:/s1"]}
                c3: replay (2, 2] of [s1], missing []
        "#]],
    );
}

/// The clients of a revoked device are forgotten: absent ones at once, a connected one when its
/// connection is closed. Their ids are free again.
#[test]
fn the_clients_of_a_revoked_device_are_forgotten() {
    check(
        r#"
        - c1 connect phone/operate
        - c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "absent"}
        - c1 leave
        - grace absent
        - c2 connect phone/operate
        - c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "away"}
        - c2 leave
        - c3 connect phone/operate
        - c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "present"}
        - c4 connect
        c4 initialize {"protocolVersions": ["1.0.0"], "clientId": "absent"}
        revoke phone
        c3 leave
        c4 initialize {"protocolVersions": ["1.0.0"], "clientId": "absent"}
        - c5 connect
        c5 initialize {"protocolVersions": ["1.0.0"], "clientId": "away"}
        - c6 connect
        c6 initialize {"protocolVersions": ["1.0.0"], "clientId": "present"}
        "#,
        expect![[r#"
            c4 initialize {"protocolVersions": ["1.0.0"], "clientId": "absent"}
                c4: error -32009 client id `absent` belongs to another principal
            revoke phone
                nothing
            c3 leave
                nothing
            c4 initialize {"protocolVersions": ["1.0.0"], "clientId": "absent"}
                c4: version 1.0.0 at 0 with []
            c5 initialize {"protocolVersions": ["1.0.0"], "clientId": "away"}
                c5: version 1.0.0 at 0 with []
            c6 initialize {"protocolVersions": ["1.0.0"], "clientId": "present"}
                c6: version 1.0.0 at 0 with []
        "#]],
    );
}
