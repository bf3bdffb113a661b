//! The runner: how it ends, how it is recognized, and what stops and restarts do with it.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agenthost_server::find_runner;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value as Json, json};

use crate::acp::configure;
use crate::commands::{agenthost, err};
use crate::killed::{CHAT, Client, Host, SESSION};

const FORM: &str = r#"form {"mode": "form", "message": "Go on?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}"#;

/// Starts a host whose agent waits for an answer.
async fn start_waiting(directory: &Path) -> (Host, Client) {
    configure(directory, "");
    let host = Host::start(directory).await;
    let mut client = Client::connect(&host).await;
    client.initialize("a").await;
    let session = json!({"channel": SESSION, "provider": "scripted"});
    client.request("createSession", session).await;
    client.until_ready().await;
    client.subscribe().await;
    let message = json!({"text": FORM, "origin": {"kind": "user"}});
    let start = json!({"type": "chat/turnStarted", "turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": message});
    client.dispatch(start).await;
    client.until("chat/inputRequested").await;
    (host, client)
}

/// Kills the host, and starts the next one. Returns the state of the turn.
async fn start_again(directory: &Path, host: Host, mut client: Client) -> (Host, String) {
    host.kill();
    while client.receive().await.is_some() {}
    let host = Host::start(directory).await;
    let client = client.reconnect(&host, &[CHAT]).await;
    let turns = client.text()["turns"].clone();
    let state = turns[0]["state"].as_str().unwrap_or("active").to_owned();
    (host, state)
}

/// Waits until the log of the host contains a text. It is written in the background.
fn wait_for_log(directory: &Path, text: &str) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let log = std::fs::read_to_string(directory.join("host.log")).unwrap();
        if log.contains(text) {
            return;
        }
        assert!(Instant::now() < deadline, "no `{text}` in {log}");
        std::thread::yield_now();
    }
}

fn record_path(directory: &Path) -> PathBuf {
    directory.join("data/runner.json")
}

/// Changes the record of the runner.
fn change_record(directory: &Path, change: impl FnOnce(&mut Json)) {
    let path = record_path(directory);
    let mut record: Json = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut record);
    std::fs::write(&path, record.to_string()).unwrap();
}

fn is_running(process: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

fn wait_for_end(process: Pid) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while is_running(process) {
        assert!(Instant::now() < deadline, "process {process} runs");
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_socket_of_another_process_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let (host, client) = start_waiting(directory.path()).await;
    let runner = host.runner();
    let socket = directory.path().join("foreign");
    let listener = UnixListener::bind(&socket).unwrap();
    change_record(directory.path(), |record| record["socket"] = json!(socket));
    let (host, state) = start_again(directory.path(), host, client).await;
    let problem = format!(
        "belongs to process {}, and not to the runner",
        std::process::id()
    );
    wait_for_log(directory.path(), &problem);
    assert_eq!(state, "error");
    wait_for_end(runner);
    drop(listener);
    host.stop();
}

#[tokio::test]
async fn a_process_with_a_reused_id_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (host, client) = start_waiting(directory.path()).await;
    let runner = host.runner();
    let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
    kill(runner, Signal::SIGSTOP).unwrap();
    change_record(directory.path(), |record| {
        record["process"]["pid"] = json!(other.id());
    });
    let (host, state) = start_again(directory.path(), host, client).await;
    assert_eq!(state, "error");
    assert_eq!(other.try_wait().unwrap(), None);
    other.kill().unwrap();
    other.wait().unwrap();
    kill(runner, Signal::SIGKILL).unwrap();
    host.stop();
}

#[tokio::test]
async fn a_runner_of_another_copy_of_the_data_is_ended() {
    let directory = tempfile::tempdir().unwrap();
    let (host, client) = start_waiting(directory.path()).await;
    let runner = host.runner();
    change_record(directory.path(), |record| record["id"] = json!("other"));
    let (host, state) = start_again(directory.path(), host, client).await;
    wait_for_log(directory.path(), "is not that of this data directory");
    assert_eq!(state, "error");
    wait_for_end(runner);
    host.stop();
}

#[tokio::test]
async fn a_process_without_the_secret_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (host, client) = start_waiting(directory.path()).await;
    let runner = host.runner();
    change_record(directory.path(), |record| record["secret"] = json!("guess"));
    let (host, state) = start_again(directory.path(), host, client).await;
    wait_for_log(directory.path(), "does not answer");
    assert_eq!(state, "error");
    wait_for_end(runner);
    host.stop();
}

