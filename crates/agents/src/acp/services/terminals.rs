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

use agenthost_core::{CommandLine, TerminalCommand, TerminalEnd, TerminalEvent};
use agenthost_protocol::terminal::{
    OutputTail, TerminalAction, TerminalCwdChanged, TerminalExited, TerminalSessionClaim,
    TerminalTitleChanged,
};
use agenthost_protocol::uri::{Uri, path_segment};
use agenthost_workspace::{Program, Terminal, TerminalStart};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::command::program;
use super::{ServiceError, text};
use crate::acp::wire::{Object, Reply};

/// Most terminals of a session that the agent has not let go of.
const MOST: usize = 32;

/// Most output of a terminal that is kept for the agent, in bytes.
const OUTPUT: usize = 1024 * 1024;

/// Most questions about the end of one terminal that wait.
const WAITING: usize = 32;

/// Events that wait for the session. When there are more, the terminals wait,
/// and with them whatever writes to them.
const EVENTS: usize = 8;

/// How long a command may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(1);

/// The terminals of a session. Dropped, all that runs in them is killed.
#[derive(Debug)]
pub(crate) struct Terminals {
    /// When the session began: addresses must not be those of an earlier one.
    born: u128,
    made: u64,
    held: BTreeMap<String, Held>,
    sender: mpsc::Sender<Happened>,
    events: mpsc::Receiver<Happened>,
}

/// Something happened in a terminal.
#[derive(Debug)]
pub(crate) struct Happened {
    /// The name that the agent knows it by.
    pub(crate) id: String,
    pub(crate) event: TerminalEvent,
}

/// Who wants a terminal, and what for.
#[derive(Debug)]
pub(crate) struct Origin {
    /// The agent's own session.
    pub(crate) agent_session: String,
    /// What it is for, as far as that is known.
    pub(crate) claim: TerminalSessionClaim,
}

/// A terminal that was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The name that the agent knows it by.
    pub(crate) id: String,
    pub(crate) address: Uri,
    pub(crate) line: CommandLine,
}

/// What there is to say about something that happened.
#[derive(Debug)]
pub(crate) struct News {
    pub(crate) agent_session: String,
    pub(crate) address: Uri,
    pub(crate) action: TerminalAction,
    /// How it ended, if it did.
    pub(crate) end: Option<TerminalEnd>,
}

#[derive(Debug)]
struct Held {
    origin: Origin,
    address: Uri,
    output: OutputTail,
    state: State,
    /// Until when it has to end; it was asked to.
    kill_by: Option<Instant>,
    /// Who wants to know when it ends.
    waiting: Vec<Reply>,
    grip: Grip,
}

#[derive(Debug)]
enum State {
    Runs(Terminal),
    /// It was killed; its end is not known yet.
    Ending,
    Ended(TerminalEnd),
}

/// Whether the agent still knows a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grip {
    Held,
    LetGo,
}

impl Terminals {
    pub(super) fn new() -> Self {
        let (sender, events) = mpsc::channel(EVENTS);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Terminals {
            born: now.unwrap_or_default().as_millis(),
            made: 0,
            held: BTreeMap::new(),
            sender,
            events,
        }
    }

    /// Runs what an agent asks for, in an environment that was chosen for it.
    pub(crate) fn create(
        &mut self,
        origin: Origin,
        mut start: TerminalStart,
        environment: Vec<(OsString, OsString)>,
        params: &Object,
    ) -> Result<Opened, ServiceError> {
        let held = self.held.values().filter(|held| held.grip == Grip::Held);
        if held.count() >= MOST {
            let reason = format!("there are {MOST} terminals already: release one first");
            return Err(ServiceError::Refused(reason));
        }
        let (run, line) = program(params, environment)?;
        start.program = Program::Run(run);
        self.made += 1;
        let id = format!("terminal-{}", self.made);
        let chat = path_segment(origin.claim.chat.as_str());
        let address = Uri::from(format!("ahp-terminal:/{chat}/{}-{}", self.born, self.made));
        let (sender, name) = (self.sender.clone(), id.clone());
        let tell = move |event| {
            let id = name.clone();
            // When the session is over, nobody wants to know.
            let sent = sender.blocking_send(Happened { id, event });
            sent.unwrap_or_default();
        };
        let terminal = Terminal::open(&start, tell);
        let terminal = terminal
            .map_err(|error| ServiceError::Failed(format!("run `{}`: {error}", line.title())))?;
        let limit = params.get("outputByteLimit").and_then(Value::as_u64);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        let held = Held {
            origin,
            address: address.clone(),
            output: OutputTail::new(limit.unwrap_or(OUTPUT).min(OUTPUT)),
            state: State::Runs(terminal),
            kill_by: None,
            waiting: Vec::new(),
            grip: Grip::Held,
        };
        self.held.insert(id.clone(), held);
        Ok(Opened { id, address, line })
    }

    /// What a terminal has to show.
    pub(crate) fn output(&self, session: &str, params: &Object) -> Result<Value, ServiceError> {
        let id = name(params);
        let held = self.held.get(id);
        let held = held.filter(|held| held.is_of(session));
        let held = held.ok_or_else(|| unknown(id))?;
        let (output, truncated) = held.output.so_far();
        let status = match &held.state {
            State::Runs(_) | State::Ending => None,
            State::Ended(end) => Some(status(end)),
        };
        Ok(json!({ "output": output, "truncated": truncated, "exitStatus": status }))
    }

