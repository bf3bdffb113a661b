//! Tests for `reconnect` with a cursor for each channel, as in AHP 1.1.

use agenthost_protocol::ids::ServerSeq;
use expect_test::expect;

use crate::script::{check, check_customized, run};
use crate::test_host::TestHost;

/// REC-3, REC-5, REC-6: every channel has its own outcome, in the order of the request. The cursor
/// of one channel says nothing about the others.
#[test]
fn each_channel_has_its_own_outcome() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe root
        - c1 subscribe s1
        - c1 subscribe s1.chat
        - c2 joins b
        - c1 leave
        - c2 ! s1 session/titleChanged {"title": "meanwhile"}
        - c2 starts t1
        - c3 connect me was c1
        c3 reconnect {"clientId": "a", "subscriptions": [{"channel": "ahp-session:/s1", "lastSeenServerSeq": 2}, {"channel": "ahp-session:/gone", "lastSeenServerSeq": 2}, {"channel": "ahp-root://", "lastSeenServerSeq": 0}, {"channel": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "lastSeenServerSeq": 2}]}
        c2 ! s1 session/titleChanged {"title": "live again"}
        "#,
        expect![[r#"
            c3 reconnect {"clientId": "a", "subscriptions": [{"channel": "ahp-session:/s1", "lastSeenServerSeq": 2}, {"channel": "ahp-session:/gone", "lastSeenServerSeq": 2}, {"channel": "ahp-root://", "lastSeenServerSeq": 0}, {"channel": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "lastSeenServerSeq": 2}]}
                c3: recovers [replay (2, 5] of s1, missing ahp-session:/gone, snapshot of root at 5, replay (2, 5] of s1.chat]
            c2 ! s1 session/titleChanged {"title": "live again"}
                c3: 6 s1 by b session/titleChanged {"title":"live again"}
                c3: root/sessionSummaryChanged {"changes":{"title":"live again"},"session":"s1"}
        "#]],
    );
}

/// A quiet channel keeps its old cursor while the cursor of another channel advances.
#[test]
fn the_cursor_of_a_busy_channel_does_not_affect_a_quiet_one() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 opens s2
        - c1 subscribe s1
        - c1 subscribe s2
        - c1 ! s2 session/titleChanged {"title": "fast"}
        - c1 leave
        - c2 joins b
        - c2 ! s1 session/titleChanged {"title": "slow"}
        - c2 ! s2 session/titleChanged {"title": "faster"}
        - c3 connect me was c1
        c3 recovers a s1 s2
        c2 ! s1 session/titleChanged {"title": "on"}
        c3 leave
        - c4 connect me was c3
        c4 recovers a s1 s2
        "#,
        expect![[r#"
            c3 recovers a s1 s2
                c3: recovers [replay (4, 7] of s1, replay (5, 7] of s2]
            c2 ! s1 session/titleChanged {"title": "on"}
                c3: 8 s1 by b session/titleChanged {"title":"on"}
            c3 leave
                grace a 30000
            c4 recovers a s1 s2
                c4: recovers [replay (8, 8] of s1, replay (7, 8] of s2]
        "#]],
    );
}

