//! Tests for client tools, annotations, workers, background work, usage, and clients that do not
//! answer.

use expect_test::expect;

use crate::script::check;

/// CHT-16, CHT-18, CHT-24, TUR-3: the chat of a worker and the call that spawned it refer to each
/// other.
#[test]
fn a_worker_chat_is_linked_with_its_tool_call() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        agent s1 worker ahp-chat:/w call read-only
        - c1 starts t1
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "call", "toolName": "task", "displayName": "Task"}
        agent s1 worker ahp-chat:/w call read-only
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "call", "invocationMessage": "Working", "confirmed": "not-needed"}
        - c1 subscribe s1
        - c1 subscribe s1.chat
        agent s1 worker ahp-chat://default/YWhwLXNlc3Npb246L3Mx call read-only
        agent s1 worker ahp-chat:/w call read-only
        - c1 subscribe ahp-chat:/w
        agent s1 in ahp-chat:/w begin w1 {"text": "find it", "origin": {"kind": "user"}}
        agent s1 in ahp-chat:/w begin w1 {"text": "find it", "origin": {"kind": "tool"}}
        agent s1 in ahp-chat:/w begin w2 {"text": "again", "origin": {"kind": "tool"}}
        c1 ! ahp-chat:/w chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
        c1 ! ahp-chat:/w chat/pendingMessageSet {"id": "m", "kind": "queued", "message": {"text": "go", "origin": {"kind": "user"}}}
        agent s1 in ahp-chat:/w chat/responsePart {"turnId": "w1", "part": {"kind": "markdown", "id": "p", "content": "found"}}
        agent s1 in ahp-chat:/w end w1
        c1 ! ahp-chat:/w chat/truncated {}
        agent s1 chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "call", "content": [{"type": "text", "text": "half"}]}
        agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "call", "result": {"success": true, "pastTenseMessage": "Worked"}}
        agent s1 close s1.chat
        agent s1 close ahp-chat:/w
        "#,
        expect![[r#"
            agent s1 worker ahp-chat:/w call read-only
                discarded ahp-chat:/w worker chat: the tool call that spawns it is not running
            agent s1 worker ahp-chat:/w call read-only
                discarded ahp-chat:/w worker chat: the tool call that spawns it is not running
            agent s1 worker ahp-chat://default/YWhwLXNlc3Npb246L3Mx call read-only
                discarded s1.chat worker chat: its URI is in use
            agent s1 worker ahp-chat:/w call read-only
                c1: 8 s1 session/chatAdded {"summary":{"resource":"ahp-chat:/w","title":"a worker","status":1,"modifiedAt":"2026-01-05T09:00:00.000Z","origin":{"kind":"tool","chat":"s1.chat","toolCallId":"call"},"movable":false,"interactivity":"read-only"}}
                c1: 9 s1.chat chat/toolCallContentChanged {"content":[{"type":"subagent","resource":"ahp-chat:/w","title":"a worker"}],"turnId":"t1","toolCallId":"call"}
            agent s1 in ahp-chat:/w begin w1 {"text": "find it", "origin": {"kind": "user"}}
                discarded ahp-chat:/w chat/turnStarted: an agent cannot send messages of kind `user`
                agent s1: cancel w1
            agent s1 in ahp-chat:/w begin w1 {"text": "find it", "origin": {"kind": "tool"}}
                c1: 10 ahp-chat:/w chat/turnStarted {"message":{"text":"find it","origin":{"kind":"tool"}},"turnId":"w1","startedAt":"2026-01-05T09:00:00.000Z"}
                c1: 11 s1 session/chatUpdated {"changes":{"status":8},"chat":"ahp-chat:/w"}
            agent s1 in ahp-chat:/w begin w2 {"text": "again", "origin": {"kind": "tool"}}
                discarded ahp-chat:/w chat/turnStarted: another turn is in progress
                agent s1: cancel w2
            c1 ! ahp-chat:/w chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
                c1: 12 rejected: turn `w1` is in progress
            c1 ! ahp-chat:/w chat/pendingMessageSet {"id": "m", "kind": "queued", "message": {"text": "go", "origin": {"kind": "user"}}}
                c1: 13 rejected: this chat is read-only
            agent s1 in ahp-chat:/w chat/responsePart {"turnId": "w1", "part": {"kind": "markdown", "id": "p", "content": "found"}}
                c1: 14 ahp-chat:/w chat/responsePart {"part":{"kind":"markdown","id":"p","content":"found"},"turnId":"w1"}
            agent s1 in ahp-chat:/w end w1
                c1: 15 ahp-chat:/w chat/turnComplete {"duration":0,"turnId":"w1"}
                c1: 16 s1 session/chatUpdated {"changes":{"status":1},"chat":"ahp-chat:/w"}
            c1 ! ahp-chat:/w chat/truncated {}
                c1: 17 rejected: this chat is read-only
            agent s1 chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "call", "content": [{"type": "text", "text": "half"}]}
                c1: 18 s1.chat chat/toolCallContentChanged {"content":[{"type":"text","text":"half"},{"type":"subagent","resource":"ahp-chat:/w","title":"a worker"}],"turnId":"t1","toolCallId":"call"}
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "call", "result": {"success": true, "pastTenseMessage": "Worked"}}
                c1: 19 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Worked","content":[{"type":"subagent","resource":"ahp-chat:/w","title":"a worker"}]},"turnId":"t1","toolCallId":"call"}
            agent s1 close s1.chat
                nothing
            agent s1 close ahp-chat:/w
                c1: 20 s1 session/chatRemoved {"chat":"ahp-chat:/w"}
                agent s1: close chat ahp-chat:/w
        "#]],
    );
}

