//! Agent sessions that are resumed after their process has ended, and those that cannot be.

use std::path::Path;
use std::sync::Arc;

use agenthost_acp::{AcpAgent, AgentLaunch};
use agenthost_core::agent::{AgentCommand, AgentEvent, AgentNotes, ChatContext};
use agenthost_core::resource::uris;
use agenthost_protocol::chat::{Message, Turn};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use serde_json::json;

use crate::acp_agent;
use crate::bench::{Bench, chat, session};

/// Returns an agent that keeps its memory in a file.
pub(crate) fn agent(mode: &str, memory: &Path) -> AcpAgent {
    let (program, arguments) = acp_agent::agent_command("acp::the_agent");
    let memory = memory.to_string_lossy().into_owned();
    let launch = AgentLaunch {
        program,
        arguments,
        environment: vec![
            (acp_agent::AGENT_MODE_VARIABLE.to_owned(), mode.to_owned()),
            (acp_agent::MEMORY_FILE_VARIABLE.to_owned(), memory),
        ],
    };
    AcpAgent::new("scripted", "Scripted", launch)
}

fn open(agent: AcpAgent, notes: AgentNotes, agent_session: Option<&str>) -> Bench {
    let mut bench = Bench::of(Arc::new(agent), None);
    let agent_session = agent_session.map(|agent_session| json!({"agentSession": agent_session}));
    bench.command(AgentCommand::Open {
        directories: vec![Uri::from("file:///usr")],
        config: agent_session.and_then(|agent_session| agent_session.as_object().cloned()),
        notes,
    });
    bench
}

fn prompt(bench: &mut Bench, chat: &Uri, turn: &str, text: &str, history: &[(&str, &str)]) {
    let history = history.iter().map(|(text, answer)| {
        let turn = json!({
            "id": text, "message": {"text": text, "origin": {"kind": "user"}}, "state": "complete",
            "responseParts": [{"kind": "markdown", "id": "1", "content": answer}],
            "startedAt": "2026-01-05T09:00:00Z", "duration": 0,
        });
        Arc::new(wire::from_str::<Turn>(&turn.to_string()).unwrap())
    });
    bench.command(AgentCommand::Prompt {
        chat: chat.clone(),
        turn: TurnId::from(turn),
        message: Arc::new(Message::of_user(text)),
        history: history.collect::<List<_>>(),
        prepared: Default::default(),
    });
}

/// Returns the events of a turn without its end and the events that do not matter here.
async fn run_to_end(bench: &mut Bench, turn: &str) -> Vec<String> {
    let mut events = bench.until(&format!("end {turn}")).await;
    events.retain(|event| event != "part" && event != "noted true");
    events.pop();
    events
}

/// Runs a first turn. Returns the notes that the host has to keep about the agent's session.
async fn run_first_session(agent: AcpAgent) -> AgentNotes {
    let mut bench = open(agent, AgentNotes::new(), None);
    assert_eq!(bench.next().await, "opened");
    prompt(&mut bench, &chat(), "t1", "say hello", &[]);
    let mut notes = AgentNotes::new();
    loop {
        match bench.event().await {
            AgentEvent::NoteChanged { chat, note } => {
                notes.extend(note.map(|note| (chat, note)));
            }
            AgentEvent::TurnEnded { .. } => return notes,
            _ => {}
        }
    }
}

#[tokio::test]
async fn an_agent_session_is_resumed_after_a_restart() {
    for mode in ["load", "resume", "load resume"] {
        let memory = tempfile::NamedTempFile::new().unwrap();
        let notes = run_first_session(agent(mode, memory.path())).await;
        assert_eq!(notes.len(), 1);
        let mut bench = open(agent(mode, memory.path()), notes, None);
        assert_eq!(bench.next().await, "opened");
        let before = [("say hello", "hello")];
        prompt(&mut bench, &chat(), "t2", "known", &before);
        let events = run_to_end(&mut bench, "t2").await;
        let text: Vec<_> = events
            .iter()
            .filter(|event| event.starts_with("text"))
            .collect();
        // The agent remembers the first message, and its replay of that message is not published
        // again.
        assert_eq!(text, ["text \"say hello, known\""], "{mode}: {events:?}");
        let notice = events
            .iter()
            .find(|event| event.contains("resumed its own"));
        assert!(notice.is_some(), "{mode}: {events:?}");
    }
}

