//! Tests for completions, attachments, host configuration, file access and resource watches.

use expect_test::expect;

use crate::script::{check, run};
use crate::test_host::TestHost;

/// CMP-1 to CMP-4: offsets of completions count UTF-16 code units, files are searched by a job, and
/// commands are completed at once.
#[test]
fn files_and_commands_are_completed() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        c1 completions s1.chat {"kind": "userMessage", "text": "🦀 see @ma", "offset": 10}
        found src/main.rs src/
        c1 completions s1.chat {"kind": "userMessage", "text": "see @ma", "offset": 4}
        c1 completions s1.chat {"kind": "userMessage", "text": "🦀", "offset": 1}
        c1 completions s1.chat {"kind": "userMessage", "text": "🦀", "offset": 3}
        c1 completions s1.chat {"kind": "userMessage", "text": "🦀", "offset": -1}
        c1 completions s1.chat {"kind": "somethingNew", "text": "@", "offset": 1}
        c1 completions s2.chat {"kind": "userMessage", "text": "@", "offset": 1}
        c1 completions s1 {"kind": "userMessage", "text": "@", "offset": 1}
        c1 completions s1.chat {"kind": "userMessage", "text": "/", "offset": 1}
        agent s1 commands review prefix fix
        c1 completions s1.chat {"kind": "userMessage", "text": "/", "offset": 1}
        c1 completions s1.chat {"kind": "userMessage", "text": " /FIX", "offset": 5}
        c1 completions s1.chat {"kind": "userMessage", "text": "not /fix", "offset": 8}
        "#,
        expect![[r#"
            c1 completions s1.chat {"kind": "userMessage", "text": "🦀 see @ma", "offset": 10}
                find "ma" in [file:///w]
            found src/main.rs src/
                c1: items [@src/main.rs for 7..10, @src/ for 7..10]
            c1 completions s1.chat {"kind": "userMessage", "text": "see @ma", "offset": 4}
                c1: items []
            c1 completions s1.chat {"kind": "userMessage", "text": "🦀", "offset": 1}
                c1: error -32602 offset: expected a character boundary of the text
            c1 completions s1.chat {"kind": "userMessage", "text": "🦀", "offset": 3}
                c1: error -32602 offset: expected a character boundary of the text
            c1 completions s1.chat {"kind": "userMessage", "text": "🦀", "offset": -1}
                c1: error -32602 offset: expected a whole number of at least 0, found -1
            c1 completions s1.chat {"kind": "somethingNew", "text": "@", "offset": 1}
                c1: items []
            c1 completions s2.chat {"kind": "userMessage", "text": "@", "offset": 1}
                c1: error -32001 there is no session or chat `ahp-chat://default/YWhwLXNlc3Npb246L3My`
            c1 completions s1 {"kind": "userMessage", "text": "@", "offset": 1}
                c1: error -32001 there is no session or chat `ahp-session:/s1`
            c1 completions s1.chat {"kind": "userMessage", "text": "/", "offset": 1}
                c1: items []
            agent s1 commands review prefix fix
                nothing
            c1 completions s1.chat {"kind": "userMessage", "text": "/", "offset": 1}
                c1: items [/review for 0..1, /prefix for 0..1, /fix for 0..1]
            c1 completions s1.chat {"kind": "userMessage", "text": " /FIX", "offset": 5}
                c1: items [/fix for 1..5, /prefix for 1..5]
            c1 completions s1.chat {"kind": "userMessage", "text": "not /fix", "offset": 8}
                c1: items []
        "#]],
    );
}

/// The result of a completion is dropped if its client has left. After a restart, the agent is
/// opened so that it can report its commands.
#[test]
fn late_completion_results_are_dropped() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        c1 completions s1.chat {"kind": "userMessage", "text": "@", "offset": 1}
        - c1 leave
        found a.rs
        - restart
        - c2 joins a
        c2 completions s1.chat {"kind": "userMessage", "text": "/", "offset": 1}
        c2 completions s1.chat {"kind": "userMessage", "text": "/", "offset": 1}
        "#,
        expect![[r#"
            c1 completions s1.chat {"kind": "userMessage", "text": "@", "offset": 1}
                find "" in []
            found a.rs
                nothing
            c2 completions s1.chat {"kind": "userMessage", "text": "/", "offset": 1}
                agent s1: open
                c2: items []
            c2 completions s1.chat {"kind": "userMessage", "text": "/", "offset": 1}
                c2: items []
        "#]],
    );
}

/// CMP-5, CMP-6: the sender of a simple attachment has to provide its `modelRepresentation`, except
/// for a command.
#[test]
fn simple_attachments_need_a_model_representation() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "simple", "label": "mine"}]}}
        c1 ! s1.chat chat/pendingMessageSet {"id": "m", "kind": "queued", "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "simple", "label": "mine"}]}}
        c1 createChat s1 {"chat": "ahp-chat:/1", "initialMessage": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "simple", "label": "mine"}]}}
        c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "simple", "label": "mine", "modelRepresentation": "x"}, {"type": "simple", "label": "/fix", "_meta": {"agenthost.command": "fix"}}]}}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "simple", "label": "mine"}]}}
                c1: 3 rejected: attachment `mine`: modelRepresentation is missing
            c1 ! s1.chat chat/pendingMessageSet {"id": "m", "kind": "queued", "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "simple", "label": "mine"}]}}
                c1: 4 rejected: attachment `mine`: modelRepresentation is missing
            c1 createChat s1 {"chat": "ahp-chat:/1", "initialMessage": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "simple", "label": "mine"}]}}
                c1: error -32602 attachment `mine`: modelRepresentation is missing
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "simple", "label": "mine", "modelRepresentation": "x"}, {"type": "simple", "label": "/fix", "_meta": {"agenthost.command": "fix"}}]}}
                agent s1: prompt t1 "go"
        "#]],
    );
}

