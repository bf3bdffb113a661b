//! `start`, `stop`, `restart`, `status`, `logs` and `service`, and the host that `run` starts.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::Value;

use crate::commands::{agenthost, err, out};

/// A user whose hosts end with the test.
struct User(tempfile::TempDir);

impl User {
    fn new() -> Self {
        User(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = agenthost(self.path());
        command
            .args(arguments)
            .env_remove("AGENTHOST_TEMPORARY")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Returns the output of a command that must succeed.
    fn ok(&self, arguments: &[&str]) -> Output {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        output
    }

    fn status(&self) -> Value {
        let output = self.run(&["status", "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout).unwrap();
        let code = if status["running"] == true { 0 } else { 3 };
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        status
    }

    fn pid(&self) -> i64 {
        self.status()["pid"].as_i64().unwrap()
    }

    fn signal(&self, signal: nix::sys::signal::Signal) {
        send(self.pid(), signal);
    }
}

impl Drop for User {
    fn drop(&mut self) {
        drop(self.run(&["stop", "--yes"]));
    }
}

fn send(pid: i64, signal: nix::sys::signal::Signal) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
    nix::sys::signal::kill(pid, signal).unwrap();
}

/// Starts a command, and reads its output until a line with a text.
fn start_until(user: &User, arguments: &[&str], text: &str) -> (Child, BufReader<impl Read>) {
    let mut child = user.command(arguments).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "no `{text}`");
    }
    (child, reader)
}

#[test]
fn a_host_in_the_background_is_started_shown_and_stopped() {
    let user = User::new();
    assert_eq!(user.status(), serde_json::json!({ "running": false }));
    let started = user.ok(&["start"]);
    assert!(
        err(&started).contains("runs in the background"),
        "{started:?}"
    );
    let pid = user.pid();
    let again = user.ok(&["start"]);
    assert!(err(&again).contains("already running"), "{again:?}");
    assert_eq!(user.pid(), pid);
    user.ok(&["run", "--yes", "echo hi"]);
    let shown = out(&user.ok(&["status"]));
    assert!(shown.contains(&format!("process {pid}")), "{shown}");
    assert!(shown.contains("sessions  1\n"), "{shown}");
    let log = out(&user.ok(&["logs"]));
    assert!(log.contains("listening"), "{log}");
    assert!(!log.contains("echo hi"), "the log has a message: {log}");
    assert!(err(&user.ok(&["stop"])).contains("stopped"));
    assert_eq!(user.status()["running"], false);
    assert!(err(&user.ok(&["stop"])).contains("no host is running"));
}

/// The running host uses an earlier configuration, so its user can still see and end it.
#[test]
fn an_invalid_configuration_does_not_hide_the_host() {
    let user = User::new();
    user.ok(&["start"]);
    let file = crate::commands::configuration(user.path());
    for text in ["listen = 'nowhere'\n", "[[agents\n", "no_such_key = 1\n"] {
        std::fs::write(&file, text).unwrap();
        let shown = user.ok(&["status"]);
        assert!(
            err(&shown).contains("configuration is invalid"),
            "{shown:?}"
        );
        assert!(out(&shown).contains("process "), "{shown:?}");
        assert!(out(&user.ok(&["logs"])).contains("listening"));
        // A restart would end the host and could not start another one.
        assert!(!user.run(&["restart", "--yes"]).status.success());
    }
    assert!(err(&user.ok(&["stop"])).contains("stopped the host"));
}

#[test]
fn the_data_directory_of_an_invalid_configuration_is_used() {
    let user = User::new();
    let file = crate::commands::configuration(user.path());
    let data = user.path().join("elsewhere");
    let text = format!("data_dir = {data:?}\nauto_agents = false\n");
    std::fs::write(&file, &text).unwrap();
    user.ok(&["start"]);
    std::fs::write(&file, format!("{text}auto_agents = 3\n")).unwrap();
    assert!(err(&user.ok(&["stop"])).contains("stopped the host"));
}

/// Each waits for a host that the other one starts or stops.
#[test]
fn start_and_stop_at_once_both_succeed() {
    let user = User::new();
    for _ in 0..3 {
        user.ok(&["start"]);
        let mut stop = user.command(&["stop", "--yes"]).spawn().unwrap();
        user.ok(&["start"]);
        assert!(stop.wait().unwrap().success());
    }
}

/// The host may have been started elsewhere. Values are in no log, and secrets are not passed.
#[test]
fn a_session_has_the_environment_of_its_terminal() {
    let user = User::new();
    user.ok(&["start"]);
    let line = "echo $VIRTUAL_ENV,$MY_TOKEN";
    let run = |configuration: &[&str]| {
        let arguments = [&["run", "--yes", line], configuration].concat();
        let mut command = user.command(&arguments);
        command.env("VIRTUAL_ENV", "/venv-of-terminal");
        let output = command.env("MY_TOKEN", "a-secret").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        out(&output)
    };
    let shown = run(&[]);
    assert!(
        shown.contains("/venv-of-terminal,\n") || shown.contains("/venv-of-terminal,\r"),
        "{shown}"
    );
    let file = user.path().join("more.toml");
    std::fs::write(
        &file,
        "auto_agents = false\nterminal_variables = ['MY_TOKEN']\n",
    )
    .unwrap();
    let shown = run(&["--config", file.to_str().unwrap()]);
    assert!(shown.contains("/venv-of-terminal,a-secret"), "{shown}");
    let log = out(&user.ok(&["logs"]));
    assert!(!log.contains("venv-of-terminal"), "{log}");
    let mut doctor = user.command(&["doctor"]);
    doctor.env("VIRTUAL_ENV", "/venv-of-terminal");
    let found = out(&doctor.output().unwrap());
    assert!(found.contains("VIRTUAL_ENV"), "{found}");
    assert!(!found.contains("venv-of-terminal"), "{found}");
}

/// Issue: two `run` at once without a host; one failed.
#[test]
fn eight_runs_at_once_start_one_host() {
    let user = User::new();
    let runs: Vec<_> = (0..8)
        .map(|number| {
            let line = format!("echo number-{number}");
            let child = user.command(&["run", "--yes", &line]).spawn().unwrap();
            (number, child)
        })
        .collect();
    let mut started = 0;
    for (number, child) in runs {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(out(&output), format!("number-{number}\n"));
        started += usize::from(err(&output).contains("started a host"));
    }
    assert_eq!(started, 1);
    assert_eq!(user.status()["sessions"]["total"], 8);
}

#[test]
fn a_hangup_does_not_end_a_host_in_the_background() {
    let user = User::new();
    user.ok(&["start"]);
    let pid = user.pid();
    user.signal(nix::sys::signal::Signal::SIGHUP);
    user.ok(&["run", "--yes", "true"]);
    assert_eq!(user.pid(), pid);
    // Its session is not that of the terminal, which would end it.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    if let Ok(stat) = stat {
        let after_name = stat.rsplit(')').next().unwrap();
        let session = after_name.split_whitespace().nth(3).unwrap();
        assert_eq!(session, pid.to_string());
    }
}

