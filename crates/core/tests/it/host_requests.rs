//! Tests for host requests, which read content that only a client has.

use expect_test::expect;

use crate::script::{check, run};
use crate::test_host::TestHost;

/// RES-16, RES-17, SEC-7: attachments are read from the client that sent the message, before the
/// agent gets the prompt.
#[test]
fn attachments_are_read_from_the_client_that_sent_them() {
    check(
        r#"
        - c1 joins a
        - c2 joins b
        - c1 opens s1
        c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "look", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}, {"type": "resource", "label": "f", "uri": "file:///w/f"}, {"type": "resource", "label": "y", "uri": "virtual:/2"}]}}
        c1 answers {"data": "one", "encoding": "utf-8"}
        c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "p", "message": {"text": "hurry", "origin": {"kind": "user"}}}
        c1 answers {"data": "AAEC", "encoding": "base64"}
        unanswered
        "#,
        expect![[r#"
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "look", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}, {"type": "resource", "label": "f", "uri": "file:///w/f"}, {"type": "resource", "label": "y", "uri": "virtual:/2"}]}}
                c1: asked resourceRead virtual:/1
                await an answer 10000
                c1: asked resourceRead virtual:/2
                await an answer 10000
            c1 answers {"data": "one", "encoding": "utf-8"}
                nothing
            c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "p", "message": {"text": "hurry", "origin": {"kind": "user"}}}
                nothing
            c1 answers {"data": "AAEC", "encoding": "base64"}
                agent s1: attached virtual:/1 "one" as Utf8
                agent s1: attached virtual:/2 "AAEC" as Base64
                agent s1: prompt t1 "look"
                agent s1: steer t1 by p "hurry"
            unanswered
                nothing
        "#]],
    );
}

/// RES-18: after a permission error, the host requests access once.
#[test]
fn access_is_requested_once() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "look", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
        c1 refuses -32009
        c1 answers {}
        c1 answers {"data": "granted", "encoding": "utf-8"}
        - agent s1 end t1
        - c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "look", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
        c1 refuses -32009
        c1 refuses -32009
        - agent s1 end t2
        - c1 ! s1.chat chat/turnStarted {"turnId": "t3", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "look", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
        - c1 refuses -32009
        - c1 answers {}
        c1 refuses -32009
        "#,
        expect![[r#"
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "look", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
                c1: asked resourceRead virtual:/1
                await an answer 10000
            c1 refuses -32009
                c1: asked resourceRequest virtual:/1
                await an answer 10000
            c1 answers {}
                c1: asked resourceRead virtual:/1
                await an answer 10000
            c1 answers {"data": "granted", "encoding": "utf-8"}
                agent s1: attached virtual:/1 "granted" as Utf8
                agent s1: prompt t1 "look"
            c1 refuses -32009
                c1: asked resourceRequest virtual:/1
                await an answer 10000
            c1 refuses -32009
                agent s1: attached virtual:/1 unread: the client reports: not for you
                agent s1: prompt t2 "look"
            c1 refuses -32009
                agent s1: attached virtual:/1 unread: the client reports: not for you
                agent s1: prompt t3 "look"
        "#]],
    );
}

/// RPC-13, RPC-14: a client that refuses, sends invalid content, does not answer or leaves does not
/// block the turn, and the agent is told which content it does not get.
#[test]
fn an_unanswered_read_does_not_block_the_turn() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "1", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
        c1 refuses -32601
        - agent s1 end t1
        - c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "2", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
        c1 answers {"data": 7}
        - agent s1 end t2
        - c1 ! s1.chat chat/turnStarted {"turnId": "t3", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "3", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
        c1 answers {"data": "!", "encoding": "base64"}
        - agent s1 end t3
        - unanswered
        - unanswered
        - unanswered
        - c1 ! s1.chat chat/turnStarted {"turnId": "t4", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "4", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
        unanswered
        c1 answers {"data": "too late", "encoding": "utf-8"}
        - agent s1 end t4
        - c1 ! s1.chat chat/turnStarted {"turnId": "t5", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "5", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}, {"type": "resource", "label": "y", "uri": "virtual:/2", "sizeHint": 2000000}]}}
        c1 leave
        unanswered
        "#,
        expect![[r#"
            c1 refuses -32601
                agent s1: attached virtual:/1 unread: the client does not serve resources
                agent s1: prompt t1 "1"
            c1 answers {"data": 7}
                agent s1: attached virtual:/1 unread: the client's response is malformed
                agent s1: prompt t2 "2"
            c1 answers {"data": "!", "encoding": "base64"}
                agent s1: attached virtual:/1 unread: the client's response is malformed
                agent s1: prompt t3 "3"
            unanswered
                agent s1: attached virtual:/1 unread: the client did not respond in time
                agent s1: prompt t4 "4"
            c1 answers {"data": "too late", "encoding": "utf-8"}
                nothing
            c1 leave
                agent s1: attached virtual:/1 unread: the client disconnected before it responded
                agent s1: attached virtual:/2 unread: it is larger than 1024 KiB
                agent s1: prompt t5 "5"
                grace a 30000
            unanswered
                nothing
        "#]],
    );
}

