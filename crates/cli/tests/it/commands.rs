//! `run`, `sessions`, `doctor`, `allow`, `diff` and `serve --stdio`, as a user runs them.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

/// Writes a configuration without the agents of this machine, unless there is a configuration
/// already. Returns its path.
pub(crate) fn configuration(directory: &Path) -> PathBuf {
    let folder = directory.join("config/agenthost");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("config.toml");
    if !file.exists() {
        std::fs::write(&file, "auto_agents = false\n").unwrap();
    }
    file
}

/// Returns a command that uses the files in a directory instead of those of the user.
pub(crate) fn agenthost(directory: &Path) -> Command {
    configuration(directory);
    let mut command = Command::new(env!("CARGO_BIN_EXE_agenthost"));
    command
        .env("XDG_DATA_HOME", directory.join("data"))
        .env("XDG_CONFIG_HOME", directory.join("config"))
        .env("XDG_STATE_HOME", directory.join("state"))
        // A host that a test does not stop would outlive the test otherwise.
        .env("AGENTHOST_TEMPORARY", "true")
        .env("HOME", directory.join("home"))
        .current_dir(directory);
    command
}

/// Starts a command with pipes for its input and output.
pub(crate) fn piped(directory: &Path, arguments: &[&str]) -> Child {
    agenthost(directory)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn run(directory: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = piped(directory, arguments);
    // The command may have ended without reading its input.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    child.wait_with_output().unwrap()
}

/// Starts a command without input and with pipes for its output.
fn begin(directory: &Path, arguments: &[&str]) -> Child {
    agenthost(directory)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A host in another process, which is killed when it is dropped.
pub(crate) struct Host(Child);

impl Host {
    pub(crate) fn start(directory: &Path, arguments: &[&str]) -> Self {
        let mut child = agenthost(directory)
            .arg("serve")
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        assert!(line.contains("listens on"), "{line}");
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Host(child)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        end_host(&mut self.0);
    }
}

impl Host {
    /// Kills the host and its runner, so that neither can end its processes.
    pub(crate) fn kill(self, directory: &Path) {
        let host = nix::unistd::Pid::from_raw(i32::try_from(self.0.id()).unwrap());
        let send = |pid, signal| nix::sys::signal::kill(pid, signal).unwrap();
        // The host would start another runner.
        send(host, nix::sys::signal::Signal::SIGSTOP);
        let runner = agenthost_server::find_runner(&directory.join("data/agenthost")).unwrap();
        let runner = nix::unistd::Pid::from_raw(i32::try_from(runner).unwrap());
        send(runner, nix::sys::signal::Signal::SIGKILL);
        send(host, nix::sys::signal::Signal::SIGKILL);
    }
}

/// Stops a host in an orderly way, so that its agents end with it.
pub(crate) fn end_host(child: &mut Child) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    child.wait().unwrap();
}

#[test]
fn a_turn_runs_in_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("a file"), "").unwrap();
    let output = run(path, &["run", "ls | cat; printf end"], "y\n");
    assert_eq!(out(&output), "a file\nconfig\ndata\nstate\nend\n");
    assert_eq!(output.status.code(), Some(0));
    let asked = err(&output);
    assert!(
        asked.contains("Run in terminal: ls | cat; printf end"),
        "{asked}"
    );
    assert!(asked.contains("1) Allow once"), "{asked}");

    let output = run(path, &["run", "exit 3"], "what?\n1\n");
    assert_eq!(output.status.code(), Some(3));
    let said = err(&output);
    assert!(said.contains("it ended with exit code 3"), "{said}");

    let output = run(path, &["run", "touch ran"], "n\n");
    assert_eq!(output.status.code(), Some(1));
    let output = run(path, &["run", "touch ran"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).contains("`--yes` approves everything"),
        "{output:?}"
    );
    assert!(!path.join("ran").exists());

    let output = run(path, &["run", "--yes", "--cwd", "/", "pwd"], "");
    assert_eq!(out(&output), "/\n");
    let output = run(path, &["run", "--agent", "nobody", "x"], "");
    assert!(err(&output).contains("there is no agent `nobody`"));
    assert_eq!(output.status.code(), Some(1));
    let output = run(path, &["run", "--cwd", "/no/such/folder", "x"], "");
    assert!(err(&output).contains("/no/such/folder"));

    let output = run(path, &["run", "--json", "-y", "echo hi"], "");
    let lines = out(&output);
    let actions: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let named = |name: &str| actions.iter().any(|line| line["action"]["type"] == name);
    assert!(named("chat/turnComplete"), "{lines}");
    // Reducing these lines gives the state that was shown.
    let output = run(path, &["reduce", "-", "--compact"], &lines);
    let state = out(&output);
    assert!(state.contains(r#""output":"hi\r\n""#), "{state}");
}

/// Escape sequences are removed from output that does not go to a terminal. A message that begins
/// with `!` is a command of the user, and requires no approval.
#[test]
fn command_output_is_printed_without_escape_sequences() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let coloured = r"printf '\033[31mred\033[0m 1%%\r\033[31mred\033[0m 2%%\n\033]0;t\007last'";
    let output = run(path, &["run", "--yes", coloured], "");
    assert_eq!(out(&output), "red 2%\nlast\n");
    let output = run(path, &["run", &format!("!{coloured}; pwd > here")], "");
    assert_eq!(out(&output), "red 2%\nlast\n");
    assert_eq!((output.status.code(), &*err(&output)), (Some(0), ""));
    assert!(path.join("here").exists());
    let output = run(path, &["run", "!echo oops; exit 3"], "");
    assert_eq!(out(&output), "oops\n");
    let said = err(&output);
    assert!(said.contains("it ended with exit code 3"), "{said}");
    assert_eq!(output.status.code(), Some(3));
    let output = run(path, &["run", "! "], "");
    let said = err(&output);
    assert!(said.contains("there is no command after `!`"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

/// A command writes more output than fits into any queue: the client is disconnected, and
/// reconnects.
#[test]
fn output_beyond_the_queue_size_arrives_completely() {
    let directory = tempfile::tempdir().unwrap();
    let command = "seq 1 400000";
    let output = run(directory.path(), &["run", "--yes", command], "");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.last(), Some(&"400000"));
    assert_eq!(lines.len(), 400_000, "{}", err(&output));
}

#[test]
fn commands_share_the_host_that_runs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let socket = path.join("host.sock");
    for arguments in [vec![], vec!["--socket", socket.to_str().unwrap()]] {
        let host = Host::start(path, &arguments);
        let output = run(path, &["run", "--yes", "echo hello"], "");
        assert_eq!(out(&output), "hello\n", "{}", err(&output));
        let output = run(path, &["doctor"], "");
        let pid = format!("process {}", host.0.id());
        assert!(out(&output).contains(&pid), "{}", out(&output));
        assert_eq!(output.status.code(), Some(0));
    }
    // Both hosts were killed, and their host files are left. The sessions still exist.
    let output = run(path, &["sessions"], "");
    let listed = out(&output);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let row: Vec<_> = listed.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(row[1..3], ["idle", "shell"], "{listed}");
    assert!(listed.contains("  echo hello\n"), "{listed}");
    let output = run(path, &["sessions", "--json"], "");
    let first: Value = serde_json::from_str(out(&output).lines().next().unwrap()).unwrap();
    assert_eq!(first["title"], "echo hello");
}

#[test]
fn doctor_reports_problems() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let output = run(path, &["doctor"], "");
    assert_eq!(output.status.code(), Some(0));
    assert!(out(&output).contains("will be created at the first start"));
    let config = path.join("config/agenthost");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "lissten = 3").unwrap();
    let output = run(path, &["doctor", "--json"], "");
    assert_eq!(output.status.code(), Some(1));
    let wrong = out(&output);
    assert!(wrong.contains("did you mean `listen`?"), "{wrong}");
    let output = run(path, &["run", "x"], "");
    assert!(err(&output).contains("did you mean `listen`?"));
    std::fs::write(
        config.join("config.toml"),
        "auto_agents = false\n[limits]\nrate = 10",
    )
    .unwrap();
    // Other users can read the data directory.
    let data = path.join("data/agenthost");
    std::fs::create_dir_all(&data).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&data, open).unwrap();
    let output = run(path, &["doctor"], "");
    assert!(out(&output).contains("chmod 700"), "{}", out(&output));
    std::fs::remove_dir(&data).unwrap();
    // The database file is not a database.
    run(path, &["run", "-y", "true"], "");
    std::fs::write(
        data.join("agenthost.db"),
        "no database at all, and long enough",
    )
    .unwrap();
    let output = run(path, &["doctor"], "");
    assert!(out(&output).contains("is damaged"), "{}", out(&output));
    assert_eq!(output.status.code(), Some(1));
}

