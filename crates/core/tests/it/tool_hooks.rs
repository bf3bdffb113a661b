//! Hooks of tools: what waits for them, and what they can refuse.

use expect_test::expect;

use crate::script::check_customized;

const START: &str = r#"chat/toolCallStart {"turnId": "t1", "toolCallId": "k1", "toolName": "Bash", "displayName": "Bash"}"#;
const ASK: &str = r#"chat/toolCallReady {"turnId": "t1", "toolCallId": "k1", "invocationMessage": "rm x", "toolInput": "{\"command\": \"rm x\"}", "options": [{"id": "y", "label": "Yes", "kind": "approve"}]}"#;
const DONE: &str = r#"chat/toolCallComplete {"turnId": "t1", "toolCallId": "k1", "result": {"success": true, "pastTenseMessage": "Ran"}}"#;

/// A session with a turn, and hooks for some moments.
fn begun(moments: &str) -> String {
    format!(
        r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        - c1 subscribe s1.chat
        customized s1 hooks {moments}
        - c1 says t1 go
        - customized s1 prepared t1
        "#
    )
}

/// A question of an agent waits for hooks, with all that happens to its call
/// since. Hooks that are fine with it do not answer it: people do.
#[test]
fn a_call_that_hooks_allow_still_requires_approval() {
    check_customized(
        &format!(
            r#"{}
        agent s1 {START}
        agent s1 {ASK}
        agent s1 chat/responsePart {{"turnId": "t1", "part": {{"kind": "markdown", "id": "p", "content": "x"}}}}
        agent s1 chat/toolCallContentChanged {{"turnId": "t1", "toolCallId": "k1", "content": []}}
        customized s1 checked 1
        customized s1 checked 1 late
        c1 ! s1.chat chat/toolCallConfirmed {{"turnId": "t1", "toolCallId": "k1", "approved": true, "selectedOptionId": "y"}}
        "#,
            begun("before")
        ),
        expect![[r#"
            customized s1 hooks before
                tools: guarded by Hooks
            agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "k1", "toolName": "Bash", "displayName": "Bash"}
                c1: 6 s1.chat chat/toolCallStart {"displayName":"Bash","turnId":"t1","toolCallId":"k1","toolName":"Bash"}
            agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k1", "invocationMessage": "rm x", "toolInput": "{\"command\": \"rm x\"}", "options": [{"id": "y", "label": "Yes", "kind": "approve"}]}
                customizations: check 1 ["Bash"] with {"command":"rm x"}
            agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p", "content": "x"}}
                c1: 7 s1.chat chat/responsePart {"part":{"kind":"markdown","id":"p","content":"x"},"turnId":"t1"}
            agent s1 chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "k1", "content": []}
                nothing
            customized s1 checked 1
                c1: 8 s1.chat chat/toolCallReady {"options":[{"id":"y","label":"Yes","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"}],"turnId":"t1","toolCallId":"k1","invocationMessage":"rm x","toolInput":"{\"command\": \"rm x\"}"}
                c1: 9 s1 session/chatUpdated {"changes":{"status":24},"chat":"s1.chat"}
                c1: 10 s1 session/inputNeededSet {"request":{"kind":"toolConfirmation","id":"confirm:k1@s1.chat","chat":"s1.chat","turnId":"t1","toolCall":{"status":"pending-confirmation","toolCallId":"k1","toolName":"Bash","displayName":"Bash","invocationMessage":"rm x","toolInput":"{\"command\": \"rm x\"}","options":[{"id":"y","label":"Yes","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"}]}}}
            customized s1 checked 1 late
                nothing
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "k1", "approved": true, "selectedOptionId": "y"}
                c1: 11 s1.chat by a chat/toolCallConfirmed {"selectedOptionId":"y","turnId":"t1","toolCallId":"k1","approved":true,"confirmed":"user-action"}
                c1: 12 s1 session/chatUpdated {"changes":{"status":8},"chat":"s1.chat"}
                c1: 13 s1 session/inputNeededRemoved {"id":"confirm:k1@s1.chat"}
                agent s1: decide k1 Approved { option: Some("y"), edited_input: None }
        "#]],
    );
}

