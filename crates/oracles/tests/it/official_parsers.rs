//! The official crate of each release parses every downgraded document without errors, unknown
//! values or ignored fields.

use std::collections::BTreeSet;

use agenthost_oracles::Oracle;
use agenthost_protocol::action::{Action, ActionInfo};
use agenthost_protocol::channel::{ChannelKind, ChannelState};
use agenthost_protocol::connection::ReconnectResult;
use agenthost_protocol::rpc::{ClientRequest, HostNotification, HostRequest};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Wire};
use agenthost_testkit::Generator;
use agenthost_versions::{JsonCall, TranslationContext, VersionChain};
use serde_json::json;

use crate::findings::Findings;
use crate::generated_host::{GeneratedHost, at, envelope, generator, viewer};
use crate::releases::{each_release, oracle, seeds};

/// Number of generated hosts; `SEEDS` in the environment overrides it.
const SEEDS: u64 = 24;

fn check_official_parsers(release: Release) {
    let Some(oracle) = oracle(release) else {
        return;
    };
    let mut listener = ParsingClient {
        release,
        chain: VersionChain::for_release(release),
        oracle,
        findings: Findings::of(release),
        told: BTreeSet::new(),
        seed: 0,
    };
    for seed in 0..seeds(SEEDS) {
        listener.seed = seed;
        let mut generator = generator(seed);
        let generated_host = GeneratedHost::generated(&mut generator);
        listener.snapshots(&generated_host);
        listener.actions(&generated_host, &mut generator);
        listener.results(&generated_host, &mut generator);
        listener.notifications(&generated_host, &mut generator);
        listener.requests(&generated_host, &mut generator);
    }
    listener.knows_when_actions_came();
    listener.findings.conclude();
}

each_release!(check_official_parsers);

/// An official client that records what it can't parse.
struct ParsingClient {
    release: Release,
    chain: VersionChain,
    oracle: Box<dyn Oracle>,
    findings: Findings,
    /// Types of all actions that were sent to it.
    told: BTreeSet<String>,
    seed: u64,
}

impl ParsingClient {
    /// Checks `since` in the table of actions: the actions sent to a release are exactly those that
    /// the table lists for it. Releases before 0.4 are skipped, as their actions have other names.
    fn knows_when_actions_came(&self) {
        if self.release < Release::V0_4 {
            return;
        }
        let since = |info: &&ActionInfo| info.since <= self.release.version();
        let known = Action::table().filter(since);
        let known: BTreeSet<_> = known.map(|info| info.name).collect();
        let named = |name: &str| Action::table().any(|info| info.name == name);
        let told = self.told.iter().map(String::as_str);
        let told: BTreeSet<_> = told.filter(|name| named(name)).collect();
        assert_eq!(told, known, "actions of {}", self.release);
    }

    fn check_document(&mut self, what: &str, subject: &str, json: &Json) {
        let read = self.oracle.read(what, json);
        self.findings.check(subject, json, &read, self.seed);
    }

    /// Returns `true` if the release defines this kind of document.
    fn has(&mut self, what: &str) -> bool {
        !matches!(self.oracle.read(what, &Json::Null), Ok(None))
    }

    fn snapshots(&mut self, generated_host: &GeneratedHost) {
        let (viewer, scene) = (viewer(self.release), generated_host.scene());
        for kind in ChannelKind::ALL {
            let snapshot = generated_host.snapshot(*kind);
            let what = format!("snapshot/{kind:?}");
            let down = self
                .chain
                .downgrade_snapshot(&at(&viewer, &scene), &snapshot);
            let has = self.has(&what);
            match down.unwrap() {
                Some(down) if has => self.check_document(&what, &what, &down),
                // In releases without chats, a client can subscribe to a chat as if it were a
                // session.
                Some(down) if *kind == ChannelKind::Chat => {
                    self.check_document("snapshot/Session", &what, &down);
                }
                Some(down) => self.check_document(&what, &what, &down),
                None if has => self.findings.record(&what, "is not told", String::new),
                None => {}
            }
        }
    }

    fn actions(&mut self, generated_host: &GeneratedHost, generator: &mut Generator) {
        for info in Action::table() {
            let json = generator.generate_action(info.name);
            let action: Action = wire::from_str(&json.to_string()).unwrap();
            let down = self.action(generated_host, action.clone());
            if self.chain.is_passthrough(&action) {
                let same = wire::to_json(&envelope(action));
                assert_eq!(down, [same], "passes to {}", self.release);
            }
            for down in down {
                let told = down["action"]["type"].as_str().unwrap();
                self.told.insert(told.to_owned());
                let subject = format!("{} as {}", info.name, down["action"]["type"]);
                self.check_document("action", &subject, &down);
            }
        }
    }

