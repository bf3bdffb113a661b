//! Test clients and states for version steps.

use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::ids::{ClientId, ServerSeq};
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use agenthost_versions::{JsonCall, JsonDispatch, TargetClient, TranslationContext, VersionChain};
use serde_json::json;

/// A client of a release, with the states that steps can look up.
pub(crate) struct TestClient {
    pub(crate) chain: VersionChain,
    pub(crate) viewer: TargetClient,
    pub(crate) scene: StateView,
    pub(crate) before: Option<ChannelState>,
}

impl TestClient {
    /// Returns a client with the client id `c`, without states to look up.
    pub(crate) fn of(release: Release) -> Self {
        TestClient {
            chain: VersionChain::for_release(release),
            viewer: TargetClient::new(release, ClientId::from("c")),
            scene: StateView::default(),
            before: None,
        }
    }

    /// Adds a channel that steps can look up.
    pub(crate) fn with_channel(
        mut self,
        channel: &str,
        session: Option<&str>,
        state: &Json,
    ) -> Self {
        let state = wire::from_str(&state.to_string()).unwrap();
        let session = session.map(Uri::from);
        self.scene
            .channels
            .push((Uri::from(channel), session, state));
        self
    }

    pub(crate) fn at(&self) -> TranslationContext<'_> {
        TranslationContext {
            client: &self.viewer,
            states: &self.scene,
            state_before: self.before.as_ref(),
        }
    }

    /// Downgrades an action of 1.0. Returns the channel and the action of each result.
    pub(crate) fn downgrade_action(
        &self,
        channel: &str,
        action: &Json,
    ) -> Vec<(Option<String>, Json)> {
        let envelope = ActionEnvelope {
            channel: Uri::from(channel),
            action: std::sync::Arc::new(wire::from_str(&action.to_string()).unwrap()),
            server_seq: ServerSeq(7),
            origin: None,
        };
        let envelopes = self.chain.downgrade_action(&self.at(), &envelope).unwrap();
        let pair = |one: agenthost_versions::JsonEnvelope| (one.channel, Json::Object(one.action));
        envelopes.into_iter().map(pair).collect()
    }

    /// Downgrades a state of 1.0.
    pub(crate) fn downgrade_state(&self, channel: &str, state: &Json) -> Option<Json> {
        let snapshot = Snapshot {
            resource: Uri::from(channel),
            state: wire::from_str(&state.to_string()).unwrap(),
            from_seq: ServerSeq(7),
        };
        let snapshot = self
            .chain
            .downgrade_snapshot(&self.at(), &snapshot)
            .unwrap()?;
        snapshot.get("state").cloned()
    }

    /// Upgrades an action that the client dispatches to 1.0.
    pub(crate) fn upgrade_action(&self, channel: &str, action: Json) -> (String, Json) {
        let Json::Object(action) = action else {
            panic!("an action is an object");
        };
        let mut dispatch = JsonDispatch {
            channel: channel.to_owned(),
            action,
        };
        self.chain
            .upgrade_dispatch(&self.at(), &mut dispatch)
            .unwrap();
        (dispatch.channel, Json::Object(dispatch.action))
    }

    /// Upgrades a request of the client to 1.0.
    pub(crate) fn upgrade_request(&self, method: &str, params: Json) -> (String, Json) {
        let Json::Object(params) = params else {
            panic!("parameters are an object");
        };
        let mut call = JsonCall {
            method: method.to_owned(),
            params,
        };
        self.chain.upgrade_params(&self.at(), &mut call).unwrap();
        (call.method, Json::Object(call.params))
    }

    /// Downgrades a result of 1.0.
    pub(crate) fn downgrade_result(&self, method: &str, result: Json) -> Json {
        self.chain.downgrade_result(&self.at(), method, result)
    }

    /// Downgrades a notification of 1.0.
    pub(crate) fn downgrade_notification(&self, method: &str, params: Json) -> Vec<(String, Json)> {
        let Json::Object(params) = params else {
            panic!("parameters are an object");
        };
        let method = method.to_owned();
        let calls = self
            .chain
            .downgrade_notification(&self.at(), JsonCall { method, params });
        let pair = |call: JsonCall| (call.method, Json::Object(call.params));
        calls.into_iter().map(pair).collect()
    }
}

/// Returns a chat `ahp-chat:/c` whose turn `t` runs and has these parts.
pub(crate) fn chat_with(status: u32, parts: &[Json]) -> Json {
    json!({
        "resource": "ahp-chat:/c", "title": "", "status": status,
        "modifiedAt": "2026-01-01T00:00:00Z", "turns": [],
        "activeTurn": {
            "id": "t", "startedAt": "2026-01-01T00:00:00Z", "responseParts": parts,
            "message": { "text": "", "origin": { "kind": "user" } },
        },
    })
}

/// Returns an open question, as a part of a response.
pub(crate) fn question(id: &str) -> Json {
    json!({ "kind": "inputRequest", "request": { "id": id, "message": "?" } })
}

/// Returns a tool call, as part of a state.
pub(crate) fn call(status: &str, id: &str) -> Json {
    let mut call = json!({
        "status": status, "toolCallId": id, "toolName": "x", "displayName": "X",
        "invocationMessage": "do",
    });
    if status == "pending-confirmation" {
        call["editable"] = json!(true);
    } else {
        call["confirmed"] = json!("not-needed");
    }
    call
}