/// An agent that cannot resume its session, has forgotten it or remembers another conversation
/// receives the history of the chat as text: the log of the host is authoritative.
#[tokio::test]
async fn an_agent_that_cannot_resume_receives_the_history_as_text() {
    let memory = tempfile::NamedTempFile::new().unwrap();
    let fresh = || tempfile::NamedTempFile::new().unwrap();
    let notes = run_first_session(agent("load", memory.path())).await;
    let (forgot, other) = (fresh(), [("something else", "quite")]);
    let transcript = [("say hello", "hello to you")];
    let cases = [
        (agent("", memory.path()), &transcript),
        (agent("load", forgot.path()), &transcript),
        (agent("load", memory.path()), &other),
    ];
    for (agent, history) in cases {
        let mut bench = open(agent, notes.clone(), None);
        assert_eq!(bench.next().await, "opened");
        prompt(&mut bench, &chat(), "t2", "blocks", history);
        let events = run_to_end(&mut bench, "t2").await.join("\n");
        assert!(
            events.contains("received the earlier turns as text"),
            "{events}"
        );
        let (message, answer) = history[0];
        assert!(events.contains(&format!("User: {message}")), "{events}");
        assert!(events.contains(&format!("Agent: {answer}")), "{events}");
        // The history is sent only once.
        prompt(&mut bench, &chat(), "t3", "known", history);
        let events = run_to_end(&mut bench, "t3").await;
        assert_eq!(events, ["text \"blocks, known\""]);
    }
}

#[tokio::test]
async fn a_crashed_agent_resumes_its_session() {
    let memory = tempfile::NamedTempFile::new().unwrap();
    let mut bench = open(agent("load", memory.path()), AgentNotes::new(), None);
    assert_eq!(bench.next().await, "opened");
    prompt(&mut bench, &chat(), "t1", "die of boredom", &[]);
    bench.until("error t1").await;
    prompt(
        &mut bench,
        &chat(),
        "t2",
        "known",
        &[("die of boredom", "")],
    );
    let events = run_to_end(&mut bench, "t2").await;
    assert_eq!(events.last().unwrap(), "text \"die of boredom, known\"");
}

#[tokio::test]
async fn a_forked_chat_has_the_history_of_its_source() {
    for (mode, expected) in [("fork", "say hello, known"), ("", "known")] {
        let memory = tempfile::NamedTempFile::new().unwrap();
        let mut bench = open(agent(mode, memory.path()), AgentNotes::new(), None);
        assert_eq!(bench.next().await, "opened");
        prompt(&mut bench, &chat(), "t1", "say hello", &[]);
        bench.until("end t1").await;
        let copy = Uri::from("ahp-chat:/copy");
        bench.command(AgentCommand::OpenChat {
            chat: copy.clone(),
            context: ChatContext::History {
                turns: List::new(),
                copy_of: Some(chat()),
            },
        });
        prompt(&mut bench, &copy, "t2", "known", &[("say hello", "hello")]);
        let events = run_to_end(&mut bench, "t2").await;
        assert_eq!(
            events.last().unwrap(),
            &format!("text {expected:?}"),
            "{mode}"
        );
        // An agent that cannot copy its session receives the history as text, and a notice says so.
        assert_eq!(
            events.len(),
            if mode.is_empty() { 2 } else { 1 },
            "{events:?}"
        );
    }
}

#[tokio::test]
async fn a_side_chat_receives_the_selected_text() {
    let memory = tempfile::NamedTempFile::new().unwrap();
    let mut bench = open(agent("plain", memory.path()), AgentNotes::new(), None);
    assert_eq!(bench.next().await, "opened");
    let side = Uri::from("ahp-chat:/side");
    bench.command(AgentCommand::OpenChat {
        chat: side.clone(),
        context: ChatContext::SideChat {
            turns: List::new(),
            running: None,
            selection: Some("the third line".to_owned()),
        },
    });
    prompt(&mut bench, &side, "t1", "blocks", &[]);
    let events = run_to_end(&mut bench, "t1").await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].contains("the third line"), "{events:?}");
}

