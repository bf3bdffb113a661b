//! The host is killed and started again on its log.

use expect_test::expect;

use crate::script::check;

/// REC-16: a turn that was running is closed, with what it had said.
#[test]
fn a_running_turn_is_closed_and_nothing_of_it_is_lost() {
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
fn a_session_that_was_being_created_has_failed() {
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
