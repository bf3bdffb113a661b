//! A host with an agent of one's own, in one's own program. Try it with
//! `cargo run -p agenthost-server --example own_agent -- /tmp/parrot` and
//! `agenthost run --data-dir /tmp/parrot "Polly wants a cracker"`.

use std::path::Path;
use std::sync::Arc;

use agenthost_agents::{Agent, SessionContext, SessionFuture, TurnEvent, TurnMapper};
use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_protocol::root::AgentInfo;
use agenthost_server::{ServeError, Server, ServerConfig, serve};

/// Says again what it is told, word by word.
struct Parrot;

impl Agent for Parrot {
    fn info(&self) -> AgentInfo {
        AgentInfo::new("parrot", "Parrot", "Says again what it is told.")
    }

    fn run_session(&self, mut session: SessionContext) -> SessionFuture {
        Box::pin(async move {
            while let Some(command) = session.commands.recv().await {
                match command {
                    AgentCommand::Open { .. } => {
                        let tools = Vec::new();
                        session.events.send(AgentEvent::Opened { tools }).await?;
                    }
                    AgentCommand::Prompt {
                        chat,
                        turn,
                        message,
                        ..
                    } => {
                        let mut mapper = TurnMapper::new(turn.clone());
                        for word in message.text.split_inclusive(' ') {
                            let word = TurnEvent::Text(word.to_owned());
                            session
                                .events
                                .send_turn_event(&chat, &mut mapper, word)
                                .await?;
                        }
                        session.events.end_turn(&chat, &turn, None).await?;
                    }
                    _ => {}
                }
            }
            Ok(())
        })
    }
}

pub(crate) async fn start(directory: &Path) -> Result<Server, ServeError> {
    let mut config = ServerConfig::new(directory);
    config.agents = vec![Arc::new(Parrot)];
    serve(config).await
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let directory = std::env::args().nth(1).unwrap_or("parrot".to_owned());
    start(directory.as_ref()).await?.wait().await
}
