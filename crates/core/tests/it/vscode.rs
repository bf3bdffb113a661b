//! Tests with the messages that VS Code 1.139 sends, taken from its wire log and shortened where
//! nothing depends on it.

use expect_test::expect;

use crate::script::check;

const CONNECTED: &str = r#"
    - c1 connect
    - c1 initialize {"protocolVersions": ["0.9.0", "0.7.0", "0.6.0", "0.5.2", "0.5.1"], "clientId": "page", "clientInfo": {"name": "vscode-editor-window", "title": "VS Code"}, "_meta": {"vscode.telemetryLevel": "off", "vscode.clientConnectionKind": "remote_extension_host"}, "initialSubscriptions": ["ahp-root://"]}
    - c2 joins b
    - c2 subscribe root
"#;

/// A session in which VS Code has sent its first message.
const FIRST_MESSAGE_SENT: &str = r#"
    - c1 createSession shell:/1 {"provider": "shell", "workingDirectories": ["file:///proj"], "config": {"isolation": "folder", "autoApprove": "default", "mode": "interactive"}}
    - c1 subscribe shell:/1
    - c1 subscribe ahp-chat://default/c2hlbGw6LzE
    - c1 ! ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"turnId": "request_1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}, "model": {"id": "default"}}}
    - agent shell:/1 in ahp-chat://default/c2hlbGw6LzE opened
"#;

fn connected(script: &str) -> String {
    format!("{CONNECTED}{script}")
}

fn after_first_message(script: &str) -> String {
    format!("{CONNECTED}{FIRST_MESSAGE_SENT}{script}")
}

/// Findings 1, 2, 3 and 9: VS Code creates a session for the selected agent and sends the message
/// at once.
#[test]
fn the_first_message_waits_for_its_session() {
    check(
        &connected(
            r#"
            c1 resolveSessionConfig {"provider": "shell", "workingDirectory": "file:///proj"}
            c1 createSession shell:/1 {"provider": "shell", "workingDirectories": ["file:///proj"], "config": {"isolation": "folder", "autoApprove": "default", "mode": "interactive"}}
            c2 listSessions {}
            - c1 subscribe shell:/1
            - c1 subscribe ahp-chat://default/c2hlbGw6LzE
            c1 ! ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"turnId": "request_1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}, "model": {"id": "default"}}}
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE opened
            "#,
        ),
        expect![[r#"
            c1 resolveSessionConfig {"provider": "shell", "workingDirectory": "file:///proj"}
                c1: schema of [autoApprove, permissions, isolation, branch, worktreeName, worktreeFiles, worktreeIncludeFiles, worktreeSetup], {"autoApprove":"default","isolation":"folder"}
            c1 createSession shell:/1 {"provider": "shell", "workingDirectories": ["file:///proj"], "config": {"isolation": "folder", "autoApprove": "default", "mode": "interactive"}}
                c1: null
            c2 listSessions {}
                c2: sessions []
            c1 ! ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"turnId": "request_1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}, "model": {"id": "default"}}}
                c1: 1 retold ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"message":{"text":"go","origin":{"kind":"user"}},"turnId":"request_1","startedAt":"2026-01-05T09:00:00Z"}
                c1: 2 retold shell:/1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"ahp-chat://default/c2hlbGw6LzE"}
                c1: 3 retold shell:/1 session/titleChanged {"title":"go"}
                c1, c2: root/sessionAdded {"summary":{"provider":"shell","title":"go","status":8,"project":{"uri":"file:///proj","displayName":"proj"},"workingDirectories":["file:///proj"],"annotations":{"resource":"shell:/1/annotations","annotationCount":0,"entryCount":0},"resource":"shell:/1","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00Z","chats":[{"resource":"ahp-chat://default/c2hlbGw6LzE","title":"","origin":{"kind":"user"},"status":8}],"defaultChat":"ahp-chat://default/c2hlbGw6LzE"}}
                c1: 4 retold root root/activeSessionsChanged {"activeSessions":1}
                c2: 4 root root/activeSessionsChanged {"activeSessions":1}
                changes shell:/1: mark start
                agent shell:/1: open
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE opened
                c1: 5 retold shell:/1 session/ready {}
                changes shell:/1: mark before request_1
                agent shell:/1: prompt request_1 "go"
        "#]],
    );
}