/// A cursor of 0 means that the client has no baseline. It gets a snapshot, even of the root
/// channel, whose actions are all in the log.
#[test]
fn a_cursor_of_zero_is_no_baseline() {
    check(
        r#"
        - c1 joins a
        - c1 subscribe root
        - c1 leave
        - c2 connect me was c1
        c2 recovers a root
        - c2 leave
        - c3 connect me was c2
        c3 recovers a
        "#,
        expect![[r#"
            c2 recovers a root
                c2: recovers [snapshot of root at 0]
            c3 recovers a
                c3: recovers []
        "#]],
    );
}

/// A channel is a snapshot if its cursor is a number that the host has not issued, or one whose
/// actions were compacted. The cursors of other channels remain valid.
#[test]
fn a_cursor_outside_of_the_log_yields_a_snapshot() {
    let mut test_host = TestHost::new();
    run(
        &mut test_host,
        r#"
        c1 joins a
        c1 opens s1
        c1 opens s2
        c1 subscribe s1
        c1 subscribe s2
        c1 ! s1 session/titleChanged {"title": "x"}
        "#,
    );
    test_host.log.start = ServerSeq(5);
    let shown = run(
        &mut test_host,
        r#"
        - restart
        - c2 connect me was c1
        c2 recovers a s1 s2
        - c2 leave
        - c3 connect me was c2
        c3 recovers a s1=99 s2
        "#,
    );
    test_host.check_mirrors();
    expect![[r#"
        c2 recovers a s1 s2
            c2: recovers [replay (5, 5] of s1, snapshot of s2 at 5]
        c3 recovers a s1=99 s2
            c3: recovers [snapshot of s1 at 5, replay (5, 5] of s2]"#]]
    .assert_eq(&shown);
}

/// SUB-19: a client that has seen a part of a chat gets a snapshot of the whole chat, but only
/// once.
#[test]
fn a_partly_loaded_chat_yields_a_full_snapshot() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 starts t1
        - agent s1 end t1
        - c1 starts t2
        - agent s1 end t2
        - c1 subscribe s1
        - c1 subscribe s1.chat {"view": {"turns": 1}}
        - c1 leave
        - c2 connect me was c1
        c2 recovers a s1 s1.chat
        - c2 leave
        - c3 connect me was c2
        c3 recovers a s1 s1.chat
        "#,
        expect![[r#"
            c2 recovers a s1 s1.chat
                c2: recovers [replay (11, 11] of s1, snapshot of s1.chat at 11]
            c3 recovers a s1 s1.chat
                c3: recovers [replay (11, 11] of s1, replay (11, 11] of s1.chat]
        "#]],
    );
}

/// The actions of one session do not apply to another with the same URI.
#[test]
fn a_channel_created_after_the_cursor_yields_a_snapshot() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 opens s2
        - c1 subscribe s1
        - c1 subscribe s2
        - c1 leave
        - c2 joins b
        - c2 disposeSession s1
        - c2 createSession s1
        - c3 connect me was c1
        c3 recovers a s1 s2
        "#,
        expect![[r#"
            c3 recovers a s1 s2
                c3: recovers [snapshot of s1 at 7, replay (4, 7] of s2]
        "#]],
    );
}

/// A channel that is named twice has one outcome. If its two cursors differ, the outcome is a
/// snapshot.
#[test]
fn a_channel_that_is_named_twice_has_one_outcome() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 opens s2
        - c1 subscribe s1
        - c1 subscribe s2
        - c1 leave
        - c2 connect me was c1
        c2 recovers a s1 s2 s1 s2=3
        "#,
        expect![[r#"
            c2 recovers a s1 s2 s1 s2=3
                c2: recovers [replay (4, 4] of s1, snapshot of s2 at 4]
        "#]],
    );
}

/// REC-10: a channel without state has nothing to replay. For a client that can't use it, it is
/// missing. In the 1.0 form of `reconnect`, an existing one is not missing, either.
#[test]
fn a_channel_without_state_is_subscribed_to_again() {
    let m = r#"{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}, "mcpApp": {"capabilities": {"serverTools": {}}}}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins plain
        - c2 connect
        - c2 initialize {{"clientId": "apps", "protocolVersions": ["1.1.0"], "capabilities": {{"mcpApps": {{}}}}}}
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        - c2 subscribe s1
        - customized s1 found [{m}]
        - c1 ! s1 session/mcpServerStartRequested {{"id": "m"}}
        - tools s1 ready m
        - c2 leave
        - c3 connect me was c2
        c3 recovers apps s1 mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023 mcp://agenthost/none
        - c3 leave
        - c4 connect me was c3
        c4 reconnect {{"clientId": "apps", "lastSeenServerSeq": 5, "subscriptions": ["ahp-session:/s1", "mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023", "mcp://agenthost/none"]}}
        - c1 leave
        - c5 connect me was c1
        c5 recovers plain s1 mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
        "#
        ),
        expect![[r#"
            c3 recovers apps s1 mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023 mcp://agenthost/none
                c3: recovers [replay (5, 5] of s1, nothing of mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023, missing mcp://agenthost/none]
            c4 reconnect {"clientId": "apps", "lastSeenServerSeq": 5, "subscriptions": ["ahp-session:/s1", "mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023", "mcp://agenthost/none"]}
                c4: replay (5, 5] of [s1], missing [mcp://agenthost/none]
            c5 recovers plain s1 mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
                c5: recovers [replay (5, 5] of s1, missing mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023]
        "#]],
    );
}

/// A changeset that does not exist yet is created when a client recovers it.
#[test]
fn a_missing_changeset_is_created_by_its_recovery() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - marked {"git": {"branch": "main"}}
        - c1 subscribe s1
        - c1 leave
        - c2 connect me was c1
        c2 recovers a s1 ahp-session:/s1/changeset/session
        compared a.txt+1-0
        "#,
        expect![[r#"
            c2 recovers a s1 ahp-session:/s1/changeset/session
                changes s1: compare start with now for s1/changeset/session
                c2: recovers [replay (5, 5] of s1, snapshot of ahp-session:/s1/changeset/session at 5]
            compared a.txt+1-0
                c2: 6 ahp-session:/s1/changeset/session changeset/contentChanged {"operations":[{"id":"undo","label":"Undo","description":"Restore files to their state before these changes","scopes":["changeset","resource"],"confirmation":"Files are restored to their state before these changes. Undo them?","icon":"discard","status":"idle"},{"id":"show-patch","label":"Show as patch","description":"Show all differences as text","scopes":["changeset"],"icon":"diff","status":"idle"}],"files":[{"id":"file:///w/a.txt","edit":{"before":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-git:/k/o","nonce":"o"}},"after":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-git:/k/x","nonce":"x"}},"diff":{"added":1,"removed":0}}}]}
                c2: 7 ahp-session:/s1/changeset/session changeset/statusChanged {"status":"ready"}
                c2: 8 s1 session/metaChanged {"_meta":{}}
                look again at s1/changeset/session 1000
        "#]],
    );
}

/// HSK-22, REC-9: a client that was forgotten can send `initialize` on the same connection. CLT-7:
/// a client that does not recover a session is removed from its active clients.
#[test]
fn cursors_of_an_expired_client_are_rejected() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"activeClient": {"clientId": "a", "tools": []}}
        - c1 subscribe root
        - c1 subscribe s1
        - c2 joins b
        - c2 subscribe s1
        - c1 leave
        - c3 connect me was c1
        c3 recovers a root
        c3 recovers a root
        - c3 leave
        - grace a
        - wait 86400000
        - c4 connect
        c4 recovers a root=1
        - c5 connect mallory
        c5 recovers b root=1
        c4 initialize {"protocolVersions": ["1.1.0", "1.0.0"], "clientId": "a"}
        "#,
        expect![[r#"
            c3 recovers a root
                c3: recovers [replay (2, 2] of root]
                c2: 3 s1 session/activeClientRemoved {"clientId":"a"}
                agent s1: tools []
            c3 recovers a root
                c3: error -32600 this connection is initialized already
            c4 recovers a root=1
                c4: error -32008 client `a` is not known: send `initialize`
            c5 recovers b root=1
                c5: error -32008 client `b` is not known: send `initialize`
            c4 initialize {"protocolVersions": ["1.1.0", "1.0.0"], "clientId": "a"}
                c4: version 1.1.0 at 3 with []
        "#]],
    );
}

/// The limit of subscriptions of a connection holds for `reconnect`, too.
#[test]
fn the_limit_of_subscriptions_holds() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 opens s2
        - c1 opens s3
        - c1 leave
        - c2 connect me was c1
        c2 recovers a root s1 s1.chat ahp-session:/s1/annotations s2 s2.chat ahp-session:/s2/annotations s3 s3.chat
        "#,
        expect![[r#"
            c2 recovers a root s1 s1.chat ahp-session:/s1/annotations s2 s2.chat ahp-session:/s2/annotations s3 s3.chat
                c2: recovers [snapshot of root at 6, snapshot of s1 at 6, snapshot of s1.chat at 6, snapshot of ahp-session:/s1/annotations at 6, snapshot of s2 at 6, snapshot of s2.chat at 6, snapshot of ahp-session:/s2/annotations at 6, snapshot of s3 at 6, missing s3.chat]
        "#]],
    );
}
