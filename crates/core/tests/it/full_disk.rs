//! A disk that is full for a while: the world handles inputs as the host loop does then.

use std::collections::VecDeque;

use agenthost_core::{ClientMessage, Effects, Input, StoreWrite};
use expect_test::expect;

use crate::script::{Join, check};
use crate::test_host::TestHost;

/// Inputs and writes that wait until there is space.
#[derive(Debug, Clone, Default)]
pub(crate) struct FullDisk {
    deferred: VecDeque<Input>,
    unsaved: Vec<StoreWrite>,
}

impl TestHost {
    /// Fills the disk. The reserve has space for the notice.
    pub(crate) fn fill_disk(&mut self) -> Effects {
        let mut all = Effects::default();
        if self.full.is_some() {
            return all;
        }
        let problem = Some("the disk is full".to_owned());
        self.take(Input::StorageChanged { problem }, &mut all);
        self.full = Some(FullDisk::default());
        all
    }

    /// Makes space: the host stores the writes, and handles the deferred inputs.
    pub(crate) fn free_disk(&mut self) -> Effects {
        let mut all = Effects::default();
        let Some(full) = self.full.take() else {
            return all;
        };
        for write in &full.unsaved {
            self.log.append(write);
        }
        for input in full.deferred {
            all.join(self.step(input));
        }
        let problem = None;
        self.take(Input::StorageChanged { problem }, &mut all);
        all
    }

    /// Takes a step whose writes can't be stored. If it has some, the host returns to the state
    /// before it.
    pub(crate) fn step_full(&mut self, input: Input) -> Effects {
        self.note_message(&input);
        let full = self.full.as_mut().unwrap();
        // The loop does not take inputs of agents, which wait in their queues.
        let waits = matches!(input, Input::Agent { .. } | Input::Terminal { .. });
        if waits || !(full.deferred.is_empty() || input.is_independent()) {
            full.deferred.push_back(input);
            return Effects::default();
        }
        if let Some(effects) = self.try_step(input.clone()) {
            return effects;
        }
        match input {
            Input::Received {
                connection,
                message,
            } if !matches!(message, ClientMessage::Response(..)) => {
                let refused = Input::NotStored {
                    connection,
                    message,
                    problem: "the disk is full".to_owned(),
                };
                self.try_step(refused).unwrap()
            }
            Input::EvictionDue => Effects::default(),
            other => {
                let full = self.full.as_mut().unwrap();
                full.deferred.push_back(other);
                Effects::default()
            }
        }
    }

    fn try_step(&mut self, input: Input) -> Option<Effects> {
        let before = self.host.clone();
        let mut out = Effects::default();
        if let Some(client) = self.host.missing_client(&input) {
            let remembered = self.log.load_client(&client);
            self.load_client(client, remembered);
        }
        loop {
            let needs = self.host.missing_channels(&input);
            if needs.is_empty() {
                break;
            }
            for need in needs {
                let loaded = self.log.load(&need);
                let channel = need.channel;
                let env = self.next_env();
                let restored = Input::ChannelLoaded { channel, loaded };
                self.host.step(&env, restored, &mut out);
            }
        }
        let env = self.next_env();
        self.host.step(&env, input, &mut out);
        if !out.writes.iter().all(StoreWrite::can_wait) {
            self.host = before;
            return None;
        }
        let full = self.full.as_mut().unwrap();
        for write in &out.writes {
            full.unsaved.retain(|earlier| !write.replaces(earlier));
            full.unsaved.push(write.clone());
        }
        self.deliver_all(&out);
        Some(out)
    }
}

/// Clients read while the disk is full, and their changes are refused with the reason. Reports
/// of agents are handled when there is space.
#[test]
fn changes_are_refused_and_reads_are_served() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe root
        - c1 subscribe s1.chat
        - c1 starts t1
        - agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p1", "content": "Hi"}}
        full
        c1 ! s1 session/titleChanged {"title": "new"}
        c1 createSession s2
        c1 subscribe s1
        agent s1 chat/delta {"turnId": "t1", "partId": "p1", "content": " there"}
        c2 joins b
        c2 subscribe s1.chat
        c1 leave
        c3 connect me was c1
        c3 recovers a root s1 s1.chat
        space
        c3 ! s1 session/titleChanged {"title": "new"}
        "#,
        expect![[r#"
            full
                c1: 7 root root/configChanged {"replace":true,"config":{"storageProblem":"the disk is full"}}
            c1 ! s1 session/titleChanged {"title": "new"}
                c1: 8 rejected: the host can't store changes: the disk is full; nothing was changed
            c1 createSession s2
                c1: error -32603 the host can't store changes: the disk is full; nothing was changed
            c1 subscribe s1
                c1: snapshot of s1 at 8
            agent s1 chat/delta {"turnId": "t1", "partId": "p1", "content": " there"}
                nothing
            c2 joins b
                c2: version 1.0.0 at 8 with []
            c2 subscribe s1.chat
                c2: snapshot of s1.chat at 8
            c1 leave
                grace a 30000
            c3 connect me was c1
                nothing
            c3 recovers a root s1 s1.chat
                c3: recovers [replay (7, 8] of root, replay (8, 8] of s1, replay (6, 8] of s1.chat]
            space
                c2, c3: 9 s1.chat chat/delta {"content":" there","turnId":"t1","partId":"p1"}
                c3: 10 root root/configChanged {"replace":true,"config":{}}
            c3 ! s1 session/titleChanged {"title": "new"}
                c3: 11 s1 by a session/titleChanged {"title":"new"}
                c3: root/sessionSummaryChanged {"changes":{"title":"new"},"session":"s1"}
        "#]],
    );
}

/// The host is killed while the disk is full. Clients that connected meanwhile start over, the
/// others get snapshots if they have seen a number that is lost.
#[test]
fn a_kill_on_a_full_disk_loses_nothing_that_was_accepted() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1
        full
        - c2 joins b
        c1 ! s1 session/titleChanged {"title": "refused"}
        - restart
        - c3 connect me was c1
        c3 reconnect {"clientId": "a", "lastSeenServerSeq": 5, "subscriptions": ["ahp-session:/s1"]}
        - c4 connect me was c2
        c4 reconnect {"clientId": "b", "lastSeenServerSeq": 4, "subscriptions": []}
        c4 initialize {"protocolVersions": ["1.0.0"], "clientId": "b"}
        "#,
        expect![[r#"
            full
                nothing
            c1 ! s1 session/titleChanged {"title": "refused"}
                c1: 4 rejected: the host can't store changes: the disk is full; nothing was changed
            c3 reconnect {"clientId": "a", "lastSeenServerSeq": 5, "subscriptions": ["ahp-session:/s1"]}
                c3: snapshots of [s1]
            c4 reconnect {"clientId": "b", "lastSeenServerSeq": 4, "subscriptions": []}
                c4: error -32008 client `b` is not known: send `initialize`
            c4 initialize {"protocolVersions": ["1.0.0"], "clientId": "b"}
                c4: version 1.0.0 at 1767603600000001 with []
        "#]],
    );
}
