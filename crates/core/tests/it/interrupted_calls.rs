//! Tests for commands of tool calls in terminals: their output while they run, and after their turn
//! was cut short.

use agenthost_core::agent::AgentEvent;
use agenthost_core::{CommandLine, Input};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::terminal::{TerminalClaim, TerminalSessionClaim, TerminalState};
use agenthost_protocol::wire;
use expect_test::expect;

use crate::script::{check, run, uri};
use crate::test_host::TestHost;

/// Returns a world with a session whose agent runs a command for the call `c`, in the terminal
/// `ahp-terminal:/1`. A client is subscribed to the chat and the terminal.
fn with_command() -> TestHost {
    let mut test_host = TestHost::new();
    run(
        &mut test_host,
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        - c1 starts t1
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c", "toolName": "sh", "displayName": "Shell"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Run make", "toolInput": "make", "confirmed": "not-needed"}
        "#,
    );
    let claim = TerminalClaim::Session(TerminalSessionClaim {
        session: uri("s1"),
        chat: uri("s1.chat"),
        turn_id: None,
        tool_call_id: None,
    });
    test_host.step(Input::Agent {
        session: uri("s1"),
        event: AgentEvent::TerminalOpened {
            terminal: uri("ahp-terminal:/1"),
            state: Box::new(TerminalState::new("make", claim)),
            command: Some(CommandLine("make".to_owned())),
        },
    });
    run(
        &mut test_host,
        r#"
        - c1 subscribe ahp-terminal:/1
        - agent s1 chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "c", "content": [{"type": "terminal", "resource": "ahp-terminal:/1", "title": "make"}]}
        "#,
    );
    test_host
}

/// Returns the response of the latest turn of the default chat.
fn response(test_host: &TestHost) -> String {
    let Some(ChannelState::Chat(chat)) = test_host.host.state(&uri("s1.chat")) else {
        panic!("the chat is there");
    };
    let turn = chat.turns.last_item().unwrap();
    let parts = turn.response_parts.items().map(wire::to_json);
    parts.map(|part| format!("{part}\n")).collect()
}

