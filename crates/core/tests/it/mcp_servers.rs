//! Tests for MCP servers, and for client tools that agents call through the gateway.

use expect_test::expect;

use crate::script::check_customized;

/// MCP-1 to MCP-6: MCP servers start with the first turn, which waits for them. Clients can stop
/// and start them, and can continue without them.
#[test]
fn mcp_servers_start_with_a_turn_and_stop_on_request() {
    let server = |id: &str| {
        format!(
            r#"{{"type": "mcpServer", "id": "{id}", "uri": "file:///c", "name": "{id}", "state": {{"kind": "stopped"}}}}"#
        )
    };
    let (m, n) = (server("m"), server("n"));
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        - customized s1 found [{m}, {n}]
        c1 says t1 go
        customized s1 prepared t1
        tools s1 ready m
        c1 ! s1 session/mcpServerBackgroundRequested {{"id": "n"}}
        tools s1 has search=m
        tools s1 failed n it broke
        - agent s1 end t1
        c1 says t2 go
        customized s1 prepared t2
        - agent s1 end t2
        c1 ! s1 session/mcpServerStopRequested {{"id": "m"}}
        tools s1 stopped m
        c1 says t3 go
        - customized s1 prepared t3
        - agent s1 end t3
        c1 ! s1 session/mcpServerStartRequested {{"id": "m"}}
        tools s1 ready m
        customized s1 updated {m}
        c1 ! s1 session/customizationToggled {{"id": "m", "enablement": [{{"kind": "session", "enabled": false}}]}}
        c1 ! s1 session/mcpServerStartRequested {{"id": "m"}}
        c1 ! s1 session/mcpServerStartRequested {{"id": "p"}}
        c1 ! s1 session/customizationToggled {{"id": "m", "enablement": []}}
        - tools s1 ready m
        customized s1 gone n
        restart
        - c2 joins b
        c2 subscribe s1
        "#
        ),
        expect![[r#"
            c1 says t1 go
                c1: 5 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                c1: 6 s1 session/titleChanged {"title":"go"}
                changes s1: mark before t1
                c1: 7 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
                c1: 8 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"n"}
                tools: start n for a Turn
                customizations: prepare t1 "go" agent None
            customized s1 prepared t1
                nothing
            tools s1 ready m
                c1: 9 shown session/customizationUpdated {"customization":{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"starting","blocking":true}}}
                c1: 10 shown session/mcpServerStateChanged {"state":{"kind":"ready"},"id":"m"}
            c1 ! s1 session/mcpServerBackgroundRequested {"id": "n"}
                c1: 11 s1 by a session/mcpServerBackgroundRequested {"id":"n"}
                agent s1: prompt t1 "go"
            tools s1 has search=m
                c1: 12 s1 session/serverToolsChanged {"tools":[{"name":"search"}]}
                agent s1: server tools [search]
            tools s1 failed n it broke
                c1: 13 s1 session/mcpServerStateChanged {"state":{"kind":"error","error":{"errorType":"failed","message":"it broke"}},"id":"n"}
            c1 says t2 go
                c1: 17 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                changes s1: mark before t2
                c1: 18 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"n"}
                tools: start n for a Turn
                customizations: prepare t2 "go" agent None
            customized s1 prepared t2
                nothing
            c1 ! s1 session/mcpServerStopRequested {"id": "m"}
                c1: 21 s1 by a session/mcpServerStopRequested {"id":"m"}
                tools: stop m
            tools s1 stopped m
                c1: 22 s1 session/mcpServerStateChanged {"state":{"kind":"stopped"},"id":"m"}
            c1 says t3 go
                c1: 24 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                changes s1: mark before t3
                customizations: prepare t3 "go" agent None
            c1 ! s1 session/mcpServerStartRequested {"id": "m"}
                c1: 27 s1 by a session/mcpServerStartRequested {"id":"m"}
                tools: start m for a Person
            tools s1 ready m
                c1: 28 shown session/mcpServerStateChanged {"state":{"kind":"ready"},"id":"m"}
            customized s1 updated {"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}
                nothing
            c1 ! s1 session/customizationToggled {"id": "m", "enablement": [{"kind": "session", "enabled": false}]}
                c1: 29 s1 by a session/customizationToggled {"enablement":[{"kind":"session","enabled":false}],"id":"m"}
                c1: 30 s1 session/metaChanged {"_meta":{"agenthost.customizations":{"m":false}}}
                customizations: off [m]
                tools: stop m
                c1: 31 s1 session/mcpServerStateChanged {"state":{"kind":"stopped"},"id":"m"}
            c1 ! s1 session/mcpServerStartRequested {"id": "m"}
                c1: 32 rejected: the MCP server is disabled
            c1 ! s1 session/mcpServerStartRequested {"id": "p"}
                c1: 33 rejected: there is no server `p`
            c1 ! s1 session/customizationToggled {"id": "m", "enablement": []}
                c1: 34 s1 by a session/customizationToggled {"enablement":[],"id":"m"}
                c1: 35 s1 session/metaChanged {"_meta":{}}
                customizations: off []
            customized s1 gone n
                c1: 37 s1 session/customizationRemoved {"id":"n"}
                tools: stop n
            restart
                nothing
            c2 subscribe s1
                customizations: follow [file:///w] for shell
                tools: tools of clients []
                c2: snapshot of s1 at 38
        "#]],
    );
}

