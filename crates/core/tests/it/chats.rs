//! Tests for additional chats, and for the part of a chat that is kept in memory.

use agenthost_core::Input;
use agenthost_core::agent::AgentEvent;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::list::List;
use agenthost_protocol::terminal::{
    TerminalAction, TerminalClaim, TerminalData, TerminalExited, TerminalLifecycle,
    TerminalSessionClaim, TerminalState,
};
use expect_test::expect;

use crate::script::{check, run, uri};
use crate::test_host::TestHost;

/// CHT-2 to CHT-8, CHT-15, DIR-6, DSP-15.
#[test]
fn a_session_has_several_chats() {
    check(
        r#"
        - c1 connect
        - c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a", "initialSubscriptions": ["ahp-root://"]}
        - c1 createSession s1 {"workingDirectories": ["file:///a"]}
        c1 createChat s1 {"chat": "ahp-chat:/1"}
        - agent s1 opened
        - c1 subscribe s1
        c1 createChat s2 {"chat": "ahp-chat:/1"}
        c1 createChat s1 {"chat": "no address"}
        c1 createChat s1 {"chat": "ahp-chat:/1", "workingDirectories": ["file:///b"]}
        c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "fork", "chat": "ahp-chat:/0", "turnId": "t"}}
        c1 createChat s1 {"chat": "ahp-chat:/1", "initialMessage": {"text": "go", "origin": {"kind": "agent"}}}
        c1 createChat s1 {"chat": "ahp-chat:/1", "initialMessage": {"text": "go", "origin": {"kind": "user"}}}
        c1 createChat s1 {"chat": "ahp-chat:/1"}
        c1 createChat s1 {"chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}
        - c1 opens s2 {"provider": "other"}
        c1 createChat s2 {"chat": "ahp-chat:/2"}
        "#,
        expect![[r#"
            c1 createChat s1 {"chat": "ahp-chat:/1"}
                c1: error -32602 the session is not ready
            c1 createChat s2 {"chat": "ahp-chat:/1"}
                c1: error -32001 there is no session or chat `ahp-session:/s2`
            c1 createChat s1 {"chat": "no address"}
                c1: error -32602 `no address` is not an absolute URI of at most 2048 bytes
            c1 createChat s1 {"chat": "ahp-chat:/1", "workingDirectories": ["file:///b"]}
                c1: error -32602 workingDirectories: not all are directories of the session
            c1 createChat s1 {"chat": "ahp-chat:/1", "source": {"kind": "fork", "chat": "ahp-chat:/0", "turnId": "t"}}
                c1: error -32602 source: no such chat in this session
            c1 createChat s1 {"chat": "ahp-chat:/1", "initialMessage": {"text": "go", "origin": {"kind": "agent"}}}
                c1: error -32602 a client can only send messages of kind `user`
            c1 createChat s1 {"chat": "ahp-chat:/1", "initialMessage": {"text": "go", "origin": {"kind": "user"}}}
                c1: 3 s1 session/chatAdded {"summary":{"resource":"ahp-chat:/1","title":"","status":1,"modifiedAt":"2026-01-05T09:00:00.000Z","origin":{"kind":"user"},"movable":true}}
                c1: root/sessionSummaryChanged {"changes":{"chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":1},{"resource":"ahp-chat:/1","title":"","origin":{"kind":"user"},"status":1}]},"session":"s1"}
                c1: null
                c1: 5 s1 session/chatUpdated {"changes":{"status":8},"chat":"ahp-chat:/1"}
                c1: root/sessionSummaryChanged {"changes":{"chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":1},{"resource":"ahp-chat:/1","title":"","origin":{"kind":"user"},"status":8}]},"session":"s1"}
                c1: 6 s1 session/titleChanged {"title":"go"}
                c1: root/sessionSummaryChanged {"changes":{"title":"go"},"session":"s1"}
                changes s1: mark before turn-0000000000000000000000000000000d
                agent s1: prompt turn-0000000000000000000000000000000d "go"
            c1 createChat s1 {"chat": "ahp-chat:/1"}
                c1: error -32010 `ahp-chat:/1` already exists
            c1 createChat s1 {"chat": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx"}
                c1: null
            c1 createChat s2 {"chat": "ahp-chat:/2"}
                c1: error -32602 the agent of this session has one chat only
        "#]],
    );
}

