//! Facts from the documents of old versions that a client relies on.
//!
//! They are copied by hand from three documents: the types of the state of 0.1, the reference of
//! the session channel of 0.2, and the changelog up to 0.4. A session of 1.0 has to satisfy them
//! after its downgrade.

use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Json;
use serde_json::json;

use crate::two_chat_session::{CHAT, SESSION, WORKER, follower, session};

/// The required and the optional fields of an object.
struct Kind {
    name: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
}

impl Kind {
    /// Checks that a value has all required fields, and no field that the document does not have.
    #[track_caller]
    fn fits(&self, value: &Json) {
        let name = self.name;
        let object = value.as_object().unwrap_or_else(|| panic!("no {name}"));
        for field in self.required {
            assert!(object.contains_key(*field), "{name} has no {field}");
        }
        for field in object.keys() {
            let known = self.required.iter().chain(self.optional);
            assert!(
                known.into_iter().any(|known| known == field),
                "{name} has {field}"
            );
        }
    }
}

const SESSION_0_1: Kind = Kind {
    name: "SessionState of 0.1",
    required: &["summary", "lifecycle", "turns"],
    optional: &[
        "creationError",
        "serverTools",
        "activeClient",
        "activeTurn",
        "steeringMessage",
        "queuedMessages",
        "inputRequests",
        "config",
        "customizations",
        "_meta",
    ],
};

const SUMMARY_0_1: Kind = Kind {
    name: "SessionSummary of 0.1",
    required: &[
        "resource",
        "provider",
        "title",
        "status",
        "createdAt",
        "modifiedAt",
    ],
    optional: &["activity", "project", "model", "workingDirectory", "diffs"],
};

const TURN_0_1: Kind = Kind {
    name: "Turn of 0.1",
    required: &["id", "userMessage", "responseParts", "state"],
    optional: &["usage", "error"],
};

const ACTIVE_TURN_0_1: Kind = Kind {
    name: "ActiveTurn of 0.1",
    required: &["id", "userMessage", "responseParts"],
    optional: &["usage"],
};

const USER_MESSAGE_0_1: Kind = Kind {
    name: "UserMessage of 0.1",
    required: &["text"],
    optional: &["attachments"],
};

const ATTACHMENT_0_1: Kind = Kind {
    name: "MessageAttachment of 0.1",
    required: &["type", "uri"],
    optional: &["displayName"],
};

const COMPLETED_CALL_0_1: Kind = Kind {
    name: "ToolCallCompletedState of 0.1",
    required: &[
        "status",
        "toolCallId",
        "toolName",
        "displayName",
        "invocationMessage",
        "success",
        "pastTenseMessage",
        "confirmed",
    ],
    optional: &[
        "toolClientId",
        "toolInput",
        "content",
        "structuredContent",
        "error",
        "selectedOption",
        "_meta",
    ],
};

const SUBAGENT_0_1: Kind = Kind {
    name: "ToolResultSubagentContent of 0.1",
    required: &["type", "resource", "title"],
    optional: &["agentName", "description"],
};

const CUSTOMIZATION_0_1: Kind = Kind {
    name: "SessionCustomization of 0.1",
    required: &["customization", "enabled"],
    optional: &["clientId", "status", "statusMessage"],
};

const REFERENCE_0_1: Kind = Kind {
    name: "CustomizationRef of 0.1",
    required: &["uri", "displayName"],
    optional: &["description", "icons", "nonce"],
};

const ACTIVE_CLIENT_0_1: Kind = Kind {
    name: "SessionActiveClient of 0.1",
    required: &["clientId", "tools"],
    optional: &["displayName", "customizations"],
};

fn items<'a>(value: &'a Json, field: &str) -> &'a [Json] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// Checks that a response part has a kind of 0.1, and the fields of that kind.
fn fits_part_0_1(part: &Json) {
    let required: &[&str] = match part["kind"].as_str().unwrap() {
        "markdown" | "reasoning" => &["id", "content"],
        "contentRef" => &["uri"],
        "toolCall" => &["toolCall"],
        other => panic!("0.1 has no part {other}"),
    };
    for field in required {
        assert!(part.get(*field).is_some(), "no {field} in {part}");
    }
}