/// TER-8, TER-12: VS Code shows the output of a terminal per command.
#[test]
fn the_terminal_of_an_agent_reports_its_command() {
    let mut test_host = with_command();
    let result = run(
        &mut test_host,
        r#"
        agent s1 terminal/titleChanged {"title": "making"}
        wait 300
        agent s1 terminal/data {"data": "one\r\n"}
        agent s1 terminal/data {"data": "two\r\n"}
        agent s1 terminal/exited {"exitCode": 2}
        "#,
    );
    expect![[r#"
        agent s1 terminal/titleChanged {"title": "making"}
            c1: 9 ahp-terminal:/1 terminal/titleChanged {"title":"making"}
        wait 300
            nothing
        agent s1 terminal/data {"data": "one\r\n"}
            c1: 10 ahp-terminal:/1 terminal/commandExecuted {"timestamp":1767603600000,"commandId":"a-command","commandLine":"make"}
            c1: 11 ahp-terminal:/1 terminal/data {"data":"one\r\n"}
        agent s1 terminal/data {"data": "two\r\n"}
            c1: 12 ahp-terminal:/1 terminal/data {"data":"two\r\n"}
        agent s1 terminal/exited {"exitCode": 2}
            c1: 13 ahp-terminal:/1 terminal/commandFinished {"durationMs":300,"commandId":"a-command","exitCode":2}
            c1: 14 ahp-terminal:/1 terminal/exited {"exitCode":2}"#]].assert_eq(&result);
    let mut test_host = with_command();
    let result = run(
        &mut test_host,
        r#"agent s1 terminal/exited {"exitCode": 0}"#,
    );
    expect![[r#"
        agent s1 terminal/exited {"exitCode": 0}
            c1: 9 ahp-terminal:/1 terminal/commandExecuted {"timestamp":1767603600000,"commandId":"a-command","commandLine":"make"}
            c1: 10 ahp-terminal:/1 terminal/commandFinished {"durationMs":0,"commandId":"a-command","exitCode":0}
            c1: 11 ahp-terminal:/1 terminal/exited {"exitCode":0}"#]].assert_eq(&result);
    test_host.check_mirrors();
}

/// TUR-12, TOO-27: VS Code shows no output of a cancelled call, so the host completes the call with
/// its output before the turn is cancelled.
#[test]
fn the_output_of_a_cancelled_command_is_stored_in_its_call() {
    let mut test_host = with_command();
    let result = run(
        &mut test_host,
        r#"
        - agent s1 terminal/data {"data": "\u001b[1mone\u001b[0m\r\n50%\r100%\r\n"}
        c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 5210.4}
        agent s1 terminal/data {"data": "late"}
        agent s1 terminal/exited {}
        "#,
    );
    expect![[r#"
        c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 5210.4}
            c1: 11 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"make","content":[{"type":"text","text":"one\n100%\n"},{"type":"terminal","resource":"ahp-terminal:/1","title":"make","result":{"preview":"one\n100%\n","truncated":false}}],"error":{"message":"the tool call was cancelled","code":"cancelled"}},"turnId":"t1","toolCallId":"c"}
            c1: 12 s1.chat by a chat/turnCancelled {"duration":0,"turnId":"t1"}
            agent s1: cancel t1
        agent s1 terminal/data {"data": "late"}
            c1: 14 ahp-terminal:/1 terminal/data {"data":"late"}
        agent s1 terminal/exited {}
            c1: 15 ahp-terminal:/1 terminal/commandFinished {"durationMs":0,"commandId":"a-command"}
            c1: 16 ahp-terminal:/1 terminal/exited {}"#]].assert_eq(&result);
    expect![[r#"
        {"kind":"toolCall","toolCall":{"status":"completed","toolCallId":"c","toolName":"sh","displayName":"Shell","invocationMessage":"Run make","toolInput":"make","success":false,"pastTenseMessage":"make","content":[{"type":"text","text":"one\n100%\n"},{"type":"terminal","resource":"ahp-terminal:/1","title":"make","result":{"preview":"one\n100%\n","truncated":false}}],"error":{"message":"the tool call was cancelled","code":"cancelled"},"confirmed":"not-needed"}}
    "#]].assert_eq(&response(&test_host));
    test_host.check_mirrors();
}

/// REC-16, TOO-25: the output is kept if the host is killed, too, as far as it is in the log.
#[test]
fn the_output_of_a_command_survives_a_restart() {
    let mut test_host = with_command();
    let result = run(
        &mut test_host,
        r#"
        - agent s1 chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "c", "content": [{"type": "terminal", "resource": "ahp-terminal:/1", "title": "make"}, {"type": "text", "text": "ha"}]}
        - agent s1 terminal/data {"data": "half\r\n"}
        wait 1000
        restart
        - c2 joins a
        c2 subscribe s1.chat
        c2 subscribe ahp-terminal:/1
        "#,
    );
    expect![[r#"
        wait 1000
            nothing
        restart
            nothing
        c2 subscribe s1.chat
            c2: snapshot of s1.chat at 16
        c2 subscribe ahp-terminal:/1
            c2: snapshot of ahp-terminal:/1 at 16"#]]
    .assert_eq(&result);
    expect![[r#"
        {"kind":"toolCall","toolCall":{"status":"completed","toolCallId":"c","toolName":"sh","displayName":"Shell","invocationMessage":"Run make","toolInput":"make","success":false,"pastTenseMessage":"make","content":[{"type":"text","text":"half\n"},{"type":"terminal","resource":"ahp-terminal:/1","title":"make","result":{"preview":"half\n","truncated":false}}],"error":{"message":"the host stopped while this turn was running"},"confirmed":"not-needed"}}
        {"kind":"error","error":{"errorType":"hostStopped","message":"the host stopped while this turn was running"}}
    "#]].assert_eq(&response(&test_host));
    test_host.check_mirrors();
}

/// When an agent stops, its commands end, and their output is kept.
#[test]
fn the_output_of_a_command_survives_its_agent() {
    let mut test_host = with_command();
    let result = run(
        &mut test_host,
        r#"
        - agent s1 terminal/data {"data": "half\r\n"}
        agent s1 stopped it broke
        "#,
    );
    expect![[r#"
        agent s1 stopped it broke
            c1: 11 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"make","content":[{"type":"text","text":"half\n"},{"type":"terminal","resource":"ahp-terminal:/1","title":"make","result":{"preview":"half\n","truncated":false}}],"error":{"message":"it broke"}},"turnId":"t1","toolCallId":"c"}
            c1: 12 s1.chat chat/error {"part":{"kind":"error","error":{"errorType":"test","message":"it broke"}},"turnId":"t1","duration":0}
            c1: 14 ahp-terminal:/1 terminal/commandFinished {"durationMs":0,"commandId":"a-command"}
            c1: 15 ahp-terminal:/1 terminal/exited {}"#]].assert_eq(&result);
    test_host.check_mirrors();
}

/// A call without output is cancelled. From a partial result, file edits are left out, because they
/// may not have happened.
#[test]
fn calls_without_output_are_cancelled() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        - c1 starts t1
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "asks", "toolName": "sh", "displayName": "Shell"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "asks", "invocationMessage": "Run it"}
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "edits", "toolName": "edit", "displayName": "Edit"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "edits", "invocationMessage": "Edit", "confirmed": "not-needed"}
        - agent s1 chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "edits", "content": [{"type": "fileEdit", "after": {"uri": "file:///a", "content": {"uri": "file:///a"}}}]}
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "says", "toolName": "look", "displayName": "Look"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "says", "invocationMessage": "Look", "confirmed": "not-needed"}
        - agent s1 chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "says", "content": [{"type": "text", "text": "so far"}, {"type": "fileEdit", "after": {"uri": "file:///a", "content": {"uri": "file:///a"}}}]}
        agent s1 end t1
        "#,
        expect![[r#"
            agent s1 end t1
                c1: 16 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"Look","content":[{"type":"text","text":"so far"}],"error":{"message":"the turn ended before the tool call"}},"turnId":"t1","toolCallId":"says"}
                c1: 17 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
        "#]],
    );
}

