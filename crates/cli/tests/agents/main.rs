//! Real agents, with a fake model and without a network: `./test agents`.
//!
//! The agents are listed in `agents.toml`. An official client tests each of them with a host of its
//! own. Passed and failed tests are both recorded in `docs/agents.md`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says how far it is"
)]

mod agent_chat;
mod agent_entry;
mod agent_tests;
mod host;
mod host_features;
mod killed;
mod report;
mod scripted;

use std::path::{Path, PathBuf};

use agenthost_testkit::model::FakeModel;

use agent_entry::{Entry, entries, install, tool_server};
use agent_tests::AGENT_TESTS;
use host::{Host, processes, wait_until_gone};
use host_features::{HOST_FEATURES, killed_with_tools};
use killed::killed;
use report::TestResult;

/// Installs all agents. Only this step needs the network.
#[test]
#[ignore = "installs programs; `./test agents` does"]
fn agents_are_installed() {
    let server = tool_server();
    let agents = entries().into_iter();
    let agents = agents.map(|entry| (entry.id, entry.packages));
    for (id, packages) in agents.chain([(server.id, server.packages)]) {
        eprintln!("install {}", packages.join(" "));
        if let Err(error) = install(&id, &packages) {
            eprintln!("  {error}");
        }
    }
}

#[tokio::test]
#[ignore = "needs agents and no network; `./test agents` has them"]
async fn agents_pass_the_basic_tests() {
    each(attempt).await;
}

/// Agents use the tools of an MCP server and of a client, and rules and skills.
#[tokio::test]
#[ignore = "needs agents and no network; `./test agents` has them"]
async fn agents_use_tools_rules_and_skills_of_the_host() {
    assert!(tool_server().is_installed(), "the server is not installed");
    each(attempt_offered).await;
}

/// Tests each agent, and records the results.
async fn each(attempt: impl AsyncFn(&Entry) -> Vec<TestResult>) {
    assert_alone();
    let mut failed = Vec::new();
    for entry in entries() {
        if !entry.is_installed() {
            failed.push(format!("{}: not installed", entry.id));
            continue;
        }
        eprintln!("{}", entry.id);
        let results = attempt(&entry).await;
        report::write(&entry, &results);
        let wrong = results.iter().filter(|results| results.happened.is_err());
        failed.extend(wrong.map(|results| format!("{}: {}", entry.id, results.what)));
    }
    assert!(failed.is_empty(), "failed:\n{}", failed.join("\n"));
}

/// The environment of an agent under test: a fake model, and a host with a configuration.
struct AgentEnvironment {
    place: PathBuf,
    _model: FakeModel,
    host: Host,
}

async fn start_environment(name: &str, entry: &Entry, more: &str) -> AgentEnvironment {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(name)
        .join(&entry.id);
    // Files of an earlier run must not affect this one.
    drop(std::fs::remove_dir_all(&place));
    std::fs::create_dir_all(&place).unwrap();
    // The agent gets a repository of its own: the outer one ignores all of this folder.
    let made = std::process::Command::new("git")
        .args(["init", "--quiet"])
        .current_dir(&place)
        .status();
    assert!(made.unwrap().success(), "git init");
    let model = FakeModel::start(Some(place.join("model.log")))
        .await
        .unwrap();
    let config = entry.set_up(&place.join("home"), &model.url());
    std::fs::write(place.join("config.toml"), config + more).unwrap();
    entry.give_to_agent_user(&place);
    let host = Host::start(&place, entry).await;
    AgentEnvironment {
        place,
        _model: model,
        host,
    }
}

/// Tests one agent with the basic features of a host.
async fn attempt(entry: &Entry) -> Vec<TestResult> {
    let AgentEnvironment {
        place,
        _model,
        host,
    } = start_environment("tried", entry, "").await;
    let mut results = Vec::new();
    for one in AGENT_TESTS {
        let happened = one.run(&host, entry, &place).await;
        record_result(&mut results, one.name(), happened);
    }
    let (host, happened) = killed(host, entry, &place).await;
    record_result(
        &mut results,
        "host killed (`kill -9`) during a turn",
        happened,
    );
    record_result(&mut results, "host stopped", ended(host, entry).await);
    results
}

/// Tests one agent with the tools, rules and skills that the host offers.
async fn attempt_offered(entry: &Entry) -> Vec<TestResult> {
    let server = tool_server().set_up(&entry.id);
    let AgentEnvironment {
        place,
        _model,
        host,
    } = start_environment("offered", entry, &server).await;
    let mut results = Vec::new();
    for one in HOST_FEATURES {
        let happened = one.run(&host, entry, &place).await;
        record_result(&mut results, one.name(), happened);
    }
    let (host, happened) = killed_with_tools(host, entry, &place).await;
    record_result(
        &mut results,
        "host killed (`kill -9`) between two turns with tools",
        happened,
    );
    record_result(
        &mut results,
        "host stopped, with tools",
        ended(host, entry).await,
    );
    results
}

/// Stops the host, and looks for processes of the agent that are left.
async fn ended(host: Host, entry: &Entry) -> Result<String, String> {
    let running = processes(&entry.id);
    host.stop().await?;
    let left = wait_until_gone(&entry.id, &running).await;
    match left.is_empty() {
        true => Ok("no process is left".to_owned()),
        false => Err(format!("still runs: {}", left.join(", "))),
    }
}

fn record_result(
    results: &mut Vec<TestResult>,
    what: &'static str,
    happened: Result<String, String>,
) {
    match &happened {
        Ok(words) => eprintln!("  {what}: {words}"),
        Err(words) => eprintln!("  {what}: NO: {words}"),
    }
    results.push(TestResult { what, happened });
}

/// Agents must not be tested where they can reach a network.
fn assert_alone() {
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap();
    let names = devices
        .lines()
        .skip(2)
        .filter_map(|line| line.split(':').next());
    let others: Vec<_> = names.map(str::trim).filter(|name| *name != "lo").collect();
    assert!(
        others.is_empty(),
        "there is a network ({others:?}); use `./test agents`"
    );
}
