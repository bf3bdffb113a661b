//! Tests for access tokens of clients.

use expect_test::expect;

use crate::script::check;

/// AUT-2 to AUT-5: a token is accepted only for a resource that an agent or MCP server needs, and
/// is passed on to the agents. AUT-10: no response contains it.
#[test]
fn tokens_are_passed_on() {
    check(
        r#"
        - c1 joins a
        c1 authenticate {"resource": "https://example.org/api", "token": "secret"}
        c1 authenticate {"resource": "https://example.org/api", "token": "secret", "expiresIn": 60}
        c1 authenticate {"resource": "https://example.org/api", "token": "", "expiresIn": 0}
        c1 authenticate {"resource": "https://example.org/other", "token": "secret"}
        c1 authenticate {"resource": "https://example.org/api", "token": "secret", "expiresIn": 0}
        c1 authenticate {"resource": "https://example.org/api", "token": "sec\nret"}
        "#,
        expect![[r#"
            c1 authenticate {"resource": "https://example.org/api", "token": "secret"}
                token of me for https://example.org/api
                c1: {}
            c1 authenticate {"resource": "https://example.org/api", "token": "secret", "expiresIn": 60}
                token for https://example.org/api expires 60000
                token of me for https://example.org/api
                c1: {}
            c1 authenticate {"resource": "https://example.org/api", "token": "", "expiresIn": 0}
                no token of me for https://example.org/api
                c1: {}
            c1 authenticate {"resource": "https://example.org/other", "token": "secret"}
                c1: error -32602 resource: no agent or MCP server needs a token for it
            c1 authenticate {"resource": "https://example.org/api", "token": "secret", "expiresIn": 0}
                c1: error -32602 expiresIn: expected a number of at least 1
            c1 authenticate {"resource": "https://example.org/api", "token": "sec\nret"}
                c1: error -32602 token: expected a line of at most 64 KiB
        "#]],
    );
}

/// AUT-6: when a token expires, the clients of its principal are notified, unless a newer token has
/// replaced it.
#[test]
fn tokens_expire() {
    check(
        r#"
        - c1 joins a
        - c2 joins b
        - c3 connect
        - c1 authenticate {"resource": "https://example.org/api", "token": "old", "expiresIn": 60}
        - c2 authenticate {"resource": "https://example.org/api", "token": "new", "expiresIn": 60}
        expired
        expired
        - c1 authenticate {"resource": "https://example.org/api", "token": "x", "expiresIn": 60}
        - c1 authenticate {"resource": "https://example.org/api", "token": ""}
        expired
        "#,
        expect![[r#"
            expired
                nothing
            expired
                c1, c2: auth/required {"reason":"expired","resource":{"resource":"https://example.org/api","required":false}}
                no token of me for https://example.org/api
            expired
                nothing
        "#]],
    );
}

/// AUT-7: when an agent requires a token, the host sends `auth/required` with the resource to the
/// subscribers of the session.
#[test]
fn an_agent_can_require_a_token() {
    check(
        r#"
        - c1 joins a
        - c2 joins b
        - c1 createSession s1 {"provider": "roaming"}
        - c1 createSession s2 {}
        - c1 subscribe s1
        - c1 subscribe s2
        agent s1 signin
        agent s2 signin
        agent s1 stopped sign in first
        "#,
        expect![[r#"
            agent s1 signin
                c1: auth/required {"reason":"required","resource":{"resource":"https://example.org/api","required":false}}
            agent s2 signin
                nothing
            agent s1 stopped sign in first
                c1: 3 s1 session/creationFailed {"error":{"errorType":"test","message":"sign in first"}}
        "#]],
    );
}
