//! Messages that are commands (TUR-20).

use agenthost_core::MAX_BACKGROUND_COMMANDS;
use expect_test::expect;

use crate::script::check;

#[test]
fn a_message_with_an_exclamation_mark_runs_a_command() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 subscribe s1.chat
        c1 says t1 !make  test
        - c1 subscribe run
        terminal run wrote ok
        c1 ! run terminal/input {"data": "y"}
        c1 ! run terminal/resized {"cols": 90, "rows": 20}
        - wait 2500
        terminal run exited 0 ok
        surveyed +made.txt
        terminal run wrote late
        c1 says t2 ! false
        terminal run exited 1
        surveyed
        c1 says t3 !no/such
        terminal run failed the folder does not exist
        "#,
        expect![[r#"
            c1 says t1 !make  test
                c1: 3 s1.chat by a chat/turnStarted {"message":{"text":"!make  test","origin":{"kind":"user"}},"turnId":"t1","startedAt":"2026-01-05T09:00:00Z"}
                changes s1: mark before t1
                c1: 6 s1.chat chat/toolCallStart {"displayName":"Terminal","turnId":"t1","toolCallId":"command","_meta":{"toolKind":"terminal","language":"shellscript"},"toolName":"terminal"}
                c1: 7 s1.chat chat/toolCallReady {"confirmed":"user-action","turnId":"t1","toolCallId":"command","invocationMessage":{"markdown":"Run `make  test`"},"toolInput":"make  test"}
                c1: 8 s1.chat chat/toolCallContentChanged {"content":[{"type":"terminal","resource":"ahp-terminal:/a-command","title":"make  test","isPty":true}],"turnId":"t1","toolCallId":"command"}
                terminal run: open "make  test" in file:///w, 120 by 30
            terminal run wrote ok
                c1: 9 run terminal/commandExecuted {"timestamp":1767603600000,"commandId":"a-command","commandLine":"make  test"}
                c1: 10 run terminal/data {"data":"ok"}
            c1 ! run terminal/input {"data": "y"}
                terminal run: type "y"
                c1: 11 shown terminal/input {"data":"y"}
            c1 ! run terminal/resized {"cols": 90, "rows": 20}
                c1: 12 run by a terminal/resized {"rows":20,"cols":90}
                terminal run: resize to 90 by 20
            terminal run exited 0 ok
                terminal run: close
                c1: 13 run terminal/commandFinished {"durationMs":2500,"commandId":"a-command","exitCode":0}
                c1: 14 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Ran make  test","content":[{"type":"text","text":"ok"},{"type":"terminal","resource":"ahp-terminal:/a-command","title":"make  test","isPty":true,"result":{"exitCode":0,"preview":"ok","truncated":false}}]},"turnId":"t1","toolCallId":"command"}
                c1: 15 run terminal/exited {"exitCode":0}
                changes s1: survey t1 All
            surveyed +made.txt
                c1: 16 s1.chat chat/toolCallStart {"displayName":"Changed files","turnId":"t1","toolCallId":"changes","_meta":{"kind":"edit"},"toolName":"changes"}
                c1: 17 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"changes","invocationMessage":"Changed 1 file"}
                c1: 18 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Changed 1 file","content":[{"type":"fileEdit","after":{"uri":"file:///w/made.txt","content":{"uri":"agenthost-content:/w/made.txt?after"}}}]},"turnId":"t1","toolCallId":"changes"}
                c1: 19 s1.chat chat/turnComplete {"duration":2500,"turnId":"t1"}
                changes s1: mark after t1, chat since before t1
            terminal run wrote late
                nothing
            c1 says t2 ! false
                c1: 21 s1.chat by a chat/turnStarted {"message":{"text":"! false","origin":{"kind":"user"}},"turnId":"t2","startedAt":"2026-01-05T09:00:00Z"}
                changes s1: mark before t2
                c1: 23 s1.chat chat/toolCallStart {"displayName":"Terminal","turnId":"t2","toolCallId":"command","_meta":{"toolKind":"terminal","language":"shellscript"},"toolName":"terminal"}
                c1: 24 s1.chat chat/toolCallReady {"confirmed":"user-action","turnId":"t2","toolCallId":"command","invocationMessage":{"markdown":"Run `false`"},"toolInput":"false"}
                c1: 25 s1.chat chat/toolCallContentChanged {"content":[{"type":"terminal","resource":"ahp-terminal:/a-command","title":"false","isPty":true}],"turnId":"t2","toolCallId":"command"}
                terminal run: open "false" in file:///w, 120 by 30
            terminal run exited 1
                terminal run: close
                c1: 28 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"Ran false","content":[{"type":"text","text":""},{"type":"terminal","resource":"ahp-terminal:/a-command","title":"false","isPty":true,"result":{"exitCode":1,"preview":"","truncated":false}}],"error":{"message":"it ended with exit code 1"}},"turnId":"t2","toolCallId":"command"}
                changes s1: survey t2 All
            surveyed
                c1: 30 s1.chat chat/turnComplete {"duration":2500,"turnId":"t2"}
                changes s1: mark after t2, chat since before t1
            c1 says t3 !no/such
                c1: 32 s1.chat by a chat/turnStarted {"message":{"text":"!no/such","origin":{"kind":"user"}},"turnId":"t3","startedAt":"2026-01-05T09:00:00Z"}
                changes s1: mark before t3
                c1: 34 s1.chat chat/toolCallStart {"displayName":"Terminal","turnId":"t3","toolCallId":"command","_meta":{"toolKind":"terminal","language":"shellscript"},"toolName":"terminal"}
                c1: 35 s1.chat chat/toolCallReady {"confirmed":"user-action","turnId":"t3","toolCallId":"command","invocationMessage":{"markdown":"Run `no/such`"},"toolInput":"no/such"}
                c1: 36 s1.chat chat/toolCallContentChanged {"content":[{"type":"terminal","resource":"ahp-terminal:/a-command","title":"no/such","isPty":true}],"turnId":"t3","toolCallId":"command"}
                terminal run: open "no/such" in file:///w, 120 by 30
            terminal run failed the folder does not exist
                terminal run: close
                c1: 38 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"Could not run no/such","error":{"message":"the folder does not exist"}},"turnId":"t3","toolCallId":"command"}
                c1: 40 s1.chat chat/turnComplete {"duration":2500,"turnId":"t3"}
                changes s1: mark after t3, chat since before t1
        "#]],
    );
}

