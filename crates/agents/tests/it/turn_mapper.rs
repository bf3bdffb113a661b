//! The mapping of agent events to chat actions, which always apply.

use agenthost_agents::{ToolContent, ToolStart, TurnEvent, TurnMapper};
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ToolCallQuestion, ToolCallResult};
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::wire;

const CHAT: &str = r#"{"resource":"c","title":"","status":8,"modifiedAt":"2026-01-01T00:00:00Z","turns":[],
    "activeTurn":{"id":"t","startedAt":"2026-01-01T00:00:00Z","message":{"text":"x","origin":{"kind":"user"}},"responseParts":[]}}"#;

fn tool(id: &str, question: Option<ToolCallQuestion>) -> TurnEvent {
    TurnEvent::ToolStarted(Box::new(ToolStart {
        id: ToolCallId::from(id),
        name: "sh".to_owned(),
        display_name: "Shell".to_owned(),
        message: "Run".into(),
        input: None,
        question,
        meta: None,
    }))
}

fn content(id: &str) -> TurnEvent {
    TurnEvent::ToolContent(ToolContent {
        id: ToolCallId::from(id),
        content: Vec::new(),
        meta: None,
    })
}

fn done(id: &str) -> TurnEvent {
    TurnEvent::ToolCompleted(
        ToolCallId::from(id),
        Box::new(ToolCallResult {
            success: true,
            past_tense_message: "Ran".into(),
            content: None,
            structured_content: None,
            error: None,
        }),
    )
}

#[test]
fn every_action_applies() {
    let mut chat: ChannelState = wire::from_str(CHAT).unwrap();
    let mut mapper = TurnMapper::new(TurnId::from("t"));
    let events = [
        TurnEvent::Thought("hm".to_owned()),
        TurnEvent::Thought(" so".to_owned()),
        TurnEvent::Text("Hel".to_owned()),
        TurnEvent::Text("lo".to_owned()),
        tool("a", None),
        content("a"),
        // The agent repeats an event, and reports tool calls that do not exist.
        tool("a", None),
        content("nobody"),
        done("nobody"),
        TurnEvent::Text("between".to_owned()),
        done("a"),
        done("a"),
        TurnEvent::Notice("compacted".into()),
        TurnEvent::Text("after".to_owned()),
        tool("b", Some(ToolCallQuestion::default())),
    ];
    for event in events {
        for action in mapper.map(event) {
            let action = Action::Chat(action);
            assert_eq!(chat.reduce(&action), Outcome::Applied, "{action:?}");
        }
    }
    mapper.mark_denied(&ToolCallId::from("b"));
    assert!(mapper.map(done("b")).is_empty());

    let json = wire::to_json(&chat);
    let parts = json["activeTurn"]["responseParts"].as_array().unwrap();
    let shown: Vec<_> = parts
        .iter()
        .map(|part| match part["kind"].as_str().unwrap() {
            "toolCall" => part["toolCall"]["status"].as_str().unwrap().to_owned(),
            _ => part["content"].as_str().unwrap().to_owned(),
        })
        .collect();
    assert_eq!(
        shown,
        [
            "hm so",
            "Hello",
            "completed",
            "between",
            "compacted",
            "after",
            "pending-confirmation"
        ]
    );
}