/// A worker ends with the turn that it works for (TOO-27); a background worker does not (BGW-4). A
/// restart ends both (REC-16).
#[test]
fn workers_end_with_their_turn() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 starts t1
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "call", "toolName": "task", "displayName": "Task"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "call", "invocationMessage": "Working", "confirmed": "not-needed"}
        - agent s1 worker ahp-chat:/w1 call read-only
        - agent s1 worker ahp-chat:/w2 call hidden
        - agent s1 in ahp-chat:/w1 begin w {"text": "find it", "origin": {"kind": "tool"}}
        - agent s1 in ahp-chat:/w2 begin w {"text": "find it", "origin": {"kind": "tool"}}
        - c1 subscribe s1.chat
        - c1 subscribe ahp-chat:/w1
        - c1 subscribe ahp-chat:/w2
        agent s1 chat/backgroundWorkSet {"work": {"kind": "subagent", "id": "b", "label": "search", "startedAt": "2026-01-05T09:00:00Z", "chat": "ahp-chat:/elsewhere"}}
        agent s1 chat/backgroundWorkSet {"work": {"kind": "subagent", "id": "b", "label": "search", "startedAt": "2026-01-05T09:00:00Z", "chat": "ahp-chat:/w2"}}
        agent s1 end t1
        quiet
        agent s1 in ahp-chat:/w2 chat/responsePart {"turnId": "w", "part": {"kind": "markdown", "id": "p", "content": "found"}}
        agent s1 chat/backgroundWorkRemoved {"id": "b"}
        - agent s1 chat/backgroundWorkSet {"work": {"kind": "subagent", "id": "b", "label": "search", "startedAt": "2026-01-05T09:00:00Z", "chat": "ahp-chat:/w2"}}
        agent s1 close ahp-chat:/w2
        - agent s1 chat/backgroundWorkSet {"work": {"kind": "shell", "id": "s", "label": "make", "startedAt": "2026-01-05T09:00:00Z", "command": "make"}}
        - restart
        - c2 joins a
        c2 subscribe s1.chat
        "#,
        expect![[r#"
            agent s1 chat/backgroundWorkSet {"work": {"kind": "subagent", "id": "b", "label": "search", "startedAt": "2026-01-05T09:00:00Z", "chat": "ahp-chat:/elsewhere"}}
                discarded s1.chat chat/backgroundWorkSet: there is no `ahp-chat:/elsewhere` in this session
            agent s1 chat/backgroundWorkSet {"work": {"kind": "subagent", "id": "b", "label": "search", "startedAt": "2026-01-05T09:00:00Z", "chat": "ahp-chat:/w2"}}
                c1: 16 s1.chat chat/backgroundWorkSet {"work":{"kind":"subagent","id":"b","label":"search","startedAt":"2026-01-05T09:00:00Z","chat":"ahp-chat:/w2"}}
            agent s1 end t1
                c1: 17 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
                c1: 19 ahp-chat:/w1 chat/turnCancelled {"duration":0,"turnId":"w"}
                agent s1: cancel w
            quiet
                nothing
            agent s1 in ahp-chat:/w2 chat/responsePart {"turnId": "w", "part": {"kind": "markdown", "id": "p", "content": "found"}}
                c1: 21 ahp-chat:/w2 chat/responsePart {"part":{"kind":"markdown","id":"p","content":"found"},"turnId":"w"}
            agent s1 chat/backgroundWorkRemoved {"id": "b"}
                c1: 22 s1.chat chat/backgroundWorkRemoved {"id":"b"}
                c1: 23 ahp-chat:/w2 chat/turnCancelled {"duration":0,"turnId":"w"}
                agent s1: cancel w
            agent s1 close ahp-chat:/w2
                c1: 26 s1.chat chat/backgroundWorkRemoved {"id":"b"}
                agent s1: close chat ahp-chat:/w2
            c2 subscribe s1.chat
                c2: snapshot of s1.chat at 29
        "#]],
    );
}