/// An empty one is an error, and only a user can run commands this way.
#[test]
fn other_messages_do_not_run_commands() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        c1 says t1 !
        c1 says t2 what!
        - agent s1 end t2
        agent s1 begin t3 {"text": "!ls", "origin": {"kind": "agent"}}
        "#,
        expect![[r#"
            c1 says t1 !
                c1: 3 s1.chat by a chat/turnStarted {"message":{"text":"!","origin":{"kind":"user"}},"turnId":"t1","startedAt":"2026-01-05T09:00:00Z"}
                c1: 6 s1.chat chat/error {"part":{"kind":"error","error":{"errorType":"emptyCommand","message":"there is no command after `!`"}},"turnId":"t1","duration":0}
            c1 says t2 what!
                c1: 8 s1.chat by a chat/turnStarted {"message":{"text":"what!","origin":{"kind":"user"}},"turnId":"t2","startedAt":"2026-01-05T09:00:00Z"}
                agent s1: prompt t2 "what!"
            agent s1 begin t3 {"text": "!ls", "origin": {"kind": "agent"}}
                c1: 12 s1.chat chat/turnStarted {"message":{"text":"!ls","origin":{"kind":"agent"}},"turnId":"t3","startedAt":"2026-01-05T09:00:00.000Z"}
        "#]],
    );
}

