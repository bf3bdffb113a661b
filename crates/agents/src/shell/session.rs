//! One session of the shell agent: a task for each turn that runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_protocol::common::ToolDefinition;
use agenthost_protocol::uri::Uri;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

use super::running::Keyboard;
use super::turn::Turn;
use crate::agent::{HostGone, Session};
use crate::mapper::TurnMapper;

/// Commands that wait for a turn. There are few that a turn can get.
const COMMANDS: usize = 64;

/// What a turn that runs can be told by.
struct Controls {
    commands: mpsc::Sender<AgentCommand>,
    keyboard: Keyboard,
}

/// Works for a session until there are no more commands. Turns in different
/// chats run side by side; the host sees to it that a chat has one at a time.
pub(super) async fn work(mut session: Session, notes: Option<Arc<Path>>) -> Result<(), String> {
    let mut directory = None;
    let always = Arc::new(AtomicBool::new(false));
    let mut running: BTreeMap<Uri, Controls> = BTreeMap::new();
    let mut turns = JoinSet::new();
    loop {
        let command = tokio::select! {
            command = session.commands.recv() => command,
            Some(ended) = turns.join_next() => {
                check(ended)?;
                continue;
            }
        };
        match command {
            None | Some(AgentCommand::Close) => break,
            Some(AgentCommand::Open { directories, .. }) => {
                directory = directories.into_iter().next();
                let tools = vec![tool()];
                session.events.send(AgentEvent::Opened { tools }).await?;
            }
            Some(AgentCommand::Prompt {
                chat,
                turn,
                message,
                ..
            }) => {
                let (sender, commands) = mpsc::channel(COMMANDS);
                let controls = Controls {
                    commands: sender,
                    keyboard: Keyboard::default(),
                };
                let turn = Turn {
                    session: session.uri.clone(),
                    chat: chat.clone(),
                    turn: turn.clone(),
                    commands,
                    keyboard: controls.keyboard.clone(),
                    events: session.events.clone(),
                    directory: directory.clone(),
                    notes: notes.clone(),
                    always: Arc::clone(&always),
                    mapper: TurnMapper::new(turn),
                };
                running.retain(|_, turn| !turn.commands.is_closed());
                running.insert(chat, controls);
                turns.spawn(async move { turn.work(&message.text).await });
            }
            // Goes past the turn: that may be waiting for the host.
            Some(AgentCommand::UseTerminal {
                chat,
                terminal,
                command,
            }) => {
                if let Some(turn) = running.get(&chat) {
                    turn.keyboard.apply(&terminal, command);
                }
            }
            Some(command) => {
                let turn = command.chat().and_then(|chat| running.get(chat));
                if let Some(turn) = turn
                    && let Err(mpsc::error::TrySendError::Full(_)) = turn.commands.try_send(command)
                {
                    return Err("a turn does not take commands any more".to_owned());
                }
            }
        }
    }
    // Without commands they come to an end, with all they started.
    running.clear();
    while let Some(ended) = turns.join_next().await {
        check(ended)?;
    }
    Ok(())
}

fn check(ended: Result<Result<(), HostGone>, JoinError>) -> Result<(), String> {
    match ended {
        Ok(ended) => Ok(ended?),
        Err(_) => Err("a turn broke".to_owned()),
    }
}

fn tool() -> ToolDefinition {
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
