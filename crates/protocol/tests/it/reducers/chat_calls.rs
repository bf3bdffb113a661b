//! Chats: the life of a tool call.

use agenthost_protocol::wire::Json;
use expect_test::expect;
use serde_json::json;

use super::check;

/// A turn with a tool call in every state.
fn chat() -> Json {
    let head = |id: &str, status: &str| json!({"toolCallId": id, "toolName": "sh", "displayName": "Shell", "status": status});
    let call = |mut head: Json, more: Json| {
        let fields = head.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        json!({"kind": "toolCall", "toolCall": head})
    };
    let mcp = json!({"kind": "mcp", "customizationId": "srv"});
    json!({
        "resource": "ahp-chat:/1",
        "title": "chat",
        "status": 24,
        "modifiedAt": "2026-01-01T00:00:00.000Z",
        "turns": [],
        "activeTurn": {
            "id": "t1",
            "startedAt": "2026-01-01T00:00:00.000Z",
            "message": {"text": "go", "origin": {"kind": "user"}},
            "responseParts": [
                call(head("streaming", "streaming"), json!({"partialInput": "l"})),
                call(head("pending", "pending-confirmation"), json!({
                    "invocationMessage": "Run ls", "toolInput": "ls", "editable": true,
                    "options": [
                        {"id": "once", "label": "Once", "kind": "approve"},
                        {"id": "never", "label": "Never", "kind": "deny"},
                    ],
                })),
                call(head("referenced", "pending-confirmation"), json!({
                    "invocationMessage": "Run it", "toolInput": {"uri": "x:/input"},
                })),
                call(head("running", "running"), json!({
                    "invocationMessage": "Run ls", "toolInput": "ls", "confirmed": "user-action",
                    "content": [{"type": "text", "text": "a"}],
                    "contributor": {"kind": "client", "clientId": "c1"},
                })),
                call(head("mcp", "running"), json!({
                    "invocationMessage": "Ask", "confirmed": "not-needed", "contributor": mcp,
                    "content": [{"type": "text", "text": "so far"}],
                })),
                call(head("auth", "auth-required"), json!({
                    "invocationMessage": "Ask", "confirmed": "setting", "contributor": mcp,
                    "auth": {"reason": "required", "resource": {"resource": "https://mcp.example"}},
                    "content": [{"type": "text", "text": "so far"}],
                })),
                call(head("review", "pending-result-confirmation"), json!({
                    "invocationMessage": "Run ls", "confirmed": "setting",
                    "success": true, "pastTenseMessage": "Ran ls",
                })),
                call(head("completed", "completed"), json!({
                    "invocationMessage": "Run ls", "confirmed": "setting",
                    "success": false, "pastTenseMessage": "Failed",
                })),
                call(head("cancelled", "cancelled"), json!({
                    "invocationMessage": "Run ls", "reason": "denied",
                })),
                call(head("paused", "fromTheFuture"), json!({"until": "tomorrow"})),
            ],
        },
    })
}

