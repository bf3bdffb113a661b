//! Random events of the test in `shared_session`: turns, approvals, edits and reconnects.

use agenthost_oracles::ClientAct;
use agenthost_protocol::version::Release;
use serde_json::{Value, json};

use super::Actor;
use super::actor::SESSION;
use super::lifecycle::APPROVAL_AND_FORM_SCRIPT;
use super::shared_session::SharedSession;

/// All events, of which one is picked at random each time.
const RANDOM_EVENTS: &[fn(&mut SharedSession, &str)] = &[
    run_turn_with_approval_and_form,
    run_turn_during_disconnect,
    deny_tool_call,
    cancel_turn,
    resume_turn,
    queue_message,
    run_client_tool,
    truncate_chat,
    rename_session,
    change_flags,
    change_config,
    change_draft,
    send_steering_message,
    reorder_queue,
    create_second_chat,
];

impl SharedSession {
    pub(super) fn run_random_event(&mut self, turn: &str) {
        let happening = *self.generator.pick(RANDOM_EVENTS).unwrap();
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
    fn send_pending_message(&mut self, kind: &str, id: &str, text: &str) {
        let message = self.with_message(json!({"kind": kind, "id": id}), text);
        let number = self.dispatch_to_chat("pendingMessageSet", message);
        let echo = self.until_echo(number);
        assert!(echo["rejectionReason"].is_null(), "{echo}");
    }

    /// Dispatches an action that must not be rejected and returns its `serverSeq`.
    fn dispatch_accepted(&mut self, channel: &str, action: Value) -> i64 {
        let number = self.dispatch(channel, action);
        let echo = self.until_echo(number);
        assert!(echo["rejectionReason"].is_null(), "{echo}");
        echo["serverSeq"].as_i64().unwrap()
    }
}

/// A client starts a turn, another approves its tool call, and a third fills in its form.
fn run_turn_with_approval_and_form(shared_session: &mut SharedSession, turn: &str) {
    let [starts, confirms, fills_in] = shared_session.random_clients();
    let started = shared_session.start(starts, turn, APPROVAL_AND_FORM_SCRIPT);
    shared_session.actors[confirms].confirm(turn);
    shared_session.actors[fills_in].fill_in(started);
    shared_session.ends(turn, "turnComplete");
}

/// Like `run_turn_with_approval_and_form`, but one client disconnects before the turn and reconnects during or after it.
fn run_turn_during_disconnect(shared_session: &mut SharedSession, turn: &str) {
    let [leaves, starts, other] = shared_session.random_clients();
    shared_session.actors[leaves].drain_and_disconnect();
    let started = shared_session.start(starts, turn, APPROVAL_AND_FORM_SCRIPT);
    let wanted = shared_session.generator.pick(&[0, 1, 2]).copied();
    if wanted == Some(0) {
        shared_session.reconnect(leaves);
    }
    shared_session.actors[other].confirm(turn);
    shared_session.actors[other].wait_for_form(started);
    if wanted == Some(1) {
        shared_session.reconnect(leaves);
    }
    shared_session.actors[starts].fill_in(started);
    shared_session.actors[starts].until_turn("turnComplete", turn);
    if wanted == Some(2) {
        shared_session.reconnect(leaves);
        shared_session.turns.push(turn.to_owned());
    } else {
        shared_session.ends(turn, "turnComplete");
    }
}

/// A client starts a turn, another denies its tool call.
fn deny_tool_call(shared_session: &mut SharedSession, turn: &str) {
    let [starts, denies] = shared_session.random_clients();
    shared_session.start(starts, turn, "call c read ask\nwait\n- say a pity");
    let ready = shared_session.actors[denies].until_turn("toolCallReady", turn);
    let no = json!({
        "turnId": turn, "toolCallId": ready["action"]["toolCallId"], "approved": false,
        "reason": "denied", "reasonMessage": "not today",
    });
    shared_session.actors[denies].dispatch_to_chat("toolCallConfirmed", no);
    shared_session.ends(turn, "turnComplete");
}

/// A client starts a turn that hangs, another cancels it.
fn cancel_turn(shared_session: &mut SharedSession, turn: &str) {
    let [starts, cancels] = shared_session.random_clients();
    shared_session.start(starts, turn, "say I hang\nhang");
    shared_session.actors[cancels].until_turn("delta", turn);
    let cancelled = json!({"turnId": turn, "duration": 0});
    shared_session.actors[cancels].dispatch_to_chat("turnCancelled", cancelled);
    shared_session.ends(turn, "turnCancelled");
}

/// A turn fails, and a client whose release supports it resumes the turn.
fn resume_turn(shared_session: &mut SharedSession, turn: &str) {
    let [starts] = shared_session.random_clients();
    let resumes = shared_session.random_client_since(Release::V0_9);
    let script = "say one\ncall c read run\ndone c\nresumable\nsay two";
    shared_session.start(starts, turn, script);
    for actor in &mut shared_session.actors {
        actor.until_turn("error", turn);
    }
    shared_session.actors[resumes].dispatch_to_chat("turnResume", json!({"turnId": turn}));
    shared_session.ends(turn, "turnComplete");
}

/// A client queues a message while another's turn waits for approval. Once a third client has
/// approved, the queued message starts the next turn.
fn queue_message(shared_session: &mut SharedSession, turn: &str) {
    let [starts, queues, confirms] = shared_session.random_clients();
    shared_session.start(starts, turn, "call c read ask\nwait\n+ done c");
    shared_session.actors[queues].until_turn("toolCallReady", turn);
    let id = format!("m-{turn}");
    shared_session.actors[queues].send_pending_message("queued", &id, "say I waited");
    shared_session.actors[confirms].confirm(turn);
    let mut next = String::new();
    for actor in &mut shared_session.actors {
        actor.until_turn("turnComplete", turn);
        let kind = actor.kind("turnStarted");
        let started = actor.until("the turn that waited", |envelope| {
            envelope["action"]["queuedMessageId"] == id && envelope["action"]["type"] == kind
        });
        next = started["action"]["turnId"].as_str().unwrap().to_owned();
    }
    shared_session.turns.push(turn.to_owned());
    shared_session.ends(&next, "turnComplete");
}

/// A client provides a tool, another starts a turn that calls it.
fn run_client_tool(shared_session: &mut SharedSession, turn: &str) {
    let [brings, starts] = shared_session.random_clients();
    let actor = &mut shared_session.actors[brings];
    let name = actor.name.clone();
    let client = json!({
        "clientId": name, "displayName": "Brings a tool",
        "tools": [{"name": "look", "description": "Looks"}],
    });
    let kind = match actor.release <= Release::V0_4 {
        true => "session/activeClientChanged",
        false => "session/activeClientSet",
    };
    actor.dispatch_accepted(SESSION, json!({"type": kind, "activeClient": client}));
    shared_session.start(
        starts,
        turn,
        &format!("call c look for {name}\nwait\n+ say seen"),
    );
    let actor = &mut shared_session.actors[brings];
    actor.until_turn("toolCallReady", turn);
    let result = json!({"success": true, "pastTenseMessage": "Looked"});
    let done = json!({"turnId": turn, "toolCallId": "c", "result": result});
    actor.dispatch_to_chat("toolCallComplete", done);
    shared_session.ends(turn, "turnComplete");
}

/// A client truncates the chat after a random turn.
fn truncate_chat(shared_session: &mut SharedSession, _: &str) {
    let [takes_back] = shared_session.random_clients();
    let Some(last) = shared_session
        .generator
        .pick(&shared_session.turns)
        .cloned()
    else {
        return;
    };
    let actor = &mut shared_session.actors[takes_back];
    let number = actor.dispatch_to_chat("truncated", json!({"turnId": last}));
    let echo = actor.until_echo(number);
    assert!(echo["rejectionReason"].is_null(), "{echo}");
    let place = shared_session
        .turns
        .iter()
        .position(|turn| *turn == last)
        .unwrap();
    shared_session.turns.truncate(place + 1);
}

/// A client renames the session.
fn rename_session(shared_session: &mut SharedSession, turn: &str) {
    let [names] = shared_session.random_clients();
    let title = format!("All about {turn}");
    let action = json!({"type": "session/titleChanged", "title": title});
    shared_session.actors[names].dispatch_accepted(SESSION, action);
    for actor in &mut shared_session.actors {
        actor.until("the name", |envelope| envelope["action"]["title"] == title);
    }
}

/// A client marks the session as read, unread, archived or unarchived.
fn change_flags(shared_session: &mut SharedSession, _: &str) {
    let [marks] = shared_session.random_clients();
    let marked = [
        json!({"type": "session/isReadChanged", "isRead": true}),
        json!({"type": "session/isReadChanged", "isRead": false}),
        json!({"type": "session/isArchivedChanged", "isArchived": true}),
        json!({"type": "session/isArchivedChanged", "isArchived": false}),
    ];
    let marked = shared_session.generator.pick(&marked).unwrap().clone();
    shared_session.actors[marks].dispatch_accepted(SESSION, marked);
}

/// A client changes the mode in the configuration.
fn change_config(shared_session: &mut SharedSession, _: &str) {
    let [chooses] = shared_session.random_clients();
    let mode = *shared_session.generator.pick(&["ask", "do"]).unwrap();
    let action = json!({"type": "session/configChanged", "config": {"mode": mode}});
    shared_session.actors[chooses].dispatch_accepted(SESSION, action);
}

/// A client writes a draft.
fn change_draft(shared_session: &mut SharedSession, turn: &str) {
    let writes = shared_session.random_client_since(Release::V0_5_0);
    let draft = json!({"text": format!("as of {turn}"), "origin": {"kind": "user"}});
    let actor = &mut shared_session.actors[writes];
    let chat = actor.conversation.clone();
    actor.dispatch_accepted(&chat, json!({"type": "chat/draftChanged", "draft": draft}));
}

/// A client selects a model for the next turn. This has to be the last event: the agent does not
/// have the model, so no turn could follow.
pub(super) fn change_selection(shared_session: &mut SharedSession, turn: &str) {
    let [chooses] = shared_session.random_clients();
    let actor = &mut shared_session.actors[chooses];
    let model = json!({"id": format!("model-{turn}")});
    if actor.release <= Release::V0_4 {
        actor.dispatch_accepted(
            SESSION,
            json!({"type": "session/modelChanged", "model": model}),
        );
    } else {
        let draft = json!({"text": "well", "origin": {"kind": "user"}, "model": model});
        let chat = actor.conversation.clone();
        actor.dispatch_accepted(&chat, json!({"type": "chat/draftChanged", "draft": draft}));
    }
}

/// A client starts a turn that hangs, another sends a steering message, and a third cancels the
/// turn.
fn send_steering_message(shared_session: &mut SharedSession, turn: &str) {
    let [starts, steers, cancels] = shared_session.random_clients();
    shared_session.start(starts, turn, "say I hang\nhang");
    shared_session.actors[steers].until_turn("delta", turn);
    let id = format!("s-{turn}");
    shared_session.actors[steers].send_pending_message("steering", &id, "to the left");
    shared_session.actors[cancels].until_turn("delta", turn);
    let cancelled = json!({"turnId": turn, "duration": 0});
    shared_session.actors[cancels].dispatch_to_chat("turnCancelled", cancelled);
    shared_session.ends(turn, "turnCancelled");
}

/// Two clients queue messages while a turn is running. The queue is reordered, and both messages
/// are removed.
fn reorder_queue(shared_session: &mut SharedSession, turn: &str) {
    let [starts, first, second] = shared_session.random_clients();
    shared_session.start(starts, turn, "call c read ask\nwait\n+ done c");
    let ids = [format!("a-{turn}"), format!("b-{turn}")];
    shared_session.actors[first].until_turn("toolCallReady", turn);
    shared_session.actors[first].send_pending_message("queued", &ids[0], "say a");
    shared_session.actors[second].send_pending_message("queued", &ids[1], "say b");
    let order = json!({"order": [ids[1], ids[0]]});
    let number = shared_session.actors[starts].dispatch_to_chat("queuedMessagesReordered", order);
    shared_session.actors[starts].until_echo(number);
    for id in &ids {
        let [removes] = shared_session.random_clients();
        let removed = json!({"kind": "queued", "id": id});
        let number =
            shared_session.actors[removes].dispatch_to_chat("pendingMessageRemoved", removed);
        let echo = shared_session.actors[removes].until_echo(number);
        assert!(echo["rejectionReason"].is_null(), "{echo}");
    }
    shared_session.actors[first].confirm(turn);
    shared_session.ends(turn, "turnComplete");
}

/// A client creates a second chat. Every client whose release has chats is notified.
fn create_second_chat(shared_session: &mut SharedSession, turn: &str) {
    let opens = shared_session.random_client_since(Release::V0_4);
    let chat = format!("ahp-chat:/other-{turn}");
    let message = json!({"text": "say hello there", "origin": {"kind": "user"}});
    let params = json!({"channel": SESSION, "chat": chat, "initialMessage": message});
    let method = "createChat".to_owned();
    shared_session.actors[opens]
        .execute(ClientAct::Order { method, params })
        .unwrap();
    for actor in &mut shared_session.actors {
        if actor.release >= Release::V0_4 {
            actor.until("another chat", |envelope| {
                envelope["action"]["summary"]["resource"] == chat
            });
        }
    }
}
