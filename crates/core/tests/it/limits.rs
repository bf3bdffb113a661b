//! Byte limits: what is exactly at a limit is accepted, what is over it is not.

use expect_test::expect;

use crate::script::{check, run};
use crate::test_host::{TestHost, config};

const RUNNING: &str = "
    c1 joins a
    c1 opens s1
    c1 subscribe s1.chat
    c1 starts t
";

const MIB: usize = 1024 * 1024;

/// The limit of a response, in MiB.
const RESPONSE: usize = 8;

fn running() -> TestHost {
    let mut test_host = TestHost::new();
    run(&mut test_host, RUNNING);
    test_host
}

fn delta_line(text: &str) -> String {
    format!(r#"agent s1 chat/delta {{"turnId": "t", "partId": "p", "content": "{text}"}}"#)
}

/// Fills the response of a turn up to its limit, except for `room` bytes.
fn fill_response(test_host: &mut TestHost, room: usize) {
    let part = r#"{"kind":"markdown","id":"p","content":""}"#;
    let added = format!(r#"agent s1 chat/responsePart {{"turnId": "t", "part": {part}}}"#);
    run(test_host, &added);
    let left = RESPONSE * MIB - part.len() - room;
    run(test_host, &delta_line(&format!("<{left} bytes>")));
}

#[test]
fn pending_messages_share_one_byte_limit() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        - c1 starts t
        - c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q1", "message": {"text": "<4194304 bytes>", "origin": {"kind": "user"}}}
        - c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "s", "message": {"text": "<4194303 bytes>", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q2", "message": {"text": "no", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q2", "message": {"text": "y", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q1", "message": {"text": "<4194304 bytes>", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q1", "message": {"text": "<4194305 bytes>", "origin": {"kind": "user"}}}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q2", "message": {"text": "no", "origin": {"kind": "user"}}}
                c1: 8 rejected: the pending messages of a chat may have at most 8388608 bytes
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q2", "message": {"text": "y", "origin": {"kind": "user"}}}
                c1: 9 s1.chat by a chat/pendingMessageSet {"message":{"text":"y","origin":{"kind":"user"}},"kind":"queued","id":"q2"}
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q1", "message": {"text": "<4194304 bytes>", "origin": {"kind": "user"}}}
                c1: 10 s1.chat by a chat/pendingMessageSet {"message":{"text":"<4194304 bytes>","origin":{"kind":"user"}},"kind":"queued","id":"q1"}
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q1", "message": {"text": "<4194305 bytes>", "origin": {"kind": "user"}}}
                c1: 11 rejected: the pending messages of a chat may have at most 8388608 bytes
        "#]],
    );
}

#[test]
fn a_response_over_its_limit_fails_the_turn() {
    let mut test_host = running();
    fill_response(&mut test_host, 1);
    let fits = run(&mut test_host, &delta_line("y"));
    expect![[r#"
        agent s1 chat/delta {"turnId": "t", "partId": "p", "content": "y"}
            c1: 8 s1.chat chat/delta {"content":"y","turnId":"t","partId":"p"}"#]]
    .assert_eq(&fits);
    let late = [delta_line("z"), delta_line("late")].join("\n");
    let over = run(&mut test_host, &late);
    expect![[r#"
        agent s1 chat/delta {"turnId": "t", "partId": "p", "content": "z"}
            c1: 9 s1.chat chat/error {"part":{"kind":"error","error":{"errorType":"responseTooLarge","message":"the response of a turn may have at most 8388608 bytes: the host has stopped the agent"}},"turnId":"t","duration":0}
            agent s1: cancel t
        agent s1 chat/delta {"turnId": "t", "partId": "p", "content": "late"}
            nothing"#]].assert_eq(&over);
    test_host.check_mirrors();
}

#[test]
fn reasoning_tool_calls_and_results_count_towards_the_limit() {
    let starts = r#"
        agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "c", "toolName": "x", "displayName": "X"}
        agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "c", "invocationMessage": "x", "confirmed": "not-needed"}
    "#;
    let floods = [
        r#"agent s1 chat/toolCallComplete {"turnId": "t", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "x", "content": [{"type": "text", "text": "<2000000 bytes>"}]}}"#,
        r#"agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "c", "invocationMessage": "x", "toolInput": "<2000000 bytes>"}"#,
        r#"agent s1 chat/responsePart {"turnId": "t", "part": {"kind": "reasoning", "id": "r", "content": "<2000000 bytes>"}}"#,
    ];
    for flood in floods {
        let mut test_host = running();
        run(&mut test_host, starts);
        fill_response(&mut test_host, MIB);
        let result = run(&mut test_host, flood);
        assert!(result.contains("responseTooLarge"), "{flood}: {result}");
        test_host.check_mirrors();
    }
}

/// Each update replaces the content of a running call, so only the latest one counts towards the
/// limit.
#[test]
fn replaced_progress_of_a_call_does_not_count_towards_the_limit() {
    let mut test_host = running();
    run(
        &mut test_host,
        r#"
        agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "c", "toolName": "x", "displayName": "X"}
        agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "c", "invocationMessage": "x", "confirmed": "not-needed"}
        "#,
    );
    for letter in ["a", "b"].into_iter().cycle().take(RESPONSE + 8) {
        let shows = format!(
            r#"agent s1 chat/toolCallContentChanged {{"turnId": "t", "toolCallId": "c", "content": [{{"type": "text", "text": "{letter}<{MIB} bytes>"}}]}}"#
        );
        let result = run(&mut test_host, &shows);
        assert!(!result.contains("responseTooLarge"), "{result}");
    }
    test_host.check_mirrors();
}

/// The result of a client tool counts towards the response limit, too.
#[test]
fn an_oversized_client_tool_result_is_rejected() {
    let mut test_host = running();
    run(
        &mut test_host,
        r#"
        c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "a", "tools": [{"name": "x"}]}}
        agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "c", "toolName": "x", "displayName": "X", "contributor": {"kind": "client", "clientId": "a"}}
        agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "c", "invocationMessage": "x", "confirmed": "not-needed"}
        "#,
    );
    fill_response(&mut test_host, MIB);
    let refused = run(
        &mut test_host,
        r#"c1 ! s1.chat chat/toolCallComplete {"turnId": "t", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "x", "content": [{"type": "text", "text": "<2000000 bytes>"}]}}"#,
    );
    expect![[r#"
        c1 ! s1.chat chat/toolCallComplete {"turnId": "t", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "x", "content": [{"type": "text", "text": "<2000000 bytes>"}]}}
            c1: 12 rejected: the response of a turn may have at most 8388608 bytes"#]].assert_eq(&refused);
    let accepted = run(
        &mut test_host,
        r#"c1 ! s1.chat chat/toolCallComplete {"turnId": "t", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "x"}}"#,
    );
    assert!(!accepted.contains("rejected"), "{accepted}");
    test_host.check_mirrors();
}

#[test]
fn sessions_past_the_limit_are_refused_until_one_is_gone() {
    let mut test_host = TestHost::with(agenthost_core::HostConfig {
        max_sessions: 2,
        ..config()
    });
    run(
        &mut test_host,
        "
        c1 joins a
        c1 createSession s1
        c1 createSession s2
        ",
    );
    let result = run(
        &mut test_host,
        "
        c1 createSession s3
        c1 createSession s2
        - c1 disposeSession s1
        - c1 createSession s3
        c1 createSession s4
        ",
    );
    expect![[r#"
        c1 createSession s3
            c1: error -32600 there are 2 sessions, and `limits.sessions` allows no more: dispose of some, or raise the limit in the configuration
        c1 createSession s2
            c1: error -32003 session `ahp-session:/s2` already exists
        c1 createSession s4
            c1: error -32600 there are 2 sessions, and `limits.sessions` allows no more: dispose of some, or raise the limit in the configuration"#]].assert_eq(&result);
    test_host.check_mirrors();
}