/// ROOT-20 and the row of `root/configChanged`.
#[test]
fn clients_can_change_host_settings() {
    let mut test_host = TestHost::new();
    let result = run(
        &mut test_host,
        r#"
        - c1 joins a
        - c1 subscribe root
        c1 ! root root/configChanged {"config": {"colour": "red"}}
        c1 ! root root/configChanged {"config": {"defaultAgent": "nobody"}}
        c1 ! root root/configChanged {"config": {"clientToolTimeout": "soon"}}
        c1 ! root root/configChanged {"config": {"clientToolTimeout": -1.5}}
        c1 ! s1 root/configChanged {"config": {}}
        c1 ! root root/agentsChanged {"agents": []}
        c1 ! root root/configChanged {"config": {"defaultAgent": "other", "clientToolTimeout": 60}}
        - restart
        - c2 joins b
        - c2 createSession s1
        c2 createChat s1 {"chat": "ahp-chat:/1"}
        c2 ! root root/configChanged {"config": {}, "replace": true}
        "#,
    );
    test_host.check_mirrors();
    expect![[r#"
        c1 ! root root/configChanged {"config": {"colour": "red"}}
            c1: 1 rejected: `colour`: there is no such setting
        c1 ! root root/configChanged {"config": {"defaultAgent": "nobody"}}
            c1: 2 rejected: `defaultAgent`: expected one of the values that are offered
        c1 ! root root/configChanged {"config": {"clientToolTimeout": "soon"}}
            c1: 3 rejected: `clientToolTimeout`: expected a value of type number
        c1 ! root root/configChanged {"config": {"clientToolTimeout": -1.5}}
            c1: 4 rejected: `clientToolTimeout`: expected a whole number of seconds
        c1 ! s1 root/configChanged {"config": {}}
            nothing
        c1 ! root root/agentsChanged {"agents": []}
            c1: 5 rejected: `root/agentsChanged` can only be dispatched by the host
        c1 ! root root/configChanged {"config": {"defaultAgent": "other", "clientToolTimeout": 60}}
            c1: 6 root by a root/configChanged {"config":{"defaultAgent":"other","clientToolTimeout":60}}
        c2 createChat s1 {"chat": "ahp-chat:/1"}
            c2: error -32602 the session is not ready
        c2 ! root root/configChanged {"config": {}, "replace": true}
            nothing"#]].assert_eq(&result);
    let root = test_host.log.channels[&crate::script::uri("root")].clone();
    let root = serde_json::to_value(&root).unwrap();
    let schema = &root["config"]["schema"]["properties"];
    assert_eq!(
        schema["defaultAgent"]["enum"],
        serde_json::json!(["shell", "other", "roaming"])
    );
}

/// The schema of settings is part of the program. After an update, the host publishes the new
/// schema and keeps the stored values that are still valid.
#[test]
fn stored_settings_survive_an_update_of_the_schema() {
    use agenthost_core::StoreWrite;
    use agenthost_protocol::channel::ChannelState;
    let mut test_host = TestHost::new();
    run(
        &mut test_host,
        r#"
        c1 connect
        c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        c1 ! root root/configChanged {"config": {"defaultAgent": "other", "clientToolTimeout": 60}}
        "#,
    );
    let root = crate::script::uri("root");
    let Some(ChannelState::Root(state)) = test_host.log.channels.get(&root).cloned() else {
        panic!("there is a root");
    };
    // A removed agent, and a setting of another version.
    let mut state = (*state).clone();
    let config = state.config.as_mut().unwrap();
    config.schema.properties.shift_remove("clientToolTimeout");
    config
        .values
        .insert("defaultAgent".to_owned(), "gone".into());
    config.values.insert("old".to_owned(), true.into());
    test_host.log.channels.insert(root.clone(), state.into());
    let effects = test_host.restart();
    let created = effects.writes.iter().any(
        |write| matches!(write, StoreWrite::ChannelCreated { channel, .. } if *channel == root),
    );
    assert!(created, "{:?}", effects.writes);
    test_host.check_mirrors();
    let root = serde_json::to_value(&test_host.log.channels[&root]).unwrap();
    assert_eq!(
        root["config"]["values"],
        serde_json::json!({"clientToolTimeout": 60})
    );
}

/// RES-12, RES-13, SEC-2: clients can access the working directories of sessions and the folders
/// that a person has granted. Other requests are refused with the access to ask for.
#[test]
fn files_are_accessible_in_working_directories_and_granted_folders() {
    check(
        r#"
        - c1 joins a
        c1 resourceRead {"uri": "file:///w/x"}
        c1 resourceRequest {"uri": "file:///w/x"}
        ungranted
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        c1 resourceWrite {"uri": "file:///w/x", "data": "", "encoding": "utf-8"}
        done
        c1 resourceRequest {"uri": "file:///w/x", "write": true}
        c1 resourceRequest {"uri": "file:///w/../x", "write": true}
        c1 resourceRequest {"uri": "file:///w/%2E./x", "write": true}
        c1 resourceRequest {"uri": "file:///weather", "read": true}
        ungranted
        c1 ! root root/configChanged {"config": {"readableFolders": ["https://x"]}}
        c1 ! root root/configChanged {"config": {"readableFolders": ["file:///docs"], "writableFolders": ["file:///more/"]}}
        c1 resourceRequest {"uri": "file:///docs/a", "read": true}
        c1 resourceRequest {"uri": "file:///docs/a", "write": true}
        ungranted
        c1 resourceRequest {"uri": "file:///more/a", "write": true}
        c1 resourceList {"uri": "file:///more"}
        - c1 leave
        done
        "#,
        expect![[r#"
            c1 resourceRead {"uri": "file:///w/x"}
                files in []
            c1 resourceRequest {"uri": "file:///w/x"}
                await a grant 60000
            ungranted
                c1: error -32009 `file:///w/x` is outside of the granted folders; `agenthost allow` grants more
            c1 resourceWrite {"uri": "file:///w/x", "data": "", "encoding": "utf-8"}
                files in [Write file:///w]
            done
                c1: {}
            c1 resourceRequest {"uri": "file:///w/x", "write": true}
                c1: {}
            c1 resourceRequest {"uri": "file:///w/../x", "write": true}
                c1: error -32009 `file:///w/../x` is outside of the granted folders; `agenthost allow` grants more
            c1 resourceRequest {"uri": "file:///w/%2E./x", "write": true}
                c1: error -32009 `file:///w/%2E./x` is outside of the granted folders; `agenthost allow` grants more
            c1 resourceRequest {"uri": "file:///weather", "read": true}
                await a grant 60000
            ungranted
                c1: error -32009 `file:///weather` is outside of the granted folders; `agenthost allow` grants more
            c1 ! root root/configChanged {"config": {"readableFolders": ["https://x"]}}
                c1: 7 rejected: `readableFolders`: `https://x` is not a folder of this machine (file:///…)
            c1 ! root root/configChanged {"config": {"readableFolders": ["file:///docs"], "writableFolders": ["file:///more/"]}}
                nothing
            c1 resourceRequest {"uri": "file:///docs/a", "read": true}
                c1: {}
            c1 resourceRequest {"uri": "file:///docs/a", "write": true}
                await a grant 60000
            ungranted
                c1: error -32009 `file:///docs/a` is outside of the granted folders; `agenthost allow` grants more
            c1 resourceRequest {"uri": "file:///more/a", "write": true}
                c1: {}
            c1 resourceList {"uri": "file:///more"}
                files in [Read file:///docs, Write file:///more/, Write file:///w]
            done
                nothing
        "#]],
    );
}

/// WAT-1, WAT-4 to WAT-7: a resource watch ends with its last subscriber.
#[test]
fn a_resource_watch_ends_with_its_last_subscriber() {
    let watch = "ahp-resource-watch:/watch-00000000000000000000000000000007";
    let script = r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        c1 createResourceWatch {"uri": "file:///elsewhere"}
        c1 createResourceWatch {"uri": "file:///w/x", "recursive": true}
        watching
        c1 subscribe WATCH
        changed WATCH file:///w/x/y
        c1 ! WATCH resourceWatch/changed {"changes": {"items": []}}
        unwatched WATCH
        c1 unsubscribe WATCH
        changed WATCH file:///w/x/y
        c1 subscribe WATCH
        c1 createResourceWatch {"uri": "file:///w/none"}
        watching there is none
        - c1 createResourceWatch {"uri": "file:///w"}
        - c1 leave
        watching
    "#;
    check(
        &script.replace("WATCH", watch),
        expect![[r#"
            c1 createResourceWatch {"uri": "file:///elsewhere"}
                c1: error -32009 `file:///elsewhere` is outside of the granted folders; `agenthost allow` grants more
            c1 createResourceWatch {"uri": "file:///w/x", "recursive": true}
                watch file:///w/x as ahp-resource-watch:/watch-00000000000000000000000000000007
            watching
                await ahp-resource-watch:/watch-00000000000000000000000000000007 30000
                c1: watch ahp-resource-watch:/watch-00000000000000000000000000000007
            c1 subscribe ahp-resource-watch:/watch-00000000000000000000000000000007
                c1: snapshot of ahp-resource-watch:/watch-00000000000000000000000000000007 at 2
            changed ahp-resource-watch:/watch-00000000000000000000000000000007 file:///w/x/y
                c1: 3 shown resourceWatch/changed {"changes":{"items":[{"uri":"file:///w/x/y","type":"updated"}]}}
            c1 ! ahp-resource-watch:/watch-00000000000000000000000000000007 resourceWatch/changed {"changes": {"items": []}}
                c1: 4 rejected: `resourceWatch/changed` can only be dispatched by the host
            unwatched ahp-resource-watch:/watch-00000000000000000000000000000007
                nothing
            c1 unsubscribe ahp-resource-watch:/watch-00000000000000000000000000000007
                unwatch ahp-resource-watch:/watch-00000000000000000000000000000007
            changed ahp-resource-watch:/watch-00000000000000000000000000000007 file:///w/x/y
                nothing
            c1 subscribe ahp-resource-watch:/watch-00000000000000000000000000000007
                c1: error -32008 `ahp-resource-watch:/watch-00000000000000000000000000000007` does not exist
            c1 createResourceWatch {"uri": "file:///w/none"}
                watch file:///w/none as ahp-resource-watch:/watch-00000000000000000000000000000010
            watching there is none
                c1: error -32603 there is none
            watching
                unwatch ahp-resource-watch:/watch-00000000000000000000000000000012
        "#]],
    );
}

/// A resource watch without subscribers ends after a timeout, and does not survive a restart.
#[test]
fn a_resource_watch_without_subscribers_times_out() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 createResourceWatch {"uri": "file:///w"}
        - watching
        unwatched ahp-resource-watch:/watch-00000000000000000000000000000006
        - c1 createResourceWatch {"uri": "file:///w"}
        - watching
        - c1 subscribe ahp-resource-watch:/watch-00000000000000000000000000000009
        - restart
        - c2 connect me was c1
        c2 reconnect {"clientId": "a", "lastSeenServerSeq": 2, "subscriptions": ["ahp-resource-watch:/watch-00000000000000000000000000000009"]}
        "#,
        expect![[r#"
            unwatched ahp-resource-watch:/watch-00000000000000000000000000000006
                unwatch ahp-resource-watch:/watch-00000000000000000000000000000006
            c2 reconnect {"clientId": "a", "lastSeenServerSeq": 2, "subscriptions": ["ahp-resource-watch:/watch-00000000000000000000000000000009"]}
                c2: replay (2, 2] of [], missing [ahp-resource-watch:/watch-00000000000000000000000000000009]
        "#]],
    );
}

/// RES-12: a person can grant an access request of a client or deny it; without an answer, it times
/// out.
#[test]
fn an_access_request_is_granted_denied_or_times_out() {
    check(
        r#"
        - c1 joins a
        - c2 joins b
        - c2 subscribe root
        c1 resourceRequest {"uri": "file:///docs/x", "write": true}
        c1 resourceRequest {"uri": "file:///notes"}
        c1 ! root root/configChanged {"config": {"requestedFolders": []}}
        c1 ! root root/configChanged {"config": {}, "replace": true}
        c2 ! root root/configChanged {"config": {"writableFolders": ["file:///docs"]}}
        ungranted
        ungranted
        c1 resourceRequest {"uri": "file:///more"}
        c1 leave
        - restart
        - c3 joins a
        c3 resourceRequest {"uri": "file:///docs/x", "write": true}
        "#,
        expect![[r#"
            c1 resourceRequest {"uri": "file:///docs/x", "write": true}
                await a grant 60000
                c2: 1 root root/configChanged {"replace":true,"config":{"requestedFolders":["write file:///docs/x"]}}
            c1 resourceRequest {"uri": "file:///notes"}
                await a grant 60000
                c2: 2 root root/configChanged {"replace":true,"config":{"requestedFolders":["read file:///notes","write file:///docs/x"]}}
            c1 ! root root/configChanged {"config": {"requestedFolders": []}}
                c1: 3 rejected: `requestedFolders`: can't be changed
            c1 ! root root/configChanged {"config": {}, "replace": true}
                c1: 4 rejected: `requestedFolders`: can't be removed
            c2 ! root root/configChanged {"config": {"writableFolders": ["file:///docs"]}}
                c2: 5 root by b root/configChanged {"config":{"writableFolders":["file:///docs"]}}
                c1: {}
                c2: 6 root root/configChanged {"replace":true,"config":{"writableFolders":["file:///docs"],"requestedFolders":["read file:///notes"]}}
            ungranted
                nothing
            ungranted
                c1: error -32009 `file:///notes` is outside of the granted folders; `agenthost allow` grants more
                c2: 7 root root/configChanged {"replace":true,"config":{"writableFolders":["file:///docs"]}}
            c1 resourceRequest {"uri": "file:///more"}
                await a grant 60000
                c2: 8 root root/configChanged {"replace":true,"config":{"writableFolders":["file:///docs"],"requestedFolders":["read file:///more"]}}
            c1 leave
                c2: 9 root root/configChanged {"replace":true,"config":{"writableFolders":["file:///docs"]}}
                grace a 30000
            c3 resourceRequest {"uri": "file:///docs/x", "write": true}
                c3: {}
        "#]],
    );
}
