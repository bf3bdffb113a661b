//! Fuzz targets of this crate: upgrade client messages from every release, and downgrade
//! states, actions and messages of the host to every release.

#![expect(
    clippy::unwrap_used,
    reason = "the fuzzer sees a violated invariant as a panic"
)]

use std::cell::OnceCell;
use std::sync::Arc;

use agenthost_protocol::action::{
    Action, ActionEnvelope, ActionOrigin, RawAction, ReceivedAction, Rejection,
};
use agenthost_protocol::channel::{ChannelKind, ChannelState, Snapshot};
use agenthost_protocol::ids::{ClientId, ClientSeq, ServerSeq};
use agenthost_protocol::number::Millis;
use agenthost_protocol::rpc::{CallError, ClientNotification, ClientRequest, Message};
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Document, Json, Limits, Object, Wire};
use serde_json::json;

use crate::{
    JsonCall, JsonDispatch, JsonEnvelope, StoredRow, TargetClient, TranslationContext,
    VersionChain, answer_fetch_turns,
};

const SESSION: &str = "ahp-session:/s";
const CHAT: &str = "ahp-chat:/c";

/// Upgrades a client message, response or stored row from every release. The result must be a
/// refusal, or a JSON-RPC message that the host can decode or reject with an error.
pub fn versions_up(data: &[u8]) {
    let Some(message) = object(data) else {
        return;
    };
    for release in Release::ALL {
        with_client(*release, |chain, at| {
            request_up(chain, at, &message);
            response_up(chain, at, &message);
            row_up(*release, chain, &message);
        });
    }
}

/// Downgrades a state, an action, a result and a message of the host to every release. The
/// result must be deterministic, and JSON within the limits for states.
pub fn versions_down(data: &[u8]) {
    let Some(input) = object(data) else {
        return;
    };
    for release in Release::ALL {
        with_client(*release, |chain, at| {
            let first = down(chain, at, &input);
            assert_eq!(first, down(chain, at, &input), "{release}");
        });
    }
}

/// Parses the input as an object within the limits for messages, because translation only
/// receives messages that were parsed before.
fn object(data: &[u8]) -> Option<Object> {
    let text = std::str::from_utf8(data).ok()?;
    let document = Document::parse(text, Limits::default()).ok()?;
    let Json::Object(object) = document.root().to_json() else {
        return None;
    };
    Some(object)
}

fn decode<T: Wire>(json: &Json) -> Option<T> {
    let text = json.to_string();
    let document = Document::parse(&text, Limits::STATE).unwrap();
    T::decode(document.root()).ok()
}

