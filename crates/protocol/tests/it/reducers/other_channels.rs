//! The host, terminals, changesets, annotations, watches, canvases and
//! automations.

use agenthost_protocol::wire::Json;
use expect_test::expect;
use serde_json::json;

use super::check;

#[test]
fn root_actions_are_reduced() {
    let root = json!({
        "agents": [],
        "config": {"schema": {"type": "object", "properties": {}}, "values": {"a": 1, "b": 2}},
    });
    check(
        &root,
        expect![[r#"
            root/agentsChanged {"agents": [{"provider": "shell", "displayName": "Shell", "description": "runs commands", "models": []}]}
                agents[0]: (none) -> {"provider":"shell","displayName":"Shell","description":"runs commands","models":[]}
            root/activeSessionsChanged {"activeSessions": 3}
                activeSessions: (none) -> 3
            root/terminalsChanged {"terminals": [{"resource": "ahp-terminal:/1", "title": "sh", "claim": {"kind": "client", "clientId": "c1"}, "lifecycle": {"status": "running"}}]}
                terminals: (none) -> [{"resource":"ahp-terminal:/1","title":"sh","claim":{"kind":"client","clientId":"c1"},"lifecycle":{"status":"running"}}]
            root/configChanged {"config": {"b": 3, "c": 4}}
                config.values.b: 2 -> 3
                config.values.c: (none) -> 4
            root/configChanged {"config": {"b": 3}, "replace": true}
                config.values.a: 1 -> (none)
                config.values.b: 2 -> 3
            terminal/cleared
                wrong channel
        "#]],
    );
    check(
        &json!({"agents": []}),
        expect![[r#"
            root/configChanged {"config": {"b": 3}}
                no-op
        "#]],
    );
}

fn terminal(content: Json) -> Json {
    json!({
        "title": "sh",
        "content": content,
        "lifecycle": {"status": "running"},
        "claim": {"kind": "client", "clientId": "c1"},
    })
}

#[test]
fn terminal_actions_are_reduced() {
    let ended = json!([
        {"type": "unclassified", "value": "$ "},
        {"type": "command", "commandId": "1", "commandLine": "ls", "output": "a\n", "timestamp": 5, "isComplete": true},
    ]);
    check(
        &terminal(ended),
        expect![[r#"
            terminal/data {"data": "$ "}
                content[2]: (none) -> {"type":"unclassified","value":"$ "}
            terminal/input {"data": "ls\n"}
                no-op
            terminal/resized {"cols": 80, "rows": 24}
                cols: (none) -> 80
                rows: (none) -> 24
            terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/1", "chat": "ahp-chat:/1"}}
                claim.kind: "client" -> "session"
                claim.clientId: "c1" -> (none)
                claim.session: (none) -> "ahp-session:/1"
                claim.chat: (none) -> "ahp-chat:/1"
            terminal/titleChanged {"title": "zsh"}
                title: "sh" -> "zsh"
            terminal/cwdChanged {"cwd": "file:///tmp"}
                cwd: (none) -> "file:///tmp"
            terminal/exited {"exitCode": -9}
                lifecycle.status: "running" -> "exited"
                lifecycle.exitCode: (none) -> -9
            terminal/exited
                lifecycle.status: "running" -> "exited"
            terminal/cleared
                content[0]: {"type":"unclassified","value":"$ "} -> (none)
                content[1]: {"type":"command","commandId":"1","commandLine":"ls","output":"a\n","timestamp":5,"isComplete":true} -> (none)
            terminal/commandDetectionAvailable
                supportsCommandDetection: (none) -> true
            terminal/commandExecuted {"commandId": "2", "commandLine": "pwd", "timestamp": 7.5}
                content[2]: (none) -> {"type":"command","commandId":"2","commandLine":"pwd","output":"","timestamp":8,"isComplete":false}
                supportsCommandDetection: (none) -> true
            terminal/commandFinished {"commandId": "1", "exitCode": 1, "durationMs": 3}
                content[1].exitCode: (none) -> 1
                content[1].durationMs: (none) -> 3
            terminal/commandFinished {"commandId": "9"}
                no-op
        "#]],
    );
    check(
        &terminal(json!([])),
        expect![[r#"
            terminal/data {"data": "$ "}
                content[0]: (none) -> {"type":"unclassified","value":"$ "}
        "#]],
    );
    let open = json!([
        {"type": "command", "commandId": "1", "commandLine": "ls", "output": "a", "timestamp": 5, "isComplete": false},
    ]);
    check(
        &terminal(open),
        expect![[r#"
            terminal/data {"data": "b"}
                content[0].output: "a" -> "ab"
            terminal/commandFinished {"commandId": "1", "exitCode": 0}
                content[0].isComplete: false -> true
                content[0].exitCode: (none) -> 0
        "#]],
    );
    check(
        &terminal(json!([{"type": "unclassified", "value": "$"}])),
        expect![[r#"
            terminal/data {"data": " ls"}
                content[0].value: "$" -> "$ ls"
        "#]],
    );
}

#[test]
fn changeset_actions_are_reduced() {
    let changeset = json!({
        "status": "ready",
        "files": [{"id": "a", "edit": {}}, {"id": "b", "edit": {}, "reviewed": true}],
        "operations": [{"id": "commit", "label": "Commit", "scopes": ["changeset"], "status": "idle"}],
    });
    check(
        &changeset,
        expect![[r#"
            changeset/statusChanged {"status": "recomputing"}
                status: "ready" -> "recomputing"
            changeset/statusChanged {"status": "error", "error": {"errorType": "git", "message": "no repo"}}
                status: "ready" -> "error"
                error: (none) -> {"errorType":"git","message":"no repo"}
            changeset/statusChanged {"status": "computing", "error": {"errorType": "git", "message": "stale"}}
                status: "ready" -> "computing"
            changeset/fileSet {"file": {"id": "b", "edit": {"diff": {"added": 1}}}}
                files[1].edit.diff: (none) -> {"added":1}
                files[1].reviewed: true -> (none)
            changeset/fileSet {"file": {"id": "c", "edit": {}}}
                files[2]: (none) -> {"id":"c","edit":{}}
            changeset/fileRemoved {"fileId": "a"}
                files[0].id: "a" -> "b"
                files[0].reviewed: (none) -> true
                files[1]: {"id":"b","edit":{},"reviewed":true} -> (none)
            changeset/fileRemoved {"fileId": "x"}
                no-op
            changeset/filesReviewChanged {"files": ["a", "b", "x"], "reviewed": true}
                files[0].reviewed: (none) -> true
            changeset/filesReviewChanged {"files": ["b", "x"], "reviewed": true}
                no-op
            changeset/contentChanged {"files": []}
                files[0]: {"id":"a","edit":{}} -> (none)
                files[1]: {"id":"b","edit":{},"reviewed":true} -> (none)
            changeset/contentChanged {"files": [{"id": "z", "edit": {}}], "operations": []}
                files[0].id: "a" -> "z"
                files[1]: {"id":"b","edit":{},"reviewed":true} -> (none)
                operations[0]: {"id":"commit","label":"Commit","scopes":["changeset"],"status":"idle"} -> (none)
            changeset/operationsChanged {"operations": []}
                operations[0]: {"id":"commit","label":"Commit","scopes":["changeset"],"status":"idle"} -> (none)
            changeset/operationsChanged
                operations: [{"id":"commit","label":"Commit","scopes":["changeset"],"status":"idle"}] -> (none)
            changeset/operationStatusChanged {"operationId": "commit", "status": "error", "error": {"errorType": "git", "message": "hook"}}
                operations[0].status: "idle" -> "error"
                operations[0].error: (none) -> {"errorType":"git","message":"hook"}
            changeset/operationStatusChanged {"operationId": "commit", "status": "running", "error": {"errorType": "git", "message": "stale"}}
                operations[0].status: "idle" -> "running"
            changeset/operationStatusChanged {"operationId": "push", "status": "running"}
                no-op
            changeset/cleared
                files[0]: {"id":"a","edit":{}} -> (none)
                files[1]: {"id":"b","edit":{},"reviewed":true} -> (none)
        "#]],
    );
    check(
        &json!({"status": "ready", "files": []}),
        expect![[r#"
            changeset/cleared
                no-op
            changeset/operationStatusChanged {"operationId": "commit", "status": "running"}
                no-op
        "#]],
    );
}

#[test]
fn annotation_actions_are_reduced() {
    let annotations = json!({
        "annotations": [{
            "id": "a1",
            "origin": {"session": "ahp-session:/1"},
            "resource": "file:///f",
            "resolved": false,
            "entries": [{"id": "e1", "text": "why?"}],
        }],
    });
    check(
        &annotations,
        expect![[r#"
            annotations/set {"annotation": {"id": "a2", "origin": {"session": "ahp-session:/1"}, "resource": "file:///g", "resolved": false, "entries": [{"id": "e1", "text": "hm"}]}}
                annotations[1]: (none) -> {"id":"a2","origin":{"session":"ahp-session:/1"},"resource":"file:///g","resolved":false,"entries":[{"id":"e1","text":"hm"}]}
            annotations/set {"annotation": {"id": "a1", "origin": {"session": "ahp-session:/1"}, "resource": "file:///f", "resolved": true, "entries": [{"id": "e1", "text": "why?"}]}}
                annotations[0].resolved: false -> true
            annotations/updated {"annotationId": "a1", "resolved": true, "range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}, "resource": "file:///h", "origin": {"session": "ahp-session:/1", "turnId": "t1"}}
                annotations[0].origin.turnId: (none) -> "t1"
                annotations[0].resource: "file:///f" -> "file:///h"
                annotations[0].resolved: false -> true
                annotations[0].range: (none) -> {"start":{"line":1,"character":0},"end":{"line":2,"character":0}}
            annotations/updated {"annotationId": "a1"}
                the same
            annotations/updated {"annotationId": "a9", "resolved": true}
                no-op
            annotations/removed {"annotationId": "a1"}
                annotations[0]: {"id":"a1","origin":{"session":"ahp-session:/1"},"resource":"file:///f","resolved":false,"entries":[{"id":"e1","text":"why?"}]} -> (none)
            annotations/removed {"annotationId": "a9"}
                no-op
            annotations/entrySet {"annotationId": "a1", "entry": {"id": "e2", "text": {"markdown": "*so*"}}}
                annotations[0].entries[1]: (none) -> {"id":"e2","text":{"markdown":"*so*"}}
            annotations/entrySet {"annotationId": "a1", "entry": {"id": "e1", "text": "why not?"}}
                annotations[0].entries[0].text: "why?" -> "why not?"
            annotations/entrySet {"annotationId": "a9", "entry": {"id": "e1", "text": "?"}}
                no-op
            annotations/entryRemoved {"annotationId": "a1", "entryId": "e1"}
                annotations[0].entries[0]: {"id":"e1","text":"why?"} -> (none)
            annotations/entryRemoved {"annotationId": "a1", "entryId": "e9"}
                no-op
            annotations/entryRemoved {"annotationId": "a9", "entryId": "e1"}
                no-op
        "#]],
    );
}

#[test]
fn watch_actions_do_not_change_the_state() {
    check(
        &json!({"root": "file:///d", "recursive": true}),
        expect![[r#"
            resourceWatch/changed {"changes": {"items": [{"uri": "file:///d/f", "type": "added"}]}}
                no-op
        "#]],
    );
}

#[test]
fn a_canvas_is_replaced() {
    check(
        &json!({"instanceId": "i", "extensionId": "e", "canvasId": "c", "url": "http://127.0.0.1:1/"}),
        expect![[r#"
            canvas/stateChanged {"canvas": {"instanceId": "i", "extensionId": "e", "canvasId": "c", "status": "gone"}}
                url: "http://127.0.0.1:1/" -> (none)
                status: (none) -> "gone"
        "#]],
    );
}

fn definition(title: &str) -> Json {
    json!({
        "title": title,
        "message": {"text": "go", "origin": {"kind": "automation"}},
        "session": {},
        "enabled": true,
        "triggers": [],
    })
}

#[test]
fn automation_actions_are_reduced() {
    let automations = json!({
        "entries": [{
            "resource": "ahp-automation:/1",
            "definition": definition("one"),
            "runs": [],
            "operations": ["run"],
            "createdAt": "2026-01-01T00:00:00Z",
            "modifiedAt": "2026-01-01T00:00:00Z",
        }],
    });
    check(
        &automations,
        expect![[r#"
            automation/createRequested {"resource": "ahp-automation:/2", "definition": {"title": "two", "message": {"text": "go", "origin": {"kind": "automation"}}, "session": {}, "enabled": true, "triggers": []}}
                no-op
            automation/updateRequested {"resource": "ahp-automation:/1", "changes": {"enabled": false}}
                no-op
            automation/set {"automation": {"resource": "ahp-automation:/1", "definition": {"title": "uno", "message": {"text": "go", "origin": {"kind": "automation"}}, "session": {}, "enabled": true, "triggers": []}, "runs": [], "operations": ["run"], "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z"}}
                entries[0].definition.title: "one" -> "uno"
            automation/set {"automation": {"resource": "ahp-automation:/2", "definition": {"title": "two", "message": {"text": "go", "origin": {"kind": "automation"}}, "session": {}, "enabled": true, "triggers": []}, "runs": [], "operations": [], "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z"}}
                entries[1]: (none) -> {"resource":"ahp-automation:/2","definition":{"title":"two","message":{"text":"go","origin":{"kind":"automation"}},"session":{},"enabled":true,"triggers":[]},"runs":[],"operations":[],"createdAt":"2026-01-01T00:00:00Z","modifiedAt":"2026-01-01T00:00:00Z"}
            automation/removed {"resource": "ahp-automation:/1"}
                entries[0]: {"resource":"ahp-automation:/1","definition":{"title":"one","message":{"text":"go","origin":{"kind":"automation"}},"session":{},"enabled":true,"triggers":[]},"runs":[],"operations":["run"],"createdAt":"2026-01-01T00:00:00Z","modifiedAt":"2026-01-01T00:00:00Z"} -> (none)
            automation/removed {"resource": "ahp-automation:/9"}
                no-op
        "#]],
    );
}

#[test]
fn automation_run_actions_are_reduced() {
    let run = json!({
        "resource": "ahp-automation-run:/1",
        "automation": "ahp-automation:/1",
        "origin": {"kind": "manual"},
        "lifecycle": {"status": "pending", "createdAt": "2026-01-01T00:00:00Z"},
        "sessions": ["ahp-session:/1", "ahp-session:/2"],
        "primarySession": "ahp-session:/1",
    });
    check(
        &run,
        expect![[r#"
            automationRun/lifecycleChanged {"lifecycle": {"status": "running", "createdAt": "2026-01-01T00:00:00Z", "startedAt": "2026-01-01T00:00:01Z"}}
                lifecycle.status: "pending" -> "running"
                lifecycle.startedAt: (none) -> "2026-01-01T00:00:01Z"
            automationRun/sessionSet {"session": "ahp-session:/3"}
                sessions[2]: (none) -> "ahp-session:/3"
            automationRun/sessionSet {"session": "ahp-session:/1"}
                no-op
            automationRun/sessionRemoved {"session": "ahp-session:/1"}
                sessions[0]: "ahp-session:/1" -> "ahp-session:/2"
                sessions[1]: "ahp-session:/2" -> (none)
                primarySession: "ahp-session:/1" -> (none)
            automationRun/sessionRemoved {"session": "ahp-session:/2"}
                sessions[1]: "ahp-session:/2" -> (none)
            automationRun/sessionRemoved {"session": "ahp-session:/9"}
                no-op
            automationRun/primarySessionChanged {"primarySession": "ahp-session:/2"}
                primarySession: "ahp-session:/1" -> "ahp-session:/2"
            automationRun/primarySessionChanged
                primarySession: "ahp-session:/1" -> (none)
            automationRun/cancelRequested
                no-op
        "#]],
    );
}