/// TER-11: VS Code sends the size of a terminal when it shows it, even if the terminal has exited.
#[test]
fn a_terminal_that_has_exited_keeps_its_size() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 says t1 !make
        - c1 subscribe run
        - terminal run exited 0 ok
        c1 ! run terminal/resized {"cols": 74, "rows": 10}
        c1 ! run terminal/input {"data": "x"}
        "#,
        expect![[r#"
            c1 ! run terminal/resized {"cols": 74, "rows": 10}
                c1: 15 run by a terminal/resized {"rows":30,"cols":120}
            c1 ! run terminal/input {"data": "x"}
                c1: 16 rejected: the terminal has exited
        "#]],
    );
}

/// When the user cancels a turn, VS Code ends its calls at once, and forgets a terminal when it
/// exits. It then shows the content that the call had before, so the host adds previews of the
/// output to the call.
#[test]
fn vscode_receives_output_previews_with_the_call() {
    let mut test_host = with_command();
    let result = run(
        &mut test_host,
        r#"
        - c2 connect
        - c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "b", "clientInfo": {"name": "vscode-editor-window"}}
        - c2 subscribe s1.chat
        agent s1 terminal/data {"data": "one\r\n"}
        agent s1 terminal/data {"data": "two\r\n"}
        previewed
        wait 100
        agent s1 terminal/data {"data": "three\r\n"}
        previewed
        wait 60000
        agent s1 terminal/data {"data": "\u001b[0m"}
        previewed
        agent s1 terminal/data {"data": "four\r\n"}
        c2 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
        agent s1 terminal/exited {}
        previewed
        "#,
    );
    expect![[r#"
        agent s1 terminal/data {"data": "one\r\n"}
            c1: 9 ahp-terminal:/1 terminal/commandExecuted {"timestamp":1767603600000,"commandId":"a-command","commandLine":"make"}
            c1: 10 ahp-terminal:/1 terminal/data {"data":"one\r\n"}
            preview ahp-terminal:/1 100
        agent s1 terminal/data {"data": "two\r\n"}
            c1: 11 ahp-terminal:/1 terminal/data {"data":"two\r\n"}
        previewed
            c2: 12 retold s1.chat chat/toolCallContentChanged {"content":[{"type":"terminal","resource":"ahp-terminal:/1","title":"make"},{"type":"text","text":"one\ntwo\n"}],"turnId":"t1","toolCallId":"c"}
            c1: 12 s1.chat chat/toolCallContentChanged {"content":[{"type":"terminal","resource":"ahp-terminal:/1","title":"make"},{"type":"text","text":"one\ntwo\n"}],"turnId":"t1","toolCallId":"c"}
        wait 100
            nothing
        agent s1 terminal/data {"data": "three\r\n"}
            c1: 13 ahp-terminal:/1 terminal/data {"data":"three\r\n"}
            preview ahp-terminal:/1 1000
        previewed
            c2: 14 retold s1.chat chat/toolCallContentChanged {"content":[{"type":"terminal","resource":"ahp-terminal:/1","title":"make"},{"type":"text","text":"one\ntwo\nthree\n"}],"turnId":"t1","toolCallId":"c"}
            c1: 14 s1.chat chat/toolCallContentChanged {"content":[{"type":"terminal","resource":"ahp-terminal:/1","title":"make"},{"type":"text","text":"one\ntwo\nthree\n"}],"turnId":"t1","toolCallId":"c"}
        wait 60000
            nothing
        agent s1 terminal/data {"data": "\u001b[0m"}
            c1: 15 ahp-terminal:/1 terminal/data {"data":"\u001b[0m"}
            preview ahp-terminal:/1 6010
        previewed
            nothing
        agent s1 terminal/data {"data": "four\r\n"}
            c1: 16 ahp-terminal:/1 terminal/data {"data":"four\r\n"}
            preview ahp-terminal:/1 6010
        c2 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
            c2: 17 retold s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"make","content":[{"type":"text","text":"one\ntwo\nthree\nfour\n"},{"type":"terminal","resource":"ahp-terminal:/1","title":"make","result":{"preview":"one\ntwo\nthree\nfour\n","truncated":false}}],"error":{"message":"the tool call was cancelled","code":"cancelled"}},"turnId":"t1","toolCallId":"c"}
            c1: 17 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"make","content":[{"type":"text","text":"one\ntwo\nthree\nfour\n"},{"type":"terminal","resource":"ahp-terminal:/1","title":"make","result":{"preview":"one\ntwo\nthree\nfour\n","truncated":false}}],"error":{"message":"the tool call was cancelled","code":"cancelled"}},"turnId":"t1","toolCallId":"c"}
            c2: 18 retold s1.chat chat/turnCancelled {"duration":60100,"turnId":"t1"}
            c1: 18 s1.chat by b chat/turnCancelled {"duration":60100,"turnId":"t1"}
            agent s1: cancel t1
        agent s1 terminal/exited {}
            c1: 20 ahp-terminal:/1 terminal/commandFinished {"durationMs":60100,"commandId":"a-command"}
            c1: 21 ahp-terminal:/1 terminal/exited {}
        previewed
            nothing"#]].assert_eq(&result);
    test_host.check_mirrors();
}