#[test]
fn a_command_ends_with_its_turn() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        - c1 says t1 !sleep 1000
        - c1 subscribe run
        agent s1 end t1
        c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
        terminal run wrote bye
        terminal run exited
        - c1 says t2 !sleep 1000
        c1 ! s1.chat chat/truncated {"turnId": "t1"}
        - terminal run exited
        - c1 says t3 !sleep 1000
        c1 disposeSession s1
        terminal run exited
        "#,
        expect![[r#"
            agent s1 end t1
                nothing
            c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
                c1: 9 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"sleep 1000","content":[{"type":"terminal","resource":"ahp-terminal:/a-command","title":"sleep 1000","isPty":true,"result":{"preview":"","truncated":false}}],"error":{"message":"the tool call was cancelled","code":"cancelled"}},"turnId":"t1","toolCallId":"command"}
                c1: 10 s1.chat by a chat/turnCancelled {"duration":0,"turnId":"t1"}
                terminal run: close
            terminal run wrote bye
                c1: 12 run terminal/commandExecuted {"timestamp":1767603600000,"commandId":"a-command","commandLine":"sleep 1000"}
                c1: 13 run terminal/data {"data":"bye"}
            terminal run exited
                terminal run: close
                c1: 14 run terminal/commandFinished {"durationMs":0,"commandId":"a-command"}
                c1: 15 run terminal/exited {}
            c1 ! s1.chat chat/truncated {"turnId": "t1"}
                c1: 21 s1.chat by a chat/truncated {"turnId":"t1"}
                agent s1: rewind to None
                terminal run: close
            c1 disposeSession s1
                agent s1: close
                changes s1: forget
                c1: null
                terminal run: close
            terminal run exited
                nothing
        "#]],
    );
}

/// The queue goes on after it, and what is said meanwhile waits for a turn of
/// the agent.
#[test]
fn other_messages_wait_for_a_command_turn() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 says t1 !make
        c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "p1", "message": {"text": "hurry", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "p2", "message": {"text": "!next", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "p3", "message": {"text": "thanks", "origin": {"kind": "user"}}}
        agent s1 stopped it broke
        terminal run exited 0
        terminal run exited 0
        "#,
        expect![[r#"
            c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "p1", "message": {"text": "hurry", "origin": {"kind": "user"}}}
                nothing
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "p2", "message": {"text": "!next", "origin": {"kind": "user"}}}
                nothing
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "p3", "message": {"text": "thanks", "origin": {"kind": "user"}}}
                nothing
            agent s1 stopped it broke
                nothing
            terminal run exited 0
                terminal run: close
                agent s1: open
                agent s1: prompt turn-0000000000000000000000000000000b "hurry"
            terminal run exited 0
                nothing
        "#]],
    );
}

/// The agent is told to forget turns by those that it knows.
#[test]
fn a_rewind_skips_command_turns() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 says t1 hello
        - agent s1 end t1
        - c1 says t2 !ls
        - terminal run exited 0
        - c1 says t3 again
        - agent s1 end t3
        c1 ! s1.chat chat/truncated {"turnId": "t2"}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/truncated {"turnId": "t2"}
                agent s1: rewind to Some("t1")
        "#]],
    );
}

/// A host that was killed does not go on with it.
#[test]
fn a_restart_ends_a_command() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 says t1 !make
        - terminal run wrote half
        - c1 subscribe s1.chat
        - restart
        - c2 joins a
        c2 subscribe s1.chat
        c2 says t2 !make
        "#,
        expect![[r#"
            c2 subscribe s1.chat
                c2: snapshot of s1.chat at 15
            c2 says t2 !make
                c2: 16 s1.chat by a chat/turnStarted {"message":{"text":"!make","origin":{"kind":"user"}},"turnId":"t2","startedAt":"2026-01-05T09:00:00Z"}
                c2: 18 s1.chat chat/toolCallStart {"displayName":"Terminal","turnId":"t2","toolCallId":"command","_meta":{"toolKind":"terminal","language":"shellscript"},"toolName":"terminal"}
                c2: 19 s1.chat chat/toolCallReady {"confirmed":"user-action","turnId":"t2","toolCallId":"command","invocationMessage":{"markdown":"Run `make`"},"toolInput":"make"}
                c2: 20 s1.chat chat/toolCallContentChanged {"content":[{"type":"terminal","resource":"ahp-terminal:/a-command","title":"make","isPty":true}],"turnId":"t2","toolCallId":"command"}
                terminal run: open "make" in home, 120 by 30
        "#]],
    );
}

