//! Round trips of dispatched actions: upgraded to 1.0 and downgraded again, an action is unchanged.

use agenthost_oracles::Oracle;
use agenthost_protocol::action::{Action, Dispatcher};
use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Object};
use agenthost_testkit::json::{diff, normalize};
use agenthost_versions::{JsonDispatch, JsonEnvelope, TranslationContext, VersionChain};
use serde_json::json;

use crate::findings::Findings;
use crate::generated_host::{CLIENT, GeneratedHost, SESSION, at, envelope, generator, viewer};
use crate::releases::{each_release, oracle, seeds};

/// Number of generated hosts; `SEEDS` in the environment overrides it.
const SEEDS: u64 = 40;

/// Fields that the host sets, whatever the client sent.
const STAMPED: &[&str] = &["startedAt", "duration"];

fn check_round_trips(release: Release) {
    let Some(oracle) = oracle(release) else {
        return;
    };
    let mut speaker = DispatchingClient {
        release,
        chain: VersionChain::for_release(release),
        oracle,
        findings: Findings::of(release),
        seed: 0,
    };
    for seed in 0..seeds(SEEDS) {
        speaker.seed = seed;
        let mut generator = generator(seed);
        let generated_host = GeneratedHost::generated(&mut generator);
        for info in Action::table().filter(|info| info.dispatcher == Dispatcher::Client) {
            let mut json = generator.generate_action(info.name);
            // The session must exist: its chat can't be derived otherwise.
            if json["claim"].get("session").is_some() {
                json["claim"]["session"] = json!(SESSION);
            }
            // A client may only set or remove itself.
            match info.name {
                "session/activeClientSet" => json["activeClient"]["clientId"] = json!(CLIENT),
                "session/activeClientRemoved" => json["clientId"] = json!(CLIENT),
                _ => {}
            }
            let action: Action = wire::from_str(&json.to_string()).unwrap();
            if let Some(old) = speaker.downgraded_echo(&generated_host, action) {
                speaker.check_action(&generated_host, info.name, &old);
            }
        }
        let generated_host = with_one_client(generated_host);
        for (channel, action) in old_actions(release) {
            let old = JsonEnvelope {
                channel: (release > Release::V0_1).then(|| channel.to_owned()),
                action,
                server_seq: 8,
                origin: None,
                rejection_reason: None,
            };
            speaker.check_action(&generated_host, old.action_type(), &old);
        }
    }
    speaker.findings.conclude();
}

each_release!(check_round_trips);

/// A client of the release that dispatches actions.
struct DispatchingClient {
    release: Release,
    chain: VersionChain,
    oracle: Box<dyn Oracle>,
    findings: Findings,
    seed: u64,
}

impl DispatchingClient {
    /// Returns the release's encoding of an action that this client dispatched, if it is a single
    /// action.
    fn downgraded_echo(
        &self,
        generated_host: &GeneratedHost,
        action: Action,
    ) -> Option<JsonEnvelope> {
        let mut heard = self.down(generated_host, envelope(action));
        let is_one = heard.len() == 1;
        heard.pop().filter(|one| is_one && one.origin.is_some())
    }

    fn down(
        &self,
        generated_host: &GeneratedHost,
        envelope: agenthost_protocol::action::ActionEnvelope,
    ) -> Vec<JsonEnvelope> {
        let mut after = generated_host.clone();
        // The action may be a no-op.
        let (before, _) = after.apply(&envelope.action);
        let (viewer, scene) = (viewer(self.release), after.scene());
        let at = TranslationContext {
            client: &viewer,
            states: &scene,
            state_before: Some(&before),
        };
        self.chain.downgrade_action(&at, &envelope).unwrap()
    }

