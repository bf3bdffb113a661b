//! `run` in a real terminal: commands that read keys, sizes, approvals and agents.

use std::path::Path;

use agenthost_testkit::acp_agent;
use nix::sys::signal::{Signal, kill};
use serde_json::json;

use crate::commands::{Host, err, out, run};
use crate::pty::{Pty, command, program};

/// The options of an approval request of the scripted agent.
const OPTIONS: &str = r#"[{"optionId": "yes", "name": "Do it", "kind": "allow_once"}, {"optionId": "no", "name": "Never", "kind": "reject_once"}]"#;

/// Configures the scripted agent beside the shell, and a hook that denies commands.
fn configure(path: &Path, hook: Option<&str>) {
    let (program, arguments) = acp_agent::agent_command("acp::the_agent");
    let mut command = vec![program];
    command.extend(arguments);
    let mut text = format!(
        "auto_agents = false\n[[agents]]\nid = 'scripted'\ncommand = {command:?}\nenv = {{ {} = 'plain' }}\n",
        acp_agent::AGENT_MODE_VARIABLE
    );
    if let Some(hook) = hook {
        let plugin = path.join("plugin");
        std::fs::create_dir_all(plugin.join("hooks")).unwrap();
        let hooks = json!({"hooks": {"PreToolUse": [{"command": hook}]}});
        std::fs::write(plugin.join("hooks/hooks.json"), hooks.to_string()).unwrap();
        text.push_str(&format!("[[plugins]]\npath = {plugin:?}\n"));
    }
    std::fs::write(crate::commands::configuration(path), text).unwrap();
}

fn ask_bash(command: &str) -> String {
    let call = json!({"toolCallId": "k", "title": "Bash", "kind": "execute", "rawInput": {"command": command}});
    format!(r#"ask {{"toolCall": {call}, "options": {OPTIONS}}}"#)
}

#[test]
fn a_hook_that_denies_a_call_does_not_end_the_turn() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, Some("echo forbidden by the team >&2; exit 2"));
    let _host = Host::start(path, &[]);
    let message = format!("{};; say the end", ask_bash("ls"));
    for arguments in [
        &["run", "--agent", "scripted", "--yes"][..],
        &["run", "--agent", "scripted"],
    ] {
        let output = run(path, &[arguments, &[&message]].concat(), "");
        let said = err(&output);
        assert!(said.contains("denied: "), "{arguments:?}: {said}");
        assert!(
            said.contains("forbidden by the team"),
            "{arguments:?}: {said}"
        );
        assert!(!said.contains("refused"), "{arguments:?}: {said}");
        assert!(!said.contains("1) "), "{arguments:?}: {said}");
        assert!(
            out(&output).ends_with("the end\n"),
            "{arguments:?}: {output:?}"
        );
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}

/// The agent goes on after a denial, so the turn succeeds; a command that was denied did not run.
#[test]
fn a_denied_call_is_no_failure_of_an_agent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, None);
    let _host = Host::start(path, &[]);
    let message = format!("{};; say the end", ask_bash("ls"));
    let output = run(path, &["run", "--agent", "scripted", &message], "n\n");
    assert!(out(&output).ends_with("the end\n"), "{output:?}");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = run(path, &["run", "--agent", "shell", "touch ran"], "n\n");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn a_password_is_not_shown_and_input_is_echoed_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let script = "stty -echo; printf 'Password: '; read secret; stty echo; echo; echo length ${#secret}; \
                  printf 'Name: '; read name; echo hello $name";
    let mut terminal = Pty::run(path, &["run", "--yes", script]);
    terminal.wait("Password:");
    terminal.line("hunter2");
    terminal.wait("length 7");
    terminal.wait("Name:");
    terminal.line("Ada");
    let screen = terminal.wait("hello Ada");
    assert!(!terminal.raw().contains("hunter2"), "{screen}");
    assert_eq!(screen.matches("Ada").count(), 2, "{screen}");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn keys_reach_the_command_at_once_and_ctrl_c_interrupts_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let script = "stty -icanon -echo; printf 'Key: '; key=$(dd bs=1 count=1 2>/dev/null); echo \"<$key>\"; \
                  trap 'echo trapped; exit 7' INT; echo waiting; while :; do sleep 0.05; done";
    let mut terminal = Pty::run(path, &["run", "--yes", script]);
    terminal.wait("Key:");
    terminal.keys("k");
    terminal.wait("<k>");
    terminal.wait("waiting");
    terminal.keys("\u{3}");
    terminal.wait("trapped");
    assert_eq!(terminal.exit_code(), 7);
}