/// TRN-10: the host serves one client on standard input and output, and exits with it.
#[test]
fn serve_stdio_serves_one_client() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = agenthost(directory.path())
        .args(["serve", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |message: Value| -> Value {
        writeln!(input, "{message}").unwrap();
        serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap()
    };
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "channel": "ahp-root://", "protocolVersions": ["1.0.0"], "clientId": "a",
    }});
    assert_eq!(ask(initialize)["result"]["protocolVersion"], "1.0.0");
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    assert_eq!(ask(ping)["result"], Value::Null);
    // No other client can reach this host, and the error says so.
    let output = run(directory.path(), &["sessions"], "");
    assert!(
        err(&output).contains("start it with `--socket`"),
        "{output:?}"
    );
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// The second host on a directory reports which process uses the directory.
#[test]
fn a_second_host_reports_the_process_that_uses_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let host = Host::start(directory.path(), &[]);
    let output = run(directory.path(), &["serve"], "");
    assert_eq!(output.status.code(), Some(1));
    let holder = format!("is in use by process {}", host.0.id());
    assert!(err(&output).contains(&holder), "{}", err(&output));
}

#[test]
fn a_turn_is_cancelled_from_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = begin(
        directory.path(),
        &["run", "--yes", "echo started; sleep 1000"],
    );
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "started");
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// A reader that starts late gets the whole output, even if it is more than any queue holds.
#[test]
fn a_slow_reader_gets_the_complete_output() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = begin(directory.path(), &["run", "--yes", "seq 1 2000000"]);
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(text.lines().count(), 2_000_000, "{}", err(&output));
    assert!(text.ends_with("\n2000000\n"));
}