/// RES-17, A-21: attachments of a queued message are read from its sender, even if the host starts
/// the turn later. A sender with two connections is asked on one after the other.
#[test]
fn attachments_of_a_queued_message_are_read_from_its_sender() {
    check(
        r#"
        - c1 joins a
        - c2 joins b
        - c1 opens s1
        - c1 starts t1
        - c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q1", "message": {"text": "next", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual://b/1"}]}}
        - c3 joins a
        agent s1 end t1
        c3 refuses -32008
        c1 answers {"data": "mine", "encoding": "utf-8"}
        - c2 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q2", "message": {"text": "gone", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/2"}]}}
        - c2 leave
        agent s1 end turn-0000000000000000000000000000000c
        "#,
        expect![[r#"
            agent s1 end t1
                c3: asked resourceRead virtual://b/1
                await an answer 10000
            c3 refuses -32008
                c1: asked resourceRead virtual://b/1
                await an answer 10000
            c1 answers {"data": "mine", "encoding": "utf-8"}
                agent s1: attached virtual://b/1 "mine" as Utf8
                agent s1: prompt turn-0000000000000000000000000000000c "next"
            agent s1 end turn-0000000000000000000000000000000c
                agent s1: attached virtual:/2 unread: the client that sent it is not connected
                agent s1: prompt turn-00000000000000000000000000000011 "gone"
        "#]],
    );
}

/// A turn can end while its attachments are read. The agent never gets it, and late answers are
/// dropped.
#[test]
fn a_turn_can_be_cancelled_while_its_message_is_read() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "1", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
        c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
        c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "2", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
        c1 answers {"data": "for the first", "encoding": "utf-8"}
        c1 answers {"data": "for the second", "encoding": "utf-8"}
        - c1 ! s1.chat chat/truncated {}
        - c1 ! s1.chat chat/turnStarted {"turnId": "t3", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "3", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
        c1 ! s1.chat chat/truncated {}
        c1 answers {"data": "cut off", "encoding": "utf-8"}
        - c1 ! s1.chat chat/turnStarted {"turnId": "t4", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "4", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
        c1 disposeSession s1
        c1 answers {"data": "disposed", "encoding": "utf-8"}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
                nothing
            c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "2", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
                c1: asked resourceRead virtual:/1
                await an answer 10000
            c1 answers {"data": "for the first", "encoding": "utf-8"}
                nothing
            c1 answers {"data": "for the second", "encoding": "utf-8"}
                agent s1: attached virtual:/1 "for the second" as Utf8
                agent s1: prompt t2 "2"
            c1 ! s1.chat chat/truncated {}
                agent s1: rewind to None
            c1 answers {"data": "cut off", "encoding": "utf-8"}
                nothing
            c1 disposeSession s1
                agent s1: close
                changes s1: forget
                c1: null
            c1 answers {"data": "disposed", "encoding": "utf-8"}
                nothing
        "#]],
    );
}

