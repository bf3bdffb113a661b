//! Instructions, context and models that customizations prepare for a turn, as agents receive them.

use std::sync::Arc;

use agenthost_acp::AcpAgent;
use agenthost_core::agent::{AgentCommand, AgentEvent, AgentNotes};
use agenthost_core::customization::driver::PreparedTurn;
use agenthost_protocol::chat::{Message, Turn};
use agenthost_protocol::common::ModelSelection;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use serde_json::{Value, json};

use crate::acp::finish_turn;
use crate::bench::{Bench, chat};
use crate::session_resume::agent;

async fn open(agent: AcpAgent, notes: AgentNotes) -> Bench {
    let mut bench = Bench::of(Arc::new(agent), None);
    bench.command(AgentCommand::Open {
        directories: vec![Uri::from("file:///usr")],
        config: None,
        notes,
    });
    bench.until("opened").await;
    bench
}

fn instructions(text: &str) -> PreparedTurn {
    PreparedTurn {
        instructions: Some(text.into()),
        ..PreparedTurn::default()
    }
}

fn prompt(bench: &mut Bench, turn: &str, text: &str, prepared: PreparedTurn, history: &[&str]) {
    let history = history.iter().map(|text| {
        let turn = json!({
            "id": text, "message": {"text": text, "origin": {"kind": "user"}}, "state": "complete",
            "responseParts": [], "startedAt": "2026-01-05T09:00:00Z", "duration": 0,
        });
        Arc::new(wire::from_str::<Turn>(&turn.to_string()).unwrap())
    });
    bench.command(AgentCommand::Prompt {
        chat: chat(),
        turn: TurnId::from(turn),
        message: Arc::new(Message::of_user(text)),
        history: history.collect(),
        prepared,
    });
}

/// Returns the texts of the prompt that the agent received. The script `blocks` repeats them.
async fn prompt_texts(bench: &mut Bench, turn: &str, prepared: PreparedTurn) -> Vec<String> {
    prompt(bench, turn, "blocks", prepared, &[]);
    let events = finish_turn(bench, turn).await;
    let text = events.iter().find_map(|event| event.strip_prefix("text "));
    let blocks: String = serde_json::from_str(text.unwrap()).unwrap();
    let blocks: Vec<Value> = serde_json::from_str(&blocks).unwrap();
    let texts = blocks.iter().map(|block| block["text"].as_str().unwrap());
    texts.map(str::to_owned).collect()
}

#[tokio::test]
async fn instructions_are_sent_once_and_after_each_change() {
    let memory = tempfile::NamedTempFile::new().unwrap();
    let mut bench = open(agent("", memory.path()), AgentNotes::new()).await;
    let texts = prompt_texts(&mut bench, "t1", instructions("Be kind.")).await;
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(
        texts[0].starts_with("<agenthost-instructions>"),
        "{texts:?}"
    );
    assert!(texts[0].contains("Be kind."), "{texts:?}");
    assert_eq!(texts[1], "blocks");
    assert_eq!(
        prompt_texts(&mut bench, "t2", instructions("Be kind.")).await,
        ["blocks"]
    );
    let texts = prompt_texts(&mut bench, "t3", instructions("Be brief.")).await;
    assert!(texts[0].contains("Be brief."), "{texts:?}");
    // Instructions that are gone are revoked.
    let texts = prompt_texts(&mut bench, "t4", PreparedTurn::default()).await;
    assert!(texts[0].contains("no longer apply"), "{texts:?}");
    assert_eq!(
        prompt_texts(&mut bench, "t5", PreparedTurn::default()).await,
        ["blocks"]
    );
}

#[tokio::test]
async fn instructions_of_a_failed_turn_are_sent_again() {
    let memory = tempfile::NamedTempFile::new().unwrap();
    let mut bench = open(agent("", memory.path()), AgentNotes::new()).await;
    for script in ["error -32603 no", "die of it"] {
        prompt(&mut bench, "t1", script, instructions("Be kind."), &[]);
        bench.until("error t1").await;
        // The second script ended the process, so this is a new session of the agent.
        let texts = prompt_texts(&mut bench, "t2", instructions("Be kind.")).await;
        assert!(texts[0].contains("Be kind."), "{script}: {texts:?}");
    }
}