#[test]
fn a_temporary_host_ends_with_its_last_client() {
    let user = User::new();
    let output = user.ok(&["run", "--temporary", "--yes", "echo hi"]);
    assert_eq!(out(&output), "hi\n");
    assert_eq!(user.status()["running"], false);
}

/// Issue: a temporary host ended while others still used it.
#[test]
fn a_temporary_host_keeps_running_while_it_has_clients() {
    let user = User::new();
    let line = "echo first; cat";
    let mut first = user.command(&["run", "--temporary", "--yes", line]);
    let mut first = first.stdin(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(first.stdout.take().unwrap());
    let mut text = String::new();
    reader.read_line(&mut text).unwrap();
    let (mut second, _output) = start_until(
        &user,
        &["run", "--yes", "echo second; sleep 1000"],
        "second",
    );
    let pid = user.pid();
    // The command of the first ends at the end of its input, and so does the program.
    drop(first.stdin.take());
    let first = first.wait_with_output().unwrap();
    assert!(err(&first).contains("goes on"), "{first:?}");
    assert_eq!(user.pid(), pid);
    second.kill().unwrap();
    second.wait().unwrap();
    // The turn of a killed client still runs.
    assert_eq!(user.status()["sessions"]["running"], 1);
    user.ok(&["stop", "--yes"]);
}

#[test]
fn a_failed_start_prints_the_reason() {
    let user = User::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = user.run(&["start", "--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).starts_with(&format!("error: listen on {address}: ")),
        "{output:?}"
    );
    assert_eq!(user.status()["running"], false);
    std::fs::write(
        user.path().join("config/agenthost/config.toml"),
        "no_such_key = 1\n",
    )
    .unwrap();
    let output = user.run(&["run", "--yes", "true"]);
    assert!(err(&output).contains("no_such_key"), "{output:?}");
}

#[test]
fn a_restart_keeps_the_options_and_the_sessions() {
    let user = User::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    user.ok(&["start", "--listen", &address]);
    user.ok(&["run", "--yes", "true"]);
    let before = user.status();
    user.ok(&["restart"]);
    let after = user.status();
    assert_eq!(after["url"], before["url"]);
    assert_ne!(after["pid"], before["pid"]);
    assert_eq!(after["sessions"]["total"], 1);
    // A killed host is started again with the same options.
    user.signal(nix::sys::signal::Signal::SIGKILL);
    let killed = before["pid"].as_i64().unwrap();
    assert_ne!(killed, after["pid"].as_i64().unwrap());
    user.ok(&["restart"]);
    assert_eq!(user.status()["url"], before["url"]);
}

#[test]
fn a_host_in_a_terminal_is_not_restarted() {
    let user = User::new();
    let mut host = user.command(&["serve"]).spawn().unwrap();
    let mut lines = BufReader::new(host.stderr.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let output = user.run(&["restart", "--yes"]);
    assert!(
        err(&output).contains("was not started by `agenthost start`"),
        "{output:?}"
    );
    // `stop` ends any host.
    user.ok(&["stop"]);
    assert!(host.wait().unwrap().success());
}

#[test]
fn stop_requires_confirmation_while_a_turn_runs() {
    let user = User::new();
    let (mut run, _output) = start_until(&user, &["run", "--yes", "echo on; sleep 1000"], "on");
    let output = user.run(&["stop"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("a turn is running"), "{output:?}");
    assert!(err(&output).contains("--yes"), "{output:?}");
    assert!(stop_at_terminal(&user, "n\n").contains("the host was not stopped"));
    assert_eq!(user.status()["sessions"]["running"], 1);
    assert!(stop_at_terminal(&user, "perhaps\ny\n").contains("stopped the host"));
    run.kill().unwrap();
    run.wait().unwrap();
}

/// Runs `agenthost stop` in a terminal where a user types, and returns the screen.
fn stop_at_terminal(user: &User, typed: &str) -> String {
    let size = PtySize {
        rows: 24,
        cols: 200,
        pixel_width: 0,
        pixel_height: 0,
    };
    let pty = native_pty_system().openpty(size).unwrap();
    let command = user.command(&["stop"]);
    let mut builder = CommandBuilder::new(command.get_program());
    builder.args(command.get_args());
    for (name, value) in command.get_envs() {
        builder.env(name, value.unwrap_or_default());
    }
    builder.cwd(user.path());
    let mut child = pty.slave.spawn_command(builder).unwrap();
    drop(pty.slave);
    let mut writer = pty.master.take_writer().unwrap();
    writer.write_all(typed.as_bytes()).unwrap();
    let mut screen = Vec::new();
    // Linux reports the end of the output as an error.
    let _end = pty
        .master
        .try_clone_reader()
        .unwrap()
        .read_to_end(&mut screen);
    child.wait().unwrap();
    String::from_utf8_lossy(&screen).into_owned()
}

#[test]
fn a_killed_host_is_replaced_by_the_next_run() {
    let user = User::new();
    user.ok(&["start"]);
    let pid = user.pid();
    send(pid, nix::sys::signal::Signal::SIGKILL);
    // A killed host leaves its file; nothing listens there.
    let output = user.run(&["logs", "-n", "1"]);
    assert_eq!(out(&output).lines().count(), 1);
    let output = user.ok(&["run", "--yes", "echo again"]);
    assert!(err(&output).contains("started a host"), "{output:?}");
    assert_eq!(out(&output), "again\n");
}

#[test]
fn a_service_is_printed_and_needs_its_manager() {
    let user = User::new();
    let printed = out(&user.ok(&[
        "service",
        "install",
        "--print",
        "--listen",
        "127.0.0.1:8123",
    ]));
    assert!(
        printed.contains("serve --listen 127.0.0.1:8123\n"),
        "{printed}"
    );
    assert!(printed.contains("Restart=on-failure"), "{printed}");
    // The manager is a script that records its calls.
    let bin = user.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let calls = user.path().join("calls");
    let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\n", calls.display());
    std::fs::write(bin.join("systemctl"), script).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join("systemctl"), executable).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    for arguments in [["service", "install"], ["service", "remove"]] {
        let done = user
            .command(&arguments)
            .env("PATH", &path)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        let unit = user.path().join("config/systemd/user/agenthost.service");
        assert_eq!(unit.exists(), arguments[1] == "install");
    }
    let calls = std::fs::read_to_string(calls).unwrap();
    assert_eq!(
        calls.lines().collect::<Vec<_>>(),
        [
            "--user daemon-reload",
            "--user enable --now agenthost.service",
            "--user disable --now agenthost.service",
            "--user daemon-reload"
        ]
    );
    let missing = user
        .command(&["service", "install"])
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    assert!(
        err(&missing).contains("`systemctl` is not installed"),
        "{missing:?}"
    );
}
