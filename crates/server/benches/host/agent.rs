//! An agent that says as much as it is told to, as fast as it is told to.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agenthost_agents::{
    Agent, HostGone, SessionContext, SessionFuture, ToolStart, TurnEvent, TurnMapper,
};
use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_protocol::chat::ToolCallResult;
use agenthost_protocol::ids::ToolCallId;
use agenthost_protocol::list::List;
use agenthost_protocol::root::{AgentCapabilities, AgentInfo, MultipleChatsCapability};
use agenthost_protocol::terminal::{
    TerminalAction, TerminalClaim, TerminalData, TerminalLifecycle, TerminalSessionClaim,
    TerminalState,
};
use agenthost_protocol::uri::Uri;
use agenthost_server::{Server, ServerConfig, serve};

use crate::acp;

pub(crate) const TERMINAL: &str = "ahp-terminal:/bench";

/// A prompt is `COUNT SIZE PAUSE_MICROS`, or `terminal COUNT SIZE 0`, or
/// `calls COUNT SIZE 0`: so many
/// pieces of such a size, each with the time when it was said.
pub(crate) struct Speaker;

impl Agent for Speaker {
    fn info(&self) -> AgentInfo {
        AgentInfo {
            capabilities: Some(AgentCapabilities {
                multiple_chats: Some(MultipleChatsCapability {
                    fork: Some(true),
                    side_chat: None,
                }),
                multiple_working_directories: None,
            }),
            ..AgentInfo::new("speaker", "Speaker", "Says what it is told to.")
        }
    }

    fn run_session(&self, mut session: SessionContext) -> SessionFuture {
        Box::pin(async move {
            while let Some(command) = session.commands.recv().await {
                match command {
                    AgentCommand::Open { .. } => {
                        let tools = Vec::new();
                        session.events.send(AgentEvent::Opened { tools }).await?;
                        let terminal = Uri::from(TERMINAL);
                        let state = Box::new(terminal_state(&session.uri));
                        let opened = AgentEvent::TerminalOpened {
                            terminal,
                            state,
                            command: None,
                        };
                        session.events.send(opened).await?;
                    }
                    AgentCommand::Prompt {
                        chat,
                        turn,
                        message,
                        ..
                    } => {
                        let mut mapper = TurnMapper::new(turn.clone());
                        speak(&session, &chat, &mut mapper, &message.text).await?;
                        session.events.end_turn(&chat, &turn, None).await?;
                    }
                    _ => {}
                }
            }
            Ok(())
        })
    }
}

async fn speak(
    session: &SessionContext,
    chat: &Uri,
    mapper: &mut TurnMapper,
    text: &str,
) -> Result<(), HostGone> {
    if let Some(rest) = text.strip_prefix("calls ") {
        let (count, _) = rest.split_once(' ').unwrap();
        return call(session, chat, mapper, count.parse().unwrap()).await;
    }
    let (terminal, text) = match text.strip_prefix("terminal ") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let numbers: Vec<usize> = text.split(' ').map(|word| word.parse().unwrap()).collect();
    let (count, size, pause) = (numbers[0], numbers[1], numbers[2]);
    let mut clock = tokio::time::interval(Duration::from_micros(pause.max(1) as u64));
    for _ in 0..count {
        if pause > 0 {
            clock.tick().await;
        }
        let said = piece(size);
        if terminal {
            let terminal = Uri::from(TERMINAL);
            let action = Box::new(TerminalAction::Data(TerminalData { data: said }));
            session
                .events
                .send(AgentEvent::Terminal { terminal, action })
                .await?;
        } else {
            session
                .events
                .send_turn_event(chat, mapper, TurnEvent::Text(said))
                .await?;
        }
    }
    Ok(())
}

/// Uses a tool so many times.
async fn call(
    session: &SessionContext,
    chat: &Uri,
    mapper: &mut TurnMapper,
    count: usize,
) -> Result<(), HostGone> {
    for number in 0..count {
        let id = ToolCallId::from(format!("call-{number}"));
        let start = ToolStart {
            id: id.clone(),
            name: "read".to_owned(),
            display_name: "Read".to_owned(),
            message: "Reading a file".into(),
            input: Some(r#"{"path": "src/main.rs"}"#.to_owned()),
            question: None,
            meta: None,
        };
        let done = ToolCallResult {
            success: true,
            past_tense_message: "Read a file".into(),
            content: None,
            structured_content: None,
            error: None,
        };
        for event in [
            TurnEvent::ToolStarted(Box::new(start)),
            TurnEvent::ToolCompleted(id, Box::new(done)),
        ] {
            session.events.send_turn_event(chat, mapper, event).await?;
        }
    }
    Ok(())
}

/// `<nanoseconds>;xxxx…`
pub(crate) fn piece(size: usize) -> String {
    let mut piece = format!("<{}>", now());
    let missing = size.saturating_sub(piece.len());
    piece.extend(std::iter::repeat_n('x', missing));
    piece
}

pub(crate) fn now() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos()
}

/// A host with the speaker, for many clients.
pub(crate) async fn start(directory: &Path) -> Server {
    let mut config = ServerConfig::new(directory);
    config.agents = vec![Arc::new(Speaker), Arc::new(acp::agent())];
    config.limits.connections = 2_000;
    serve(config).await.unwrap()
}

fn terminal_state(session: &Uri) -> TerminalState {
    TerminalState {
        title: String::new(),
        cwd: None,
        cols: None,
        rows: None,
        content: List::new(),
        lifecycle: TerminalLifecycle::Running,
        claim: TerminalClaim::Session(TerminalSessionClaim {
            session: session.clone(),
            chat: agenthost_core::resource::uris::default_chat_uri(session),
            turn_id: None,
            tool_call_id: None,
        }),
        supports_command_detection: None,
        is_pty: Some(false),
    }
}