#[test]
fn a_command_has_the_size_of_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let script = "trap 'stty size' WINCH; printf 'ready '; read line; stty size; \
                  while [ ! -e stop ]; do sleep 0.05; done";
    let mut terminal = Pty::start(command(path, &["run", "--yes", script]), 33, 77);
    terminal.wait("ready");
    terminal.keys("\r");
    terminal.wait("33 77");
    terminal.resize(20, 90);
    terminal.wait("20 90");
    std::fs::write(path.join("stop"), "").unwrap();
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn a_command_begins_with_the_size_of_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for message in ["stty size", "!stty size"] {
        let arguments = ["run", "--agent", "shell", "--yes", message];
        let mut terminal = Pty::start(command(path, &arguments), 33, 77);
        terminal.wait("33 77");
        assert_eq!(terminal.exit_code(), 0);
    }
}

/// The terminal has its old mode after each way to end.
#[test]
fn the_terminal_is_restored_when_run_ends() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let binary = env!("CARGO_BIN_EXE_agenthost");
    for (ending, code) in [("exit", 0), ("cancel", 130), ("terminate", 143)] {
        let command = "printf ready; read line";
        let script = format!(
            "sh -c 'echo $$ > pid; exec {binary} run --yes \"{command}\"'; echo; echo code $?; stty -a"
        );
        let script = script
            .replace("; echo; echo code", "; code=$?; echo; echo code")
            .replace("code $?", "code $code");
        let mut terminal = Pty::start(program(path, "sh", &["-c", &script]), 24, 100);
        terminal.wait("ready");
        match ending {
            "exit" => terminal.keys("\r"),
            "cancel" => terminal.keys("\u{1c}"),
            _ => {
                let pid = std::fs::read_to_string(path.join("pid")).unwrap();
                let pid = nix::unistd::Pid::from_raw(pid.trim().parse().unwrap());
                kill(pid, Signal::SIGTERM).unwrap();
            }
        }
        let screen = terminal.wait("-extproc");
        assert!(
            screen.contains(&format!("code {code}")),
            "{ending}: {screen}"
        );
        let modes: Vec<_> = screen.split_whitespace().collect();
        for mode in ["icanon", "echo", "isig", "icrnl"] {
            assert!(modes.contains(&mode), "{ending}, {mode}: {screen}");
        }
        terminal.exit_code();
    }
}

#[test]
fn an_approval_shows_the_command_its_folder_and_the_options() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, None);
    let message = format!(
        "think I will look;; {};; say the end",
        ask_bash("ls -la\necho two")
    );
    let mut terminal = Pty::run(path, &["run", "--agent", "scripted", &message]);
    let screen = terminal.wait("1) Do it (allow once)");
    assert!(screen.contains("Bash:\n  ls -la\n  echo two\n"), "{screen}");
    assert!(screen.contains("  in "), "{screen}");
    assert!(!screen.contains('{'), "{screen}");
    assert!(screen.contains("I will look"), "{screen}");
    terminal.line("1");
    terminal.wait("the end");
    assert_eq!(terminal.exit_code(), 0);
    assert!(
        terminal.raw().contains("\u{1b}[1mBash"),
        "{:?}",
        terminal.raw()
    );
}

/// What is typed before a question is printed cannot be its answer.
#[test]
fn lines_before_a_question_do_not_answer_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, None);
    let _host = Host::start(path, &[]);
    let message = format!("{};; say , the end", ask_bash("touch one"));
    let mut terminal = Pty::run(path, &["run", "--agent", "scripted", &message]);
    terminal.line("y");
    terminal.wait("1) Do it (allow once)");
    terminal.line("n");
    let screen = terminal.wait("the end");
    // The agent prints the id of the option that it got.
    assert!(screen.contains("no, the end"), "{screen}");
}

#[test]
fn an_edit_is_shown_as_a_diff() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, None);
    let file = path.join("notes.txt");
    std::fs::write(&file, "old line\nsame\n").unwrap();
    let call = json!({"toolCallId": "e", "title": "Edit notes.txt", "kind": "edit",
        "content": [{"type": "diff", "path": file, "oldText": "old line\nsame\n", "newText": "new line\nsame\n"}]});
    let message = format!(r#"ask {{"toolCall": {call}, "options": {OPTIONS}}}"#);
    for (no_color, has_color) in [(None, true), (Some("1"), false)] {
        let mut run = command(path, &["run", "--agent", "scripted", &message]);
        if let Some(value) = no_color {
            run.env("NO_COLOR", value);
        }
        let mut terminal = Pty::start(run, 40, 100);
        let screen = terminal.wait("1) Do it");
        assert!(screen.contains("\n-old line\n+new line\n"), "{screen}");
        terminal.line("2");
        terminal.exit_code();
        let raw = terminal.raw();
        assert_eq!(raw.contains("\u{1b}[31m-old line"), has_color, "{raw:?}");
        assert_eq!(raw.contains("\u{1b}[32m+new line"), has_color, "{raw:?}");
        assert_eq!(raw.contains("\u{1b}[1m"), has_color, "{raw:?}");
    }
}