/// MCP-3: some agents ask for tools only once, so MCP servers start when an agent asks; but not
/// before the customizations are known, also after a restart.
#[test]
fn mcp_servers_start_when_an_agent_requests_tools() {
    let m = r#"{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        tools s1 sought
        customized s1 found [{m}]
        tools s1 ready m
        tools s1 sought
        restart
        - c2 joins b
        - c2 subscribe s1
        c2 says t1 go
        customized s1 found [{m}]
        customized s1 prepared t1
        tools s1 ready m
        "#
        ),
        expect![[r#"
            tools s1 sought
                nothing
            customized s1 found [{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}]
                c1: 3 s1 session/customizationsChanged {"customizations":[{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"stopped"}}]}
                c1: 4 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
                tools: tools of clients []
            tools s1 ready m
                c1: 5 shown session/customizationUpdated {"customization":{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"starting","blocking":true}}}
                c1: 6 shown session/mcpServerStateChanged {"state":{"kind":"ready"},"id":"m"}
            tools s1 sought
                tools: tools of clients []
            restart
                nothing
            c2 says t1 go
                c2: 9 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                c2: 10 s1 session/titleChanged {"title":"go"}
                changes s1: mark before t1
                customizations: prepare t1 "go" agent None
            customized s1 found [{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}]
                c2: 11 s1 session/customizationsChanged {"customizations":[{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"stopped"}}]}
            customized s1 prepared t1
                c2: 12 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
            tools s1 ready m
                c2: 13 shown session/customizationUpdated {"customization":{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"starting","blocking":true}}}
                c2: 14 shown session/mcpServerStateChanged {"state":{"kind":"ready"},"id":"m"}
                agent s1: open
                agent s1: prompt t1 "go"
        "#]],
    );
}

