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
