//! The host of another machine, with a program in place of ssh.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use portable_pty::CommandBuilder;

use crate::commands::{agenthost, err, out, run};
use crate::pty::{Pty, command};

/// Two machines: a local one, and one that a program in place of ssh reaches.
struct Machines {
    local: tempfile::TempDir,
    remote: tempfile::TempDir,
}

impl Machines {
    fn new() -> Self {
        let machines = Machines {
            local: tempfile::tempdir().unwrap(),
            remote: tempfile::tempdir().unwrap(),
        };
        let (local, remote) = (machines.local.path(), machines.remote.path());
        crate::commands::configuration(remote);
        std::fs::create_dir_all(remote.join("home")).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_agenthost"));
        let folder = program.parent().unwrap().display();
        let remote = remote.display();
        // The command is the last argument, and the name of the machine the one before.
        let script = format!(
            "#!/bin/sh\necho \"$*\" >> {}/ssh-calls\nwhile [ \"$1\" != -- ]; do shift; done\n\
             [ \"$2\" = box ] || {{ echo \"ssh: Could not resolve hostname $2\" >&2; exit 255; }}\n\
             echo welcome to the box\n\
             export XDG_DATA_HOME={remote}/data XDG_CONFIG_HOME={remote}/config \
             XDG_STATE_HOME={remote}/state HOME={remote}/home PATH=\"{folder}:$PATH\"\n\
             unset AGENTHOST_TEMPORARY EDITOR\ncd \"$HOME\"\nexec sh -c \"$3\"\n",
            local.display(),
        );
        let ssh = local.join("bin/ssh");
        std::fs::create_dir_all(local.join("bin")).unwrap();
        std::fs::write(&ssh, script).unwrap();
        std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
        machines
    }

    fn path_variable(&self) -> String {
        let path = std::env::var("PATH").unwrap();
        format!("{}:{path}", self.local.path().join("bin").display())
    }

    fn run(&self, arguments: &[&str]) -> std::process::Output {
        let mut command = agenthost(self.local.path());
        command
            .args(arguments)
            .env("PATH", self.path_variable())
            .env("EDITOR", "local-editor")
            .stdin(std::process::Stdio::null());
        command.output().unwrap()
    }

    fn terminal(&self, arguments: &[&str]) -> Pty {
        let mut command: CommandBuilder = command(self.local.path(), arguments);
        command.env("PATH", self.path_variable());
        Pty::start(command, 24, 100)
    }

    fn home(&self) -> PathBuf {
        self.remote.path().join("home").canonicalize().unwrap()
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        drop(run(self.remote.path(), &["stop", "--yes"], ""));
    }
}

#[test]
fn a_command_runs_at_another_machine() {
    let machines = Machines::new();
    let arguments = ["run", "--host", "ssh:box", "--agent", "shell", "--yes"];
    let message = "pwd; echo \"<$EDITOR>\"; exit 3";
    let output = machines.run(&[&arguments[..], &[message]].concat());
    let home = machines.home();
    assert_eq!(
        out(&output),
        format!("{}\n<>\n", home.display()),
        "{output:?}"
    );
    assert_eq!(output.status.code(), Some(3));
    // The host stays, and this machine has none.
    let listed = out(&machines.run(&["sessions", "--host", "ssh:box"]));
    assert!(listed.contains("pwd; echo"), "{listed}");
    assert!(!machines.local.path().join("data").exists());
    let output = machines.run(&[
        "run",
        "--host",
        "ssh:box:/",
        "--agent",
        "shell",
        "-y",
        "pwd",
    ]);
    assert_eq!(out(&output), "/\n", "{output:?}");
}

#[test]
fn an_unreachable_machine_is_reported_with_the_words_of_ssh() {
    let machines = Machines::new();
    let output = machines.run(&["run", "--host", "ssh:nowhere", "x"]);
    assert_eq!(output.status.code(), Some(1));
    let said = err(&output);
    assert!(
        said.contains("connect to the host of `nowhere` by ssh"),
        "{said}"
    );
    assert!(
        said.contains("Could not resolve hostname nowhere"),
        "{said}"
    );
    let output = machines.run(&["sessions", "--host", "ssh:-oProxyCommand=x"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_session_of_another_machine_is_attached_to_and_survives_its_host() {
    let machines = Machines::new();
    let mut terminal = machines.terminal(&["attach", "--host", "ssh:box", "--new"]);
    terminal.wait("(/help lists the commands)");
    terminal.line("echo over ssh");
    terminal.wait("1) Allow once");
    terminal.line("y");
    terminal.wait("\nover ssh\n");
    let remote = machines.remote.path();
    assert!(run(remote, &["stop", "--yes"], "").status.success());
    terminal.wait("lost the connection to the host; reconnecting");
    // A host that was stopped is not started again by a client that waits for it.
    assert_eq!(run(remote, &["status"], "").status.code(), Some(3));
    assert!(run(remote, &["start"], "").status.success());
    terminal.wait("reconnected to the host");
    terminal.line("/quit");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn the_interface_shows_the_sessions_of_another_machine() {
    let machines = Machines::new();
    let arguments = ["run", "--host", "ssh:box", "--agent", "shell", "-y"];
    machines.run(&[&arguments[..], &["echo remote"]].concat());
    let mut terminal = machines.terminal(&["--host", "ssh:box"]);
    terminal.wait("echo remote");
    let screen = terminal.wait("│ remote");
    assert!(screen.starts_with("● "), "{screen}");
    terminal.keys("\u{1b}");
    terminal.wait("q quit");
    terminal.keys("qq");
    assert_eq!(terminal.exit_code(), 0);
    let calls = std::fs::read_to_string(machines.local.path().join("ssh-calls")).unwrap();
    let last = calls.lines().last().unwrap();
    assert!(
        last.contains("BatchMode=yes") && last.ends_with("relay --no-start"),
        "{calls}"
    );
}