/// Finding 3: a session that can't be created reports the error in its turn, where VS Code shows
/// it.
#[test]
fn the_first_message_fails_with_its_session() {
    check(
        &connected(
            r#"
            - c1 createSession shell:/1 {"provider": "shell", "workingDirectories": ["file:///proj"], "config": {"isolation": "folder"}}
            - c1 subscribe ahp-chat://default/c2hlbGw6LzE
            - c1 ! ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"turnId": "request_1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE stopped no such program
            c1 ! ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"turnId": "request_2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
            "#,
        ),
        expect![[r#"
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE stopped no such program
                c1, c2: root/sessionSummaryChanged {"changes":{"status":2,"_meta":{"agenthost.creationError":"no such program"}},"session":"shell:/1"}
                c1: 6 retold ahp-chat://default/c2hlbGw6LzE chat/error {"part":{"kind":"error","error":{"errorType":"test","message":"no such program"}},"turnId":"request_1","duration":0}
                c1, c2: root/sessionSummaryChanged {"changes":{"modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"ahp-chat://default/c2hlbGw6LzE","title":"","origin":{"kind":"user"},"status":2}]},"session":"shell:/1"}
                changes shell:/1: mark after request_1, chat since before request_1
            c1 ! ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"turnId": "request_2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
                c1: 8 retold ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"message":{"text":"go","origin":{"kind":"user"}},"turnId":"request_2","startedAt":"2026-01-05T09:00:00.000Z"}
                c1: 9 retold ahp-chat://default/c2hlbGw6LzE chat/error {"part":{"kind":"error","error":{"errorType":"test","message":"no such program"}},"turnId":"request_2","duration":0}
                changes shell:/1: mark after request_2, chat since before request_1
        "#]],
    );
}

/// Finding 9: VS Code creates a session for each agent that the user looks at.
#[test]
fn provisional_sessions_are_removed_with_their_creator() {
    check(
        &connected(
            r#"
            - c1 createSession shell:/1 {"provider": "shell", "workingDirectories": ["file:///proj"]}
            - c1 createSession other:/2 {"provider": "other", "workingDirectories": ["file:///proj"]}
            c1 disposeSession shell:/1
            c1 disposeSession shell:/1
            c2 listSessions {}
            - c1 leave
            grace page
            c2 subscribe other:/2
            "#,
        ),
        expect![[r#"
            c1 disposeSession shell:/1
                changes shell:/1: forget
                c1: null
            c1 disposeSession shell:/1
                c1: null
            c2 listSessions {}
                c2: sessions []
            grace page
                changes other:/2: forget
            c2 subscribe other:/2
                c2: error -32008 `other:/2` does not exist
        "#]],
    );
}

/// A VS Code page that the host has forgotten keeps its list of sessions, so the host sends the
/// changes, whatever the page subscribes to.
#[test]
fn an_expired_page_receives_changes_of_the_session_list() {
    check(
        &connected(
            r#"
            - c2 createSession shell:/2 {"provider": "shell"}
            - c1 leave
            - grace page
            - wait 86400000
            - c2 disposeSession shell:/2
            - c3 connect
            c3 reconnect {"clientId": "page", "lastSeenServerSeq": 0, "subscriptions": ["ahp-root://"]}
            c3 initialize {"protocolVersions": ["0.9.0"], "clientId": "page", "clientInfo": {"name": "vscode-agent-host-client"}, "initialSubscriptions": ["ahp-root://"]}
            "#,
        ),
        expect![[r#"
            c3 reconnect {"clientId": "page", "lastSeenServerSeq": 0, "subscriptions": ["ahp-root://"]}
                c3: error -32008 client `page` is not known: send `initialize`
            c3 initialize {"protocolVersions": ["0.9.0"], "clientId": "page", "clientInfo": {"name": "vscode-agent-host-client"}, "initialSubscriptions": ["ahp-root://"]}
                c3: version 0.9.0 at 3 with [root]
                c3: root/sessionRemoved {"session":"shell:/2"}
        "#]],
    );
}

/// A value that is not offered is dropped for VS Code, and the others are kept.
#[test]
fn unknown_session_config_values_are_dropped() {
    check(
        &after_first_message(
            r#"
            c1 ! shell:/1 session/configChanged {"config": {"autoApprove": "assisted", "permissions": {"allow": ["shell"]}, "mode": "plan"}}
            c2 ! shell:/1 session/configChanged {"config": {"autoApprove": "assisted", "permissions": {"allow": ["shell"]}}}
            "#,
        ),
        expect![[r#"
            c1 ! shell:/1 session/configChanged {"config": {"autoApprove": "assisted", "permissions": {"allow": ["shell"]}, "mode": "plan"}}
                c1: 6 retold shell:/1 session/configChanged {"config":{"permissions":{"allow":["shell"]}}}
            c2 ! shell:/1 session/configChanged {"config": {"autoApprove": "assisted", "permissions": {"allow": ["shell"]}}}
                c2: 7 rejected: autoApprove: expected one of the values that are offered
        "#]],
    );
}

/// Finding 10: changes of the list of sessions are not replayed, and VS Code does not request the
/// list again.
#[test]
fn a_reconnecting_page_receives_changes_of_the_session_list() {
    check(
        &after_first_message(
            r#"
            - c2 createSession shell:/2 {"provider": "shell"}
            - c1 leave
            - c2 createSession shell:/3 {"provider": "shell"}
            - c2 disposeSession shell:/2
            - agent shell:/1 in ahp-chat://default/c2hlbGw6LzE end request_1
            - c3 connect me was c1
            c3 reconnect {"clientId": "page", "lastSeenServerSeq": 6, "subscriptions": ["ahp-root://", "shell:/1", "ahp-chat://default/c2hlbGw6LzE"]}
            "#,
        ),
        expect![[r#"
            c3 reconnect {"clientId": "page", "lastSeenServerSeq": 6, "subscriptions": ["ahp-root://", "shell:/1", "ahp-chat://default/c2hlbGw6LzE"]}
                c3: replay (6, 11] of [root, shell:/1, ahp-chat://default/c2hlbGw6LzE], missing []
                c3: root/sessionRemoved {"session":"shell:/2"}
                c3: root/sessionSummaryChanged {"changes":{"title":"go","status":1,"activity":"","project":{"uri":"file:///proj","displayName":"proj"},"workingDirectories":["file:///proj"],"annotations":{"resource":"shell:/1/annotations","annotationCount":0,"entryCount":0},"modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"ahp-chat://default/c2hlbGw6LzE","title":"","origin":{"kind":"user"},"status":1}],"defaultChat":"ahp-chat://default/c2hlbGw6LzE"},"session":"shell:/1"}
                c3: root/sessionAdded {"summary":{"provider":"shell","title":"","status":1,"annotations":{"resource":"shell:/3/annotations","annotationCount":0,"entryCount":0},"resource":"shell:/3","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"ahp-chat://default/c2hlbGw6LzM","title":"","origin":{"kind":"user"},"status":1}],"defaultChat":"ahp-chat://default/c2hlbGw6LzM"}}
        "#]],
    );
}

/// Finding 11: VS Code renames a session by an action on its default chat.
#[test]
fn a_rename_of_the_default_chat_renames_the_session() {
    check(
        &after_first_message(
            r#"
            c1 ! ahp-chat://default/c2hlbGw6LzE session/titleChanged {"title": "Better"}
            - c1 createChat shell:/1 {"chat": "ahp-chat://fork/c2hlbGw6LzE"}
            - c1 subscribe ahp-chat://fork/c2hlbGw6LzE
            c1 ! ahp-chat://fork/c2hlbGw6LzE session/titleChanged {"title": "Not the session"}
            "#,
        ),
        expect![[r#"
            c1 ! ahp-chat://default/c2hlbGw6LzE session/titleChanged {"title": "Better"}
                c1: 6 retold shell:/1 session/titleChanged {"title":"Better"}
                c1, c2: root/sessionSummaryChanged {"changes":{"title":"Better"},"session":"shell:/1"}
                c1: 7 shown session/titleChanged {"title":"Better"}
            c1 ! ahp-chat://fork/c2hlbGw6LzE session/titleChanged {"title": "Not the session"}
                c1: 9 rejected: the agent does not support renaming this chat
        "#]],
    );
}

/// Finding 12: VS Code requests completions for the session instead of a chat.
#[test]
fn completions_for_a_session_are_those_of_its_default_chat() {
    check(
        &after_first_message(
            r#"
            c1 completions shell:/1 {"kind": "userMessage", "text": "@a", "offset": 2}
            c2 completions shell:/1 {"kind": "userMessage", "text": "@a", "offset": 2}
            "#,
        ),
        expect![[r#"
            c1 completions shell:/1 {"kind": "userMessage", "text": "@a", "offset": 2}
                find "a" in [file:///proj]
            c2 completions shell:/1 {"kind": "userMessage", "text": "@a", "offset": 2}
                c2: error -32001 there is no session or chat `shell:/1`
        "#]],
    );
}

/// Finding 14: an option that VS Code selects for each message is not offered for the session, too.
#[test]
fn models_are_offered_once() {
    check(
        &after_first_message(
            r#"
            - agent shell:/1 in ahp-chat://default/c2hlbGw6LzE options {"type": "object", "properties": {"model": {"type": "string", "title": "Model", "enum": ["m1", "m2"]}, "mode": {"type": "string", "title": "Mode", "enum": ["ask", "code"]}}} {"model": "m1"}
            c1 resolveSessionConfig {"provider": "shell", "workingDirectory": "file:///proj", "config": {"isolation": "folder", "autoApprove": "default", "mode": "interactive"}}
            restart
            c3 connect
            c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "c", "initialSubscriptions": ["ahp-root://"]}
            c3 resolveSessionConfig {"provider": "shell", "workingDirectory": "file:///proj"}
            "#,
        ),
        expect![[r#"
            c1 resolveSessionConfig {"provider": "shell", "workingDirectory": "file:///proj", "config": {"isolation": "folder", "autoApprove": "default", "mode": "interactive"}}
                c1: schema of [mode, autoApprove, permissions, isolation, branch, worktreeName, worktreeFiles, worktreeIncludeFiles, worktreeSetup], {"isolation":"folder","autoApprove":"default"}
            restart
                changes shell:/1: mark after request_1, chat since before request_1
            c3 connect
                nothing
            c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "c", "initialSubscriptions": ["ahp-root://"]}
                c3: version 1.0.0 at 8 with [root]
            c3 resolveSessionConfig {"provider": "shell", "workingDirectory": "file:///proj"}
                c3: schema of [mode, autoApprove, permissions, isolation, branch, worktreeName, worktreeFiles, worktreeIncludeFiles, worktreeSetup], {"autoApprove":"default","isolation":"folder"}
        "#]],
    );
}

/// Finding 15: VS Code sends settings that the host does not have. They are left out and the others
/// are applied; for another client, the action is refused.
#[test]
fn unknown_host_settings_are_ignored() {
    check(
        &connected(
            r#"
            c1 ! root root/configChanged {"config": {"http.proxy": "", "defaultAgent": "other", "telemetryLevel": "off"}}
            c1 ! root root/configChanged {"config": {"workspaceTrust": {"enabled": true, "trustedUris": ["file:///proj"]}}}
            c2 ! root root/configChanged {"config": {"telemetryLevel": "off"}}
            "#,
        ),
        expect![[r#"
            c1 ! root root/configChanged {"config": {"http.proxy": "", "defaultAgent": "other", "telemetryLevel": "off"}}
                c1: 1 retold root root/configChanged {"config":{"defaultAgent":"other"}}
                c2: 1 root by page root/configChanged {"config":{"defaultAgent":"other"}}
            c1 ! root root/configChanged {"config": {"workspaceTrust": {"enabled": true, "trustedUris": ["file:///proj"]}}}
                c1: 2 retold root root/configChanged {"config":{}}
                c2: 2 root by page root/configChanged {"config":{}}
            c2 ! root root/configChanged {"config": {"telemetryLevel": "off"}}
                c2: 3 rejected: `telemetryLevel`: there is no such setting
        "#]],
    );
}

/// VS Code does not show why a turn was refused, so the host leaves out a model that is gone.
#[test]
fn an_unavailable_model_is_removed_from_the_message() {
    check(
        &after_first_message(
            r#"
            - agent shell:/1 in ahp-chat://default/c2hlbGw6LzE end request_1
            c1 ! ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"turnId": "request_2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "again", "origin": {"kind": "user"}, "model": {"id": "gone"}, "attachments": [{"type": "resource", "uri": "vscode-remote://127.0.0.1:8080/proj/a.txt", "label": "a.txt", "displayKind": "document"}]}}
            "#,
        ),
        expect![[r#"
            c1 ! ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"turnId": "request_2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "again", "origin": {"kind": "user"}, "model": {"id": "gone"}, "attachments": [{"type": "resource", "uri": "vscode-remote://127.0.0.1:8080/proj/a.txt", "label": "a.txt", "displayKind": "document"}]}}
                c1: 8 retold ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"message":{"text":"again","origin":{"kind":"user"},"attachments":[{"type":"resource","label":"a.txt","displayKind":"document","uri":"file:///proj/a.txt"}]},"turnId":"request_2","startedAt":"2026-01-05T09:00:00Z"}
                c1: 9 retold shell:/1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"ahp-chat://default/c2hlbGw6LzE"}
                c1, c2: root/sessionSummaryChanged {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z","chats":[{"resource":"ahp-chat://default/c2hlbGw6LzE","title":"","origin":{"kind":"user"},"status":8}]},"session":"shell:/1"}
                changes shell:/1: mark before request_2
                agent shell:/1: prompt request_2 "again"
        "#]],
    );
}

/// VS Code sends numbers as text, because it has only a text field for them.
#[test]
fn numeric_answers_are_parsed_from_text() {
    check(
        &after_first_message(
            r#"
            - agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/inputRequested {"request": {"id": "r", "message": "How many?", "questions": [{"kind": "integer", "id": "n", "message": "Number"}]}}
            c1 ! ahp-chat://default/c2hlbGw6LzE chat/inputCompleted {"requestId": "r", "response": "accept", "answers": {"n": {"state": "submitted", "value": {"kind": "text", "value": "3"}}, "answer": {"state": "submitted", "value": {"kind": "text", "value": "3"}}}}
            "#,
        ),
        expect![[r#"
            c1 ! ahp-chat://default/c2hlbGw6LzE chat/inputCompleted {"requestId": "r", "response": "accept", "answers": {"n": {"state": "submitted", "value": {"kind": "text", "value": "3"}}, "answer": {"state": "submitted", "value": {"kind": "text", "value": "3"}}}}
                c1: 9 retold ahp-chat://default/c2hlbGw6LzE chat/inputCompleted {"answers":{"n":{"state":"submitted","value":{"kind":"number","value":3}}},"requestId":"r","response":"accept"}
                c1: 10 retold shell:/1 session/chatUpdated {"changes":{"status":8},"chat":"ahp-chat://default/c2hlbGw6LzE"}
                c1, c2: root/sessionSummaryChanged {"changes":{"status":8,"chats":[{"resource":"ahp-chat://default/c2hlbGw6LzE","title":"","origin":{"kind":"user"},"status":8}]},"session":"shell:/1"}
                c1: 11 retold shell:/1 session/inputNeededRemoved {"id":"input:r@ahp-chat://default/c2hlbGw6LzE"}
                agent shell:/1: answer r accept {"n":{"state":"submitted","value":{"kind":"number","value":3}}}
                c1: 12 retold shell:/1 session/metaChanged {"_meta":{"agenthost.answeredForms":[{"name":"VS Code","clientId":"page","chat":"ahp-chat://default/c2hlbGw6LzE","requestId":"r"}]}}
        "#]],
    );
}

/// The permissions of a session answer tool confirmations for the user.
#[test]
fn session_permissions_approve_tool_calls() {
    check(
        &after_first_message(
            r#"
            - agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallStart {"turnId": "request_1", "toolCallId": "a", "toolName": "sh", "displayName": "Shell"}
            - agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"turnId": "request_1", "toolCallId": "a", "invocationMessage": "Run ls", "toolInput": "ls", "options": [{"id": "y", "label": "Yes", "kind": "approve"}, {"id": "n", "label": "No", "kind": "deny"}]}
            c1 ! ahp-chat://default/c2hlbGw6LzE chat/toolCallConfirmed {"turnId": "request_1", "toolCallId": "a", "approved": true, "confirmed": "user-action", "selectedOptionId": "agenthost.allow-session"}
            - agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallStart {"turnId": "request_1", "toolCallId": "b", "toolName": "sh", "displayName": "Shell"}
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"turnId": "request_1", "toolCallId": "b", "invocationMessage": "Run ls", "toolInput": "ls", "options": [{"id": "y", "label": "Yes", "kind": "approve"}, {"id": "n", "label": "No", "kind": "deny"}]}
            - c1 ! shell:/1 session/configChanged {"config": {"permissions": {"allow": [], "deny": ["sh"]}}}
            - agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallStart {"turnId": "request_1", "toolCallId": "c", "toolName": "sh", "displayName": "Shell"}
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"turnId": "request_1", "toolCallId": "c", "invocationMessage": "Run ls", "toolInput": "ls", "options": [{"id": "y", "label": "Yes", "kind": "approve"}, {"id": "n", "label": "No", "kind": "deny"}]}
            - c1 ! shell:/1 session/configChanged {"config": {"autoApprove": "autoApprove", "permissions": {"allow": [], "deny": []}}}
            - agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallStart {"turnId": "request_1", "toolCallId": "d", "toolName": "edit", "displayName": "Edit"}
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"turnId": "request_1", "toolCallId": "d", "invocationMessage": "Edit", "options": [{"id": "y", "label": "Yes", "kind": "approve"}]}
            "#,
        ),
        expect![[r#"
            c1 ! ahp-chat://default/c2hlbGw6LzE chat/toolCallConfirmed {"turnId": "request_1", "toolCallId": "a", "approved": true, "confirmed": "user-action", "selectedOptionId": "agenthost.allow-session"}
                c1: 10 retold ahp-chat://default/c2hlbGw6LzE chat/toolCallConfirmed {"selectedOptionId":"agenthost.allow-session","turnId":"request_1","toolCallId":"a","_meta":{"agenthost.answeredBy":{"name":"VS Code","clientId":"page"}},"approved":true,"confirmed":"user-action"}
                c1: 11 retold shell:/1 session/chatUpdated {"changes":{"status":8},"chat":"ahp-chat://default/c2hlbGw6LzE"}
                c1, c2: root/sessionSummaryChanged {"changes":{"status":8,"chats":[{"resource":"ahp-chat://default/c2hlbGw6LzE","title":"","origin":{"kind":"user"},"status":8}]},"session":"shell:/1"}
                c1: 12 retold shell:/1 session/inputNeededRemoved {"id":"confirm:a@ahp-chat://default/c2hlbGw6LzE"}
                c1: 13 retold shell:/1 session/configChanged {"config":{"permissions":{"allow":["sh"]}}}
                agent shell:/1: decide a Approved { option: None, edited_input: None }
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"turnId": "request_1", "toolCallId": "b", "invocationMessage": "Run ls", "toolInput": "ls", "options": [{"id": "y", "label": "Yes", "kind": "approve"}, {"id": "n", "label": "No", "kind": "deny"}]}
                c1: 15 retold ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"confirmed":"setting","turnId":"request_1","toolCallId":"b","invocationMessage":"Run ls","toolInput":"ls","options":[{"id":"y","label":"Yes","kind":"approve"},{"id":"n","label":"No","kind":"deny"}]}
                agent shell:/1: decide b Approved { option: None, edited_input: None }
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"turnId": "request_1", "toolCallId": "c", "invocationMessage": "Run ls", "toolInput": "ls", "options": [{"id": "y", "label": "Yes", "kind": "approve"}, {"id": "n", "label": "No", "kind": "deny"}]}
                c1: 18 retold ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"options":[{"id":"y","label":"Yes","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"},{"id":"n","label":"No","kind":"deny"}],"turnId":"request_1","toolCallId":"c","invocationMessage":"Run ls","toolInput":"ls"}
                c1: 19 retold shell:/1 session/chatUpdated {"changes":{"status":24},"chat":"ahp-chat://default/c2hlbGw6LzE"}
                c1, c2: root/sessionSummaryChanged {"changes":{"status":24,"chats":[{"resource":"ahp-chat://default/c2hlbGw6LzE","title":"","origin":{"kind":"user"},"status":24}]},"session":"shell:/1"}
                c1: 20 retold shell:/1 session/inputNeededSet {"request":{"kind":"toolConfirmation","id":"confirm:c@ahp-chat://default/c2hlbGw6LzE","chat":"ahp-chat://default/c2hlbGw6LzE","turnId":"request_1","toolCall":{"status":"pending-confirmation","toolCallId":"c","toolName":"sh","displayName":"Shell","invocationMessage":"Run ls","toolInput":"ls","options":[{"id":"y","label":"Yes","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"},{"id":"n","label":"No","kind":"deny"}]}}}
                c1: 21 retold ahp-chat://default/c2hlbGw6LzE chat/toolCallConfirmed {"reasonMessage":"The session's permissions deny this tool","turnId":"request_1","toolCallId":"c","approved":false,"reason":"denied"}
                c1: 22 retold shell:/1 session/chatUpdated {"changes":{"status":8},"chat":"ahp-chat://default/c2hlbGw6LzE"}
                c1, c2: root/sessionSummaryChanged {"changes":{"status":8,"chats":[{"resource":"ahp-chat://default/c2hlbGw6LzE","title":"","origin":{"kind":"user"},"status":8}]},"session":"shell:/1"}
                c1: 23 retold shell:/1 session/inputNeededRemoved {"id":"confirm:c@ahp-chat://default/c2hlbGw6LzE"}
                agent shell:/1: decide c Denied { option: None, reason: Denied, suggestion: None }
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"turnId": "request_1", "toolCallId": "d", "invocationMessage": "Edit", "options": [{"id": "y", "label": "Yes", "kind": "approve"}]}
                c1: 26 retold ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"confirmed":"setting","turnId":"request_1","toolCallId":"d","invocationMessage":"Edit","options":[{"id":"y","label":"Yes","kind":"approve"}]}
                agent shell:/1: decide d Approved { option: None, edited_input: None }
        "#]],
    );
}

/// The host is killed after VS Code has created a session and before the first message.
#[test]
fn a_provisional_session_survives_a_restart() {
    check(
        &connected(
            r#"
            - c1 createSession shell:/1 {"provider": "shell", "workingDirectories": ["file:///proj"]}
            - restart
            - c3 connect
            - c3 reconnect {"clientId": "page", "lastSeenServerSeq": 0, "subscriptions": ["ahp-root://", "shell:/1", "ahp-chat://default/c2hlbGw6LzE"]}
            c3 ! ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"turnId": "request_1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE opened
            "#,
        ),
        expect![[r#"
            c3 ! ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"turnId": "request_1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
                c3: 1 retold ahp-chat://default/c2hlbGw6LzE chat/turnStarted {"message":{"text":"go","origin":{"kind":"user"}},"turnId":"request_1","startedAt":"2026-01-05T09:00:00Z"}
                c3: 2 retold shell:/1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"ahp-chat://default/c2hlbGw6LzE"}
                c3: 3 retold shell:/1 session/titleChanged {"title":"go"}
                c3: root/sessionAdded {"summary":{"provider":"shell","title":"go","status":8,"project":{"uri":"file:///proj","displayName":"proj"},"workingDirectories":["file:///proj"],"annotations":{"resource":"shell:/1/annotations","annotationCount":0,"entryCount":0},"resource":"shell:/1","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00Z","chats":[{"resource":"ahp-chat://default/c2hlbGw6LzE","title":"","origin":{"kind":"user"},"status":8}],"defaultChat":"ahp-chat://default/c2hlbGw6LzE"}}
                c3: 4 retold root root/activeSessionsChanged {"activeSessions":1}
                changes shell:/1: mark start
                agent shell:/1: open
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE opened
                c3: 5 retold shell:/1 session/ready {}
                changes shell:/1: mark before request_1
                agent shell:/1: prompt request_1 "go"
        "#]],
    );
}

/// Permissions apply to the kind of tool that a confirmation names, which may differ from how the
/// call began. A call that offers only lasting approval is not approved automatically.
#[test]
fn permissions_apply_to_the_tool_kind_of_the_request() {
    check(
        &after_first_message(
            r#"
            - c1 ! shell:/1 session/configChanged {"config": {"permissions": {"allow": ["edit"], "deny": ["fetch"]}}}
            - agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallStart {"turnId": "request_1", "toolCallId": "a", "toolName": "edit", "displayName": "Edit"}
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"turnId": "request_1", "toolCallId": "a", "invocationMessage": "Run", "_meta": {"kind": "execute"}, "options": [{"id": "y", "label": "Yes", "kind": "approve"}]}
            - agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallStart {"turnId": "request_1", "toolCallId": "b", "toolName": "edit", "displayName": "Edit"}
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"turnId": "request_1", "toolCallId": "b", "invocationMessage": "Fetch", "_meta": {"kind": "fetch"}, "options": [{"id": "y", "label": "Yes", "kind": "approve"}]}
            - c1 ! shell:/1 session/configChanged {"config": {"autoApprove": "autoApprove"}}
            - agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallStart {"turnId": "request_1", "toolCallId": "c", "toolName": "edit", "displayName": "Edit"}
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"turnId": "request_1", "toolCallId": "c", "invocationMessage": "Edit", "_meta": {"kind": "edit", "permissionKinds": {"y": "allow_always"}}, "options": [{"id": "y", "label": "Always", "kind": "approve"}]}
            "#,
        ),
        expect![[r#"
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"turnId": "request_1", "toolCallId": "a", "invocationMessage": "Run", "_meta": {"kind": "execute"}, "options": [{"id": "y", "label": "Yes", "kind": "approve"}]}
                c1: 8 retold ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"options":[{"id":"y","label":"Yes","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"}],"turnId":"request_1","toolCallId":"a","_meta":{"kind":"execute"},"invocationMessage":"Run"}
                c1: 9 retold shell:/1 session/chatUpdated {"changes":{"status":24},"chat":"ahp-chat://default/c2hlbGw6LzE"}
                c1, c2: root/sessionSummaryChanged {"changes":{"status":24,"chats":[{"resource":"ahp-chat://default/c2hlbGw6LzE","title":"","origin":{"kind":"user"},"status":24}]},"session":"shell:/1"}
                c1: 10 retold shell:/1 session/inputNeededSet {"request":{"kind":"toolConfirmation","id":"confirm:a@ahp-chat://default/c2hlbGw6LzE","chat":"ahp-chat://default/c2hlbGw6LzE","turnId":"request_1","toolCall":{"status":"pending-confirmation","toolCallId":"a","toolName":"edit","displayName":"Edit","_meta":{"kind":"execute"},"invocationMessage":"Run","options":[{"id":"y","label":"Yes","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"}]}}}
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"turnId": "request_1", "toolCallId": "b", "invocationMessage": "Fetch", "_meta": {"kind": "fetch"}, "options": [{"id": "y", "label": "Yes", "kind": "approve"}]}
                c1: 12 retold ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"options":[{"id":"y","label":"Yes","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"}],"turnId":"request_1","toolCallId":"b","_meta":{"kind":"fetch"},"invocationMessage":"Fetch"}
                c1: 13 retold shell:/1 session/inputNeededSet {"request":{"kind":"toolConfirmation","id":"confirm:b@ahp-chat://default/c2hlbGw6LzE","chat":"ahp-chat://default/c2hlbGw6LzE","turnId":"request_1","toolCall":{"status":"pending-confirmation","toolCallId":"b","toolName":"edit","displayName":"Edit","_meta":{"kind":"fetch"},"invocationMessage":"Fetch","options":[{"id":"y","label":"Yes","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"}]}}}
                c1: 14 retold ahp-chat://default/c2hlbGw6LzE chat/toolCallConfirmed {"reasonMessage":"The session's permissions deny this tool","turnId":"request_1","toolCallId":"b","_meta":{"kind":"fetch"},"approved":false,"reason":"denied"}
                c1: 15 retold shell:/1 session/inputNeededRemoved {"id":"confirm:b@ahp-chat://default/c2hlbGw6LzE"}
                agent shell:/1: decide b Denied { option: None, reason: Denied, suggestion: None }
            agent shell:/1 in ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"turnId": "request_1", "toolCallId": "c", "invocationMessage": "Edit", "_meta": {"kind": "edit", "permissionKinds": {"y": "allow_always"}}, "options": [{"id": "y", "label": "Always", "kind": "approve"}]}
                c1: 18 retold ahp-chat://default/c2hlbGw6LzE chat/toolCallReady {"options":[{"id":"y","label":"Always","kind":"approve"}],"turnId":"request_1","toolCallId":"c","_meta":{"kind":"edit","permissionKinds":{"y":"allow_always"}},"invocationMessage":"Edit"}
                c1: 19 retold shell:/1 session/inputNeededSet {"request":{"kind":"toolConfirmation","id":"confirm:c@ahp-chat://default/c2hlbGw6LzE","chat":"ahp-chat://default/c2hlbGw6LzE","turnId":"request_1","toolCall":{"status":"pending-confirmation","toolCallId":"c","toolName":"edit","displayName":"Edit","_meta":{"kind":"edit","permissionKinds":{"y":"allow_always"}},"invocationMessage":"Edit","options":[{"id":"y","label":"Always","kind":"approve"}]}}}
        "#]],
    );
}

/// Of the sessions without a message that a page creates, the host keeps only the latest.
#[test]
fn the_number_of_provisional_sessions_is_limited() {
    let create =
        |number| format!(r#"- c1 createSession shell:/{number} {{"provider": "shell"}}"#) + "\n";
    let creates: String = (0..25).map(create).collect();
    check(
        &connected(&format!(
            "{creates}c1 subscribe shell:/0\nc1 subscribe shell:/24\n"
        )),
        expect![[r#"
            c1 subscribe shell:/0
                c1: error -32008 `shell:/0` does not exist
            c1 subscribe shell:/24
                c1: snapshot of shell:/24 at 5
        "#]],
    );
}