/// A reader that closes the pipe, such as `head`, ends the turn and its command.
#[test]
fn a_closed_stdout_ends_the_turn() {
    let directory = tempfile::tempdir().unwrap();
    let _host = Host::start(directory.path(), &[]);
    let mut child = begin(
        directory.path(),
        &["run", "--yes", "yes agenthost-test-of-head"],
    );
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "agenthost-test-of-head\n");
    drop(reader);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(ends("agenthost-test-of-head"));
}

/// The host is killed and started again, at another address. `run` reconnects and reports the end
/// of the turn, and the processes of the turn are killed.
#[test]
fn run_reconnects_to_a_restarted_host() {
    for (prefix, time) in [("", "98765.4321"), ("!", "98765.1234")] {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::start(directory.path(), &[]);
        // The command ignores the end of its terminal.
        let line = format!("{prefix}trap '' HUP; echo started; sleep {time}");
        let mut child = begin(directory.path(), &["run", "--yes", &line]);
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let mut shown = String::new();
        reader.read_line(&mut shown).unwrap();
        assert_eq!(shown, "started\n");
        host.kill(directory.path());
        assert!(runs(time));
        let _host = Host::start(directory.path(), &[]);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = err(&output);
        assert!(
            said.contains("the host stopped while this turn was running"),
            "{said}"
        );
        assert!(ends(time));
    }
}

/// Returns `true` if a command ends within five seconds. That may take a moment: it gets SIGTERM
/// before SIGKILL.
fn ends(what: &str) -> bool {
    (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        !runs(what)
    })
}

/// Returns `true` if a process other than `agenthost` has this text in its command line.
fn runs(what: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap();
    let lines = processes.filter_map(|entry| {
        let path = entry.ok()?.path();
        std::fs::read_to_string(path.join("cmdline")).ok()
    });
    lines
        .into_iter()
        .any(|line| line.contains(what) && !line.contains("agenthost\0"))
}

/// Folders that a user allows are listed, stored and removed.
#[test]
fn granted_folders_are_listed_stored_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = std::fs::canonicalize(directory.path()).unwrap();
    std::fs::create_dir(path.join("notes")).unwrap();
    let uri = format!("file://{}/notes", path.display());
    let output = run(&path, &["allow"], "");
    assert!(err(&output).contains("`agenthost allow DIR` allows more"));
    let output = run(&path, &["allow", "notes"], "");
    assert_eq!(out(&output), format!("read {uri}\n"), "{}", err(&output));
    let output = run(&path, &["allow", "--write", "notes"], "");
    assert_eq!(out(&output), format!("write {uri}\n"), "{}", err(&output));
    let output = run(&path, &["allow"], "");
    assert_eq!(out(&output), format!("write {uri}\n"), "it is remembered");
    let output = run(&path, &["allow", "nowhere"], "");
    assert!(
        err(&output).contains("folder `nowhere`"),
        "{}",
        err(&output)
    );
    std::fs::remove_dir(path.join("notes")).unwrap();
    let output = run(&path, &["allow", "--remove", "notes"], "");
    assert!(
        output.status.success() && out(&output).is_empty(),
        "{}",
        err(&output)
    );
    let output = run(&path, &["allow", "--remove", "notes"], "");
    assert!(
        err(&output).contains("is not an allowed folder"),
        "{}",
        err(&output)
    );
}

