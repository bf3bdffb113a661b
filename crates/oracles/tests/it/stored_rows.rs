//! Stored rows of older releases: migrated to 1.0 and downgraded again, they are unchanged.

use std::collections::BTreeSet;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::{ChannelKind, ChannelState};
use agenthost_protocol::number::Millis;
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Object};
use agenthost_testkit::json::{diff, normalize};
use agenthost_versions::{StoredRow, TargetClient, TranslationContext, VersionChain};

use crate::generated_host::{GeneratedHost, SESSION, at, envelope, generator, uri_of_kind, viewer};
use crate::releases::{each_release, seeds};

/// Number of generated hosts; `SEEDS` in the environment overrides it.
const SEEDS: u64 = 40;

fn check_stored_rows(release: Release) {
    if release < VersionChain::OLDEST_ROWS {
        return;
    }
    let session = Uri::from(SESSION);
    let mut reader = RowReader {
        chain: VersionChain::for_release(release),
        viewer: viewer(release),
        row: StoredRow {
            session: Some(&session),
            written_at: Millis(1_767_225_600_000),
        },
        problems: BTreeSet::new(),
    };
    for seed in 0..seeds(SEEDS) {
        let mut generator = generator(seed);
        let generated_host = reader.reads_states(&GeneratedHost::generated(&mut generator));
        for info in Action::table() {
            let json = generator.generate_action(info.name);
            let action: Action = wire::from_str(&json.to_string()).unwrap();
            reader.reads_action(&generated_host, &action);
        }
    }
    let problems: Vec<_> = reader.problems.into_iter().collect();
    assert!(problems.is_empty(), "{release}:\n{}", problems.join("\n"));
}

each_release!(check_stored_rows);

/// A current host that reads the rows of another release.
struct RowReader<'a> {
    chain: VersionChain,
    viewer: TargetClient,
    row: StoredRow<'a>,
    problems: BTreeSet<String>,
}

impl RowReader<'_> {
    /// Encodes all states as the release would store them, migrates them, and returns the resulting
    /// host.
    fn reads_states(&mut self, generated_host: &GeneratedHost) -> GeneratedHost {
        let written = self.written(generated_host);
        let mut read = generated_host.clone();
        for ((kind, state), written) in read.channels.iter_mut().zip(&written) {
            let Some(mut json) = written.clone() else {
                continue;
            };
            assert_eq!(ChannelKind::of_state(&json), Some(*kind));
            self.chain.migrate_state(&self.row, *kind, &mut json);
            match wire::from_str::<ChannelState>(&Json::Object(json).to_string()) {
                Ok(lifted) if lifted.kind() == *kind => *state = lifted,
                Ok(lifted) => self.finds(format!("{kind:?} became {:?}", lifted.kind())),
                Err(error) => self.finds(format!("{kind:?}: {error}")),
            }
        }
        let again = self.written(&read);
        for ((kind, _), (written, again)) in generated_host
            .channels
            .iter()
            .zip(written.iter().zip(&again))
        {
            if let (Some(written), Some(again)) = (written, again) {
                self.compares(&format!("{kind:?}"), written, again);
            }
        }
        read
    }

    /// Encodes the state of each channel for the release.
    fn written(&self, generated_host: &GeneratedHost) -> Vec<Option<Object>> {
        let scene = generated_host.scene();
        let written = |(kind, state): &(ChannelKind, ChannelState)| {
            let mut resource = uri_of_kind(*kind).to_owned();
            let at = at(&self.viewer, &scene);
            self.chain
                .downgrade_state(&at, &mut resource, state)
                .unwrap()
        };
        generated_host.channels.iter().map(written).collect()
    }

    fn reads_action(&mut self, generated_host: &GeneratedHost, action: &Action) {
        let written = self.downgraded_actions(generated_host, action);
        // If the downgrade gives several actions, each applies to another intermediate state, so
        // they can't be compared one by one.
        let alone = written.len() == 1;
        for written in written {
            let subject = format!("{} as {}", action.info().name, written["type"]);
            let mut json = written.clone();
            self.chain.migrate_action(&self.row, &mut json);
            match wire::from_str::<Action>(&Json::Object(json).to_string()) {
                Ok(lifted) if alone => {
                    match &self.downgraded_actions(generated_host, &lifted)[..] {
                        [again] => self.compares(&subject, &written, again),
                        others => self.finds(format!("{subject}: is {} actions", others.len())),
                    }
                }
                Ok(_) => {}
                Err(error) => self.finds(format!("{subject}: {error}")),
            }
        }
    }

    /// Applies an action and encodes it for the release.
    fn downgraded_actions(&self, generated_host: &GeneratedHost, action: &Action) -> Vec<Object> {
        let mut after = generated_host.clone();
        let (before, _) = after.apply(action);
        let scene: StateView = after.scene();
        let at = TranslationContext {
            client: &self.viewer,
            states: &scene,
            state_before: Some(&before),
        };
        let told = self
            .chain
            .downgrade_action(&at, &envelope(action.clone()))
            .unwrap();
        told.into_iter().map(|one| one.action).collect()
    }

    fn compares(&mut self, subject: &str, written: &Object, again: &Object) {
        let (written, again) = (written.clone().into(), again.clone().into());
        let (written, again) = (normalize(&written), normalize(&again));
        for difference in diff(&written, &again).lines() {
            self.finds(format!("{subject}: {difference}"));
        }
    }

    fn finds(&mut self, problem: String) {
        self.problems.insert(problem);
    }
}