#[test]
fn streamed_arguments_are_appended() {
    check(
        &chat(),
        expect![[r#"
            chat/toolCallStart {"turnId": "t1", "toolCallId": "new", "toolName": "edit", "displayName": "Edit", "intention": "fix it", "_meta": {"a": 1}}
                activeTurn.responseParts[10]: (none) -> {"kind":"toolCall","toolCall":{"status":"streaming","toolCallId":"new","toolName":"edit","displayName":"Edit","intention":"fix it","_meta":{"a":1}}}
            chat/toolCallStart {"turnId": "t9", "toolCallId": "new", "toolName": "edit", "displayName": "Edit"}
                no-op
            chat/toolCallDelta {"turnId": "t1", "toolCallId": "streaming", "content": "s -l", "invocationMessage": "Listing", "_meta": {"a": 1}}
                activeTurn.responseParts[0].toolCall.partialInput: "l" -> "ls -l"
                activeTurn.responseParts[0].toolCall._meta: (none) -> {"a":1}
                activeTurn.responseParts[0].toolCall.invocationMessage: (none) -> "Listing"
            chat/toolCallDelta {"turnId": "t1", "toolCallId": "running", "content": "s -l", "_meta": {"a": 1}}
                no-op
            chat/toolCallDelta {"turnId": "t1", "toolCallId": "nobody", "content": "s -l"}
                no-op
            chat/toolCallDelta {"turnId": "t9", "toolCallId": "streaming", "content": "s -l"}
                no-op
        "#]],
    );
}

#[test]
fn a_tool_call_becomes_ready() {
    check(
        &chat(),
        expect![[r#"
            chat/toolCallReady {"turnId": "t1", "toolCallId": "streaming", "invocationMessage": "Run ls", "toolInput": "ls"}
                activeTurn.responseParts[0].toolCall.status: "streaming" -> "pending-confirmation"
                activeTurn.responseParts[0].toolCall.partialInput: "l" -> (none)
                activeTurn.responseParts[0].toolCall.invocationMessage: (none) -> "Run ls"
                activeTurn.responseParts[0].toolCall.toolInput: (none) -> "ls"
            chat/toolCallReady {"turnId": "t1", "toolCallId": "streaming", "invocationMessage": "Run ls", "confirmed": "not-needed"}
                activeTurn.responseParts[0].toolCall.status: "streaming" -> "running"
                activeTurn.responseParts[0].toolCall.partialInput: "l" -> (none)
                activeTurn.responseParts[0].toolCall.invocationMessage: (none) -> "Run ls"
                activeTurn.responseParts[0].toolCall.confirmed: (none) -> "not-needed"
            chat/toolCallReady {"turnId": "t1", "toolCallId": "pending", "invocationMessage": "Run ls now", "confirmationTitle": "Sure?", "riskAssessment": {"status": "loading", "kind": "judge"}}
                activeTurn.responseParts[1].toolCall.invocationMessage: "Run ls" -> "Run ls now"
                activeTurn.responseParts[1].toolCall.confirmationTitle: (none) -> "Sure?"
                activeTurn.responseParts[1].toolCall.riskAssessment: (none) -> {"status":"loading","kind":"judge"}
            chat/toolCallReady {"turnId": "t1", "toolCallId": "pending", "invocationMessage": "Run ls", "confirmed": "setting", "_meta": {"a": 1}}
                activeTurn.responseParts[1].toolCall.status: "pending-confirmation" -> "running"
                activeTurn.responseParts[1].toolCall.editable: true -> (none)
                activeTurn.responseParts[1].toolCall.options: [{"id":"once","label":"Once","kind":"approve"},{"id":"never","label":"Never","kind":"deny"}] -> (none)
                activeTurn.responseParts[1].toolCall._meta: (none) -> {"a":1}
                activeTurn.responseParts[1].toolCall.confirmed: (none) -> "setting"
            chat/toolCallReady {"turnId": "t1", "toolCallId": "running", "invocationMessage": "Also delete?"}
                activeTurn.responseParts[3].toolCall.status: "running" -> "pending-confirmation"
                activeTurn.responseParts[3].toolCall.invocationMessage: "Run ls" -> "Also delete?"
                activeTurn.responseParts[3].toolCall.confirmed: "user-action" -> (none)
                activeTurn.responseParts[3].toolCall.content: [{"type":"text","text":"a"}] -> (none)
            chat/toolCallReady {"turnId": "t1", "toolCallId": "running", "invocationMessage": "On", "confirmed": "setting", "contributor": {"kind": "client", "clientId": "c2"}}
                activeTurn.responseParts[3].toolCall.invocationMessage: "Run ls" -> "On"
                activeTurn.responseParts[3].toolCall.confirmed: "user-action" -> "setting"
                activeTurn.responseParts[3].toolCall.content: [{"type":"text","text":"a"}] -> (none)
            chat/toolCallReady {"turnId": "t1", "toolCallId": "running", "invocationMessage": "On", "confirmed": "setting", "contributor": {"kind": "mcp", "customizationId": "srv"}}
                activeTurn.responseParts[3].toolCall.invocationMessage: "Run ls" -> "On"
                activeTurn.responseParts[3].toolCall.confirmed: "user-action" -> "setting"
                activeTurn.responseParts[3].toolCall.content: [{"type":"text","text":"a"}] -> (none)
            chat/toolCallReady {"turnId": "t1", "toolCallId": "mcp", "invocationMessage": "On", "confirmed": "setting", "contributor": {"kind": "client", "clientId": "c1"}}
                activeTurn.responseParts[4].toolCall.invocationMessage: "Ask" -> "On"
                activeTurn.responseParts[4].toolCall.confirmed: "not-needed" -> "setting"
                activeTurn.responseParts[4].toolCall.content: [{"type":"text","text":"so far"}] -> (none)
            chat/toolCallReady {"turnId": "t1", "toolCallId": "mcp", "invocationMessage": "On", "confirmed": "setting", "contributor": {"kind": "mcp", "customizationId": "other"}}
                activeTurn.responseParts[4].toolCall.invocationMessage: "Ask" -> "On"
                activeTurn.responseParts[4].toolCall.confirmed: "not-needed" -> "setting"
                activeTurn.responseParts[4].toolCall.contributor.customizationId: "srv" -> "other"
                activeTurn.responseParts[4].toolCall.content: [{"type":"text","text":"so far"}] -> (none)
            chat/toolCallReady {"turnId": "t1", "toolCallId": "auth", "invocationMessage": "no"}
                no-op
            chat/toolCallReady {"turnId": "t1", "toolCallId": "completed", "invocationMessage": "no"}
                no-op
            chat/toolCallReady {"turnId": "t1", "toolCallId": "nobody", "invocationMessage": "no"}
                no-op
            chat/toolCallReady {"turnId": "t9", "toolCallId": "streaming", "invocationMessage": "no"}
                no-op
        "#]],
    );
}

#[test]
fn a_tool_call_is_approved_or_denied() {
    check(
        &chat(),
        expect![[r#"
            chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "pending", "approved": true, "confirmed": "user-action"}
                activeTurn.responseParts[1].toolCall.status: "pending-confirmation" -> "running"
                activeTurn.responseParts[1].toolCall.editable: true -> (none)
                activeTurn.responseParts[1].toolCall.options: [{"id":"once","label":"Once","kind":"approve"},{"id":"never","label":"Never","kind":"deny"}] -> (none)
                activeTurn.responseParts[1].toolCall.confirmed: (none) -> "user-action"
            chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "pending", "approved": true, "selectedOptionId": "once", "editedToolInput": "ls -a"}
                activeTurn.responseParts[1].toolCall.status: "pending-confirmation" -> "running"
                activeTurn.responseParts[1].toolCall.toolInput: "ls" -> "ls -a"
                activeTurn.responseParts[1].toolCall.editable: true -> (none)
                activeTurn.responseParts[1].toolCall.options: [{"id":"once","label":"Once","kind":"approve"},{"id":"never","label":"Never","kind":"deny"}] -> (none)
                activeTurn.responseParts[1].toolCall.confirmed: (none) -> "user-action"
                activeTurn.responseParts[1].toolCall.selectedOption: (none) -> {"id":"once","label":"Once","kind":"approve"}
            chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "referenced", "approved": true, "confirmed": "user-action", "editedToolInput": "ls -a"}
                activeTurn.responseParts[2].toolCall.status: "pending-confirmation" -> "running"
                activeTurn.responseParts[2].toolCall.confirmed: (none) -> "user-action"
            chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "pending", "approved": false}
                activeTurn.responseParts[1].toolCall.status: "pending-confirmation" -> "cancelled"
                activeTurn.responseParts[1].toolCall.editable: true -> (none)
                activeTurn.responseParts[1].toolCall.options: [{"id":"once","label":"Once","kind":"approve"},{"id":"never","label":"Never","kind":"deny"}] -> (none)
                activeTurn.responseParts[1].toolCall.reason: (none) -> "denied"
            chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "pending", "approved": false, "reason": "skipped", "reasonMessage": "not now", "selectedOptionId": "never", "userSuggestion": {"text": "use find", "origin": {"kind": "user"}}}
                activeTurn.responseParts[1].toolCall.status: "pending-confirmation" -> "cancelled"
                activeTurn.responseParts[1].toolCall.editable: true -> (none)
                activeTurn.responseParts[1].toolCall.options: [{"id":"once","label":"Once","kind":"approve"},{"id":"never","label":"Never","kind":"deny"}] -> (none)
                activeTurn.responseParts[1].toolCall.reason: (none) -> "skipped"
                activeTurn.responseParts[1].toolCall.reasonMessage: (none) -> "not now"
                activeTurn.responseParts[1].toolCall.userSuggestion: (none) -> {"text":"use find","origin":{"kind":"user"}}
                activeTurn.responseParts[1].toolCall.selectedOption: (none) -> {"id":"never","label":"Never","kind":"deny"}
            chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "pending", "approved": true, "confirmed": "setting", "selectedOptionId": "nobody", "_meta": {"a": 1}}
                activeTurn.responseParts[1].toolCall.status: "pending-confirmation" -> "running"
                activeTurn.responseParts[1].toolCall.editable: true -> (none)
                activeTurn.responseParts[1].toolCall.options: [{"id":"once","label":"Once","kind":"approve"},{"id":"never","label":"Never","kind":"deny"}] -> (none)
                activeTurn.responseParts[1].toolCall._meta: (none) -> {"a":1}
                activeTurn.responseParts[1].toolCall.confirmed: (none) -> "setting"
            chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "running", "approved": true, "_meta": {"a": 1}}
                no-op
            chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "review", "approved": true}
                no-op
            chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "nobody", "approved": true}
                no-op
            chat/toolCallConfirmed {"turnId": "t9", "toolCallId": "pending", "approved": true}
                no-op
        "#]],
    );
}