/// CHT-22, CHT-23, SUB-22.
#[test]
fn disposing_a_chat_ends_its_turn() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1
        - c1 createChat s1 {"chat": "ahp-chat:/1"}
        - c1 subscribe ahp-chat:/1
        - c1 starts t1 in ahp-chat:/1
        c1 disposeChat s1.chat
        c1 disposeChat ahp-chat:/1
        c1 ! ahp-chat:/1 chat/draftChanged {}
        c1 disposeChat ahp-chat:/1
        "#,
        expect![[r#"
            c1 disposeChat s1.chat
                c1: error -32602 the default chat can only be removed together with its session
            c1 disposeChat ahp-chat:/1
                c1: 7 ahp-chat:/1 chat/turnCancelled {"duration":0,"turnId":"t1"}
                c1: 8 s1 session/chatUpdated {"changes":{"status":1,"modifiedAt":"2026-01-05T09:00:00.000Z"},"chat":"ahp-chat:/1"}
                agent s1: cancel t1
                c1: 9 s1 session/chatRemoved {"chat":"ahp-chat:/1"}
                agent s1: close chat ahp-chat:/1
                c1: null
            c1 ! ahp-chat:/1 chat/draftChanged {}
                nothing
            c1 disposeChat ahp-chat:/1
                c1: error -32001 there is no session or chat `ahp-chat:/1`
        "#]],
    );
}

/// An agent can't change the chats of other sessions.
#[test]
fn an_agent_cannot_change_chats_of_other_sessions() {
    let mut test_host = TestHost::new();
    run(
        &mut test_host,
        r#"
        c1 connect
        c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        c1 createSession s1
        c1 createSession s2
        agent s1 opened
        agent s2 opened
        c1 ! s2.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
        "#,
    );
    let effects = test_host.step(Input::Agent {
        session: uri("s1"),
        event: AgentEvent::TurnEnded {
            chat: uri("s2.chat"),
            turn: "t1".into(),
            error: None,
        },
    });
    assert!(effects.effects.is_empty() && effects.writes.is_empty());
}

