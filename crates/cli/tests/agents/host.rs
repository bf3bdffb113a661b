//! The host as a process, and the processes that agents leave behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ahp::{Client, ClientConfig};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::agent_entry::{Entry, MARK, marker_of};

/// A running host, which is killed when it is dropped.
pub(crate) struct Host {
    child: Child,
    url: String,
    directory: PathBuf,
    entry: Entry,
}

impl Host {
    /// Starts a host on a directory with its configuration. The host runs as the agent's user and
    /// with the agent's home, so that the user who runs the tests does not affect it.
    pub(crate) async fn start(directory: &Path, entry: &Entry) -> Self {
        let ready_file = directory.join("ready.json");
        // The ready file of the last host must not be taken for that of this one.
        drop(std::fs::remove_file(&ready_file));
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(directory.join("host.log"))
            .unwrap();
        let mut words = entry.as_its_user();
        words.push(program().to_string_lossy().into_owned());
        let child = Command::new(&words[0])
            .args(&words[1..])
            .env("HOME", directory.join("home"))
            .env_remove("XDG_CONFIG_HOME")
            .args(["serve", "--verbose", "--config"])
            .arg(directory.join("config.toml"))
            .arg("--data-dir")
            .arg(directory.join("data"))
            .arg("--ready-file")
            .arg(&ready_file)
            .arg("--wire-log")
            .arg(directory.join("wire.log"))
            .arg("--wire-log-contents")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut host = Host {
            child,
            url: String::new(),
            directory: directory.to_owned(),
            entry: entry.clone(),
        };
        for _ in 0..2_000 {
            if let Ok(text) = std::fs::read_to_string(&ready_file) {
                let ready: Value = serde_json::from_str(&text).unwrap();
                let (url, token) = (ready["url"].as_str(), ready["token"].as_str());
                host.url = format!("{}?tkn={}", url.unwrap(), token.unwrap());
                return host;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the host did not start");
    }

    /// Connects an official client, and performs the handshake.
    pub(crate) async fn join(&self, name: &str) -> Client {
        let transport = ahp_ws::WebSocketTransport::connect(&self.url).await;
        let config = ClientConfig::default();
        let client = Client::connect(transport.unwrap(), config).await.unwrap();
        let versions = vec![ahp_types::PROTOCOL_VERSION.to_owned()];
        let root = vec!["ahp-root://".to_owned()];
        let hello = client.initialize(name.to_owned(), versions, root).await;
        assert_eq!(hello.unwrap().protocol_version, "1.0.0");
        client
    }

    /// Kills the host with SIGKILL, so that it cannot flush or say goodbye. Returns another host on
    /// the same directory.
    pub(crate) async fn killed(self) -> Self {
        let (directory, entry) = (self.directory.clone(), self.entry.clone());
        // Agents would survive the host in its runner. This is about those that do not.
        if let Some(runner) = agenthost_server::find_runner(&self.directory.join("data")) {
            let runner = Pid::from_raw(i32::try_from(runner).unwrap());
            let host = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
            kill(host, Signal::SIGSTOP).unwrap();
            kill(runner, Signal::SIGKILL).unwrap();
        }
        drop(self);
        Host::start(&directory, &entry).await
    }

    /// Stops the host with SIGTERM, and waits for its exit.
    pub(crate) async fn stop(mut self) -> Result<(), String> {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        kill(id, Signal::SIGTERM).unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return match status.success() {
                    true => Ok(()),
                    false => Err(format!("the host ended with {status}")),
                };
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err("the host did not stop".to_owned())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The host may have exited by itself.
        self.child.kill().unwrap_or_default();
        self.child.wait().unwrap();
    }
}

/// Returns the path of the host under test: the one that `AGENTHOST` names, or the one that was
/// built with this test.
fn program() -> PathBuf {
    let named = std::env::var_os("AGENTHOST").map(PathBuf::from);
    named.unwrap_or_else(|| env!("CARGO_BIN_EXE_agenthost").into())
}

/// Environment variable by which the relay to the tools of the host knows its session. Most agents
/// pass nothing else of their own environment to MCP servers.
const RELAYED: &str = "AGENTHOST_TOOLS_SESSION";

/// Returns the ids and command lines of the running processes of an agent, and of those of the
/// tools that it uses.
pub(crate) fn processes(id: &str) -> Vec<(u32, String)> {
    let wanted = format!("{MARK}={}", marker_of(id));
    let relayed = format!("{RELAYED}=ahp-session:/{}-", marker_of(id));
    let folders = std::fs::read_dir("/proc").unwrap();
    let folders = folders.filter_map(|folder| folder.ok());
    let found = folders.filter_map(|folder| {
        let number: u32 = folder.file_name().to_str()?.parse().ok()?;
        let environment = std::fs::read(folder.path().join("environ")).ok()?;
        let mut variables = environment.split(|byte| *byte == 0);
        variables.find(|variable| {
            *variable == wanted.as_bytes() || variable.starts_with(relayed.as_bytes())
        })?;
        let command = std::fs::read(folder.path().join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        // A zombie has an empty command line.
        (!command.is_empty()).then(|| (number, command.chars().take(120).collect()))
    });
    found.collect()
}

/// Waits until none of these processes is running. Returns the command lines of those that do not
/// end.
pub(crate) async fn wait_until_gone(id: &str, of: &[(u32, String)]) -> Vec<String> {
    let until = Instant::now() + Duration::from_secs(15);
    loop {
        let left = processes(id)
            .into_iter()
            .filter(|process| of.contains(process));
        let left: Vec<_> = left.map(|(_, command)| command).collect();
        if left.is_empty() || Instant::now() > until {
            return left;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
