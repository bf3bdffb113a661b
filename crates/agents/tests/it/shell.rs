//! The shell agent.

use std::sync::Arc;
use std::time::Duration;

use agenthost_agents::{Agent, AgentSupervisor, SessionContext, SessionFuture, ShellAgent};
use agenthost_core::agent::{AgentCommand, AgentEvent, AgentNotes};
use agenthost_core::{CommandLine, Input, PtyCommand};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::terminal::{TerminalAction, TerminalInput};
use agenthost_protocol::uri::Uri;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use tokio::sync::mpsc;

use crate::bench::{Bench, chat, session};

#[tokio::test]
async fn a_command_runs_after_approval_and_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let mut bench = Bench::open(path.to_str().unwrap()).await;
    bench.prompt("t1", "pwd; echo oops >&2; exit 3");
    assert_eq!(
        bench.until("ready").await,
        [
            "start shell",
            "ready Run `pwd; echo oops >&2; exit 3` and asks"
        ]
    );
    bench.approve("t1", "once");
    let events = bench.until("end").await;
    assert_eq!(
        events.first().unwrap(),
        "terminal pwd; echo oops >&2; exit 3"
    );
    let output: String = events
        .iter()
        .filter_map(|event| event.strip_prefix("data "))
        .map(|text| text.trim_matches('"').replace("\\r\\n", "\n"))
        .collect();
    assert_eq!(output, format!("{}\noops\n", path.display()));
    let last: Vec<_> = events.iter().rev().take(3).collect();
    assert_eq!(last[0], "end t1");
    // The call completes with its output before the terminal exits.
    assert_eq!(last[1], "exited Some(3)");
    assert!(
        last[2].starts_with("complete false {\"exitCode\":3,"),
        "{last:?}"
    );
    // The result has plain line ends, not those of the terminal.
    assert!(last[2].contains("\\noops\\n\""), "{last:?}");
    // The approval was for one command: the next one requires approval again.
    bench.prompt("t2", "true");
    assert_eq!(
        bench.until("ready").await.last().unwrap(),
        "ready Run `true` and asks"
    );
}

/// TER-5, TER-11: a user answers the question of a command in its terminal.
#[tokio::test]
async fn a_running_command_reads_terminal_input() {
    let mut bench = Bench::open("/").await;
    bench.prompt("t1", "stty size; read answer; stty size; echo got:$answer");
    bench.until("ready").await;
    bench.approve("t1", "once");
    let (terminal, state, command) = loop {
        if let AgentEvent::TerminalOpened {
            terminal,
            state,
            command,
        } = bench.event().await
        {
            break (terminal, state, command);
        }
    };
    let line = "stty size; read answer; stty size; echo got:$answer";
    assert_eq!(command, Some(CommandLine(line.to_owned())));
    assert_eq!(state.is_pty, Some(true));
    assert_eq!((state.cols, state.rows), (Some(120), Some(30)));
    let events = bench.until("data").await;
    assert_eq!(events.last().unwrap(), "data \"30 120\\r\\n\"");
    let mut apply = |terminal: &Uri, command| {
        bench.command(AgentCommand::UseTerminal {
            chat: chat(),
            terminal: terminal.clone(),
            command,
        });
    };
    let typed = |text: &str| {
        let data = text.to_owned();
        PtyCommand::Write(TerminalInput { data })
    };
    apply(&Uri::from("ahp-terminal:/other"), typed("no\n"));
    apply(&terminal, PtyCommand::Resize { cols: 90, rows: 20 });
    apply(&terminal, typed("yes\n"));
    let events = bench.until("end").await.concat();
    assert!(events.contains("20 90"), "{events}");
    assert!(events.contains("got:yes"), "{events}");
    // Input for a terminal that has exited is ignored.
    bench.command(AgentCommand::UseTerminal {
        chat: chat(),
        terminal,
        command: typed("late"),
    });
    bench.prompt("t2", "help");
    bench.until("end t2").await;
}

#[tokio::test]
async fn all_commands_can_be_approved_for_a_session() {
    let mut bench = Bench::open("/").await;
    bench.prompt("t1", "true");
    bench.until("ready").await;
    bench.approve("t1", "session");
    bench.until("end t1").await;
    bench.prompt("t2", "echo again");
    let events = bench.until("end t2").await;
    assert_eq!(events[1], "ready Run `echo again` and runs");
    assert!(
        events.contains(&"data \"again\\r\\n\"".to_owned()),
        "{events:?}"
    );
}

#[tokio::test]
async fn a_denied_command_does_not_run() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::open(directory.path().to_str().unwrap()).await;
    bench.prompt("t1", "touch ran");
    bench.until("ready").await;
    bench.deny("t1");
    assert_eq!(
        bench.until("end").await,
        ["part", "text \"The command was not run.\"", "end t1"]
    );
    assert!(!directory.path().join("ran").exists());
}