/// The context is sent once, unless the agent may have lost it with a failed prompt.
#[tokio::test]
async fn a_failed_prompt_does_not_lose_the_context() {
    let memory = tempfile::NamedTempFile::new().unwrap();
    let mut bench = open(agent("plain", memory.path()), AgentNotes::new(), None);
    assert_eq!(bench.next().await, "opened");
    let side = Uri::from("ahp-chat:/side");
    bench.command(AgentCommand::OpenChat {
        chat: side.clone(),
        context: ChatContext::SideChat {
            turns: List::new(),
            running: None,
            selection: Some("the third line".to_owned()),
        },
    });
    prompt(&mut bench, &side, "t1", "error -32603 overloaded", &[]);
    bench.until("error t1").await;
    prompt(&mut bench, &side, "t2", "blocks", &[]);
    let events = run_to_end(&mut bench, "t2").await;
    assert!(events.concat().contains("the third line"), "{events:?}");
    prompt(&mut bench, &side, "t3", "blocks", &[]);
    let events = run_to_end(&mut bench, "t3").await;
    assert!(!events.concat().contains("the third line"), "{events:?}");
}

/// A session that the agent has from elsewhere can be adopted as a session of the host.
#[tokio::test]
async fn an_agent_session_is_imported() {
    let memory = tempfile::NamedTempFile::new().unwrap();
    let notes = run_first_session(agent("load", memory.path())).await;
    let id = notes.values().next().unwrap();
    let mut bench = open(agent("load", memory.path()), AgentNotes::new(), Some(id));
    let before = bench.until("opened").await;
    // The five actions: a part, its text, and the start, confirmation and completion of a tool
    // call.
    assert_eq!(before[0], "adopted say hello (5)", "{before:?}");
    assert!(before.contains(&"title As before".to_owned()), "{before:?}");
    let settled = r#"options {"agentSession":""}"#;
    assert!(before.contains(&settled.to_owned()), "{before:?}");
    let default = uris::default_chat_uri(&session());
    prompt(&mut bench, &default, "t2", "known", &[("say hello", "")]);
    let events = run_to_end(&mut bench, "t2").await;
    assert_eq!(events, ["text \"say hello, known\""]);
}

#[tokio::test]
async fn importing_an_unknown_agent_session_fails() {
    let memory = tempfile::NamedTempFile::new().unwrap();
    let mut bench = open(
        agent("load", memory.path()),
        AgentNotes::new(),
        Some("gone"),
    );
    let event = bench.next().await;
    assert!(
        event.contains("`gone`: There is no such session"),
        "{event}"
    );
    let mut bench = open(agent("", memory.path()), AgentNotes::new(), Some("gone"));
    let event = bench.next().await;
    assert!(event.contains("cannot resume sessions"), "{event}");
}

/// A session of the agent can be adopted by only one session of the host.
#[tokio::test]
async fn an_agent_session_is_imported_only_once() {
    let memory = tempfile::NamedTempFile::new().unwrap();
    let notes = run_first_session(agent("load", memory.path())).await;
    let id = notes.values().next().unwrap();
    let mut bench = open(agent("load", memory.path()), AgentNotes::new(), Some(id));
    bench.until("opened").await;
    let again = Uri::from("ahp-session:/2");
    let agent_session = json!({"agentSession": id});
    let open = AgentCommand::Open {
        directories: vec![Uri::from("file:///usr")],
        config: agent_session.as_object().cloned(),
        notes: AgentNotes::new(),
    };
    let refused = bench
        .agents
        .send_command(&again, &bench.provider.clone(), open);
    assert!(refused.is_none());
    let event = bench.next().await;
    assert!(
        event.contains("another session of the host uses this one"),
        "{event}"
    );
}
