//! A digest of everything that a host writes and does in 500 simulations.
//!
//! Changes that must not change behaviour keep it. A change that is meant to
//! change behaviour writes the new one with `UPDATE_EXPECT=1`.

use agenthost_core::{Effects, StoreWrite};
use agenthost_protocol::uri::Uri;
use expect_test::expect_file;
use sha2::{Digest as _, Sha256};

use crate::render::render;
use crate::simulation::Simulation;

const SEEDS: u64 = 500;
const STEPS: u32 = 300;

#[test]
fn the_digest_of_the_simulations_is_unchanged() {
    let mut digest = StepDigest::default();
    for seed in 0..SEEDS {
        let mut simulation = Simulation::new(seed);
        simulation.test_host.digest = Some(digest);
        for _ in 0..STEPS {
            simulation.step();
        }
        digest = simulation.test_host.digest.take().unwrap();
    }
    let bytes = digest.0.finalize();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    expect_file!["simulation/digest.txt"].assert_eq(&format!("{hex}\n"));
}

/// Hashes what steps write and do.
#[derive(Default)]
pub(crate) struct StepDigest(Sha256);

impl StepDigest {
    pub(crate) fn record(&mut self, effects: &Effects) {
        let writes = effects.writes.iter().map(render_write);
        for line in writes.chain(render(effects)) {
            self.0.update(line);
            self.0.update("\n");
        }
    }
}

/// A write as text, by what is stored of it.
fn render_write(write: &StoreWrite) -> String {
    match write {
        StoreWrite::Action(envelope) => json(envelope),
        StoreWrite::SeqUsed(seq) => format!("number {}", seq.0),
        StoreWrite::ChannelCreated {
            channel,
            session,
            state,
            seq,
        } => {
            let session = session.as_ref().map(Uri::as_str).unwrap_or_default();
            format!("created {channel} {session} {} {}", seq.0, json(state))
        }
        StoreWrite::ChannelRemoved { channel, seq } => format!("removed {channel} {}", seq.0),
        StoreWrite::ChannelMoved { channel, session } => format!("moved {channel} {session}"),
        StoreWrite::Session(summary) => json(summary),
        StoreWrite::SessionRemoved(session) => format!("session removed {session}"),
        StoreWrite::SessionEnvironment {
            session,
            environment,
        } => format!("environment {session} {environment:?}"),
        StoreWrite::SessionEnvironmentCopied { from, to } => format!("environment {from} {to}"),
        StoreWrite::SessionUnlisted(removed) => {
            format!("removed from list {} {}", removed.session, removed.seq.0)
        }
        StoreWrite::Client(client, record) => {
            format!("client {client} {} {}", record.version, record.principal.0)
        }
        StoreWrite::ClientReleased(client, at) => format!("released {client} {}", at.0),
        StoreWrite::ClientsPruned {
            left_until,
            max_clients,
        } => format!("pruned {} {max_clients}", left_until.0),
        StoreWrite::Audit(entry) => format!("audit {entry:?}"),
        StoreWrite::ClientRemoved(client) => format!("forgotten {client}"),
        StoreWrite::PrincipalForgotten(principal) => format!("forgotten {}", principal.0),
        StoreWrite::AgentOptions(provider, options) => {
            format!("options {provider} {}", json(&options.schema))
        }
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}
