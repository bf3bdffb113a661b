//! A session of the shell agent, with one task per running turn.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_core::{CommandSize, MAX_BACKGROUND_COMMANDS, PtyCommand, SessionEnvironment};
use agenthost_protocol::chat::Message;
use agenthost_protocol::common::ToolDefinition;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::{JoinError, JoinSet};

use super::command::TerminalHandle;
use super::turn::ShellTurn;
use crate::agent::{AgentEventSender, HostGone, SessionContext};
use crate::turn_mapper::TurnMapper;

/// Capacity of the command queue of a turn, which receives few commands.
const TURN_COMMAND_QUEUE: usize = 64;

/// The reason why the shell agent stopped working for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ShellError {
    /// The command queue of a turn is full.
    #[error("the command queue of a turn is full")]
    TurnQueueFull,
    /// The task of a turn panicked.
    #[error("the task of a turn panicked")]
    TurnPanicked,
    /// The host has stopped.
    #[error(transparent)]
    HostGone(#[from] HostGone),
}

/// A handle of a running turn, for commands and terminal input.
struct TurnHandle {
    commands: mpsc::Sender<AgentCommand>,
    terminal: TerminalHandle,
}

/// The state of a session and its running turns.
struct ShellSession {
    uri: Uri,
    events: AgentEventSender,
    directory: Option<Uri>,
    environment: SessionEnvironment,
    pid_dir: Option<Arc<Path>>,
    always_allowed: Arc<AtomicBool>,
    /// The tasks of all turns. They are dropped before the handles, so that each task is
    /// aborted.
    turns: JoinSet<Result<(), HostGone>>,
    /// Commands that continue in the background after their turn, each with its chat.
    background: Vec<(Uri, TurnHandle)>,
    running: BTreeMap<Uri, TurnHandle>,
}

/// Works for a session until the command channel is closed. Turns of different chats run
/// concurrently; the host ensures that a chat has one turn at a time.
pub(super) async fn run_session(
    context: SessionContext,
    pid_dir: Option<Arc<Path>>,
) -> Result<(), ShellError> {
    let mut commands = context.commands;
    let mut session = ShellSession {
        uri: context.uri,
        events: context.events,
        directory: None,
        environment: context.environment,
        pid_dir,
        always_allowed: Arc::new(AtomicBool::new(false)),
        turns: JoinSet::new(),
        background: Vec::new(),
        running: BTreeMap::new(),
    };
    loop {
        let command = tokio::select! {
            command = commands.recv() => command,
            Some(ended) = session.turns.join_next() => {
                check_turn_end(ended)?;
                continue;
            }
        };
        match command {
            None | Some(AgentCommand::Close) => break,
            Some(command) => session.handle_command(command).await?,
        }
    }
    // When its command channel is closed, a turn ends with all its processes.
    session.running.clear();
    session.background.clear();
    while let Some(ended) = session.turns.join_next().await {
        check_turn_end(ended)?;
    }
    Ok(())
}

impl ShellSession {
    async fn handle_command(&mut self, command: AgentCommand) -> Result<(), ShellError> {
        match command {
            AgentCommand::Open { directories, .. } => {
                self.directory = directories.into_iter().next();
                let tools = vec![shell_tool()];
                self.events.send(AgentEvent::Opened { tools }).await?;
            }
            AgentCommand::Prompt {
                chat,
                turn,
                message,
                ..
            } => self.spawn_turn(chat, turn, message),
            AgentCommand::UseTerminal {
                chat,
                terminal,
                command,
            } => self.use_terminal(&chat, &terminal, &command),
            AgentCommand::ContinueInBackground {
                chat,
                terminal,
                output,
            } => self.continue_in_background(chat, terminal, output)?,
            AgentCommand::CloseChat { chat } => {
                // When its command channel is closed, a turn ends with all its processes.
                self.background.retain(|(of, _)| *of != chat);
                self.running.remove(&chat);
            }
            command => {
                let turn = command.chat().and_then(|chat| self.running.get(chat));
                if let Some(turn) = turn {
                    forward_command(turn, command)?;
                }
            }
        }
        Ok(())
    }

    /// Runs a turn in a separate task.
    fn spawn_turn(&mut self, chat: Uri, turn: TurnId, message: Arc<Message>) {
        let (sender, commands) = mpsc::channel(TURN_COMMAND_QUEUE);
        let handle = TurnHandle {
            commands: sender,
            terminal: TerminalHandle::default(),
        };
        let turn = ShellTurn {
            session: self.uri.clone(),
            chat: chat.clone(),
            turn: turn.clone(),
            commands,
            terminal: handle.terminal.clone(),
            events: self.events.clone(),
            directory: self.directory.clone(),
            environment: self.environment.clone(),
            pid_dir: self.pid_dir.clone(),
            size: CommandSize::of_message(&message),
            always_allowed: Arc::clone(&self.always_allowed),
            mapper: TurnMapper::new(turn),
        };
        self.running.retain(|_, turn| !turn.commands.is_closed());
        self.running.insert(chat, handle);
        self.turns
            .spawn(async move { turn.run_turn(&message.text).await });
    }

    /// Passes a command to a terminal of a chat. It bypasses the turn, which may be waiting
    /// for the host.
    fn use_terminal(&mut self, chat: &Uri, terminal: &Uri, command: &PtyCommand) {
        let of_chat = self.background.iter().map(|(_, turn)| turn);
        for turn in of_chat.chain(self.running.get(chat)) {
            turn.terminal.execute(terminal, command.clone());
        }
        if *command == PtyCommand::Close {
            self.background
                .retain(|(_, turn)| !turn.terminal.is_attached_to(terminal));
        }
    }

    /// Lets the command of a turn continue in the background, unless the limit is reached.
    fn continue_in_background(
        &mut self,
        chat: Uri,
        terminal: Uri,
        output: String,
    ) -> Result<(), ShellError> {
        self.background
            .retain(|(_, turn)| !turn.commands.is_closed());
        let is_meant = |turn: &TurnHandle| turn.terminal.is_attached_to(&terminal);
        if self.background.len() < MAX_BACKGROUND_COMMANDS
            && self.running.get(&chat).is_some_and(is_meant)
            && let Some(turn) = self.running.remove(&chat)
        {
            forward_command(
                &turn,
                AgentCommand::ContinueInBackground {
                    chat: chat.clone(),
                    terminal,
                    output,
                },
            )?;
            self.background.push((chat, turn));
        }
        Ok(())
    }
}

/// Passes a command to a turn. A turn that has ended ignores it.
fn forward_command(turn: &TurnHandle, command: AgentCommand) -> Result<(), ShellError> {
    match turn.commands.try_send(command) {
        Ok(()) | Err(TrySendError::Closed(_)) => Ok(()),
        Err(TrySendError::Full(_)) => Err(ShellError::TurnQueueFull),
    }
}

fn check_turn_end(ended: Result<Result<(), HostGone>, JoinError>) -> Result<(), ShellError> {
    match ended {
        Ok(ended) => Ok(ended?),
        Err(_) => Err(ShellError::TurnPanicked),
    }
}

fn shell_tool() -> ToolDefinition {
    ToolDefinition {
        name: "shell".to_owned(),
        title: Some("Shell".to_owned()),
        description: Some("Runs a command line with `sh -c`.".to_owned()),
        input_schema: None,
        output_schema: None,
        annotations: None,
        meta: None,
    }
}
