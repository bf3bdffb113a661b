//! The complete lifecycle of a client, run with the official client of each release.

use agenthost_oracles::ClientAct;
use agenthost_protocol::version::Release;
use serde_json::{Value, json};

use super::actor::SESSION;
use super::{Actor, Host};
use crate::releases::each_release;

/// Script of a turn with a tool call that requires approval, and a form.
pub(super) const APPROVAL_AND_FORM_SCRIPT: &str = "say hello\nthink about it\ncall c read ask\nwait\n+ done c\nform q {\"message\": \"Who?\", \"questions\": [{\"kind\": \"text\", \"id\": \"name\", \"message\": \"Name?\", \"required\": true}]}\nwait\n+ say thanks";

impl Actor {
    /// Approves the tool call of a turn once it is ready.
    pub(super) fn confirm(&mut self, turn: &str) {
        let ready = self.until_turn("toolCallReady", turn);
        let call = &ready["action"]["toolCallId"];
        let yes = json!({
            "turnId": turn, "toolCallId": call, "approved": true, "confirmed": "user-action",
        });
        self.dispatch_to_chat("toolCallConfirmed", yes);
        self.until_turn("toolCallComplete", turn);
    }

    /// Waits for the first form after the action number `after` and returns the request.
    pub(super) fn wait_for_form(&mut self, after: i64) -> Value {
        let kind = self.kind("inputRequested");
        let asked = self.until("a form", |envelope| {
            let action = &envelope["action"];
            action["type"] == kind && envelope["serverSeq"].as_i64().unwrap() > after
        });
        asked["action"]["request"].clone()
    }

    /// Answers the first form after the action number `after`.
    pub(super) fn fill_in(&mut self, after: i64) {
        let request = self.wait_for_form(after);
        assert_eq!(request["questions"][0]["id"], "name");
        let name = json!({"state": "submitted", "value": {"kind": "text", "value": "Ada"}});
        let answers =
            json!({"requestId": request["id"], "response": "accept", "answers": {"name": name}});
        let number = self.dispatch_to_chat("inputCompleted", answers);
        let echo = self.until_echo(number);
        assert!(echo["rejectionReason"].is_null(), "{echo}");
    }

    /// Runs a complete turn: start, approval, form and end.
    pub(super) fn run_turn(&mut self, turn: &str) {
        let number = self.start_turn(turn, APPROVAL_AND_FORM_SCRIPT);
        let started = self.until_echo(number);
        assert_eq!(started["action"]["type"], self.kind("turnStarted"));
        self.confirm(turn);
        self.fill_in(started["serverSeq"].as_i64().unwrap());
        self.until_turn("turnComplete", turn);
    }

    /// Returns the final states of the turns in a new snapshot.
    fn ends(&mut self) -> Vec<Value> {
        let channel = self.conversation.clone();
        let shown = self.execute(ClientAct::Subscribe { channel }).unwrap();
        let turns = shown["snapshot"]["state"]["turns"].as_array().unwrap();
        turns.iter().map(|turn| turn["state"].clone()).collect()
    }
}

fn check_lifecycle(release: Release) {
    let mut host = Host::start();
    let Some(mut actor) = Actor::of(release, "one") else {
        return;
    };
    actor.join(&host);
    actor.create();
    while !actor
        .noted
        .iter()
        .any(|noted| noted.contains("SessionAdded"))
    {
        actor.next(60);
    }
    assert_eq!(actor.list()[0]["resource"], SESSION);
    actor.enter();

    actor.run_turn("t1");
    actor.start_turn("t2", "say I hang\nhang");
    actor.until_turn("delta", "t2");
    actor.dispatch_to_chat("turnCancelled", json!({"turnId": "t2", "duration": 0}));
    actor.until_turn("turnCancelled", "t2");
    actor.start_turn("t3", "say I fail\nresumable");
    actor.until_turn("error", "t3");
    let refused = actor.dispatch_to_chat("turnComplete", json!({"turnId": "t9", "duration": 0}));
    let echo = actor.until_echo(refused);
    assert!(echo["rejectionReason"].is_string(), "{echo}");
    assert_eq!(echo["action"]["type"], actor.kind("turnComplete"));
    assert_eq!(actor.ends(), ["complete", "cancelled", "error"]);
    actor.check_equal_to_host();

    check_reconnects(&mut host, &mut actor);
}

each_release!(check_lifecycle);

/// An unsubscribed client receives no actions, and gets the missed ones when it reconnects: on the
/// same host, after a restart, or as a snapshot.
fn check_reconnects(host: &mut Host, actor: &mut Actor) {
    let mut other = Actor::of(actor.release, "other").unwrap();
    other.join(host);
    other.enter();
    let channel = actor.conversation.clone();
    actor
        .execute(ClientAct::Unsubscribe {
            channel: channel.clone(),
        })
        .unwrap();
    actor
        .execute(ClientAct::Listen {
            channel: channel.clone(),
        })
        .unwrap();
    // The reply proves that the host has processed the `unsubscribe`.
    actor.list();
    while actor.next(60).is_some() {}
    let seen = actor.seen;
    let kept = std::mem::take(&mut actor.followed);
    other.run_turn("t4");
    actor.list();
    while let Some(envelope) = actor.next(60) {
        let action = &envelope["action"];
        assert!(action["turnId"] != "t4", "{} heard {action}", actor.release);
    }
    actor.execute(ClientAct::Leave).unwrap();

    // The missed actions are replayed, also by the next run of the host.
    actor.followed = kept;
    let missed = actor.reconnect(host, seen);
    assert_eq!(missed, "replay");
    actor.until_turn("turnComplete", "t4");
    actor.check_equal_to_host();
    other.check_equal_to_host();
    actor.drain_and_disconnect();
    other.run_turn("t5");
    host.restart();
    assert_eq!(actor.reconnect(host, actor.seen), "replay");
    actor.check_equal_to_host();
    actor.drain_and_disconnect();

    // A client that has seen nothing gets snapshots.
    assert_eq!(actor.reconnect(host, 0), "snapshot");
    actor.run_turn("t6");
    actor.check_equal_to_host();
}
