//! Commands that an agent has the host run, each in a terminal of its own.
//!
//! Everything that happens in them comes through one bounded queue to the task
//! of the session, which tells the host and remembers the end of the output
//! for the agent. What the agent gets is plain text: in a terminal programs
//! write colours and draw over lines, which they would not have done for a
//! pipe, and which is of no use to a model. People see it all.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

use super::command::parse_command;
use super::{ServiceError, text_param};
use crate::transport::{JsonParams, RequestResponder};

/// Most terminals of a session that the agent has not let go of.
const MAX_AGENT_TERMINALS: usize = 32;

/// Most output of a terminal that is kept for the agent, in bytes.
const MAX_AGENT_OUTPUT_BYTES: usize = 1024 * 1024;

/// Most questions about the end of one terminal that wait.
const MAX_EXIT_WAITERS: usize = 32;

/// Events that wait for the session. When there are more, the terminals wait,
/// and with them whatever writes to them.
const TERMINAL_EVENT_QUEUE: usize = 8;

/// How long a command may take to end when it is asked to.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// The terminals of a session. Dropped, all that runs in them is killed.
#[derive(Debug)]
pub(crate) struct AgentTerminals {
    /// When the session began: addresses must not be those of an earlier one.
    started_at: u128,
    created_count: u64,
    terminals: BTreeMap<String, TerminalEntry>,
    sender: mpsc::Sender<TerminalNotice>,
    events: mpsc::Receiver<TerminalNotice>,
}

/// Something happened in a terminal.
#[derive(Debug)]
pub(crate) struct TerminalNotice {
    /// The name that the agent knows it by.
    pub(crate) id: String,
    pub(crate) event: TerminalEvent,
}

/// Who wants a terminal, and what for.
#[derive(Debug)]
pub(crate) struct TerminalRequester {
    /// The agent's own session.
    pub(crate) agent_session: String,
    /// What it is for, as far as that is known.
    pub(crate) claim: TerminalSessionClaim,
}

/// A terminal that was opened.
#[derive(Debug)]
pub(crate) struct OpenedTerminal {
    /// The name that the agent knows it by.
    pub(crate) id: String,
    pub(crate) uri: Uri,
    pub(crate) command_line: CommandLine,
}

/// What there is to say about something that happened.
#[derive(Debug)]
pub(crate) struct TerminalReport {
    pub(crate) agent_session: String,
    pub(crate) uri: Uri,
    pub(crate) action: TerminalAction,
    /// How it ended, if it did.
    pub(crate) end: Option<TerminalEnd>,
}

#[derive(Debug)]
struct TerminalEntry {
    requester: TerminalRequester,
    uri: Uri,
    output: OutputTail,
    phase: TerminalPhase,
    /// Until when it has to end; it was asked to.
    kill_deadline: Option<Instant>,
    /// Who wants to know when it ends.
    exit_waiters: Vec<RequestResponder>,
    lease: TerminalLease,
    /// A client let it continue in the background: for the agent it is over.
    is_in_background: bool,
}

#[derive(Debug)]
enum TerminalPhase {
    Running(Terminal),
    /// It was killed; its end is not known yet.
    Ending,
    Exited(TerminalEnd),
}

/// Whether the agent still knows a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TerminalLease {
    Held,
    Released,
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

    /// Runs what an agent asks for, in an environment that was chosen for it.
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

    /// What a terminal has to show.
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

    /// Answers when a terminal has ended.
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
                    let reason = "too many wait for this terminal already".to_owned();
                    responder.respond_result(Err(ServiceError::Refused(reason)));
                }
            },
        }
    }

    /// Ends what runs in a terminal. What it wrote stays.
    pub(crate) fn kill(
        &mut self,
        session: &str,
        params: &JsonParams,
    ) -> Result<Value, ServiceError> {
        self.find_terminal(session, params)?.terminate();
        Ok(json!({}))
    }

    /// Ends a terminal, which the agent wants to know nothing of any more,
    /// unless it continues in the background. People can still read it.
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

    /// Lets the command of a terminal continue in the background. The agent is
    /// told that it is over, without an exit code: there is no other answer that
    /// agents understand. No end of a turn ends it.
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

    /// Ends those terminals that are for this.
    pub(crate) fn terminate_matching(&mut self, is_match: impl Fn(&TerminalSessionClaim) -> bool) {
        let entries = self.terminals.values_mut();
        for entry in entries.filter(|entry| is_match(&entry.requester.claim)) {
            entry.terminate();
        }
    }

    /// The agent is gone: it knows no terminal any more.
    pub(crate) fn release_all(&mut self) {
        for entry in self.terminals.values_mut() {
            entry.lease = TerminalLease::Released;
            entry.terminate();
        }
        self.terminals
            .retain(|_, entry| !matches!(entry.phase, TerminalPhase::Exited(_)));
    }

    /// Whether anything runs.
    pub(crate) fn has_running(&self) -> bool {
        let mut entries = self.terminals.values();
        entries.any(|entry| !matches!(entry.phase, TerminalPhase::Exited(_)))
    }

    /// Does with a terminal what somebody wants of it.
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

    /// Waits for something to happen. What does not end in time is killed
    /// meanwhile.
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
                // There is always one that sends: this.
                Some(notice) = self.events.recv() => return notice,
                () = kill_due => self.kill_overdue(),
            }
        }
    }

    /// Takes in what happened, and says what there is to tell of it.
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
            // It has no shell, and one that never began was not opened.
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
                // Dropped, all that runs in it is killed; its end is told.
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

impl TerminalEntry {
    /// Returns `true` if it counts towards the most that a session can have.
    fn counts_against_limit(&self) -> bool {
        let is_over = matches!(self.phase, TerminalPhase::Exited(_));
        self.lease == TerminalLease::Held || (self.is_in_background && !is_over)
    }

    /// Whether an agent session has it.
    fn belongs_to(&self, agent_session: &str) -> bool {
        self.lease == TerminalLease::Held && self.requester.agent_session == agent_session
    }

    /// Asks what runs to end.
    fn terminate(&mut self) {
        if let (TerminalPhase::Running(terminal), None) = (&self.phase, self.kill_deadline) {
            terminal.terminate();
            self.kill_deadline = Some(Instant::now() + KILL_GRACE);
        }
    }

    /// It ended. What it left in the background ends with it.
    fn mark_exited(&mut self, end: &TerminalEnd) {
        self.kill_deadline = None;
        for responder in std::mem::take(&mut self.exit_waiters) {
            responder.respond(&exit_status(end));
        }
        self.phase = TerminalPhase::Exited(end.clone());
    }
}

fn terminal_id(params: &JsonParams) -> &str {
    text_param(params, "terminalId").unwrap_or_default()
}

fn unknown_terminal(id: &str) -> ServiceError {
    ServiceError::UnknownTerminal(truncate_chars(id, 60))
}

fn exit_status(end: &TerminalEnd) -> Value {
    json!({ "exitCode": end.exit_code, "signal": end.signal })
}
