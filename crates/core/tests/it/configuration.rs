//! What can be configured about a session.

use expect_test::expect;

use crate::script::check;

/// CFG-1 to CFG-7, SES-10, SES-11; the row of table 7.1.
#[test]
fn a_session_is_configured_as_it_can_be() {
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
                c1: schema of [], {}
            c1 resolveSessionConfig {"provider": "nobody"}
                c1: error -32002 there is no agent `nobody`
            c1 resolveSessionConfig {"provider": "roaming"}
                c1: schema of [mode, branch], {"mode":"ask"}
            c1 resolveSessionConfig {"provider": "roaming", "config": {"mode": "fly", "branch": "main", "x": 1}}
                c1: schema of [mode, branch], {"branch":"main","mode":"ask"}
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
                c1: 3 rejected: there is no property that can be changed `branch`
            c1 ! s1 session/configChanged {"config": {"mode": "fly"}}
                c1: 4 rejected: mode: expected one of the values that are offered
            c1 ! s1 session/configChanged {"config": {"mode": "do"}, "replace": true}
                c1: 5 rejected: `branch` can't be changed
            c1 ! s1 session/configChanged {"config": {"mode": "do"}}
                c1: 6 s1 by a session/configChanged {"config":{"mode":"do"}}
                agent s1: configure {"branch":"main","mode":"do"}
            c1 ! s2 session/configChanged {"config": {"mode": "do"}}
                c1: 9 rejected: the agent does not support configuration of a session
        "#]],
    );
}
