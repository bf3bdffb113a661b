//! Tests for the environment variables of sessions.

use agenthost_protocol::uri::Uri;
use expect_test::expect;

use crate::script::{check, run};
use crate::test_host::TestHost;

/// Variables decide which programs run, so a device that must not type in terminals can't set
/// them. Errors contain no value.
#[test]
fn the_environment_needs_the_right_to_run_programs() {
    check(
        r#"
        - c1 connect me/operate
        - c1 initialize {"channel": "ahp-root://", "protocolVersions": ["1.0.0"], "clientId": "a"}
        c1 createSession s1 {"_meta": {"agenthost.environment": {"PATH": "/bin"}}}
        - c2 connect me/terminal
        - c2 initialize {"channel": "ahp-root://", "protocolVersions": ["1.0.0"], "clientId": "b"}
        c2 createSession s1 {"_meta": {"agenthost.environment": {"PATH": "/bin"}}}
        c2 createSession s2 {"_meta": {"agenthost.environment": {"LD PRELOAD": "secret"}}}
        c2 createSession s2 {"_meta": {"agenthost.environment": {"A": ["secret"]}}}
        c2 createSession s2 {"_meta": {"agenthost.environment": "secret"}}
        c2 createSession s2 {"_meta": {"agenthost.environment": {"A": "<70000 bytes>"}}}
        "#,
        expect![[r#"
            c1 createSession s1 {"_meta": {"agenthost.environment": {"PATH": "/bin"}}}
                c1: error -32009 `agenthost.environment` needs the scope `terminal`, and this device has the scope `operate`; `agenthost pair --scope terminal` pairs a device with more rights
            c2 createSession s1 {"_meta": {"agenthost.environment": {"PATH": "/bin"}}}
                c2: null
                tokens of [device:me]
                agent s1: open
            c2 createSession s2 {"_meta": {"agenthost.environment": {"LD PRELOAD": "secret"}}}
                c2: error -32602 _meta.agenthost.environment: `LD PRELOAD` can't be set
            c2 createSession s2 {"_meta": {"agenthost.environment": {"A": ["secret"]}}}
                c2: error -32602 _meta.agenthost.environment: the value of `A` is not a string without NUL
            c2 createSession s2 {"_meta": {"agenthost.environment": "secret"}}
                c2: error -32602 _meta.agenthost.environment: expected an object with names and values
            c2 createSession s2 {"_meta": {"agenthost.environment": {"A": "<70000 bytes>"}}}
                c2: error -32602 _meta.agenthost.environment: the variables have more than 65536 bytes
        "#]],
    );
}

/// The variables belong to the store alone: no state has them. They go with the session, its
/// forks and chats that move to a session of their own.
#[test]
fn the_environment_is_stored_with_the_session() {
    let mut test_host = TestHost::new();
    let result = run(
        &mut test_host,
        r#"
        - c1 joins a
        - c1 opens s1 {"_meta": {"agenthost.environment": {"A": "private"}}}
        - c1 starts t1
        - agent s1 end t1
        - c1 createSession s2 {"_meta": {"agenthost.fork": {"session": "ahp-session:/s1", "turnId": "t1"}}}
        c1 subscribe s1
        - c1 createSession s3 {"_meta": {"agenthost.fork": {"session": "ahp-session:/s1", "turnId": "t1"}}}
        - c1 disposeSession s3
        "#,
    );
    assert!(!result.contains("private"), "{result}");
    let stored = |session: &str| {
        let environment = test_host.log.environments.get(&Uri::from(session));
        environment.and_then(|environment| environment.get("A"))
    };
    assert_eq!(stored("ahp-session:/s1"), Some("private"));
    assert_eq!(stored("ahp-session:/s2"), Some("private"));
    assert_eq!(stored("ahp-session:/s3"), None);
}
