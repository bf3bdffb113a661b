//! Terminals that clients open.

use expect_test::expect;

use crate::script::{check, run, uri};
use crate::world::World;

/// TER-1, TER-2, TER-5, TER-11, TER-12, TER-18, ROOT-5.
#[test]
fn a_client_has_a_terminal() {
    check(
        r#"
        - c1 joins a
        - c2 joins b
        - c2 subscribe root
        c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "b"}}
        c1 createTerminal ahp-chat:/1 {"claim": {"kind": "client", "clientId": "a"}}
        c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}, "cwd": "file:///secret"}
        c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}, "cols": 0}
        c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "session", "session": "ahp-session:/none", "chat": "ahp-chat:/1"}}
        c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}, "name": "mine", "cols": 100}
        c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}}
        - c1 subscribe ahp-terminal:/1
        - c2 subscribe ahp-terminal:/1
        terminal ahp-terminal:/1 wrote hello
        terminal ahp-terminal:/1 title vim
        terminal ahp-terminal:/1 in file:///tmp
        c1 ! ahp-terminal:/1 terminal/resized {"cols": 90, "rows": 30}
        c2 ! ahp-terminal:/1 terminal/input {"data": "rm"}
        terminal ahp-terminal:/1 exited 3
        c1 ! ahp-terminal:/1 terminal/input {"data": "too late"}
        c2 disposeTerminal ahp-terminal:/1
        c2 disposeTerminal ahp-terminal:/1
        terminal ahp-terminal:/1 wrote more
        "#,
        expect![[r#"
            c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "b"}}
                c1: error -32602 claim: a client can only do this for itself
            c1 createTerminal ahp-chat:/1 {"claim": {"kind": "client", "clientId": "a"}}
                c1: error -32602 `ahp-chat:/1` is not an address of ahp-terminal
            c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}, "cwd": "file:///secret"}
                c1: error -32009 `file:///secret` is outside of the folders that may be used here; `agenthost allow` lets a person add more
            c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}, "cols": 0}
                c1: error -32602 a terminal has 1 to 1000 columns and rows
            c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "session", "session": "ahp-session:/none", "chat": "ahp-chat:/1"}}
                c1: error -32001 there is no session or chat `ahp-session:/none`
            c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}, "name": "mine", "cols": 100}
                c2: 1 root root/terminalsChanged {"terminals":[{"resource":"ahp-terminal:/1","title":"mine","claim":{"kind":"client","clientId":"a"},"lifecycle":{"status":"running"}}]}
                terminal ahp-terminal:/1: Open { directory: None, cols: 100, rows: 24 }
                c1: null
            c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}}
                c1: error -32010 there is something at `ahp-terminal:/1` already
            terminal ahp-terminal:/1 wrote hello
                c1, c2: 2 ahp-terminal:/1 terminal/data {"data":"hello"}
            terminal ahp-terminal:/1 title vim
                c1, c2: 3 ahp-terminal:/1 terminal/titleChanged {"title":"vim"}
                c2: 4 root root/terminalsChanged {"terminals":[{"resource":"ahp-terminal:/1","title":"vim","claim":{"kind":"client","clientId":"a"},"lifecycle":{"status":"running"}}]}
            terminal ahp-terminal:/1 in file:///tmp
                c1, c2: 5 ahp-terminal:/1 terminal/cwdChanged {"cwd":"file:///tmp"}
            c1 ! ahp-terminal:/1 terminal/resized {"cols": 90, "rows": 30}
                c1, c2: 6 ahp-terminal:/1 by a terminal/resized {"rows":30,"cols":90}
                terminal ahp-terminal:/1: Resize { cols: 90, rows: 30 }
            c2 ! ahp-terminal:/1 terminal/input {"data": "rm"}
                c2: 7 rejected: the terminal is somebody else's
            terminal ahp-terminal:/1 exited 3
                c1, c2: 8 ahp-terminal:/1 terminal/exited {"exitCode":3}
                c2: 9 root root/terminalsChanged {"terminals":[{"resource":"ahp-terminal:/1","title":"vim","claim":{"kind":"client","clientId":"a"},"lifecycle":{"status":"exited","exitCode":3}}]}
            c1 ! ahp-terminal:/1 terminal/input {"data": "too late"}
                c1: 10 rejected: the terminal has exited
            c2 disposeTerminal ahp-terminal:/1
                terminal ahp-terminal:/1: Close
                c2: 11 root root/terminalsChanged {"terminals":[]}
                c2: null
            c2 disposeTerminal ahp-terminal:/1
                c2: error -32008 there is nothing at `ahp-terminal:/1`
            terminal ahp-terminal:/1 wrote more
                nothing
        "#]],
    );
}

/// TER-20: what is typed is told to who typed it, and kept nowhere.
#[test]
fn what_is_typed_is_nobody_elses() {
    let mut world = World::new();
    let result = run(
        &mut world,
        r#"
        - c1 joins a
        - c2 joins b
        - c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}}
        c1 ! ahp-terminal:/1 terminal/input {"data": "not even watching"}
        - c1 subscribe ahp-terminal:/1
        - c2 subscribe ahp-terminal:/1
        c1 ! ahp-terminal:/1 terminal/input {"data": "password"}
        "#,
    );
    world.check_mirrors();
    expect![[r#"
        c1 ! ahp-terminal:/1 terminal/input {"data": "not even watching"}
            terminal ahp-terminal:/1: type "not even watching"
        c1 ! ahp-terminal:/1 terminal/input {"data": "password"}
            terminal ahp-terminal:/1: type "password"
            c1: 3 shown terminal/input {"data":"password"}"#]]
    .assert_eq(&result);
    let kept = format!("{:?}", world.log.actions);
    assert!(
        !kept.contains("password") && !kept.contains("watching"),
        "{kept}"
    );
}

/// TER-21, and a restart: what ran in a terminal runs no more, and what it
/// wrote is still there.
#[test]
fn terminals_end_with_their_session_or_their_host() {
    let mut world = World::new();
    let result = run(
        &mut world,
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
        - c1 createTerminal ahp-terminal:/2 {"claim": {"kind": "client", "clientId": "a"}}
        - terminal ahp-terminal:/2 wrote hello
        c1 disposeSession s1
        - restart
        - c2 joins a
        c2 subscribe root
        c2 subscribe ahp-terminal:/2
        c2 disposeTerminal ahp-terminal:/2
        "#,
    );
    world.check_mirrors();
    expect![[r#"
        c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
            terminal ahp-terminal:/1: Open { directory: Some("file:///w"), cols: 80, rows: 24 }
            c1: null
        c1 disposeSession s1
            terminal ahp-terminal:/1: Close
            agent s1: close
            changes s1: forget
            c1: null
        c2 subscribe root
            c2: snapshot of root at 9
        c2 subscribe ahp-terminal:/2
            c2: snapshot of ahp-terminal:/2 at 10
        c2 disposeTerminal ahp-terminal:/2
            terminal ahp-terminal:/2: Close
            c2: 11 root root/terminalsChanged {"terminals":[]}
            c2: null"#]].assert_eq(&result);
    assert!(!world.log.channels.contains_key(&uri("ahp-terminal:/2")));
}
