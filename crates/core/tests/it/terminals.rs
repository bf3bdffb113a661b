//! Tests for terminals that clients open.

use agenthost_core::agent::AgentEvent;
use agenthost_core::{CommandLine, Input, TerminalEvent};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::terminal::{
    TerminalClaim, TerminalData, TerminalPart, TerminalSessionClaim, TerminalState,
};
use expect_test::expect;

use crate::script::{check, run, uri};
use crate::test_host::TestHost;

/// TER-1, TER-2, TER-5, TER-11, TER-12, TER-18, ROOT-5.
#[test]
fn a_client_can_create_a_terminal() {
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
                c1: error -32009 `file:///secret` is outside of the granted folders; `agenthost allow` grants more
            c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}, "cols": 0}
                c1: error -32602 a terminal has 1 to 1000 columns and rows
            c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "session", "session": "ahp-session:/none", "chat": "ahp-chat:/1"}}
                c1: error -32001 there is no session or chat `ahp-session:/none`
            c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}, "name": "mine", "cols": 100}
                c2: 1 root root/terminalsChanged {"terminals":[{"resource":"ahp-terminal:/1","title":"mine","claim":{"kind":"client","clientId":"a"},"lifecycle":{"status":"running"}}]}
                terminal ahp-terminal:/1: open a shell in home, 100 by 24
                c1: null
            c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}}
                c1: error -32010 `ahp-terminal:/1` already exists
            terminal ahp-terminal:/1 wrote hello
                c1, c2: 2 ahp-terminal:/1 terminal/data {"data":"hello"}
            terminal ahp-terminal:/1 title vim
                c1, c2: 3 ahp-terminal:/1 terminal/titleChanged {"title":"vim"}
                c2: 4 root root/terminalsChanged {"terminals":[{"resource":"ahp-terminal:/1","title":"vim","claim":{"kind":"client","clientId":"a"},"lifecycle":{"status":"running"}}]}
            terminal ahp-terminal:/1 in file:///tmp
                c1, c2: 5 ahp-terminal:/1 terminal/cwdChanged {"cwd":"file:///tmp"}
            c1 ! ahp-terminal:/1 terminal/resized {"cols": 90, "rows": 30}
                c1, c2: 6 ahp-terminal:/1 by a terminal/resized {"rows":30,"cols":90}
                terminal ahp-terminal:/1: resize to 90 by 30
            c2 ! ahp-terminal:/1 terminal/input {"data": "rm"}
                c2: 7 rejected: the terminal is claimed by another client or session
            terminal ahp-terminal:/1 exited 3
                c1, c2: 8 ahp-terminal:/1 terminal/exited {"exitCode":3}
                c2: 9 root root/terminalsChanged {"terminals":[{"resource":"ahp-terminal:/1","title":"vim","claim":{"kind":"client","clientId":"a"},"lifecycle":{"status":"exited","exitCode":3}}]}
            c1 ! ahp-terminal:/1 terminal/input {"data": "too late"}
                c1: 10 rejected: the terminal has exited
            c2 disposeTerminal ahp-terminal:/1
                terminal ahp-terminal:/1: close
                c2: 11 root root/terminalsChanged {"terminals":[]}
                c2: null
            c2 disposeTerminal ahp-terminal:/1
                c2: error -32008 `ahp-terminal:/1` does not exist
            terminal ahp-terminal:/1 wrote more
                nothing
        "#]],
    );
}

