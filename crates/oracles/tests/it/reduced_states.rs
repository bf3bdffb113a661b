//! Reduced states equal snapshots: applying the downgraded actions with the official reducers of a
//! release gives the same state as a snapshot taken afterwards.

use std::collections::BTreeSet;

use agenthost_oracles::Oracle;
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::{ChannelKind, ChannelState};
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Json;
use agenthost_testkit::Generator;
use agenthost_testkit::json::{diff, normalize};
use agenthost_versions::{JsonEnvelope, TranslationContext, VersionChain};

use crate::accepted_differences::{LossKind, is_accepted};
use crate::findings::Findings;
use crate::generated_host::{GeneratedHost, at, envelope, viewer};
use crate::releases::{each_release, oracle, seeds};
use crate::sequences::{at_rest, next, options};

/// Number of generated hosts; `SEEDS` in the environment overrides it.
const SEEDS: u64 = 40;

/// Number of generated actions per host.
const ACTIONS: u32 = 40;

fn check_reduced_states(release: Release) {
    let Some(oracle) = oracle(release) else {
        return;
    };
    let mut mirror = Mirror {
        release,
        chain: VersionChain::for_release(release),
        oracle,
        findings: Findings::of(release),
    };
    for seed in 0..seeds(SEEDS) {
        mirror.run_actions(seed);
    }
    mirror.findings.conclude();
}

each_release!(check_reduced_states);

/// Actions that `sequences` does not generate, or that change nothing.
const NEVER: &[&str] = &[
    "session/defaultChatChanged",
    "terminal/input",
    "resourceWatch/changed",
    "automation/createRequested",
    "automation/updateRequested",
    "automationRun/cancelRequested",
];

#[test]
fn every_action_is_generated() {
    let mut missing: BTreeSet<_> = Action::table().map(|info| info.name).collect();
    // Three times the usual number of seeds, because some actions are rare.
    for seed in 0..3 * SEEDS {
        let mut generator = Generator::new(seed, options());
        let mut generated_host = at_rest(&mut generator);
        for _ in 0..ACTIONS {
            if let Some(action) = next(&mut generator, &generated_host)
                && generated_host.apply(&action).1 == Outcome::Applied
            {
                missing.remove(action.info().name);
            }
        }
    }
    missing.retain(|name| !NEVER.contains(name));
    assert!(missing.is_empty(), "{missing:?}");
}

/// An official client that is subscribed to every channel.
struct Mirror {
    release: Release,
    chain: VersionChain,
    oracle: Box<dyn Oracle>,
    findings: Findings,
}

/// Outcome of a step.
#[derive(PartialEq)]
enum StepOutcome {
    On,
    Astray,
}

impl Mirror {
    fn run_actions(&mut self, seed: u64) {
        let mut generator = Generator::new(seed, options());
        let mut generated_host = at_rest(&mut generator);
        for (_, resource, snapshot) in self.snapshots(&generated_host, ChannelKind::ALL) {
            if let Err(error) = self.oracle.track_channel(&resource, &snapshot) {
                self.findings
                    .record("snapshot", &error, || format!("seed {seed}: {snapshot}"));
                return;
            }
        }
        for _ in 0..ACTIONS {
            let Some(action) = next(&mut generator, &generated_host) else {
                continue;
            };
            let mut after = generated_host.clone();
            let (before, outcome) = after.apply(&action);
            if outcome != Outcome::Applied {
                continue;
            }
            if self.happens(seed, &before, &action, &after) == StepOutcome::Astray {
                return;
            }
            generated_host = after;
        }
    }

    fn happens(
        &mut self,
        seed: u64,
        before: &ChannelState,
        action: &Action,
        after: &GeneratedHost,
    ) -> StepOutcome {
        let (viewer, scene) = (viewer(self.release), after.scene());
        let at = TranslationContext {
            client: &viewer,
            states: &scene,
            state_before: Some(before),
        };
        let name = action.info().name;
        let heard = self
            .chain
            .downgrade_action(&at, &envelope(action.clone()))
            .unwrap();
        for envelope in &heard {
            let json = Json::Object(envelope.action.clone());
            if let Err(error) = self.oracle.apply(&channel(envelope), &json) {
                self.findings
                    .record(name, &error, || format!("seed {seed}: {json}"));
            }
        }
        let mut went = StepOutcome::On;
        // A session and its chats affect each other; all other channels are independent.
        let mut touched = vec![ChannelKind::Session, ChannelKind::Chat];
        if !touched.contains(&action.info().channel) {
            touched = vec![action.info().channel];
        }
        for (kind, resource, snapshot) in self.snapshots(after, &touched) {
            let has_reducer = self.release >= Release::V0_4 || kind != ChannelKind::Changeset;
            if has_reducer && self.agrees(name, kind, &resource, &snapshot, seed, &heard) {
                continue;
            }
            // Continue from the snapshot, unless the official types can't parse it.
            self.oracle.track_channel(&resource, &snapshot).unwrap();
            if snapshot.to_string().contains("auth-required") {
                went = StepOutcome::Astray;
            }
        }
        went
    }