    /// Answers when a terminal has ended.
    pub(crate) fn wait(&mut self, session: &str, params: &Object, reply: Reply) {
        match self.find(session, params) {
            Err(error) => reply.settle(Err(error)),
            Ok(held) => match &held.state {
                State::Ended(end) => reply.send(&status(end)),
                State::Runs(_) | State::Ending if held.waiting.len() < WAITING => {
                    held.waiting.push(reply);
                }
                State::Runs(_) | State::Ending => {
                    let reason = "too many wait for this terminal already".to_owned();
                    reply.settle(Err(ServiceError::Refused(reason)));
                }
            },
        }
    }

    /// Ends what runs in a terminal. What it wrote stays.
    pub(crate) fn kill(&mut self, session: &str, params: &Object) -> Result<Value, ServiceError> {
        self.find(session, params)?.hang_up();
        Ok(json!({}))
    }

    /// Ends a terminal, which the agent wants to know nothing of any more.
    /// People can still read it.
    pub(crate) fn release(
        &mut self,
        session: &str,
        params: &Object,
    ) -> Result<Value, ServiceError> {
        let held = self.find(session, params)?;
        held.grip = Grip::LetGo;
        held.hang_up();
        if matches!(held.state, State::Ended(_)) {
            self.held.remove(name(params));
        }
        Ok(json!({}))
    }

    /// Ends those terminals that are for this.
    pub(crate) fn end(&mut self, meant: impl Fn(&TerminalSessionClaim) -> bool) {
        let all = self.held.values_mut();
        for held in all.filter(|held| meant(&held.origin.claim)) {
            held.hang_up();
        }
    }

    /// The agent is gone: it knows no terminal any more.
    pub(crate) fn forget(&mut self) {
        for held in self.held.values_mut() {
            held.grip = Grip::LetGo;
            held.hang_up();
        }
        self.held
            .retain(|_, held| !matches!(held.state, State::Ended(_)));
    }

    /// Whether anything runs.
    pub(crate) fn is_busy(&self) -> bool {
        let mut all = self.held.values();
        all.any(|held| !matches!(held.state, State::Ended(_)))
    }

    /// Does with a terminal what somebody wants of it.
    pub(crate) fn apply(&self, address: &Uri, command: TerminalCommand) {
        let held = self.held.values().find(|held| held.address == *address);
        if let Some(State::Runs(terminal)) = held.map(|held| &held.state) {
            terminal.apply(command);
        }
    }

    /// Waits for something to happen. What does not end in time is killed
    /// meanwhile.
    pub(crate) async fn next(&mut self) -> Happened {
        loop {
            let deadline = self.held.values().filter_map(|held| held.kill_by).min();
            let late = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // There is always one that sends: this.
                Some(happened) = self.events.recv() => return happened,
                () = late => self.kill_late(),
            }
        }
    }

    /// Takes in what happened, and says what there is to tell of it.
    pub(crate) fn take_in(&mut self, happened: Happened) -> Option<News> {
        let Happened { id, event } = happened;
        let held = self.held.get_mut(&id)?;
        let mut end = None;
        let action = match event {
            TerminalEvent::Output(data) => {
                held.output.push(&data.data);
                TerminalAction::Data(data)
            }
            TerminalEvent::Title(title) => {
                TerminalAction::TitleChanged(TerminalTitleChanged { title })
            }
            TerminalEvent::Directory(cwd) => TerminalAction::CwdChanged(TerminalCwdChanged { cwd }),
            TerminalEvent::Exited(ended) => {
                held.end(&ended);
                let exit_code = ended.exit_code;
                end = Some(ended);
                TerminalAction::Exited(TerminalExited { exit_code })
            }
            // It has no shell, and one that never began was not opened.
            TerminalEvent::CommandDetection
            | TerminalEvent::CommandExecuted(_)
            | TerminalEvent::CommandFinished(_)
            | TerminalEvent::Failed(_) => return None,
        };
        let news = News {
            agent_session: held.origin.agent_session.clone(),
            address: held.address.clone(),
            action,
            end,
        };
        if held.grip == Grip::LetGo && news.end.is_some() {
            self.held.remove(&id);
        }
        Some(news)
    }

    fn kill_late(&mut self) {
        let now = Instant::now();
        for held in self.held.values_mut() {
            if held.kill_by.is_some_and(|by| by <= now) {
                held.kill_by = None;
                // Dropped, all that runs in it is killed; its end is told.
                held.state = State::Ending;
            }
        }
    }

    fn find(&mut self, session: &str, params: &Object) -> Result<&mut Held, ServiceError> {
        let id = name(params);
        let held = self.held.get_mut(id);
        let held = held.filter(|held| held.is_of(session));
        held.ok_or_else(|| unknown(id))
    }
}

impl Held {
    /// Whether an agent session has it.
    fn is_of(&self, agent_session: &str) -> bool {
        self.grip == Grip::Held && self.origin.agent_session == agent_session
    }

    /// Asks what runs to end.
    fn hang_up(&mut self) {
        if let (State::Runs(terminal), None) = (&self.state, self.kill_by) {
            terminal.hang_up();
            self.kill_by = Some(Instant::now() + GRACE);
        }
    }

    /// It ended. What it left in the background ends with it.
    fn end(&mut self, end: &TerminalEnd) {
        self.kill_by = None;
        for reply in std::mem::take(&mut self.waiting) {
            reply.send(&status(end));
        }
        self.state = State::Ended(end.clone());
    }
}

fn name(params: &Object) -> &str {
    text(params, "terminalId").unwrap_or_default()
}

fn unknown(id: &str) -> ServiceError {
    ServiceError::UnknownTerminal(id.chars().take(60).collect())
}

fn status(end: &TerminalEnd) -> Value {
    json!({ "exitCode": end.exit_code, "signal": end.signal })
}
