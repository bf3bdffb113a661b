//! Downgrades and encodes responses to legacy clients.

use std::collections::BTreeSet;

use agenthost_core::ResponseBody;
use agenthost_protocol::channel::Snapshot;
use agenthost_protocol::rpc::encode;
use agenthost_protocol::rpc::encode::EncodeError;
use agenthost_protocol::rpc::{ErrorCode, RequestId, RpcError};
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use agenthost_versions::{
    JsonEnvelope, TargetClient, TranslationContext, TranslationError, VersionChain,
};
use serde::Serialize;

use super::aliases::AddressMapping;

/// A response with all data for its downgrade. The task of the connection downgrades and
/// encodes it, as for other responses, because a snapshot can be large.
#[derive(Debug)]
pub(crate) struct LegacyResponse {
    pub(super) id: RequestId,
    pub(super) body: Result<ResponseBody, RpcError>,
    pub(super) chain: VersionChain,
    pub(super) target: TargetClient,
    pub(super) version: Json,
    pub(super) subscriptions: BTreeSet<Uri>,
    pub(super) state_view: StateView,
    /// The downgraded actions of a replay.
    pub(super) replayed_actions: Vec<JsonEnvelope>,
    /// The mapping of URIs for the client, if it needs one.
    pub(super) address_mapping: Option<AddressMapping>,
}

impl LegacyResponse {
    /// Downgrades and encodes the response.
    pub(crate) fn encode(self) -> Result<String, EncodeError> {
        let result = match &self.body {
            Ok(ResponseBody::Subscribe(result))
                if !self.supports_snapshot(result.snapshot.as_ref()) =>
            {
                let version = self.target.release();
                let reason = format!("AHP {version} has no channels of this kind");
                let error = RpcError::new(ErrorCode::NotFound, reason);
                return encode::failure(&self.id, &error);
            }
            Ok(answer) => self.downgrade_body(answer),
            Err(error) => {
                let mut error = error.clone();
                let mut code = error.code.number();
                self.chain.downgrade_error(&mut code, &mut error.data);
                error.code = ErrorCode::from_number(code);
                return encode::failure(&self.id, &error);
            }
        };
        match result {
            Ok(mut result) => {
                self.address_mapping
                    .iter()
                    .for_each(|names| names.apply(&mut result));
                encode::success(&self.id, &result)
            }
            Err(lost) => Err(serde::ser::Error::custom(lost)),
        }
    }

    /// Returns `true` if the release has channels of this kind.
    fn supports_snapshot(&self, snapshot: Option<&Snapshot>) -> bool {
        snapshot.is_none_or(|snapshot| self.chain.can_subscribe(snapshot.state.kind()))
    }

    fn translation_context(&self) -> TranslationContext<'_> {
        TranslationContext {
            client: &self.target,
            states: &self.state_view,
            state_before: None,
        }
    }

    fn downgrade_body(&self, answer: &ResponseBody) -> Result<Json, TranslationError> {
        Ok(match answer {
            ResponseBody::Null => Json::Null,
            ResponseBody::McpResult(result) => (**result).clone(),
            ResponseBody::Empty => Json::Object(Object::new()),
            ResponseBody::Initialize(result) => {
                let mut bare = (**result).clone();
                let snapshots = self.downgrade_snapshots(&std::mem::take(&mut bare.snapshots))?;
                let mut result = self.downgrade_result("initialize", &bare)?;
                set_field(&mut result, "protocolVersion", self.version.clone());
                set_field(&mut result, "snapshots", Json::Array(snapshots));
                result
            }
            ResponseBody::Subscribe(result) => {
                let snapshot = match &result.snapshot {
                    Some(snapshot) => self
                        .chain
                        .downgrade_snapshot(&self.translation_context(), snapshot)?,
                    None => None,
                };
                let mut result = self.downgrade_result("subscribe", &Object::new())?;
                if let Some(snapshot) = snapshot {
                    set_field(&mut result, "snapshot", snapshot);
                }
                result
            }
            ResponseBody::Snapshots(result) => {
                let snapshots = self.downgrade_snapshots(&result.snapshots)?;
                self.reconnect_result("snapshot", "snapshots", Json::Array(snapshots))
            }
            ResponseBody::Replay { missing, .. } => {
                let actions = self
                    .replayed_actions
                    .iter()
                    .cloned()
                    .map(JsonEnvelope::into_json);
                let mut result = Object::new();
                let known = missing
                    .iter()
                    .filter(|channel| self.subscriptions.contains(channel));
                let missing = known.map(|channel| Json::from(channel.as_str()));
                result.insert("missing".to_owned(), Json::Array(missing.collect()));
                let result = self.chain.downgrade_result(
                    &self.translation_context(),
                    "reconnect",
                    Json::Object(result),
                );
                let mut all =
                    self.reconnect_result("replay", "actions", Json::Array(actions.collect()));
                if let (Json::Object(all), Json::Object(result)) = (&mut all, result) {
                    all.extend(result);
                }
                all
            }
            // Sent as `OutgoingMessage::Recoveries`, because no legacy release has cursors.
            ResponseBody::Recoveries { .. } => {
                let reason = "a replay is read from the log";
                let error: serde_json::Error = serde::ser::Error::custom(reason);
                return Err(error.into());
            }
            ResponseBody::ListSessions(result) => self.downgrade_result("listSessions", result)?,
            ResponseBody::MoveChat(result) => self.downgrade_result("moveChat", result)?,
            ResponseBody::ChangesetOperation(result) => {
                self.downgrade_result("invokeChangesetOperation", result)?
            }
            ResponseBody::ResolveSessionConfig(result) => {
                self.downgrade_result("resolveSessionConfig", result)?
            }
            ResponseBody::SessionConfigCompletions(result) => {
                self.downgrade_result("sessionConfigCompletions", result)?
            }
            ResponseBody::Completions(result) => self.downgrade_result("completions", result)?,
            ResponseBody::CreateResourceWatch(result) => {
                self.downgrade_result("createResourceWatch", result)?
            }
            ResponseBody::ResourceRead(result) => self.downgrade_result("resourceRead", result)?,
            ResponseBody::ResourceList(result) => self.downgrade_result("resourceList", result)?,
            ResponseBody::ResourceResolve(result) => {
                self.downgrade_result("resourceResolve", result)?
            }
        })
    }

    fn downgrade_result(
        &self,
        method: &str,
        result: &impl Serialize,
    ) -> Result<Json, TranslationError> {
        let result = serde_json::to_value(result)?;
        Ok(self
            .chain
            .downgrade_result(&self.translation_context(), method, result))
    }

    /// Downgrades the snapshots of subscribed channels, as far as the release has them.
    fn downgrade_snapshots(&self, all: &[Snapshot]) -> Result<Vec<Json>, TranslationError> {
        let mut down = Vec::new();
        for snapshot in all {
            if self.subscriptions.contains(&snapshot.resource) {
                down.extend(
                    self.chain
                        .downgrade_snapshot(&self.translation_context(), snapshot)?,
                );
            }
        }
        Ok(down)
    }

    /// Builds the result of `reconnect`.
    fn reconnect_result(&self, kind: &str, field: &str, value: Json) -> Json {
        let mut result = Object::new();
        result.insert("type".to_owned(), Json::from(kind));
        result.insert(field.to_owned(), value);
        Json::Object(result)
    }
}

fn set_field(result: &mut Json, field: &str, value: Json) {
    if let Json::Object(result) = result {
        result.insert(field.to_owned(), value);
    }
}
