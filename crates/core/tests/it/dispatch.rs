//! Tests for actions that clients may not dispatch, and the reasons that they receive.

use agenthost_protocol::action::{Action, Dispatcher};
use agenthost_protocol::wire::Shape;
use agenthost_protocol::wire::Wire;
use agenthost_testkit::{Generator, GeneratorOptions};
use expect_test::expect;

use crate::script::check;

const READY: &str = r#"
    - c1 joins a
    - c1 opens s1
"#;

fn ready(script: &str) -> String {
    format!("{READY}{script}")
}

/// DSP-2 to DSP-8, DSP-10, DSP-15, A-1, A-2, SEQ-9.
#[test]
fn rejections_go_to_the_originator_with_a_reason() {
    check(
        &ready(
            r#"
            c1 ! s1 session/ready
            c1 ! s1 chat/draftChanged
            c1 ! s1 session/fromTheFuture {"x": 1}
            c1 ! s1 session/titleChanged {"title": 42}
            c1 ! ahp-session:/none session/titleChanged {"title": "x"}
            c1 ! root root/configChanged {"config": {}}
            c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "other", "tools": []}}
            c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "a", "tools": [{"name": "t"}, {"name": "t"}]}}
            c1 ! s1 session/activeClientRemoved {"clientId": "other"}
            c1 ! s1 session/workingDirectorySet {"directory": "file:///x"}
            c1 ! s1 session/customizationToggled {"id": "x", "enablement": []}
            c1 ! s1 session/mcpServerStartRequested {"id": "x"}
            c1 ! s1 session/configChanged {"config": {"a": 1}}
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "agent"}}}
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "yesterday", "message": {"text": "x", "origin": {"kind": "user"}}}
            c1 ! s1.chat chat/turnStarted {"turnId": "", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}}
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}, "model": {"id": "m"}}}
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}, "queuedMessageId": "m"}
            c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 1}
            c1 ! s1.chat chat/turnResume {"turnId": "t1"}
            c1 ! s1.chat chat/truncated {"turnId": "t1"}
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true}
            c1 ! s1.chat chat/inputCompleted {"requestId": "q", "response": "accept"}
            c1 ! s1.chat chat/pendingMessageRemoved {"kind": "steering", "id": "m"}
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "", "message": {"text": "x", "origin": {"kind": "user"}}}
            c1 ! s1.chat chat/draftChanged {"draft": {"text": "x", "origin": {"kind": "tool"}}}
            c1 ! s1.chat chat/workingDirectorySet {"directory": "file:///x"}
            "#,
        ),
        expect![[r#"
            c1 ! s1 session/ready
                c1: 3 rejected: `session/ready` can only be dispatched by the host
            c1 ! s1 chat/draftChanged
                c1: 4 rejected: `chat/draftChanged` does not belong on this channel
            c1 ! s1 session/fromTheFuture {"x": 1}
                c1: 5 rejected: action.type: unknown action type "session/fromTheFuture"
            c1 ! s1 session/titleChanged {"title": 42}
                c1: 6 rejected: action.title: expected a string, found 42
            c1 ! ahp-session:/none session/titleChanged {"title": "x"}
                nothing
            c1 ! root root/configChanged {"config": {}}
                nothing
            c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "other", "tools": []}}
                c1: 8 rejected: a client can only do this for itself
            c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "a", "tools": [{"name": "t"}, {"name": "t"}]}}
                c1: 9 rejected: tool `t` is given twice
            c1 ! s1 session/activeClientRemoved {"clientId": "other"}
                c1: 10 rejected: a client can only do this for itself
            c1 ! s1 session/workingDirectorySet {"directory": "file:///x"}
                c1: 11 rejected: the agent does not support several working directories
            c1 ! s1 session/customizationToggled {"id": "x", "enablement": []}
                c1: 12 rejected: there is no customization `x`
            c1 ! s1 session/mcpServerStartRequested {"id": "x"}
                c1: 13 rejected: there is no server `x`
            c1 ! s1 session/configChanged {"config": {"a": 1}}
                c1: 14 rejected: there is no mutable property `a`
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "agent"}}}
                c1: 15 rejected: a client can only send messages of kind `user`
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "yesterday", "message": {"text": "x", "origin": {"kind": "user"}}}
                c1: 16 rejected: startedAt: `yesterday` is not an RFC 3339 timestamp such as `2026-07-09T20:00:00.000Z`
            c1 ! s1.chat chat/turnStarted {"turnId": "", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}}
                c1: 17 rejected: the name of a turn has 1 to 200 bytes
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}, "model": {"id": "m"}}}
                c1: 18 rejected: there is no model `m`
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}, "queuedMessageId": "m"}
                c1: 19 rejected: there is no pending message `m`
            c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 1}
                c1: 20 rejected: turn `t1` is not in progress
            c1 ! s1.chat chat/turnResume {"turnId": "t1"}
                c1: 21 rejected: turn `t1` can't be resumed
            c1 ! s1.chat chat/truncated {"turnId": "t1"}
                c1: 22 rejected: there is no turn `t1`
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true}
                c1: 23 rejected: turn `t1` is not in progress
            c1 ! s1.chat chat/inputCompleted {"requestId": "q", "response": "accept"}
                c1: 24 rejected: there is no open request `q`
            c1 ! s1.chat chat/pendingMessageRemoved {"kind": "steering", "id": "m"}
                c1: 25 rejected: there is no pending message `m`
            c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "", "message": {"text": "x", "origin": {"kind": "user"}}}
                c1: 26 rejected: the name of a pending message has 1 to 200 bytes
            c1 ! s1.chat chat/draftChanged {"draft": {"text": "x", "origin": {"kind": "tool"}}}
                c1: 27 rejected: a client can only send messages of kind `user`
            c1 ! s1.chat chat/workingDirectorySet {"directory": "file:///x"}
                c1: 28 rejected: the agent does not support several working directories
        "#]],
    );
}