/// MCP-12 to MCP-16, MCP-21, A-3, A-9: only clients with support for MCP apps see the channel of a
/// server and can use it.
#[test]
fn mcp_apps_use_the_channel_of_their_server() {
    let m = r#"{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins plain
        - c2 connect
        - c2 initialize {{"clientId": "apps", "protocolVersions": ["1.0.0"], "capabilities": {{"mcpApps": {{}}}}}}
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        - c2 subscribe s1
        - customized s1 found [{m}]
        - c1 ! s1 session/mcpServerStartRequested {{"id": "m"}}
        tools s1 ready m
        c1 subscribe s1
        c2 subscribe s1
        c2 subscribe mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
        c1 tools/list mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
        c2 tools/list mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023 {{"cursor": "x"}}
        tools s1 answers c2 11 {{"tools": []}}
        c2 tools/list mcp://agenthost/none
        tools s1 says m notifications/tools/list_changed {{}}
        c1 leave
        - tools s1 failed m it broke
        - tools s1 ready m
        - c3 connect me was c1
        c3 reconnect {{"clientId": "plain", "lastSeenServerSeq": 6, "subscriptions": ["ahp-session:/s1"]}}
        c2 ! s1 session/mcpServerStopRequested {{"id": "m"}}
        c2 tools/list mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
        "#
        ),
        expect![[r#"
            tools s1 ready m
                c1: 5 shown session/customizationUpdated {"customization":{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"starting"}}}
                c2: 5 s1 session/customizationUpdated {"customization":{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"starting"},"mcpApp":{"capabilities":{"serverTools":{}}}}}
                c1: 6 shown session/mcpServerStateChanged {"state":{"kind":"ready"},"id":"m"}
                c2: 6 s1 session/mcpServerStateChanged {"channel":"mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023","id":"m","state":{"kind":"ready"}}
            c1 subscribe s1
                c1: snapshot of s1 at 6
            c2 subscribe s1
                c2: snapshot of s1 at 6
            c2 subscribe mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
                c2: subscribed
            c1 tools/list mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
                c1: error -32601 `capabilities.mcpApps` was not declared
            c2 tools/list mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023 {"cursor": "x"}
                tools: forward tools/list to m with {"cursor":"x"}
            tools s1 answers c2 11 {"tools": []}
                c2: the server says {"tools":[]}
            c2 tools/list mcp://agenthost/none
                c2: error -32008 `mcp://agenthost/none` does not exist
            tools s1 says m notifications/tools/list_changed {}
                c2: notifications/tools/list_changed {"channel":"mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023"}
            c1 leave
                grace plain 30000
            c3 reconnect {"clientId": "plain", "lastSeenServerSeq": 6, "subscriptions": ["ahp-session:/s1"]}
                c3: replay (6, 8] of [s1], missing []
            c2 ! s1 session/mcpServerStopRequested {"id": "m"}
                c2, c3: 9 s1 by apps session/mcpServerStopRequested {"id":"m"}
                tools: stop m
            c2 tools/list mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
                c2: error -32008 `mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023` does not exist
        "#]],
    );
}

