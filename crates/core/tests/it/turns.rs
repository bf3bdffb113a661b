//! Tests for turns, from the message to the end.

use expect_test::expect;

use crate::script::check;

const READY: &str = r#"
    - c1 connect
    - c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a", "initialSubscriptions": ["ahp-root://"]}
    - c2 joins b
    - c1 opens s1
    - c1 subscribe s1
    - c1 subscribe s1.chat
    - c2 subscribe s1.chat
"#;

fn ready(script: &str) -> String {
    format!("{READY}{script}")
}

/// TUR-1 to TUR-7, PRT-1, SEQ-5, SEQ-7, SES-22.
#[test]
fn a_turn_is_published_to_all_subscribers() {
    check(
        &ready(
            r#"
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "say hi", "origin": {"kind": "user"}}}
            agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p1", "content": ""}}
            agent s1 chat/delta {"turnId": "t1", "partId": "p1", "content": "Hi"}
            agent s1 chat/activityChanged {"activity": "thinking"}
            wait 1500
            agent s1 end t1
            agent s1 chat/delta {"turnId": "t1", "partId": "p1", "content": "too late"}
            agent s1 end t1
            "#,
        ),
        expect![[r#"
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "say hi", "origin": {"kind": "user"}}}
                c1, c2: 3 s1.chat by a chat/turnStarted {"message":{"text":"say hi","origin":{"kind":"user"}},"turnId":"t1","startedAt":"2026-01-05T09:00:00Z"}
                c1: 4 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                c1: root/sessionSummaryChanged {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":8}]},"session":"s1"}
                c1: 5 s1 session/titleChanged {"title":"say hi"}
                c1: root/sessionSummaryChanged {"changes":{"title":"say hi"},"session":"s1"}
                agent s1: prompt t1 "say hi"
            agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p1", "content": ""}}
                c1, c2: 6 s1.chat chat/responsePart {"part":{"kind":"markdown","id":"p1","content":""},"turnId":"t1"}
            agent s1 chat/delta {"turnId": "t1", "partId": "p1", "content": "Hi"}
                c1, c2: 7 s1.chat chat/delta {"content":"Hi","turnId":"t1","partId":"p1"}
            agent s1 chat/activityChanged {"activity": "thinking"}
                c1, c2: 8 s1.chat chat/activityChanged {"activity":"thinking"}
                c1: 9 s1 session/chatUpdated {"changes":{"activity":"thinking"},"chat":"s1.chat"}
                c1: 10 s1 session/activityChanged {"activity":"thinking"}
                c1: root/sessionSummaryChanged {"changes":{"activity":"thinking"},"session":"s1"}
            wait 1500
                nothing
            agent s1 end t1
                c1, c2: 11 s1.chat chat/turnComplete {"duration":1500,"turnId":"t1"}
                c1, c2: 12 s1.chat chat/activityChanged {}
                c1: 13 s1 session/chatAdded {"summary":{"resource":"s1.chat","title":"","status":1,"modifiedAt":"2026-01-05T09:00:01.500Z","origin":{"kind":"user"}}}
                c1: 14 s1 session/activityChanged {}
                c1: root/sessionSummaryChanged {"changes":{"status":1,"activity":"","modifiedAt":"2026-01-05T09:00:01.500Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":1}]},"session":"s1"}
            agent s1 chat/delta {"turnId": "t1", "partId": "p1", "content": "too late"}
                nothing
            agent s1 end t1
                nothing
        "#]],
    );
}

