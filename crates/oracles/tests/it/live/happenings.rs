//! Random events of the test in `room`: turns, approvals, edits and reconnects.

use agenthost_oracles::ClientAct;
use agenthost_protocol::version::Release;
use serde_json::{Value, json};

use super::Actor;
use super::actor::SESSION;
use super::everything::ASKS;
use super::room::Room;

/// All events, of which one is picked at random each time.
const HAPPENINGS: &[fn(&mut Room, &str)] = &[
    is_asked,
    is_missed,
    is_denied,
    is_cancelled,
    is_resumed,
    is_queued,
    is_run_by_a_client,
    is_taken_back,
    is_renamed,
    is_marked,
    is_configured,
    is_drafted,
    is_steered,
    is_sorted,
    is_elsewhere,
];

impl Room {
    pub(super) fn something_happens(&mut self, turn: &str) {
        let happening = *self.generator.pick(HAPPENINGS).unwrap();
        happening(self, turn);
    }

    /// Starts a turn as the client `who` and returns the `serverSeq` of its start.
    fn start(&mut self, who: usize, turn: &str, script: &str) -> i64 {
        let number = self.actors[who].start_turn(turn, script);
        let started = self.actors[who].until_echo(number);
        assert!(started["rejectionReason"].is_null(), "{started}");
        started["serverSeq"].as_i64().unwrap()
    }

    /// Waits until every client has received the end of a turn.
    fn ends(&mut self, turn: &str, how: &str) {
        for actor in &mut self.actors {
            actor.until_turn(how, turn);
        }
        self.turns.push(turn.to_owned());
    }
}

impl Actor {
    /// Sets a pending message, queued or steering, while a turn is running.
    fn sends_meanwhile(&mut self, kind: &str, id: &str, text: &str) {
        let message = self.with_message(json!({"kind": kind, "id": id}), text);
        let number = self.converse("pendingMessageSet", message);
        let echo = self.until_echo(number);
        assert!(echo["rejectionReason"].is_null(), "{echo}");
    }

    /// Dispatches an action that must not be rejected and returns its `serverSeq`.
    fn manages(&mut self, channel: &str, action: Value) -> i64 {
        let number = self.dispatch(channel, action);
        let echo = self.until_echo(number);
        assert!(echo["rejectionReason"].is_null(), "{echo}");
        echo["serverSeq"].as_i64().unwrap()
    }
}

/// A client starts a turn, another approves its tool call, and a third fills in its form.
fn is_asked(room: &mut Room, turn: &str) {
    let [starts, confirms, fills_in] = room.some();
    let started = room.start(starts, turn, ASKS);
    room.actors[confirms].confirm(turn);
    room.actors[fills_in].fill_in(started);
    room.ends(turn, "turnComplete");
}

/// Like `is_asked`, but one client disconnects before the turn and reconnects during or after it.
fn is_missed(room: &mut Room, turn: &str) {
    let [leaves, starts, other] = room.some();
    room.actors[leaves].leave();
    let started = room.start(starts, turn, ASKS);
    let wanted = room.generator.pick(&[0, 1, 2]).copied();
    if wanted == Some(0) {
        room.comes_back(leaves);
    }
    room.actors[other].confirm(turn);
    room.actors[other].asked(started);
    if wanted == Some(1) {
        room.comes_back(leaves);
    }
    room.actors[starts].fill_in(started);
    room.actors[starts].until_turn("turnComplete", turn);
    if wanted == Some(2) {
        room.comes_back(leaves);
        room.turns.push(turn.to_owned());
    } else {
        room.ends(turn, "turnComplete");
    }
}

/// A client starts a turn, another denies its tool call.
fn is_denied(room: &mut Room, turn: &str) {
    let [starts, denies] = room.some();
    room.start(starts, turn, "call c read ask\nwait\n- say a pity");
    let ready = room.actors[denies].until_turn("toolCallReady", turn);
    let no = json!({
        "turnId": turn, "toolCallId": ready["action"]["toolCallId"], "approved": false,
        "reason": "denied", "reasonMessage": "not today",
    });
    room.actors[denies].converse("toolCallConfirmed", no);
    room.ends(turn, "turnComplete");
}