/// CLT-4, CLT-8, CLT-12, CLT-13: when an agent calls a client tool, that becomes a tool call of the
/// turn, whose result goes back to the agent.
#[test]
fn agents_call_client_tools() {
    let active = r#"{"activeClient": {"clientId": "a", "tools": [{"name": "run", "title": "Run it"}, {"name": "look"}]}}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1.chat
        c1 ! s1 session/activeClientSet {active}
        tools s1 called 1 run {{}}
        - c1 says t1 go
        - customized s1 prepared t1
        tools s1 called 2 none {{}}
        tools s1 called 3 run {{"x": 1}}
        untold
        c1 ! s1.chat chat/toolCallContentChanged {{"turnId": "t1", "toolCallId": "call-0000000000000000000000000000000d", "content": [{{"type": "text", "text": "half"}}]}}
        c1 ! s1.chat chat/toolCallComplete {{"turnId": "t1", "toolCallId": "call-0000000000000000000000000000000d", "result": {{"success": true, "pastTenseMessage": "Ran"}}}}
        agent s1 chat/toolCallStart {{"turnId": "t1", "toolCallId": "k1", "toolName": "run", "displayName": "Run it", "contributor": {{"kind": "client", "clientId": "a"}}}}
        tools s1 called 4 run {{"x": 2}}
        c1 ! s1.chat chat/toolCallConfirmed {{"turnId": "t1", "toolCallId": "k1", "approved": false, "reason": "denied"}}
        - agent s1 chat/toolCallStart {{"turnId": "t1", "toolCallId": "k2", "toolName": "look", "displayName": "look", "contributor": {{"kind": "client", "clientId": "a"}}}}
        - agent s1 chat/toolCallReady {{"turnId": "t1", "toolCallId": "k2", "invocationMessage": "look"}}
        - agent s1 chat/toolCallComplete {{"turnId": "t1", "toolCallId": "k2", "result": {{"success": false, "pastTenseMessage": "never called"}}}}
        tools s1 called 5 look {{}}
        untold
        tools s1 abandoned 5
        tools s1 called 6 look {{}}
        untold
        c1 ! s1.chat chat/turnCancelled {{"turnId": "t1", "duration": 1}}
        - c1 says t2 go
        - customized s1 prepared t2
        tools s1 called 7 look {{}}
        agent s1 chat/toolCallStart {{"turnId": "t2", "toolCallId": "k9", "toolName": "look", "displayName": "look", "contributor": {{"kind": "client", "clientId": "a"}}}}
        untold
        c1 ! s1 session/activeClientRemoved {{"clientId": "a"}}
        "#
        ),
        expect![[r#"
            c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "a", "tools": [{"name": "run", "title": "Run it"}, {"name": "look"}]}}
                agent s1: tools [run, look]
                tools: tools of clients [run, look]
            tools s1 called 1 run {}
                tools: answer 1 false Some(Object {"message": String("The chat has no active turn")})
            tools s1 called 2 none {}
                tools: answer 2 false Some(Object {"message": String("The tool no longer exists")})
            tools s1 called 3 run {"x": 1}
                await what is told of 3 150
            untold
                c1: 7 s1.chat chat/toolCallStart {"contributor":{"kind":"client","clientId":"a"},"turnId":"t1","toolCallId":"call-0000000000000000000000000000000d","toolName":"run","displayName":"Run it"}
                agent s1: called run as call-0000000000000000000000000000000d
                c1: 8 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"call-0000000000000000000000000000000d","invocationMessage":"Run it","toolInput":"{\"x\": 1}"}
                await execute:call-0000000000000000000000000000000d@ahp-chat://default/YWhwLXNlc3Npb246L3Mx 1800000
            c1 ! s1.chat chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "call-0000000000000000000000000000000d", "content": [{"type": "text", "text": "half"}]}
                c1: 10 s1.chat by a chat/toolCallContentChanged {"content":[{"type":"text","text":"half"}],"turnId":"t1","toolCallId":"call-0000000000000000000000000000000d"}
            c1 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "call-0000000000000000000000000000000d", "result": {"success": true, "pastTenseMessage": "Ran"}}
                c1: 12 s1.chat by a chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Ran"},"turnId":"t1","toolCallId":"call-0000000000000000000000000000000d"}
                agent s1: completed call-0000000000000000000000000000000d true
                tools: answer 3 true None
            agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "k1", "toolName": "run", "displayName": "Run it", "contributor": {"kind": "client", "clientId": "a"}}
                c1: 14 s1.chat chat/toolCallStart {"contributor":{"kind":"client","clientId":"a"},"turnId":"t1","toolCallId":"k1","toolName":"run","displayName":"Run it"}
            tools s1 called 4 run {"x": 2}
                agent s1: called run as k1
                c1: 15 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"k1","invocationMessage":"Run it","toolInput":"{\"x\": 2}"}
                await execute:k1@ahp-chat://default/YWhwLXNlc3Npb246L3Mx 1800000
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "k1", "approved": false, "reason": "denied"}
                c1: 17 s1.chat by a chat/toolCallConfirmed {"reason":"denied","turnId":"t1","toolCallId":"k1","approved":false}
                c1: 18 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"The client declined to run it","error":{"message":"The client declined to run it"}},"turnId":"t1","toolCallId":"k1"}
                agent s1: completed k1 false
                tools: answer 4 false Some(Object {"message": String("The client declined to run it")})
            tools s1 called 5 look {}
                await what is told of 5 150
            untold
                c1: 27 s1.chat chat/toolCallStart {"contributor":{"kind":"client","clientId":"a"},"turnId":"t1","toolCallId":"call-00000000000000000000000000000017","toolName":"look","displayName":"look"}
                agent s1: called look as call-00000000000000000000000000000017
                c1: 28 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"call-00000000000000000000000000000017","invocationMessage":"look","toolInput":"{}"}
                await execute:call-00000000000000000000000000000017@ahp-chat://default/YWhwLXNlc3Npb246L3Mx 1800000
            tools s1 abandoned 5
                c1: 30 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"the agent abandoned the call","error":{"message":"the agent abandoned the call"}},"turnId":"t1","toolCallId":"call-00000000000000000000000000000017"}
                agent s1: completed call-00000000000000000000000000000017 false
            tools s1 called 6 look {}
                await what is told of 6 150
            untold
                c1: 32 s1.chat chat/toolCallStart {"contributor":{"kind":"client","clientId":"a"},"turnId":"t1","toolCallId":"call-0000000000000000000000000000001a","toolName":"look","displayName":"look"}
                agent s1: called look as call-0000000000000000000000000000001a
                c1: 33 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"call-0000000000000000000000000000001a","invocationMessage":"look","toolInput":"{}"}
                await execute:call-0000000000000000000000000000001a@ahp-chat://default/YWhwLXNlc3Npb246L3Mx 1800000
            c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 1}
                c1: 35 s1.chat by a chat/turnCancelled {"duration":0,"turnId":"t1"}
                agent s1: cancel t1
                customizations: t1 ended
                changes s1: mark after t1, chat since before t1
                tools: answer 6 false Some(Object {"message": String("the turn has ended")})
            tools s1 called 7 look {}
                await what is told of 7 150
            agent s1 chat/toolCallStart {"turnId": "t2", "toolCallId": "k9", "toolName": "look", "displayName": "look", "contributor": {"kind": "client", "clientId": "a"}}
                c1: 40 s1.chat chat/toolCallStart {"contributor":{"kind":"client","clientId":"a"},"turnId":"t2","toolCallId":"k9","toolName":"look","displayName":"look"}
            untold
                agent s1: called look as k9
                c1: 41 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t2","toolCallId":"k9","invocationMessage":"look","toolInput":"{}"}
                await execute:k9@ahp-chat://default/YWhwLXNlc3Npb246L3Mx 1800000
            c1 ! s1 session/activeClientRemoved {"clientId": "a"}
                c1: 44 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"The client that runs look has disconnected","error":{"message":"The client that runs look has disconnected"}},"turnId":"t2","toolCallId":"k9"}
                agent s1: completed k9 false
                tools: answer 7 false Some(Object {"message": String("The client that runs look has disconnected")})
                agent s1: tools []
                tools: tools of clients []
        "#]],
    );
}

