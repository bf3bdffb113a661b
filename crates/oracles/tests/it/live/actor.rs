//! A user of the official client of a release, whose states are maintained with the release's own
//! reducers.

use std::time::{Duration, Instant};

use agenthost_oracles::{ClientAct, OfficialClient, Oracle, OracleReading};
use agenthost_protocol::version::Release;
use agenthost_testkit::json::{diff, normalize};
use serde_json::{Value, json};

use super::Host;
use crate::releases::{client, oracle};

pub(super) const SESSION: &str = "ahp-session:/s1";

/// Timeout of every wait.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(20);

/// Wait for a message that may not come, in milliseconds.
const MOMENT: u64 = 60;

/// Bits of a status that describe activity. The other bits are flags that users set.
const ACTIVITY: u64 = 31;

pub(super) struct Actor {
    pub(super) release: Release,
    pub(super) name: String,
    client: Box<dyn OfficialClient>,
    oracle: Box<dyn Oracle>,
    /// Subscribed channels, in the order of subscription.
    pub(super) followed: Vec<String>,
    /// Channel of the conversation: the chat, or the session in releases without chats.
    pub(super) conversation: String,
    /// Highest `serverSeq` received.
    pub(super) seen: i64,
    /// Received action envelopes, with their channels.
    heard: Vec<(String, Value)>,
    /// Number of entries in `heard` from before this connection. An official client restarts
    /// `clientSeq` for each connection.
    before: usize,
    /// Received notifications other than actions.
    pub(super) noted: Vec<String>,
}

impl Actor {
    /// Creates an actor that is not connected. Returns `None` if the crates of the release can't be
    /// downloaded.
    pub(super) fn of(release: Release, name: &str) -> Option<Self> {
        Some(Actor {
            release,
            name: name.to_owned(),
            client: client(release)?,
            oracle: oracle(release)?,
            followed: Vec::new(),
            conversation: SESSION.to_owned(),
            seen: 0,
            heard: Vec::new(),
            before: 0,
            noted: Vec::new(),
        })
    }

    pub(super) fn has_channels(&self) -> bool {
        self.release > Release::V0_1
    }

    fn has_chats(&self) -> bool {
        self.release >= Release::V0_4
    }