/// Runs a check for a client that is subscribed to the session of the scene.
fn with_client(release: Release, run: impl FnOnce(VersionChain, &TranslationContext<'_>)) {
    thread_local! {
        static SCENE: OnceCell<StateView> = const { OnceCell::new() };
    }
    SCENE.with(|scene| {
        let scene = scene.get_or_init(read_scene);
        let mut viewer = TargetClient::new(release, ClientId::from("c"));
        viewer.map_session(Uri::from(SESSION), Uri::from(CHAT));
        let at = TranslationContext {
            client: &viewer,
            states: scene,
            state_before: None,
        };
        run(VersionChain::for_release(release), &at);
    });
}

fn read_scene() -> StateView {
    let json: Json = serde_json::from_str(include_str!("fuzz/scene.json")).unwrap();
    let list = |key: &str| json.get(key).and_then(Json::as_array).unwrap().iter();
    let text = |entry: &Json, key: &str| entry.get(key).and_then(Json::as_str).map(Uri::from);
    let channel = |entry: &Json| {
        let state = entry.get("state").and_then(decode).unwrap();
        (text(entry, "uri").unwrap(), text(entry, "session"), state)
    };
    StateView {
        channels: list("channels").map(channel).collect(),
        summaries: list("listed")
            .map(|one| Arc::new(decode(one).unwrap()))
            .collect(),
    }
}

fn request_up(chain: VersionChain, context: &TranslationContext<'_>, message: &Object) {
    let Some(method) = message.get("method").and_then(Json::as_str) else {
        return;
    };
    let params = message.get("params").and_then(Json::as_object);
    let params = params.cloned().unwrap_or_default();
    if method == "dispatchAction" {
        let Some(Json::Object(action)) = params.get("action") else {
            return;
        };
        let channel = params.get("channel").and_then(Json::as_str);
        let dispatch = JsonDispatch {
            channel: channel.unwrap_or_default().to_owned(),
            action: action.clone(),
        };
        check_dispatch(chain, context, dispatch);
        return;
    }
    let mut call = JsonCall {
        method: method.to_owned(),
        params,
    };
    if call.method == "fetchTurns" && !context.client.release().capabilities().pages {
        // Both a refusal and a result are valid outcomes.
        drop(answer_fetch_turns(chain, context, &call.params));
    }
    let Ok(after) = chain.upgrade_params(context, &mut call) else {
        return;
    };
    for dispatch in after {
        check_decoding(&dispatch);
    }
    let up = json!({"jsonrpc": "2.0", "id": 1, "method": call.method, "params": call.params});
    let text = up.to_string();
    let document = Document::parse(&text, Limits::STATE).unwrap();
    let Ok(Message::Request(_, call)) = Message::decode(&document) else {
        unreachable!("a request stays a request: {text}");
    };
    let refused = [
        ClientRequest::decode(&call).err(),
        ClientNotification::decode(&call).err(),
    ];
    for error in refused.into_iter().flatten() {
        match error {
            CallError::UnknownMethod(_) => {}
            CallError::InvalidParams(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn check_dispatch(
    chain: VersionChain,
    context: &TranslationContext<'_>,
    mut dispatch: JsonDispatch,
) {
    match chain.upgrade_dispatch(context, &mut dispatch) {
        Ok(()) => check_decoding(&dispatch),
        Err(refused) => assert!(!refused.to_string().is_empty()),
    }
}

fn check_decoding(dispatch: &JsonDispatch) {
    let action = Json::Object(dispatch.action.clone());
    let received: Option<ReceivedAction> = decode(&action);
    if let Err((_, reason)) = received.unwrap().into_valid() {
        assert!(!reason.is_empty());
    }
}

fn response_up(chain: VersionChain, context: &TranslationContext<'_>, message: &Object) {
    let Some(result) = message.get("result") else {
        return;
    };
    let method = message.get("method").and_then(Json::as_str);
    let mut result = result.clone();
    chain.upgrade_response(context, method.unwrap_or("resourceRead"), &mut result);
    Document::parse(&result.to_string(), Limits::STATE).unwrap();
}

/// Upgrades rows of the store that a host of the release wrote.
fn row_up(release: Release, chain: VersionChain, message: &Object) {
    if release < VersionChain::OLDEST_ROWS {
        return;
    }
    let session = Uri::from(SESSION);
    let row = StoredRow {
        session: Some(&session),
        written_at: Millis(1_767_225_600_000),
    };
    if let Some(Json::Object(action)) = message.get("action") {
        let mut action = action.clone();
        chain.migrate_action(&row, &mut action);
        decode::<ReceivedAction>(&Json::Object(action)).unwrap();
    }
    if let Some(kind) = ChannelKind::of_state(message) {
        let mut state = message.clone();
        chain.migrate_state(&row, kind, &mut state);
        // The store reports a state that does not decode.
        drop(decode::<ChannelState>(&Json::Object(state)));
    }
    for name in ["Turn", "SessionSummary"] {
        let mut part = message.clone();
        chain.migrate_part(&row, name, &mut part);
        Document::parse(&Json::Object(part).to_string(), Limits::STATE).unwrap();
    }
}

/// Returns every downgrade that the input permits.
fn down(chain: VersionChain, context: &TranslationContext<'_>, input: &Object) -> Vec<Json> {
    let mut all = Vec::new();
    let whole = Json::Object(input.clone());
    if let Some(state) = decode(&whole) {
        all.extend(state_down(chain, context, state));
    }
    let before = input.get("state").and_then(decode);
    let action = input.get("action").unwrap_or(&whole);
    if let Some(action) = decode::<Action>(action) {
        let channel = input.get("channel").and_then(Json::as_str);
        action_down(chain, context, channel, before, action, &mut all);
    }
    if let Some(method) = input.get("method").and_then(Json::as_str) {
        if let Some(result) = input.get("result") {
            all.push(chain.downgrade_result(context, method, result.clone()));
        }
        let params = input.get("params").and_then(Json::as_object);
        let mut call = JsonCall {
            method: method.to_owned(),
            params: params.cloned().unwrap_or_default(),
        };
        let calls = chain.downgrade_notification(context, call.clone());
        all.extend(calls.into_iter().map(|call| Json::Object(call.params)));
        chain.downgrade_request(context, &mut call);
        all.push(Json::Object(call.params));
    }
    if let Some(code) = input.get("code").and_then(Json::as_i64) {
        let (mut code, mut data) = (code, input.get("data").cloned());
        chain.downgrade_error(&mut code, &mut data);
        all.push(json!([code, data]));
    }
    for json in &all {
        Document::parse(&json.to_string(), Limits::STATE).unwrap();
    }
    all
}

fn state_down(
    chain: VersionChain,
    context: &TranslationContext<'_>,
    state: ChannelState,
) -> Option<Json> {
    let resource = match state.kind() {
        ChannelKind::Session => SESSION,
        ChannelKind::Chat => CHAT,
        ChannelKind::Terminal
        | ChannelKind::Changeset
        | ChannelKind::ResourceWatch
        | ChannelKind::Canvas
        | ChannelKind::AutomationRun
        | ChannelKind::Root
        | ChannelKind::Annotations
        | ChannelKind::Automations => "ahp-terminal:/t",
    };
    let snapshot = Snapshot {
        resource: Uri::from(resource),
        state,
        from_seq: ServerSeq(7),
    };
    chain.downgrade_snapshot(context, &snapshot).unwrap()
}

fn action_down(
    chain: VersionChain,
    context: &TranslationContext<'_>,
    channel: Option<&str>,
    before: Option<ChannelState>,
    action: Action,
    all: &mut Vec<Json>,
) {
    let is_session = matches!(action, Action::Session(_));
    let channel = channel.unwrap_or(if is_session { SESSION } else { CHAT });
    let channel = Uri::from(channel);
    let before = before.or_else(|| context.states.state(&channel));
    let at = TranslationContext {
        state_before: before.as_ref(),
        ..*context
    };
    let origin = ActionOrigin {
        client_id: ClientId::from("c"),
        client_seq: ClientSeq(3),
    };
    let rejection = Rejection {
        channel: channel.clone(),
        action: RawAction(serde_json::to_value(&action).unwrap()),
        server_seq: ServerSeq(7),
        origin: origin.clone(),
        rejection_reason: "refused".to_owned(),
    };
    let passes = chain.is_passthrough(&action);
    let written = serde_json::to_value(&action).unwrap();
    let envelope = ActionEnvelope {
        channel,
        action: Arc::new(action),
        server_seq: ServerSeq(7),
        origin: Some(origin),
    };
    let envelopes = chain.downgrade_action(&at, &envelope).unwrap();
    if passes {
        let down: Vec<_> = envelopes.iter().map(|one| one.action.clone()).collect();
        assert_eq!(
            down,
            written.as_object().cloned().into_iter().collect::<Vec<_>>()
        );
    }
    all.extend(envelopes.into_iter().map(JsonEnvelope::into_json));
    let rejected = chain.downgrade_rejection(&at, &rejection).unwrap();
    all.extend(rejected.into_iter().map(JsonEnvelope::into_json));
}

#[cfg(test)]
#[path = "../../../fuzz/seeds.rs"]
mod seeds;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_of_the_corpus_passes() {
        seeds::check_seeds("versions_up", versions_up);
        seeds::check_seeds("versions_down", versions_down);
    }

    /// Without a readable scene, the targets would test no lookups.
    #[test]
    fn the_test_states_of_the_targets_are_readable() {
        let scene = read_scene();
        assert_eq!((scene.channels.len(), scene.summaries.len()), (3, 1));
    }
}