/// TOO-4, TOO-9, SEC-6: one client starts the turn, and another one decides about its tool call.
#[test]
fn a_tool_call_is_approved_by_another_client() {
    check(
        &ready(
            r#"
            - c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "ls", "origin": {"kind": "user"}}}
            - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c", "toolName": "sh", "displayName": "Shell"}
            agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Run ls", "toolInput": "ls", "options": [{"id": "once", "label": "Once", "kind": "approve"}, {"id": "no", "label": "No", "kind": "deny"}]}
            c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true, "selectedOptionId": "no"}
            c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true, "selectedOptionId": "x"}
            c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true, "editedToolInput": "rm"}
            c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true, "selectedOptionId": "once", "confirmed": "not-needed"}
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": false}
            c1 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "I did"}}
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Ran ls"}}
            "#,
        ),
        expect![[r#"
            agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Run ls", "toolInput": "ls", "options": [{"id": "once", "label": "Once", "kind": "approve"}, {"id": "no", "label": "No", "kind": "deny"}]}
                c1, c2: 7 s1.chat chat/toolCallReady {"options":[{"id":"once","label":"Once","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"},{"id":"no","label":"No","kind":"deny"}],"turnId":"t1","toolCallId":"c","invocationMessage":"Run ls","toolInput":"ls"}
                c1: 8 s1 session/chatUpdated {"changes":{"status":24},"chat":"s1.chat"}
                c1: root/sessionSummaryChanged {"changes":{"status":24,"chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":24}]},"session":"s1"}
                c1: 9 s1 session/inputNeededSet {"request":{"kind":"toolConfirmation","id":"confirm:c@s1.chat","chat":"s1.chat","turnId":"t1","toolCall":{"status":"pending-confirmation","toolCallId":"c","toolName":"sh","displayName":"Shell","invocationMessage":"Run ls","toolInput":"ls","options":[{"id":"once","label":"Once","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"},{"id":"no","label":"No","kind":"deny"}]}}}
            c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true, "selectedOptionId": "no"}
                c2: 10 rejected: the option and the decision contradict each other
            c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true, "selectedOptionId": "x"}
                c2: 11 rejected: there is no option `x`
            c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true, "editedToolInput": "rm"}
                c2: 12 rejected: the arguments can't be edited
            c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true, "selectedOptionId": "once", "confirmed": "not-needed"}
                c1, c2: 13 s1.chat by b chat/toolCallConfirmed {"selectedOptionId":"once","turnId":"t1","toolCallId":"c","approved":true,"confirmed":"user-action"}
                c1: 14 s1 session/chatUpdated {"changes":{"status":8},"chat":"s1.chat"}
                c1: root/sessionSummaryChanged {"changes":{"status":8,"chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":8}]},"session":"s1"}
                c1: 15 s1 session/inputNeededRemoved {"id":"confirm:c@s1.chat"}
                agent s1: decide c Approved { option: Some("once"), edited_input: None }
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": false}
                c1: 16 rejected: tool call `c` is not waiting for this action
            c1 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "I did"}}
                c1: 17 rejected: tool call `c` is not executed by this client
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Ran ls"}}
                c1, c2: 18 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Ran ls"},"turnId":"t1","toolCallId":"c"}
        "#]],
    );
}

/// TUR-12, TUR-16, TUR-5: the duration of a turn is measured by the host's clock, and late events
/// have no effect.
#[test]
fn a_turn_is_cancelled() {
    check(
        &ready(
            r#"
            - c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}}
            wait 250
            c2 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 999999}
            agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p1", "content": ""}}
            agent s1 end t1
            c2 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
            "#,
        ),
        expect![[r#"
            wait 250
                nothing
            c2 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 999999}
                c1, c2: 6 s1.chat by b chat/turnCancelled {"duration":250,"turnId":"t1"}
                c1: 7 s1 session/chatUpdated {"changes":{"status":1,"modifiedAt":"2026-01-05T09:00:00.250Z"},"chat":"s1.chat"}
                c1: root/sessionSummaryChanged {"changes":{"status":1,"modifiedAt":"2026-01-05T09:00:00.250Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":1}]},"session":"s1"}
                agent s1: cancel t1
            agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p1", "content": ""}}
                nothing
            agent s1 end t1
                nothing
            c2 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
                c2: 8 rejected: turn `t1` is not in progress
        "#]],
    );
}

/// PEN-2 to PEN-4, PEN-8, A-8: queued messages run one after the other, but not after an error.
#[test]
fn queued_messages_start_turns_in_order() {
    check(
        &ready(
            r#"
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "m1", "message": {"text": "one", "origin": {"kind": "user"}}}
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "m2", "message": {"text": "two", "origin": {"kind": "user"}}}
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "m3", "message": {"text": "three", "origin": {"kind": "user"}}}
            agent s1 end turn-0000000000000000000000000000000a
            agent s1 error turn-0000000000000000000000000000000d
            c2 ! s1.chat chat/pendingMessageRemoved {"kind": "queued", "id": "m1"}
            c2 ! s1.chat chat/pendingMessageRemoved {"kind": "queued", "id": "m3"}
            "#,
        ),
        expect![[r#"
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "m1", "message": {"text": "one", "origin": {"kind": "user"}}}
                c1, c2: 3 s1.chat by a chat/pendingMessageSet {"message":{"text":"one","origin":{"kind":"user"}},"kind":"queued","id":"m1"}
                c1, c2: 4 s1.chat chat/pendingMessageRemoved {"id":"m1","kind":"queued"}
                c1, c2: 5 s1.chat chat/turnStarted {"queuedMessageId":"m1","turnId":"turn-0000000000000000000000000000000b","startedAt":"2026-01-05T09:00:00.000Z","message":{"text":"one","origin":{"kind":"user"}}}
                c1: 6 s1 session/chatUpdated {"changes":{"status":8},"chat":"s1.chat"}
                c1: root/sessionSummaryChanged {"changes":{"status":8,"chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":8}]},"session":"s1"}
                c1: 7 s1 session/titleChanged {"title":"one"}
                c1: root/sessionSummaryChanged {"changes":{"title":"one"},"session":"s1"}
                agent s1: prompt turn-0000000000000000000000000000000b "one"
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "m2", "message": {"text": "two", "origin": {"kind": "user"}}}
                c1, c2: 8 s1.chat by a chat/pendingMessageSet {"message":{"text":"two","origin":{"kind":"user"}},"kind":"queued","id":"m2"}
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "m3", "message": {"text": "three", "origin": {"kind": "user"}}}
                c1, c2: 9 s1.chat by a chat/pendingMessageSet {"message":{"text":"three","origin":{"kind":"user"}},"kind":"queued","id":"m3"}
            agent s1 end turn-0000000000000000000000000000000a
                nothing
            agent s1 error turn-0000000000000000000000000000000d
                nothing
            c2 ! s1.chat chat/pendingMessageRemoved {"kind": "queued", "id": "m1"}
                c2: 10 rejected: there is no pending message `m1`
            c2 ! s1.chat chat/pendingMessageRemoved {"kind": "queued", "id": "m3"}
                c1, c2: 11 s1.chat by b chat/pendingMessageRemoved {"id":"m3","kind":"queued"}
        "#]],
    );
}