    /// Returns the URI of the root channel in this release.
    pub(super) fn root(&self) -> &'static str {
        match self.has_channels() {
            true => "ahp-root://",
            false => "root:/",
        }
    }

    /// Runs a client operation. Panics if the client receives a value that it does not know.
    pub(super) fn execute(&mut self, act: ClientAct) -> Result<Value, String> {
        let OracleReading {
            encoded: back,
            unknown_values: unknown,
        } = self.client.perform(act)?;
        assert!(unknown.is_empty(), "{} heard {unknown:?}", self.release);
        Ok(back)
    }

    pub(super) fn join(&mut self, host: &Host) {
        let url = host.url();
        self.execute(ClientAct::Connect { url }).unwrap();
        let root = self.root().to_owned();
        let welcome = self.hello(&[&root]).unwrap();
        assert_eq!(welcome["snapshots"][0]["resource"], root);
    }

    /// Sends `initialize` and tracks the channels whose snapshots are returned.
    pub(super) fn hello(&mut self, channels: &[&str]) -> Result<Value, String> {
        let (name, channels) = (self.name.clone(), to_strings(channels));
        let welcome = self.execute(ClientAct::Initialize { name, channels })?;
        for snapshot in welcome["snapshots"].as_array().unwrap() {
            self.hold(snapshot);
        }
        Ok(welcome)
    }

    fn hold(&mut self, snapshot: &Value) {
        let channel = snapshot["resource"].as_str().unwrap();
        self.oracle.track_channel(channel, snapshot).unwrap();
        self.seen = self.seen.max(snapshot["fromSeq"].as_i64().unwrap());
        if !self.followed.iter().any(|followed| followed == channel) {
            self.followed.push(channel.to_owned());
        }
    }

    /// Returns parameters that name a channel. The name of the field depends on the method in 0.1.
    fn about(&self, old: &str, channel: &str) -> Value {
        let field = if self.has_channels() { "channel" } else { old };
        json!({ field: channel })
    }

    /// Creates the session of the test.
    pub(super) fn create(&mut self) {
        let mut params = self.about("session", SESSION);
        params["provider"] = json!("scripted");
        self.execute(ClientAct::Create { params }).unwrap();
    }

    pub(super) fn list(&mut self) -> Value {
        let params = match self.has_channels() {
            true => json!({"channel": self.root()}),
            false => json!({}),
        };
        self.execute(ClientAct::List { params }).unwrap()["items"].take()
    }

    /// Subscribes to the session, and to its chat in releases that have chats.
    pub(super) fn enter(&mut self) {
        let state = self.subscribe(SESSION)["state"].take();
        if self.has_chats() {
            self.conversation = state["defaultChat"].as_str().unwrap().to_owned();
            let chat = self.conversation.clone();
            self.subscribe(&chat);
        }
        if state["lifecycle"] != "ready" {
            self.until("the session is ready", |envelope| {
                envelope["action"]["type"] == "session/ready"
            });
        }
    }

    fn subscribe(&mut self, channel: &str) -> Value {
        let snapshot = self.fetch_snapshot(channel);
        assert_eq!(snapshot["resource"], channel);
        self.hold(&snapshot);
        snapshot
    }

    /// Returns a new snapshot of a channel.
    fn fetch_snapshot(&mut self, channel: &str) -> Value {
        let channel = channel.to_owned();
        self.execute(ClientAct::Subscribe { channel }).unwrap()["snapshot"].take()
    }

    /// Reconnects with all subscriptions. Returns the type of the result: `replay` or `snapshot`.
    pub(super) fn reconnect(&mut self, host: &Host, seen: i64) -> String {
        let url = host.url();
        self.execute(ClientAct::Connect { url }).unwrap();
        let (name, channels) = (self.name.clone(), self.followed.clone());
        let act = ClientAct::Reconnect {
            name,
            seen,
            channels,
        };
        let mut missed = self.execute(act).unwrap();
        if let Value::Array(actions) = missed["actions"].take() {
            for envelope in actions {
                let channel = self.channel_of(&envelope);
                self.happens(channel, envelope);
            }
        }
        if let Value::Array(snapshots) = missed["snapshots"].take() {
            for snapshot in &snapshots {
                self.hold(snapshot);
            }
        }
        self.before = self.heard.len();
        missed["type"].as_str().unwrap().to_owned()
    }

    /// Reads all pending messages and disconnects.
    pub(super) fn drain_and_disconnect(&mut self) {
        while self.next(MOMENT).is_some() {}
        self.execute(ClientAct::Leave).unwrap();
    }

    /// Returns the channel of an action. In 0.1 the action itself contains it.
    fn channel_of(&self, envelope: &Value) -> String {
        let action = &envelope["action"];
        let places = [
            &envelope["channel"],
            &action["session"],
            &action["terminal"],
        ];
        let mut places = places.into_iter().filter_map(Value::as_str);
        places.next().unwrap_or(self.root()).to_owned()
    }

    /// Returns the next action and applies it to the tracked state.
    pub(super) fn next(&mut self, milliseconds: u64) -> Option<Value> {
        loop {
            let mut next = self.execute(ClientAct::Next { milliseconds }).unwrap();
            if next.is_null() {
                return None;
            }
            let channel = next["channel"].as_str().unwrap().to_owned();
            match next["envelope"].take() {
                Value::Null => self.noted.push(next["notification"].to_string()),
                envelope => return Some(self.happens(channel, envelope)),
            }
        }
    }

    fn happens(&mut self, channel: String, envelope: Value) -> Value {
        assert_eq!(self.channel_of(&envelope), channel);
        self.seen = self.seen.max(envelope["serverSeq"].as_i64().unwrap());
        let refused = envelope["rejectionReason"].is_string();
        // Without a subscription there is no tracked state to apply the action to.
        if !refused && self.followed.contains(&channel) {
            let outcome = self.oracle.apply(&channel, &envelope["action"]).unwrap();
            let outcome = outcome.unwrap();
            let (release, action) = (self.release, &envelope["action"]);
            assert!(
                outcome.starts_with("Applied") || outcome.starts_with("NoOp"),
                "{release}: {outcome} of {action} on {channel}"
            );
        }
        self.heard.push((channel, envelope.clone()));
        envelope
    }

    /// Returns the first matching action. Searches the received ones before it waits for more.
    pub(super) fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.until_after(0, what, wanted)
    }

    fn until_after(&mut self, start: usize, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut heard = self.heard.iter().skip(start);
        if let Some((_, envelope)) = heard.find(|(_, envelope)| wanted(envelope)) {
            return envelope.clone();
        }
        let start = Instant::now();
        while start.elapsed() < MESSAGE_TIMEOUT {
            if let Some(envelope) = self.next(MOMENT)
                && wanted(&envelope)
            {
                return envelope;
            }
        }
        let heard = self.heard.iter();
        let heard: Vec<_> = heard
            .map(|(_, one)| one["action"]["type"].to_string())
            .collect();
        panic!("{} waits for {what}, and heard {heard:?}", self.release);
    }

    /// Waits for an action of a turn, given the name without prefix.
    pub(super) fn until_turn(&mut self, name: &str, turn: &str) -> Value {
        let kind = self.kind(name);
        self.until(&format!("{kind} of {turn}"), |envelope| {
            let action = &envelope["action"];
            action["type"] == kind && action["turnId"] == turn
        })
    }

    /// Returns the type of a conversation action in this release.
    pub(super) fn kind(&self, name: &str) -> String {
        let prefix = if self.has_chats() { "chat" } else { "session" };
        format!("{prefix}/{name}")
    }

    /// Dispatches an action and returns its `clientSeq`.
    pub(super) fn dispatch(&mut self, channel: &str, action: Value) -> i64 {
        let channel = channel.to_owned();
        let number = self
            .execute(ClientAct::Dispatch { channel, action })
            .unwrap();
        number.as_i64().unwrap()
    }

    /// Dispatches an action on the conversation and returns its `clientSeq`.
    pub(super) fn dispatch_to_chat(&mut self, name: &str, mut action: Value) -> i64 {
        action["type"] = json!(self.kind(name));
        let channel = self.conversation.clone();
        self.dispatch(&channel, action)
    }

    /// Waits for the echo of a dispatched action.
    pub(super) fn until_echo(&mut self, number: i64) -> Value {
        let origin = json!({"clientId": self.name, "clientSeq": number});
        self.until_after(self.before, "its own action", |envelope| {
            envelope["origin"] == origin
        })
    }

    /// Adds a user message to an action, in the field that the release defines for it.
    pub(super) fn with_message(&self, mut action: Value, text: &str) -> Value {
        match self.release < Release::V0_3 {
            true => action["userMessage"] = json!({"text": text}),
            false => action["message"] = json!({"text": text, "origin": {"kind": "user"}}),
        }
        action
    }

    pub(super) fn start_turn(&mut self, turn: &str, text: &str) -> i64 {
        let action = json!({"turnId": turn, "startedAt": "2026-01-05T09:00:00Z"});
        let action = self.with_message(action, text);
        self.dispatch_to_chat("turnStarted", action)
    }

    /// Dispatches an invalid action and waits for its rejection, which the host sends after all
    /// earlier actions of the channel.
    fn catch_up(&mut self, channel: &str) {
        let number = match channel == self.conversation {
            true => self.dispatch_to_chat("turnComplete", json!({"turnId": "none", "duration": 0})),
            false => self.dispatch(channel, json!({"type": "session/ready"})),
        };
        let echo = self.until_echo(number);
        assert!(echo["rejectionReason"].is_string(), "{echo}");
    }

    /// Asserts that each tracked state equals the host's snapshot. Retries a few times, because the
    /// host may still be sending actions.
    pub(super) fn check_equal_to_host(&mut self) {
        let mut differences = String::new();
        for _ in 0..8 {
            differences.clear();
            for channel in self.followed.clone() {
                let told = self.fetch_snapshot(&channel)["state"].take();
                match channel == self.root() {
                    true => while self.next(MOMENT).is_some() {},
                    false => self.catch_up(&channel),
                }
                let made = self.oracle.tracked_state(&channel).unwrap();
                let (made, told) = (self.plain(&channel, &made), self.plain(&channel, &told));
                if made != told {
                    differences += &format!("\n{channel}: {}", diff(&made, &told));
                }
            }
            if differences.is_empty() {
                return;
            }
        }
        let applied = self.heard.iter().map(|(_, one)| one);
        let applied = applied.filter(|one| one["rejectionReason"].is_null());
        let heard: Vec<_> = applied.map(Value::to_string).collect();
        let heard = heard.join("\n");
        panic!("{} (made -> told): {differences}\n{heard}", self.release);
    }

    /// Removes what no reducer can derive from actions. Up to 0.8 reducers take `modifiedAt` from
    /// their own clock. In releases with chats, the activity of a session is only published in the
    /// list of sessions; up to 0.9 the read and archived flags of a chat are only published in the
    /// session's list of chats.
    fn plain(&self, channel: &str, state: &Value) -> Value {
        let mut state = normalize(state);
        if self.release < Release::V0_9 {
            remove_field(&mut state, "modifiedAt");
        }
        let marks_of_chats = self.release >= Release::V1_0;
        if self.has_chats() && channel == SESSION {
            keep(&mut state, !ACTIVITY);
        } else if channel == self.conversation && self.has_chats() && !marks_of_chats {
            keep(&mut state, ACTIVITY);
        }
        state
    }
}

/// Masks the bits of a state's status with `some`.
fn keep(state: &mut Value, some: u64) {
    for place in ["/status", "/summary/status"] {
        if let Some(status) = state.pointer_mut(place) {
            *status = json!(status.as_u64().unwrap() & some);
        }
    }
}

fn remove_field(json: &mut Value, field: &str) {
    match json {
        Value::Array(items) => items.iter_mut().for_each(|item| remove_field(item, field)),
        Value::Object(fields) => {
            fields.shift_remove(field);
            fields
                .values_mut()
                .for_each(|value| remove_field(value, field));
        }
        _ => {}
    }
}

fn to_strings(channels: &[&str]) -> Vec<String> {
    channels.iter().map(|one| (*one).to_owned()).collect()
}