/// TER-4, TER-15: the turn ends when a client narrows the claim, as VS Code's
/// "Continue in Background" does, and the command runs on.
#[test]
fn a_command_continues_in_the_background() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        - c1 says t1 !make watch
        - c1 subscribe run
        - terminal run wrote one
        c1 ! run terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/other", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
        c1 ! run terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
        c1 ! run terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
        c1 says t2 hello
        agent s1 end t2
        terminal run wrote two
        terminal run exited 0 onetwo
        "#,
        expect![[r#"
            c1 ! run terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/other", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
                c1: 11 rejected: the terminal is claimed by another client or session
            c1 ! run terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
                c1: 12 run by a terminal/claimed {"claim":{"kind":"session","session":"s1","chat":"s1.chat"}}
                c1: 13 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Continues in the background: make watch","content":[{"type":"text","text":"one\n[The command continues in the background.]"},{"type":"terminal","resource":"ahp-terminal:/a-command","title":"make watch","isPty":true}]},"turnId":"t1","toolCallId":"command"}
                c1: 14 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
            c1 ! run terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
                c1: 16 run by a terminal/claimed {"claim":{"kind":"session","session":"s1","chat":"s1.chat"}}
            c1 says t2 hello
                c1: 17 s1.chat by a chat/turnStarted {"message":{"text":"hello","origin":{"kind":"user"}},"turnId":"t2","startedAt":"2026-01-05T09:00:00Z"}
                agent s1: prompt t2 "hello"
            agent s1 end t2
                c1: 19 s1.chat chat/turnComplete {"duration":0,"turnId":"t2"}
            terminal run wrote two
                c1: 21 run terminal/data {"data":"two"}
            terminal run exited 0 onetwo
                terminal run: close
                c1: 22 run terminal/commandFinished {"durationMs":0,"commandId":"a-command","exitCode":0}
                c1: 23 run terminal/exited {"exitCode":0}
        "#]],
    );
}

/// TER-18: a command in the background ends when its terminal is disposed, or
/// its chat is gone.
#[test]
fn disposing_a_terminal_or_chat_ends_its_background_command() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 says t1 !sleep 1000
        c1 disposeTerminal run
        - c1 ! run terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
        c1 disposeTerminal run
        - terminal run exited
        c1 disposeTerminal run
        - c1 says t2 !sleep 1000
        - c1 ! run terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
        c1 disposeSession s1
        "#,
        expect![[r#"
            c1 disposeTerminal run
                c1: error -32008 `ahp-terminal:/command-00000000000000000000000000000006` does not exist
            c1 disposeTerminal run
                terminal run: close
                c1: null
            c1 disposeTerminal run
                c1: error -32008 `ahp-terminal:/command-00000000000000000000000000000006` does not exist
            c1 disposeSession s1
                agent s1: close
                changes s1: forget
                c1: null
                terminal run: close
        "#]],
    );
}

/// TER-15: a claim that would let one command too many continue is rejected, and
/// the turn keeps its command.
#[test]
fn the_number_of_background_commands_is_limited() {
    let claim = r#"terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}"#;
    let mut script = String::from("- c1 joins a\n- c1 opens s1\n");
    for number in 0..MAX_BACKGROUND_COMMANDS {
        script.push_str(&format!(
            "- c1 says t{number} !sleep 1000\n- c1 ! run {claim}\n"
        ));
    }
    script.push_str(&format!("- c1 says last !sleep 1000\nc1 ! run {claim}\n"));
    check(
        &script,
        expect![[r#"
        c1 ! run terminal/claimed {"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}}
            c1: 297 rejected: 32 commands of the session run in the background already
    "#]],
    );
}
