//! Tests for agents that are installed, removed or configured while the host runs.

use expect_test::expect;

use crate::script::check;

/// ROOT-3: the list is published, and new sessions can have the new agents. Sessions go on
/// without their agent in the list.
#[test]
fn the_agents_are_replaced_while_the_host_runs() {
    check(
        r#"
        - c1 joins a
        - c1 subscribe root
        - c1 opens s1 {"provider": "other"}
        - c1 starts t1
        agents shell new!
        agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p1", "content": ""}}
        c1 createSession s2 {"provider": "new"}
        c1 createSession s3 {"provider": "other"}
        agents shell new!
        "#,
        expect![[r#"
            agents shell new!
                c1: 6 root root/agentsChanged {"agents":[{"provider":"shell","displayName":"shell","description":"","models":[{"id":"default","provider":"shell","name":"Agent default"}]},{"provider":"new","displayName":"new","description":"","models":[{"id":"default","provider":"new","name":"Agent default"}]}]}
            agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p1", "content": ""}}
                nothing
            c1 createSession s2 {"provider": "new"}
                c1: null
                c1: root/sessionAdded {"summary":{"provider":"new","title":"","status":1,"annotations":{"resource":"s2/annotations","annotationCount":0,"entryCount":0},"resource":"s2","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"s2.chat","title":"","origin":{"kind":"user"},"status":1}],"defaultChat":"s2.chat"}}
                c1: 8 root root/activeSessionsChanged {"activeSessions":2}
                agent s2: open
            c1 createSession s3 {"provider": "other"}
                c1: error -32002 there is no agent `other`
            agents shell new!
                nothing
        "#]],
    );
}

/// ROOT-20: no action carries a schema, so clients see the new agents in the next snapshot. The
/// chosen default agent stays, although it is gone for a while.
#[test]
fn the_default_agent_can_be_a_new_one() {
    check(
        r#"
        - c1 joins a
        - c1 subscribe root
        - agents shell new!
        c1 ! root root/configChanged {"config": {"defaultAgent": "new"}}
        - agents shell
        c1 createSession s1
        - agents shell new!
        c1 createSession s2
        "#,
        expect![[r#"
            c1 ! root root/configChanged {"config": {"defaultAgent": "new"}}
                c1: 2 root by a root/configChanged {"config":{"defaultAgent":"new"}}
            c1 createSession s1
                c1: null
                c1: root/sessionAdded {"summary":{"provider":"shell","title":"","status":1,"annotations":{"resource":"s1/annotations","annotationCount":0,"entryCount":0},"resource":"s1","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":1}],"defaultChat":"s1.chat"}}
                c1: 4 root root/activeSessionsChanged {"activeSessions":1}
                agent s1: open
            c1 createSession s2
                c1: null
                c1: root/sessionAdded {"summary":{"provider":"new","title":"","status":1,"annotations":{"resource":"s2/annotations","annotationCount":0,"entryCount":0},"resource":"s2","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"s2.chat","title":"","origin":{"kind":"user"},"status":1}],"defaultChat":"s2.chat"}}
                c1: 6 root root/activeSessionsChanged {"activeSessions":2}
                agent s2: open
        "#]],
    );
}