    /// Applies an action and downgrades it.
    fn action(&self, generated_host: &GeneratedHost, action: Action) -> Vec<Json> {
        let mut after = generated_host.clone();
        // The action may be a no-op.
        let (before, _) = after.apply(&action);
        let (viewer, scene) = (viewer(self.release), after.scene());
        let at = TranslationContext {
            client: &viewer,
            states: &scene,
            state_before: Some(&before),
        };
        let down = self.chain.downgrade_action(&at, &envelope(action)).unwrap();
        down.into_iter()
            .map(agenthost_versions::JsonEnvelope::into_json)
            .collect()
    }

    fn results(&mut self, generated_host: &GeneratedHost, generator: &mut Generator) {
        let (viewer, scene) = (viewer(self.release), generated_host.scene());
        let at = at(&viewer, &scene);
        for (method, shape) in ClientRequest::result_shapes() {
            let what = format!("result/{method}");
            if !self.has(&what) {
                continue;
            }
            // Results with an outcome per channel are newer than all of these releases.
            let shape = match method {
                "reconnect" => ReconnectResult::shape,
                _ => shape,
            };
            let mut result = generator.generate(&shape());
            // All kinds of snapshots are tested above; one is enough here.
            let kind = *generator
                .pick(&[ChannelKind::Root, ChannelKind::Terminal])
                .unwrap();
            let snapshot = self
                .chain
                .downgrade_snapshot(&at, &generated_host.snapshot(kind))
                .unwrap();
            match method {
                "initialize" => {
                    result["snapshots"] = json!([snapshot]);
                    result["protocolVersion"] = json!(self.release.to_string());
                    if self.release == Release::V0_1 {
                        result["protocolVersion"] = json!(1);
                    }
                }
                "subscribe" => result["snapshot"] = json!(snapshot),
                "reconnect" if result["type"] == "snapshot" => {
                    result["snapshots"] = json!([snapshot]);
                }
                "reconnect" => {
                    let title = json!({ "type": "session/titleChanged", "title": "T" });
                    let action = wire::from_str(&title.to_string()).unwrap();
                    result["actions"] = json!(self.action(generated_host, action));
                }
                // Up to 0.5.0 the result itself contains the turns.
                "fetchTurns" => {
                    let ChannelState::Chat(chat) = generated_host.state(ChannelKind::Chat) else {
                        continue;
                    };
                    let down = |turn| self.chain.downgrade_part(&at, "Turn", turn).unwrap();
                    let turns: Vec<_> = chat.turns.items().filter_map(down).collect();
                    result = json!({ "turns": turns, "hasMore": false });
                }
                _ => {}
            }
            let down = self.chain.downgrade_result(&at, method, result);
            self.check_document(&what, &what, &down);
        }
    }

    fn notifications(&mut self, generated_host: &GeneratedHost, generator: &mut Generator) {
        let (viewer, scene) = (viewer(self.release), generated_host.scene());
        for (method, shape) in HostNotification::shapes() {
            if method == "action" {
                continue;
            }
            let call = call(method, generator.generate(&shape()));
            for down in self
                .chain
                .downgrade_notification(&at(&viewer, &scene), call)
            {
                let subject = format!("notification/{method}");
                let what = format!("notification/{}", down.method);
                self.check_document(&what, &subject, &Json::Object(down.params));
            }
        }
    }

    fn requests(&mut self, generated_host: &GeneratedHost, generator: &mut Generator) {
        let (viewer, scene) = (viewer(self.release), generated_host.scene());
        for (method, shape) in HostRequest::shapes() {
            let what = format!("params/{method}");
            if self.has(&what) {
                let mut call = call(method, generator.generate(&shape()));
                self.chain
                    .downgrade_request(&at(&viewer, &scene), &mut call);
                self.check_document(&what, &what, &Json::Object(call.params));
            }
        }
    }
}

fn call(method: &str, params: Json) -> JsonCall {
    let Json::Object(params) = params else {
        panic!("parameters of {method} are an object");
    };
    JsonCall {
        method: method.to_owned(),
        params,
    }
}