/// The attachments of a chat's initial message are read from the client that creates the chat.
#[test]
fn attachments_of_an_initial_message_are_read_from_its_sender() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        c1 createChat s1 {"chat": "ahp-chat:/1", "initialMessage": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
        c1 answers {"data": "first", "encoding": "utf-8"}
        "#,
        expect![[r#"
            c1 createChat s1 {"chat": "ahp-chat:/1", "initialMessage": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "resource", "label": "x", "uri": "virtual:/1"}]}}
                c1: null
                c1: asked resourceRead virtual:/1
                await an answer 10000
            c1 answers {"data": "first", "encoding": "utf-8"}
                agent s1: attached virtual:/1 "first" as Utf8
                agent s1: prompt turn-00000000000000000000000000000006 "go"
        "#]],
    );
}

/// SEC-8: the size of attachments and the number of open requests are limited.
#[test]
fn the_size_and_number_of_read_attachments_are_limited() {
    let attachments = |count: usize| {
        let one = |index| format!(r#"{{"type":"resource","label":"x","uri":"virtual:/{index}"}}"#);
        let all: Vec<_> = (0..count).map(one).collect();
        all.join(",")
    };
    let start = |turn: &str, chat: &str, count: usize| {
        format!(
            r#"c1 ! {chat} chat/turnStarted {{"turnId": "{turn}", "startedAt": "2026-01-05T09:00:00Z", "message": {{"text": "{turn}", "origin": {{"kind": "user"}}, "attachments": [{}]}}}}"#,
            attachments(count)
        )
    };
    let mut test_host = TestHost::new();
    run(
        &mut test_host,
        r#"
        c1 joins a
        c1 opens s1
        c1 opens s2
        c1 opens s3
        "#,
    );
    // Each attachment is small enough, but together they are too large.
    run(&mut test_host, &start("t1", "s1.chat", 6));
    let answer = format!(
        r#"c1 answers {{"data": "{}", "encoding": "utf-8"}}"#,
        "x".repeat(1_000_000)
    );
    let mut last = String::new();
    for _ in 0..6 {
        last = run(&mut test_host, &answer);
    }
    let lines = last.lines().map(str::trim);
    let unread: Vec<_> = lines.filter(|line| line.contains("unread")).collect();
    expect![[r#"
        agent s1: attached virtual:/4 unread: the attachments of the message are too large
        agent s1: attached virtual:/5 unread: the attachments of the message are too large"#]]
    .assert_eq(&unread.join("\n"));
    // A single attachment that is too large.
    run(&mut test_host, "agent s1 end t1");
    run(&mut test_host, &start("t2", "s1.chat", 1));
    let answer = format!(
        r#"c1 answers {{"data": "{}", "encoding": "utf-8"}}"#,
        "x".repeat(1_100_000)
    );
    let last = run(&mut test_host, &answer);
    assert!(
        last.contains("unread: it is larger than 1024 KiB"),
        "{}",
        last.len()
    );
    run(&mut test_host, "agent s1 end t2");
    // At most 16 requests for a message, and 32 for a connection.
    for (turn, chat, asked) in [
        ("t3", "s1.chat", 16),
        ("t4", "s2.chat", 16),
        ("t5", "s3.chat", 0),
    ] {
        let result = run(&mut test_host, &start(turn, chat, 20));
        assert_eq!(
            result.matches("asked resourceRead").count(),
            asked,
            "{result}"
        );
    }
    // The open requests of a connection end with it.
    let left = run(&mut test_host, "c1 leave");
    for turn in ["t3", "t4"] {
        assert!(left.contains(&format!("prompt {turn}")), "{left}");
    }
    assert_eq!(
        left.matches("only the first 16 attachments of the message are read")
            .count(),
        2
    );
    test_host.check_mirrors();
}
