//! Terminals in which the host runs commands for an agent.
//!
//! All terminal events reach the task of the session through one bounded queue. The task
//! publishes them and keeps the end of the output for the agent. The agent receives plain text
//! without escape sequences: programs write colours and overwrite lines in a terminal, but not
//! in a pipe, and a model has no use for them. Clients receive the complete output.

mod entry;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

use agenthost_core::{BACKGROUND_NOTE, CommandLine, PtyCommand, TerminalEnd, TerminalEvent};
use agenthost_protocol::terminal::{
    OutputTail, TerminalAction, TerminalCwdChanged, TerminalExited, TerminalSessionClaim,
    TerminalTitleChanged,
};
use agenthost_protocol::uri::{Uri, encode_path_segment};
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::text::truncate_chars;
use agenthost_workspace::{PtyProgram, Terminal, TerminalOptions};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use entry::{TerminalEntry, TerminalLease, TerminalPhase, exit_status};

use super::command::parse_command;
use super::{ServiceError, text_param};
use crate::transport::{JsonParams, RequestResponder};

/// The maximum number of terminals of a session that the agent has not released.
const MAX_AGENT_TERMINALS: usize = 32;

/// The maximum number of output bytes that are kept of a terminal for the agent.
const MAX_AGENT_OUTPUT_BYTES: usize = 1024 * 1024;

/// The maximum number of pending `terminal/wait_for_exit` requests of one terminal.
const MAX_EXIT_WAITERS: usize = 32;

/// The capacity of the event queue of a session. When it is full, the terminals block, and with
/// them the programs that write to them.
const TERMINAL_EVENT_QUEUE: usize = 8;

/// The terminals of a session. Dropping them kills all processes in them.
#[derive(Debug)]
pub(crate) struct AgentTerminals {
    /// The time when the session began, in milliseconds. It distinguishes terminal URIs from
    /// those of earlier runs.
    started_at: u128,
    created_count: u64,
    terminals: BTreeMap<String, TerminalEntry>,
    sender: mpsc::Sender<TerminalNotice>,
    events: mpsc::Receiver<TerminalNotice>,
}

/// An event of a terminal.
#[derive(Debug)]
pub(crate) struct TerminalNotice {
    /// The id that the agent knows the terminal by.
    pub(crate) id: String,
    pub(crate) event: TerminalEvent,
}

/// The agent session that requests a terminal, and the purpose of the terminal.
#[derive(Debug)]
pub(crate) struct TerminalRequester {
    /// The id of the agent session.
    pub(crate) agent_session: String,
    /// The session, chat and turn of the terminal.
    pub(crate) claim: TerminalSessionClaim,
}

/// A terminal that was opened for the agent.
#[derive(Debug)]
pub(crate) struct OpenedTerminal {
    /// The id that the agent knows the terminal by.
    pub(crate) id: String,
    pub(crate) uri: Uri,
    pub(crate) command_line: CommandLine,
}

/// A terminal event, as an action to publish.
#[derive(Debug)]
pub(crate) struct TerminalReport {
    pub(crate) agent_session: String,
    pub(crate) uri: Uri,
    pub(crate) action: TerminalAction,
    /// The exit of the terminal, if this event is its exit.
    pub(crate) end: Option<TerminalEnd>,
}

impl AgentTerminals {
    pub(super) fn new() -> Self {
        let (sender, events) = mpsc::channel(TERMINAL_EVENT_QUEUE);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        AgentTerminals {
            started_at: now.unwrap_or_default().as_millis(),
            created_count: 0,
            terminals: BTreeMap::new(),
            sender,
            events,
        }
    }

