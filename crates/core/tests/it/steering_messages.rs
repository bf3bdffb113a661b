//! Tests for steering messages that the active turn can't take. The agent `other` does not
//! support steering.

use expect_test::expect;

use crate::script::{check, run};
use crate::test_host::TestHost;

/// PEN-1, PEN-5: the message is queued for all clients to see, before messages for later turns,
/// and clients can remove it.
#[test]
fn an_unsupported_steering_message_is_queued_first() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"provider": "other"}
        - c1 subscribe s1.chat
        - c1 starts t1
        - c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q", "message": {"text": "later", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "a", "message": {"text": "be brief", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "b", "message": {"text": "no, long", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/pendingMessageRemoved {"kind": "queued", "id": "a"}
        agent s1 end t1
        "#,
        expect![[r#"
            c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "a", "message": {"text": "be brief", "origin": {"kind": "user"}}}
                c1: 7 s1.chat by a chat/pendingMessageSet {"message":{"text":"be brief","origin":{"kind":"user"}},"kind":"steering","id":"a"}
                c1: 8 s1.chat chat/pendingMessageRemoved {"id":"a","kind":"steering"}
                c1: 9 s1.chat chat/pendingMessageSet {"message":{"text":"be brief","origin":{"kind":"user"}},"kind":"queued","id":"a"}
                c1: 10 s1.chat chat/queuedMessagesReordered {"order":["a","q"]}
            c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "b", "message": {"text": "no, long", "origin": {"kind": "user"}}}
                c1: 11 s1.chat by a chat/pendingMessageSet {"message":{"text":"no, long","origin":{"kind":"user"}},"kind":"steering","id":"b"}
                c1: 12 s1.chat chat/pendingMessageRemoved {"id":"b","kind":"steering"}
                c1: 13 s1.chat chat/pendingMessageSet {"message":{"text":"no, long","origin":{"kind":"user"}},"kind":"queued","id":"b"}
                c1: 14 s1.chat chat/queuedMessagesReordered {"order":["a","b","q"]}
            c1 ! s1.chat chat/pendingMessageRemoved {"kind": "queued", "id": "a"}
                c1: 15 s1.chat by a chat/pendingMessageRemoved {"id":"a","kind":"queued"}
            agent s1 end t1
                c1: 16 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
                c1: 18 s1.chat chat/pendingMessageRemoved {"id":"b","kind":"queued"}
                c1: 19 s1.chat chat/turnStarted {"queuedMessageId":"b","turnId":"turn-0000000000000000000000000000000c","startedAt":"2026-01-05T09:00:00.000Z","message":{"text":"no, long","origin":{"kind":"user"}}}
                agent s1: prompt turn-0000000000000000000000000000000c "no, long"
        "#]],
    );
}

/// PEN-8: the message belongs to the turn and is dropped with it; queued messages stay.
#[test]
fn a_queued_steering_message_is_cancelled_with_its_turn() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"provider": "other"}
        - c1 subscribe s1.chat
        - c1 starts t1
        - c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q", "message": {"text": "later", "origin": {"kind": "user"}}}
        - c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "a", "message": {"text": "be brief", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
                c1: 11 s1.chat by a chat/turnCancelled {"duration":0,"turnId":"t1"}
                c1: 13 s1.chat chat/pendingMessageRemoved {"id":"a","kind":"queued"}
                agent s1: cancel t1
        "#]],
    );
}

/// A steering message that the agent has not accepted is dropped with a cancelled turn.
#[test]
fn an_unsent_steering_message_is_cancelled_with_its_turn() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        - c1 starts t1
        - c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "a", "message": {"text": "be brief", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
                c1: 7 s1.chat by a chat/turnCancelled {"duration":0,"turnId":"t1"}
                c1: 9 s1.chat chat/pendingMessageRemoved {"id":"a","kind":"steering"}
                agent s1: cancel t1
        "#]],
    );
}

/// PEN-6: a message that was set while idle is queued once a turn runs that can't take it. A
/// command takes no message.
#[test]
fn a_steering_message_is_queued_during_a_command() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "a", "message": {"text": "be brief", "origin": {"kind": "user"}}}
        c1 says t1 !make
        "#,
        expect![[r#"
            c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "a", "message": {"text": "be brief", "origin": {"kind": "user"}}}
                c1: 3 s1.chat by a chat/pendingMessageSet {"message":{"text":"be brief","origin":{"kind":"user"}},"kind":"steering","id":"a"}
            c1 says t1 !make
                c1: 4 s1.chat by a chat/turnStarted {"message":{"text":"!make","origin":{"kind":"user"}},"turnId":"t1","startedAt":"2026-01-05T09:00:00Z"}
                c1: 7 s1.chat chat/toolCallStart {"displayName":"Terminal","turnId":"t1","toolCallId":"command","_meta":{"toolKind":"terminal","language":"shellscript"},"toolName":"terminal"}
                c1: 8 s1.chat chat/toolCallReady {"confirmed":"user-action","turnId":"t1","toolCallId":"command","invocationMessage":{"markdown":"Run `make`"},"toolInput":"make"}
                c1: 9 s1.chat chat/toolCallContentChanged {"content":[{"type":"terminal","resource":"ahp-terminal:/a-command","title":"make","isPty":true}],"turnId":"t1","toolCallId":"command"}
                terminal run: open "make" in home, 120 by 30
                c1: 10 s1.chat chat/pendingMessageRemoved {"id":"a","kind":"steering"}
                c1: 11 s1.chat chat/pendingMessageSet {"message":{"text":"be brief","origin":{"kind":"user"}},"kind":"queued","id":"a"}
        "#]],
    );
}

/// SEC-5: steering does not grow the queue past its limit. The message starts the next turn.
#[test]
fn a_steering_message_stays_if_the_queue_is_full() {
    let mut script = String::from(
        r#"
        - c1 joins a
        - c1 opens s1 {"provider": "other"}
        - c1 subscribe s1.chat
        - c1 starts t1
        "#,
    );
    for number in 0..100 {
        script.push_str(&format!(
            r#"- c1 ! s1.chat chat/pendingMessageSet {{"kind": "queued", "id": "q{number}", "message": {{"text": "later", "origin": {{"kind": "user"}}}}}}
            "#,
        ));
    }
    script.push_str(
        r#"
        c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q", "message": {"text": "one more", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "a", "message": {"text": "be brief", "origin": {"kind": "user"}}}
        agent s1 end t1
        "#,
    );
    let mut test_host = TestHost::new();
    let result = run(&mut test_host, &script);
    test_host.check_mirrors();
    expect![[r#"
        c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q", "message": {"text": "one more", "origin": {"kind": "user"}}}
            c1: 106 rejected: the queue of the chat is full (100 messages)
        c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "a", "message": {"text": "be brief", "origin": {"kind": "user"}}}
            c1: 107 s1.chat by a chat/pendingMessageSet {"message":{"text":"be brief","origin":{"kind":"user"}},"kind":"steering","id":"a"}
        agent s1 end t1
            c1: 108 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
            c1: 110 s1.chat chat/pendingMessageRemoved {"id":"a","kind":"steering"}
            c1: 111 s1.chat chat/turnStarted {"message":{"text":"be brief","origin":{"kind":"user"}},"turnId":"turn-0000000000000000000000000000006e","startedAt":"2026-01-05T09:00:00.000Z"}
            agent s1: prompt turn-0000000000000000000000000000006e "be brief"
    "#]].assert_eq(&format!("{result}\n"));
}
