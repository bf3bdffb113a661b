//! Sessions.

use agenthost_protocol::wire::Json;
use expect_test::expect;
use serde_json::json;

use super::check;

fn session() -> Json {
    json!({
        "provider": "shell",
        "title": "session",
        "status": 1,
        "lifecycle": "creating",
        "workingDirectories": ["file:///a", "file:///b", "file:///c"],
        "activeClients": [{"clientId": "c1", "tools": []}],
        "chats": [
            {"resource": "ahp-chat:/1", "title": "one", "status": 1, "modifiedAt": "2026-01-01T00:00:00Z"},
            {"resource": "ahp-chat:/2", "title": "two", "status": 1, "modifiedAt": "2026-01-01T00:00:00Z"},
        ],
        "defaultChat": "ahp-chat:/1",
        "config": {"schema": {"type": "object", "properties": {}}, "values": {"mode": "ask", "n": 1}},
        "customizations": [
            {
                "type": "plugin", "id": "plugin", "uri": "file:///p", "name": "P",
                "children": [
                    {"type": "skill", "id": "skill", "uri": "file:///p/s", "name": "S"},
                    {"type": "mcpServer", "id": "inner", "uri": "file:///p", "name": "I", "state": {"kind": "starting", "blocking": true}},
                ],
            },
            {"type": "directory", "id": "dir", "uri": "file:///d", "name": "D", "enabled": true, "contents": "rule", "writable": false},
            {"type": "mcpServer", "id": "srv", "uri": "file:///m", "name": "M", "state": {"kind": "ready"}, "channel": "mcp:/m"},
        ],
    })
}

fn waiting() -> Json {
    let mut session = session();
    session["status"] = json!(24);
    session["inputNeeded"] = json!([
        {"kind": "chatInput", "id": "i1", "chat": "ahp-chat:/1", "request": {"id": "q1"}},
    ]);
    session
}

