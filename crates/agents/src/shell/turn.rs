//! One turn of the shell agent: ask, run, report.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agenthost_core::agent::{AgentCommand, AgentEvent, Decision};
use agenthost_protocol::chat::{
    ConfirmationOption, ConfirmationOptionKind, ErrorPart, TerminalCommandResult, ToolCallResult,
    ToolResultContent, ToolResultTerminal, ToolResultText,
};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::{ConfirmationOptionId, ToolCallId, TurnId};
use agenthost_protocol::list::List;
use agenthost_protocol::terminal::{
    TerminalAction, TerminalClaim, TerminalData, TerminalExited, TerminalLifecycle,
    TerminalSessionClaim, TerminalState,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use agenthost_workspace::path_of;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::command::Running;
use crate::agent::{Events, HostGone};
use crate::mapper::{ToolStart, TurnEvent, TurnMapper};

const HELP: &str = "\
I am the shell: no model, just your commands. Each message is a command line; I ask before I run it, in the first
directory of this session, and show its output as it comes.

- Allow once, or for the whole session, or deny.
- Cancel the turn to end a command and everything it started.
- There is nothing to read from: commands that ask questions get no answer.
";

/// How much of the output goes into the result, from the end.
const TAIL: usize = 4_000;

/// A turn, while it runs.
pub(super) struct Turn {
    pub(super) session: Uri,
    pub(super) chat: Uri,
    pub(super) turn: TurnId,
    /// What the host wants of the turn.
    pub(super) commands: mpsc::Receiver<AgentCommand>,
    pub(super) events: Events,
    pub(super) directory: Option<Uri>,
    /// Where it is noted that a command runs.
    pub(super) notes: Option<Arc<Path>>,
    /// Whether the user allowed everything for the session.
    pub(super) always: Arc<AtomicBool>,
    pub(super) mapper: TurnMapper,
}

/// How a wait in the middle of a turn ended.
enum Waited {
    Decided(Decision),
    /// The turn, or the session, is over.
    Ended,
}

impl Turn {
    /// Asks, runs, reports.
    pub(super) async fn work(mut self, text: &str) -> Result<(), HostGone> {
        let line = text.trim();
        if line.is_empty() || line == "help" {
            self.say(TurnEvent::Text(HELP.to_owned())).await?;
            return self.end(None).await;
        }
        let always = self.always.load(Ordering::Relaxed);
        let call = ToolCallId::from("command");
        let start = ToolStart {
            id: call.clone(),
            name: "shell".to_owned(),
            display_name: "Shell".to_owned(),
            message: format!("Run {}", short(line)).into(),
            input: Some(line.to_owned()),
            question: (!always).then(|| ToolStart::ask("Run in terminal", options())),
        };
        self.say(TurnEvent::Tool(Box::new(start))).await?;
        if !always {
            match self.wait().await {
                Waited::Ended => return Ok(()),
                Waited::Decided(Decision::Approved { option, .. }) => {
                    if option.is_some_and(|option| option.as_str() == SESSION) {
                        self.always.store(true, Ordering::Relaxed);
                    }
                }
                Waited::Decided(_) => {
                    self.mapper.refused(&call);
                    let text = "I did not run it.".to_owned();
                    self.say(TurnEvent::Text(text)).await?;
                    return self.end(None).await;
                }
            }
        }
        self.run(call, line).await
    }

    async fn run(mut self, call: ToolCallId, line: &str) -> Result<(), HostGone> {
        let directory = match self.directory.as_ref().map(path_of) {
            Some(None) => {
                let reason = "the working directory of this session is not a local folder";
                return self.end(Some(failure("directory", reason))).await;
            }
            Some(found) => found,
            None => None,
        };
        if let Some(missing) = directory.as_ref().filter(|path| !path.is_dir()) {
            let reason = format!("the working directory `{}` is no folder", missing.display());
            return self.end(Some(failure("directory", &reason))).await;
        }
        let mut running = match Running::start(line, directory.as_ref(), self.notes.as_deref()) {
            Ok(running) => running,
            Err(error) => {
                let reason = format!("start `sh`: {error}");
                return self.end(Some(failure("spawn", &reason))).await;
            }
        };
        let terminal = self.open_terminal(&call, line, directory).await?;
        let block = |result| {
            ToolResultContent::Terminal(ToolResultTerminal {
                resource: terminal.clone(),
                title: short(line),
                is_pty: Some(false),
                result,
            })
        };
        let shown = TurnEvent::ToolContent(call.clone(), vec![block(None)]);
        self.say(shown).await?;
        let mut tail = Tail::default();
        let mut start = Start::now();
        loop {
            tokio::select! {
                output = running.read() => match output {
                    Ok(Some(text)) => {
                        tail.push(&text);
                        start.pace(text.len()).await;
                        let data = TerminalAction::Data(TerminalData { data: text });
                        self.tell_terminal(&terminal, data).await?;
                    }
                    // Nothing more to read, for whatever reason: wait for the end.
                    Ok(None) | Err(_) => break,
                },
                waited = self.wait() => match waited {
                    // It runs already; there is nothing to decide.
                    Waited::Decided(_) => {}
                    Waited::Ended => {
                        running.stop().await;
                        let exited = TerminalAction::Exited(TerminalExited { exit_code: None });
                        return self.tell_terminal(&terminal, exited).await;
                    }
                },
            }
        }
        let exit_code = running.wait().await.unwrap_or_default();
        let exited = TerminalAction::Exited(TerminalExited { exit_code });
        self.tell_terminal(&terminal, exited).await?;
        let content = vec![
            ToolResultContent::Text(ToolResultText {
                text: tail.text.clone(),
            }),
            block(Some(TerminalCommandResult {
                exit_code,
                preview: Some(tail.text),
                truncated: Some(tail.truncated),
            })),
        ];
        let success = exit_code == Some(0);
        let ended = match exit_code {
            Some(code) => format!("it ended with exit code {code}"),
            None => "it was killed".to_owned(),
        };
        let result = ToolCallResult {
            success,
            past_tense_message: format!("Ran {}", short(line)).into(),
            content: Some(content),
            structured_content: None,
            error: (!success).then(|| Json::from_iter([("message", ended)])),
        };
        self.say(TurnEvent::ToolDone(call, Box::new(result)))
            .await?;
        self.end(None).await
    }

    async fn open_terminal(
        &self,
        call: &ToolCallId,
        line: &str,
        directory: Option<PathBuf>,
    ) -> Result<Uri, HostGone> {
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let (chat, name) = (encode(self.chat.as_str()), encode(self.turn.as_str()));
        let terminal = Uri::from(format!("ahp-terminal:/{chat}/{name}"));
        let state = TerminalState {
            title: short(line),
            cwd: directory.and_then(|_| self.directory.clone()),
            cols: None,
            rows: None,
            content: List::new(),
            lifecycle: TerminalLifecycle::Running,
            claim: TerminalClaim::Session(TerminalSessionClaim {
                session: self.session.clone(),
                chat: self.chat.clone(),
                turn_id: Some(self.turn.clone()),
                tool_call_id: Some(call.clone()),
            }),
            supports_command_detection: None,
            is_pty: Some(false),
        };
        let opened = AgentEvent::TerminalOpened {
            terminal: terminal.clone(),
            state: Box::new(state),
        };
        self.events.send(opened).await?;
        Ok(terminal)
    }

    async fn tell_terminal(&self, terminal: &Uri, action: TerminalAction) -> Result<(), HostGone> {
        let event = AgentEvent::Terminal {
            terminal: terminal.clone(),
            action: Box::new(action),
        };
        self.events.send(event).await
    }

    async fn say(&mut self, event: TurnEvent) -> Result<(), HostGone> {
        self.events.say(&self.chat, &mut self.mapper, event).await
    }

    async fn end(&self, error: Option<ErrorPart>) -> Result<(), HostGone> {
        self.events.end(&self.chat, &self.turn, error).await
    }

    /// Waits for something that matters to the turn.
    async fn wait(&mut self) -> Waited {
        loop {
            match self.commands.recv().await {
                Some(AgentCommand::Decide { decision, .. }) => return Waited::Decided(decision),
                Some(AgentCommand::Cancel { turn, .. }) if turn == self.turn => {
                    return Waited::Ended;
                }
                // Cutting off the running turn cancels it.
                Some(
                    AgentCommand::Rewind { .. }
                    | AgentCommand::CloseChat { .. }
                    | AgentCommand::Close,
                )
                | None => {
                    return Waited::Ended;
                }
                Some(
                    AgentCommand::Open { .. }
                    | AgentCommand::Prompt { .. }
                    | AgentCommand::Resume { .. }
                    | AgentCommand::Cancel { .. }
                    | AgentCommand::Answer { .. }
                    | AgentCommand::OpenChat { .. }
                    | AgentCommand::ToolCompleted { .. }
                    | AgentCommand::Steer { .. }
                    | AgentCommand::Attached { .. }
                    | AgentCommand::Configure { .. }
                    | AgentCommand::Directories { .. }
                    | AgentCommand::ClientTools { .. },
                ) => {}
            }
        }
    }
}

const SESSION: &str = "session";

fn options() -> Vec<ConfirmationOption> {
    let option = |id: &str, label: &str, kind, group| ConfirmationOption {
        id: ConfirmationOptionId::from(id),
        label: label.to_owned(),
        kind,
        group: Some(group),
    };
    use ConfirmationOptionKind::{Approve, Deny};
    vec![
        option("once", "Allow once", Approve, 0),
        option(SESSION, "Allow everything in this session", Approve, 0),
        option("deny", "Deny", Deny, 1),
    ]
}

/// The beginning of the output. One that is a flood waits a moment for those
/// who want to see it from its start: they have to subscribe first.
struct Start {
    announced: Instant,
    sent: usize,
}

impl Start {
    const FLOOD: usize = 256 * 1024;
    const MOMENT: Duration = Duration::from_millis(100);

    fn now() -> Self {
        Start {
            announced: Instant::now(),
            sent: 0,
        }
    }

    async fn pace(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.sent > Self::FLOOD {
            tokio::time::sleep_until(self.announced + Self::MOMENT).await;
        }
    }
}

/// The end of the output, as much as goes into the result.
#[derive(Default)]
struct Tail {
    text: String,
    truncated: bool,
}

impl Tail {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        let excess = self.text.len().saturating_sub(TAIL);
        if excess > 0 {
            let cut = (excess..self.text.len()).find(|at| self.text.is_char_boundary(*at));
            self.text.drain(..cut.unwrap_or(self.text.len()));
            self.truncated = true;
        }
    }
}

fn failure(kind: &str, message: &str) -> ErrorPart {
    ErrorPart {
        error: ErrorInfo {
            error_type: kind.to_owned(),
            message: message.to_owned(),
            stack: None,
            meta: None,
        },
        resumable: None,
    }
}

/// A command line as a title: its first line, not too long.
fn short(line: &str) -> String {
    const LENGTH: usize = 80;
    let first = line.lines().next().unwrap_or_default();
    let mut title: String = first.chars().take(LENGTH).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    title
}
