//! Terminals that clients open, and what clients do with any.
//!
//! What is typed is nobody else's business: it is passed on, told back to who
//! typed it, and not kept (TER-20).

use agenthost_protocol::action::ActionOrigin;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::root::{RootAction, TerminalsChanged};
use agenthost_protocol::terminal::{
    CreateTerminalParams, TerminalAction, TerminalClaim, TerminalExit, TerminalInfo, TerminalInput,
    TerminalLifecycle, TerminalState,
};
use agenthost_protocol::uri::{RootChannel, Uri};

use crate::agent::AgentCommand;
use crate::effect::{Answer, Effect, Effects};
use crate::env::Env;
use crate::files::Access;
use crate::host::Host;
use crate::input::ConnectionId;
use crate::refusal::Failure;
use crate::terminal_output::CommandLine;
use crate::uris;

/// Most terminals at a time.
const TERMINALS: usize = 200;

/// How many columns and rows a terminal can have.
pub(crate) const SIZES: std::ops::RangeInclusive<u64> = 1..=1_000;

/// A terminal that nobody gave a size.
const COLS: u64 = 80;
const ROWS: u64 = 24;

/// What runs in a terminal.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalProgram {
    /// The user's shell.
    Shell,
    /// One command line.
    Command(CommandLine),
}

/// What is wanted of a terminal.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalCommand {
    /// Start something in it.
    Open {
        /// What.
        program: TerminalProgram,
        /// Where; the user's home if nobody says.
        directory: Option<Uri>,
        /// How wide.
        cols: u64,
        /// How high.
        rows: u64,
    },
    /// Pass on what was typed.
    Type(TerminalInput),
    /// It has another size.
    Resize {
        /// How wide.
        cols: u64,
        /// How high.
        rows: u64,
    },
    /// End it, and all that runs in it.
    Close,
}

impl Host {
    /// Opens a terminal (TER-1, TER-2).
    pub(crate) fn create_terminal(
        &mut self,
        connection: ConnectionId,
        params: CreateTerminalParams,
        out: &mut Effects,
    ) -> Result<Answer, Failure> {
        let terminal = params.channel;
        uris::check_terminal(&terminal)?;
        if self.channels.contains_key(&terminal) {
            return Err(Failure::ChatExists(terminal));
        }
        let refuse = |reason: &str| Err(Failure::InvalidParams(reason.to_owned()));
        if self.terminals.len() >= TERMINALS {
            return refuse("there are too many terminals already");
        }
        let (session, home) = match &params.claim {
            TerminalClaim::Client(claim) => {
                if self.clients.client_of(connection) != Some(&claim.client_id) {
                    return refuse("claim: a client can only do this for itself");
                }
                (None, None)
            }
            TerminalClaim::Session(claim) => {
                let summary = self.sessions.get(&claim.session);
                let unknown = || Failure::UnknownSession(claim.session.clone());
                let summary = summary.ok_or_else(unknown)?;
                let mut chats = summary.chats.iter().flatten();
                if !chats.any(|chat| chat.resource == claim.chat) {
                    return refuse("claim: the chat is not of that session");
                }
                let directories = summary.metadata.working_directories.as_ref();
                let home = directories.and_then(|all| all.first()).cloned();
                (Some(claim.session.clone()), home)
            }
        };
        if let Some(directory) = &params.cwd {
            uris::check_directory(directory)?;
            self.check_granted(directory, Access::Read)?;
        }
        let size = |given: Option<u64>, usual| match given.unwrap_or(usual) {
            size if SIZES.contains(&size) => Ok(size),
            _ => Err(Failure::InvalidParams(
                "a terminal has 1 to 1000 columns and rows".to_owned(),
            )),
        };
        let (cols, rows) = (size(params.cols, COLS)?, size(params.rows, ROWS)?);
        let directory = params.cwd.or(home);
        let title = params.name.unwrap_or_else(|| "Terminal".to_owned());
        let title: String = title.chars().take(200).collect();
        let state = TerminalState {
            cwd: directory.clone(),
            cols: Some(cols),
            rows: Some(rows),
            is_pty: Some(true),
            ..TerminalState::new(title, params.claim)
        };
        self.create(&terminal, session.as_ref(), state.into(), out);
        self.list_terminal(&terminal, out);
        let open = TerminalCommand::Open {
            program: TerminalProgram::Shell,
            directory,
            cols,
            rows,
        };
        self.tell_terminal(&terminal, open, out);
        Ok(Answer::Null)
    }

    /// Ends a terminal for good (TER-18). Those of agents are theirs.
    pub(crate) fn dispose_terminal(
        &mut self,
        terminal: &Uri,
        out: &mut Effects,
    ) -> Result<Answer, Failure> {
        if self.terminals.remove(terminal).is_none() {
            return Err(Failure::UnknownChannel(terminal.clone()));
        }
        self.tell_terminal(terminal, TerminalCommand::Close, out);
        self.remove(terminal, out);
        self.show_terminals(out);
        Ok(Answer::Null)
    }

    /// What follows from an action of a client.
    pub(crate) fn react_terminal(
        &mut self,
        terminal: &Uri,
        action: &TerminalAction,
        out: &mut Effects,
    ) {
        match action {
            // Nothing runs in it that could be told.
            TerminalAction::Resized(_) if self.has_exited(terminal) => {}
            TerminalAction::Resized(size) => {
                let (cols, rows) = (size.cols, size.rows);
                let resize = TerminalCommand::Resize { cols, rows };
                self.pass_to_terminal(terminal, resize, out);
            }
            TerminalAction::Claimed(_) | TerminalAction::TitleChanged(_)
                if self.terminals.contains_key(terminal) =>
            {
                self.list_terminal(terminal, out);
            }
            _ => {}
        }
    }

