//! Sessions that share a process of an agent, and affect each other as little as possible.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agenthost_acp::{AcpAgent, AcpProfile, SessionMultiplicity};
use agenthost_agents::AgentSupervisor;
use agenthost_core::Input;
use agenthost_core::agent::{AgentCommand, AgentEvent, AgentNotes};
use agenthost_protocol::chat::{ChatAction, Message};
use agenthost_protocol::ids::{ProviderId, TurnId};
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;
use tokio::sync::mpsc;

use crate::acp::agent;

/// An agent with several sessions.
struct SharedAgent {
    supervisor: AgentSupervisor,
    inputs: mpsc::Receiver<Input>,
    /// Received events of sessions that the test has not waited for yet.
    queued_events: VecDeque<(Uri, AgentEvent)>,
}

fn session(name: &str) -> Uri {
    Uri::from(format!("ahp-session:/{name}"))
}

impl SharedAgent {
    fn of(agent: AcpAgent) -> Self {
        let (sender, inputs) = mpsc::channel(64);
        let mut supervisor = AgentSupervisor::new(sender);
        supervisor.add(Arc::new(agent));
        SharedAgent {
            supervisor,
            inputs,
            queued_events: VecDeque::new(),
        }
    }

    fn command(&mut self, name: &str, command: AgentCommand) {
        let provider = ProviderId::from("scripted");
        let refused = self
            .supervisor
            .send_command(&session(name), &provider, command);
        assert!(refused.is_none(), "{refused:?}");
    }

    async fn open(&mut self, name: &str, folder: &str) {
        self.command(
            name,
            AgentCommand::Open {
                directories: vec![Uri::from(format!("file://{folder}"))],
                config: None,
                notes: AgentNotes::new(),
            },
        );
        while !matches!(self.next(name).await, AgentEvent::Opened { .. }) {}
    }

    async fn next(&mut self, name: &str) -> AgentEvent {
        let is_of_session = |(of, _): &(Uri, AgentEvent)| *of == session(name);
        if let Some(index) = self.queued_events.iter().position(is_of_session) {
            return self.queued_events.remove(index).unwrap().1;
        }
        loop {
            let input = tokio::time::timeout(Duration::from_secs(20), self.inputs.recv());
            match input.await.unwrap().unwrap() {
                Input::Agent { session: of, event } if of == session(name) => return event,
                Input::Agent { session: of, event } => self.queued_events.push_back((of, event)),
                other => panic!("{other:?}"),
            }
        }
    }

    fn prompt(&mut self, name: &str, text: &str) {
        self.command(
            name,
            AgentCommand::Prompt {
                chat: Uri::from(format!("ahp-chat:/{name}")),
                turn: TurnId::from("t"),
                message: Arc::new(Message::of_user(text)),
                history: List::new(),
                prepared: Default::default(),
            },
        );
    }

    /// Waits for the end of a turn. Returns its text, followed by its error.
    async fn finish_turn(&mut self, name: &str) -> String {
        let mut text = String::new();
        loop {
            match self.next(name).await {
                AgentEvent::Chat { action, .. } => {
                    if let ChatAction::Delta(delta) = *action {
                        text.push_str(&delta.content);
                    }
                }
                AgentEvent::TurnEnded { error: None, .. } => return text,
                AgentEvent::TurnEnded { error, .. } => {
                    return format!("{text}: {}", error.unwrap().error.message);
                }
                _ => {}
            }
        }
    }

    async fn run_turn(&mut self, name: &str, text: &str) -> String {
        self.prompt(name, text);
        self.finish_turn(name).await
    }

    /// Returns the id of the process that runs a session.
    async fn process_id(&mut self, name: &str) -> String {
        let text = self.run_turn(name, "session").await;
        text.split('-').nth(1).unwrap().to_owned()
    }
}

#[tokio::test]
async fn sessions_in_one_folder_share_a_process() {
    let mut shared = SharedAgent::of(agent(""));
    shared.open("1", "/usr").await;
    shared.open("2", "/usr").await;
    shared.open("3", "/usr/bin").await;
    let (one, two) = (shared.process_id("1").await, shared.process_id("2").await);
    assert_eq!(one, two);
    assert_ne!(shared.process_id("3").await, one);
    // Each session receives only its own text.
    shared.prompt("1", "say for one");
    shared.prompt("2", "say for two");
    assert_eq!(shared.finish_turn("2").await, "for two");
    assert_eq!(shared.finish_turn("1").await, "for one");
    // Closing one session does not end the process of the others.
    shared.command("1", AgentCommand::Close);
    assert_eq!(shared.process_id("2").await, two);
    shared.open("4", "/usr").await;
    assert_eq!(shared.process_id("4").await, two);
}

#[tokio::test]
async fn an_agent_limited_to_one_session_has_a_process_per_session() {
    let profile = AcpProfile {
        sessions: SessionMultiplicity::One,
        ..AcpProfile::default()
    };
    let mut shared = SharedAgent::of(agent("").with_profile(profile));
    shared.open("1", "/usr").await;
    shared.open("2", "/usr").await;
    assert_ne!(shared.process_id("1").await, shared.process_id("2").await);
}

/// The end of a shared process ends the running turns of all its sessions. All of them continue in
/// a new process.
#[tokio::test]
async fn the_end_of_a_shared_process_ends_the_turns_of_all_its_sessions() {
    let timeout = Duration::from_millis(300);
    let mut shared = SharedAgent::of(agent("").with_cancel_timeout(timeout));
    shared.open("1", "/usr").await;
    shared.open("2", "/usr").await;
    shared.prompt("1", "hang");
    shared.prompt("2", "say never");
    shared.command(
        "1",
        AgentCommand::Cancel {
            chat: Uri::from("ahp-chat:/1"),
            turn: TurnId::from("t"),
        },
    );
    let text = shared.finish_turn("2").await;
    assert!(
        text.contains("did not stop when its turn was cancelled"),
        "{text}"
    );
    assert_eq!(shared.run_turn("1", "say back").await, "back");
    assert_eq!(shared.run_turn("2", "say back").await, "back");
    assert_eq!(
        shared.run_turn("2", "die of it").await,
        ": the agent ended: of it"
    );
    assert_eq!(shared.run_turn("1", "say still").await, "still");
    assert_eq!(shared.run_turn("2", "say here").await, "here");
}
