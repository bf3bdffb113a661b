//! Tests for session configuration.

use expect_test::expect;

use crate::script::check;

/// CFG-1 to CFG-7, SES-10, SES-11; the row of table 7.1.
#[test]
fn session_configuration_is_checked_against_its_schema() {
    check(
        r#"
        - c1 joins a
        c1 resolveSessionConfig {}
        c1 resolveSessionConfig {"provider": "nobody"}
        c1 resolveSessionConfig {"provider": "roaming"}
        c1 resolveSessionConfig {"provider": "roaming", "config": {"mode": "fly", "branch": "main", "x": 1}}
        c1 sessionConfigCompletions {"provider": "roaming", "property": "x"}
        c1 sessionConfigCompletions {"provider": "roaming", "property": "branch"}
        c1 createSession s1 {"config": {"mode": "do"}}
        c1 createSession s1 {"provider": "roaming", "config": {"mode": "fly"}}
        c1 createSession s1 {"provider": "roaming", "config": {"mode": 3}}
        c1 createSession s1 {"provider": "roaming", "config": {"branch": "main"}}
        - agent s1 opened
        - c1 subscribe s1
        c1 ! s1 session/configChanged {"config": {"branch": "other"}}
        c1 ! s1 session/configChanged {"config": {"mode": "fly"}}
        c1 ! s1 session/configChanged {"config": {"mode": "do"}, "replace": true}
        c1 ! s1 session/configChanged {"config": {"mode": "do"}}
        - c1 opens s2
        c1 ! s2 session/configChanged {"config": {"mode": "do"}}
        "#,
        expect![[r#"
            c1 resolveSessionConfig {}
                c1: schema of [autoApprove, permissions], {"autoApprove":"default"}
            c1 resolveSessionConfig {"provider": "nobody"}
                c1: error -32002 there is no agent `nobody`
            c1 resolveSessionConfig {"provider": "roaming"}
                c1: schema of [mode, branch, autoApprove, permissions], {"mode":"ask","autoApprove":"default"}
            c1 resolveSessionConfig {"provider": "roaming", "config": {"mode": "fly", "branch": "main", "x": 1}}
                c1: schema of [mode, branch, autoApprove, permissions], {"branch":"main","mode":"ask","autoApprove":"default"}
            c1 sessionConfigCompletions {"provider": "roaming", "property": "x"}
                c1: error -32602 property: there is no `x`
            c1 sessionConfigCompletions {"provider": "roaming", "property": "branch"}
                c1: values []
            c1 createSession s1 {"config": {"mode": "do"}}
                c1: error -32602 config.mode: there is no such property
            c1 createSession s1 {"provider": "roaming", "config": {"mode": "fly"}}
                c1: error -32602 config.mode: expected one of the values that are offered
            c1 createSession s1 {"provider": "roaming", "config": {"mode": 3}}
                c1: error -32602 config.mode: expected a value of type string
            c1 createSession s1 {"provider": "roaming", "config": {"branch": "main"}}
                c1: null
                agent s1: open
            c1 ! s1 session/configChanged {"config": {"branch": "other"}}
                c1: 3 rejected: there is no mutable property `branch`
            c1 ! s1 session/configChanged {"config": {"mode": "fly"}}
                c1: 4 rejected: mode: expected one of the values that are offered
            c1 ! s1 session/configChanged {"config": {"mode": "do"}, "replace": true}
                c1: 5 rejected: `branch` can't be changed
            c1 ! s1 session/configChanged {"config": {"mode": "do"}}
                c1: 6 s1 by a session/configChanged {"config":{"mode":"do"}}
                agent s1: configure {"branch":"main","mode":"do"}
            c1 ! s2 session/configChanged {"config": {"mode": "do"}}
                c1: 9 rejected: there is no mutable property `mode`
        "#]],
    );
}

/// SES-10, SES-11: a session that is created for a moved chat inherits the configuration of the
/// session that the chat came from. A value that a replacement omits returns to its default.
#[test]
fn a_moved_chat_keeps_its_configuration() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"provider": "roaming", "workingDirectories": ["file:///a"], "config": {"mode": "do"}}
        - c1 createChat s1 {"chat": "ahp-chat:/1"}
        c1 moveChat ahp-chat:/1 {"destination": {"kind": "newSession"}}
        - c1 subscribe roaming:/session-00000000000000000000000000000007
        c1 ! roaming:/session-00000000000000000000000000000007 session/configChanged {"config": {}, "replace": true}
        "#,
        expect![[r#"
            c1 moveChat ahp-chat:/1 {"destination": {"kind": "newSession"}}
                share content of s1 with roaming:/session-00000000000000000000000000000007
                agent s1: close chat ahp-chat:/1
                changes roaming:/session-00000000000000000000000000000007: mark start
                agent roaming:/session-00000000000000000000000000000007: open
                agent roaming:/session-00000000000000000000000000000007: chat ahp-chat:/1 with 0 turns
                c1: in roaming:/session-00000000000000000000000000000007
            c1 ! roaming:/session-00000000000000000000000000000007 session/configChanged {"config": {}, "replace": true}
                c1: 7 roaming:/session-00000000000000000000000000000007 by a session/configChanged {"replace":true,"config":{"mode":"ask","autoApprove":"default","isolation":"folder"}}
                agent roaming:/session-00000000000000000000000000000007: configure {"mode":"ask"}
        "#]],
    );
}

/// CFG-1, CFG-4, CFG-6: some agents report their options only after they have started. The running
/// session takes the values that its schema has; later sessions have all options.
#[test]
fn agents_can_report_config_options_after_their_start() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"provider": "roaming"}
        - c1 subscribe s1
        agent s1 options {"type": "object", "properties": {"mode": {"type": "string", "title": "Mode", "enum": ["plan", "do"], "sessionMutable": true}, "fast": {"type": "boolean", "title": "Fast"}}} {"mode": "plan", "fast": true}
        agent s1 options {"type": "object", "properties": {"mode": {"type": "string", "title": "Mode", "enum": ["plan", "do"], "sessionMutable": true}, "fast": {"type": "boolean", "title": "Fast"}}} {"mode": "plan", "fast": true}
        c1 sessionConfigCompletions {"provider": "roaming", "property": "mode"}
        c1 resolveSessionConfig {"provider": "roaming", "config": {"fast": false}}
        c1 createSession s2 {"provider": "roaming", "config": {"mode": "plan", "fast": true}}
        agent s3 options {"type": "object", "properties": {}} {}
        "#,
        expect![[r#"
            agent s1 options {"type": "object", "properties": {"mode": {"type": "string", "title": "Mode", "enum": ["plan", "do"], "sessionMutable": true}, "fast": {"type": "boolean", "title": "Fast"}}} {"mode": "plan", "fast": true}
                c1: 3 s1 session/configChanged {"config":{"mode":"plan"}}
            agent s1 options {"type": "object", "properties": {"mode": {"type": "string", "title": "Mode", "enum": ["plan", "do"], "sessionMutable": true}, "fast": {"type": "boolean", "title": "Fast"}}} {"mode": "plan", "fast": true}
                nothing
            c1 sessionConfigCompletions {"provider": "roaming", "property": "mode"}
                c1: values ["plan","do"]
            c1 resolveSessionConfig {"provider": "roaming", "config": {"fast": false}}
                c1: schema of [mode, fast, autoApprove, permissions], {"fast":false,"mode":"plan","autoApprove":"default"}
            c1 createSession s2 {"provider": "roaming", "config": {"mode": "plan", "fast": true}}
                c1: null
                agent s2: open
            agent s3 options {"type": "object", "properties": {}} {}
                nothing
        "#]],
    );
}

