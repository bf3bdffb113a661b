//! Tests for subscriptions: which connections get which actions.

use expect_test::expect;

use crate::script::check;

/// SUB-2 to SUB-9, DSP-9, SEQ-1, ERR-5.
#[test]
fn only_subscribers_receive_actions() {
    check(
        r#"
        - c1 joins a
        - c2 joins b
        - c1 opens s1
        c1 subscribe s1
        c1 ! s1 session/titleChanged {"title": "one"}
        c2 subscribe s1
        c2 ! s1 session/titleChanged {"title": "two"}
        c2 subscribe s1
        c1 ! s1 session/titleChanged {"title": "three"}
        c2 unsubscribe s1
        c2 unsubscribe s1
        c1 ! s1 session/titleChanged {"title": "four"}
        c2 ! s1 session/titleChanged {"title": "five"}
        c2 subscribe ahp-session:/none
        c2 subscribe ahp-chat:/none
        c2 subscribe file:///none
        "#,
        expect![[r#"
            c1 subscribe s1
                c1: snapshot of s1 at 2
            c1 ! s1 session/titleChanged {"title": "one"}
                c1: 3 s1 by a session/titleChanged {"title":"one"}
            c2 subscribe s1
                c2: snapshot of s1 at 3
            c2 ! s1 session/titleChanged {"title": "two"}
                c1, c2: 4 s1 by b session/titleChanged {"title":"two"}
            c2 subscribe s1
                c2: snapshot of s1 at 4
            c1 ! s1 session/titleChanged {"title": "three"}
                c1, c2: 5 s1 by a session/titleChanged {"title":"three"}
            c2 unsubscribe s1
                nothing
            c2 unsubscribe s1
                nothing
            c1 ! s1 session/titleChanged {"title": "four"}
                c1: 6 s1 by a session/titleChanged {"title":"four"}
            c2 ! s1 session/titleChanged {"title": "five"}
                c1: 7 s1 by b session/titleChanged {"title":"five"}
            c2 subscribe ahp-session:/none
                c2: error -32001 there is no session or chat `ahp-session:/none`
            c2 subscribe ahp-chat:/none
                c2: error -32001 there is no session or chat `ahp-chat:/none`
            c2 subscribe file:///none
                c2: error -32008 `file:///none` does not exist
        "#]],
    );
}

#[test]
fn subscriptions_are_bounded() {
    let mut script = String::from(
        r#"
        - c1 connect
        - c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a", "initialSubscriptions": ["ahp-root://"]}
        "#,
    );
    for n in 1..=4 {
        script.push_str(&format!("- c1 createSession s{n}\n- c1 subscribe s{n}\n"));
    }
    for n in 1..=3 {
        script.push_str(&format!("- c1 subscribe s{n}.chat\n"));
    }
    script.push_str("c1 subscribe s4.chat\nc1 subscribe s1\n");
    check(
        &script,
        expect![[r#"
        c1 subscribe s4.chat
            c1: error -32602 a connection can subscribe to at most 8 channels
        c1 subscribe s1
            c1: snapshot of s1 at 4
    "#]],
    );
}

/// SUB-19, HSK-23: two connections share a client id, and one has seen only a part of a chat. What
/// the other one sees or does must not change what the host knows about the first.
#[test]
fn connections_with_one_client_id_are_distinguished() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 starts t1
        - agent s1 end t1
        - c1 starts t2
        - agent s1 end t2
        c1 subscribe s1.chat {"view": {"turns": 1}}
        - c1 leave
        - c2 joins a
        c2 subscribe s1.chat
        - c2 ! s1.chat chat/truncated {"turnId": "t1"}
        - c3 connect me was c1
        c3 reconnect {"clientId": "a", "lastSeenServerSeq": 10, "subscriptions": ["ahp-chat://default/YWhwLXNlc3Npb246L3Mx"]}
        "#,
        expect![[r#"
            c1 subscribe s1.chat {"view": {"turns": 1}}
                c1: snapshot of s1.chat at 11, only [t2]
            c2 subscribe s1.chat
                c2: snapshot of s1.chat at 11
            c3 reconnect {"clientId": "a", "lastSeenServerSeq": 10, "subscriptions": ["ahp-chat://default/YWhwLXNlc3Npb246L3Mx"]}
                c3: snapshots of [s1.chat]
        "#]],
    );
}
