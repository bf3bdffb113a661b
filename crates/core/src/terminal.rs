//! Terminals that clients open, and what clients do with any.
//!
//! What is typed is nobody else's business: it is passed on, told back to who
//! typed it, and not kept (TER-20).

pub(crate) mod background;
pub(crate) mod command_report;
pub(crate) mod commands;
pub(crate) mod output;
pub(crate) mod output_preview;

use std::collections::BTreeMap;

use agenthost_protocol::action::ActionOrigin;
use agenthost_protocol::root::{RootAction, TerminalsChanged};
use agenthost_protocol::terminal::{
    CreateTerminalParams, TerminalAction, TerminalClaim, TerminalExit, TerminalInfo, TerminalInput,
    TerminalLifecycle, TerminalState,
};
use agenthost_protocol::uri::{RootChannel, Uri};

use crate::agent::AgentCommand;
use crate::host::Host;
use crate::host::effect::{Effect, Effects, ResponseBody};
use crate::host::error::RequestFailure;
use crate::host::input::ConnectionId;
use crate::host::step::Env;
use crate::resource::FileAccess;
use crate::resource::uris;
use crate::terminal::commands::SilentCommand;
use crate::terminal::output::CommandLine;
use crate::terminal::output_preview::OutputPreview;

/// Most terminals at a time.
const MAX_TERMINALS: usize = 200;

/// How many columns and rows a terminal can have.
pub(crate) const TERMINAL_SIZE_RANGE: std::ops::RangeInclusive<u64> = 1..=1_000;

/// A terminal that nobody gave a size.
const DEFAULT_COLS: u64 = 80;
const DEFAULT_ROWS: u64 = 24;

/// Terminals of clients, and commands in any terminal.
#[derive(Debug, Clone, Default)]
pub(crate) struct TerminalTable {
    /// Terminals that clients opened, as lists show them.
    opened: BTreeMap<Uri, TerminalInfo>,
    /// Commands without output so far.
    silent_commands: BTreeMap<Uri, SilentCommand>,
    /// Output that tool calls show besides their terminal.
    output_previews: BTreeMap<Uri, OutputPreview>,
}