/// A value that the agent reports as forbidden is rejected wherever a client selects it.
#[test]
fn forbidden_values_are_rejected() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"provider": "roaming"}
        - c1 subscribe s1
        agent s1 forbids mode do it does everything
        c1 ! s1 session/configChanged {"config": {"mode": "do"}}
        c1 ! s1 session/configChanged {"config": {"mode": "do"}, "replace": true}
        c1 createSession s2 {"provider": "roaming", "config": {"mode": "do"}}
        c1 resolveSessionConfig {"provider": "roaming", "config": {"mode": "do"}}
        c1 ! s1 session/configChanged {"config": {"mode": "ask"}}
        agent s1 forbids mode ask it asks
        c1 ! s1 session/configChanged {"config": {"mode": "ask"}}
        "#,
        expect![[r#"
            agent s1 forbids mode do it does everything
                nothing
            c1 ! s1 session/configChanged {"config": {"mode": "do"}}
                c1: 3 rejected: it does everything
            c1 ! s1 session/configChanged {"config": {"mode": "do"}, "replace": true}
                c1: 4 rejected: it does everything
            c1 createSession s2 {"provider": "roaming", "config": {"mode": "do"}}
                c1: error -32602 config.mode: it does everything
            c1 resolveSessionConfig {"provider": "roaming", "config": {"mode": "do"}}
                c1: schema of [mode, branch, autoApprove, permissions], {"mode":"ask","autoApprove":"default"}
            c1 ! s1 session/configChanged {"config": {"mode": "ask"}}
                c1: 5 s1 by a session/configChanged {"config":{"mode":"ask"}}
                agent s1: configure {"mode":"ask"}
            agent s1 forbids mode ask it asks
                nothing
            c1 ! s1 session/configChanged {"config": {"mode": "ask"}}
                c1: 6 s1 by a session/configChanged {"config":{"mode":"ask"}}
                agent s1: configure {"mode":"ask"}
        "#]],
    );
}