fn fits_session_0_1(state: &Json) {
    SESSION_0_1.fits(state);
    SUMMARY_0_1.fits(&state["summary"]);
    for time in ["createdAt", "modifiedAt"] {
        assert!(state["summary"][time].is_u64(), "{time} is not a number");
    }
    for turn in items(state, "turns") {
        TURN_0_1.fits(turn);
        USER_MESSAGE_0_1.fits(&turn["userMessage"]);
        for attachment in items(&turn["userMessage"], "attachments") {
            ATTACHMENT_0_1.fits(attachment);
        }
        items(turn, "responseParts").iter().for_each(fits_part_0_1);
    }
    for customization in items(state, "customizations") {
        CUSTOMIZATION_0_1.fits(customization);
        REFERENCE_0_1.fits(&customization["customization"]);
    }
}

#[test]
fn a_session_has_the_fields_of_the_0_1_types() {
    let state = follower(Release::V0_1)
        .downgrade_state(SESSION, &session())
        .unwrap();
    fits_session_0_1(&state);
    assert_eq!(state["summary"]["resource"], SESSION);
    assert_eq!(state["summary"]["workingDirectory"], "file:///w");
    assert_eq!(state["lifecycle"], "ready");
    assert_eq!(state["turns"][0]["state"], "complete");
    let call = &state["turns"][0]["responseParts"][3]["toolCall"];
    COMPLETED_CALL_0_1.fits(call);
    SUBAGENT_0_1.fits(&call["content"][0]);
    ACTIVE_TURN_0_1.fits(&state["activeTurn"]);
    let parts = items(&state["activeTurn"], "responseParts");
    parts.iter().for_each(fits_part_0_1);
    ACTIVE_CLIENT_0_1.fits(&state["activeClient"]);
    REFERENCE_0_1.fits(&state["activeClient"]["customizations"][0]);
}

/// The document says that the URI of a subagent can be subscribed to "for full session state".
#[test]
fn a_subagent_is_a_session_in_0_1() {
    let client = follower(Release::V0_1);
    let state = client.downgrade_state(SESSION, &session()).unwrap();
    let call = &state["turns"][0]["responseParts"][3]["toolCall"];
    assert_eq!(call["content"][0]["resource"], WORKER);
    let worker = serde_json::to_value(&client.scene.channels[2].2).unwrap();
    let state = client.downgrade_state(WORKER, &worker).unwrap();
    fits_session_0_1(&state);
    assert_eq!(state["summary"]["resource"], WORKER);
    assert_eq!(state["summary"]["title"], "Look around");
    assert_eq!(state["summary"]["provider"], "goose");
    assert_eq!(state["turns"][0]["id"], "w1");
}

#[test]
fn a_status_has_the_bits_of_the_0_1_types() {
    let state = follower(Release::V0_1)
        .downgrade_state(SESSION, &session())
        .unwrap();
    let status = state["summary"]["status"].as_u64().unwrap();
    assert_eq!(status & (1 << 3), 1 << 3, "a turn is active");
    assert_eq!(status & (1 << 5), 1 << 5, "it was read");
    assert_eq!(status & (1 << 6), 0, "it is not archived");
}

