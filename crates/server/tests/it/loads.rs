//! What clients say about their plugins, and is wrong.

use std::time::Duration;

use agenthost_customizations::Settings;
use serde_json::json;

use crate::customizing::{Room, brought, serve_plugin};
use crate::peer::{HALF_A_CHARACTER, Peer};

/// An answer that is no text at all is the end of the question, not of the
/// patience with it (CUS-5, RPC-13).
#[tokio::test]
async fn half_a_character_is_said_at_once() {
    let room = Room::new();
    let server = room.serve(Settings::default()).await;
    let mut editor = Peer::join(&server, "editor").await;
    serve_plugin(&mut editor);
    let file = "virtual://editor/skills/skills/broken/SKILL.md";
    let text = format!("Half: {HALF_A_CHARACTER}");
    editor.files.insert(file.to_owned(), text);
    editor.open(room.project.path()).await;
    let asked = std::time::Instant::now();
    editor.be_active(json!([]), brought("1")).await;
    editor
        .until("plugin C", |peer| {
            let found = peer.customization("Plugin C");
            found.is_some_and(|found| found["load"]["kind"] == "degraded")
        })
        .await;
    // A client that says nothing has ten seconds.
    assert!(asked.elapsed() < Duration::from_secs(8));
    let found = editor.customization("Plugin C").unwrap();
    assert_eq!(
        found["load"]["message"],
        "`skills/broken/SKILL.md`: what the client answered makes no sense"
    );
    assert_eq!(found["children"][0]["name"], "review");
    server.stop().await.unwrap();
}