/// TUR-1, TUR-4: a turn needs a ready session without a running turn.
#[test]
fn a_second_turn_is_refused() {
    check(
        r#"
        - c1 joins a
        - c1 createSession s1
        c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}}
        - agent s1 opened
        c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "y", "origin": {"kind": "user"}}}
        agent s1 end t1
        c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "again", "origin": {"kind": "user"}}}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}}
                c1: 2 rejected: the session is not ready
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "x", "origin": {"kind": "user"}}}
                agent s1: prompt t1 "x"
            c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "y", "origin": {"kind": "user"}}}
                c1: 7 rejected: turn `t1` is in progress
            agent s1 end t1
                nothing
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "again", "origin": {"kind": "user"}}}
                c1: 10 rejected: turn id `t1` is in use
        "#]],
    );
}

/// DSP-4: the host refuses all 59 host-only actions from clients, on any channel.
#[test]
fn host_only_actions_are_refused_from_clients() {
    let Shape::Union { variants, .. } = Action::shape() else {
        unreachable!("an action is a union");
    };
    let mut refused = 0;
    for info in Action::table().filter(|info| info.dispatcher == Dispatcher::Host) {
        let shape = variants
            .iter()
            .find(|(name, _)| *name == info.name)
            .unwrap()
            .1;
        for (seed, channel) in [(1, "root"), (2, "s1"), (3, "s1.chat")] {
            let payload = Generator::new(seed, GeneratorOptions::default()).generate(&shape());
            let script = ready(&format!("c1 ! {channel} {} {payload}", info.name));
            let mut test_host = crate::test_host::TestHost::new();
            let outcome = crate::script::run(&mut test_host, &script);
            assert!(
                outcome.ends_with(&format!(
                    "rejected: `{}` can only be dispatched by the host",
                    info.name
                )),
                "{outcome}"
            );
            refused += 1;
        }
    }
    assert_eq!(refused, 59 * 3);
}
