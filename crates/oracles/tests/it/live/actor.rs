//! Somebody who uses the official client of a release, and keeps what it
//! hears with the release's own reducers.

use std::time::{Duration, Instant};

use agenthost_oracles::{ClientAct, OfficialClient, Oracle, OracleReading};
use agenthost_protocol::version::Release;
use agenthost_testkit::json::{diff, normalize};
use serde_json::{Value, json};

use super::Host;
use crate::releases::{client, oracle};

pub(super) const SESSION: &str = "ahp-session:/s1";

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long to wait for what may not come.
const MOMENT: u64 = 60;

/// What a status says of what goes on; the rest are marks of users.
const ACTIVITY: u64 = 31;

pub(super) struct Actor {
    pub(super) release: Release,
    pub(super) name: String,
    client: Box<dyn OfficialClient>,
    oracle: Box<dyn Oracle>,
    /// What it follows, in the order in which it subscribed.
    pub(super) followed: Vec<String>,
    /// Where the conversation is.
    pub(super) conversation: String,
    /// The highest number that it has seen.
    pub(super) seen: i64,
    /// What happened on which channel.
    heard: Vec<(String, Value)>,
    /// How much of it was before this connection, on which an official client
    /// counts its actions from the start again.
    before: usize,
    /// Notifications.
    pub(super) noted: Vec<String>,
}

impl Actor {
    /// Somebody who is not connected yet; `None` if the release can't be had
    /// here.
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