/// The workers of a chat are disposed with it.
#[test]
fn workers_are_disposed_with_their_chat() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 createChat s1 {"chat": "ahp-chat:/1"}
        - c1 starts t1 in ahp-chat:/1
        - agent s1 in ahp-chat:/1 chat/toolCallStart {"turnId": "t1", "toolCallId": "call", "toolName": "task", "displayName": "Task"}
        - agent s1 in ahp-chat:/1 chat/toolCallReady {"turnId": "t1", "toolCallId": "call", "invocationMessage": "Working", "confirmed": "not-needed"}
        - agent s1 in ahp-chat:/1 worker ahp-chat:/w1 call read-only
        - agent s1 in ahp-chat:/w1 begin w {"text": "find it", "origin": {"kind": "tool"}}
        - c1 subscribe s1
        - c1 subscribe ahp-chat:/w1
        c1 disposeChat ahp-chat:/1
        "#,
        expect![[r#"
            c1 disposeChat ahp-chat:/1
                c1: 13 ahp-chat:/w1 chat/turnCancelled {"duration":0,"turnId":"w"}
                c1: 14 s1 session/chatUpdated {"changes":{"status":1},"chat":"ahp-chat:/w1"}
                agent s1: cancel w
                c1: 15 s1 session/chatRemoved {"chat":"ahp-chat:/w1"}
                agent s1: close chat ahp-chat:/w1
                c1: 17 s1 session/chatUpdated {"changes":{"status":1,"modifiedAt":"2026-01-05T09:00:00.000Z"},"chat":"ahp-chat:/1"}
                agent s1: cancel t1
                c1: 18 s1 session/chatRemoved {"chat":"ahp-chat:/1"}
                agent s1: close chat ahp-chat:/1
                c1: null
        "#]],
    );
}

/// The background work of an agent ends when the agent stops.
#[test]
fn the_background_work_of_an_agent_ends_when_it_stops() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 createChat s1 {"chat": "ahp-chat:/1"}
        - agent s1 in ahp-chat:/1 chat/backgroundWorkSet {"work": {"kind": "shell", "id": "s", "label": "make", "startedAt": "2026-01-05T09:00:00Z", "command": "make"}}
        - c1 subscribe ahp-chat:/1
        c1 moveChat ahp-chat:/1 {"destination": {"kind": "newSession"}}
        agent s1 stopped
        c1 moveChat ahp-chat:/1 {"destination": {"kind": "newSession"}}
        "#,
        expect![[r#"
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "newSession"}}
                c1: error -32602 this chat has background work
            agent s1 stopped
                c1: 5 ahp-chat:/1 chat/backgroundWorkRemoved {"id":"s"}
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "newSession"}}
                c1: 6 ahp-chat:/1 chat/movableChanged {"movable":false}
                share content of s1 with shell:/session-0000000000000000000000000000000b
                agent shell:/session-0000000000000000000000000000000b: open
                agent shell:/session-0000000000000000000000000000000b: chat ahp-chat:/1 with 0 turns
                c1: in shell:/session-0000000000000000000000000000000b
        "#]],
    );
}

