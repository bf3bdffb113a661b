//! Terminals that clients open, and client actions on any terminal.
//!
//! Terminal input is private: the host passes it to the terminal, echoes it to its sender, and
//! does not store it (TER-20).

pub(crate) mod background;
pub(crate) mod command_report;
pub(crate) mod commands;
pub(crate) mod output;
pub(crate) mod output_preview;

use std::collections::{BTreeMap, BTreeSet};

use agenthost_protocol::action::ActionOrigin;
use agenthost_protocol::root::{RootAction, TerminalsChanged};
use agenthost_protocol::terminal::{
    CreateTerminalParams, TerminalAction, TerminalClaim, TerminalExit, TerminalInfo, TerminalInput,
    TerminalLifecycle, TerminalState,
};
use agenthost_protocol::uri::{RootChannel, Uri};
use serde::{Deserialize, Serialize};

use crate::agent::AgentCommand;
use crate::chat::turn::checkpoint_barrier::TurnEffect;
use crate::host::Host;
use crate::host::effect::{Effects, ResponseBody};
use crate::host::error::RequestFailure;
use crate::host::input::ConnectionId;
use crate::host::step::Env;
use crate::resource::FileAccess;
use crate::resource::uris;
use crate::terminal::commands::SilentCommand;
use crate::terminal::output::CommandLine;
use crate::terminal::output_preview::OutputPreview;

/// Maximum number of open terminals. Each of them is a process of the operating system.
const MAX_TERMINALS: usize = 200;

/// The valid numbers of columns and rows.
pub(crate) const TERMINAL_SIZE_RANGE: std::ops::RangeInclusive<u64> = 1..=1_000;

/// Size of a terminal for which the client gives none.
const DEFAULT_COLS: u64 = 80;
const DEFAULT_ROWS: u64 = 24;

/// Terminals of clients, and commands in any terminal.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TerminalTable {
    /// Terminals that clients opened, as the root state lists them.
    #[serde(skip)]
    opened: BTreeMap<Uri, TerminalInfo>,
    /// Terminals with a program that runs.
    pub(crate) running: BTreeSet<Uri>,
    /// Commands without output so far.
    silent_commands: BTreeMap<Uri, SilentCommand>,
    /// Output that is published in tool calls besides their terminal.
    #[serde(skip)]
    output_previews: BTreeMap<Uri, OutputPreview>,
}

impl TerminalTable {
    /// Drops the data of a terminal whose channel was removed.
    pub(crate) fn forget_commands(&mut self, terminal: &Uri) {
        self.silent_commands.remove(terminal);
        self.output_previews.remove(terminal);
        self.running.remove(terminal);
    }

    /// Records the state of a terminal after it was created or changed.
    pub(crate) fn record_state(&mut self, terminal: &Uri, state: &TerminalState) {
        if state.lifecycle == TerminalLifecycle::Running {
            self.running.insert(terminal.clone());
        } else {
            self.running.remove(terminal);
        }
    }

    /// Returns `true` if a terminal runs a command without output so far.
    pub(crate) fn has_silent_command(&self, terminal: &Uri) -> bool {
        self.silent_commands.contains_key(terminal)
    }
}

/// The program that runs in a terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TerminalProgram {
    /// The shell of the user.
    Shell,
    /// A single command line.
    Command(CommandLine),
}

/// A command to the pseudoterminal of a terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PtyCommand {
    /// Starts a program in the terminal.
    Open {
        /// The shell or a command.
        program: TerminalProgram,
        /// The working directory; `None` for the user's home.
        directory: Option<Uri>,
        /// Width in character columns.
        cols: u64,
        /// Height in character rows.
        rows: u64,
    },
    Write(TerminalInput),
    /// Changes the size of the terminal.
    Resize {
        /// Width in character columns.
        cols: u64,
        /// Height in character rows.
        rows: u64,
    },
    /// Ends the terminal and every process in it.
    Close,
}

impl Host {
    /// Opens a terminal for a client (TER-1, TER-2).
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
                    return refuse("claim: the chat does not belong to that session");
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

    /// Removes a terminal for good (TER-18). A client can't remove the terminal of an agent,
    /// but it can end a command that continues in the background.
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

    /// Handles the consequences of a client's action on a terminal.
    pub(crate) fn react_terminal(
        &mut self,
        env: &Env,
        terminal: &Uri,
        action: &TerminalAction,
        out: &mut Effects,
    ) {
        match action {
            // No process runs that could be resized.
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

    /// Returns `true` if the host runs a terminal, and no agent.
    pub(crate) fn is_of_host(&self, terminal: &Uri) -> bool {
        self.terminals.opened.contains_key(terminal) || self.turns.has_command_run(terminal)
    }

    fn has_exited(&self, terminal: &Uri) -> bool {
        let state = self.terminal(terminal);
        state.is_none_or(|state| state.lifecycle != TerminalLifecycle::Running)
    }

    /// Writes input to a terminal. Only its sender receives the echo, and the input is not
    /// stored.
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
        let action = TerminalAction::Input(input.clone());
        self.echo_unlogged(connection, terminal, action, origin, out);
    }

    /// Sends a client's command to the owner of a terminal: the host, or the agent that opened
    /// it.
    pub(crate) fn route_terminal_command(
        &mut self,
        terminal: &Uri,
        command: PtyCommand,
        out: &mut Effects,
    ) {
        if self.is_of_host(terminal) {
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
        let effect = TurnEffect::Terminal {
            content_session: run.map(|run| run.session.clone()),
            terminal: terminal.clone(),
            command: Box::new(command),
        };
        self.turns.push_effect(chat.as_ref(), effect, out);
    }

    /// Updates the entry of a terminal in the root state (ROOT-5).
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

    /// Applies an action on a terminal that an agent runs.
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

    /// Ends the running terminals of an agent that has stopped.
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

    /// Closes the terminals of a session that is being removed.
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

    /// Marks the listed terminals as exited whose processes ended with the previous run.
    pub(crate) fn mark_terminals_exited(&mut self, out: &mut Effects) {
        let Some(state) = self.root() else {
            return;
        };
        let listed = state.terminals.iter().flatten().cloned();
        let there = listed.filter(|info| self.channels.contains(&info.resource));
        self.terminals.opened = there
            .map(|mut info| {
                let is_running = self.terminals.running.contains(&info.resource);
                if info.lifecycle == TerminalLifecycle::Running && !is_running {
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