/// TER-20: terminal input is echoed only to the client that typed it, and is not stored.
#[test]
fn input_is_echoed_only_to_its_sender() {
    let mut test_host = TestHost::new();
    let result = run(
        &mut test_host,
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
    test_host.check_mirrors();
    expect![[r#"
        c1 ! ahp-terminal:/1 terminal/input {"data": "not even watching"}
            terminal ahp-terminal:/1: type "not even watching"
        c1 ! ahp-terminal:/1 terminal/input {"data": "password"}
            terminal ahp-terminal:/1: type "password"
            c1: 3 shown terminal/input {"data":"password"}"#]]
    .assert_eq(&result);
    let kept = format!("{:?}", test_host.log.actions);
    assert!(
        !kept.contains("password") && !kept.contains("watching"),
        "{kept}"
    );
}

/// TER-21: the terminals of a session end with it. After a restart, terminals have exited, and
/// their output is still there.
#[test]
fn terminals_end_with_their_session_or_their_host() {
    let mut test_host = TestHost::new();
    let result = run(
        &mut test_host,
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
    test_host.check_mirrors();
    expect![[r#"
        c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
            terminal ahp-terminal:/1: open a shell in file:///w, 80 by 24
            c1: null
        c1 disposeSession s1
            terminal ahp-terminal:/1: close
            agent s1: close
            changes s1: forget
            c1: null
        c2 subscribe root
            c2: snapshot of root at 9
        c2 subscribe ahp-terminal:/2
            c2: snapshot of ahp-terminal:/2 at 10
        c2 disposeTerminal ahp-terminal:/2
            terminal ahp-terminal:/2: close
            c2: 11 root root/terminalsChanged {"terminals":[]}
            c2: null"#]].assert_eq(&result);
    assert!(!test_host.log.channels.contains_key(&uri("ahp-terminal:/2")));
}

/// TER-7, TER-8, TER-9, TER-10: once the shell supports it, commands are reported separately: one
/// at a time, with unique ids and with times of the host's clock.
#[test]
fn commands_of_a_shell_are_reported_separately() {
    check(
        r#"
        - c1 joins a
        - c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}}
        - c1 subscribe ahp-terminal:/1
        terminal ahp-terminal:/1 ran 0
        terminal ahp-terminal:/1 detects
        terminal ahp-terminal:/1 detects
        terminal ahp-terminal:/1 in file:///tmp
        terminal ahp-terminal:/1 in file:///tmp
        terminal ahp-terminal:/1 wrote $
        terminal ahp-terminal:/1 runs make
        - wait 1500
        terminal ahp-terminal:/1 wrote done
        terminal ahp-terminal:/1 ran 2
        terminal ahp-terminal:/1 wrote $
        terminal ahp-terminal:/1 runs sleep
        - wait 10
        terminal ahp-terminal:/1 runs ls
        terminal ahp-terminal:/1 ran 0
        terminal ahp-terminal:/1 ran 0
        terminal ahp-terminal:/1 runs clear
        c1 ! ahp-terminal:/1 terminal/cleared
        terminal ahp-terminal:/1 ran 0
        terminal ahp-terminal:/1 runs exit 3
        terminal ahp-terminal:/1 exited 3
        "#,
        expect![[r#"
            terminal ahp-terminal:/1 ran 0
                nothing
            terminal ahp-terminal:/1 detects
                c1: 2 ahp-terminal:/1 terminal/commandDetectionAvailable {}
            terminal ahp-terminal:/1 detects
                nothing
            terminal ahp-terminal:/1 in file:///tmp
                c1: 3 ahp-terminal:/1 terminal/cwdChanged {"cwd":"file:///tmp"}
            terminal ahp-terminal:/1 in file:///tmp
                nothing
            terminal ahp-terminal:/1 wrote $
                c1: 4 ahp-terminal:/1 terminal/data {"data":"$"}
            terminal ahp-terminal:/1 runs make
                c1: 5 ahp-terminal:/1 terminal/commandExecuted {"timestamp":1767603600000,"commandId":"a-command","commandLine":"make"}
            terminal ahp-terminal:/1 wrote done
                c1: 6 ahp-terminal:/1 terminal/data {"data":"done"}
            terminal ahp-terminal:/1 ran 2
                c1: 7 ahp-terminal:/1 terminal/commandFinished {"durationMs":1500,"commandId":"a-command","exitCode":2}
            terminal ahp-terminal:/1 wrote $
                c1: 8 ahp-terminal:/1 terminal/data {"data":"$"}
            terminal ahp-terminal:/1 runs sleep
                c1: 9 ahp-terminal:/1 terminal/commandExecuted {"timestamp":1767603601500,"commandId":"a-command","commandLine":"sleep"}
            terminal ahp-terminal:/1 runs ls
                c1: 10 ahp-terminal:/1 terminal/commandFinished {"durationMs":10,"commandId":"a-command"}
                c1: 11 ahp-terminal:/1 terminal/commandExecuted {"timestamp":1767603601510,"commandId":"a-command","commandLine":"ls"}
            terminal ahp-terminal:/1 ran 0
                c1: 12 ahp-terminal:/1 terminal/commandFinished {"durationMs":0,"commandId":"a-command","exitCode":0}
            terminal ahp-terminal:/1 ran 0
                nothing
            terminal ahp-terminal:/1 runs clear
                c1: 13 ahp-terminal:/1 terminal/commandExecuted {"timestamp":1767603601510,"commandId":"a-command","commandLine":"clear"}
            c1 ! ahp-terminal:/1 terminal/cleared
                c1: 14 ahp-terminal:/1 by a terminal/cleared {}
            terminal ahp-terminal:/1 ran 0
                nothing
            terminal ahp-terminal:/1 runs exit 3
                c1: 15 ahp-terminal:/1 terminal/commandExecuted {"timestamp":1767603601510,"commandId":"a-command","commandLine":"exit 3"}
            terminal ahp-terminal:/1 exited 3
                c1: 16 ahp-terminal:/1 terminal/commandFinished {"durationMs":0,"commandId":"a-command","exitCode":3}
                c1: 17 ahp-terminal:/1 terminal/exited {"exitCode":3}
        "#]],
    );
}

/// A command that was running in a shell when the host was killed has finished.
#[test]
fn a_restart_finishes_a_running_command() {
    check(
        r#"
        - c1 joins a
        - c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}}
        - terminal ahp-terminal:/1 runs make
        - wait 70
        - restart
        - c2 joins a
        c2 subscribe ahp-terminal:/1
        - c3 joins b
        - c3 subscribe ahp-terminal:/1
        c2 ! ahp-terminal:/1 terminal/titleChanged {"title": "x"}
        "#,
        expect![[r#"
            c2 subscribe ahp-terminal:/1
                c2: snapshot of ahp-terminal:/1 at 5
            c2 ! ahp-terminal:/1 terminal/titleChanged {"title": "x"}
                c2, c3: 6 ahp-terminal:/1 by a terminal/titleChanged {"title":"x"}
        "#]],
    );
}

/// TER-19: the host and its clients drop the same old output, and the rest still belongs to its
/// commands.
#[test]
fn old_output_and_its_commands_are_trimmed() {
    let mut test_host = TestHost::new();
    let setup = r#"
        - c1 joins a
        - c1 createTerminal ahp-terminal:/1 {"claim": {"kind": "client", "clientId": "a"}}
        - c1 subscribe ahp-terminal:/1
    "#;
    run(&mut test_host, setup);
    let terminal = uri("ahp-terminal:/1");
    let mut tell = |event| {
        let terminal = terminal.clone();
        test_host.step(Input::Terminal { terminal, event });
    };
    for number in 0..30 {
        let line = CommandLine(format!("command {number}"));
        tell(TerminalEvent::CommandExecuted(line));
        for line in 0..100 {
            let data = format!("{line:>998}\r\n");
            tell(TerminalEvent::Output(TerminalData { data }));
        }
        if number < 29 {
            tell(TerminalEvent::CommandFinished(Some(number)));
        }
    }
    test_host.check_mirrors();
    let Some(ChannelState::Terminal(state)) = test_host.host.state(&terminal) else {
        panic!("a terminal");
    };
    let lines: Vec<_> = state
        .content
        .items()
        .map(|part| match part {
            TerminalPart::Command(command) => {
                assert!(command.output.is_empty() || command.output.ends_with("99\r\n"));
                let number: i64 = command.command_line[8..].parse().unwrap();
                assert_eq!(command.is_complete, number < 29);
                assert_eq!(command.exit_code, (number < 29).then_some(number));
                number
            }
            other => panic!("not of a command: {other:?}"),
        })
        .collect();
    assert!(lines.len() >= 2 && lines.len() <= 11, "{lines:?}");
    assert!(lines.is_sorted() && lines.last() == Some(&29), "{lines:?}");
}

/// TER-5, TER-11, TER-15: for a terminal of an agent, input, size and the change to a background
/// command are passed to the agent.
#[test]
fn input_to_the_terminal_of_an_agent_is_forwarded() {
    let mut test_host = TestHost::new();
    run(
        &mut test_host,
        "- c1 joins a
         - c2 joins b
         - c1 opens s1",
    );
    let claim = TerminalClaim::Session(TerminalSessionClaim {
        session: uri("s1"),
        chat: uri("s1.chat"),
        turn_id: Some(TurnId::from("t1")),
        tool_call_id: Some(ToolCallId::from("call")),
    });
    let opened = AgentEvent::TerminalOpened {
        terminal: uri("ahp-terminal:/agents"),
        state: Box::new(TerminalState {
            is_pty: Some(true),
            ..TerminalState::new("make", claim)
        }),
        command: None,
    };
    test_host.step(Input::Agent {
        session: uri("s1"),
        event: opened,
    });
    let result = run(
        &mut test_host,
        r#"
        - c2 subscribe ahp-terminal:/agents
        c2 ! ahp-terminal:/agents terminal/input {"data": "y\n"}
        c2 ! ahp-terminal:/agents terminal/resized {"cols": 90, "rows": 30}
        c2 disposeTerminal ahp-terminal:/agents
        c2 ! ahp-terminal:/agents terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t1", "toolCallId": "call"}}
        c2 ! ahp-terminal:/agents terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
        c2 disposeTerminal ahp-terminal:/agents
        "#,
    );
    expect![[r#"
        c2 ! ahp-terminal:/agents terminal/input {"data": "y\n"}
            agent s1: terminal ahp-terminal:/agents: type "y\n"
            c2: 3 shown terminal/input {"data":"y\n"}
        c2 ! ahp-terminal:/agents terminal/resized {"cols": 90, "rows": 30}
            c2: 4 ahp-terminal:/agents by b terminal/resized {"rows":30,"cols":90}
            agent s1: terminal ahp-terminal:/agents: resize to 90 by 30
        c2 disposeTerminal ahp-terminal:/agents
            c2: error -32008 `ahp-terminal:/agents` does not exist
        c2 ! ahp-terminal:/agents terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "turnId": "t1", "toolCallId": "call"}}
            c2: 5 ahp-terminal:/agents by b terminal/claimed {"claim":{"kind":"session","session":"s1","chat":"s1.chat","turnId":"t1","toolCallId":"call"}}
        c2 ! ahp-terminal:/agents terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
            c2: 6 ahp-terminal:/agents by b terminal/claimed {"claim":{"kind":"session","session":"s1","chat":"s1.chat"}}
            agent s1: terminal ahp-terminal:/agents: continue in the background after ""
        c2 disposeTerminal ahp-terminal:/agents
            agent s1: terminal ahp-terminal:/agents: close
            c2: null"#]]
    .assert_eq(&result);
    test_host.check_mirrors();
}
