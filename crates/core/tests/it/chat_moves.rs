//! Tests for forking and moving chats, and for references between chats.

use expect_test::expect;

use crate::script::check;

const SETUP: &str = r#"
    - c1 connect
    - c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a", "initialSubscriptions": ["ahp-root://"]}
    - c1 opens s1 {"workingDirectories": ["file:///a"]}
    - c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "one", "origin": {"kind": "user"}}}
    - agent s1 end t1
    - c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "two", "origin": {"kind": "user"}}}
"#;

fn with_setup(script: &str) -> String {
    format!("{SETUP}\n{script}")
}

/// CHT-8 to CHT-14.
#[test]
fn a_chat_is_forked_from_another() {
    check(
        &with_setup(
            r#"
            - c1 subscribe s1
            c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "fork", "chat": "ahp-chat:/0", "turnId": "t1"}}
            c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "fork", "chat": "ahp-chat:/1", "turnId": "t1"}}
            c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "fork", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t9"}}
            c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "fork", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t2"}}
            c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "copy", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t1"}}
            c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "fork", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t1"}}
            c1 createChat s1 {"chat": "ahp-chat:/2", "source": {"kind": "sideChat", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t2", "selection": {"text": ""}}}
            c1 createChat s1 {"chat": "ahp-chat:/2", "source": {"kind": "sideChat", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t2", "selection": {"text": "this"}}, "initialMessage": {"text": "why?", "origin": {"kind": "user"}}}
            "#,
        ),
        expect![[r#"
            c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "fork", "chat": "ahp-chat:/0", "turnId": "t1"}}
                c1: error -32602 source: no such chat in this session
            c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "fork", "chat": "ahp-chat:/1", "turnId": "t1"}}
                c1: error -32602 source: no such chat in this session
            c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "fork", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t9"}}
                c1: error -32602 source: no such turn in that chat
            c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "fork", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t2"}}
                c1: error -32602 source: cannot fork from a turn that is in progress
            c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "copy", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t1"}}
                c1: error -32602 source.kind: expected one of `fork`, `sideChat`, found "copy"
            c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "fork", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t1"}}
                c1: 10 s1 session/chatAdded {"summary":{"resource":"ahp-chat:/1","title":"","status":1,"modifiedAt":"2026-01-05T09:00:00.000Z","origin":{"kind":"fork","chat":"s1.chat","turnId":"t1"},"movable":true}}
                c1: root/sessionSummaryChanged {"changes":{"modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":8},{"resource":"ahp-chat:/1","title":"","origin":{"kind":"fork","chat":"s1.chat","turnId":"t1"},"status":1}]},"session":"s1"}
                c1: null
                agent s1: chat ahp-chat:/1 with 1 turns
            c1 createChat s1 {"chat": "ahp-chat:/2", "source": {"kind": "sideChat", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t2", "selection": {"text": ""}}}
                c1: error -32602 source: the selection is empty
            c1 createChat s1 {"chat": "ahp-chat:/2", "source": {"kind": "sideChat", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t2", "selection": {"text": "this"}}, "initialMessage": {"text": "why?", "origin": {"kind": "user"}}}
                c1: 11 s1 session/chatAdded {"summary":{"resource":"ahp-chat:/2","title":"","status":1,"modifiedAt":"2026-01-05T09:00:00.000Z","origin":{"kind":"sideChat","chat":"s1.chat","turnId":"t2","selection":{"text":"this"}},"movable":true}}
                c1: root/sessionSummaryChanged {"changes":{"chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":8},{"resource":"ahp-chat:/1","title":"","origin":{"kind":"fork","chat":"s1.chat","turnId":"t1"},"status":1},{"resource":"ahp-chat:/2","title":"","origin":{"kind":"sideChat","chat":"s1.chat","turnId":"t2","selection":{"text":"this"}},"status":1}]},"session":"s1"}
                c1: null
                agent s1: chat ahp-chat:/2 beside 1 turns and 1, about Some("this")
                c1: 13 s1 session/chatUpdated {"changes":{"status":8},"chat":"ahp-chat:/2"}
                c1: root/sessionSummaryChanged {"changes":{"chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":8},{"resource":"ahp-chat:/1","title":"","origin":{"kind":"fork","chat":"s1.chat","turnId":"t1"},"status":1},{"resource":"ahp-chat:/2","title":"","origin":{"kind":"sideChat","chat":"s1.chat","turnId":"t2","selection":{"text":"this"}},"status":8}]},"session":"s1"}
                changes s1: mark before turn-00000000000000000000000000000011
                agent s1: prompt turn-00000000000000000000000000000011 "why?"
        "#]],
    );
}