#[test]
fn lifecycle_actions_are_reduced() {
    check(
        &session(),
        expect![[r#"
            session/ready
                lifecycle: "creating" -> "ready"
            session/creationFailed {"error": {"errorType": "spawn", "message": "no such file"}}
                lifecycle: "creating" -> "failed"
                creationError: (none) -> {"errorType":"spawn","message":"no such file"}
        "#]],
    );
}

#[test]
fn chat_list_actions_are_reduced() {
    check(
        &session(),
        expect![[r#"
            session/chatAdded {"summary": {"resource": "ahp-chat:/3", "title": "three", "status": 1, "modifiedAt": "2026-01-01T00:00:00Z"}}
                chats[2]: (none) -> {"resource":"ahp-chat:/3","title":"three","status":1,"modifiedAt":"2026-01-01T00:00:00Z"}
            session/chatAdded {"summary": {"resource": "ahp-chat:/1", "title": "uno", "status": 8, "modifiedAt": "2026-01-02T00:00:00Z"}}
                chats[0].title: "one" -> "uno"
                chats[0].status: 1 -> 8
                chats[0].modifiedAt: "2026-01-01T00:00:00Z" -> "2026-01-02T00:00:00Z"
            session/chatRemoved {"chat": "ahp-chat:/1"}
                chats[0].resource: "ahp-chat:/1" -> "ahp-chat:/2"
                chats[0].title: "one" -> "two"
                chats[1]: {"resource":"ahp-chat:/2","title":"two","status":1,"modifiedAt":"2026-01-01T00:00:00Z"} -> (none)
                defaultChat: "ahp-chat:/1" -> (none)
            session/chatRemoved {"chat": "ahp-chat:/2"}
                chats[1]: {"resource":"ahp-chat:/2","title":"two","status":1,"modifiedAt":"2026-01-01T00:00:00Z"} -> (none)
            session/chatRemoved {"chat": "ahp-chat:/9"}
                no-op
            session/chatUpdated {"chat": "ahp-chat:/2", "changes": {"resource": "ahp-chat:/x", "title": "zwei", "status": 8, "activity": "busy", "modifiedAt": "2026-01-02T00:00:00Z", "changes": {"files": 1}, "origin": {"kind": "user"}, "movable": true, "interactivity": "read-only", "workingDirectories": []}}
                chats[1].title: "two" -> "zwei"
                chats[1].status: 1 -> 8
                chats[1].modifiedAt: "2026-01-01T00:00:00Z" -> "2026-01-02T00:00:00Z"
                chats[1].activity: (none) -> "busy"
                chats[1].changes: (none) -> {"files":1}
                chats[1].origin: (none) -> {"kind":"user"}
                chats[1].movable: (none) -> true
                chats[1].interactivity: (none) -> "read-only"
                chats[1].workingDirectories: (none) -> []
            session/chatUpdated {"chat": "ahp-chat:/2", "changes": {}}
                the same
            session/chatUpdated {"chat": "ahp-chat:/9", "changes": {"title": "?"}}
                no-op
            session/chatsReordered {"chats": ["ahp-chat:/2", "ahp-chat:/1"]}
                chats[0].resource: "ahp-chat:/1" -> "ahp-chat:/2"
                chats[0].title: "one" -> "two"
                chats[1].resource: "ahp-chat:/2" -> "ahp-chat:/1"
                chats[1].title: "two" -> "one"
            session/chatsReordered {"chats": ["ahp-chat:/1", "ahp-chat:/2"]}
                no-op
            session/chatsReordered {"chats": ["ahp-chat:/2"]}
                no-op
            session/chatsReordered {"chats": ["ahp-chat:/2", "ahp-chat:/2"]}
                no-op
            session/chatsReordered {"chats": ["ahp-chat:/2", "ahp-chat:/9"]}
                no-op
            session/defaultChatChanged {"defaultChat": "ahp-chat:/2"}
                defaultChat: "ahp-chat:/1" -> "ahp-chat:/2"
            session/defaultChatChanged
                defaultChat: "ahp-chat:/1" -> (none)
        "#]],
    );
}

#[test]
fn active_client_actions_are_reduced() {
    check(
        &session(),
        expect![[r#"
            session/activeClientSet {"activeClient": {"clientId": "c2", "tools": [{"name": "open"}]}}
                activeClients[1]: (none) -> {"clientId":"c2","tools":[{"name":"open"}]}
            session/activeClientSet {"activeClient": {"clientId": "c1", "displayName": "Editor", "tools": []}}
                activeClients[0].displayName: (none) -> "Editor"
            session/activeClientRemoved {"clientId": "c1"}
                activeClients[0]: {"clientId":"c1","tools":[]} -> (none)
            session/activeClientRemoved {"clientId": "c9"}
                no-op
            session/serverToolsChanged {"tools": [{"name": "sh"}]}
                serverTools: (none) -> [{"name":"sh"}]
        "#]],
    );
}

/// DIR-5, with its own examples.
#[test]
fn directories_are_replaced_in_place() {
    check(
        &session(),
        expect![[r#"
            session/workingDirectorySet {"directory": "file:///d"}
                workingDirectories[3]: (none) -> "file:///d"
            session/workingDirectorySet {"directory": "file:///a"}
                no-op
            session/workingDirectoryRemoved {"directory": "file:///a"}
                workingDirectories[0]: "file:///a" -> "file:///b"
                workingDirectories[1]: "file:///b" -> "file:///c"
                workingDirectories[2]: "file:///c" -> (none)
            session/workingDirectoryRemoved {"directory": "file:///d"}
                no-op
            session/workingDirectoryReplaced {"directory": "file:///a", "replacement": "file:///x"}
                workingDirectories[0]: "file:///a" -> "file:///x"
            session/workingDirectoryReplaced {"directory": "file:///b", "replacement": "file:///c"}
                workingDirectories[1]: "file:///b" -> "file:///c"
                workingDirectories[2]: "file:///c" -> (none)
            session/workingDirectoryReplaced {"directory": "file:///c", "replacement": "file:///a"}
                workingDirectories[2]: "file:///c" -> (none)
            session/workingDirectoryReplaced {"directory": "file:///a", "replacement": "file:///a"}
                the same
            session/workingDirectoryReplaced {"directory": "file:///x", "replacement": "file:///a"}
                no-op
        "#]],
    );
    let mut bare = session();
    bare.as_object_mut().unwrap().remove("workingDirectories");
    check(
        &bare,
        expect![[r#"
            session/workingDirectorySet {"directory": "file:///a"}
                workingDirectories: (none) -> ["file:///a"]
            session/workingDirectoryRemoved {"directory": "file:///a"}
                no-op
            session/workingDirectoryReplaced {"directory": "file:///a", "replacement": "file:///b"}
                no-op
        "#]],
    );
}

/// AGG-5, AGG-6, AGG-7.
#[test]
fn needed_input_is_reduced() {
    check(
        &session(),
        expect![[r#"
            session/inputNeededSet {"request": {"kind": "chatInput", "id": "i1", "chat": "ahp-chat:/1", "request": {"id": "q1"}}}
                status: 1 -> 24
                inputNeeded: (none) -> [{"kind":"chatInput","id":"i1","chat":"ahp-chat:/1","request":{"id":"q1"}}]
            session/inputNeededSet {"request": {"kind": "toolClientExecution", "id": "i2", "chat": "ahp-chat:/1", "turnId": "t1", "clientId": "c1", "toolCall": {"status": "running", "toolCallId": "tc", "toolName": "open", "displayName": "Open", "invocationMessage": "Open it", "confirmed": "not-needed"}}}
                inputNeeded: (none) -> [{"kind":"toolClientExecution","id":"i2","chat":"ahp-chat:/1","turnId":"t1","clientId":"c1","toolCall":{"status":"running","toolCallId":"tc","toolName":"open","displayName":"Open","invocationMessage":"Open it","confirmed":"not-needed"}}]
            session/inputNeededSet {"request": {"kind": "fromTheFuture", "id": "i3"}}
                status: 1 -> 24
                inputNeeded: (none) -> [{"kind":"fromTheFuture","id":"i3"}]
            session/inputNeededSet {"request": {"kind": "fromTheFuture"}}
                no-op
            session/inputNeededRemoved {"id": "i1"}
                no-op
        "#]],
    );
    check(
        &waiting(),
        expect![[r#"
            session/inputNeededSet {"request": {"kind": "chatInput", "id": "i1", "chat": "ahp-chat:/1", "request": {"id": "q1", "message": "Well?"}}}
                inputNeeded[0].request.message: (none) -> "Well?"
            session/inputNeededRemoved {"id": "i1"}
                status: 24 -> 8
                inputNeeded: [{"kind":"chatInput","id":"i1","chat":"ahp-chat:/1","request":{"id":"q1"}}] -> (none)
            session/inputNeededRemoved {"id": "i9"}
                no-op
        "#]],
    );
}

#[test]
fn customization_actions_are_reduced() {
    check(
        &session(),
        expect![[r#"
            session/customizationsChanged {"customizations": []}
                customizations[0]: {"type":"plugin","id":"plugin","uri":"file:///p","name":"P","children":[{"type":"skill","id":"skill","uri":"file:///p/s","name":"S"},{"type":"mcpServer","id":"inner","uri":"file:///p","name":"I","state":{"kind":"starting","blocking":true}}]} -> (none)
                customizations[1]: {"type":"directory","id":"dir","uri":"file:///d","name":"D","enabled":true,"contents":"rule","writable":false} -> (none)
                customizations[2]: {"type":"mcpServer","id":"srv","uri":"file:///m","name":"M","state":{"kind":"ready"},"channel":"mcp:/m"} -> (none)
            session/customizationUpdated {"customization": {"type": "directory", "id": "dir", "uri": "file:///d", "name": "D2", "enabled": true, "contents": "rule", "writable": true}}
                customizations[1].name: "D" -> "D2"
                customizations[1].writable: false -> true
            session/customizationUpdated {"customization": {"type": "plugin", "id": "new", "uri": "file:///n", "name": "N"}}
                customizations[3]: (none) -> {"type":"plugin","id":"new","uri":"file:///n","name":"N"}
            session/customizationUpdated {"customization": {"type": "fromTheFuture", "id": "plugin"}}
                no-op
            session/customizationRemoved {"id": "plugin"}
                customizations[0].type: "plugin" -> "directory"
                customizations[0].id: "plugin" -> "dir"
                customizations[0].uri: "file:///p" -> "file:///d"
                customizations[0].name: "P" -> "D"
                customizations[0].children: [{"type":"skill","id":"skill","uri":"file:///p/s","name":"S"},{"type":"mcpServer","id":"inner","uri":"file:///p","name":"I","state":{"kind":"starting","blocking":true}}] -> (none)
                customizations[0].enabled: (none) -> true
                customizations[0].contents: (none) -> "rule"
                customizations[0].writable: (none) -> false
                customizations[1].type: "directory" -> "mcpServer"
                customizations[1].id: "dir" -> "srv"
                customizations[1].uri: "file:///d" -> "file:///m"
                customizations[1].name: "D" -> "M"
                customizations[1].enabled: true -> (none)
                customizations[1].contents: "rule" -> (none)
                customizations[1].writable: false -> (none)
                customizations[1].state: (none) -> {"kind":"ready"}
                customizations[1].channel: (none) -> "mcp:/m"
                customizations[2]: {"type":"mcpServer","id":"srv","uri":"file:///m","name":"M","state":{"kind":"ready"},"channel":"mcp:/m"} -> (none)
            session/customizationRemoved {"id": "skill"}
                customizations[0].children[0].type: "skill" -> "mcpServer"
                customizations[0].children[0].id: "skill" -> "inner"
                customizations[0].children[0].uri: "file:///p/s" -> "file:///p"
                customizations[0].children[0].name: "S" -> "I"
                customizations[0].children[0].state: (none) -> {"kind":"starting","blocking":true}
                customizations[0].children[1]: {"type":"mcpServer","id":"inner","uri":"file:///p","name":"I","state":{"kind":"starting","blocking":true}} -> (none)
            session/customizationRemoved {"id": "nobody"}
                no-op
            session/customizationToggled {"id": "plugin", "enablement": [{"kind": "session", "enabled": false}, {"kind": "global", "enabled": true}]}
                customizations[0].enablement: (none) -> [{"kind":"session","enabled":false},{"kind":"global","enabled":true}]
            session/customizationToggled {"id": "plugin", "enablement": []}
                the same
            session/customizationToggled {"id": "dir", "enablement": [{"kind": "workspace", "uri": "file:///a", "enabled": false}]}
                customizations[1].enabled: true -> false
            session/customizationToggled {"id": "srv", "enablement": [{"kind": "global", "enabled": false}]}
                customizations[2].enablement: (none) -> [{"kind":"global","enabled":false}]
            session/customizationToggled {"id": "skill", "enablement": [{"kind": "session", "enabled": false}]}
                customizations[0].children[0].enabled: (none) -> false
            session/customizationToggled {"id": "skill", "enablement": []}
                customizations[0].children[0].enabled: (none) -> true
            session/customizationToggled {"id": "inner", "enablement": [{"kind": "session", "enabled": false}]}
                customizations[0].children[1].enablement: (none) -> [{"kind":"session","enabled":false}]
            session/customizationToggled {"id": "dir", "enablement": [{"kind": "galaxy", "enabled": true}]}
                customizations[1].enabled: true -> false
            session/customizationToggled {"id": "nobody", "enablement": []}
                no-op
        "#]],
    );
    let mut bare = session();
    bare.as_object_mut().unwrap().remove("customizations");
    check(
        &bare,
        expect![[r#"
            session/customizationUpdated {"customization": {"type": "plugin", "id": "new", "uri": "file:///n", "name": "N"}}
                customizations: (none) -> [{"type":"plugin","id":"new","uri":"file:///n","name":"N"}]
            session/customizationRemoved {"id": "plugin"}
                no-op
            session/customizationToggled {"id": "plugin", "enablement": []}
                no-op
            session/mcpServerStartRequested {"id": "srv"}
                no-op
        "#]],
    );
}

#[test]
fn mcp_server_states_are_reduced() {
    check(
        &session(),
        expect![[r#"
            session/mcpServerStateChanged {"id": "srv", "state": {"kind": "error", "error": {"errorType": "exit", "message": "gone"}}}
                customizations[2].state.kind: "ready" -> "error"
                customizations[2].state.error: (none) -> {"errorType":"exit","message":"gone"}
                customizations[2].channel: "mcp:/m" -> (none)
            session/mcpServerStateChanged {"id": "inner", "state": {"kind": "ready"}, "channel": "mcp:/i"}
                customizations[0].children[1].state.kind: "starting" -> "ready"
                customizations[0].children[1].state.blocking: true -> (none)
                customizations[0].children[1].channel: (none) -> "mcp:/i"
            session/mcpServerStateChanged {"id": "plugin", "state": {"kind": "ready"}}
                no-op
            session/mcpServerStateChanged {"id": "nobody", "state": {"kind": "ready"}}
                no-op
            session/mcpServerStartRequested {"id": "srv"}
                customizations[2].state.kind: "ready" -> "starting"
                customizations[2].channel: "mcp:/m" -> (none)
            session/mcpServerStartRequested {"id": "skill"}
                no-op
            session/mcpServerStopRequested {"id": "srv"}
                customizations[2].state.kind: "ready" -> "stopped"
                customizations[2].channel: "mcp:/m" -> (none)
            session/mcpServerStopRequested {"id": "nobody"}
                no-op
            session/mcpServerBackgroundRequested {"id": "inner"}
                customizations[0].children[1].state.blocking: true -> false
            session/mcpServerBackgroundRequested {"id": "srv"}
                no-op
            session/mcpServerBackgroundRequested {"id": "nobody"}
                no-op
        "#]],
    );
}

#[test]
fn other_fields_of_a_session_are_reduced() {
    check(
        &session(),
        expect![[r#"
            session/titleChanged {"title": "better"}
                title: "session" -> "better"
            session/isReadChanged {"isRead": true}
                status: 1 -> 33
            session/isArchivedChanged {"isArchived": true}
                status: 1 -> 65
            session/isArchivedChanged {"isArchived": false}
                the same
            session/activityChanged {"activity": "thinking"}
                activity: (none) -> "thinking"
            session/activityChanged
                the same
            session/changesetsChanged {"changesets": [{"label": "all", "uriTemplate": "x:/", "changeKind": "session"}]}
                changesets: (none) -> [{"label":"all","uriTemplate":"x:/","changeKind":"session"}]
            session/changesetsChanged
                the same
            session/configChanged {"config": {"mode": "auto", "new": [1]}}
                config.values.mode: "ask" -> "auto"
                config.values.new: (none) -> [1]
            session/configChanged {"config": {"mode": "auto"}, "replace": true}
                config.values.mode: "ask" -> "auto"
                config.values.n: 1 -> (none)
            session/metaChanged {"_meta": {"git": {"branch": "main"}}}
                _meta: (none) -> {"git":{"branch":"main"}}
            session/metaChanged
                the same
            chat/draftChanged
                wrong channel
        "#]],
    );
    let mut bare = session();
    bare.as_object_mut().unwrap().remove("config");
    check(
        &bare,
        expect![[r#"
            session/configChanged {"config": {"mode": "auto"}}
                no-op
        "#]],
    );
}