#[test]
fn a_tool_call_completes() {
    check(
        &chat(),
        expect![[r#"
            chat/toolCallComplete {"turnId": "t1", "toolCallId": "running", "result": {"success": true, "pastTenseMessage": "Ran ls", "structuredContent": {"files": 2}}}
                activeTurn.responseParts[3].toolCall.status: "running" -> "completed"
                activeTurn.responseParts[3].toolCall.content: [{"type":"text","text":"a"}] -> (none)
                activeTurn.responseParts[3].toolCall.success: (none) -> true
                activeTurn.responseParts[3].toolCall.pastTenseMessage: (none) -> "Ran ls"
                activeTurn.responseParts[3].toolCall.structuredContent: (none) -> {"files":2}
            chat/toolCallComplete {"turnId": "t1", "toolCallId": "running", "result": {"success": true, "pastTenseMessage": "Ran ls"}, "requiresResultConfirmation": true}
                activeTurn.responseParts[3].toolCall.status: "running" -> "pending-result-confirmation"
                activeTurn.responseParts[3].toolCall.content: [{"type":"text","text":"a"}] -> (none)
                activeTurn.responseParts[3].toolCall.success: (none) -> true
                activeTurn.responseParts[3].toolCall.pastTenseMessage: (none) -> "Ran ls"
            chat/toolCallComplete {"turnId": "t1", "toolCallId": "pending", "result": {"success": false, "pastTenseMessage": "Withdrawn"}}
                activeTurn.responseParts[1].toolCall.status: "pending-confirmation" -> "completed"
                activeTurn.responseParts[1].toolCall.editable: true -> (none)
                activeTurn.responseParts[1].toolCall.options: [{"id":"once","label":"Once","kind":"approve"},{"id":"never","label":"Never","kind":"deny"}] -> (none)
                activeTurn.responseParts[1].toolCall.success: (none) -> false
                activeTurn.responseParts[1].toolCall.pastTenseMessage: (none) -> "Withdrawn"
                activeTurn.responseParts[1].toolCall.confirmed: (none) -> "not-needed"
            chat/toolCallComplete {"turnId": "t1", "toolCallId": "auth", "result": {"success": false, "pastTenseMessage": "Gave up"}, "requiresResultConfirmation": true}
                activeTurn.responseParts[5].toolCall.status: "auth-required" -> "completed"
                activeTurn.responseParts[5].toolCall.auth: {"reason":"required","resource":{"resource":"https://mcp.example"}} -> (none)
                activeTurn.responseParts[5].toolCall.success: (none) -> false
                activeTurn.responseParts[5].toolCall.pastTenseMessage: (none) -> "Gave up"
            chat/toolCallComplete {"turnId": "t1", "toolCallId": "auth", "result": {"success": false, "pastTenseMessage": "Gave up", "content": []}}
                activeTurn.responseParts[5].toolCall.status: "auth-required" -> "completed"
                activeTurn.responseParts[5].toolCall.auth: {"reason":"required","resource":{"resource":"https://mcp.example"}} -> (none)
                activeTurn.responseParts[5].toolCall.content[0]: {"type":"text","text":"so far"} -> (none)
                activeTurn.responseParts[5].toolCall.success: (none) -> false
                activeTurn.responseParts[5].toolCall.pastTenseMessage: (none) -> "Gave up"
            chat/toolCallComplete {"turnId": "t1", "toolCallId": "auth", "result": {"success": true, "pastTenseMessage": "How?"}}
                no-op
            chat/toolCallComplete {"turnId": "t1", "toolCallId": "streaming", "result": {"success": true, "pastTenseMessage": "Too soon"}}
                no-op
            chat/toolCallComplete {"turnId": "t1", "toolCallId": "completed", "result": {"success": true, "pastTenseMessage": "Again"}}
                no-op
            chat/toolCallComplete {"turnId": "t1", "toolCallId": "nobody", "result": {"success": true, "pastTenseMessage": "?"}}
                no-op
            chat/toolCallComplete {"turnId": "t9", "toolCallId": "running", "result": {"success": true, "pastTenseMessage": "?"}}
                no-op
        "#]],
    );
}

#[test]
fn a_result_is_approved_or_denied() {
    check(
        &chat(),
        expect![[r#"
            chat/toolCallResultConfirmed {"turnId": "t1", "toolCallId": "review", "approved": true}
                activeTurn.responseParts[6].toolCall.status: "pending-result-confirmation" -> "completed"
            chat/toolCallResultConfirmed {"turnId": "t1", "toolCallId": "review", "approved": false, "_meta": {"a": 1}}
                activeTurn.responseParts[6].toolCall.status: "pending-result-confirmation" -> "cancelled"
                activeTurn.responseParts[6].toolCall.confirmed: "setting" -> (none)
                activeTurn.responseParts[6].toolCall.success: true -> (none)
                activeTurn.responseParts[6].toolCall.pastTenseMessage: "Ran ls" -> (none)
                activeTurn.responseParts[6].toolCall._meta: (none) -> {"a":1}
                activeTurn.responseParts[6].toolCall.reason: (none) -> "result-denied"
            chat/toolCallResultConfirmed {"turnId": "t1", "toolCallId": "completed", "approved": false}
                no-op
            chat/toolCallResultConfirmed {"turnId": "t1", "toolCallId": "nobody", "approved": false}
                no-op
            chat/toolCallResultConfirmed {"turnId": "t9", "toolCallId": "review", "approved": false}
                no-op
        "#]],
    );
}

#[test]
fn the_content_of_a_running_call_is_replaced() {
    check(
        &chat(),
        expect![[r#"
            chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "running", "content": [{"type": "text", "text": "ab"}], "_meta": {"a": 1}}
                activeTurn.responseParts[3].toolCall.content[0].text: "a" -> "ab"
                activeTurn.responseParts[3].toolCall._meta: (none) -> {"a":1}
            chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "auth", "content": []}
                no-op
            chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "completed", "content": []}
                no-op
            chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "nobody", "content": []}
                no-op
            chat/toolCallContentChanged {"turnId": "t9", "toolCallId": "running", "content": []}
                no-op
        "#]],
    );
}

#[test]
fn a_tool_call_requires_a_token() {
    check(
        &chat(),
        expect![[r#"
            chat/toolCallAuthRequired {"turnId": "t1", "toolCallId": "mcp", "auth": {"reason": "insufficientScope", "resource": {"resource": "https://mcp.example"}, "requiredScopes": ["write"]}}
                activeTurn.responseParts[4].toolCall.status: "running" -> "auth-required"
                activeTurn.responseParts[4].toolCall.auth: (none) -> {"reason":"insufficientScope","resource":{"resource":"https://mcp.example"},"requiredScopes":["write"]}
            chat/toolCallAuthRequired {"turnId": "t1", "toolCallId": "running", "auth": {"reason": "required", "resource": {"resource": "https://mcp.example"}}}
                no-op
            chat/toolCallAuthRequired {"turnId": "t1", "toolCallId": "auth", "auth": {"reason": "expired", "resource": {"resource": "https://mcp.example"}}}
                no-op
            chat/toolCallAuthRequired {"turnId": "t9", "toolCallId": "mcp", "auth": {"reason": "required", "resource": {"resource": "https://mcp.example"}}}
                no-op
            chat/toolCallAuthResolved {"turnId": "t1", "toolCallId": "auth", "_meta": {"a": 1}}
                activeTurn.responseParts[5].toolCall.status: "auth-required" -> "running"
                activeTurn.responseParts[5].toolCall.auth: {"reason":"required","resource":{"resource":"https://mcp.example"}} -> (none)
                activeTurn.responseParts[5].toolCall._meta: (none) -> {"a":1}
            chat/toolCallAuthResolved {"turnId": "t1", "toolCallId": "mcp"}
                no-op
            chat/toolCallAuthResolved {"turnId": "t9", "toolCallId": "auth"}
                no-op
        "#]],
    );
}

/// TUR-12: what is not done is passed over; FWD-1: what is not known stays.
#[test]
fn the_end_of_a_turn_ends_its_calls() {
    check(
        &chat(),
        expect![[r#"
            chat/turnComplete {"turnId": "t1", "duration": 1}
                status: 24 -> 1
                modifiedAt: "2026-01-01T00:00:00.000Z" -> "2026-01-01T00:00:00.001Z"
                turns[0]: (none) -> {"id":"t1","startedAt":"2026-01-01T00:00:00.000Z","duration":1,"message":{"text":"go","origin":{"kind":"user"}},"responseParts":[{"kind":"toolCall","toolCall":{"status":"cancelled","toolCallId":"streaming","toolName":"sh","displayName":"Shell","invocationMessage":"","reason":"skipped"}},{"kind":"toolCall","toolCall":{"status":"cancelled","toolCallId":"pending","toolName":"sh","displayName":"Shell","invocationMessage":"Run ls","toolInput":"ls","reason":"skipped"}},{"kind":"toolCall","toolCall":{"status":"cancelled","toolCallId":"referenced","toolName":"sh","displayName":"Shell","invocationMessage":"Run it","toolInput":{"uri":"x:/input"},"reason":"skipped"}},{"kind":"toolCall","toolCall":{"status":"cancelled","toolCallId":"running","toolName":"sh","displayName":"Shell","contributor":{"kind":"client","clientId":"c1"},"invocationMessage":"Run ls","toolInput":"ls","reason":"skipped"}},{"kind":"toolCall","toolCall":{"status":"cancelled","toolCallId":"mcp","toolName":"sh","displayName":"Shell","contributor":{"kind":"mcp","customizationId":"srv"},"invocationMessage":"Ask","reason":"skipped"}},{"kind":"toolCall","toolCall":{"status":"cancelled","toolCallId":"auth","toolName":"sh","displayName":"Shell","contributor":{"kind":"mcp","customizationId":"srv"},"invocationMessage":"Ask","reason":"skipped"}},{"kind":"toolCall","toolCall":{"status":"cancelled","toolCallId":"review","toolName":"sh","displayName":"Shell","invocationMessage":"Run ls","reason":"skipped"}},{"kind":"toolCall","toolCall":{"status":"completed","toolCallId":"completed","toolName":"sh","displayName":"Shell","invocationMessage":"Run ls","success":false,"pastTenseMessage":"Failed","confirmed":"setting"}},{"kind":"toolCall","toolCall":{"status":"cancelled","toolCallId":"cancelled","toolName":"sh","displayName":"Shell","invocationMessage":"Run ls","reason":"denied"}},{"kind":"toolCall","toolCall":{"toolCallId":"paused","toolName":"sh","displayName":"Shell","status":"fromTheFuture","until":"tomorrow"}}],"state":"complete"}
                activeTurn: {"id":"t1","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"go","origin":{"kind":"user"}},"responseParts":[{"kind":"toolCall","toolCall":{"toolCallId":"streaming","toolName":"sh","displayName":"Shell","status":"streaming","partialInput":"l"}},{"kind":"toolCall","toolCall":{"toolCallId":"pending","toolName":"sh","displayName":"Shell","status":"pending-confirmation","invocationMessage":"Run ls","toolInput":"ls","editable":true,"options":[{"id":"once","label":"Once","kind":"approve"},{"id":"never","label":"Never","kind":"deny"}]}},{"kind":"toolCall","toolCall":{"toolCallId":"referenced","toolName":"sh","displayName":"Shell","status":"pending-confirmation","invocationMessage":"Run it","toolInput":{"uri":"x:/input"}}},{"kind":"toolCall","toolCall":{"toolCallId":"running","toolName":"sh","displayName":"Shell","status":"running","invocationMessage":"Run ls","toolInput":"ls","confirmed":"user-action","content":[{"type":"text","text":"a"}],"contributor":{"kind":"client","clientId":"c1"}}},{"kind":"toolCall","toolCall":{"toolCallId":"mcp","toolName":"sh","displayName":"Shell","status":"running","invocationMessage":"Ask","confirmed":"not-needed","contributor":{"kind":"mcp","customizationId":"srv"},"content":[{"type":"text","text":"so far"}]}},{"kind":"toolCall","toolCall":{"toolCallId":"auth","toolName":"sh","displayName":"Shell","status":"auth-required","invocationMessage":"Ask","confirmed":"setting","contributor":{"kind":"mcp","customizationId":"srv"},"auth":{"reason":"required","resource":{"resource":"https://mcp.example"}},"content":[{"type":"text","text":"so far"}]}},{"kind":"toolCall","toolCall":{"toolCallId":"review","toolName":"sh","displayName":"Shell","status":"pending-result-confirmation","invocationMessage":"Run ls","confirmed":"setting","success":true,"pastTenseMessage":"Ran ls"}},{"kind":"toolCall","toolCall":{"toolCallId":"completed","toolName":"sh","displayName":"Shell","status":"completed","invocationMessage":"Run ls","confirmed":"setting","success":false,"pastTenseMessage":"Failed"}},{"kind":"toolCall","toolCall":{"toolCallId":"cancelled","toolName":"sh","displayName":"Shell","status":"cancelled","invocationMessage":"Run ls","reason":"denied"}},{"kind":"toolCall","toolCall":{"toolCallId":"paused","toolName":"sh","displayName":"Shell","status":"fromTheFuture","until":"tomorrow"}}]} -> (none)
        "#]],
    );
}

/// The activity follows the last call that waited (TUR-19).
#[test]
fn the_activity_follows_the_calls() {
    let mut chat = chat();
    let parts = chat["activeTurn"]["responseParts"].as_array_mut().unwrap();
    parts.retain(|part| part["toolCall"]["toolCallId"] == "pending");
    check(
        &chat,
        expect![[r#"
            chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "pending", "approved": true, "confirmed": "user-action"}
                status: 24 -> 8
                activeTurn.responseParts[0].toolCall.status: "pending-confirmation" -> "running"
                activeTurn.responseParts[0].toolCall.editable: true -> (none)
                activeTurn.responseParts[0].toolCall.options: [{"id":"once","label":"Once","kind":"approve"},{"id":"never","label":"Never","kind":"deny"}] -> (none)
                activeTurn.responseParts[0].toolCall.confirmed: (none) -> "user-action"
            chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "pending", "approved": false, "reason": "denied"}
                status: 24 -> 8
                activeTurn.responseParts[0].toolCall.status: "pending-confirmation" -> "cancelled"
                activeTurn.responseParts[0].toolCall.editable: true -> (none)
                activeTurn.responseParts[0].toolCall.options: [{"id":"once","label":"Once","kind":"approve"},{"id":"never","label":"Never","kind":"deny"}] -> (none)
                activeTurn.responseParts[0].toolCall.reason: (none) -> "denied"
        "#]],
    );
}

/// A part that came by `chat/responsePart` counts from the next step on, even
/// if that step is not next: clients count the same way.
#[test]
fn an_out_of_order_step_still_refreshes_the_activity() {
    let mut chat = chat();
    chat["status"] = json!(8);
    check(
        &chat,
        expect![[r#"
            chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "completed", "approved": true}
                status: 8 -> 24
        "#]],
    );
}