/// SUB-8, SUB-11, SUB-12.
#[test]
fn a_subscription_can_set_a_maximum_latency() {
    check(
        r#"
        - c1 joins a
        - c2 joins b
        - c1 opens s1
        - c1 subscribe s1
        - c2 subscribe s1 {"delivery": {"maxLatencyMs": 50}}
        c1 ! s1 session/titleChanged {"title": "one"}
        - c2 subscribe s1 {"delivery": {"maxLatencyMs": 3600000}}
        c1 ! s1 session/titleChanged {"title": "two"}
        - c2 subscribe s1 {"delivery": {"maxLatencyMs": -5}}
        c1 ! s1 session/titleChanged {"title": "three"}
        - c2 subscribe s1 {"delivery": {"maxLatencyMs": 50}}
        - c2 subscribe s1
        c1 ! s1 session/titleChanged {"title": "four"}
        "#,
        expect![[r#"
            c1 ! s1 session/titleChanged {"title": "one"}
                c1, c2 within 50: 3 s1 by a session/titleChanged {"title":"one"}
            c1 ! s1 session/titleChanged {"title": "two"}
                c1, c2 within 1000: 4 s1 by a session/titleChanged {"title":"two"}
            c1 ! s1 session/titleChanged {"title": "three"}
                c1, c2: 5 s1 by a session/titleChanged {"title":"three"}
            c1 ! s1 session/titleChanged {"title": "four"}
                c1, c2: 6 s1 by a session/titleChanged {"title":"four"}
        "#]],
    );
}

const TURNS: &str = r#"
    c1 connect
    c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
    c1 createSession s1
    agent s1 opened
"#;

fn turn(number: u32) -> String {
    format!(
        r#"
        c1 ! s1.chat chat/turnStarted {{"turnId": "t{number}", "startedAt": "2026-01-05T09:00:00Z", "message": {{"text": "go", "origin": {{"kind": "user"}}}}}}
        agent s1 end t{number}
        "#
    )
}

/// The host evicts channels without subscribers. A long chat is loaded with only its latest turns,
/// until a client requests the rest.
#[test]
fn a_long_chat_is_loaded_with_its_latest_turns() {
    let mut test_host = TestHost::new();
    run(&mut test_host, TURNS);
    for number in 1..=5 {
        run(&mut test_host, &turn(number));
    }
    let chat = uri("s1.chat");
    assert_eq!(test_host.host.loaded(&chat).unwrap().evicted_turns.len(), 0);
    run(&mut test_host, "quiet");
    assert!(test_host.host.state(&chat).is_none());
    assert!(test_host.host.state(&uri("s1")).is_none());

    run(&mut test_host, &turn(6));
    let earlier = &test_host.host.loaded(&chat).unwrap().evicted_turns;
    assert_eq!(earlier.len(), 3);
    test_host.check_mirrors();

    // The ids of turns that are only in the log count as used, too.
    let used = run(&mut test_host, &turn(2));
    assert!(used.contains("turn id `t2` is in use"), "{used}");

    // Loading the earlier turns does not disturb the running turn.
    let started = turn(7);
    let (started, ended) = started.trim().split_once('\n').unwrap();
    run(&mut test_host, started);
    run(&mut test_host, "c1 subscribe s1.chat");
    assert_eq!(test_host.host.loaded(&chat).unwrap().evicted_turns.len(), 0);
    run(&mut test_host, ended);
    test_host.check_mirrors();
    let ChannelState::Chat(state) = test_host.host.state(&chat).unwrap() else {
        panic!("expected a chat");
    };
    assert_eq!(state.turns.len(), 7);
    // A chat with a subscriber is not evicted.
    run(&mut test_host, "quiet");
    assert!(test_host.host.state(&chat).is_some());
}

#[test]
fn truncating_a_chat_also_removes_evicted_turns() {
    let mut test_host = TestHost::new();
    run(&mut test_host, TURNS);
    for number in 1..=5 {
        run(&mut test_host, &turn(number));
    }
    run(&mut test_host, "quiet");
    run(
        &mut test_host,
        r#"c1 ! s1.chat chat/truncated {"turnId": "t1"}"#,
    );
    test_host.check_mirrors();
    let ChannelState::Chat(state) = test_host.host.state(&uri("s1.chat")).unwrap() else {
        panic!("expected a chat");
    };
    assert_eq!(state.turns.len(), 1);
}

/// TER-19: the host and its clients keep the same bounded output of a terminal.
#[test]
fn the_output_of_a_terminal_is_trimmed_to_its_end() {
    let mut test_host = TestHost::new();
    run(&mut test_host, TURNS);
    let terminal = uri("ahp-terminal:/1");
    let agent = |test_host: &mut TestHost, event| {
        test_host.step(Input::Agent {
            session: uri("s1"),
            event,
        })
    };
    let state = TerminalState {
        title: "yes".to_owned(),
        cwd: None,
        cols: None,
        rows: None,
        content: List::new(),
        lifecycle: TerminalLifecycle::Running,
        claim: TerminalClaim::Session(TerminalSessionClaim {
            session: uri("s1"),
            chat: uri("s1.chat"),
            turn_id: None,
            tool_call_id: None,
        }),
        supports_command_detection: None,
        is_pty: Some(false),
    };
    let opened = AgentEvent::TerminalOpened {
        terminal: terminal.clone(),
        state: Box::new(state),
        command: None,
    };
    agent(&mut test_host, opened);
    run(&mut test_host, "c1 subscribe ahp-terminal:/1");
    let mut written = String::new();
    for number in 0..400 {
        let line = format!("{number} {}\n", "é".repeat(5_000));
        written.push_str(&line);
        let action = Box::new(TerminalAction::Data(TerminalData { data: line }));
        let terminal = terminal.clone();
        agent(&mut test_host, AgentEvent::Terminal { terminal, action });
        if number % 20 != 0 {
            continue;
        }
        let ChannelState::Terminal(state) = test_host.host.state(&uri("ahp-terminal:/1")).unwrap()
        else {
            panic!("expected a terminal");
        };
        let shown = serde_json::to_string(&state.content).unwrap();
        assert!(shown.len() < 1_100_000, "{}", shown.len());
    }
    test_host.check_mirrors();
    let ChannelState::Terminal(state) = test_host.host.state(&terminal).unwrap() else {
        panic!("expected a terminal");
    };
    let shown = serde_json::to_value(&state.content).unwrap();
    let shown = shown[0]["value"].as_str().unwrap();
    assert!(shown.len() > 200_000 && written.ends_with(shown));
    let first = shown.split(' ').next().unwrap();
    assert!(first.parse::<u32>().is_ok(), "cut in the middle of a line");

    // A running terminal stays in memory, with or without subscribers; one that has exited is
    // evicted.
    run(&mut test_host, "c1 unsubscribe ahp-terminal:/1\nquiet");
    assert!(test_host.host.state(&terminal).is_some());
    let action = Box::new(TerminalAction::Exited(TerminalExited { exit_code: None }));
    let exited = AgentEvent::Terminal {
        terminal: terminal.clone(),
        action,
    };
    agent(&mut test_host, exited);
    run(&mut test_host, "quiet");
    assert!(test_host.host.state(&terminal).is_none());
}

/// SUB-16 to SUB-19, CHT-30 to CHT-34.
#[test]
fn a_history_window_limits_the_turns_of_a_subscriber() {
    let mut test_host = TestHost::new();
    run(&mut test_host, TURNS);
    for number in 1..=4 {
        run(&mut test_host, &turn(number));
    }
    let script = r#"
        - c2 joins b
        - c1 subscribe s1.chat
        c2 fetchTurns s1.chat
        c2 subscribe s1.chat {"view": {"turns": 1}}
        c2 fetchTurns s1.chat {"cursor": "nonsense"}
        c2 fetchTurns s1.chat {"cursor": "turns-3"}
        c2 fetchTurns s1.chat
        c2 subscribe s1.chat {"view": {"turns": 1}}
        c1 ! s1.chat chat/truncated {"turnId": "t2"}
        c2 subscribe s1.chat {"view": {"turns": 1}}
        - c2 leave
        - c3 connect me was c2
        c3 reconnect {"clientId": "b", "lastSeenServerSeq": 22, "subscriptions": ["ahp-chat://default/YWhwLXNlc3Npb246L3Mx"]}
        - c3 leave
        - c4 connect me was c3
        c4 reconnect {"clientId": "b", "lastSeenServerSeq": 22, "subscriptions": ["ahp-chat://default/YWhwLXNlc3Npb246L3Mx"]}
        "#;
    let shown = run(&mut test_host, script);
    test_host.check_mirrors();
    expect![[r#"
        c2 fetchTurns s1.chat
            c2: error -32602 subscribe to the chat first
        c2 subscribe s1.chat {"view": {"turns": 1}}
            c2: snapshot of s1.chat at 19, only [t4]
        c2 fetchTurns s1.chat {"cursor": "nonsense"}
            c2: error -32602 cursor: unknown
        c2 fetchTurns s1.chat {"cursor": "turns-3"}
            c2: 20 shown chat/turnsLoaded {"turns":[{"id":"t1","startedAt":"2026-01-05T09:00:00Z","duration":0,"message":{"text":"go","origin":{"kind":"user"}},"responseParts":[],"state":"complete"},{"id":"t2","startedAt":"2026-01-05T09:00:00Z","duration":0,"message":{"text":"go","origin":{"kind":"user"}},"responseParts":[],"state":"complete"},{"id":"t3","startedAt":"2026-01-05T09:00:00Z","duration":0,"message":{"text":"go","origin":{"kind":"user"}},"responseParts":[],"state":"complete"}]}
            c2: {}
        c2 fetchTurns s1.chat
            c2: {}
        c2 subscribe s1.chat {"view": {"turns": 1}}
            c2: snapshot of s1.chat at 20, only [t4]
        c1 ! s1.chat chat/truncated {"turnId": "t2"}
            c2: 21 shown chat/turnsLoaded {"turnsNextCursor":"turns-1","turns":[{"id":"t2","startedAt":"2026-01-05T09:00:00Z","duration":0,"message":{"text":"go","origin":{"kind":"user"}},"responseParts":[],"state":"complete"},{"id":"t3","startedAt":"2026-01-05T09:00:00Z","duration":0,"message":{"text":"go","origin":{"kind":"user"}},"responseParts":[],"state":"complete"}]}
            c1, c2: 22 s1.chat by a chat/truncated {"turnId":"t2"}
            agent s1: rewind to Some("t2")
        c2 subscribe s1.chat {"view": {"turns": 1}}
            c2: snapshot of s1.chat at 22, only [t2]
        c3 reconnect {"clientId": "b", "lastSeenServerSeq": 22, "subscriptions": ["ahp-chat://default/YWhwLXNlc3Npb246L3Mx"]}
            c3: snapshots of [s1.chat]
        c4 reconnect {"clientId": "b", "lastSeenServerSeq": 22, "subscriptions": ["ahp-chat://default/YWhwLXNlc3Npb246L3Mx"]}
            c4: replay (22, 22] of [s1.chat], missing []"#]].assert_eq(&shown);
}