#[tokio::test]
async fn help_describes_the_agent() {
    let mut bench = Bench::open("/").await;
    for (turn, text) in [("t1", "help"), ("t2", "  ")] {
        bench.prompt(turn, text);
        let events = bench.until("end").await;
        assert!(events[1].contains("This agent has no model"), "{events:?}");
    }
}

fn is_alive(pid: i32) -> bool {
    kill(Pid::from_raw(pid), None).is_ok()
}

/// Waits until a process is gone, which may take the kernel a moment.
async fn wait_until_gone(pid: i32) {
    for _ in 0..400 {
        if !is_alive(pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("process {pid} is still there");
}

/// Runs a command that starts another process. Returns the id of that process.
async fn start_sleep_command(bench: &mut Bench, trap: &str) -> i32 {
    bench.prompt("t1", &format!("{trap} sleep 1000 & echo pid $!; wait"));
    bench.until("ready").await;
    bench.approve("t1", "once");
    let line = bench.until("data").await.pop().unwrap();
    let digits: String = line.chars().filter(char::is_ascii_digit).collect();
    let pid = digits.parse().unwrap();
    assert!(is_alive(pid));
    pid
}

#[tokio::test]
async fn cancelling_a_turn_ends_its_processes() {
    let mut bench = Bench::open("/").await;
    let pid = start_sleep_command(&mut bench, "").await;
    bench.cancel("t1");
    // The host has already ended the turn, so only the terminal reports its exit.
    assert_eq!(bench.next().await, "exited None");
    wait_until_gone(pid).await;
    bench.prompt("t2", "help");
    assert_eq!(bench.until("end").await.last().unwrap(), "end t2");
}

#[tokio::test]
async fn a_command_that_ignores_sigterm_is_killed() {
    let mut bench = Bench::open("/").await;
    let pid = start_sleep_command(&mut bench, "trap '' TERM;").await;
    bench.cancel("t1");
    assert_eq!(bench.next().await, "exited None");
    wait_until_gone(pid).await;
}

#[tokio::test]
async fn closing_the_session_or_the_host_ends_all_processes() {
    let mut bench = Bench::open("/").await;
    let pid = start_sleep_command(&mut bench, "").await;
    bench.command(AgentCommand::Close);
    wait_until_gone(pid).await;

    let mut bench = Bench::open("/").await;
    let pid = start_sleep_command(&mut bench, "").await;
    drop(bench);
    wait_until_gone(pid).await;

    let mut bench = Bench::open("/").await;
    let pid = start_sleep_command(&mut bench, "").await;
    bench.agents.stop(Duration::from_secs(5)).await;
    wait_until_gone(pid).await;
}

/// TER-15: sending a command to the background ends its call and its turn. The command keeps
/// running during other turns of its chat.
#[tokio::test]
async fn a_command_continues_in_the_background() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::open(directory.path().to_str().unwrap()).await;
    bench.prompt("t1", "echo begun; read line; echo got:$line; exit 3");
    bench.until("ready").await;
    bench.approve("t1", "session");
    let terminal = opened_terminal(&mut bench).await;
    bench.until("data").await;
    let detach = |terminal: &Uri| AgentCommand::ContinueInBackground {
        chat: chat(),
        terminal: terminal.clone(),
        output: "begun\n".to_owned(),
    };
    bench.command(detach(&Uri::from("ahp-terminal:/other")));
    bench.command(detach(&terminal));
    bench.command(detach(&terminal));
    let events = bench.until("end t1").await;
    assert!(
        events
            .iter()
            .any(|event| event.starts_with("complete true")),
        "{events:?}"
    );
    // Neither another turn nor its cancellation ends the command.
    bench.prompt("t2", "sleep 1000");
    bench.until("terminal sleep 1000").await;
    bench.cancel("t2");
    bench.until("exited").await;
    bench.command(AgentCommand::UseTerminal {
        chat: chat(),
        terminal,
        command: PtyCommand::Write(TerminalInput {
            data: "typed\n".to_owned(),
        }),
    });
    let events = bench.until("exited").await;
    assert!(events.concat().contains("got:typed"), "{events:?}");
    assert_eq!(events.last().unwrap(), "exited Some(3)");
}

/// TER-18, TER-21: closing the terminal or the chat of a command in the background ends it.
#[tokio::test]
async fn closing_a_terminal_or_chat_ends_its_background_command() {
    for close in [true, false] {
        let mut bench = Bench::open("/").await;
        bench.prompt("t1", "trap '' HUP TERM; sleep 1000 & echo pid $!; wait");
        bench.until("ready").await;
        bench.approve("t1", "once");
        let terminal = opened_terminal(&mut bench).await;
        let line = bench.until("data").await.pop().unwrap();
        let digits: String = line.chars().filter(char::is_ascii_digit).collect();
        let pid = digits.parse().unwrap();
        bench.command(AgentCommand::ContinueInBackground {
            chat: chat(),
            terminal: terminal.clone(),
            output: String::new(),
        });
        bench.until("end t1").await;
        assert!(is_alive(pid));
        bench.command(match close {
            true => AgentCommand::UseTerminal {
                chat: chat(),
                terminal,
                command: PtyCommand::Close,
            },
            false => AgentCommand::CloseChat { chat: chat() },
        });
        assert_eq!(bench.until("exited").await.last().unwrap(), "exited None");
        wait_until_gone(pid).await;
    }
}

/// Waits for a terminal to be opened, and returns its URI.
async fn opened_terminal(bench: &mut Bench) -> Uri {
    loop {
        if let AgentEvent::TerminalOpened { terminal, .. } = bench.event().await {
            return terminal;
        }
    }
}

/// The event queue is bounded: a command with a lot of output waits for the reader, and no output
/// is lost.
#[tokio::test]
async fn a_flood_of_output_is_delayed_and_not_lost() {
    let mut bench = Bench::open("/").await;
    bench.prompt(
        "t1",
        "head -c 3000000 /dev/zero | tr '\\0' x; printf '\\360\\237\\246\\200'",
    );
    bench.until("ready").await;
    bench.approve("t1", "once");
    let (mut bytes, mut crab) = (0, false);
    loop {
        match bench.event().await {
            AgentEvent::Terminal { action, .. } => {
                if let TerminalAction::Data(data) = *action {
                    bytes += data.data.len();
                    crab |= data.data.ends_with('🦀');
                }
            }
            AgentEvent::TurnEnded { .. } => break,
            _ => {}
        }
    }
    assert_eq!(bytes, 3_000_004);
    assert!(crab);
}

#[tokio::test]
async fn a_missing_working_directory_is_an_error() {
    let mut bench = Bench::open("/no/such/directory").await;
    bench.prompt("t1", "true");
    bench.until("ready").await;
    bench.approve("t1", "once");
    let last = bench.until("error").await.pop().unwrap();
    assert_eq!(
        last,
        "error t1: the working directory `/no/such/directory` is not a folder"
    );
}

#[tokio::test]
async fn opening_an_unknown_agent_reports_it_as_stopped() {
    let (sender, _inputs) = mpsc::channel(4);
    let mut agents = AgentSupervisor::new(sender);
    agents.add(Arc::new(ShellAgent::default()));
    let open = AgentCommand::Open {
        directories: Vec::new(),
        config: None,
        notes: AgentNotes::new(),
    };
    let answer = agents.send_command(&session(), &ProviderId::from("nobody"), open);
    let Some(Input::Agent {
        event: AgentEvent::Stopped { error },
        ..
    }) = answer
    else {
        panic!("expected to be told: {answer:?}");
    };
    assert_eq!(error.message, "there is no agent `nobody`");
    assert_eq!(agents.agents().count(), 1);
}

/// An agent whose session panics.
struct Broken;

impl Agent for Broken {
    fn info(&self) -> AgentInfo {
        AgentInfo {
            provider: ProviderId::from("broken"),
            ..ShellAgent::default().info()
        }
    }

    fn run_session(&self, mut session: SessionContext) -> SessionFuture {
        Box::pin(async move {
            session.commands.recv().await;
            panic!("a mistake of the agent")
        })
    }
}

#[tokio::test]
async fn a_panicking_agent_is_reported_and_affects_no_other() {
    let (sender, mut inputs) = mpsc::channel(4);
    let mut agents = AgentSupervisor::new(sender);
    agents.add(Arc::new(Broken));
    let open = AgentCommand::Open {
        directories: Vec::new(),
        config: None,
        notes: AgentNotes::new(),
    };
    let provider = ProviderId::from("broken");
    assert!(agents.send_command(&session(), &provider, open).is_none());
    let Some(Input::Agent {
        event: AgentEvent::Stopped { error },
        ..
    }) = inputs.recv().await
    else {
        panic!("expected to be told");
    };
    assert_eq!(error.message, "the task of the agent panicked");
}

/// A host ends the processes that a killed host left behind, and no others.
#[tokio::test]
async fn processes_of_a_killed_host_are_ended() {
    use std::os::unix::process::CommandExt;
    let directory = tempfile::tempdir().unwrap();
    let sleep = || {
        let mut command = std::process::Command::new("sleep");
        command.arg("1000").process_group(0);
        command.spawn().unwrap()
    };
    let (mut left, mut other) = (sleep(), sleep());
    let began = |id: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        stat.split_whitespace().nth(21).unwrap().to_owned()
    };
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let note = |id: u32, began: &str| {
        let record = format!("{began} {} ", boot.trim());
        std::fs::write(directory.path().join(id.to_string()), record).unwrap();
    };
    note(left.id(), &began(left.id()));
    // The note has the right process id, but another start time: it is about another process.
    note(other.id(), "1");
    std::fs::write(directory.path().join("not a number"), "1").unwrap();
    ShellAgent::with_pid_dir(directory.path()).on_host_start();
    assert!(!left.wait().unwrap().success());
    assert!(other.try_wait().unwrap().is_none());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    other.kill().unwrap();
    other.wait().unwrap();
}