    /// Runs the command that an agent requests, in the given environment.
    pub(crate) fn create(
        &mut self,
        requester: TerminalRequester,
        mut options: TerminalOptions,
        environment: Vec<(OsString, OsString)>,
        params: &JsonParams,
    ) -> Result<OpenedTerminal, ServiceError> {
        let counted = self
            .terminals
            .values()
            .filter(|entry| entry.counts_against_limit());
        if counted.count() >= MAX_AGENT_TERMINALS {
            let reason =
                format!("there are {MAX_AGENT_TERMINALS} terminals already: release one first");
            return Err(ServiceError::Refused(reason));
        }
        let (exec, command_line) = parse_command(params, environment)?;
        options.program = PtyProgram::Exec(exec);
        self.created_count += 1;
        let id = format!("terminal-{}", self.created_count);
        let chat = encode_path_segment(requester.claim.chat.as_str());
        let uri = Uri::from(format!(
            "ahp-terminal:/{chat}/{}-{}",
            self.started_at, self.created_count
        ));
        let (sender, name) = (self.sender.clone(), id.clone());
        let send_notice = move |event| {
            let id = name.clone();
            let sent = sender.blocking_send(TerminalNotice { id, event });
            sent.ignore_closed();
        };
        let terminal = Terminal::open(&options, send_notice);
        let terminal = terminal.map_err(|error| {
            ServiceError::Failed(format!("run `{}`: {error}", command_line.title()))
        })?;
        let limit = params.get("outputByteLimit").and_then(Value::as_u64);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        let entry = TerminalEntry {
            requester,
            uri: uri.clone(),
            output: OutputTail::new(
                limit
                    .unwrap_or(MAX_AGENT_OUTPUT_BYTES)
                    .min(MAX_AGENT_OUTPUT_BYTES),
            ),
            phase: TerminalPhase::Running(terminal),
            kill_deadline: None,
            exit_waiters: Vec::new(),
            lease: TerminalLease::Held,
            is_in_background: false,
        };
        self.terminals.insert(id.clone(), entry);
        Ok(OpenedTerminal {
            id,
            uri,
            command_line,
        })
    }

    /// Returns the output of a terminal and its exit status, if it has ended.
    pub(crate) fn output(&self, session: &str, params: &JsonParams) -> Result<Value, ServiceError> {
        let id = terminal_id(params);
        let entry = self.terminals.get(id);
        let entry = entry.filter(|entry| entry.belongs_to(session));
        let entry = entry.ok_or_else(|| unknown_terminal(id))?;
        let (mut output, truncated) = entry.output.current();
        let status = match &entry.phase {
            TerminalPhase::Exited(end) => Some(exit_status(end)),
            TerminalPhase::Running(_) | TerminalPhase::Ending if entry.is_in_background => {
                output.push('\n');
                output.push_str(BACKGROUND_NOTE);
                Some(exit_status(&TerminalEnd::default()))
            }
            TerminalPhase::Running(_) | TerminalPhase::Ending => None,
        };
        Ok(json!({ "output": output, "truncated": truncated, "exitStatus": status }))
    }

    /// Responds when a terminal has ended.
    pub(crate) fn wait_for_exit(
        &mut self,
        session: &str,
        params: &JsonParams,
        responder: RequestResponder,
    ) {
        match self.find_terminal(session, params) {
            Err(error) => responder.respond_result(Err(error)),
            Ok(entry) => match &entry.phase {
                TerminalPhase::Exited(end) => responder.respond(&exit_status(end)),
                TerminalPhase::Running(_) | TerminalPhase::Ending if entry.is_in_background => {
                    responder.respond(&exit_status(&TerminalEnd::default()));
                }
                TerminalPhase::Running(_) | TerminalPhase::Ending
                    if entry.exit_waiters.len() < MAX_EXIT_WAITERS =>
                {
                    entry.exit_waiters.push(responder);
                }
                TerminalPhase::Running(_) | TerminalPhase::Ending => {
                    let reason = "too many requests wait for this terminal".to_owned();
                    responder.respond_result(Err(ServiceError::Refused(reason)));
                }
            },
        }
    }

    /// Ends the process of a terminal. Its output stays available.
    pub(crate) fn kill(
        &mut self,
        session: &str,
        params: &JsonParams,
    ) -> Result<Value, ServiceError> {
        self.find_terminal(session, params)?.terminate();
        Ok(json!({}))
    }

    /// Releases the agent's handle to a terminal and ends the process, unless it continues in
    /// the background. Clients can still read the terminal.
    pub(crate) fn release(
        &mut self,
        session: &str,
        params: &JsonParams,
    ) -> Result<Value, ServiceError> {
        let entry = self.find_terminal(session, params)?;
        entry.lease = TerminalLease::Released;
        if !entry.is_in_background {
            entry.terminate();
        }
        if matches!(entry.phase, TerminalPhase::Exited(_)) {
            self.terminals.remove(terminal_id(params));
        }
        Ok(json!({}))
    }

    /// Moves a terminal to the background. The agent receives an exit without an exit code,
    /// because agents handle no other response. The end of a turn does not end the terminal any
    /// more.
    pub(crate) fn continue_in_background(&mut self, uri: &Uri) {
        let mut entries = self.terminals.values_mut();
        if let Some(entry) = entries.find(|entry| entry.uri == *uri)
            && let TerminalPhase::Running(_) = entry.phase
        {
            entry.is_in_background = true;
            entry.requester.claim.turn_id = None;
            entry.requester.claim.tool_call_id = None;
            for responder in std::mem::take(&mut entry.exit_waiters) {
                responder.respond(&exit_status(&TerminalEnd::default()));
            }
        }
    }