    /// What the release's client calls the root.
    pub(super) fn root(&self) -> &'static str {
        match self.has_channels() {
            true => "ahp-root://",
            false => "root:/",
        }
    }

    /// Has the client do something; whatever it reads has to be understood.
    pub(super) fn act(&mut self, act: ClientAct) -> Result<Value, String> {
        let OracleReading {
            encoded: back,
            unknown_values: unknown,
        } = self.client.perform(act)?;
        assert!(unknown.is_empty(), "{} heard {unknown:?}", self.release);
        Ok(back)
    }

    pub(super) fn join(&mut self, host: &Host) {
        let url = host.url();
        self.act(ClientAct::Connect { url }).unwrap();
        let root = self.root().to_owned();
        let welcome = self.hello(&[&root]).unwrap();
        assert_eq!(welcome["snapshots"][0]["resource"], root);
    }

    /// Says hello, and follows what it is shown.
    pub(super) fn hello(&mut self, channels: &[&str]) -> Result<Value, String> {
        let (name, channels) = (self.name.clone(), owned(channels));
        let welcome = self.act(ClientAct::Initialize { name, channels })?;
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

    /// Parameters about a channel, which 0.1 has other names for.
    fn about(&self, old: &str, channel: &str) -> Value {
        let field = if self.has_channels() { "channel" } else { old };
        json!({ field: channel })
    }

    /// Makes the session that everything is about.
    pub(super) fn create(&mut self) {
        let mut params = self.about("session", SESSION);
        params["provider"] = json!("scripted");
        self.act(ClientAct::Create { params }).unwrap();
    }

    pub(super) fn list(&mut self) -> Value {
        let params = match self.has_channels() {
            true => json!({"channel": self.root()}),
            false => json!({}),
        };
        self.act(ClientAct::List { params }).unwrap()["items"].take()
    }

    /// Subscribes to the session and to its chat, if those are two.
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
        let snapshot = self.look(channel);
        assert_eq!(snapshot["resource"], channel);
        self.hold(&snapshot);
        snapshot
    }

    /// A channel as the host shows it now.
    fn look(&mut self, channel: &str) -> Value {
        let channel = channel.to_owned();
        self.act(ClientAct::Subscribe { channel }).unwrap()["snapshot"].take()
    }

    /// Comes back with what it follows: what kind of answer it got.
    pub(super) fn come_back(&mut self, host: &Host, seen: i64) -> String {
        let url = host.url();
        self.act(ClientAct::Connect { url }).unwrap();
        let (name, channels) = (self.name.clone(), self.followed.clone());
        let act = ClientAct::Reconnect {
            name,
            seen,
            channels,
        };
        let mut missed = self.act(act).unwrap();
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

    /// Goes away, having heard all that there was.
    pub(super) fn leave(&mut self) {
        while self.next(MOMENT).is_some() {}
        self.act(ClientAct::Leave).unwrap();
    }

    /// Where an action is about. In 0.1 that stands in the action.
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

    /// The next thing that happens, kept.
    pub(super) fn next(&mut self, milliseconds: u64) -> Option<Value> {
        loop {
            let mut next = self.act(ClientAct::Next { milliseconds }).unwrap();
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
        // Who only listens to a channel keeps nothing of it.
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

    /// Waits until something has happened, be it long ago.
    pub(super) fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.until_after(0, what, wanted)
    }

    fn until_after(&mut self, start: usize, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut heard = self.heard.iter().skip(start);
        if let Some((_, envelope)) = heard.find(|(_, envelope)| wanted(envelope)) {
            return envelope.clone();
        }
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
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

    /// Waits for an action of a turn.
    pub(super) fn until_turn(&mut self, name: &str, turn: &str) -> Value {
        let kind = self.kind(name);
        self.until(&format!("{kind} of {turn}"), |envelope| {
            let action = &envelope["action"];
            action["type"] == kind && action["turnId"] == turn
        })
    }

    /// The name of an action of a conversation.
    pub(super) fn kind(&self, name: &str) -> String {
        let prefix = if self.has_chats() { "chat" } else { "session" };
        format!("{prefix}/{name}")
    }

    /// Dispatches an action; gives the number it goes by.
    pub(super) fn dispatch(&mut self, channel: &str, action: Value) -> i64 {
        let channel = channel.to_owned();
        let number = self.act(ClientAct::Dispatch { channel, action }).unwrap();
        number.as_i64().unwrap()
    }

    /// Dispatches an action of the conversation.
    pub(super) fn converse(&mut self, name: &str, mut action: Value) -> i64 {
        action["type"] = json!(self.kind(name));
        let channel = self.conversation.clone();
        self.dispatch(&channel, action)
    }

    /// Waits for an action of its own to come back.
    pub(super) fn until_echo(&mut self, number: i64) -> Value {
        let origin = json!({"clientId": self.name, "clientSeq": number});
        self.until_after(self.before, "its own action", |envelope| {
            envelope["origin"] == origin
        })
    }

    /// Text of a user, in a field of its own name.
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
        self.converse("turnStarted", action)
    }

    /// Has the host refuse something on a channel, which comes after all that
    /// happened there.
    fn catch_up(&mut self, channel: &str) {
        let number = match channel == self.conversation {
            true => self.converse("turnComplete", json!({"turnId": "none", "duration": 0})),
            false => self.dispatch(channel, json!({"type": "session/ready"})),
        };
        let echo = self.until_echo(number);
        assert!(echo["rejectionReason"].is_string(), "{echo}");
    }

    /// What it made of all that it heard is what the host shows now. The host
    /// may have something left to say: it has a while to do so.
    pub(super) fn agrees_with_the_host(&mut self) {
        let mut differences = String::new();
        for _ in 0..8 {
            differences.clear();
            for channel in self.followed.clone() {
                let told = self.look(&channel)["state"].take();
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

    /// Without what no reducer can know: up to 0.8 they ask their own clock
    /// when something changed. Since there are chats, what a session is busy
    /// with is told to those who follow the list of sessions; up to 0.9 that a
    /// chat is read or put away is told by the session's list of chats.
    fn plain(&self, channel: &str, state: &Value) -> Value {
        let mut state = normalize(state);
        if self.release < Release::V0_9 {
            forget(&mut state, "modifiedAt");
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

/// Leaves some of a status.
fn keep(state: &mut Value, some: u64) {
    for place in ["/status", "/summary/status"] {
        if let Some(status) = state.pointer_mut(place) {
            *status = json!(status.as_u64().unwrap() & some);
        }
    }
}

fn forget(json: &mut Value, field: &str) {
    match json {
        Value::Array(items) => items.iter_mut().for_each(|item| forget(item, field)),
        Value::Object(fields) => {
            fields.shift_remove(field);
            fields.values_mut().for_each(|value| forget(value, field));
        }
        _ => {}
    }
}

fn owned(channels: &[&str]) -> Vec<String> {
    channels.iter().map(|one| (*one).to_owned()).collect()
}