/// The host itself survives the end of its runner.
#[tokio::test]
async fn turns_end_with_their_runner_and_the_next_turn_runs() {
    let directory = tempfile::tempdir().unwrap();
    let (host, mut client) = start_waiting(directory.path()).await;
    let runner = host.runner();
    kill(runner, Signal::SIGKILL).unwrap();
    client.until("chat/error").await;
    let message = json!({"text": "say back", "origin": {"kind": "user"}});
    let start = json!({"type": "chat/turnStarted", "turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": message});
    client.dispatch(start).await;
    client.until("chat/turnComplete").await;
    assert_ne!(host.runner(), runner);
    let turns = client.text()["turns"].clone();
    let error = &turns[0]["responseParts"].to_string();
    assert!(error.contains("the runner has ended"), "{error}");
    assert!(turns[1].to_string().contains("back"), "{turns}");
    host.stop();
}

#[tokio::test]
async fn a_runner_without_work_ends_with_its_host() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "");
    let host = Host::start(directory.path()).await;
    let runner = host.runner();
    host.kill();
    wait_for_end(runner);
    assert!(!record_path(directory.path()).exists());
}

#[tokio::test]
async fn agents_end_with_a_host_that_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let (host, client) = start_waiting(directory.path()).await;
    let runner = host.runner();
    drop(client);
    host.stop();
    assert!(!is_running(runner));
    let running = std::fs::read_dir(directory.path().join("data/running")).unwrap();
    assert_eq!(running.count(), 0);
}

/// Runs a command for the host in the background of a user.
fn run(directory: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = agenthost(directory);
    command
        .args(arguments)
        .env_remove("AGENTHOST_TEMPORARY")
        .stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn stop_ends_agents_that_were_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, "");
    let data = path.join("data/agenthost");
    let started = run(path, &["start"]);
    assert!(started.status.success(), "{}", err(&started));
    run(path, &["run", "--agent", "scripted", "say hello"]);
    let runner = find_runner(&data).unwrap();
    let kept = run(path, &["stop", "--keep"]);
    assert!(
        err(&kept).contains("its agents and terminals go on"),
        "{}",
        err(&kept)
    );
    assert_eq!(find_runner(&data), Some(runner));
    let asked = run(path, &["stop"]);
    assert!(!asked.status.success(), "{}", err(&asked));
    let stopped = run(path, &["stop", "--yes"]);
    assert!(
        err(&stopped).contains("ended the agents"),
        "{}",
        err(&stopped)
    );
    assert_eq!(find_runner(&data), None);
}

#[test]
fn restart_and_upgrade_keep_the_runner_and_the_address() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, "");
    let data = path.join("data/agenthost");
    run(path, &["start"]);
    run(path, &["run", "--agent", "scripted", "say hello"]);
    let address = || {
        let status = run(path, &["status", "--json"]);
        let status: Json = serde_json::from_slice(&status.stdout).unwrap();
        status["url"].clone()
    };
    let before = (find_runner(&data), address());
    let restarted = run(path, &["restart"]);
    assert!(restarted.status.success(), "{}", err(&restarted));
    assert_eq!((find_runner(&data), address()), before);
    let upgraded = run(path, &["upgrade", env!("CARGO_BIN_EXE_agenthost")]);
    assert!(
        err(&upgraded).contains("the host is agenthost"),
        "{}",
        err(&upgraded)
    );
    assert_eq!((find_runner(&data), address()), before);
    run(path, &["stop", "--yes"]);
}

/// A program that prints a version, but runs no host.
#[test]
fn a_failed_upgrade_starts_the_previous_version_again() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, "");
    run(path, &["start"]);
    let broken = path.join("broken");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo agenthost 9.9.9 && exit 0\necho cannot run >&2\nexit 1\n";
    std::fs::write(&broken, script).unwrap();
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).unwrap();
    let failed = run(path, &["upgrade", broken.to_str().unwrap()]);
    let shown = err(&failed);
    assert_eq!(failed.status.code(), Some(1), "{shown}");
    assert!(shown.contains("the previous version runs again"), "{shown}");
    assert!(shown.contains("cannot run"), "{shown}");
    let status = run(path, &["status", "--json"]);
    assert!(status.status.success());
    let refused = run(path, &["upgrade", "/bin/echo"]);
    assert!(
        err(&refused).contains("`/bin/echo` is not agenthost"),
        "{}",
        err(&refused)
    );
    run(path, &["stop", "--yes"]);
}