impl TerminalTable {
    /// Drops what is known of a terminal whose channel was removed.
    pub(crate) fn forget_commands(&mut self, terminal: &Uri) {
        self.silent_commands.remove(terminal);
        self.output_previews.remove(terminal);
    }
}

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
pub enum PtyCommand {
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
    Write(TerminalInput),
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
    ) -> Result<ResponseBody, RequestFailure> {
        let terminal = params.channel;
        uris::check_terminal(&terminal)?;
        if self.channels.contains(&terminal) {
            return Err(RequestFailure::ChatExists(terminal));
        }
        let refuse = |reason: &str| Err(RequestFailure::InvalidParams(reason.to_owned()));
        if self.terminals.opened.len() >= MAX_TERMINALS {
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
                let unknown = || RequestFailure::UnknownSession(claim.session.clone());
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
            self.check_granted(directory, FileAccess::Read)?;
        }
        let size = |given: Option<u64>, usual| match given.unwrap_or(usual) {
            size if TERMINAL_SIZE_RANGE.contains(&size) => Ok(size),
            _ => Err(RequestFailure::InvalidParams(
                "a terminal has 1 to 1000 columns and rows".to_owned(),
            )),
        };
        let (cols, rows) = (
            size(params.cols, DEFAULT_COLS)?,
            size(params.rows, DEFAULT_ROWS)?,
        );
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
        self.create_channel(&terminal, session.as_ref(), state.into(), out);
        self.sync_terminal_entry(&terminal, out);
        let open = PtyCommand::Open {
            program: TerminalProgram::Shell,
            directory,
            cols,
            rows,
        };
        self.send_pty_command(&terminal, open, out);
        Ok(ResponseBody::Null)
    }

    /// Ends a terminal for good (TER-18). Those of agents are theirs, unless a
    /// client let their command continue in the background.
    pub(crate) fn dispose_terminal(
        &mut self,
        terminal: &Uri,
        out: &mut Effects,
    ) -> Result<ResponseBody, RequestFailure> {
        if self.terminals.opened.remove(terminal).is_none() {
            if self.end_background_command(terminal, out) {
                return Ok(ResponseBody::Null);
            }
            return Err(RequestFailure::UnknownChannel(terminal.clone()));
        }
        self.send_pty_command(terminal, PtyCommand::Close, out);
        self.remove_channel(terminal, out);
        self.publish_terminals(out);
        Ok(ResponseBody::Null)
    }

    /// What follows from an action of a client.
    pub(crate) fn react_terminal(
        &mut self,
        env: &Env,
        terminal: &Uri,
        action: &TerminalAction,
        out: &mut Effects,
    ) {
        match action {
            // Nothing runs in it that could be told.
            TerminalAction::Resized(_) if self.has_exited(terminal) => {}
            TerminalAction::Resized(size) => {
                let (cols, rows) = (size.cols, size.rows);
                let resize = PtyCommand::Resize { cols, rows };
                self.route_terminal_command(terminal, resize, out);
            }
            TerminalAction::Claimed(_) | TerminalAction::TitleChanged(_)
                if self.terminals.opened.contains_key(terminal) =>
            {
                self.sync_terminal_entry(terminal, out);
            }
            TerminalAction::Claimed(_) => self.continue_in_background(env, terminal, out),
            TerminalAction::TitleChanged(_)
            | TerminalAction::Input(_)
            | TerminalAction::Cleared(_)
            | TerminalAction::Data(_)
            | TerminalAction::CwdChanged(_)
            | TerminalAction::Exited(_)
            | TerminalAction::CommandDetectionAvailable(_)
            | TerminalAction::CommandExecuted(_)
            | TerminalAction::CommandFinished(_) => {}
        }
    }

    fn has_exited(&self, terminal: &Uri) -> bool {
        let state = self.terminal(terminal);
        state.is_none_or(|state| state.lifecycle != TerminalLifecycle::Running)
    }

    /// Passes on what was typed. Only who typed it hears of it, and nothing of
    /// it is kept.
    pub(crate) fn write_input(
        &mut self,
        connection: ConnectionId,
        terminal: &Uri,
        input: &TerminalInput,
        origin: ActionOrigin,
        out: &mut Effects,
    ) {
        let typed = PtyCommand::Write(input.clone());
        self.route_terminal_command(terminal, typed, out);
        let channel = self.channels.get(terminal);
        let watches = channel.is_some_and(|channel| channel.subscribers.contains_key(&connection));
        let watchers: &[ConnectionId] = if watches { &[connection] } else { &[] };
        let action = TerminalAction::Input(input.clone());
        self.publish_unlogged(watchers, terminal, action, Some(origin), out);
    }

    /// What a client wants of a terminal goes to whoever runs it: the host, or
    /// the agent that opened it.
    pub(crate) fn route_terminal_command(
        &mut self,
        terminal: &Uri,
        command: PtyCommand,
        out: &mut Effects,
    ) {
        if self.terminals.opened.contains_key(terminal) || self.turns.has_command_run(terminal) {
            self.send_pty_command(terminal, command, out);
            return;
        }
        let Some(state) = self.terminal(terminal) else {
            return;
        };
        if let TerminalClaim::Session(claim) = &state.claim {
            let used = AgentCommand::UseTerminal {
                chat: claim.chat.clone(),
                terminal: terminal.clone(),
                command,
            };
            self.send_agent_command(terminal, used, out);
        }
    }

    pub(crate) fn send_pty_command(
        &mut self,
        terminal: &Uri,
        command: PtyCommand,
        out: &mut Effects,
    ) {
        let run = self.turns.command_run(terminal);
        let chat = run.map(|run| run.chat.clone());
        let effect = Effect::Terminal {
            content_session: run.map(|run| run.session.clone()),
            terminal: terminal.clone(),
            command: Box::new(command),
        };
        self.turns.push_effect(chat.as_ref(), effect, out);
    }

    /// Brings the entry of a terminal up to date (ROOT-5).
    pub(crate) fn sync_terminal_entry(&mut self, terminal: &Uri, out: &mut Effects) {
        let Some(state) = self.terminal(terminal) else {
            return;
        };
        let info = TerminalInfo {
            resource: terminal.clone(),
            title: state.title.clone(),
            claim: state.claim.clone(),
            lifecycle: state.lifecycle.clone(),
        };
        self.terminals.opened.insert(terminal.clone(), info);
        self.publish_terminals(out);
    }

    /// Something happened in a terminal that an agent runs.
    pub(crate) fn apply_agent_terminal_action(
        &mut self,
        env: &Env,
        terminal: &Uri,
        action: TerminalAction,
        out: &mut Effects,
    ) {
        if let TerminalAction::Exited(exited) = action {
            self.end_terminal(env, terminal, exited.exit_code, out);
            return;
        }
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

    /// An agent has stopped, and all that it ran in terminals.
    pub(crate) fn end_agent_terminals(&mut self, env: &Env, session: &Uri, out: &mut Effects) {
        let channels = self.channels.iter();
        let own = channels.filter(|(uri, channel)| {
            channel.session.as_ref() == Some(session)
                && !self.terminals.opened.contains_key(*uri)
                && !self.turns.has_command_run(uri)
        });
        let running = own.filter(|(uri, _)| {
            let state = self.terminal(uri);
            state.is_some_and(|state| state.lifecycle == TerminalLifecycle::Running)
        });
        let running: Vec<_> = running.map(|(uri, _)| uri.clone()).collect();
        for terminal in running {
            self.end_terminal(env, &terminal, None, out);
        }
    }

    /// A session is gone, with its terminals.
    pub(crate) fn close_session_terminals(&mut self, session: &Uri, out: &mut Effects) {
        let all = self.terminals.opened.keys().cloned().collect::<Vec<_>>();
        for terminal in all {
            if self.session_of(&terminal) == Some(session) {
                self.terminals.opened.remove(&terminal);
                self.send_pty_command(&terminal, PtyCommand::Close, out);
            }
        }
        self.publish_terminals(out);
    }

    /// Nothing that ran in a terminal when the host stopped runs now.
    pub(crate) fn mark_terminals_exited(&mut self, out: &mut Effects) {
        let Some(state) = self.root() else {
            return;
        };
        let listed = state.terminals.iter().flatten().cloned();
        let there = listed.filter(|info| self.channels.contains(&info.resource));
        self.terminals.opened = there
            .map(|mut info| {
                if info.lifecycle == TerminalLifecycle::Running {
                    let exit_code = None;
                    info.lifecycle = TerminalLifecycle::Exited(TerminalExit { exit_code });
                }
                (info.resource.clone(), info)
            })
            .collect();
        self.publish_terminals(out);
    }

    fn publish_terminals(&mut self, out: &mut Effects) {
        let terminals: Vec<_> = self.terminals.opened.values().cloned().collect();
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
