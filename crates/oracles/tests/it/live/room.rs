//! Clients of several releases in one session: each of them acts, all of them
//! hear of it, and in the end each sees what there is as far as its release
//! has words for it.

use agenthost_protocol::version::Release;
use agenthost_testkit::{Generator, Options};
use serde_json::json;

use super::actor::SESSION;
use super::everything::ASKS;
use super::{Actor, Host};
use crate::releases::seeds;

/// How many rooms there are, unless `SEEDS` says otherwise.
const SEEDS: u64 = 3;

/// Who is there.
const ROOM: [Release; 5] = [
    Release::V1_0,
    Release::V0_5_2,
    Release::V0_4,
    Release::V0_3,
    Release::V0_1,
];

/// How much happens in a room.
const ROUNDS: u32 = 6;

/// Somebody by chance, and another for each more that is wanted.
fn some<const COUNT: usize>(generator: &mut Generator, of: usize) -> [usize; COUNT] {
    let mut left: Vec<_> = (0..of).collect();
    std::array::from_fn(|_| {
        let one = *generator.pick(&left).unwrap();
        left.retain(|other| *other != one);
        one
    })
}

fn meets(releases: &[Release], seed: u64) {
    let mut generator = Generator::new(seed, Options::default());
    let host = Host::start();
    let actors = releases.iter().map(|release| {
        let mut actor = Actor::of(*release, &format!("client-{release}"))?;
        actor.join(&host);
        Some(actor)
    });
    let mut actors: Vec<_> = actors.flatten().collect();
    let [creator] = some(&mut generator, actors.len());
    actors[creator].create();
    for actor in &mut actors {
        actor.enter();
    }
    for round in 0..ROUNDS {
        let turn = format!("t{round}");
        match generator.pick(&[0, 1, 2, 3]) {
            Some(0) => is_asked(&mut generator, &mut actors, &turn),
            Some(1) => is_cancelled(&mut generator, &mut actors, &turn),
            Some(2) => is_queued(&mut generator, &mut actors, &turn),
            _ => is_renamed(&mut generator, &mut actors, &turn),
        }
    }
    for actor in &mut actors {
        actor.agrees_with_the_host();
    }
}

/// One starts a turn, another agrees to its tool call, a third fills in its
/// form.
fn is_asked(generator: &mut Generator, actors: &mut [Actor], turn: &str) {
    let [starts, confirms, fills_in] = some(generator, actors.len());
    let number = actors[starts].start_turn(turn, ASKS);
    let started = actors[starts].until_echo(number);
    actors[confirms].confirm(turn);
    actors[fills_in].fill_in(started["serverSeq"].as_i64().unwrap());
    for actor in actors {
        actor.until_turn("turnComplete", turn);
    }
}

/// One starts a turn without an end, another ends it.
fn is_cancelled(generator: &mut Generator, actors: &mut [Actor], turn: &str) {
    let [starts, cancels] = some(generator, actors.len());
    actors[starts].start_turn(turn, "say I hang\nhang");
    actors[cancels].until_turn("delta", turn);
    let cancelled = json!({"turnId": turn, "duration": 0});
    actors[cancels].converse("turnCancelled", cancelled);
    for actor in actors {
        actor.until_turn("turnCancelled", turn);
    }
}

/// One starts a turn, another has something to say meanwhile, which is the
/// next turn when a third has agreed to what the first one's asks.
fn is_queued(generator: &mut Generator, actors: &mut [Actor], turn: &str) {
    let [starts, queues, confirms] = some(generator, actors.len());
    actors[starts].start_turn(turn, "call c read ask\nwait\n+ done c");
    actors[queues].until_turn("toolCallReady", turn);
    let id = format!("m-{turn}");
    let message = json!({"kind": "queued", "id": id});
    let message = actors[queues].with_message(message, "say I waited");
    let number = actors[queues].converse("pendingMessageSet", message);
    let queued = actors[queues].until_echo(number);
    assert!(queued["rejectionReason"].is_null(), "{queued}");
    actors[confirms].confirm(turn);
    for actor in actors {
        actor.until_turn("turnComplete", turn);
        let kind = actor.kind("turnStarted");
        let next = actor.until("the turn that waited", |envelope| {
            envelope["action"]["queuedMessageId"] == id && envelope["action"]["type"] == kind
        });
        let next = next["action"]["turnId"].as_str().unwrap().to_owned();
        actor.until_turn("turnComplete", &next);
    }
}

/// One gives the session another name.
fn is_renamed(generator: &mut Generator, actors: &mut [Actor], turn: &str) {
    let [names] = some(generator, actors.len());
    let title = format!("All about {turn}");
    let action = json!({"type": "session/titleChanged", "title": title});
    actors[names].dispatch(SESSION, action);
    for actor in actors {
        actor.until("the name", |envelope| envelope["action"]["title"] == title);
    }
}

#[test]
fn clients_of_five_releases_meet() {
    for seed in 0..seeds(SEEDS) {
        println!("seed {seed}");
        meets(&ROOM, seed);
    }
}

#[test]
fn clients_of_all_releases_meet() {
    meets(Release::ALL, 7);
}
