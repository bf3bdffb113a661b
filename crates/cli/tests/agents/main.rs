//! Real agents, with a model of ours and no network: `./test --agents`.
//!
//! The agents stand in `agents.toml`. Each is tried with a host of its own, by
//! an official client; what happens is written into `docs/agents.md`, whether
//! it is what should happen or not.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says how far it is"
)]

mod entry;
mod host;
mod killed;
mod report;
mod talk;
mod tries;

use std::path::Path;

use agenthost_testkit::model::FakeModel;

use entry::{Entry, entries};
use host::{Host, gone, processes};
use killed::killed;
use report::Tried;
use tries::TRIES;

/// Needs the network, and nothing else of this does.
#[test]
#[ignore = "installs programs; `./test --agents` does"]
fn agents_are_installed() {
    for entry in entries() {
        eprintln!("install {}", entry.packages.join(" "));
        if let Err(error) = entry.install() {
            eprintln!("  {error}");
        }
    }
}

#[tokio::test]
#[ignore = "needs agents and no network; `./test --agents` has them"]
async fn agents_do_what_they_should() {
    assert_alone();
    let mut failed = Vec::new();
    for entry in entries() {
        if !entry.is_installed() {
            failed.push(format!("{}: not installed", entry.id));
            continue;
        }
        eprintln!("{}", entry.id);
        let tried = attempt(&entry).await;
        report::write(&entry, &tried);
        let wrong = tried.iter().filter(|tried| tried.happened.is_err());
        failed.extend(wrong.map(|tried| format!("{}: {}", entry.id, tried.what)));
    }
    assert!(
        failed.is_empty(),
        "not as it should be:\n{}",
        failed.join("\n")
    );
}

/// Tries everything with one agent.
async fn attempt(entry: &Entry) -> Vec<Tried> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("tried")
        .join(&entry.id);
    // What an earlier run left is of no use to this one.
    drop(std::fs::remove_dir_all(&place));
    std::fs::create_dir_all(&place).unwrap();
    // A repository of its own: in the one around it, all of this is ignored.
    let made = std::process::Command::new("git")
        .args(["init", "--quiet"])
        .current_dir(&place)
        .status();
    assert!(made.unwrap().success(), "git init");
    let model = FakeModel::start(Some(place.join("model.log")))
        .await
        .unwrap();
    let config = entry.set_up(&place.join("home"), &model.url());
    std::fs::write(place.join("config.toml"), config).unwrap();
    let host = Host::start(&place).await;
    let mut tried = Vec::new();
    for one in TRIES {
        let happened = one.run(&host, entry, &place).await;
        note(&mut tried, one.name(), happened);
    }
    let (host, happened) = killed(host, entry, &place).await;
    note(
        &mut tried,
        "host killed (`kill -9`) in the middle of a turn",
        happened,
    );
    let running = processes(&entry.id);
    let stopped = host.stop().await;
    let left = gone(&entry.id, &running).await;
    let ended = match (stopped, left.is_empty()) {
        (Err(error), _) => Err(error),
        (Ok(()), true) => Ok("no process of it is left".to_owned()),
        (Ok(()), false) => Err(format!("still runs: {}", left.join(", "))),
    };
    note(&mut tried, "host stopped", ended);
    tried
}

fn note(tried: &mut Vec<Tried>, what: &'static str, happened: Result<String, String>) {
    match &happened {
        Ok(words) => eprintln!("  {what}: {words}"),
        Err(words) => eprintln!("  {what}: NO: {words}"),
    }
    tried.push(Tried { what, happened });
}

/// Agents are never tried where they could reach anybody.
fn assert_alone() {
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap();
    let names = devices
        .lines()
        .skip(2)
        .filter_map(|line| line.split(':').next());
    let others: Vec<_> = names.map(str::trim).filter(|name| *name != "lo").collect();
    assert!(
        others.is_empty(),
        "there is a network ({others:?}); use `./test --agents`"
    );
}