/// TUR-14: the usage of turns is added up for the chat and the session, and is kept when turns or
/// chats are removed.
#[test]
fn usage_is_totalled_for_chats_and_sessions() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 createChat s1 {"chat": "ahp-chat:/1"}
        - c1 subscribe s1
        - c1 starts t1
        agent s1 chat/usage {"turnId": "t1", "usage": {"inputTokens": 10, "outputTokens": 1}}
        agent s1 chat/usage {"turnId": "t1", "usage": {"inputTokens": 15, "outputTokens": 2}}
        - c1 ! s1.chat chat/truncated {}
        agent s1 chat/usage {"turnId": "t1", "usage": {"inputTokens": 99}}
        - c1 starts t1 in ahp-chat:/1
        agent s1 in ahp-chat:/1 chat/usage {"turnId": "t1", "usage": {"inputTokens": 100, "cacheReadTokens": 5}}
        - c1 disposeChat ahp-chat:/1
        - c1 starts t2
        agent s1 chat/usage {"turnId": "t2", "usage": {"outputTokens": 3}}
        "#,
        expect![[r#"
            agent s1 chat/usage {"turnId": "t1", "usage": {"inputTokens": 10, "outputTokens": 1}}
                c1: 8 s1 session/metaChanged {"_meta":{"agenthost.usage":{"inputTokens":10,"outputTokens":1,"cacheReadTokens":0,"chats":{"s1.chat":{"inputTokens":10,"outputTokens":1,"cacheReadTokens":0}}}}}
            agent s1 chat/usage {"turnId": "t1", "usage": {"inputTokens": 15, "outputTokens": 2}}
                c1: 10 s1 session/metaChanged {"_meta":{"agenthost.usage":{"inputTokens":15,"outputTokens":2,"cacheReadTokens":0,"chats":{"s1.chat":{"inputTokens":15,"outputTokens":2,"cacheReadTokens":0}}}}}
            agent s1 chat/usage {"turnId": "t1", "usage": {"inputTokens": 99}}
                nothing
            agent s1 in ahp-chat:/1 chat/usage {"turnId": "t1", "usage": {"inputTokens": 100, "cacheReadTokens": 5}}
                c1: 16 s1 session/metaChanged {"_meta":{"agenthost.usage":{"inputTokens":115,"outputTokens":2,"cacheReadTokens":5,"chats":{"s1.chat":{"inputTokens":15,"outputTokens":2,"cacheReadTokens":0},"ahp-chat:/1":{"inputTokens":100,"outputTokens":0,"cacheReadTokens":5}}}}}
            agent s1 chat/usage {"turnId": "t2", "usage": {"outputTokens": 3}}
                c1: 24 s1 session/metaChanged {"_meta":{"agenthost.usage":{"inputTokens":115,"outputTokens":5,"cacheReadTokens":5,"chats":{"s1.chat":{"inputTokens":15,"outputTokens":5,"cacheReadTokens":0}}}}}
        "#]],
    );
}

/// CLT-5: a tool call times out if its client is connected but does not answer.
#[test]
fn a_call_of_an_unresponsive_client_times_out() {
    check(
        r#"
        - c1 joins a
        - c1 createSession s1 {"activeClient": {"clientId": "a", "tools": [{"name": "look"}]}}
        - c1 ! root root/configChanged {"config": {"clientToolTimeout": 60}}
        - agent s1 opened
        - c1 starts t1
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "call", "toolName": "look", "displayName": "Look", "contributor": {"kind": "client", "clientId": "a"}}
        agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "call", "invocationMessage": "Looking", "confirmed": "not-needed"}
        - c1 subscribe s1.chat
        - c1 ! s1.chat chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "call", "content": [{"type": "text", "text": "half"}]}
        silent
        silent
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "call2", "toolName": "look", "displayName": "Look", "contributor": {"kind": "client", "clientId": "a"}}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "call2", "invocationMessage": "Looking", "confirmed": "not-needed"}
        - c1 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "call2", "result": {"success": true, "pastTenseMessage": "Looked"}}
        silent
        - c1 ! root root/configChanged {"config": {"clientToolTimeout": 0}}
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "call3", "toolName": "look", "displayName": "Look", "contributor": {"kind": "client", "clientId": "a"}}
        agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "call3", "invocationMessage": "Looking", "confirmed": "not-needed"}
        "#,
        expect![[r#"
            agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "call", "invocationMessage": "Looking", "confirmed": "not-needed"}
                await execute:call@ahp-chat://default/YWhwLXNlc3Npb246L3Mx 60000
            silent
                await execute:call@ahp-chat://default/YWhwLXNlc3Npb246L3Mx 60000
            silent
                c1: 12 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"The client that runs Look did not answer","error":{"message":"The client that runs Look did not answer"}},"turnId":"t1","toolCallId":"call"}
                agent s1: completed call false
            silent
                nothing
            agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "call3", "invocationMessage": "Looking", "confirmed": "not-needed"}
                c1: 21 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"call3","invocationMessage":"Looking"}
        "#]],
    );
}

