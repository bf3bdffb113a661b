//! Tests with a host that is killed and started again, while agents and terminals go on in the
//! runner.

use expect_test::expect;

use crate::script::check;

#[test]
fn a_running_turn_goes_on() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        - c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}}
        - agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p1", "content": ""}}
        - c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "m1", "message": {"text": "next", "origin": {"kind": "user"}}}
        takeover
        - c2 connect me was c1
        c2 reconnect {"clientId": "a", "lastSeenServerSeq": 7, "subscriptions": ["ahp-chat://default/YWhwLXNlc3Npb246L3Mx"]}
        agent s1 chat/delta {"turnId": "t1", "partId": "p1", "content": "precious"}
        agent s1 ends t1
        "#,
        expect![[""]],
    );
}

#[test]
fn a_command_and_its_terminal_go_on() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 subscribe s1.chat
        - c1 says t1 !make
        - terminal run wrote ok
        takeover
        - c2 joins b
        - c2 subscribe s1.chat
        terminal run wrote more
        terminal run exited 0 okmore
        "#,
        expect![[""]],
    );
}

#[test]
fn a_survey_is_repeated_and_its_held_events_are_kept() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 subscribe s1.chat
        - c1 says t1 !make
        - terminal run exited 0 ok
        takeover
        - c2 joins b
        - c2 subscribe s1.chat
        surveyed +made.txt
        "#,
        expect![[""]],
    );
}
