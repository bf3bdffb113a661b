//! Servers that run although something is wrong with them.

use expect_test::expect;

use crate::script::check_customized;

/// CUS-5: what a server stands in is degraded for as long as something is wrong
/// with it, and for no other reason than before afterwards.
#[test]
fn a_server_with_invalid_tools_degrades_its_container() {
    let package = |load: &str| {
        format!(
            r#"{{"type": "plugin", "id": "p", "uri": "file:///p", "name": "p", "load": {load}, "children": [{{"type": "mcpServer", "id": "m", "uri": "file:///p/m", "name": "m", "state": {{"kind": "stopped"}}}}]}}"#
        )
    };
    let plugin = package(r#"{"kind": "loaded"}"#);
    let degraded = package(r#"{"kind": "degraded", "message": "no name"}"#);
    let bare = r#"{"type": "mcpServer", "id": "n", "uri": "file:///c", "name": "n", "state": {"kind": "stopped"}}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        - customized s1 found [{plugin}, {bare}]
        - c1 says t1 go
        - customized s1 prepared t1
        - tools s1 ready m
        - tools s1 ready n
        tools s1 complaint m three of its tools make no sense
        tools s1 complaint m three of its tools make no sense
        customized s1 updated {degraded}
        tools s1 complaint m
        tools s1 complaint m one of its tools makes no sense
        tools s1 stopped m
        tools s1 complaint n it has too many tools
        tools s1 failed n it broke
        tools s1 complaint gone it is not there
        "#
        ),
        expect![[r#"
            tools s1 complaint m three of its tools make no sense
                c1: 13 shown session/customizationUpdated {"customization":{"type":"plugin","id":"p","uri":"file:///p","name":"p","load":{"kind":"degraded","message":"MCP server `m`: three of its tools make no sense"},"children":[{"type":"mcpServer","id":"m","uri":"file:///p/m","name":"m","state":{"kind":"ready"}}]}}
            tools s1 complaint m three of its tools make no sense
                nothing
            customized s1 updated {"type": "plugin", "id": "p", "uri": "file:///p", "name": "p", "load": {"kind": "degraded", "message": "no name"}, "children": [{"type": "mcpServer", "id": "m", "uri": "file:///p/m", "name": "m", "state": {"kind": "stopped"}}]}
                c1: 14 shown session/customizationUpdated {"customization":{"type":"plugin","id":"p","uri":"file:///p","name":"p","load":{"kind":"degraded","message":"no name; MCP server `m`: three of its tools make no sense"},"children":[{"type":"mcpServer","id":"m","uri":"file:///p/m","name":"m","state":{"kind":"ready"}}]}}
            tools s1 complaint m
                c1: 15 shown session/customizationUpdated {"customization":{"type":"plugin","id":"p","uri":"file:///p","name":"p","load":{"kind":"degraded","message":"no name"},"children":[{"type":"mcpServer","id":"m","uri":"file:///p/m","name":"m","state":{"kind":"ready"}}]}}
            tools s1 complaint m one of its tools makes no sense
                c1: 16 shown session/customizationUpdated {"customization":{"type":"plugin","id":"p","uri":"file:///p","name":"p","load":{"kind":"degraded","message":"no name; MCP server `m`: one of its tools makes no sense"},"children":[{"type":"mcpServer","id":"m","uri":"file:///p/m","name":"m","state":{"kind":"ready"}}]}}
            tools s1 stopped m
                c1: 17 s1 session/mcpServerStateChanged {"state":{"kind":"stopped"},"id":"m"}
                c1: 18 shown session/customizationUpdated {"customization":{"type":"plugin","id":"p","uri":"file:///p","name":"p","load":{"kind":"degraded","message":"no name"},"children":[{"type":"mcpServer","id":"m","uri":"file:///p/m","name":"m","state":{"kind":"stopped"}}]}}
            tools s1 complaint n it has too many tools
                c1: 19 shown session/customizationUpdated {"customization":{"type":"mcpServer","id":"n","uri":"file:///c","name":"n","_meta":{"agenthost.problem":"it has too many tools"},"state":{"kind":"ready"}}}
            tools s1 failed n it broke
                c1: 20 s1 session/mcpServerStateChanged {"state":{"kind":"error","error":{"errorType":"failed","message":"it broke"}},"id":"n"}
                c1: 21 shown session/customizationUpdated {"customization":{"type":"mcpServer","id":"n","uri":"file:///c","name":"n","state":{"kind":"error","error":{"errorType":"failed","message":"it broke"}}}}
            tools s1 complaint gone it is not there
                nothing
        "#]],
    );
}

/// Rules may be about files that a chat works on: those that are attached, and
/// those that it changed before.
#[test]
fn the_preparation_of_a_turn_has_the_files_of_its_chat() {
    let side = |file: &str| {
        format!(r#"{{"uri": "file:///w/{file}", "content": {{"uri": "agenthost-content:/1"}}}}"#)
    };
    let edit = |file: &str| format!(r#"{{"type": "fileEdit", "after": {}}}"#, side(file));
    let gone = format!(r#"{{"type": "fileEdit", "before": {}}}"#, side("gone.rs"));
    let (one, two) = (edit("one.rs"), edit("two.rs"));
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - customized s1 found []
        - c1 says t1 go
        - customized s1 prepared t1
        - agent s1 chat/toolCallStart {{"turnId": "t1", "toolCallId": "c", "toolName": "edit", "displayName": "Edit"}}
        - agent s1 chat/toolCallReady {{"turnId": "t1", "toolCallId": "c", "invocationMessage": "Edit", "confirmed": "not-needed"}}
        - agent s1 chat/toolCallComplete {{"turnId": "t1", "toolCallId": "c", "result": {{"success": true, "pastTenseMessage": "Edited", "content": [{one}, {gone}, {two}, {one}]}}}}
        - surveyed one.rs -gone.rs +two.rs
        - agent s1 end t1
        c1 says t2 go on
        "#
        ),
        expect![[r#"
            c1 says t2 go on
                changes s1: mark before t2
                customizations: prepare t2 "go on" agent None about [file:///w/one.rs, file:///w/two.rs]
        "#]],
    );
}