/// CLT-2: a model calls a tool by its name, so the host makes names unique.
#[test]
fn tool_names_are_made_unique() {
    check(
        r#"
        - c1 joins a
        - c2 joins b b
        - c1 opens s1 {"activeClient": {"clientId": "a", "tools": [{"name": "look"}, {"name": "b_b_look"}]}}
        c2 ! s1 session/activeClientSet {"activeClient": {"clientId": "b b", "tools": [{"name": "look"}, {"name": "find"}]}}
        c1 ! s1 session/activeClientRemoved {"clientId": "a"}
        agent s1 opened look
        "#,
        expect![[r#"
            c2 ! s1 session/activeClientSet {"activeClient": {"clientId": "b b", "tools": [{"name": "look"}, {"name": "find"}]}}
                agent s1: tools [look, b_b_look, b_b_look_2, find]
            c1 ! s1 session/activeClientRemoved {"clientId": "a"}
                agent s1: tools [look, find]
            agent s1 opened look
                agent s1: tools [b_b_look, find]
        "#]],
    );
}

/// ANN-7: annotations that a message refers to are sent to the agent, all or some of them.
#[test]
fn attached_annotations_are_sent_to_the_agent() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 ! ahp-session:/s1/annotations annotations/set {"annotation": {"id": "n1", "origin": {"session": "ahp-session:/s1"}, "resource": "file:///f", "resolved": false, "entries": [{"id": "e", "text": "x"}]}}
        - c1 ! ahp-session:/s1/annotations annotations/set {"annotation": {"id": "n2", "origin": {"session": "ahp-session:/s1"}, "resource": "file:///f", "resolved": false, "entries": [{"id": "e", "text": "x"}]}}
        - restart
        - c2 joins a
        c2 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "annotations", "label": "n", "resource": "ahp-session:/s1/annotations"}, {"type": "annotations", "label": "n", "resource": "ahp-session:/s1/annotations", "annotationIds": ["n2", "gone"]}, {"type": "annotations", "label": "n", "resource": "ahp-session:/none/annotations"}]}}
        "#,
        expect![[r#"
            c2 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "annotations", "label": "n", "resource": "ahp-session:/s1/annotations"}, {"type": "annotations", "label": "n", "resource": "ahp-session:/s1/annotations", "annotationIds": ["n2", "gone"]}, {"type": "annotations", "label": "n", "resource": "ahp-session:/none/annotations"}]}}
                agent s1: open
                agent s1: attached ahp-session:/s1/annotations with 2 notes
                agent s1: attached ahp-session:/s1/annotations with 1 notes
                agent s1: prompt t1 "go"
        "#]],
    );
}

/// SES-23, SES-25, TUR-17: a session shows the activity of its chat while a turn runs.
#[test]
fn a_session_has_the_activity_of_its_chat() {
    check(
        r#"
        - c1 connect
        - c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a", "initialSubscriptions": ["ahp-root://"]}
        c1 createSession s1 {"workingDirectories": ["file:///home/me/my%20project/"]}
        - agent s1 opened
        - c1 starts t1
        - c1 subscribe s1
        agent s1 chat/activityChanged {"activity": "thinking"}
        agent s1 end t1
        agent s1 chat/activityChanged {"activity": "too late"}
        "#,
        expect![[r#"
            c1 createSession s1 {"workingDirectories": ["file:///home/me/my%20project/"]}
                c1: null
                c1: root/sessionAdded {"summary":{"provider":"shell","title":"","status":1,"project":{"uri":"file:///home/me/my%20project/","displayName":"my project"},"workingDirectories":["file:///home/me/my%20project/"],"annotations":{"resource":"s1/annotations","annotationCount":0,"entryCount":0},"resource":"s1","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":1}],"defaultChat":"s1.chat"}}
                c1: 1 root root/activeSessionsChanged {"activeSessions":1}
                changes s1: mark start
                agent s1: open
            agent s1 chat/activityChanged {"activity": "thinking"}
                c1: 7 s1 session/chatUpdated {"changes":{"activity":"thinking"},"chat":"s1.chat"}
                c1: 8 s1 session/activityChanged {"activity":"thinking"}
                c1: root/sessionSummaryChanged {"changes":{"activity":"thinking"},"session":"s1"}
            agent s1 end t1
                c1: 11 s1 session/chatAdded {"summary":{"resource":"s1.chat","title":"","status":1,"modifiedAt":"2026-01-05T09:00:00.000Z","origin":{"kind":"user"}}}
                c1: 12 s1 session/activityChanged {}
                c1: root/sessionSummaryChanged {"changes":{"status":1,"activity":"","modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":1}]},"session":"s1"}
                changes s1: mark after t1, chat since before t1
            agent s1 chat/activityChanged {"activity": "too late"}
                nothing
        "#]],
    );
}
