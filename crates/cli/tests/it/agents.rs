//! Known agents, as a user finds and runs them. An "installed" agent is a script on `PATH` that
//! runs the scripted agent.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use agenthost_testkit::acp_agent;
use serde_json::Value;
use tempfile::TempDir;

use crate::commands::{err, out};

/// A machine with no other agents than those that a test installs.
pub(crate) struct Machine(TempDir);

impl Machine {
    pub(crate) fn new() -> Self {
        let machine = Machine(tempfile::tempdir().unwrap());
        for folder in ["bin", "home", "work", "config/agenthost"] {
            std::fs::create_dir_all(machine.path(folder)).unwrap();
        }
        for tool in ["sh", "git", "touch"] {
            let paths = std::env::var_os("PATH").unwrap();
            let mut places = std::env::split_paths(&paths).map(|folder| folder.join(tool));
            let place = places.find(|place| place.exists()).unwrap();
            std::os::unix::fs::symlink(place, machine.path("bin").join(tool)).unwrap();
        }
        machine
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Installs the scripted agent under a name. The agent is signed out until the file
    /// `home/signed-in` exists.
    pub(crate) fn install(&self, name: &str, how: &str) {
        let (program, arguments) = acp_agent::agent_command("acp::the_agent");
        let signed_in = self.path("home/signed-in");
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in\n*--version*) echo '{name} 7.8.9'; exit ;;\n\
             *--login*) touch '{file}'; exit ;;\nesac\n\
             {as_agent}='{how}' {key}='{file}' exec '{program}' {arguments}\n",
            file = signed_in.display(),
            as_agent = acp_agent::AGENT_MODE_VARIABLE,
            key = acp_agent::SIGN_IN_FILE_VARIABLE,
            arguments = arguments.join(" "),
        );
        self.script(name, &script);
    }

    fn script(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Writes the file with which goose has a provider.
    fn set_provider(&self) {
        let file = self.path("config/goose/config.yaml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "GOOSE_PROVIDER: ollama\n").unwrap();
    }

    pub(crate) fn sign_in(&self) {
        std::fs::write(self.path("home/signed-in"), "").unwrap();
    }

    pub(crate) fn configure(&self, text: &str) {
        std::fs::write(self.path("config/agenthost/config.toml"), text).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agenthost"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.path("home"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("AGENTHOST_TEMPORARY", "true")
            .current_dir(self.path("work"))
            .stdin(Stdio::null());
        command
    }

    /// Returns the report of `agenthost agents` about an agent.
    fn report(&self, id: &str) -> Value {
        let output = self.run(&["agents", "--json"]);
        let text = out(&output);
        let mut reports = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let found = reports.find(|report: &Value| report["id"] == id);
        found.unwrap_or_else(|| panic!("{text}{}", err(&output)))
    }
}

#[test]
fn an_installed_agent_is_found_signed_in_and_run() {
    let machine = Machine::new();
    let output = machine.run(&["doctor"]);
    assert!(output.status.success(), "{}", out(&output));
    let line = "not installed: claude, codex, ";
    assert!(out(&output).contains(line), "{}", out(&output));
    machine.install("goose", "modes");
    machine.set_provider();
    let report = machine.report("goose");
    assert_eq!(report["state"], "sign-in", "{report}");
    assert_eq!(report["version"], "1.2.3");
    let hint = report["hint"].as_str().unwrap();
    assert!(hint.starts_with("run `goose configure`, or"), "{hint}");
    let output = machine.run(&["doctor"]);
    assert_eq!(output.status.code(), Some(1), "{}", out(&output));
    assert!(
        out(&output).contains("problem agent goose"),
        "{}",
        out(&output)
    );
    // Running the agent anyway fails with the same hint.
    let output = machine.run(&["run", "--agent", "goose", "say hello"]);
    assert!(err(&output).contains("goose configure"), "{}", err(&output));
    // There are two sign-in methods, and the user has to name one of them.
    let output = machine.run(&["agents", "sign-in", "goose"]);
    assert!(output.status.success(), "{}", err(&output));
    let listed = out(&output);
    assert!(
        listed.contains("key                 by the agent"),
        "{listed}"
    );
    assert!(
        listed.contains("terminal            in this terminal"),
        "{listed}"
    );
    let output = machine.run(&["agents", "sign-in", "goose", "key"]);
    assert!(output.status.success(), "{}", err(&output));
    assert!(err(&output).contains("goose is ready"), "{}", err(&output));
    assert_eq!(machine.report("goose")["state"], "ready");
    let output = machine.run(&["run", "--agent", "goose", "say hello"]);
    assert_eq!(out(&output).trim(), "hello", "{}", err(&output));
    let output = machine.run(&["doctor"]);
    assert!(output.status.success(), "{}", out(&output));
    assert!(
        out(&output).contains("1.2.3, signed in"),
        "{}",
        out(&output)
    );
}

/// goose opens sessions without a provider, and fails the first prompt.
#[test]
fn an_agent_that_is_not_set_up_is_never_ready() {
    let machine = Machine::new();
    machine.install("goose", "");
    machine.sign_in();
    let report = machine.report("goose");
    assert_eq!(report["state"], "sign-in", "{report}");
    let output = machine.run(&["run", "--agent", "goose", "error -32603 Missing provider"]);
    let text = err(&output);
    assert!(text.contains("requires you to sign in: "), "{text}");
    assert!(text.contains("hint: run `goose configure`"), "{text}");
    machine.set_provider();
    assert_eq!(machine.report("goose")["state"], "ready");
}

/// Agents get the environment of the terminal, with which they find their tools.
#[test]
fn an_agent_has_the_environment_of_the_terminal() {
    let machine = Machine::new();
    machine.install("opencode", "");
    machine.sign_in();
    let mut command = machine.command(&["run", "--agent", "opencode", "variable VIRTUAL_ENV"]);
    let output = command.env("VIRTUAL_ENV", "/venv").output().unwrap();
    assert_eq!(out(&output).trim(), "/venv", "{}", err(&output));
}

/// The result of the agent that answers is there although the other one is not.
#[test]
fn an_agent_that_hangs_does_not_hold_up_the_others() {
    let machine = Machine::new();
    for name in ["codex-acp", "qwen", "gemini"] {
        machine.script(name, "#!/bin/sh\nread never\nexec sleep 1000\n");
    }
    machine.install("opencode", "");
    machine.sign_in();
    let mut child = machine
        .command(&["agents"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    let found = lines.find(|line| line.starts_with("opencode"));
    assert!(found.unwrap().contains("ready"));
    let id = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).unwrap();
    let text = err(&child.wait_with_output().unwrap());
    assert!(text.contains("for up to 45 s each"), "{text}");
}

#[test]
fn a_user_signs_in_to_an_agent_in_a_terminal() {
    let machine = Machine::new();
    machine.install("gemini", "");
    let output = machine.run(&["agents", "sign-in", "gemini", "terminal"]);
    assert!(output.status.success(), "{}", err(&output));
    assert!(machine.path("home/signed-in").exists());
    let said = |arguments: &[&str]| err(&machine.run(arguments));
    let nobody = said(&["agents", "sign-in", "nobody"]);
    assert!(nobody.contains("there is no agent `nobody`"), "{nobody}");
    let missing = said(&["agents", "sign-in", "qwen"]);
    assert!(
        missing.contains("is not installed\nhint: npm install"),
        "{missing}"
    );
    let output = machine.run(&["agents", "sign-in", "gemini", "carrier-pigeon"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn broken_agents_are_reported_with_a_reason() {
    let machine = Machine::new();
    machine.script("opencode", "#!/bin/sh\necho 'no config' >&2\nexit 3\n");
    let report = machine.report("opencode");
    assert_eq!(report["state"], "broken");
    let found = report["found"].as_str().unwrap();
    assert!(
        found.contains("does not respond: the agent ended: no config"),
        "{found}"
    );
    // This agent never requests approval, so it is not offered unless the configuration allows it.
    machine.install("pi-acp", "");
    machine.install("pi", "");
    machine.sign_in();
    let report = machine.report("pi");
    assert_eq!(report["state"], "not-offered");
    let output = machine.run(&["run", "--agent", "pi", "say hello"]);
    assert!(
        err(&output).contains("there is no agent `pi`"),
        "{}",
        err(&output)
    );
    machine.configure(
        "default_agent = 'pi'\n[[agents]]\nid = 'pi'\nallow_trusting = true\n\
         [[agents]]\nid = 'opencode'\nenabled = false\n\
         [[agents]]\nid = 'mine'\ncommand = ['not-there']\n",
    );
    assert_eq!(machine.report("pi")["state"], "ready");
    assert_eq!(machine.report("opencode")["state"], "hidden");
    assert_eq!(machine.report("mine")["state"], "broken");
    let output = machine.run(&["run", "say hello"]);
    assert_eq!(out(&output).trim(), "hello", "{}", err(&output));
    let quick = machine.run(&["agents", "--quick"]);
    assert!(
        out(&quick).contains("pi         installed"),
        "{}",
        out(&quick)
    );
    machine.configure("auto_agents = false");
    assert_eq!(out(&machine.run(&["agents"])), "");
}

/// An agent gets its own variables and the keys that it needs, and nothing else from the
/// environment of the host.
#[test]
fn an_agent_gets_the_keys_that_it_needs() {
    let machine = Machine::new();
    machine.install("goose", "");
    machine.sign_in();
    let output = Command::new(env!("CARGO_BIN_EXE_agenthost"))
        .args(["run", "--agent", "goose"])
        .arg("variable GOOSE_MODE;; variable OPENAI_API_KEY;; variable AWS_SECRET_ACCESS_KEY")
        .env_clear()
        .env("PATH", machine.path("bin"))
        .env("HOME", machine.path("home"))
        .env("OPENAI_API_KEY", "-key-")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .env("GOOSE_MODE", "auto")
        .env("AGENTHOST_TEMPORARY", "true")
        .current_dir(machine.path("work"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(
        out(&output).trim(),
        "approve-key-not there",
        "{}",
        err(&output)
    );
    assert_no_process_in(&machine.path("bin"));
}

/// Asserts that no program in a folder is running.
fn assert_no_process_in(folder: &Path) {
    let folder = folder.to_str().unwrap().to_owned();
    let processes = std::fs::read_dir("/proc").unwrap();
    for process in processes.filter_map(Result::ok) {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        assert!(!line.contains(&folder), "{line}");
    }
}
