//! Tests for what turns need of MCP servers: a choice of tools, tokens, and retries of servers that
//! failed.

use agenthost_protocol::wire;
use expect_test::expect;

use crate::script::{check_customized, run};
use crate::test_host::{TestHost, config};

/// CUS-18: while a custom agent with a list of tools answers, the chat has only these tools;
/// without a list, it has all. An unchanged list is not sent again.
#[test]
fn a_custom_agent_has_only_its_listed_tools() {
    check_customized(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - customized s1 found []
        - c1 says t1 go
        customized s1 prepared t1 {"tools": ["Read", "calc/*"]}
        - agent s1 end t1
        - c1 says t2 go
        customized s1 prepared t2 {"tools": ["Read", "calc/*"]}
        - agent s1 end t2
        - c1 says t3 go
        customized s1 prepared t3 {"tools": ["Read"]}
        - agent s1 end t3
        - c1 says t4 go
        customized s1 prepared t4
        - agent s1 end t4
        - c1 says t5 go
        customized s1 prepared t5 {"tools": ["Read"]}
        - agent s1 end t5
        restart
        - c2 joins b
        - c2 subscribe s1
        - customized s1 found []
        - c2 says t6 go
        customized s1 prepared t6
        "#,
        expect![[r#"
            customized s1 prepared t1 {"tools": ["Read", "calc/*"]}
                tools: allow [Read, calc/*]
                agent s1: prompt t1 "go"
            customized s1 prepared t2 {"tools": ["Read", "calc/*"]}
                agent s1: prompt t2 "go"
            customized s1 prepared t3 {"tools": ["Read"]}
                tools: allow [Read]
                agent s1: prompt t3 "go"
            customized s1 prepared t4
                tools: allow all
                agent s1: prompt t4 "go"
            customized s1 prepared t5 {"tools": ["Read"]}
                tools: allow [Read]
                agent s1: prompt t5 "go"
            restart
                nothing
            customized s1 prepared t6
                agent s1: open
                agent s1: prompt t6 "go"
        "#]],
    );
}

/// CUS-13: the decisions of a session about a client's plugin and its children apply again when the
/// plugin returns, also after a restart of the host. A decision that is taken back is forgotten.
#[test]
fn enablement_decisions_survive_the_removal_of_a_plugin() {
    let active = r#"{"activeClient": {"clientId": "a", "tools": [], "customizations": [{"type": "plugin", "id": "x", "uri": "virtual://a/x", "name": "X", "nonce": "1", "childEnablement": {"k": [{"kind": "global", "enabled": true}]}}]}}"#;
    let loading = r#"{"type": "plugin", "id": "x", "uri": "virtual://a/x", "name": "X", "clientId": "a", "load": {"kind": "loading"}}"#;
    let loaded = r#"{"type": "plugin", "id": "x", "uri": "virtual://a/x", "name": "X", "clientId": "a", "load": {"kind": "loaded"}, "children": [{"type": "skill", "id": "k", "uri": "virtual://a/x/k", "name": "k"}]}"#;
    let directory = r#"{"type": "directory", "id": "d", "uri": "file:///d", "name": "D", "enabled": true, "contents": "rule", "writable": true, "children": []}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        - c1 ! s1 session/activeClientSet {active}
        - customized s1 found [{directory}]
        - customized s1 updated {loaded}
        c1 ! s1 session/customizationToggled {{"id": "x", "enablement": [{{"kind": "session", "enabled": false}}]}}
        c1 ! s1 session/customizationToggled {{"id": "k", "enablement": [{{"kind": "session", "enabled": false}}]}}
        c1 ! s1 session/customizationToggled {{"id": "d", "enablement": [{{"kind": "session", "enabled": false}}]}}
        c1 leave
        - grace a
        - customized s1 gone x
        - customized s1 gone d
        - c2 joins a
        - c2 subscribe s1
        - c2 ! s1 session/activeClientSet {active}
        customized s1 updated {loading}
        customized s1 updated {loaded}
        customized s1 updated {directory}
        restart
        - c3 joins a
        - c3 subscribe s1
        - grace a
        - customized s1 found []
        - c3 ! s1 session/activeClientSet {active}
        customized s1 updated {loaded}
        c3 ! s1 session/customizationToggled {{"id": "x", "enablement": []}}
        - customized s1 gone x
        customized s1 updated {loaded}
        "#
        ),
        expect![[r#"
            c1 ! s1 session/customizationToggled {"id": "x", "enablement": [{"kind": "session", "enabled": false}]}
                c1: 6 s1 by a session/customizationToggled {"enablement":[{"kind":"session","enabled":false}],"id":"x"}
                c1: 7 s1 session/metaChanged {"_meta":{"agenthost.customizations":{"x":false}}}
                customizations: off [x]
            c1 ! s1 session/customizationToggled {"id": "k", "enablement": [{"kind": "session", "enabled": false}]}
                c1: 8 s1 by a session/customizationToggled {"enablement":[{"kind":"session","enabled":false}],"id":"k"}
                c1: 9 s1 session/metaChanged {"_meta":{"agenthost.customizations":{"x":false,"k":false}}}
                customizations: off [k, x]
            c1 ! s1 session/customizationToggled {"id": "d", "enablement": [{"kind": "session", "enabled": false}]}
                c1: 10 s1 by a session/customizationToggled {"enablement":[{"kind":"session","enabled":false}],"id":"d"}
                c1: 11 s1 session/metaChanged {"_meta":{"agenthost.customizations":{"x":false,"k":false,"d":false}}}
                customizations: off [d, k, x]
            c1 leave
                grace a 30000
            customized s1 updated {"type": "plugin", "id": "x", "uri": "virtual://a/x", "name": "X", "clientId": "a", "load": {"kind": "loading"}}
                c2: 16 s1 session/customizationUpdated {"customization":{"type":"plugin","id":"x","uri":"virtual://a/x","name":"X","clientId":"a","load":{"kind":"loading"},"enablement":[{"kind":"session","enabled":false}]}}
                customizations: off [x]
            customized s1 updated {"type": "plugin", "id": "x", "uri": "virtual://a/x", "name": "X", "clientId": "a", "load": {"kind": "loaded"}, "children": [{"type": "skill", "id": "k", "uri": "virtual://a/x/k", "name": "k"}]}
                c2: 17 s1 session/customizationUpdated {"customization":{"type":"plugin","id":"x","uri":"virtual://a/x","name":"X","clientId":"a","load":{"kind":"loaded"},"children":[{"type":"skill","id":"k","uri":"virtual://a/x/k","name":"k","enabled":false}],"enablement":[{"kind":"session","enabled":false}]}}
                customizations: off [k, x]
            customized s1 updated {"type": "directory", "id": "d", "uri": "file:///d", "name": "D", "enabled": true, "contents": "rule", "writable": true, "children": []}
                c2: 18 s1 session/customizationUpdated {"customization":{"type":"directory","id":"d","uri":"file:///d","name":"D","children":[],"enabled":false,"contents":"rule","writable":true}}
                customizations: off [d, k, x]
            restart
                nothing
            customized s1 updated {"type": "plugin", "id": "x", "uri": "virtual://a/x", "name": "X", "clientId": "a", "load": {"kind": "loaded"}, "children": [{"type": "skill", "id": "k", "uri": "virtual://a/x/k", "name": "k"}]}
                c3: 21 s1 session/customizationUpdated {"customization":{"type":"plugin","id":"x","uri":"virtual://a/x","name":"X","clientId":"a","load":{"kind":"loaded"},"children":[{"type":"skill","id":"k","uri":"virtual://a/x/k","name":"k","enabled":false}],"enablement":[{"kind":"session","enabled":false}]}}
                customizations: off [k, x]
            c3 ! s1 session/customizationToggled {"id": "x", "enablement": []}
                c3: 22 s1 by a session/customizationToggled {"enablement":[],"id":"x"}
                c3: 23 s1 session/metaChanged {"_meta":{"agenthost.customizations":{"k":false,"d":false}}}
                customizations: off [k]
            customized s1 updated {"type": "plugin", "id": "x", "uri": "virtual://a/x", "name": "X", "clientId": "a", "load": {"kind": "loaded"}, "children": [{"type": "skill", "id": "k", "uri": "virtual://a/x/k", "name": "k"}]}
                c3: 25 s1 session/customizationUpdated {"customization":{"type":"plugin","id":"x","uri":"virtual://a/x","name":"X","clientId":"a","load":{"kind":"loaded"},"children":[{"type":"skill","id":"k","uri":"virtual://a/x/k","name":"k","enabled":false}]}}
                customizations: off [k]
        "#]],
    );
}

/// MCP-1, MCP-3: turns retry a server that failed, with increasing delays. The delay is reset when
/// the server has run for a while or a user starts it. A server that may not run any more reports
/// why it failed.
#[test]
fn turns_retry_failed_servers_with_backoff() {
    let m = r#"{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        - customized s1 found [{m}]
        - c1 says t1 go
        - tools s1 ready m
        - customized s1 prepared t1
        tools s1 failed m it broke
        - agent s1 end t1
        c1 says t2 go
        tools s1 failed m it broke
        customized s1 prepared t2
        - agent s1 end t2
        c1 says t3 go
        - customized s1 prepared t3
        - agent s1 end t3
        wait 10000
        c1 says t4 go
        tools s1 failed m it broke
        - customized s1 prepared t4
        - agent s1 end t4
        wait 20000
        - c1 says t5 go
        - tools s1 ready m
        - customized s1 prepared t5
        wait 60000
        tools s1 failed m it broke
        - agent s1 end t5
        c1 says t6 go
        tools s1 stopped m
        - customized s1 prepared t6
        - agent s1 end t6
        c1 says t7 go
        c1 ! s1 session/mcpServerStartRequested {{"id": "m"}}
        tools s1 failed m it broke
        c1 ! s1 session/mcpServerStopRequested {{"id": "m"}}
        tools s1 stopped m
        "#
        ),
        expect![[r#"
            tools s1 failed m it broke
                c1: 10 s1 session/mcpServerStateChanged {"state":{"kind":"error","error":{"errorType":"failed","message":"it broke"}},"id":"m"}
            c1 says t2 go
                c1: 14 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                changes s1: mark before t2
                c1: 15 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
                customizations: prepare t2 "go" agent None
            tools s1 failed m it broke
                c1: 16 s1 session/mcpServerStateChanged {"state":{"kind":"error","error":{"errorType":"failed","message":"it broke\nit failed 2 times in a row: the host retries in the next turn after 10 s"}},"id":"m"}
            customized s1 prepared t2
                agent s1: prompt t2 "go"
            c1 says t3 go
                c1: 20 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                changes s1: mark before t3
                customizations: prepare t3 "go" agent None
            wait 10000
                nothing
            c1 says t4 go
                c1: 24 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                changes s1: mark before t4
                c1: 25 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
                customizations: prepare t4 "go" agent None
            tools s1 failed m it broke
                c1: 26 s1 session/mcpServerStateChanged {"state":{"kind":"error","error":{"errorType":"failed","message":"it broke\nit failed 3 times in a row: the host retries in the next turn after 20 s"}},"id":"m"}
            wait 20000
                nothing
            wait 60000
                nothing
            tools s1 failed m it broke
                c1: 33 s1 session/mcpServerStateChanged {"state":{"kind":"error","error":{"errorType":"failed","message":"it broke"}},"id":"m"}
            c1 says t6 go
                c1: 37 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                changes s1: mark before t6
                c1: 38 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
                customizations: prepare t6 "go" agent None
            tools s1 stopped m
                c1: 39 s1 session/mcpServerStateChanged {"state":{"kind":"error","error":{"errorType":"failed","message":"it broke"}},"id":"m"}
            c1 says t7 go
                c1: 43 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                changes s1: mark before t7
                customizations: prepare t7 "go" agent None
            c1 ! s1 session/mcpServerStartRequested {"id": "m"}
                c1: 44 s1 by a session/mcpServerStartRequested {"id":"m"}
                tools: start m for a Person
            tools s1 failed m it broke
                c1: 45 s1 session/mcpServerStateChanged {"state":{"kind":"error","error":{"errorType":"failed","message":"it broke"}},"id":"m"}
            c1 ! s1 session/mcpServerStopRequested {"id": "m"}
                c1: 46 s1 by a session/mcpServerStopRequested {"id":"m"}
                tools: stop m
            tools s1 stopped m
                c1: 47 s1 session/mcpServerStateChanged {"state":{"kind":"stopped"},"id":"m"}
        "#]],
    );
}

/// CLT-4, TOO-16: the agent can tell a client tool that did not run from one that ran and whose
/// result was denied.
#[test]
fn a_denied_result_differs_from_a_denied_call() {
    let active = r#"{"activeClient": {"clientId": "a", "tools": [{"name": "run"}]}}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1.chat
        - c1 ! s1 session/activeClientSet {active}
        - c1 says t1 go
        - customized s1 prepared t1
        - agent s1 chat/toolCallStart {{"turnId": "t1", "toolCallId": "k1", "toolName": "run", "displayName": "Run it", "contributor": {{"kind": "client", "clientId": "a"}}}}
        - tools s1 called 1 run {{}}
        c1 ! s1.chat chat/toolCallComplete {{"turnId": "t1", "toolCallId": "k1", "result": {{"success": true, "pastTenseMessage": "Ran"}}, "requiresResultConfirmation": true}}
        c1 ! s1.chat chat/toolCallResultConfirmed {{"turnId": "t1", "toolCallId": "k1", "approved": false}}
        - agent s1 chat/toolCallStart {{"turnId": "t1", "toolCallId": "k2", "toolName": "run", "displayName": "Run it", "contributor": {{"kind": "client", "clientId": "a"}}}}
        - agent s1 chat/toolCallReady {{"turnId": "t1", "toolCallId": "k2", "invocationMessage": "Run it"}}
        - tools s1 called 2 run {{}}
        c1 ! s1.chat chat/toolCallConfirmed {{"turnId": "t1", "toolCallId": "k2", "approved": false, "reason": "denied"}}
        "#
        ),
        expect![[r#"
            c1 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "k1", "result": {"success": true, "pastTenseMessage": "Ran"}, "requiresResultConfirmation": true}
                c1: 10 s1.chat by a chat/toolCallComplete {"requiresResultConfirmation":true,"turnId":"t1","toolCallId":"k1","result":{"success":true,"pastTenseMessage":"Ran"}}
            c1 ! s1.chat chat/toolCallResultConfirmed {"turnId": "t1", "toolCallId": "k1", "approved": false}
                c1: 14 s1.chat by a chat/toolCallResultConfirmed {"approved":false,"turnId":"t1","toolCallId":"k1"}
                agent s1: decide k1 ResultDenied
                tools: answer 1 false Some(Object {"message": String("The tool ran, but its result was denied")})
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "k2", "approved": false, "reason": "denied"}
                c1: 21 s1.chat by a chat/toolCallConfirmed {"reason":"denied","turnId":"t1","toolCallId":"k2","approved":false}
                agent s1: decide k2 Denied { option: None, reason: Denied, suggestion: None }
                tools: answer 2 false Some(Object {"message": String("The tool call was denied")})
        "#]],
    );
}

/// AUT-10, AUT-13: a session uses the tokens of the principal that acted in it last, then of those
/// that acted earlier, then of other participants; not those of mere subscribers.
#[test]
fn sessions_use_the_tokens_of_their_participants() {
    let m = r#"{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}"#;
    check_customized(
        &format!(
            r#"
        - c1 connect ann
        - c1 initialize {{"clientId": "a", "protocolVersions": ["1.0.0"]}}
        - c2 connect bob
        - c2 initialize {{"clientId": "b", "protocolVersions": ["1.0.0"]}}
        - c3 connect cid
        - c3 initialize {{"clientId": "c", "protocolVersions": ["1.0.0"]}}
        - c4 connect dan
        - c4 initialize {{"clientId": "d", "protocolVersions": ["1.0.0"]}}
        c1 createSession s1 {{"workingDirectories": ["file:///w"]}}
        - agent s1 opened
        - c4 subscribe s1
        - customized s1 found [{m}]
        c2 ! s1 session/activeClientSet {{"activeClient": {{"clientId": "b", "tools": []}}}}
        c3 ! s1.chat chat/turnStarted {{"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {{"text": "go", "origin": {{"kind": "user"}}}}}}
        - tools s1 token m
        c4 authenticate {{"resource": "https://tools.example", "token": "secret"}}
        - customized s1 prepared t1
        c2 ! s1.chat chat/pendingMessageSet {{"kind": "queued", "id": "q1", "message": {{"text": "next", "origin": {{"kind": "user"}}}}}}
        agent s1 end t1
        c1 ! s1 session/mcpServerStartRequested {{"id": "m"}}
        restart
        - c5 connect ann
        - c5 initialize {{"clientId": "a", "protocolVersions": ["1.0.0"]}}
        c5 subscribe s1
        c5 disposeSession s1
        "#
        ),
        expect![[r#"
            c1 createSession s1 {"workingDirectories": ["file:///w"]}
                c1: null
                tokens of [ann]
                changes s1: mark start
                agent s1: open
                customizations: follow [file:///w] for shell
                tools: tools of clients []
            c2 ! s1 session/activeClientSet {"activeClient": {"clientId": "b", "tools": []}}
                c4: 4 s1 by b session/activeClientSet {"activeClient":{"clientId":"b","tools":[]}}
                tokens of [ann, bob]
                agent s1: tools []
                tools: tools of clients []
            c3 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
                c4: 6 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                c4: 7 s1 session/titleChanged {"title":"go"}
                changes s1: mark before t1
                tokens of [cid, ann, bob]
                c4: 8 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
                customizations: prepare t1 "go" agent None
            c4 authenticate {"resource": "https://tools.example", "token": "secret"}
                token of dan for https://tools.example
                c4: {}
            c2 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q1", "message": {"text": "next", "origin": {"kind": "user"}}}
                nothing
            agent s1 end t1
                c4: 12 s1 session/chatUpdated {"changes":{"status":1,"modifiedAt":"2026-01-05T09:00:00.000Z"},"chat":"s1.chat"}
                customizations: t1 ended
                changes s1: mark after t1, chat since before t1
                c4: 15 s1 session/chatUpdated {"changes":{"status":8},"chat":"s1.chat"}
                changes s1: mark before turn-00000000000000000000000000000014
                tokens of [bob, cid, ann]
                customizations: prepare turn-00000000000000000000000000000014 "next" agent None
            c1 ! s1 session/mcpServerStartRequested {"id": "m"}
                c4: 16 s1 by a session/mcpServerStartRequested {"id":"m"}
                tokens of [ann, bob, cid]
                tools: start m for a Person
            restart
                changes s1: mark after turn-00000000000000000000000000000014, chat since before t1
            c5 subscribe s1
                tokens of [bob]
                customizations: follow [file:///w] for shell
                tools: tools of clients []
                c5: snapshot of s1 at 19
            c5 disposeSession s1
                tools: end
                customizations: forget
                changes s1: forget
                c5: 20 s1 session/chatRemoved {"chat":"s1.chat"}
                c5: null
        "#]],
    );
}

/// CUS-4, CUS-5: the list of agents shows customizations as they were read, without decisions of
/// sessions. Several updates are published at once.
#[test]
fn the_agent_list_has_customizations_without_decisions() {
    let plugin = |id: &str, rest: &str| {
        format!(
            r#"{{"type": "plugin", "id": "{id}", "uri": "file:///{id}", "name": "{id}", {rest}}}"#
        )
    };
    let loading = r#""load": {"kind": "loading"}"#;
    let read = r#""load": {"kind": "degraded", "message": "odd"}, "children": [{"type": "skill", "id": "k", "uri": "file:///p/k", "name": "k"}]"#;
    let mut config = config();
    let agents = config
        .catalog
        .agents
        .iter()
        .map(|agent| agent.provider.clone());
    config.catalog.customizable = Some(agents.collect());
    config.catalog.agents.truncate(1);
    let known = format!("[{}, {}]", plugin("p", loading), plugin("q", loading));
    config.catalog.agents[0].customizations = Some(wire::from_str(&known).unwrap());
    let mut test_host = TestHost::with(config);
    let (p, q) = (
        plugin("p", read),
        plugin("q", r#""load": {"kind": "loaded"}, "children": []"#),
    );
    let result = run(
        &mut test_host,
        &format!(
            r#"
        - c1 joins a
        - c1 subscribe root
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 opens s2 {{"workingDirectories": ["file:///w"]}}
        customized s1 found {known}
        - c1 ! s1 session/customizationToggled {{"id": "p", "enablement": [{{"kind": "session", "enabled": false}}]}}
        customized s1 updated {p}
        customized s1 updated {q}
        learned
        customized s2 found [{p}, {q}]
        customized s2 updated {}
        customized s2 updated {}
        learned
        "#,
            plugin("p", loading),
            plugin("p", r#""clientId": "a", "load": {"kind": "loaded"}"#),
        ),
    );
    test_host.check_mirrors();
    expect![[r#"
        customized s1 found [{"type": "plugin", "id": "p", "uri": "file:///p", "name": "p", "load": {"kind": "loading"}}, {"type": "plugin", "id": "q", "uri": "file:///q", "name": "q", "load": {"kind": "loading"}}]
            nothing
        customized s1 updated {"type": "plugin", "id": "p", "uri": "file:///p", "name": "p", "load": {"kind": "degraded", "message": "odd"}, "children": [{"type": "skill", "id": "k", "uri": "file:///p/k", "name": "k"}]}
            show agents 250
        customized s1 updated {"type": "plugin", "id": "q", "uri": "file:///q", "name": "q", "load": {"kind": "loaded"}, "children": []}
            nothing
        learned
            c1: 10 root root/agentsChanged {"agents":[{"provider":"shell","displayName":"shell","description":"","models":[{"id":"default","provider":"shell","name":"Agent default"}],"customizations":[{"type":"plugin","id":"p","uri":"file:///p","name":"p","load":{"kind":"degraded","message":"odd"},"children":[{"type":"skill","id":"k","uri":"file:///p/k","name":"k"}]},{"type":"plugin","id":"q","uri":"file:///q","name":"q","load":{"kind":"loaded"},"children":[]}],"capabilities":{"multipleChats":{"fork":true,"sideChat":true}}}]}
        customized s2 found [{"type": "plugin", "id": "p", "uri": "file:///p", "name": "p", "load": {"kind": "degraded", "message": "odd"}, "children": [{"type": "skill", "id": "k", "uri": "file:///p/k", "name": "k"}]}, {"type": "plugin", "id": "q", "uri": "file:///q", "name": "q", "load": {"kind": "loaded"}, "children": []}]
            nothing
        customized s2 updated {"type": "plugin", "id": "p", "uri": "file:///p", "name": "p", "load": {"kind": "loading"}}
            nothing
        customized s2 updated {"type": "plugin", "id": "p", "uri": "file:///p", "name": "p", "clientId": "a", "load": {"kind": "loaded"}}
            nothing
        learned
            nothing
    "#]].assert_eq(&format!("{result}\n"));
}