    /// Returns the current snapshots of channels, downgraded to the release.
    fn snapshots(
        &self,
        generated_host: &GeneratedHost,
        kinds: &[ChannelKind],
    ) -> Vec<(ChannelKind, String, Json)> {
        let (viewer, scene) = (viewer(self.release), generated_host.scene());
        let mut kinds = kinds.to_vec();
        if self.release < Release::V0_4 {
            kinds.retain(|kind| *kind != ChannelKind::Chat);
        }
        let down = |kind| {
            let snapshot = generated_host.snapshot(kind);
            let down = self
                .chain
                .downgrade_snapshot(&at(&viewer, &scene), &snapshot)
                .unwrap()?;
            let resource = down["resource"].as_str().unwrap().to_owned();
            Some((kind, resource, down))
        };
        kinds.into_iter().filter_map(down).collect()
    }

    fn agrees(
        &mut self,
        action: &str,
        kind: ChannelKind,
        resource: &str,
        snapshot: &Json,
        seed: u64,
        heard: &[JsonEnvelope],
    ) -> bool {
        let told = self.oracle.read(&format!("snapshot/{kind:?}"), snapshot);
        let told = match told {
            Ok(Some(mut reading)) => reading.encoded["state"].take(),
            problem => {
                self.findings.check(action, snapshot, &problem, seed);
                return false;
            }
        };
        // The official types can't parse a call that waits for authentication, so an entry for it
        // has no id to be found by.
        if kind == ChannelKind::Session && told.to_string().contains("auth-required") {
            return false;
        }
        let made = self.oracle.tracked_state(resource).unwrap();
        let (made, told) = (self.plain(&made), self.plain(&told));
        if made == told {
            return true;
        }
        for difference in diff(&made, &told).lines() {
            let (place, values) = difference.split_once(": ").unwrap_or((difference, ""));
            let place = format!("{kind:?} {}", without_indices(place));
            let way = match values {
                _ if values.ends_with("-> (none)") => LossKind::Kept,
                _ if values.starts_with("(none) ->") => LossKind::Missing,
                _ => LossKind::Other,
            };
            if is_accepted(self.release, action, &place, way) {
                continue;
            }
            let problem = format!("{place} {way:?}");
            self.findings.record(action, &problem, || {
                let values: String = values.chars().take(200).collect();
                let heard: Vec<_> = heard.iter().map(told_as).collect();
                format!("{values}; seed {seed}, heard {heard:?}")
            });
        }
        false
    }

    /// Removes what may differ. Up to 0.8 reducers take `modifiedAt` from their own clock. In 0.5.2
    /// an input request becomes a response part once it is answered; later releases leave it where
    /// it was asked.
    fn plain(&self, state: &Json) -> Json {
        let mut state = normalize(state);
        if self.release < Release::V0_9 {
            remove_field(&mut state, "modifiedAt");
        }
        if self.release == Release::V0_5_2 {
            put_questions_last(&mut state);
        }
        state
    }
}

fn remove_field(json: &mut Json, field: &str) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| remove_field(item, field)),
        Json::Object(fields) => {
            fields.shift_remove(field);
            fields
                .values_mut()
                .for_each(|value| remove_field(value, field));
        }
        _ => {}
    }
}

fn put_questions_last(json: &mut Json) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(put_questions_last),
        Json::Object(fields) => {
            let parts = fields.get_mut("responseParts").and_then(Json::as_array_mut);
            if let Some(parts) = parts {
                parts.sort_by_key(|part| part["request"]["id"].as_str().map(str::to_owned));
            }
            fields.values_mut().for_each(put_questions_last);
        }
        _ => {}
    }
}

/// Returns the channel of an action. In 0.1 the action itself contains it.
fn channel(envelope: &JsonEnvelope) -> String {
    let inside = ["session", "terminal"];
    let inside = || {
        inside
            .iter()
            .find_map(|field| envelope.action.get(*field)?.as_str())
    };
    let channel = envelope.channel.as_deref().or_else(inside);
    channel.unwrap_or("agenthost:/root").to_owned()
}

fn told_as(envelope: &JsonEnvelope) -> String {
    let action = Json::Object(envelope.action.clone());
    format!("{}: {action}", channel(envelope))
}

fn without_indices(place: &str) -> String {
    place
        .chars()
        .filter(|character| !character.is_ascii_digit())
        .collect()
}