    fn check_action(&mut self, generated_host: &GeneratedHost, name: &str, old: &JsonEnvelope) {
        let said = Json::Object(old.action.clone());
        let seed = self.seed;
        let example = || format!("seed {seed}: {said}");
        let name = format!("{name} as {}", old.action_type());
        // Clients do not dispatch actions that only the host may send, such as a list in place of a
        // change to it.
        let mut table = Action::table();
        if table.any(|info| info.name == old.action_type() && info.dispatcher == Dispatcher::Host) {
            return;
        }
        let known = self.oracle.read("action", &old.clone().into_json());
        if !matches!(&known, Ok(Some(reading)) if reading.unknown_values.is_empty()) {
            // The action does not exist in the release; the test `understood` covers that.
            return;
        }
        let (viewer, scene) = (viewer(self.release), generated_host.scene());
        let mut up = JsonDispatch {
            channel: old.channel.clone().unwrap_or_default(),
            action: old.action.clone(),
        };
        if let Err(refused) = self.chain.upgrade_dispatch(&at(&viewer, &scene), &mut up) {
            self.findings
                .record(&name, &format!("is refused: {refused}"), example);
            return;
        }
        let action = match wire::from_str::<Action>(&Json::Object(up.action.clone()).to_string()) {
            Ok(action) => action,
            Err(error) => {
                let up = format!("{}", Json::Object(up.action));
                let problem = format!("is not 1.0: {error}");
                self.findings
                    .record(&name, &problem, || format!("{} -> {up}", example()));
                return;
            }
        };
        let mut up_again = envelope(action);
        if up_again.channel.to_string() != up.channel {
            let problem = format!("is dispatched on {}, not {}", up.channel, up_again.channel);
            self.findings.record(&name, &problem, example);
            return;
        }
        up_again.channel = up.channel.as_str().into();
        let heard = self.down(generated_host, up_again);
        // Without an action of this origin the server echoes the original one.
        let Some(echo) = heard.into_iter().find(|one| one.origin.is_some()) else {
            return;
        };
        if echo.channel != old.channel {
            let problem = format!("comes back on {:?}, not {:?}", echo.channel, old.channel);
            self.findings.record(&name, &problem, example);
        }
        let difference = diff(&plain(&old.action), &plain(&echo.action));
        for line in difference.lines() {
            self.findings
                .record(&name, &format!("comes back changed: {line}"), example);
        }
    }
}

fn plain(action: &Object) -> Json {
    let mut action = action.clone();
    action.retain(|field, _| !STAMPED.contains(&field.as_str()));
    normalize(&Json::Object(action))
}

/// Makes the dispatching client the only active one: up to 0.4 another would take its place.
fn with_one_client(mut generated_host: GeneratedHost) -> GeneratedHost {
    for (kind, state) in &mut generated_host.channels {
        if *kind == ChannelKind::Session {
            let mut json = serde_json::to_value(&*state).unwrap();
            json["activeClients"] = json!([{ "clientId": CLIENT, "tools": [] }]);
            *state = wire::from_str(&json.to_string()).unwrap();
        }
    }
    generated_host
}

/// Returns actions that only older releases have.
fn old_actions(release: Release) -> Vec<(&'static str, Object)> {
    if release > Release::V0_4 {
        return Vec::new();
    }
    let tool = json!({ "name": "t", "inputSchema": { "type": "object" } });
    let client = json!({ "clientId": CLIENT, "displayName": "Ours", "tools": [tool] });
    let mut actions = vec![
        json!({ "type": "session/activeClientChanged", "activeClient": client }),
        json!({ "type": "session/activeClientChanged" }),
        json!({ "type": "session/activeClientToolsChanged", "tools": [tool] }),
        json!({ "type": "session/modelChanged", "model": { "id": "m", "config": { "a": "b" } } }),
        json!({ "type": "session/modelChanged", "model": { "id": "m" } }),
    ];
    if release > Release::V0_1 {
        actions.push(json!({ "type": "session/agentChanged", "agent": { "uri": "file:///a" } }));
        actions.push(json!({ "type": "session/agentChanged" }));
    }
    if release == Release::V0_1 {
        for action in &mut actions {
            action["session"] = json!(SESSION);
        }
    }
    let objects = actions.into_iter().filter_map(|action| match action {
        Json::Object(action) => Some((SESSION, action)),
        _ => None,
    });
    objects.collect()
}
