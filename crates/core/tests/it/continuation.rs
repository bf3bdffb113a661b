//! Tests with a host that is killed and started again, while agents and terminals go on in the
//! runner.

use expect_test::expect;

use crate::script::check;

#[test]
fn a_running_turn_goes_on() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        - c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}}
        - agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p1", "content": ""}}
        - c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "m1", "message": {"text": "next", "origin": {"kind": "user"}}}
        takeover
        - c2 connect me was c1
        c2 reconnect {"clientId": "a", "lastSeenServerSeq": 7, "subscriptions": ["ahp-chat://default/YWhwLXNlc3Npb246L3Mx"]}
        agent s1 chat/delta {"turnId": "t1", "partId": "p1", "content": "precious"}
        agent s1 end t1
        "#,
        expect![[r#"
            takeover
                nothing
            c2 reconnect {"clientId": "a", "lastSeenServerSeq": 7, "subscriptions": ["ahp-chat://default/YWhwLXNlc3Npb246L3Mx"]}
                c2: replay (7, 7] of [s1.chat], missing []
            agent s1 chat/delta {"turnId": "t1", "partId": "p1", "content": "precious"}
                c2: 8 s1.chat chat/delta {"content":"precious","turnId":"t1","partId":"p1"}
            agent s1 end t1
                c2: 9 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
                c2: 11 s1.chat chat/pendingMessageRemoved {"id":"m1","kind":"queued"}
                c2: 12 s1.chat chat/turnStarted {"queuedMessageId":"m1","turnId":"turn-00000000000000000000000000000011","startedAt":"2026-01-05T09:00:00.000Z","message":{"text":"next","origin":{"kind":"user"}}}
                agent s1: prompt turn-00000000000000000000000000000011 "next"
        "#]],
    );
}

#[test]
fn a_command_and_its_terminal_go_on() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 subscribe s1.chat
        - c1 says t1 !make
        - terminal run wrote ok
        takeover
        - c2 joins b
        - c2 subscribe s1.chat
        - c2 subscribe run
        terminal run wrote more
        terminal run exited 0 okmore
        surveyed
        "#,
        expect![[r#"
            takeover
                nothing
            terminal run wrote more
                c2: 11 run terminal/data {"data":"more"}
            terminal run exited 0 okmore
                terminal run: close
                c2: 12 run terminal/commandFinished {"durationMs":0,"commandId":"a-command","exitCode":0}
                c2: 13 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Ran make","content":[{"type":"text","text":"okmore"},{"type":"terminal","resource":"ahp-terminal:/a-command","title":"make","isPty":true,"result":{"exitCode":0,"preview":"okmore","truncated":false}}]},"turnId":"t1","toolCallId":"command"}
                c2: 14 run terminal/exited {"exitCode":0}
                changes s1: survey t1 All
            surveyed
                c2: 15 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
                changes s1: mark after t1, chat since before t1
        "#]],
    );
}

#[test]
fn a_survey_is_repeated_and_its_held_events_are_kept() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 subscribe s1.chat
        - c1 says t1 !make
        - terminal run exited 0 ok
        takeover
        - c2 joins b
        - c2 subscribe s1.chat
        surveyed +made.txt
        "#,
        expect![[r#"
            takeover
                changes s1: survey t1 All
            surveyed +made.txt
                c2: 13 s1.chat chat/toolCallStart {"displayName":"Changed files","turnId":"t1","toolCallId":"changes","_meta":{"kind":"edit"},"toolName":"changes"}
                c2: 14 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"changes","invocationMessage":"Changed 1 file"}
                c2: 15 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Changed 1 file","content":[{"type":"fileEdit","after":{"uri":"file:///w/made.txt","content":{"uri":"agenthost-content:/w/made.txt?after"}}}]},"turnId":"t1","toolCallId":"changes"}
                c2: 16 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
                changes s1: mark after t1, chat since before t1
        "#]],
    );
}