/// A client starts a turn that hangs, another cancels it.
fn is_cancelled(room: &mut Room, turn: &str) {
    let [starts, cancels] = room.some();
    room.start(starts, turn, "say I hang\nhang");
    room.actors[cancels].until_turn("delta", turn);
    let cancelled = json!({"turnId": turn, "duration": 0});
    room.actors[cancels].converse("turnCancelled", cancelled);
    room.ends(turn, "turnCancelled");
}

/// A turn fails, and a client whose release supports it resumes the turn.
fn is_resumed(room: &mut Room, turn: &str) {
    let [starts] = room.some();
    let resumes = room.one_since(Release::V0_9);
    let script = "say one\ncall c read run\ndone c\nresumable\nsay two";
    room.start(starts, turn, script);
    for actor in &mut room.actors {
        actor.until_turn("error", turn);
    }
    room.actors[resumes].converse("turnResume", json!({"turnId": turn}));
    room.ends(turn, "turnComplete");
}

/// A client queues a message while another's turn waits for approval. Once a third client has
/// approved, the queued message starts the next turn.
fn is_queued(room: &mut Room, turn: &str) {
    let [starts, queues, confirms] = room.some();
    room.start(starts, turn, "call c read ask\nwait\n+ done c");
    room.actors[queues].until_turn("toolCallReady", turn);
    let id = format!("m-{turn}");
    room.actors[queues].sends_meanwhile("queued", &id, "say I waited");
    room.actors[confirms].confirm(turn);
    let mut next = String::new();
    for actor in &mut room.actors {
        actor.until_turn("turnComplete", turn);
        let kind = actor.kind("turnStarted");
        let started = actor.until("the turn that waited", |envelope| {
            envelope["action"]["queuedMessageId"] == id && envelope["action"]["type"] == kind
        });
        next = started["action"]["turnId"].as_str().unwrap().to_owned();
    }
    room.turns.push(turn.to_owned());
    room.ends(&next, "turnComplete");
}

/// A client provides a tool, another starts a turn that calls it.
fn is_run_by_a_client(room: &mut Room, turn: &str) {
    let [brings, starts] = room.some();
    let actor = &mut room.actors[brings];
    let name = actor.name.clone();
    let client = json!({
        "clientId": name, "displayName": "Brings a tool",
        "tools": [{"name": "look", "description": "Looks"}],
    });
    let kind = match actor.release <= Release::V0_4 {
        true => "session/activeClientChanged",
        false => "session/activeClientSet",
    };
    actor.manages(SESSION, json!({"type": kind, "activeClient": client}));
    room.start(
        starts,
        turn,
        &format!("call c look for {name}\nwait\n+ say seen"),
    );
    let actor = &mut room.actors[brings];
    actor.until_turn("toolCallReady", turn);
    let result = json!({"success": true, "pastTenseMessage": "Looked"});
    let done = json!({"turnId": turn, "toolCallId": "c", "result": result});
    actor.converse("toolCallComplete", done);
    room.ends(turn, "turnComplete");
}

/// A client truncates the chat after a random turn.
fn is_taken_back(room: &mut Room, _: &str) {
    let [takes_back] = room.some();
    let Some(last) = room.generator.pick(&room.turns).cloned() else {
        return;
    };
    let actor = &mut room.actors[takes_back];
    let number = actor.converse("truncated", json!({"turnId": last}));
    let echo = actor.until_echo(number);
    assert!(echo["rejectionReason"].is_null(), "{echo}");
    let place = room.turns.iter().position(|turn| *turn == last).unwrap();
    room.turns.truncate(place + 1);
}

/// A client renames the session.
fn is_renamed(room: &mut Room, turn: &str) {
    let [names] = room.some();
    let title = format!("All about {turn}");
    let action = json!({"type": "session/titleChanged", "title": title});
    room.actors[names].manages(SESSION, action);
    for actor in &mut room.actors {
        actor.until("the name", |envelope| envelope["action"]["title"] == title);
    }
}

/// A client marks the session as read, unread, archived or unarchived.
fn is_marked(room: &mut Room, _: &str) {
    let [marks] = room.some();
    let marked = [
        json!({"type": "session/isReadChanged", "isRead": true}),
        json!({"type": "session/isReadChanged", "isRead": false}),
        json!({"type": "session/isArchivedChanged", "isArchived": true}),
        json!({"type": "session/isArchivedChanged", "isArchived": false}),
    ];
    let marked = room.generator.pick(&marked).unwrap().clone();
    room.actors[marks].manages(SESSION, marked);
}

