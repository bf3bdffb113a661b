//! A session with two chats, as clients of 0.3 and before come upon it.

use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use serde_json::json;

use crate::test_client::TestClient;

pub(crate) const SESSION: &str = "ahp-session:/s";
/// The chat behind the session.
pub(crate) const CHAT: &str = "ahp-chat:/c";
/// Another chat of the session, which a tool call in the first one started.
pub(crate) const WORKER: &str = "ahp-chat:/w";

/// A client that can look up the session and both of its chats.
pub(crate) fn client(release: Release) -> TestClient {
    let mut client = TestClient::of(release)
        .with_channel(SESSION, None, &session())
        .with_channel(CHAT, Some(SESSION), &chat())
        .with_channel(WORKER, Some(SESSION), &worker());
    let listed = wire::from_str(&listed().to_string()).unwrap();
    client.scene.summaries.push(std::sync::Arc::new(listed));
    client
}

/// One that follows the session.
pub(crate) fn follower(release: Release) -> TestClient {
    let mut client = client(release);
    client
        .viewer
        .map_session(Uri::from(SESSION), Uri::from(CHAT));
    client
}

pub(crate) fn session() -> Json {
    json!({
        "provider": "goose", "title": "Fix the tests", "status": 40, "lifecycle": "ready",
        "workingDirectories": ["file:///w"],
        "annotations": {
            "resource": "ahp-session:/s/annotations", "annotationCount": 1, "entryCount": 1,
        },
        "activeClients": [{
            "clientId": "c", "tools": [],
            "customizations": [{
                "type": "plugin", "id": "mine", "uri": "virtual://mine", "name": "Mine",
                "nonce": "1",
            }],
        }],
        "chats": [
            {
                "resource": CHAT, "title": "Main", "status": 8,
                "modifiedAt": "2026-01-01T00:00:05.000Z",
            },
            {
                "resource": WORKER, "title": "Look around", "status": 1,
                "modifiedAt": "2026-01-01T00:00:05.000Z",
            },
        ],
        "defaultChat": CHAT,
        "customizations": [
            {
                "type": "plugin", "id": "p", "uri": "file:///plugins/p", "name": "P",
                "enablement": [{ "kind": "global", "enabled": true }],
                "load": { "kind": "degraded", "message": "no hooks here" },
                "children": [
                    { "type": "skill", "id": "sk", "uri": "file:///plugins/p/s", "name": "S" },
                    {
                        "type": "mcpServer", "id": "in", "uri": "file:///plugins/p/m",
                        "name": "Inner", "state": { "kind": "ready" },
                    },
                ],
            },
            {
                "type": "mcpServer", "id": "m", "uri": "file:///m", "name": "M",
                "state": { "kind": "ready" },
            },
        ],
        "changesets": [{
            "label": "All", "uriTemplate": "ahp-session:/s/changeset/all", "changeKind": "session",
        }],
    })
}

pub(crate) fn chat() -> Json {
    json!({
        "resource": CHAT, "title": "Main", "status": 8, "modifiedAt": "2026-01-01T00:00:05.000Z",
        "turns": [{
            "id": "t1", "state": "complete", "startedAt": "2026-01-01T00:00:00.000Z",
            "duration": 2000,
            "message": {
                "text": "Hello", "origin": { "kind": "user" },
                "attachments": attachments(),
            },
            "responseParts": [
                { "kind": "markdown", "id": "p1", "content": "Hi" },
                { "kind": "systemNotification", "content": "Out of money" },
                { "kind": "systemNotification", "content": { "markdown": "Out of money" } },
                { "kind": "toolCall", "toolCall": {
                    "status": "completed", "toolCallId": "k1", "toolName": "ls",
                    "displayName": "List", "invocationMessage": "Listing",
                    "contributor": { "kind": "client", "clientId": "c" },
                    "confirmed": "not-needed", "success": true, "pastTenseMessage": "Listed",
                    "content": [{
                        "type": "subagent", "resource": WORKER, "title": "Look around",
                    }],
                } },
            ],
            "usage": { "inputTokens": 3, "_meta": { "price": 1 } },
        }],
        "activeTurn": {
            "id": "t2", "startedAt": "2026-01-01T00:00:05.000Z",
            "message": { "text": "More", "origin": { "kind": "user" } },
            "responseParts": [
                { "kind": "systemNotification", "content": "Back again" },
            ],
        },
        "queuedMessages": [{
            "id": "q1", "message": { "text": "Later", "origin": { "kind": "user" } },
        }],
    })
}

/// One of each kind.
pub(crate) fn attachments() -> Json {
    json!([
        { "type": "resource", "label": "a.rs", "uri": "file:///w/a.rs" },
        { "type": "resource", "label": "src", "uri": "file:///w/src", "displayKind": "directory" },
        { "type": "embeddedResource", "label": "shot", "data": "AAAA", "contentType": "image/png" },
        { "type": "simple", "label": "idea", "modelRepresentation": "an idea" },
        { "type": "annotations", "label": "notes", "resource": "ahp-session:/s/annotations" },
    ])
}

fn worker() -> Json {
    json!({
        "resource": WORKER, "title": "Look around", "status": 1,
        "modifiedAt": "2026-01-01T00:00:05.000Z",
        "origin": { "kind": "tool", "chat": CHAT, "toolCallId": "k1" },
        "turns": [{
            "id": "w1", "state": "complete", "startedAt": "2026-01-01T00:00:00.000Z",
            "message": { "text": "Look", "origin": { "kind": "agent" } }, "responseParts": [],
        }],
    })
}

fn listed() -> Json {
    json!({
        "resource": SESSION, "provider": "goose", "title": "Fix the tests", "status": 40,
        "createdAt": "2026-01-01T00:00:00.000Z", "modifiedAt": "2026-01-01T00:00:05.000Z",
        "changes": { "additions": 1, "deletions": 2, "files": 3 },
        "workingDirectories": ["file:///w"],
    })
}