    fn has_exited(&self, terminal: &Uri) -> bool {
        match self.state(terminal) {
            Some(ChannelState::Terminal(state)) => state.lifecycle != TerminalLifecycle::Running,
            _ => true,
        }
    }

    /// Passes on what was typed. Only who typed it hears of it, and nothing of
    /// it is kept.
    pub(crate) fn type_into(
        &mut self,
        connection: ConnectionId,
        terminal: &Uri,
        input: &TerminalInput,
        origin: ActionOrigin,
        out: &mut Effects,
    ) {
        let typed = TerminalCommand::Type(input.clone());
        self.pass_to_terminal(terminal, typed, out);
        let channel = self.channels.get(terminal);
        let watches = channel.is_some_and(|channel| channel.subscribers.contains_key(&connection));
        let watchers: &[ConnectionId] = if watches { &[connection] } else { &[] };
        let action = TerminalAction::Input(input.clone());
        self.show(watchers, terminal, action, Some(origin), out);
    }

    /// What a client wants of a terminal goes to whoever runs it: the host, or
    /// the agent that opened it.
    fn pass_to_terminal(&mut self, terminal: &Uri, command: TerminalCommand, out: &mut Effects) {
        if self.terminals.contains_key(terminal) || self.runs.contains_key(terminal) {
            self.tell_terminal(terminal, command, out);
            return;
        }
        let Some(ChannelState::Terminal(state)) = self.state(terminal) else {
            return;
        };
        if let TerminalClaim::Session(claim) = &state.claim {
            let used = AgentCommand::UseTerminal {
                chat: claim.chat.clone(),
                terminal: terminal.clone(),
                command,
            };
            self.command(terminal, used, out);
        }
    }

    pub(crate) fn tell_terminal(
        &self,
        terminal: &Uri,
        command: TerminalCommand,
        out: &mut Effects,
    ) {
        out.push(Effect::Terminal {
            place: self.runs.get(terminal).map(|run| run.place.clone()),
            terminal: terminal.clone(),
            command: Box::new(command),
        });
    }

    /// Brings the entry of a terminal up to date (ROOT-5).
    pub(crate) fn list_terminal(&mut self, terminal: &Uri, out: &mut Effects) {
        let Some(ChannelState::Terminal(state)) = self.state(terminal) else {
            return;
        };
        let info = TerminalInfo {
            resource: terminal.clone(),
            title: state.title.clone(),
            claim: state.claim.clone(),
            lifecycle: state.lifecycle.clone(),
        };
        self.terminals.insert(terminal.clone(), info);
        self.show_terminals(out);
    }

    /// Something happened in a terminal that an agent runs.
    pub(crate) fn agent_terminal(
        &mut self,
        env: &Env,
        terminal: &Uri,
        action: TerminalAction,
        out: &mut Effects,
    ) {
        match action {
            TerminalAction::Exited(exited) => {
                self.end_terminal(env, terminal, exited.exit_code, out);
            }
            action => {
                let is_output = matches!(action, TerminalAction::Data(_));
                if is_output {
                    self.announce_command(env, terminal, out);
                }
                self.originate(terminal, action, out);
                self.trim_terminal(terminal, out);
                if is_output {
                    self.schedule_preview(env, terminal, out);
                }
            }
        }
    }

    /// An agent has stopped, and all that it ran in terminals.
    pub(crate) fn end_agent_terminals(&mut self, env: &Env, session: &Uri, out: &mut Effects) {
        let channels = self.channels.iter();
        let own = channels.filter(|(uri, channel)| {
            channel.session.as_ref() == Some(session)
                && !self.terminals.contains_key(*uri)
                && !self.runs.contains_key(*uri)
        });
        let running = own.filter(|(uri, _)| match self.state(uri) {
            Some(ChannelState::Terminal(state)) => state.lifecycle == TerminalLifecycle::Running,
            _ => false,
        });
        let running: Vec<_> = running.map(|(uri, _)| uri.clone()).collect();
        for terminal in running {
            self.end_terminal(env, &terminal, None, out);
        }
    }

    /// A session is gone, with its terminals.
    pub(crate) fn end_terminals_of(&mut self, session: &Uri, out: &mut Effects) {
        let all = self.terminals.keys().cloned().collect::<Vec<_>>();
        for terminal in all {
            if self.owner(&terminal) == Some(session) {
                self.terminals.remove(&terminal);
                self.tell_terminal(&terminal, TerminalCommand::Close, out);
            }
        }
        self.show_terminals(out);
    }

    /// Nothing that ran in a terminal when the host stopped runs now.
    pub(crate) fn remember_terminals(&mut self, out: &mut Effects) {
        let Some(state) = self.root() else {
            return;
        };
        let listed = state.terminals.iter().flatten().cloned();
        let there = listed.filter(|info| self.channels.contains_key(&info.resource));
        self.terminals = there
            .map(|mut info| {
                if info.lifecycle == TerminalLifecycle::Running {
                    let exit_code = None;
                    info.lifecycle = TerminalLifecycle::Exited(TerminalExit { exit_code });
                }
                (info.resource.clone(), info)
            })
            .collect();
        self.show_terminals(out);
    }

    fn show_terminals(&mut self, out: &mut Effects) {
        let terminals: Vec<_> = self.terminals.values().cloned().collect();
        let Some(state) = self.root() else {
            return;
        };
        let shown = state.terminals.as_deref().unwrap_or_default();
        if shown != terminals {
            let changed = RootAction::TerminalsChanged(TerminalsChanged { terminals });
            self.originate(&RootChannel.into(), changed, out);
        }
    }
}