/// MOV-1 to MOV-12.
#[test]
fn a_chat_moves_to_another_session() {
    check(
        &with_setup(
            r#"
            - c1 opens s2
            - c1 opens s3 {"provider": "other"}
            - c1 createChat s1 {"chat": "ahp-chat:/1"}
            - c1 createChat s1 {"chat": "ahp-chat:/2"}
            - c1 subscribe s1
            - c1 subscribe s2
            - c1 subscribe ahp-chat:/1
            c1 moveChat s1.chat {"destination": {"kind": "newSession"}}
            c1 moveChat ahp-chat:/0 {"destination": {"kind": "newSession"}}
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "elsewhere"}}
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "session", "session": "ahp-session:/none"}}
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "session", "session": "ahp-session:/s3"}}
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "session", "session": "ahp-session:/s1", "after": "ahp-chat:/1"}}
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "session", "session": "ahp-session:/s2", "after": "ahp-chat:/2"}}
            c1 moveChat ahp-chat:/2 {"destination": {"kind": "session", "session": "ahp-session:/s1"}}
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "session", "session": "ahp-session:/s2"}}
            - c1 ! ahp-chat:/1 chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "still here", "origin": {"kind": "user"}}}
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "session", "session": "ahp-session:/s1"}}
            c1 moveChat ahp-chat:/2 {"destination": {"kind": "newSession"}}
            restart
            "#,
        ),
        expect![[r#"
            c1 moveChat s1.chat {"destination": {"kind": "newSession"}}
                c1: error -32602 this chat can't be moved
            c1 moveChat ahp-chat:/0 {"destination": {"kind": "newSession"}}
                c1: error -32001 there is no session or chat `ahp-chat:/0`
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "elsewhere"}}
                c1: error -32602 destination.kind: expected one of `session`, `newSession`, found "elsewhere"
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "session", "session": "ahp-session:/none"}}
                c1: error -32001 there is no session or chat `ahp-session:/none`
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "session", "session": "ahp-session:/s3"}}
                c1: error -32602 destination: the session has another agent
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "session", "session": "ahp-session:/s1", "after": "ahp-chat:/1"}}
                c1: error -32602 destination.after: no such chat in that session
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "session", "session": "ahp-session:/s2", "after": "ahp-chat:/2"}}
                c1: error -32602 destination.after: no such chat in that session
            c1 moveChat ahp-chat:/2 {"destination": {"kind": "session", "session": "ahp-session:/s1"}}
                c1: 16 s1 session/chatsReordered {"chats":["ahp-chat:/2","s1.chat","ahp-chat:/1"]}
                c1: root/sessionSummaryChanged {"changes":{"chats":[{"resource":"ahp-chat:/2","title":"","origin":{"kind":"user"},"status":1},{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":8},{"resource":"ahp-chat:/1","title":"","origin":{"kind":"user"},"status":1}]},"session":"s1"}
                c1: in s1
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "session", "session": "ahp-session:/s2"}}
                share content of s1 with s2
                agent s1: close chat ahp-chat:/1
                c1: 17 s1 session/chatRemoved {"chat":"ahp-chat:/1"}
                c1: 18 s2 session/chatAdded {"summary":{"resource":"ahp-chat:/1","title":"","status":1,"modifiedAt":"2026-01-05T09:00:00.000Z","origin":{"kind":"user"},"movable":true}}
                c1: 19 s2 session/chatsReordered {"chats":["ahp-chat:/1","s2.chat"]}
                c1: root/sessionSummaryChanged {"changes":{"modifiedAt":"2026-01-05T09:00:00Z","chats":[{"resource":"ahp-chat:/2","title":"","origin":{"kind":"user"},"status":1},{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":8}]},"session":"s1"}
                c1: root/sessionSummaryChanged {"changes":{"chats":[{"resource":"ahp-chat:/1","title":"","origin":{"kind":"user"},"status":1},{"resource":"s2.chat","title":"","origin":{"kind":"user"},"status":1}]},"session":"s2"}
                agent s2: chat ahp-chat:/1 with 0 turns
                c1: in s2
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "session", "session": "ahp-session:/s1"}}
                c1: error -32004 a turn is in progress in `ahp-chat:/1`
            c1 moveChat ahp-chat:/2 {"destination": {"kind": "newSession"}}
                share content of s1 with shell:/session-0000000000000000000000000000001d
                agent s1: close chat ahp-chat:/2
                c1: 24 s1 session/chatRemoved {"chat":"ahp-chat:/2"}
                c1: root/sessionAdded {"summary":{"provider":"shell","title":"","status":1,"project":{"uri":"file:///a","displayName":"a"},"workingDirectories":["file:///a"],"annotations":{"resource":"shell:/session-0000000000000000000000000000001d/annotations","annotationCount":0,"entryCount":0},"resource":"shell:/session-0000000000000000000000000000001d","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"ahp-chat:/2","title":"","origin":{"kind":"user"},"status":1}],"defaultChat":"ahp-chat:/2"}}
                c1: 25 root root/activeSessionsChanged {"activeSessions":4}
                c1: root/sessionSummaryChanged {"changes":{"chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":8}]},"session":"s1"}
                changes shell:/session-0000000000000000000000000000001d: mark start
                agent shell:/session-0000000000000000000000000000001d: open
                agent shell:/session-0000000000000000000000000000001d: chat ahp-chat:/2 with 0 turns
                c1: in shell:/session-0000000000000000000000000000001d
            restart
                changes s1: mark after t2, chat since before t1
        "#]],
    );
}

/// CHT-40 to CHT-45, PEN-10.
#[test]
fn a_message_can_attach_another_chat() {
    let chat = "ahp-chat://default/YWhwLXNlc3Npb246L3Mx";
    let start = |turn: &str, attachment: &str| {
        format!(
            r#"c1 ! s2.chat chat/turnStarted {{"turnId": "{turn}", "startedAt": "2026-01-05T09:00:00Z", "message": {{"text": "compare", "origin": {{"kind": "user"}}, "attachments": [{{"type": "chat", "label": "other", {attachment}}}]}}}}"#
        )
    };
    let queue = format!(
        r#"- c1 ! s2.chat chat/pendingMessageSet {{"kind": "queued", "id": "m", "message": {{"text": "later", "origin": {{"kind": "user"}}, "attachments": [{{"type": "chat", "label": "other", "resource": "{chat}"}}]}}}}"#
    );
    let script = [
        "- c1 createSession s2\n- agent s2 opened\n- c1 subscribe s2.chat\n- quiet".to_owned(),
        start("t1", r#""resource": "ahp-chat:/none""#),
        start("t1", &format!(r#""resource": "{chat}", "endTurn": "t2""#)),
        start("t1", &format!(r#""resource": "{chat}""#)),
        queue,
        "- c1 unsubscribe s2.chat".to_owned(),
        // Removes the turn that the queued message refers to, so that its turn fails.
        r#"- c1 ! s1.chat chat/truncated {}"#.to_owned(),
        "- quiet\n- c1 subscribe s2.chat\nagent s2 end t1".to_owned(),
    ]
    .join("\n");
    check(
        &with_setup(&script),
        expect![[r#"
        c1 ! s2.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "compare", "origin": {"kind": "user"}, "attachments": [{"type": "chat", "label": "other", "resource": "ahp-chat:/none"}]}}
            c1: 12 rejected: there is no chat `ahp-chat:/none`
        c1 ! s2.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "compare", "origin": {"kind": "user"}, "attachments": [{"type": "chat", "label": "other", "resource": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "endTurn": "t2"}]}}
            c1: 13 rejected: there is no completed turn `t2`
        c1 ! s2.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "compare", "origin": {"kind": "user"}, "attachments": [{"type": "chat", "label": "other", "resource": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}]}}
            c1: 14 s2.chat by a chat/turnStarted {"message":{"text":"compare","origin":{"kind":"user"},"attachments":[{"type":"chat","label":"other","resource":"s1.chat","endTurn":"t1"}]},"turnId":"t1","startedAt":"2026-01-05T09:00:00Z"}
            c1: root/sessionSummaryChanged {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z","chats":[{"resource":"s2.chat","title":"","origin":{"kind":"user"},"status":8}]},"session":"s2"}
            c1: root/sessionSummaryChanged {"changes":{"title":"compare"},"session":"s2"}
            agent s2: attached s1.chat with 1 turns
            agent s2: prompt t1 "compare"
        agent s2 end t1
            c1: 20 s2.chat chat/turnComplete {"duration":0,"turnId":"t1"}
            c1: root/sessionSummaryChanged {"changes":{"status":1,"modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"s2.chat","title":"","origin":{"kind":"user"},"status":1}]},"session":"s2"}
            c1: 22 s2.chat chat/pendingMessageRemoved {"id":"m","kind":"queued"}
            c1: 23 s2.chat chat/turnStarted {"queuedMessageId":"m","turnId":"turn-00000000000000000000000000000017","startedAt":"2026-01-05T09:00:00.000Z","message":{"text":"later","origin":{"kind":"user"},"attachments":[{"type":"chat","label":"other","resource":"s1.chat","endTurn":"t1"}]}}
            c1: 24 s2.chat chat/error {"part":{"kind":"error","error":{"errorType":"messageRefused","message":"there is no completed turn `t1`"}},"turnId":"turn-00000000000000000000000000000017","duration":0}
            c1: root/sessionSummaryChanged {"changes":{"status":2,"chats":[{"resource":"s2.chat","title":"","origin":{"kind":"user"},"status":2}]},"session":"s2"}
    "#]],
    );
}

/// Clients up to 0.8 fork a session with `createSession`.
#[test]
fn a_session_can_be_forked_from_another() {
    check(
        &with_setup(
            r#"
            c1 createSession s2 {"_meta": {"agenthost.fork": {"session": "ahp-session:/s1", "turnId": "t2"}}}
            c1 createSession s2 {"_meta": {"agenthost.fork": {"session": "ahp-session:/s9", "turnId": "t1"}}}
            c1 createSession s2 {"provider": "other", "_meta": {"agenthost.fork": {"session": "ahp-session:/s1", "turnId": "t1"}}}
            c1 createSession s2 {"_meta": {"agenthost.fork": {"session": "ahp-session:/s1", "turnId": "t1"}}}
            c1 subscribe s2.chat
            "#,
        ),
        expect![[r#"
            c1 createSession s2 {"_meta": {"agenthost.fork": {"session": "ahp-session:/s1", "turnId": "t2"}}}
                c1: error -32602 fork: no such turn in that session, or it has not ended
            c1 createSession s2 {"_meta": {"agenthost.fork": {"session": "ahp-session:/s9", "turnId": "t1"}}}
                c1: error -32001 there is no session or chat `ahp-session:/s9`
            c1 createSession s2 {"provider": "other", "_meta": {"agenthost.fork": {"session": "ahp-session:/s1", "turnId": "t1"}}}
                c1: error -32602 fork: that session has another agent
            c1 createSession s2 {"_meta": {"agenthost.fork": {"session": "ahp-session:/s1", "turnId": "t1"}}}
                c1: null
                c1: root/sessionAdded {"summary":{"provider":"shell","title":"","status":1,"project":{"uri":"file:///a","displayName":"a"},"workingDirectories":["file:///a"],"annotations":{"resource":"s2/annotations","annotationCount":0,"entryCount":0},"resource":"s2","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"s2.chat","title":"","origin":{"kind":"fork","chat":"s1.chat","turnId":"t1"},"status":1}],"defaultChat":"s2.chat"}}
                c1: 10 root root/activeSessionsChanged {"activeSessions":2}
                share content of s1 with s2
                changes s2: mark start
                agent s2: open
                agent s2: chat s2.chat with 1 turns
            c1 subscribe s2.chat
                c1: snapshot of s2.chat at 10
        "#]],
    );
}

/// MOV-13, TER-17: terminals move with their chat. A chat with a background command can't be moved.
#[test]
fn terminals_move_with_their_chat() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 createChat s1 {"chat": "ahp-chat:/1"}
        - c1 subscribe ahp-chat:/1
        - c1 ! ahp-chat:/1 chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "!make", "origin": {"kind": "user"}}}
        - c1 ! run terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat:/1"}}
        c1 moveChat ahp-chat:/1 {"destination": {"kind": "newSession"}}
        - terminal run exited 0 done
        - c1 subscribe run
        c1 moveChat ahp-chat:/1 {"destination": {"kind": "newSession"}}
        - c1 disposeSession s1
        c1 subscribe run
        "#,
        expect![[r#"
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "newSession"}}
                c1: error -32602 a command of this chat runs in the background
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "newSession"}}
                c1: 17 ahp-chat:/1 chat/movableChanged {"movable":false}
                share content of s1 with shell:/session-0000000000000000000000000000000d
                agent s1: close chat ahp-chat:/1
                c1: 18 run terminal/claimed {"claim":{"kind":"session","session":"shell:/session-0000000000000000000000000000000d","chat":"ahp-chat:/1"}}
                agent shell:/session-0000000000000000000000000000000d: open
                agent shell:/session-0000000000000000000000000000000d: chat ahp-chat:/1 with 1 turns
                c1: in shell:/session-0000000000000000000000000000000d
            c1 subscribe run
                c1: snapshot of run at 22
        "#]],
    );
}

/// MOV-7: the new session has the title of the chat that it was made for.
#[test]
fn a_new_session_has_the_title_of_its_chat() {
    check(
        &with_setup(
            r#"
            - c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "fork", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t1"}}
            - agent s1 in ahp-chat:/1 title Parser
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "newSession"}}
            "#,
        ),
        expect![[r#"
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "newSession"}}
                share content of s1 with shell:/session-0000000000000000000000000000000b
                agent s1: close chat ahp-chat:/1
                c1: root/sessionAdded {"summary":{"provider":"shell","title":"one","status":1,"project":{"uri":"file:///a","displayName":"a"},"workingDirectories":["file:///a"],"annotations":{"resource":"shell:/session-0000000000000000000000000000000b/annotations","annotationCount":0,"entryCount":0},"resource":"shell:/session-0000000000000000000000000000000b","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"ahp-chat:/1","title":"","origin":{"kind":"fork","chat":"s1.chat","turnId":"t1"},"status":1}],"defaultChat":"ahp-chat:/1"}}
                c1: 13 root root/activeSessionsChanged {"activeSessions":2}
                c1: root/sessionSummaryChanged {"changes":{"modifiedAt":"2026-01-05T09:00:00Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":8}]},"session":"s1"}
                changes shell:/session-0000000000000000000000000000000b: mark start
                agent shell:/session-0000000000000000000000000000000b: open
                agent shell:/session-0000000000000000000000000000000b: chat ahp-chat:/1 with 1 turns
                c1: in shell:/session-0000000000000000000000000000000b
        "#]],
    );
}
