//! One session of the shell agent: a task for each turn that runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use agenthost_core::PtyCommand;
use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_protocol::common::ToolDefinition;
use agenthost_protocol::uri::Uri;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::{JoinError, JoinSet};

use super::command::TerminalHandle;
use super::turn::ShellTurn;
use crate::agent::{HostGone, SessionContext};
use crate::turn_mapper::TurnMapper;

/// Commands that wait for a turn. There are few that a turn can get.
const TURN_COMMAND_QUEUE: usize = 64;

/// Most commands of a session that continue in the background.
const MAX_BACKGROUND_COMMANDS: usize = 32;

/// What a turn that runs can be told by.
struct TurnHandle {
    commands: mpsc::Sender<AgentCommand>,
    terminal: TerminalHandle,
}

/// Works for a session until there are no more commands. Turns in different
/// chats run side by side; the host sees to it that a chat has one at a time.
pub(super) async fn run_session(
    mut session: SessionContext,
    pid_dir: Option<Arc<Path>>,
) -> Result<(), String> {
    let mut directory = None;
    let always_allowed = Arc::new(AtomicBool::new(false));
    let mut running: BTreeMap<Uri, TurnHandle> = BTreeMap::new();
    // Commands that continue without their turn, by the chat that they are for.
    let mut background: Vec<(Uri, TurnHandle)> = Vec::new();
    let mut turns = JoinSet::new();
    loop {
        let command = tokio::select! {
            command = session.commands.recv() => command,
            Some(ended) = turns.join_next() => {
                check_turn_end(ended)?;
                continue;
            }
        };
        match command {
            None | Some(AgentCommand::Close) => break,
            Some(AgentCommand::Open { directories, .. }) => {
                directory = directories.into_iter().next();
                let tools = vec![shell_tool()];
                session.events.send(AgentEvent::Opened { tools }).await?;
            }
            Some(AgentCommand::Prompt {
                chat,
                turn,
                message,
                ..
            }) => {
                let (sender, commands) = mpsc::channel(TURN_COMMAND_QUEUE);
                let handle = TurnHandle {
                    commands: sender,
                    terminal: TerminalHandle::default(),
                };
                let turn = ShellTurn {
                    session: session.uri.clone(),
                    chat: chat.clone(),
                    turn: turn.clone(),
                    commands,
                    terminal: handle.terminal.clone(),
                    events: session.events.clone(),
                    directory: directory.clone(),
                    pid_dir: pid_dir.clone(),
                    always_allowed: Arc::clone(&always_allowed),
                    mapper: TurnMapper::new(turn),
                };
                running.retain(|_, turn| !turn.commands.is_closed());
                running.insert(chat, handle);
                turns.spawn(async move { turn.run_turn(&message.text).await });
            }
            // Goes past the turn: that may be waiting for the host.
            Some(AgentCommand::UseTerminal {
                chat,
                terminal,
                command,
            }) => {
                let is_closed = command == PtyCommand::Close;
                let of_chat = background.iter().map(|(_, turn)| turn);
                for turn in of_chat.chain(running.get(&chat)) {
                    turn.terminal.execute(&terminal, command.clone());
                }
                if is_closed {
                    background.retain(|(_, turn)| !turn.terminal.is_attached_to(&terminal));
                }
            }
            Some(AgentCommand::ContinueInBackground {
                chat,
                terminal,
                output,
            }) => {
                background.retain(|(_, turn)| !turn.commands.is_closed());
                let is_meant = |turn: &TurnHandle| turn.terminal.is_attached_to(&terminal);
                if background.len() < MAX_BACKGROUND_COMMANDS
                    && running.get(&chat).is_some_and(is_meant)
                    && let Some(turn) = running.remove(&chat)
                {
                    forward_command(
                        &turn,
                        AgentCommand::ContinueInBackground {
                            chat: chat.clone(),
                            terminal,
                            output,
                        },
                    )?;
                    background.push((chat, turn));
                }
            }
            Some(AgentCommand::CloseChat { chat }) => {
                // Without commands, a turn ends with all that it started.
                background.retain(|(of, _)| *of != chat);
                running.remove(&chat);
            }
            Some(command) => {
                let turn = command.chat().and_then(|chat| running.get(chat));
                if let Some(turn) = turn {
                    forward_command(turn, command)?;
                }
            }
        }
    }
    // Without commands they come to an end, with all they started.
    running.clear();
    background.clear();
    while let Some(ended) = turns.join_next().await {
        check_turn_end(ended)?;
    }
    Ok(())
}

/// Passes a command on to a turn. One that is over takes none.
fn forward_command(turn: &TurnHandle, command: AgentCommand) -> Result<(), String> {
    match turn.commands.try_send(command) {
        Ok(()) | Err(TrySendError::Closed(_)) => Ok(()),
        Err(TrySendError::Full(_)) => Err("a turn does not take commands any more".to_owned()),
    }
}

fn check_turn_end(ended: Result<Result<(), HostGone>, JoinError>) -> Result<(), String> {
    match ended {
        Ok(ended) => Ok(ended?),
        Err(_) => Err("a turn broke".to_owned()),
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