/// MCP-7, MCP-8, MCP-10, TOO-18 to TOO-20, AUT-2, AUT-11, AUT-12: MCP servers and single tool calls
/// wait for tokens, independently of each other.
#[test]
fn mcp_servers_and_calls_wait_for_tokens() {
    let m = r#"{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}"#;
    let scoped = r#"{"reason": "insufficientScope", "resource": {"resource": "https://tools.example"}, "requiredScopes": ["write"]}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        - customized s1 found [{m}]
        c1 authenticate {{"resource": "https://tools.example", "token": "secret"}}
        - c1 says t1 go
        - customized s1 prepared t1
        tools s1 token m
        c1 authenticate {{"resource": "https://tools.example", "token": "secret", "expiresIn": 60}}
        tools s1 ready m
        tools s1 has search=m
        - agent s1 chat/toolCallStart {{"turnId": "t1", "toolCallId": "k1", "toolName": "search", "displayName": "Search", "contributor": {{"kind": "mcp", "customizationId": "m"}}}}
        - agent s1 chat/toolCallReady {{"turnId": "t1", "toolCallId": "k1", "invocationMessage": "Searches", "confirmed": "not-needed"}}
        tools s1 needs search {scoped}
        c1 authenticate {{"resource": "https://tools.example", "token": "secret", "scopes": ["read"]}}
        c1 authenticate {{"resource": "https://tools.example", "token": "secret", "scopes": ["read", "write"]}}
        tools s1 goes-on search
        expired
        c1 authenticate {{"resource": "https://tools.example", "token": ""}}
        c1 authenticate {{"resource": "https://tools.example", "token": "secret"}}
        "#
        ),
        expect![[r#"
            c1 authenticate {"resource": "https://tools.example", "token": "secret"}
                c1: error -32602 resource: no agent or MCP server needs a token for it
            tools s1 token m
                c1: 8 s1 session/mcpServerStateChanged {"state":{"kind":"authRequired","reason":"required","resource":{"resource":"https://tools.example"}},"id":"m"}
                agent s1: prompt t1 "go"
            c1 authenticate {"resource": "https://tools.example", "token": "secret", "expiresIn": 60}
                token for https://tools.example expires 60000
                token of me for https://tools.example
                c1: {}
            tools s1 ready m
                c1: 9 shown session/customizationUpdated {"customization":{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"authRequired","reason":"required","resource":{"resource":"https://tools.example"}}}}
                c1: 10 shown session/mcpServerStateChanged {"state":{"kind":"ready"},"id":"m"}
            tools s1 has search=m
                c1: 11 s1 session/serverToolsChanged {"tools":[{"name":"search"}]}
                agent s1: server tools [search]
            tools s1 needs search {"reason": "insufficientScope", "resource": {"resource": "https://tools.example"}, "requiredScopes": ["write"]}
                c1: 15 s1 session/chatUpdated {"changes":{"status":24},"chat":"s1.chat"}
                c1: 16 s1 session/inputNeededSet {"request":{"kind":"toolAuthentication","id":"authenticate:k1@s1.chat","chat":"s1.chat","turnId":"t1","toolCall":{"status":"auth-required","toolCallId":"k1","toolName":"search","displayName":"Search","contributor":{"kind":"mcp","customizationId":"m"},"invocationMessage":"Searches","confirmed":"not-needed","auth":{"reason":"insufficientScope","resource":{"resource":"https://tools.example"},"requiredScopes":["write"]}}}}
            c1 authenticate {"resource": "https://tools.example", "token": "secret", "scopes": ["read"]}
                c1: error -32602 scopes: `write` is required
            c1 authenticate {"resource": "https://tools.example", "token": "secret", "scopes": ["read", "write"]}
                token of me for https://tools.example
                c1: {}
            tools s1 goes-on search
                c1: 18 s1 session/chatUpdated {"changes":{"status":8},"chat":"s1.chat"}
                c1: 19 s1 session/inputNeededRemoved {"id":"authenticate:k1@s1.chat"}
            expired
                nothing
            c1 authenticate {"resource": "https://tools.example", "token": ""}
                no token of me for https://tools.example
                c1: {}
            c1 authenticate {"resource": "https://tools.example", "token": "secret"}
                c1: error -32602 resource: no agent or MCP server needs a token for it
        "#]],
    );
}

/// A server that failed because its code is not trusted is started again only after the trusted
/// code has changed.
#[test]
fn untrusted_mcp_servers_are_not_restarted_repeatedly() {
    let m = r#"{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        customized s1 found [{m}]
        tools s1 sought
        tools s1 stopped m
        customized s1 updated {m}
        tools s1 sought
        c1 ! root root/configChanged {{"config": {{"trustedCode": ["file:///c#1"]}}}}
        customized s1 updated {m}
        "#
        ),
        expect![[r#"
            customized s1 found [{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}]
                c1: 3 s1 session/customizationsChanged {"customizations":[{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"stopped"}}]}
            tools s1 sought
                c1: 4 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
                tools: tools of clients []
            tools s1 stopped m
                c1: 5 s1 session/mcpServerStateChanged {"state":{"kind":"stopped"},"id":"m"}
            customized s1 updated {"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}
                tools: tools of clients []
            tools s1 sought
                tools: tools of clients []
            c1 ! root root/configChanged {"config": {"trustedCode": ["file:///c#1"]}}
                trust code {"file:///c#1"}
                customizations: trust {"file:///c#1"}
            customized s1 updated {"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}
                c1: 7 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
                tools: tools of clients []
        "#]],
    );
}
