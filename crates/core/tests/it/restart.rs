//! Tests with a host that is killed and started again on its log.

use expect_test::expect;

use crate::script::check;

/// REC-16: a turn that was running is closed and keeps its response.
#[test]
fn a_restart_closes_a_running_turn_and_keeps_its_response() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        - c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}}
        - agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p1", "content": ""}}
        agent s1 chat/delta {"turnId": "t1", "partId": "p1", "content": "precious"}
        wait 1000
        restart
        - c2 connect me was c1
        c2 reconnect {"clientId": "a", "lastSeenServerSeq": 7, "subscriptions": ["ahp-chat://default/YWhwLXNlc3Npb246L3Mx"]}
        c2 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:01:00Z", "message": {"text": "again", "origin": {"kind": "user"}}}
        agent s1 opened
        "#,
        expect![[r#"
            agent s1 chat/delta {"turnId": "t1", "partId": "p1", "content": "precious"}
                c1: 7 s1.chat chat/delta {"content":"precious","turnId":"t1","partId":"p1"}
            wait 1000
                nothing
            restart
                nothing
            c2 reconnect {"clientId": "a", "lastSeenServerSeq": 7, "subscriptions": ["ahp-chat://default/YWhwLXNlc3Npb246L3Mx"]}
                c2: replay (7, 9] of [s1.chat], missing []
            c2 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:01:00Z", "message": {"text": "again", "origin": {"kind": "user"}}}
                c2: 10 s1.chat by a chat/turnStarted {"message":{"text":"again","origin":{"kind":"user"}},"turnId":"t2","startedAt":"2026-01-05T09:01:00Z"}
                agent s1: open
                agent s1: prompt t2 "again"
            agent s1 opened
                nothing
        "#]],
    );
}

#[test]
fn a_restart_fails_a_session_in_creation() {
    check(
        r#"
        - c1 joins a
        c1 createSession s1 {"activeClient": {"clientId": "a", "tools": []}}
        restart
        grace a
        - c2 joins b
        c2 subscribe s1
        c2 listSessions
        "#,
        expect![[r#"
            c1 createSession s1 {"activeClient": {"clientId": "a", "tools": []}}
                c1: null
                agent s1: open
            restart
                nothing
            grace a
                nothing
            c2 subscribe s1
                c2: snapshot of s1 at 3
            c2 listSessions
                c2: sessions [s1]
        "#]],
    );
}

/// When an agent is opened again, it gets its notes about a chat, unless the chat was truncated:
/// the agent would remember turns that were removed.
#[test]
fn a_reopened_agent_receives_its_notes() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1
        - c1 starts t1
        agent s1 in s1.chat note session 7
        agent s1 in s1.chat note session 7
        - agent s1 in s1.chat end t1
        restart
        - c2 joins a
        - c2 subscribe s1
        c2 says t2 go on
        c2 ! s1.chat chat/truncated {"turnId": "t1"}
        agent s1 in s1.chat note session 8
        agent s1 in ahp-chat:/nobody note session 9
        agent s1 in s1.chat note
        "#,
        expect![[r#"
            agent s1 in s1.chat note session 7
                c1: 6 s1 session/metaChanged {"_meta":{"agenthost.agentSessions":{"s1.chat":"session 7"}}}
            agent s1 in s1.chat note session 7
                nothing
            restart
                nothing
            c2 says t2 go on
                c2: 10 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                agent s1: open, noted [s1.chat: session 7]
                agent s1: prompt t2 "go on"
            c2 ! s1.chat chat/truncated {"turnId": "t1"}
                c2: 12 s1 session/chatUpdated {"changes":{"status":1},"chat":"s1.chat"}
                c2: 13 s1 session/metaChanged {"_meta":{}}
                agent s1: rewind to Some("t1")
            agent s1 in s1.chat note session 8
                c2: 14 s1 session/metaChanged {"_meta":{"agenthost.agentSessions":{"s1.chat":"session 8"}}}
            agent s1 in ahp-chat:/nobody note session 9
                nothing
            agent s1 in s1.chat note
                c2: 15 s1 session/metaChanged {"_meta":{}}
        "#]],
    );
}

/// A history that an agent reports becomes turns, once and only in a chat without turns.
#[test]
fn the_history_of_an_agent_is_imported_once() {
    check(
        r#"
        - c1 joins a
        - c1 createSession s1
        - c1 subscribe s1.chat
        agent s1 in s1.chat adopt t1 {"text": "hello", "origin": {"kind": "user"}} chat/responsePart {"part": {"kind": "markdown", "id": "p1", "content": "hi"}}
        agent s1 in s1.chat adopt t2 {"text": "again", "origin": {"kind": "user"}}
        agent s1 opened
        c1 says t3 go on
        "#,
        expect![[r#"
            agent s1 in s1.chat adopt t1 {"text": "hello", "origin": {"kind": "user"}} chat/responsePart {"part": {"kind": "markdown", "id": "p1", "content": "hi"}}
                c1: 3 s1.chat chat/turnStarted {"message":{"text":"hello","origin":{"kind":"user"}},"turnId":"t1","startedAt":"2026-01-05T09:00:00.000Z"}
                c1: 4 s1.chat chat/responsePart {"part":{"kind":"markdown","id":"p1","content":"hi"},"turnId":"t1"}
                c1: 6 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
            agent s1 in s1.chat adopt t2 {"text": "again", "origin": {"kind": "user"}}
                nothing
            agent s1 opened
                nothing
            c1 says t3 go on
                c1: 9 s1.chat by a chat/turnStarted {"message":{"text":"go on","origin":{"kind":"user"}},"turnId":"t3","startedAt":"2026-01-05T09:00:00Z"}
                agent s1: prompt t3 "go on"
        "#]],
    );
}

/// An agent session that was imported, or that the host has started, is not imported again. The
/// error names its session.
#[test]
fn an_agent_session_is_imported_once() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"provider": "other"}
        - c1 subscribe root
        agent s1 note session 7
        - restart
        - c2 joins b
        c2 createSession s2 {"provider": "other", "config": {"agentSession": "session 7"}}
        c2 createSession s3 {"provider": "shell", "config": {"agentSession": "session 7"}}
        - c2 disposeSession s1
        c2 createSession s2 {"provider": "other", "config": {"agentSession": "session 7"}}
        "#,
        expect![[r#"
            agent s1 note session 7
                c1: root/sessionSummaryChanged {"changes":{"_meta":{"agenthost.agentSessions":{"s1.chat":"session 7"}}},"session":"s1"}
            c2 createSession s2 {"provider": "other", "config": {"agentSession": "session 7"}}
                c2: error -32602 config.agentSession: this agent session is already in session `ahp-session:/s1`
            c2 createSession s3 {"provider": "shell", "config": {"agentSession": "session 7"}}
                c2: error -32602 config.agentSession: there is no such property
            c2 createSession s2 {"provider": "other", "config": {"agentSession": "session 7"}}
                c2: error -32602 config.agentSession: there is no such property
        "#]],
    );
}