/// Events of an agent have no effect without a turn, and an agent can't start or end turns by
/// actions.
#[test]
fn agent_events_outside_of_a_turn_have_no_effect() {
    check(
        &ready(
            r#"
            agent s1 chat/delta {"turnId": "t1", "partId": "p1", "content": "no turn"}
            agent s1 chat/draftChanged {}
            agent s1 chat/turnStarted {"turnId": "mine", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "agent"}}}
            agent s1 chat/turnComplete {"turnId": "t1", "duration": 1}
            agent s1 end t1
            agent s2 opened
            "#,
        ),
        expect![[r#"
            agent s1 chat/delta {"turnId": "t1", "partId": "p1", "content": "no turn"}
                nothing
            agent s1 chat/draftChanged {}
                nothing
            agent s1 chat/turnStarted {"turnId": "mine", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "agent"}}}
                nothing
            agent s1 chat/turnComplete {"turnId": "t1", "duration": 1}
                nothing
            agent s1 end t1
                nothing
            agent s2 opened
                nothing
        "#]],
    );
}

/// When an agent stops, its turn fails; the next turn opens the agent again.
#[test]
fn a_stopped_agent_is_reopened_by_the_next_turn() {
    check(
        &ready(
            r#"
            - c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}}
            agent s1 stopped
            agent s1 stopped
            c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "y", "origin": {"kind": "user"}}}
            agent s1 opened
            "#,
        ),
        expect![[r#"
            agent s1 stopped
                c1, c2: 6 s1.chat chat/error {"part":{"kind":"error","error":{"errorType":"test","message":"no such file"}},"turnId":"t1","duration":0}
                c1: 7 s1 session/chatUpdated {"changes":{"status":2,"modifiedAt":"2026-01-05T09:00:00.000Z"},"chat":"s1.chat"}
                c1: root/sessionSummaryChanged {"changes":{"status":2,"modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":2}]},"session":"s1"}
            agent s1 stopped
                nothing
            c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "y", "origin": {"kind": "user"}}}
                c1, c2: 8 s1.chat by a chat/turnStarted {"message":{"text":"y","origin":{"kind":"user"}},"turnId":"t2","startedAt":"2026-01-05T09:00:00Z"}
                c1: 9 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                c1: root/sessionSummaryChanged {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":8}]},"session":"s1"}
                agent s1: open
                agent s1: prompt t2 "y"
            agent s1 opened
                nothing
        "#]],
    );
}

/// PEN-5: a steering message that the agent did not accept while the turn ran starts the next turn,
/// before the queued messages.
#[test]
fn an_unsent_steering_message_starts_the_next_turn() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        - c1 says t1 first
        - c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "p1", "message": {"text": "hurry", "origin": {"kind": "user"}}}
        - c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "p2", "message": {"text": "then", "origin": {"kind": "user"}}}
        agent s1 in s1.chat end t1
        "#,
        expect![[r#"
            agent s1 in s1.chat end t1
                c1: 8 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
                c1: 10 s1.chat chat/pendingMessageRemoved {"id":"p1","kind":"steering"}
                c1: 11 s1.chat chat/turnStarted {"message":{"text":"hurry","origin":{"kind":"user"}},"turnId":"turn-0000000000000000000000000000000a","startedAt":"2026-01-05T09:00:00.000Z"}
                agent s1: prompt turn-0000000000000000000000000000000a "hurry"
        "#]],
    );
}