/// Returns each action of the reference that the host sends, with its required fields, and an
/// action of 1.0 that is downgraded to it.
fn reference_0_2() -> Vec<(&'static str, &'static [&'static str], Json)> {
    let message = json!({ "text": "Hello", "origin": { "kind": "user" } });
    let call = |kind: &str, rest: Json| {
        let mut action = json!({ "type": kind, "turnId": "t2", "toolCallId": "k" });
        let rest = rest.as_object().unwrap().clone();
        action.as_object_mut().unwrap().extend(rest);
        action
    };
    vec![
        (
            "session/turnStarted",
            &["turnId", "userMessage"],
            json!({
                "type": "chat/turnStarted", "turnId": "t", "message": message,
                "startedAt": "2026-01-01T00:00:00Z",
            }),
        ),
        (
            "session/delta",
            &["turnId", "partId", "content"],
            json!({ "type": "chat/delta", "turnId": "t2", "partId": "p", "content": "x" }),
        ),
        (
            "session/responsePart",
            &["turnId", "part"],
            json!({
                "type": "chat/responsePart", "turnId": "t2",
                "part": { "kind": "markdown", "id": "p", "content": "" },
            }),
        ),
        (
            "session/reasoning",
            &["turnId", "partId", "content"],
            json!({ "type": "chat/reasoning", "turnId": "t2", "partId": "p", "content": "x" }),
        ),
        (
            "session/toolCallStart",
            &[
                "turnId",
                "toolCallId",
                "toolName",
                "displayName",
                "toolClientId",
            ],
            call(
                "chat/toolCallStart",
                json!({
                    "toolName": "ls", "displayName": "List",
                    "contributor": { "kind": "client", "clientId": "c" },
                }),
            ),
        ),
        (
            "session/toolCallConfirmed",
            &[
                "turnId",
                "toolCallId",
                "approved",
                "reason",
                "userSuggestion",
            ],
            call(
                "chat/toolCallConfirmed",
                json!({ "approved": false, "reason": "denied", "userSuggestion": message }),
            ),
        ),
        (
            "session/toolCallComplete",
            &["turnId", "toolCallId", "result"],
            call(
                "chat/toolCallComplete",
                json!({ "result": { "success": true, "pastTenseMessage": "Listed" } }),
            ),
        ),
        (
            "session/turnComplete",
            &["turnId"],
            json!({ "type": "chat/turnComplete", "turnId": "t2", "duration": 1 }),
        ),
        (
            "session/turnCancelled",
            &["turnId"],
            json!({ "type": "chat/turnCancelled", "turnId": "t2", "duration": 1 }),
        ),
        (
            "session/usage",
            &["turnId", "usage"],
            json!({ "type": "chat/usage", "turnId": "t2", "usage": { "inputTokens": 1 } }),
        ),
        (
            "session/pendingMessageSet",
            &["kind", "id", "userMessage"],
            json!({
                "type": "chat/pendingMessageSet", "kind": "queued", "id": "q", "message": message,
            }),
        ),
        (
            "session/truncated",
            &["turnId"],
            json!({ "type": "chat/truncated", "turnId": "t1" }),
        ),
    ]
}

#[test]
fn actions_have_the_fields_of_the_0_2_reference() {
    let client = follower(Release::V0_2);
    for (name, fields, action) in reference_0_2() {
        let heard = client.downgrade_action(CHAT, &action);
        let (channel, told) = &heard[0];
        assert_eq!(channel.as_deref(), Some(SESSION), "{name}");
        assert_eq!(told["type"], name);
        let named = told.as_object().unwrap().keys().map(String::as_str);
        let mut named: Vec<&str> = named.filter(|field| *field != "type").collect();
        let mut fields = fields.to_vec();
        named.sort_unstable();
        fields.sort_unstable();
        assert_eq!(named, fields, "{name}");
    }
}

#[test]
fn customizations_are_top_level_containers_in_0_2() {
    let state = follower(Release::V0_2)
        .downgrade_state(SESSION, &session())
        .unwrap();
    for customization in items(&state, "customizations") {
        let kind = customization["type"].as_str().unwrap();
        assert!(["plugin", "directory"].contains(&kind), "{kind}");
        for field in ["id", "uri", "name", "enabled"] {
            assert!(customization.get(field).is_some(), "no {field}");
        }
    }
}

/// The changelog of 0.3: "Moved the changesets catalogue from SessionSummary to SessionState", with
/// a kind for each, and with totals of changes in the summary instead.
#[test]
fn the_changesets_catalogue_moves_to_the_session_in_0_3() {
    let newer = follower(Release::V0_3)
        .downgrade_state(SESSION, &session())
        .unwrap();
    assert_eq!(newer["changesets"][0]["changeKind"], "session");
    assert_eq!(newer["summary"]["changes"]["files"], 3);
    let older = follower(Release::V0_2)
        .downgrade_state(SESSION, &session())
        .unwrap();
    assert_eq!(older.get("changesets"), None);
    let catalogue = json!([{ "label": "All", "uriTemplate": "ahp-session:/s/changeset/all" }]);
    assert_eq!(older["summary"]["changesets"], catalogue);
    assert_eq!(older["summary"].get("changes"), None);
}

/// A session of 0.3 has the fields that 0.4 removed, according to the changelog.
#[test]
fn a_0_3_session_has_the_fields_that_0_4_removed() {
    let state = follower(Release::V0_3)
        .downgrade_state(SESSION, &session())
        .unwrap();
    for field in ["turns", "activeTurn", "queuedMessages"] {
        assert!(state.get(field).is_some(), "no {field}");
    }
    for field in ["chats", "defaultChat"] {
        assert_eq!(state.get(field), None, "{field}");
    }
    assert_eq!(state["summary"].get("annotations"), None);
}
