//! What turns need of servers of tools: which tools, whose tokens, and another
//! try where a server failed.

use expect_test::expect;

use crate::script::check_customized;

/// CUS-18: while a custom agent with a list of tools answers, the chat has those
/// alone; without it, all. What is as it was is not said again.
#[test]
fn a_custom_agent_has_the_tools_of_its_list() {
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

/// CUS-13: what was decided in a session about a client's plugin, and about what
/// is in it, holds again when it comes back; also after a restart of the host. Taken
/// back, it is forgotten.
#[test]
fn decisions_of_a_session_outlive_what_they_are_about() {
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