/// A client changes the mode in the configuration.
fn is_configured(room: &mut Room, _: &str) {
    let [chooses] = room.some();
    let mode = *room.generator.pick(&["ask", "do"]).unwrap();
    let action = json!({"type": "session/configChanged", "config": {"mode": mode}});
    room.actors[chooses].manages(SESSION, action);
}

/// A client writes a draft.
fn is_drafted(room: &mut Room, turn: &str) {
    let writes = room.one_since(Release::V0_5_0);
    let draft = json!({"text": format!("as of {turn}"), "origin": {"kind": "user"}});
    let actor = &mut room.actors[writes];
    let chat = actor.conversation.clone();
    actor.manages(&chat, json!({"type": "chat/draftChanged", "draft": draft}));
}

/// A client selects a model for the next turn. This has to be the last event: the agent does not
/// have the model, so no turn could follow.
pub(super) fn is_chosen(room: &mut Room, turn: &str) {
    let [chooses] = room.some();
    let actor = &mut room.actors[chooses];
    let model = json!({"id": format!("model-{turn}")});
    if actor.release <= Release::V0_4 {
        actor.manages(
            SESSION,
            json!({"type": "session/modelChanged", "model": model}),
        );
    } else {
        let draft = json!({"text": "well", "origin": {"kind": "user"}, "model": model});
        let chat = actor.conversation.clone();
        actor.manages(&chat, json!({"type": "chat/draftChanged", "draft": draft}));
    }
}

/// A client starts a turn that hangs, another sends a steering message, and a third cancels the
/// turn.
fn is_steered(room: &mut Room, turn: &str) {
    let [starts, steers, cancels] = room.some();
    room.start(starts, turn, "say I hang\nhang");
    room.actors[steers].until_turn("delta", turn);
    let id = format!("s-{turn}");
    room.actors[steers].sends_meanwhile("steering", &id, "to the left");
    room.actors[cancels].until_turn("delta", turn);
    let cancelled = json!({"turnId": turn, "duration": 0});
    room.actors[cancels].converse("turnCancelled", cancelled);
    room.ends(turn, "turnCancelled");
}

/// Two clients queue messages while a turn is running. The queue is reordered, and both messages
/// are removed.
fn is_sorted(room: &mut Room, turn: &str) {
    let [starts, first, second] = room.some();
    room.start(starts, turn, "call c read ask\nwait\n+ done c");
    let ids = [format!("a-{turn}"), format!("b-{turn}")];
    room.actors[first].until_turn("toolCallReady", turn);
    room.actors[first].sends_meanwhile("queued", &ids[0], "say a");
    room.actors[second].sends_meanwhile("queued", &ids[1], "say b");
    let order = json!({"order": [ids[1], ids[0]]});
    let number = room.actors[starts].converse("queuedMessagesReordered", order);
    room.actors[starts].until_echo(number);
    for id in &ids {
        let [removes] = room.some();
        let removed = json!({"kind": "queued", "id": id});
        let number = room.actors[removes].converse("pendingMessageRemoved", removed);
        let echo = room.actors[removes].until_echo(number);
        assert!(echo["rejectionReason"].is_null(), "{echo}");
    }
    room.actors[first].confirm(turn);
    room.ends(turn, "turnComplete");
}

/// A client creates a second chat. Every client whose release has chats is notified.
fn is_elsewhere(room: &mut Room, turn: &str) {
    let opens = room.one_since(Release::V0_4);
    let chat = format!("ahp-chat:/other-{turn}");
    let message = json!({"text": "say hello there", "origin": {"kind": "user"}});
    let params = json!({"channel": SESSION, "chat": chat, "initialMessage": message});
    let method = "createChat".to_owned();
    room.actors[opens]
        .act(ClientAct::Order { method, params })
        .unwrap();
    for actor in &mut room.actors {
        if actor.release >= Release::V0_4 {
            actor.until("another chat", |envelope| {
                envelope["action"]["summary"]["resource"] == chat
            });
        }
    }
}