/// When an agent refuses a value, the session returns to the agent's value, and the refused one is
/// not sent to the agent again.
#[test]
fn values_that_an_agent_rejects_are_reset() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"provider": "roaming"}
        - c1 subscribe s1
        c1 ! s1 session/configChanged {"config": {"mode": "do"}}
        agent s1 options {"type": "object", "properties": {"mode": {"type": "string", "title": "Mode", "enum": ["ask", "do"], "sessionMutable": true}}} {"mode": "ask"}
        c1 ! s1 session/configChanged {"config": {"mode": "ask"}}
        "#,
        expect![[r#"
            c1 ! s1 session/configChanged {"config": {"mode": "do"}}
                c1: 3 s1 by a session/configChanged {"config":{"mode":"do"}}
                agent s1: configure {"mode":"do"}
            agent s1 options {"type": "object", "properties": {"mode": {"type": "string", "title": "Mode", "enum": ["ask", "do"], "sessionMutable": true}}} {"mode": "ask"}
                c1: 4 s1 session/configChanged {"config":{"mode":"ask"}}
            c1 ! s1 session/configChanged {"config": {"mode": "ask"}}
                c1: 5 s1 by a session/configChanged {"config":{"mode":"ask"}}
                agent s1: configure {"mode":"ask"}
        "#]],
    );
}

/// A-23: the host corrects a start time that is in the future or implausibly old.
#[test]
fn implausible_start_times_are_corrected() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "0001-01-01T00:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
        - agent s1 end t1
        c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2027-01-01T00:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
        - agent s1 end t2
        c1 ! s1.chat chat/turnStarted {"turnId": "t3", "startedAt": "2026-01-05T08:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "0001-01-01T00:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
                c1: 3 s1.chat by a chat/turnStarted {"message":{"text":"go","origin":{"kind":"user"}},"turnId":"t1","startedAt":"2026-01-05T09:00:00.000Z"}
                agent s1: prompt t1 "go"
            c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2027-01-01T00:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
                c1: 8 s1.chat by a chat/turnStarted {"message":{"text":"go","origin":{"kind":"user"}},"turnId":"t2","startedAt":"2026-01-05T09:00:00.000Z"}
                agent s1: prompt t2 "go"
            c1 ! s1.chat chat/turnStarted {"turnId": "t3", "startedAt": "2026-01-05T08:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
                c1: 12 s1.chat by a chat/turnStarted {"message":{"text":"go","origin":{"kind":"user"}},"turnId":"t3","startedAt":"2026-01-05T08:00:00Z"}
                agent s1: prompt t3 "go"
        "#]],
    );
}

/// The models that an agent reports are published in the list of agents, and messages can select
/// them.
#[test]
fn models_that_an_agent_reports_are_published() {
    check(
        r#"
        - c1 joins a
        - c1 subscribe root
        - c1 opens s1
        c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}, "model": {"id": "m2"}}}
        agent s1 in s1.chat options {"type": "object", "properties": {"model": {"type": "string", "title": "Model", "enum": ["m1", "m2"], "enumLabels": ["One", "Two"]}}} {"model": "m1"}
        agent s1 in s1.chat options {"type": "object", "properties": {"model": {"type": "string", "title": "Model", "enum": ["m1", "m2"], "enumLabels": ["One", "Two"]}}} {"model": "m2"}
        c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}, "model": {"id": "m2"}}}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}, "model": {"id": "m2"}}}
                c1: 3 rejected: there is no model `m2`
            agent s1 in s1.chat options {"type": "object", "properties": {"model": {"type": "string", "title": "Model", "enum": ["m1", "m2"], "enumLabels": ["One", "Two"]}}} {"model": "m1"}
                c1: 4 root root/agentsChanged {"agents":[{"provider":"shell","displayName":"shell","description":"","models":[{"id":"default","provider":"shell","name":"Agent default"},{"id":"m1","provider":"shell","name":"One"},{"id":"m2","provider":"shell","name":"Two"}],"capabilities":{"multipleChats":{"fork":true,"sideChat":true}}},{"provider":"other","displayName":"other","description":"","models":[{"id":"default","provider":"other","name":"Agent default"}]},{"provider":"roaming","displayName":"roaming","description":"","models":[{"id":"default","provider":"roaming","name":"Agent default"}],"protectedResources":[{"resource":"https://example.org/api","required":false}],"capabilities":{"multipleChats":{},"multipleWorkingDirectories":{"immutablePrimary":true,"primaryReplacement":true}}}]}
            agent s1 in s1.chat options {"type": "object", "properties": {"model": {"type": "string", "title": "Model", "enum": ["m1", "m2"], "enumLabels": ["One", "Two"]}}} {"model": "m2"}
                nothing
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}, "model": {"id": "m2"}}}
                c1: root/sessionSummaryChanged {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":8}]},"session":"s1"}
                c1: root/sessionSummaryChanged {"changes":{"title":"x"},"session":"s1"}
                agent s1: prompt t1 "x"
        "#]],
    );
}
