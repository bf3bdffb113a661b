//! `attach`, as users run it in several terminals.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;

use agenthost_server::{Server, ServerConfig, serve};
use agenthost_testkit::ScriptedAgent;

use crate::commands::{Host, err, piped, run};
use crate::pty::Pty;

/// A terminal that is attached to a session, with its output.
pub(crate) struct Terminal {
    child: Child,
    shown: std::sync::Arc<std::sync::Mutex<String>>,
}

impl Terminal {
    pub(crate) fn attach(directory: &Path, arguments: &[&str]) -> Self {
        let mut child = piped(directory, &[&["attach"], arguments].concat());
        let shown = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let sources: [Box<dyn std::io::Read + Send>; 2] = [Box::new(out), Box::new(err)];
        for source in sources {
            let shown = std::sync::Arc::clone(&shown);
            std::thread::spawn(move || {
                for line in BufReader::new(source).lines().map_while(Result::ok) {
                    shown.lock().unwrap().push_str(&format!("{line}\n"));
                }
            });
        }
        let terminal = Terminal { child, shown };
        terminal.wait("(/help lists the commands)");
        terminal
    }

    pub(crate) fn shown(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    pub(crate) fn wait(&self, text: &str) {
        for _ in 0..1_200 {
            if self.shown().contains(text) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(25));
        }
        panic!("`{text}` is not in:\n{}", self.shown());
    }

    pub(crate) fn type_line(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn quit(mut self) -> String {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
        self.shown()
    }
}

/// One terminal starts a turn and another one approves it. Both show it, and so does a terminal
/// that attaches later.
#[test]
fn two_terminals_share_a_session() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let output = run(path, &["attach"], "");
    assert!(err(&output).contains("`agenthost attach --new` creates one"));

    let mut first = Terminal::attach(path, &["--new"]);
    let mut second = Terminal::attach(path, &[]);
    first.type_line("echo hello from the first");
    second.wait("> echo hello from the first");
    second.wait("1) Allow once");
    second.type_line("maybe");
    second.wait("not a valid answer");
    second.type_line("/queue maybe");
    second.wait("queued until the turn ends");
    second.type_line("2");
    for terminal in [&first, &second] {
        terminal.wait("\nhello from the first\n");
        // A message that was queued by mistake is run like any other command.
        terminal.wait("> maybe");
    }
    first.wait("Ran maybe: it ended with exit code 127");
    second.type_line("sleep 1000");
    first.wait("> sleep 1000");
    first.type_line("/steer");
    first.wait("usage: /steer TEXT");
    first.type_line("/steer hurry");
    first.type_line("/queue later");
    first.type_line("/waiting");
    first.wait(" queued:\nlater\n");
    first.type_line("/cancel");
    for terminal in [&first, &second] {
        terminal.wait("\ncancelled\n");
        terminal.wait("queued until the next turn ends");
    }
    // The steering message was for the turn, and is dropped with it.
    first.type_line("/waiting");
    first.wait("1) queued:\nlater\n");
    second.type_line("/drop");
    second.wait("dropped ");
    first.type_line("/steer too late");
    first.wait("no turn is running");
    first.type_line("/nonsense");
    first.wait("unknown command");
    second.type_line("echo again");
    first.wait("\nagain\n");
    first.quit();
    // Later commands required no approval: the user has allowed them for the session.
    assert_eq!(second.quit().matches("1) Allow once").count(), 2);

    let mut third = Terminal::attach(path, &["--all"]);
    third.wait("\nhello from the first\n");
    third.wait("\nagain\n");
    third.type_line("/quit");
    third.quit();
}

/// Starts a host with the scripted agent in this process.
fn scripted(directory: &Path) -> (tokio::runtime::Runtime, Server) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut config = ServerConfig::new(directory.join("data/agenthost"));
    config.agents = vec![Arc::new(ScriptedAgent::default())];
    let server = runtime.block_on(serve(config)).unwrap();
    (runtime, server)
}