#[tokio::test]
async fn an_expanded_prompt_has_its_context_before_the_typed_text() {
    let memory = tempfile::NamedTempFile::new().unwrap();
    let mut bench = open(agent("", memory.path()), AgentNotes::new()).await;
    let prepared = PreparedTurn {
        text: Some("blocks".to_owned()),
        context: Some("It is Monday.".to_owned()),
        ..PreparedTurn::default()
    };
    prompt(&mut bench, "t1", "/review a.rs", prepared, &[]);
    let events = finish_turn(&mut bench, "t1").await.join("\n");
    let (context, typed) = (events.find("It is Monday."), events.find("/review a.rs"));
    assert!(context.is_some() && context < typed, "{events}");
    assert!(events.contains("<agenthost-context>") && events.contains("<agenthost-said>"));
    // Agents recognize their slash commands only in the first block, so the context follows it.
    let prepared = PreparedTurn {
        context: Some("It is Monday.".to_owned()),
        ..PreparedTurn::default()
    };
    prompt(&mut bench, "t2", "/compact", prepared, &[]);
    let events = finish_turn(&mut bench, "t2").await;
    assert_eq!(events[0], "text \"what is `/compact`?\"");
}

/// A session of the agent is recognized by what the user typed, whatever the host added to it.
#[tokio::test]
async fn an_agent_session_is_recognized_by_the_typed_text() {
    let memory = tempfile::NamedTempFile::new().unwrap();
    let mode = "load";
    let mut bench = open(agent(mode, memory.path()), AgentNotes::new()).await;
    let prepared = PreparedTurn {
        text: Some("say a long text that nobody typed".to_owned()),
        context: Some("It is Monday.".to_owned()),
        instructions: Some("Be kind. ".repeat(100).into()),
        ..PreparedTurn::default()
    };
    prompt(&mut bench, "t1", "/review", prepared, &[]);
    let mut notes = AgentNotes::new();
    loop {
        match bench.event().await {
            AgentEvent::NoteChanged { chat, note } => notes.extend(note.map(|note| (chat, note))),
            AgentEvent::TurnEnded { .. } => break,
            _ => {}
        }
    }
    drop(bench);
    let mut bench = open(agent(mode, memory.path()), notes.clone()).await;
    prompt(
        &mut bench,
        "t2",
        "say hello",
        instructions("Be kind."),
        &["/review"],
    );
    let events = finish_turn(&mut bench, "t2").await.join("\n");
    assert!(events.contains("resumed its own session"), "{events}");
    // A session of the agent with another first message is not resumed.
    let mut bench = open(agent(mode, memory.path()), notes).await;
    let before = &["/explain everything"];
    prompt(
        &mut bench,
        "t2",
        "say hello",
        PreparedTurn::default(),
        before,
    );
    let events = finish_turn(&mut bench, "t2").await.join("\n");
    assert!(
        events.contains("received the earlier turns as text"),
        "{events}"
    );
}

#[tokio::test]
async fn a_prepared_model_is_used_for_one_turn() {
    let memory = tempfile::NamedTempFile::new().unwrap();
    let mut bench = open(agent("modes", memory.path()), AgentNotes::new()).await;
    let with_model = |model: &str| PreparedTurn {
        model: Some(wire::from_str::<ModelSelection>(&json!({"id": model}).to_string()).unwrap()),
        ..PreparedTurn::default()
    };
    prompt(&mut bench, "t1", "chosen", with_model("Large"), &[]);
    let events = finish_turn(&mut bench, "t1").await;
    let chosen = events.iter().find(|event| event.starts_with("text"));
    assert!(chosen.unwrap().contains("large"), "{events:?}");
    // The options still show the user's model.
    let options = events.iter().filter(|event| event.starts_with("options"));
    assert!(
        options.clone().all(|options| options.contains("small")),
        "{events:?}"
    );
    prompt(&mut bench, "t2", "chosen", with_model("unheard of"), &[]);
    let events = finish_turn(&mut bench, "t2").await;
    let chosen = events.iter().find(|event| event.starts_with("text"));
    // The user's model was restored, and a model that the agent does not have changes nothing.
    let chosen = chosen.unwrap();
    let (large, small) = (chosen.find("large"), chosen.rfind("small"));
    assert!(large < small && !chosen.contains("unheard"), "{events:?}");
}
