//! Clients of several releases in one session. Each of them acts and receives the actions of the
//! others; in the end each state equals the host's, as far as the release can express it.

use agenthost_protocol::version::Release;
use agenthost_testkit::{Generator, GeneratorOptions};

use super::random_events::change_selection;
use super::{Actor, Host};
use crate::releases::seeds;

/// Number of generated rooms; `SEEDS` in the environment overrides it.
const SEEDS: u64 = 4;

/// Releases of the clients in a room of five.
const FIVE_RELEASES: [Release; 5] = [
    Release::V1_0,
    Release::V0_5_2,
    Release::V0_4,
    Release::V0_3,
    Release::V0_1,
];

/// Number of random events in a room.
const ROUNDS: u32 = 8;

/// A host, a session, and the clients that are subscribed to it.
pub(super) struct SharedSession {
    pub(super) generator: Generator,
    pub(super) actors: Vec<Actor>,
    /// Ids of completed turns, the oldest first.
    pub(super) turns: Vec<String>,
    // Declared last: clients have to be dropped before their host.
    host: Host,
}

impl SharedSession {
    fn open(releases: &[Release], seed: u64) -> Self {
        let mut generator = Generator::new(seed, GeneratorOptions::default());
        let host = Host::start();
        let actors = releases.iter().map(|release| {
            let mut actor = Actor::of(*release, &format!("client-{release}"))?;
            actor.join(&host);
            Some(actor)
        });
        let mut actors: Vec<_> = actors.flatten().collect();
        let everybody: Vec<_> = (0..actors.len()).collect();
        let creator = *generator.pick(&everybody).unwrap();
        actors[creator].create();
        for actor in &mut actors {
            actor.enter();
        }
        SharedSession {
            generator,
            actors,
            turns: Vec::new(),
            host,
        }
    }

    /// Picks `COUNT` distinct clients at random.
    pub(super) fn random_clients<const COUNT: usize>(&mut self) -> [usize; COUNT] {
        let mut left: Vec<_> = (0..self.actors.len()).collect();
        std::array::from_fn(|_| {
            let one = *self.generator.pick(&left).unwrap();
            left.retain(|other| *other != one);
            one
        })
    }

    /// Picks a random client of this release or a later one.
    pub(super) fn random_client_since(&mut self, release: Release) -> usize {
        let able = self.actors.iter().enumerate();
        let able = able.filter(|(_, actor)| actor.release >= release);
        let able: Vec<_> = able.map(|(index, _)| index).collect();
        *self.generator.pick(&able).unwrap()
    }

    /// Reconnects a client, either with its last `serverSeq` or with 0.
    pub(super) fn reconnect(&mut self, who: usize) {
        let actor = &mut self.actors[who];
        let seen = *self.generator.pick(&[actor.seen, 0]).unwrap();
        let missed = actor.reconnect(&self.host, seen);
        let expected = if seen == 0 { "snapshot" } else { "replay" };
        assert_eq!(missed, expected);
    }
}

fn run_shared_session(releases: &[Release], seed: u64) {
    let mut shared_session = SharedSession::open(releases, seed);
    for round in 0..ROUNDS {
        shared_session.run_random_event(&format!("t{round}"));
    }
    change_selection(&mut shared_session, "the-last");
    for actor in &mut shared_session.actors {
        actor.check_equal_to_host();
    }
}

#[test]
fn clients_of_five_releases_share_a_session() {
    for seed in 0..seeds(SEEDS) {
        println!("seed {seed}");
        run_shared_session(&FIVE_RELEASES, seed);
    }
}

#[test]
fn clients_of_all_releases_share_a_session() {
    for seed in 0..seeds(1) {
        println!("seed {seed}");
        run_shared_session(Release::ALL, 1_000 + seed);
    }
}