#[test]
fn diff_prints_the_changes_of_the_last_turn() {
    let directory = tempfile::tempdir().unwrap();
    let project = directory.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let project = project.display().to_string();
    let none = run(directory.path(), &["diff", "--cwd", &project], "");
    assert_eq!(none.status.code(), Some(1));
    assert!(
        err(&none).contains("there is no session in this folder"),
        "{}",
        err(&none)
    );
    let line = "echo one > a.txt";
    let ran = run(
        directory.path(),
        &["run", "--yes", "--cwd", &project, line],
        "",
    );
    assert!(ran.status.success(), "{}", err(&ran));
    let shown = run(directory.path(), &["diff", "--cwd", &project], "");
    assert!(shown.status.success(), "{}", err(&shown));
    let patch = out(&shown);
    assert!(
        patch.contains("+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n"),
        "{patch}"
    );
    let arguments = ["diff", "--cwd", &project, "--of", "session", "--stat"];
    let shown = run(directory.path(), &arguments, "");
    assert_eq!(out(&shown), "+1 -0        a.txt\n", "{}", err(&shown));
    let listed = run(directory.path(), &["sessions", "--json"], "");
    let listed: Value = serde_json::from_str(out(&listed).lines().next().unwrap()).unwrap();
    assert_eq!(
        listed["changes"],
        json!({"additions": 1, "deletions": 0, "files": 1})
    );
    let arguments = ["diff", "--cwd", &project, "--of", "uncommitted"];
    let refused = run(directory.path(), &arguments, "");
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        err(&refused).contains("not in a git repository"),
        "{}",
        err(&refused)
    );
    let arguments = ["diff", "--cwd", &project, "--turn", "nine"];
    let refused = run(directory.path(), &arguments, "");
    assert_eq!(refused.status.code(), Some(1), "{}", out(&refused));
    let reason = err(&refused);
    let (reason, turns) = reason
        .split_once("\nhint: the turns are, the latest first\n")
        .unwrap();
    assert!(
        reason.ends_with("the session has no turn `nine`"),
        "{reason}"
    );
    let (id, message) = turns.trim().split_once("  ").unwrap();
    assert_eq!(message, line);
    let arguments = ["diff", "--cwd", &project, "--turn", id];
    assert_eq!(out(&run(directory.path(), &arguments, "")), patch);
}

#[test]
fn without_git_only_changesets_are_unavailable() {
    let directory = tempfile::tempdir().unwrap();
    let bin = directory.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let shell = std::fs::canonicalize("/bin/sh").unwrap();
    std::os::unix::fs::symlink(shell, bin.join("sh")).unwrap();
    let command = |arguments: &[&str]| {
        let mut command = agenthost(directory.path());
        command
            .env("PATH", &bin)
            .args(arguments)
            .stdin(Stdio::null());
        command.output().unwrap()
    };
    let ran = command(&["run", "--yes", "echo hello"]);
    assert!(ran.status.success(), "{}", err(&ran));
    assert!(out(&ran).contains("hello"));
    let shown = command(&["diff"]);
    assert_eq!(shown.status.code(), Some(1));
    assert!(
        err(&shown).contains("git is not installed"),
        "{}",
        err(&shown)
    );
}

#[test]
fn standard_input_is_forwarded_to_the_command() {
    let directory = tempfile::tempdir().unwrap();
    let ran = run(
        directory.path(),
        &["run", "--yes", "cat; exit 3"],
        "hello\nyou\n",
    );
    assert_eq!(ran.status.code(), Some(3), "{}", err(&ran));
    assert!(
        out(&ran).matches("hello\n").count() == 2 && out(&ran).matches("you\n").count() == 2,
        "{}",
        out(&ran)
    );
    let ran = run(directory.path(), &["run", "!cat"], "");
    assert_eq!(ran.status.code(), Some(0), "{}", err(&ran));
    let ran = run(
        directory.path(),
        &["run", "read a; echo got $a"],
        "y\nmine\n",
    );
    assert!(out(&ran).contains("got mine"), "{}", out(&ran));
}
