//! Optimistic state: in whatever order clients dispatch actions, all end with the state of the
//! host.

use std::collections::VecDeque;

use agenthost_client::{OptimisticState, TooManyPending};
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::ClientSeq;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::wire;
use proptest::prelude::*;
use serde_json::{Value, json};

fn session() -> ChannelState {
    let state = json!({
        "provider": "p", "title": "", "status": 1, "lifecycle": "ready", "activeClients": [],
        "chats": [],
    });
    wire::from_str(&state.to_string()).unwrap()
}

fn chat() -> ChannelState {
    let state = json!({
        "resource": "ahp-chat:/1", "title": "", "status": 1,
        "modifiedAt": "2026-01-01T00:00:00.000Z", "turns": [],
    });
    wire::from_str(&state.to_string()).unwrap()
}

fn action(json: &Value) -> Action {
    wire::from_str(&json.to_string()).unwrap()
}

fn title(text: &str) -> Action {
    action(&json!({"type": "session/titleChanged", "title": text}))
}

fn title_of(state: &ChannelState) -> String {
    serde_json::to_value(state).unwrap()["title"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn pending_actions_apply_at_once_and_are_reverted_by_a_rejection() {
    let mut ahead = OptimisticState::new(session());
    ahead.dispatch(ClientSeq(1), title("one").into()).unwrap();
    ahead.dispatch(ClientSeq(2), title("two").into()).unwrap();
    assert_eq!(title_of(ahead.optimistic()), "two");
    assert_eq!(title_of(ahead.confirmed()), "");
    // The action of another client is confirmed first, but the pending ones still apply on top of
    // it.
    ahead.apply_foreign(&title("other")).unwrap();
    assert_eq!(title_of(ahead.optimistic()), "two");
    ahead.drop_rejected(ClientSeq(2));
    assert_eq!(title_of(ahead.optimistic()), "one");
    // The host may confirm an action in a changed form.
    ahead.apply_echo(ClientSeq(1), &title("One")).unwrap();
    assert_eq!(title_of(ahead.optimistic()), "One");
    assert_eq!(ahead.confirmed(), ahead.optimistic());
    assert_eq!(ahead.pending().len(), 0);
}

/// Pending actions still apply after a new snapshot of the channel.
#[test]
fn pending_actions_apply_on_top_of_a_new_snapshot() {
    let mut ahead = OptimisticState::new(session());
    ahead.dispatch(ClientSeq(1), title("one").into()).unwrap();
    let mut other = session();
    assert_eq!(other.reduce(&title("other")), Outcome::Applied);
    ahead.replace_confirmed(other);
    assert_eq!(title_of(ahead.optimistic()), "one");
    ahead.drop_rejected(ClientSeq(1));
    assert_eq!(title_of(ahead.optimistic()), "other");
}

#[test]
fn the_number_of_pending_actions_is_limited() {
    let mut ahead = OptimisticState::new(session());
    for seq in 0..1_000 {
        ahead.dispatch(ClientSeq(seq), title("x").into()).unwrap();
    }
    assert_eq!(
        ahead.dispatch(ClientSeq(1_000), title("x").into()),
        Err(TooManyPending)
    );
    assert_eq!(ahead.pending().len(), 1_000);
}

/// An event between three clients and their host.
#[derive(Debug, Clone)]
enum Event {
    /// A client dispatches an action.
    Act(usize, Value),
    /// The host receives the next action of a client, and rejects it if the flag is set.
    Hear(usize, bool),
    /// A client receives the next message of the host.
    Tell(usize),
    /// A client loses its connection with all messages in flight, and reconnects.
    Lose(usize),
}

fn any_action() -> impl Strategy<Value = Value> {
    let id = "[a-c]";
    let message = json!({"text": "go", "origin": {"kind": "user"}});
    let (first, second) = (message.clone(), message.clone());
    prop_oneof![
        id.prop_map(move |id| json!({
            "type": "chat/turnStarted", "turnId": id, "startedAt": "2026-01-01T00:00:00Z",
            "message": first,
        })),
        id.prop_map(|id| json!({"type": "chat/turnCancelled", "turnId": id, "duration": 5})),
        id.prop_map(move |id| json!({
            "type": "chat/pendingMessageSet", "kind": "queued", "id": id, "message": second,
        })),
        id.prop_map(|id| json!({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": id})),
        id.prop_map(|id| json!({"type": "chat/queuedMessagesReordered", "order": [id]})),
        Just(json!({"type": "chat/draftChanged", "draft": message})),
        Just(json!({"type": "chat/truncated"})),
        any::<bool>().prop_map(|read| json!({"type": "chat/isReadChanged", "isRead": read})),
    ]
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..3usize, any_action()).prop_map(|(client, action)| Event::Act(client, action)),
        4 => (0..3usize, prop::bool::weighted(0.2)).prop_map(|(c, no)| Event::Hear(c, no)),
        4 => (0..3usize).prop_map(Event::Tell),
        1 => (0..3usize).prop_map(Event::Lose),
    ]
}

/// A message of the host about an action: which client dispatched it, and whether it was applied.
#[derive(Clone)]
struct HostMessage {
    by: usize,
    seq: ClientSeq,
    action: Action,
    happened: bool,
}

struct Client {
    ahead: OptimisticState,
    dispatched: i64,
    to_host: VecDeque<(ClientSeq, Action)>,
    from_host: VecDeque<HostMessage>,
    /// Number of log entries that the client has received or that are in flight.
    seen: usize,
}

struct SimulatedNetwork {
    host: ChannelState,
    log: Vec<HostMessage>,
    clients: Vec<Client>,
}

impl SimulatedNetwork {
    fn new() -> Self {
        let client = || Client {
            ahead: OptimisticState::new(chat()),
            dispatched: 0,
            to_host: VecDeque::new(),
            from_host: VecDeque::new(),
            seen: 0,
        };
        SimulatedNetwork {
            host: chat(),
            log: Vec::new(),
            clients: vec![client(), client(), client()],
        }
    }

    fn apply_event(&mut self, event: Event) {
        match event {
            Event::Act(client, json) => {
                let client = &mut self.clients[client];
                client.dispatched += 1;
                let (seq, action) = (ClientSeq(client.dispatched), action(&json));
                client.ahead.dispatch(seq, action.clone().into()).unwrap();
                client.to_host.push_back((seq, action));
            }
            Event::Hear(by, refuse) => {
                let Some((seq, action)) = self.clients[by].to_host.pop_front() else {
                    return;
                };
                let mut after = self.host.clone();
                let outcome = after.reduce(&action);
                let happened = !refuse && matches!(outcome, Outcome::Applied | Outcome::NoOp);
                let said = HostMessage {
                    by,
                    seq,
                    action,
                    happened,
                };
                if happened {
                    self.host = after;
                    self.log.push(said.clone());
                    for client in &mut self.clients {
                        client.from_host.push_back(said.clone());
                        client.seen = self.log.len();
                    }
                } else {
                    self.clients[by].from_host.push_back(said);
                }
            }
            Event::Tell(client) => {
                if let Some(said) = self.clients[client].from_host.pop_front() {
                    self.deliver(client, &said);
                }
            }
            Event::Lose(client) => self.reconnect(client),
        }
    }

    fn deliver(&mut self, client: usize, said: &HostMessage) {
        let ahead = &mut self.clients[client].ahead;
        match (said.by == client, said.happened) {
            (true, true) => ahead.apply_echo(said.seq, &said.action).unwrap(),
            (true, false) => ahead.drop_rejected(said.seq),
            (false, _) => ahead.apply_foreign(&said.action).unwrap(),
        }
    }

    /// Drops the messages in flight, replays the applied actions, and sends those again that the
    /// host has not answered.
    fn reconnect(&mut self, client: usize) {
        let lost = std::mem::take(&mut self.clients[client].from_host);
        let unseen = lost.iter().filter(|said| said.happened).count();
        let from = self.clients[client].seen - unseen;
        let missed: Vec<_> = self.log.iter().skip(from).cloned().collect();
        for said in missed {
            self.deliver(client, &said);
        }
        let open = self.clients[client].ahead.pending();
        let open = open
            .map(|pending| (pending.client_seq, (*pending.action).clone()))
            .collect();
        self.clients[client].to_host = open;
    }

    /// Delivers all messages in flight.
    fn deliver_all(&mut self) {
        for client in 0..3 {
            while !self.clients[client].to_host.is_empty() {
                self.apply_event(Event::Hear(client, false));
            }
        }
        for client in 0..3 {
            while !self.clients[client].from_host.is_empty() {
                self.apply_event(Event::Tell(client));
            }
        }
    }
}

proptest! {
    #[test]
    fn all_clients_converge_to_the_state_of_the_host(events in prop::collection::vec(any_event(), 0..80)) {
        let mut network = SimulatedNetwork::new();
        for event in events {
            network.apply_event(event);
        }
        network.deliver_all();
        for client in &network.clients {
            prop_assert_eq!(client.ahead.pending().len(), 0);
            prop_assert_eq!(client.ahead.confirmed(), &network.host);
            prop_assert_eq!(client.ahead.optimistic(), &network.host);
        }
    }
}