/// A call that a hook refuses is shown as refused, and the agent is told the
/// same as if a person had refused it; what it did with the call since changes
/// nothing.
#[test]
fn a_hook_denies_a_permission_request() {
    check_customized(
        &format!(
            r#"{}
        - agent s1 {START}
        agent s1 {ASK}
        agent s1 {DONE}
        customized s1 checked 1 not here
        "#,
            begun("before")
        ),
        expect![[r#"
            customized s1 hooks before
                tools: guarded by Hooks
            agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k1", "invocationMessage": "rm x", "toolInput": "{\"command\": \"rm x\"}", "options": [{"id": "y", "label": "Yes", "kind": "approve"}]}
                customizations: check 1 ["Bash"] with {"command":"rm x"}
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "k1", "result": {"success": true, "pastTenseMessage": "Ran"}}
                nothing
            customized s1 checked 1 not here
                c1: 7 s1.chat chat/toolCallReady {"options":[{"id":"y","label":"Yes","kind":"approve"}],"turnId":"t1","toolCallId":"k1","invocationMessage":"rm x","toolInput":"{\"command\": \"rm x\"}"}
                c1: 8 s1.chat chat/toolCallConfirmed {"reasonMessage":"not here","turnId":"t1","toolCallId":"k1","approved":false,"reason":"denied"}
                agent s1: decide k1 Denied { option: None, reason: Denied, suggestion: None }
                changes s1: survey t1 All
        "#]],
    );
}

/// Another question about the same call is looked at again if it is about
/// something else, and not if only its words are others. What a person agreed
/// to meanwhile is not what is asked now.
#[test]
fn a_changed_permission_request_is_checked_again() {
    check_customized(
        &format!(
            r#"{}
        - agent s1 {START}
        - agent s1 {ASK}
        - customized s1 checked 1
        agent s1 chat/toolCallReady {{"turnId": "t1", "toolCallId": "k1", "invocationMessage": "other words"}}
        agent s1 chat/toolCallReady {{"turnId": "t1", "toolCallId": "k1", "invocationMessage": "rm y", "toolInput": "{{\"command\": \"rm y\"}}"}}
        c1 ! s1.chat chat/toolCallConfirmed {{"turnId": "t1", "toolCallId": "k1", "approved": true, "selectedOptionId": "y"}}
        customized s1 checked 2 not that
        "#,
            begun("before")
        ),
        expect![[r#"
            customized s1 hooks before
                tools: guarded by Hooks
            agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k1", "invocationMessage": "other words"}
                c1: 10 s1.chat chat/toolCallReady {"invocationMessage":"other words","turnId":"t1","toolCallId":"k1"}
                c1: 11 s1 session/inputNeededSet {"request":{"kind":"toolConfirmation","id":"confirm:k1@s1.chat","chat":"s1.chat","turnId":"t1","toolCall":{"status":"pending-confirmation","toolCallId":"k1","toolName":"Bash","displayName":"Bash","invocationMessage":"other words","toolInput":"{\"command\": \"rm x\"}","options":[{"id":"y","label":"Yes","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"}]}}}
            agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k1", "invocationMessage": "rm y", "toolInput": "{\"command\": \"rm y\"}"}
                customizations: check 2 ["Bash"] with {"command":"rm y"}
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "k1", "approved": true, "selectedOptionId": "y"}
                c1: 12 s1.chat by a chat/toolCallConfirmed {"selectedOptionId":"y","turnId":"t1","toolCallId":"k1","approved":true,"confirmed":"user-action"}
                c1: 13 s1 session/chatUpdated {"changes":{"status":8},"chat":"s1.chat"}
                c1: 14 s1 session/inputNeededRemoved {"id":"confirm:k1@s1.chat"}
            customized s1 checked 2 not that
                c1: 15 s1.chat chat/toolCallReady {"toolInput":"{\"command\": \"rm y\"}","turnId":"t1","toolCallId":"k1","invocationMessage":"rm y"}
                c1: 16 s1.chat chat/toolCallConfirmed {"reasonMessage":"not that","turnId":"t1","toolCallId":"k1","approved":false,"reason":"denied"}
                agent s1: decide k1 Denied { option: None, reason: Denied, suggestion: None }
        "#]],
    );
}

/// Whatever ends a turn ends what waits for hooks in it.
#[test]
fn the_end_of_a_turn_cancels_its_hook_checks() {
    check_customized(
        &format!(
            r#"{}
        - agent s1 {START}
        agent s1 {ASK}
        tools s1 calling 5 run {{}}
        c1 ! s1.chat chat/turnCancelled {{"turnId": "t1", "duration": 1}}
        customized s1 checked 1 late
        - c1 says t2 go
        - customized s1 prepared t2
        tools s1 calling 6 run {{}}
        agent s1 error t2
        tools s1 calling 7 run {{}}
        tools s1 abandoned 7
        tools s1 calling 8 run {{}}
        c1 disposeSession s1
        tools s1 calling 9 run {{}}
        customized s1 checked 5
        "#,
            begun("before")
        ),
        expect![[r#"
            customized s1 hooks before
                tools: guarded by Hooks
            agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k1", "invocationMessage": "rm x", "toolInput": "{\"command\": \"rm x\"}", "options": [{"id": "y", "label": "Yes", "kind": "approve"}]}
                customizations: check 1 ["Bash"] with {"command":"rm x"}
            tools s1 calling 5 run {}
                customizations: check 2 ["run", "mcp__agenthost__run"] with {}
            c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 1}
                c1: 7 s1.chat by a chat/turnCancelled {"duration":0,"turnId":"t1"}
                c1: 8 s1 session/chatUpdated {"changes":{"status":1,"modifiedAt":"2026-01-05T09:00:00.000Z"},"chat":"s1.chat"}
                agent s1: cancel t1
                customizations: t1 ended
                changes s1: mark after t1, chat since before t1
                customizations: drop check 1
                tools: pass 5 Err("the turn has ended")
                customizations: drop check 2
            customized s1 checked 1 late
                nothing
            tools s1 calling 6 run {}
                customizations: check 3 ["run", "mcp__agenthost__run"] with {}
            agent s1 error t2
                c1: 11 s1.chat chat/error {"part":{"kind":"error","error":{"errorType":"test","message":"it broke"}},"turnId":"t2","duration":0}
                c1: 12 s1 session/chatUpdated {"changes":{"status":2,"modifiedAt":"2026-01-05T09:00:00.000Z"},"chat":"s1.chat"}
                tools: pass 6 Err("the turn has ended")
                customizations: drop check 3
                customizations: t2 ended
                changes s1: mark after t2, chat since before t1
            tools s1 calling 7 run {}
                customizations: check 4 ["run", "mcp__agenthost__run"] with {}
            tools s1 abandoned 7
                tools: pass 7 Err("the agent abandoned the call")
                customizations: drop check 4
            tools s1 calling 8 run {}
                customizations: check 5 ["run", "mcp__agenthost__run"] with {}
            c1 disposeSession s1
                tools: pass 8 Err("the session has ended")
                customizations: drop check 5
                tools: end
                customizations: forget
                agent s1: close
                changes s1: forget
                c1: 13 s1 session/chatRemoved {"chat":"s1.chat"}
                c1: null
            tools s1 calling 9 run {}
                tools: pass 9 Err("the session has ended")
            customized s1 checked 5
                nothing
        "#]],
    );
}

/// After a kill nothing waits any more: the turn is closed as others are.
#[test]
fn a_restart_cancels_hook_checks() {
    check_customized(
        &format!(
            r#"{}
        - agent s1 {START}
        - agent s1 {ASK}
        restart
        - c2 joins b
        c2 subscribe s1.chat
        customized s1 checked 1
        "#,
            begun("before")
        ),
        expect![[r#"
            customized s1 hooks before
                tools: guarded by Hooks
            restart
                changes s1: mark after t1, chat since before t1
            c2 subscribe s1.chat
                c2: snapshot of s1.chat at 8
            customized s1 checked 1
                nothing
        "#]],
    );
}

/// Calls at the gateway wait for hooks, by the names that other hosts give
/// them; one that hooks have seen as a question is not looked at twice.
#[test]
fn gateway_calls_wait_for_hooks() {
    let m = r#"{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "My server", "state": {"kind": "stopped"}}"#;
    let active = r#"{"activeClient": {"clientId": "a", "tools": [{"name": "look at"}]}}"#;
    let ask = r#"chat/toolCallReady {"turnId": "t1", "toolCallId": "k1", "invocationMessage": "?", "toolInput": "{\"q\":1}", "contributor": {"kind": "mcp", "customizationId": "m"}, "options": []}"#;
    check_customized(
        &format!(
            r#"{}
        - customized s1 found [{m}]
        - tools s1 ready m
        - tools s1 has search=m
        - c1 ! s1 session/activeClientSet {active}
        tools s1 calling 1 search {{"q": 1}}
        customized s1 checked 1
        tools s1 calling 2 look_at {{"q": 2}}
        customized s1 checked 2 not here
        - agent s1 {}
        agent s1 {ask}
        - customized s1 checked 3
        tools s1 calling 3 search {{"q": 1}}
        tools s1 calling 4 search {{"q": 1}}
        customized s1 hooks after
        tools s1 calling 5 search {{"q": 1}}
        "#,
            begun("before"),
            START.replace("Bash", "search"),
        ),
        expect![[r#"
            customized s1 hooks before
                tools: guarded by Hooks
            tools s1 calling 1 search {"q": 1}
                customizations: check 1 ["mcp__My_server__search", "search", "mcp__agenthost__search"] with {"q":1}
            customized s1 checked 1
                tools: pass 1 Ok(())
            tools s1 calling 2 look_at {"q": 2}
                customizations: check 2 ["look at", "mcp__agenthost__look_at"] with {"q":2}
            customized s1 checked 2 not here
                tools: pass 2 Err("not here")
            agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k1", "invocationMessage": "?", "toolInput": "{\"q\":1}", "contributor": {"kind": "mcp", "customizationId": "m"}, "options": []}
                customizations: check 3 ["mcp__My_server__search", "search", "mcp__agenthost__search"] with {"q":1}
            tools s1 calling 3 search {"q": 1}
                tools: pass 3 Ok(())
            tools s1 calling 4 search {"q": 1}
                customizations: check 4 ["mcp__My_server__search", "search", "mcp__agenthost__search"] with {"q":1}
            customized s1 hooks after
                tools: guarded by Nobody
            tools s1 calling 5 search {"q": 1}
                tools: pass 5 Ok(())
        "#]],
    );
}

/// Hooks hear of calls that are over, however they ended; what an agent tells
/// of an earlier conversation is none.
#[test]
fn hooks_receive_finished_calls() {
    let active = r#"{"activeClient": {"clientId": "a", "tools": [{"name": "look"}]}}"#;
    let run = r#"chat/toolCallReady {"turnId": "t1", "toolCallId": "k1", "invocationMessage": "ls", "toolInput": "ls", "confirmed": "not-needed"}"#;
    let adopted = r#"{"text": "before", "origin": {"kind": "user"}} chat/toolCallComplete {"toolCallId": "k1", "result": {"success": true, "pastTenseMessage": "x"}}"#;
    check_customized(
        &format!(
            r#"{}
        - c1 ! s1 session/activeClientSet {active}
        - agent s1 {START}
        - agent s1 {run}
        agent s1 {DONE}
        agent s1 {DONE}
        - tools s1 called 1 look {{}}
        - untold
        tools s1 abandoned 1
        customized s1 hooks after
        - tools s1 called 2 look {{}}
        - untold
        tools s1 abandoned 2
        - agent s1 end t1
        agent s1 adopt t0 {adopted}
        "#,
            begun("after failed")
        ),
        expect![[r#"
            customized s1 hooks after failed
                nothing
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "k1", "result": {"success": true, "pastTenseMessage": "Ran"}}
                c1: 9 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Ran"},"turnId":"t1","toolCallId":"k1"}
                customizations: After ["Bash"] with "ls": {"success":true,"pastTenseMessage":"Ran"}
                changes s1: survey t1 All
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "k1", "result": {"success": true, "pastTenseMessage": "Ran"}}
                nothing
            tools s1 abandoned 1
                c1: 13 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"the agent abandoned the call","error":{"message":"the agent abandoned the call"}},"turnId":"t1","toolCallId":"call-00000000000000000000000000000011"}
                c1: 14 s1 session/inputNeededRemoved {"id":"execute:call-00000000000000000000000000000011@s1.chat"}
                customizations: Failed ["look", "mcp__agenthost__look"] with {}: {"success":false,"pastTenseMessage":"the agent abandoned the call","error":{"message":"the agent abandoned the call"}}
                agent s1: completed call-00000000000000000000000000000011 false
            customized s1 hooks after
                nothing
            tools s1 abandoned 2
                c1: 18 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"the agent abandoned the call","error":{"message":"the agent abandoned the call"}},"turnId":"t1","toolCallId":"call-00000000000000000000000000000015"}
                c1: 19 s1 session/inputNeededRemoved {"id":"execute:call-00000000000000000000000000000015@s1.chat"}
                agent s1: completed call-00000000000000000000000000000015 false
            agent s1 adopt t0 {"text": "before", "origin": {"kind": "user"}} chat/toolCallComplete {"toolCallId": "k1", "result": {"success": true, "pastTenseMessage": "x"}}
                nothing
        "#]],
    );
}

/// Nothing waits in a session without such hooks.
#[test]
fn without_hooks_no_call_waits() {
    check_customized(
        &format!(
            r#"{}
        - agent s1 {START}
        agent s1 {ASK}
        agent s1 {DONE}
        "#,
            begun("")
        ),
        expect![[r#"
            customized s1 hooks
                nothing
            agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k1", "invocationMessage": "rm x", "toolInput": "{\"command\": \"rm x\"}", "options": [{"id": "y", "label": "Yes", "kind": "approve"}]}
                c1: 7 s1.chat chat/toolCallReady {"options":[{"id":"y","label":"Yes","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"}],"turnId":"t1","toolCallId":"k1","invocationMessage":"rm x","toolInput":"{\"command\": \"rm x\"}"}
                c1: 8 s1 session/chatUpdated {"changes":{"status":24},"chat":"s1.chat"}
                c1: 9 s1 session/inputNeededSet {"request":{"kind":"toolConfirmation","id":"confirm:k1@s1.chat","chat":"s1.chat","turnId":"t1","toolCall":{"status":"pending-confirmation","toolCallId":"k1","toolName":"Bash","displayName":"Bash","invocationMessage":"rm x","toolInput":"{\"command\": \"rm x\"}","options":[{"id":"y","label":"Yes","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"}]}}}
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "k1", "result": {"success": true, "pastTenseMessage": "Ran"}}
                c1: 10 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Ran"},"turnId":"t1","toolCallId":"k1"}
                c1: 11 s1 session/chatUpdated {"changes":{"status":8},"chat":"s1.chat"}
                c1: 12 s1 session/inputNeededRemoved {"id":"confirm:k1@s1.chat"}
                changes s1: survey t1 All
        "#]],
    );
}

/// The arguments of a command are shown as its line; hooks get them as the
/// agent gave them.
#[test]
fn hooks_get_the_arguments_of_a_command() {
    let ready = r#"chat/toolCallReady {"turnId": "t1", "toolCallId": "k1", "invocationMessage": "rm x", "toolInput": "rm x", "_meta": {"toolKind": "terminal", "rawInput": {"command": "rm x", "timeout": 5}}"#;
    check_customized(
        &format!(
            r#"{}
        - agent s1 {START}
        - agent s1 {ready}, "confirmed": "not-needed"}}
        agent s1 {DONE}
        - surveyed
        - agent s1 {}
        agent s1 {}}}
        "#,
            begun("before after"),
            START.replace("k1", "k2"),
            ready.replace("k1", "k2"),
        ),
        expect![[r#"
            customized s1 hooks before after
                tools: guarded by Hooks
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "k1", "result": {"success": true, "pastTenseMessage": "Ran"}}
                c1: 8 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Ran"},"turnId":"t1","toolCallId":"k1"}
                customizations: After ["Bash"] with {"command":"rm x","timeout":5}: {"success":true,"pastTenseMessage":"Ran"}
                changes s1: survey t1 All
            agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k2", "invocationMessage": "rm x", "toolInput": "rm x", "_meta": {"toolKind": "terminal", "rawInput": {"command": "rm x", "timeout": 5}}}
                customizations: check 1 ["Bash"] with {"command":"rm x","timeout":5}
        "#]],
    );
}
