//! Answers to clients of older versions.

use std::collections::BTreeSet;

use agenthost_core::Answer;
use agenthost_protocol::channel::Snapshot;
use agenthost_protocol::rpc::encode::{self, EncodeError};
use agenthost_protocol::rpc::{ErrorCode, RequestId, RpcError};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use agenthost_versions::{Chain, Envelope, Lost, Moment, Scene, Viewer};
use serde::Serialize;

use super::names::Naming;

/// An answer with all that it takes to say it in an older version. It is put
/// into words by the connection that it goes to, like any other: a snapshot
/// can be large.
#[derive(Debug)]
pub(crate) struct OlderAnswer {
    pub(super) id: RequestId,
    pub(super) answer: Result<Answer, RpcError>,
    pub(super) chain: Chain,
    pub(super) viewer: Viewer,
    pub(super) version: Json,
    pub(super) follows: BTreeSet<Uri>,
    pub(super) scene: Scene,
    /// What a replay has.
    pub(super) replayed: Vec<Envelope>,
    /// How the client is told names.
    pub(super) names: Option<Naming>,
}

impl OlderAnswer {
    /// The message.
    pub(crate) fn encode(self) -> Result<String, EncodeError> {
        let result = match &self.answer {
            Ok(Answer::Subscribe(result)) if !self.has(result.snapshot.as_ref()) => {
                let version = self.viewer.release();
                let reason = format!("there are no such channels in version {version}");
                let error = RpcError::new(ErrorCode::NotFound, reason);
                return encode::failure(&self.id, &error);
            }
            Ok(answer) => self.result(answer),
            Err(error) => {
                let mut error = error.clone();
                let mut code = error.code.number();
                self.chain.error(&mut code, &mut error.data);
                error.code = ErrorCode::from_number(code);
                return encode::failure(&self.id, &error);
            }
        };
        match result {
            Ok(mut result) => {
                self.names.iter().for_each(|names| names.show(&mut result));
                encode::success(&self.id, &result)
            }
            Err(lost) => Err(serde::ser::Error::custom(lost)),
        }
    }

    /// Whether the version has channels of such a kind.
    fn has(&self, snapshot: Option<&Snapshot>) -> bool {
        snapshot.is_none_or(|snapshot| self.chain.follows(snapshot.state.kind()))
    }

    fn at(&self) -> Moment<'_> {
        Moment {
            viewer: &self.viewer,
            world: &self.scene,
            before: None,
        }
    }

    fn result(&self, answer: &Answer) -> Result<Json, Lost> {
        Ok(match answer {
            Answer::Null => Json::Null,
            Answer::OfServer(result) => (**result).clone(),
            Answer::Empty => Json::Object(Object::new()),
            Answer::Initialize(result) => {
                let mut bare = (**result).clone();
                let snapshots = self.snapshots(&std::mem::take(&mut bare.snapshots))?;
                let mut result = self.down("initialize", &bare)?;
                put(&mut result, "protocolVersion", self.version.clone());
                put(&mut result, "snapshots", Json::Array(snapshots));
                result
            }
            Answer::Subscribe(result) => {
                let snapshot = match &result.snapshot {
                    Some(snapshot) => self.chain.snapshot(&self.at(), snapshot)?,
                    None => None,
                };
                let mut result = self.down("subscribe", &Object::new())?;
                if let Some(snapshot) = snapshot {
                    put(&mut result, "snapshot", snapshot);
                }
                result
            }
            Answer::Snapshots(result) => {
                let snapshots = self.snapshots(&result.snapshots)?;
                self.again("snapshot", "snapshots", Json::Array(snapshots))
            }
            Answer::Replay { missing, .. } => {
                let actions = self.replayed.iter().cloned().map(Envelope::into_json);
                let mut result = Object::new();
                let known = missing
                    .iter()
                    .filter(|channel| self.follows.contains(channel));
                let missing = known.map(|channel| Json::from(channel.as_str()));
                result.insert("missing".to_owned(), Json::Array(missing.collect()));
                let result = self
                    .chain
                    .result(&self.at(), "reconnect", Json::Object(result));
                let mut all = self.again("replay", "actions", Json::Array(actions.collect()));
                if let (Json::Object(all), Json::Object(result)) = (&mut all, result) {
                    all.extend(result);
                }
                all
            }
            // A client that comes back with cursors here is told to initialize,
            // unless it has none.
            Answer::Recoveries { .. } => {
                let channels = ("channels".to_owned(), Json::Array(Vec::new()));
                Json::Object([channels].into_iter().collect())
            }
            Answer::ListSessions(result) => self.down("listSessions", result)?,
            Answer::MoveChat(result) => self.down("moveChat", result)?,
            Answer::Operated(result) => self.down("invokeChangesetOperation", result)?,
            Answer::ResolveSessionConfig(result) => self.down("resolveSessionConfig", result)?,
            Answer::SessionConfigCompletions(result) => {
                self.down("sessionConfigCompletions", result)?
            }
            Answer::Completions(result) => self.down("completions", result)?,
            Answer::Watch(result) => self.down("createResourceWatch", result)?,
            Answer::Read(result) => self.down("resourceRead", result)?,
            Answer::List(result) => self.down("resourceList", result)?,
            Answer::Resolve(result) => self.down("resourceResolve", result)?,
        })
    }

    fn down(&self, method: &str, result: &impl Serialize) -> Result<Json, Lost> {
        let result = serde_json::to_value(result)?;
        Ok(self.chain.result(&self.at(), method, result))
    }

    /// Snapshots of what the client asked for, as far as its version has them.
    fn snapshots(&self, all: &[Snapshot]) -> Result<Vec<Json>, Lost> {
        let mut down = Vec::new();
        for snapshot in all {
            if self.follows.contains(&snapshot.resource) {
                down.extend(self.chain.snapshot(&self.at(), snapshot)?);
            }
        }
        Ok(down)
    }

    /// The answer to `reconnect`.
    fn again(&self, kind: &str, field: &str, what: Json) -> Json {
        let mut result = Object::new();
        result.insert("type".to_owned(), Json::from(kind));
        result.insert(field.to_owned(), what);
        Json::Object(result)
    }
}

fn put(result: &mut Json, field: &str, value: Json) {
    if let Json::Object(result) = result {
        result.insert(field.to_owned(), value);
    }
}
