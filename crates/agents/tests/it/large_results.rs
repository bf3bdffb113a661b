//! Tool results that are too large for the state of a chat.

use std::sync::Arc;
use std::time::Duration;

use agenthost_agents::{Agent, AgentSupervisor, SessionContext, SessionFuture};
use agenthost_core::Input;
use agenthost_core::agent::{AgentCommand, AgentEvent, AgentNotes};
use agenthost_protocol::chat::{ChatAction, ToolCallComplete, ToolResultContent, ToolResultText};
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::wire;
use agenthost_workspace::{ContentStore, MAX_FILE_BYTES};
use serde_json::json;
use tokio::sync::mpsc;

use crate::bench::{chat, session};

/// An agent that sends a single event and ignores all commands.
struct SingleEventAgent(AgentEvent);

impl Agent for SingleEventAgent {
    fn info(&self) -> AgentInfo {
        AgentInfo::new("teller", "Teller", "")
    }

    fn run_session(&self, mut session: SessionContext) -> SessionFuture {
        let event = self.0.clone();
        Box::pin(async move {
            session.events.send(event).await?;
            while session.commands.recv().await.is_some() {}
            Ok(())
        })
    }
}

/// Returns the content that the host receives of a tool result with these texts.
async fn results_of_texts(
    contents: Option<Arc<ContentStore>>,
    texts: &[&str],
) -> Vec<ToolResultContent> {
    let block = |text: &&str| {
        let text = (*text).to_owned();
        ToolResultContent::Text(ToolResultText { text })
    };
    results_of_blocks(contents, texts.iter().map(block).collect()).await
}

/// Returns the content that the host receives of a tool result with these blocks.
async fn results_of_blocks(
    contents: Option<Arc<ContentStore>>,
    blocks: Vec<ToolResultContent>,
) -> Vec<ToolResultContent> {
    let result = json!({"success": true, "pastTenseMessage": "Did it"});
    let complete = json!({"turnId": "t", "toolCallId": "c", "result": result});
    let mut complete: ToolCallComplete = wire::from_str(&complete.to_string()).unwrap();
    complete.result.content = Some(blocks);
    let teller = SingleEventAgent(AgentEvent::Chat {
        chat: chat(),
        action: Box::new(ChatAction::ToolCallComplete(Box::new(complete))),
    });
    let (sender, mut inputs) = mpsc::channel(4);
    let mut agents = AgentSupervisor::new(sender);
    if let Some(contents) = contents {
        agents.set_content_store(contents);
    }
    let provider = teller.info().provider;
    agents.add(Arc::new(teller));
    let open = AgentCommand::Open {
        directories: Vec::new(),
        config: None,
        notes: AgentNotes::new(),
    };
    assert!(agents.send_command(&session(), &provider, open).is_none());
    let heard = tokio::time::timeout(Duration::from_secs(20), inputs.recv());
    let Some(Input::Agent { event, .. }) = heard.await.unwrap() else {
        panic!("an agent tells something");
    };
    let AgentEvent::Chat { action, .. } = event else {
        panic!("it is about a chat");
    };
    let ChatAction::ToolCallComplete(complete) = *action else {
        panic!("it is the result");
    };
    complete.result.content.unwrap()
}

fn text(block: &ToolResultContent) -> &str {
    match block {
        ToolResultContent::Text(text) => &text.text,
        other => panic!("{other:?}"),
    }
}

/// PRT-4: a long text is cut, and followed by a link to the stored content.
#[tokio::test]
async fn long_texts_are_spilled_to_the_content_store() {
    let folder = tempfile::tempdir().unwrap();
    let contents = Arc::new(ContentStore::open(folder.path()).unwrap());
    let long = "é".repeat(40_000);
    let short = "x".repeat(64 * 1024);
    let heard = results_of_texts(Some(Arc::clone(&contents)), &[&short, &long]).await;
    assert_eq!(heard.len(), 3);
    assert_eq!(text(&heard[0]), short);
    assert_eq!(text(&heard[1]), "é".repeat(2_048));
    let ToolResultContent::Resource(kept) = &heard[2] else {
        panic!("{:?}", heard[2]);
    };
    assert_eq!(kept.size_hint, Some(80_000));
    assert_eq!(contents.read(&kept.uri, None).unwrap().data, long);
    // Without a content store, the text stays in the result.
    let heard = results_of_texts(None, &[&long]).await;
    assert_eq!(text(&heard[0]), long);
}

/// A result that cannot be stored completely ends with a notice about the missing part.
#[tokio::test]
async fn a_truncated_result_has_a_notice() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("content");
    let contents = Arc::new(ContentStore::open(&place).unwrap());
    let huge = "x".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() + 7);
    let heard = results_of_texts(Some(Arc::clone(&contents)), &[&huge]).await;
    assert_eq!(heard.len(), 3);
    assert_eq!(
        text(&heard[2]),
        "(The last 7 bytes were dropped: the result is too large)"
    );
    std::fs::remove_dir_all(&place).unwrap();
    let heard = results_of_texts(Some(contents), &[&"x".repeat(70_000)]).await;
    assert_eq!(heard.len(), 2);
    assert!(text(&heard[1]).starts_with("(The rest was not stored: store content: "));
}

/// Large embedded data such as an image is not part of the state: clients load it on demand.
#[tokio::test]
async fn large_embedded_data_is_spilled_to_the_content_store() {
    let folder = tempfile::tempdir().unwrap();
    let contents = Arc::new(ContentStore::open(folder.path()).unwrap());
    let embedded = |data: &str| {
        let block = json!({"type": "embeddedResource", "data": data, "contentType": "image/png"});
        wire::from_str::<ToolResultContent>(&block.to_string()).unwrap()
    };
    let (small, large) = ("AAAA".repeat(16 * 1024), "AAAA".repeat(16 * 1024 + 1));
    let blocks = vec![embedded(&small), embedded(&large)];
    let heard = results_of_blocks(Some(Arc::clone(&contents)), blocks).await;
    assert_eq!(heard[0], embedded(&small));
    let ToolResultContent::Resource(kept) = &heard[1] else {
        panic!("{:?}", heard[1]);
    };
    assert_eq!(kept.content_type.as_deref(), Some("image/png"));
    assert_eq!(kept.size_hint, Some(48 * 1024 + 3));
    assert_eq!(heard.len(), 2);
}