#[test]
fn tool_calls_without_approval_are_one_line_each_and_the_plan_is_at_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, None);
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "r", "title": "Read main.rs", "kind": "read", "status": "in_progress", "rawInput": {"path": "main.rs"}});
    let done =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "r", "status": "completed"});
    let plan = json!({"sessionUpdate": "plan", "entries": [{"content": "look around", "priority": "high", "status": "completed"}]});
    let message =
        format!("think about it;; update {call};; update {done};; update {plan};; say the end");
    let output = run(path, &["run", "--agent", "scripted", &message], "");
    assert_eq!(out(&output), "the end\n", "{output:?}");
    let said = err(&output);
    let lines: Vec<_> = said.lines().collect();
    let position = |text: &str| {
        let found = lines.iter().position(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("no {text:?} in {said}"))
    };
    assert!(position("about it") < position("- Read main.rs"), "{said}");
    assert!(
        position("- Read main.rs") < position("[x] look around"),
        "{said}"
    );
    assert_eq!(said.matches("Read main.rs").count(), 1, "{said}");
}

#[test]
fn the_agent_is_asked_for_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, None);
    let _host = Host::start(path, &[]);
    // A script gets the default agent, and is told so.
    let output = run(path, &["run", "echo from the shell"], "y\n");
    assert!(out(&output).contains("from the shell"), "{output:?}");
    assert!(
        err(&output).contains("--agent NAME names one"),
        "{output:?}"
    );
    let mut terminal = Pty::run(path, &["run", "say from the agent"]);
    let screen = terminal.wait("2) shell");
    assert!(screen.contains("1) scripted"), "{screen}");
    terminal.line("what");
    terminal.wait_until("question again", |screen| {
        screen.matches("2) shell").count() == 2
    });
    terminal.line("");
    terminal.wait("from the agent");
    assert_eq!(terminal.exit_code(), 0);
    // The answer is remembered, also for scripts.
    let mut terminal = Pty::run(path, &["run", "say again"]);
    terminal.wait("again");
    assert_eq!(terminal.exit_code(), 0);
    assert!(
        !terminal.raw().contains("2) shell"),
        "{}",
        terminal.screen()
    );
    let output = run(path, &["run", "say and again"], "");
    assert_eq!(out(&output), "and again\n", "{output:?}");
    let output = run(
        path,
        &["run", "--agent", "shell", "--yes", "echo once more"],
        "",
    );
    assert_eq!(out(&output), "once more\n", "{output:?}");
}

#[test]
fn the_end_of_input_chooses_no_agent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, None);
    let _host = Host::start(path, &[]);
    let mut terminal = Pty::run(path, &["run", "touch ran"]);
    terminal.wait("2) shell");
    terminal.keys("\u{4}");
    let screen = terminal.wait("no agent was chosen");
    assert_eq!(terminal.exit_code(), 1, "{screen}");
    let output = run(path, &["sessions"], "");
    assert!(err(&output).contains("there are no sessions"), "{output:?}");
}

/// Text of a model, and titles, cannot control the terminal.
#[test]
fn escape_sequences_of_an_agent_do_not_reach_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, None);
    let _host = Host::start(path, &[]);
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m";
    let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": format!("model {evil} text")}});
    let thought = json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": format!("thought {evil}\n")}});
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "r", "title": format!("Tool {evil}"), "kind": "read", "status": "completed"});
    let title = json!({"sessionUpdate": "session_info_update", "title": format!("Title {evil}")});
    let lines = [title, thought, call, chunk].map(|update| format!("update {update}"));
    let message = lines.join(";;");
    let mut terminal = Pty::run(path, &["run", "--agent", "scripted", &message]);
    terminal.exit_code();
    let raw = terminal.raw();
    assert!(raw.contains("model ") && raw.contains("Tool "), "{raw:?}");
    let mut attach = Pty::run(path, &["attach", "--all"]);
    attach.wait("(/help lists the commands)");
    attach.wait("model ");
    attach.line("/quit");
    attach.exit_code();
    for raw in [raw, attach.raw()] {
        assert!(
            !raw.contains("owned\u{7}") && !raw.contains("\u{1b}[2J"),
            "{raw:?}"
        );
        assert!(!raw.contains('\u{9b}'), "{raw:?}");
    }
}