/// Questions of every kind are answered at a terminal. The terminal asks again after an invalid
/// answer, and drops a question that another terminal has answered.
#[test]
fn input_requests_are_answered_at_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (runtime, server) = scripted(path);
    let mut first = Terminal::attach(path, &["--new"]);
    let mut second = Terminal::attach(path, &[]);
    let questions = r#"[
        {"kind": "text", "id": "name", "message": "Name?", "required": true, "min": 2},
        {"kind": "integer", "id": "age", "message": "Age?", "required": true},
        {"kind": "boolean", "id": "sure", "message": "Sure?", "defaultValue": true},
        {"kind": "single-select", "id": "one", "message": "Which one?", "options": [{"id": "a", "label": "Apple"}, {"id": "b", "label": "Pear"}]},
        {"kind": "multi-select", "id": "many", "message": "Which?", "options": [{"id": "a", "label": "Apple"}, {"id": "b", "label": "Pear"}]}
    ]"#
    .replace('\n', "");
    first.type_line(&format!(
        r#"form f {{"message": "About you", "questions": {questions}}} ;; wait ;; + say thank you ;; - say oh well"#
    ));
    for terminal in [&first, &second] {
        terminal.wait("\nAbout you\nName?\ntext; /decline declines\n");
    }
    first.type_line("");
    first.type_line("x");
    first.wait("refused: question `name` asks for at least 2 characters");
    first.type_line("Ada");
    second.wait("\na whole number; /decline declines\n");
    second.type_line("many");
    second.wait("not a valid answer");
    second.type_line("1.5");
    second.type_line("36");
    first.wait("y or n [y]; Enter takes the default");
    first.type_line("");
    first.wait("1) Apple   2) Pear");
    first.type_line("3");
    first.type_line("pear");
    first.wait("(several with commas)");
    first.type_line("1, Pear");
    for terminal in [&first, &second] {
        terminal.wait("\nthank you\n");
    }
    first.type_line(r#"form f {"message": "Once more", "questions": [{"kind": "text", "id": "x", "message": "Why?"}]} ;; wait ;; - say oh well"#);
    second.wait("text; Enter skips it; /decline declines");
    second.type_line("/decline");
    first.wait("\noh well\n");
    first.type_line("/decline");
    first.wait("no question is open");
    first.type_line("call c read ask ;; wait ;; + done c ;; call d read run ;; chat/toolCallComplete {\"toolCallId\": \"d\", \"requiresResultConfirmation\": true, \"result\": {\"success\": true, \"pastTenseMessage\": \"Read it\"}} ;; wait ;; + say used ;; - say unused");
    second.wait("1) Allow once   2) Allow in this session   3) Never");
    second.type_line("1");
    second.wait("May the agent see the result?");
    second.type_line("n");
    first.wait("\nunused\n");
    first.type_line("//anything");
    first.wait("> /anything");
    first.quit();
    second.quit();
    runtime.block_on(server.stop()).unwrap();
}

/// The host is killed and restarted. Attached terminals report it, send what was typed in the
/// meantime, and can quit at any time.
#[test]
fn attached_terminals_reconnect_to_a_restarted_host() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let host = Host::start(path, &[]);
    let mut first = Terminal::attach(path, &["--new"]);
    let mut second = Terminal::attach(path, &[]);
    drop(host);
    for terminal in [&first, &second] {
        terminal.wait("lost the connection to the host; reconnecting");
    }
    first.type_line("echo typed meanwhile");
    second.type_line("echo lost");
    second.type_line("/quit");
    assert!(second.quit().contains("the last line was not sent"));
    let host = Host::start(path, &[]);
    first.wait("reconnected to the host");
    first.wait("Run in terminal: echo typed meanwhile");
    first.type_line("y");
    first.wait("\ntyped meanwhile\n");
    // A terminal without unsent input can quit, too.
    drop(host);
    first.quit();
}

/// `run` asks the questions of the agent, too. Without input it declines, and with `--yes` it
/// accepts only if all questions can be skipped.
#[test]
fn run_answers_or_declines_input_requests() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (runtime, server) = scripted(path);
    let form = |required: bool| {
        format!(
            r#"form f {{"questions": [{{"kind": "text", "id": "x", "message": "Why?", "required": {required}, "min": 2}}]}} ;; wait ;; + say accepted ;; - say declined"#
        )
    };
    let said = |output: &std::process::Output| String::from_utf8(output.stdout.clone()).unwrap();
    let mut terminal = Pty::run(path, &["run", &form(true)]);
    terminal.wait("text; /decline declines");
    terminal.line("x");
    terminal.wait("refused: question `x`");
    terminal.line("because");
    terminal.wait("accepted");
    assert_eq!(terminal.exit_code(), 0);
    let output = run(path, &["run", &form(true)], "");
    assert_eq!(said(&output), "declined\n", "{}", err(&output));
    let output = run(path, &["run", "--yes", &form(true)], "");
    assert_eq!(said(&output), "declined\n", "{}", err(&output));
    let output = run(path, &["run", "--yes", &form(false)], "");
    assert_eq!(said(&output), "accepted\n", "{}", err(&output));
    runtime.block_on(server.stop()).unwrap();
}