    /// Ends all terminals with a matching claim.
    pub(crate) fn terminate_matching(&mut self, is_match: impl Fn(&TerminalSessionClaim) -> bool) {
        let entries = self.terminals.values_mut();
        for entry in entries.filter(|entry| is_match(&entry.requester.claim)) {
            entry.terminate();
        }
    }

    /// Releases and ends all terminals, after the agent has exited.
    pub(crate) fn release_all(&mut self) {
        for entry in self.terminals.values_mut() {
            entry.lease = TerminalLease::Released;
            entry.terminate();
        }
        self.terminals
            .retain(|_, entry| !matches!(entry.phase, TerminalPhase::Exited(_)));
    }

    /// Returns `true` if a terminal has not exited.
    pub(crate) fn has_running(&self) -> bool {
        let mut entries = self.terminals.values();
        entries.any(|entry| !matches!(entry.phase, TerminalPhase::Exited(_)))
    }

    /// Executes a client's command on a terminal.
    pub(crate) fn execute(&mut self, uri: &Uri, command: PtyCommand) {
        let mut entries = self.terminals.values_mut();
        let Some(entry) = entries.find(|entry| entry.uri == *uri) else {
            return;
        };
        match (&entry.phase, command) {
            (_, PtyCommand::Close) => entry.terminate(),
            (TerminalPhase::Running(terminal), command) => terminal.execute(command),
            (TerminalPhase::Ending | TerminalPhase::Exited(_), _) => {}
        }
    }

    /// Waits for the next terminal event. Meanwhile, kills terminals whose deadline has passed.
    pub(crate) async fn next_notice(&mut self) -> TerminalNotice {
        loop {
            let deadline = self
                .terminals
                .values()
                .filter_map(|entry| entry.kill_deadline)
                .min();
            let kill_due = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // `self` holds a sender, so the channel never closes.
                Some(notice) = self.events.recv() => return notice,
                () = kill_due => self.kill_overdue(),
            }
        }
    }

    /// Handles a terminal event. Returns the action to publish, if there is one.
    pub(crate) fn handle_notice(&mut self, notice: TerminalNotice) -> Option<TerminalReport> {
        let TerminalNotice { id, event } = notice;
        let entry = self.terminals.get_mut(&id)?;
        let mut end = None;
        let action = match event {
            TerminalEvent::Output(data) => {
                entry.output.push(&data.data);
                TerminalAction::Data(data)
            }
            TerminalEvent::TitleChanged(title) => {
                TerminalAction::TitleChanged(TerminalTitleChanged { title })
            }
            TerminalEvent::DirectoryChanged(cwd) => {
                TerminalAction::CwdChanged(TerminalCwdChanged { cwd })
            }
            TerminalEvent::Exited(exit) => {
                entry.mark_exited(&exit);
                let exit_code = exit.exit_code;
                end = Some(exit);
                TerminalAction::Exited(TerminalExited { exit_code })
            }
            // These terminals have no shell integration, and `create` reports a failed start
            // itself.
            TerminalEvent::CommandDetectionEnabled
            | TerminalEvent::CommandExecuted(_)
            | TerminalEvent::CommandFinished(_)
            | TerminalEvent::Failed(_) => return None,
        };
        let report = TerminalReport {
            agent_session: entry.requester.agent_session.clone(),
            uri: entry.uri.clone(),
            action,
            end,
        };
        if entry.lease == TerminalLease::Released && report.end.is_some() {
            self.terminals.remove(&id);
        }
        Some(report)
    }

    fn kill_overdue(&mut self) {
        let now = Instant::now();
        for entry in self.terminals.values_mut() {
            if entry.kill_deadline.is_some_and(|deadline| deadline <= now) {
                entry.kill_deadline = None;
                // Dropping the terminal kills its processes; the exit event follows.
                entry.phase = TerminalPhase::Ending;
            }
        }
    }

    fn find_terminal(
        &mut self,
        session: &str,
        params: &JsonParams,
    ) -> Result<&mut TerminalEntry, ServiceError> {
        let id = terminal_id(params);
        let entry = self.terminals.get_mut(id);
        let entry = entry.filter(|entry| entry.belongs_to(session));
        entry.ok_or_else(|| unknown_terminal(id))
    }
}

fn terminal_id(params: &JsonParams) -> &str {
    text_param(params, "terminalId").unwrap_or_default()
}

fn unknown_terminal(id: &str) -> ServiceError {
    ServiceError::UnknownTerminal(truncate_chars(id, 60))
}
