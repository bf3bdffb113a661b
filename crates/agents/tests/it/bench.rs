//! A bench for a single agent: commands in, events out, without a host.

use std::sync::Arc;
use std::time::Duration;

use agenthost_agents::{Agent, AgentSupervisor, ShellAgent};
use agenthost_core::Input;
use agenthost_core::agent::{AgentCommand, AgentEvent, AgentNotes, ToolCallDecision};
use agenthost_protocol::chat::{CancellationReason, ChatAction, Message, ResponsePart};
use agenthost_protocol::ids::{ConfirmationOptionId, ProviderId, ToolCallId, TurnId};
use agenthost_protocol::list::List;
use agenthost_protocol::terminal::TerminalAction;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_workspace::ContentStore;
use tokio::sync::mpsc;

pub(crate) struct Bench {
    pub(crate) provider: ProviderId,
    pub(crate) agents: AgentSupervisor,
    pub(crate) inputs: mpsc::Receiver<Input>,
}

pub(crate) fn session() -> Uri {
    Uri::from("ahp-session:/1")
}

pub(crate) fn chat() -> Uri {
    Uri::from("ahp-chat:/1")
}

impl Bench {
    /// Opens a shell agent in a directory.
    pub(crate) async fn open(directory: &str) -> Self {
        let mut bench = Bench::of(Arc::new(ShellAgent::default()), None);
        bench.command(AgentCommand::Open {
            directories: vec![Uri::from(format!("file://{directory}"))],
            config: None,
            notes: AgentNotes::new(),
        });
        assert_eq!(bench.next().await, "opened");
        bench
    }

    /// Returns a bench with an agent that is not open yet.
    pub(crate) fn of(agent: Arc<dyn Agent>, contents: Option<Arc<ContentStore>>) -> Self {
        // The queue is small, so that agents often have to wait for the reader.
        let (sender, inputs) = mpsc::channel(4);
        let mut agents = AgentSupervisor::new(sender);
        if let Some(contents) = contents {
            agents.set_content_store(contents);
        }
        let provider = agent.info().provider;
        agents.add(agent);
        Bench {
            provider,
            agents,
            inputs,
        }
    }

    pub(crate) fn command(&mut self, command: AgentCommand) {
        let refused = self
            .agents
            .send_command(&session(), &self.provider, command);
        assert!(refused.is_none(), "{refused:?}");
    }

    pub(crate) fn prompt(&mut self, turn: &str, text: &str) {
        self.command(AgentCommand::Prompt {
            chat: chat(),
            turn: TurnId::from(turn),
            message: Arc::new(Message::of_user(text)),
            history: List::new(),
            prepared: Default::default(),
        });
    }

    pub(crate) fn decide(&mut self, turn: &str, decision: ToolCallDecision) {
        self.command(AgentCommand::DecideToolCall {
            chat: chat(),
            turn: TurnId::from(turn),
            call: ToolCallId::from("command"),
            decision,
        });
    }

    pub(crate) fn approve(&mut self, turn: &str, option: &str) {
        let option = Some(ConfirmationOptionId::from(option));
        self.decide(
            turn,
            ToolCallDecision::Approved {
                option,
                edited_input: None,
            },
        );
    }

    pub(crate) fn deny(&mut self, turn: &str) {
        self.decide(
            turn,
            ToolCallDecision::Denied {
                option: None,
                reason: CancellationReason::Denied,
                suggestion: None,
            },
        );
    }

    pub(crate) fn cancel(&mut self, turn: &str) {
        self.command(AgentCommand::Cancel {
            chat: chat(),
            turn: TurnId::from(turn),
        });
    }

    pub(crate) async fn event(&mut self) -> AgentEvent {
        let input = tokio::time::timeout(Duration::from_secs(20), self.inputs.recv());
        match input.await.unwrap().unwrap() {
            Input::Agent { event, .. } => event,
            other => panic!("not of an agent: {other:?}"),
        }
    }

    /// Returns the next event as text.
    pub(crate) async fn next(&mut self) -> String {
        describe(&self.event().await)
    }

    /// Returns all events up to the first one whose text starts with `end`.
    pub(crate) async fn until(&mut self, end: &str) -> Vec<String> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await;
            events.push(event.clone());
            if event.starts_with(end) {
                return events;
            }
        }
    }
}

fn describe(event: &AgentEvent) -> String {
    match event {
        AgentEvent::Opened { .. } => "opened".to_owned(),
        AgentEvent::Stopped { error } => format!("stopped: {}", error.message),
        AgentEvent::SteeringAccepted { id, .. } => format!("steered {id}"),
        AgentEvent::TurnStarted { turn, .. } => format!("begin {turn}"),
        AgentEvent::WorkerOpened(worker) => format!("worker {}", worker.title),
        AgentEvent::WorkerClosed { chat } => format!("close {chat}"),
        AgentEvent::NoteChanged { note, .. } => format!("noted {}", note.is_some()),
        AgentEvent::HistoryImported { turns, .. } => {
            let turns = turns.iter().map(|turn| {
                let (said, actions) = (&turn.message.text, turn.actions.len());
                format!("{said} ({actions})")
            });
            format!("adopted {}", turns.collect::<Vec<_>>().join(", "))
        }
        AgentEvent::TitleSuggested { title, .. } => format!("title {title}"),
        AgentEvent::ConfigSchemaChanged { values, .. } => {
            format!("options {}", serde_json::Value::Object(values.clone()))
        }
        AgentEvent::ForbiddenValuesChanged { values } => {
            let values = values.iter();
            let values: Vec<_> = values
                .map(|one| format!("{}={}", one.key, one.value))
                .collect();
            format!("forbids {}", values.join(" "))
        }
        AgentEvent::AuthRequired => "sign in".to_owned(),
        AgentEvent::SlashCommandsChanged { commands } => format!("{} commands", commands.len()),
        AgentEvent::TurnEnded { turn, error, .. } => match error {
            None => format!("end {turn}"),
            Some(part) => format!("error {turn}: {}", part.error.message),
        },
        AgentEvent::TerminalOpened { state, .. } => format!("terminal {}", state.title),
        AgentEvent::Terminal { action, .. } => match &**action {
            TerminalAction::Data(data) => format!("data {:?}", data.data),
            TerminalAction::Exited(exited) => format!("exited {:?}", exited.exit_code),
            other => format!("{other:?}"),
        },
        AgentEvent::Chat { action, .. } => match &**action {
            ChatAction::ToolCallStart(start) => format!("start {}", start.tool_name),
            ChatAction::ToolCallReady(ready) => {
                let asks = if ready.confirmed.is_some() {
                    "runs"
                } else {
                    "asks"
                };
                format!("ready {} and {asks}", ready.invocation_message.as_str())
            }
            ChatAction::ToolCallContentChanged(_) => "content".to_owned(),
            ChatAction::ToolCallComplete(complete) => {
                let json = wire::to_json(&complete.result);
                let result = json["content"][1]["result"].clone();
                format!("complete {} {result}", complete.result.success)
            }
            ChatAction::ResponsePart(added) => match &*added.part {
                ResponsePart::Markdown(_) => "part".to_owned(),
                other => format!("{other:?}"),
            },
            ChatAction::Delta(delta) => format!("text {:?}", delta.content),
            other => format!("{other:?}"),
        },
    }
}
