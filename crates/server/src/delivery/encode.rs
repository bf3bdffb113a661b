//! Encodes responses, replays and reconnect results as JSON text.

use std::borrow::Cow;

use agenthost_core::ResponseBody;
use agenthost_protocol::channel::Snapshot;
use agenthost_protocol::connection::ReconnectResult;
use agenthost_protocol::rpc::{Empty, Null, RequestId, encode};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use agenthost_store::StoreError;
use axum::extract::ws::Utf8Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::delivery::outbox::OutgoingMessage;
use crate::legacy::AddressMapping;

/// Encodes a response. Replays are encoded by [`encode_replay`] and
/// [`ReconnectOutcomes::encode`], because the log already has their actions as text.
pub(crate) fn encode_response(
    id: &RequestId,
    answer: &ResponseBody,
) -> Result<String, encode::EncodeError> {
    match answer {
        ResponseBody::Null => encode::success(id, &Null),
        ResponseBody::Empty => encode::success(id, &Empty {}),
        ResponseBody::Initialize(result) => encode::success(id, result),
        ResponseBody::Subscribe(result) => encode::success(id, result),
        ResponseBody::ListSessions(result) => encode::success(id, result),
        ResponseBody::MoveChat(result) => encode::success(id, result),
        ResponseBody::ChangesetOperation(result) => encode::success(id, result),
        ResponseBody::ResolveSessionConfig(result) => encode::success(id, result),
        ResponseBody::SessionConfigCompletions(result) => encode::success(id, result),
        ResponseBody::Completions(result) => encode::success(id, result),
        ResponseBody::CreateResourceWatch(result) => encode::success(id, result),
        ResponseBody::ResourceRead(result) => encode::success(id, result),
        ResponseBody::ResourceList(result) => encode::success(id, result),
        ResponseBody::ResourceResolve(result) => encode::success(id, result),
        ResponseBody::McpResult(result) => encode::success(id, result),
        ResponseBody::Snapshots(result) => {
            encode::success(id, &ReconnectResult::Snapshot(result.clone()))
        }
        ResponseBody::Replay { .. } | ResponseBody::Recoveries { .. } => {
            Err(serde::ser::Error::custom("a replay is read from the log"))
        }
    }
}

/// An encoded message, or the error of its encoder.
pub(crate) type EncodedText = Result<String, encode::EncodeError>;

/// Converts an encoded message to bytes that several connections can share.
pub(crate) fn to_utf8_bytes(encoded: EncodedText) -> Result<Utf8Bytes, StoreError> {
    Ok(Utf8Bytes::from(encoded?))
}

/// Converts an encoded message to one for the outbox.
pub(crate) fn to_text_message(encoded: EncodedText) -> Result<OutgoingMessage, StoreError> {
    Ok(OutgoingMessage::Text(to_utf8_bytes(encoded)?))
}

#[derive(Serialize)]
struct ReplayResult<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    actions: Vec<Box<RawValue>>,
    missing: &'a [Uri],
}

/// Encodes the response to `reconnect` with the missed actions, as the log has them.
pub(crate) fn encode_replay(
    id: &RequestId,
    envelopes: Vec<String>,
    missing: &[Uri],
) -> Result<String, encode::EncodeError> {
    let actions = envelopes.into_iter().map(RawValue::from_string);
    let result = ReplayResult {
        kind: "replay",
        actions: actions.collect::<Result<_, _>>()?,
        missing,
    };
    encode::success(id, &result)
}

/// The outcomes of `reconnect` with cursors, in the order of the request.
#[derive(Debug)]
pub(crate) struct ReconnectOutcomes {
    pub(crate) channels: Vec<ReconnectOutcome>,
    /// The mapping of URIs for the client, if it needs other URIs than the host has.
    pub(crate) address_mapping: Option<AddressMapping>,
}

/// The outcome of `reconnect` for one channel.
#[derive(Debug)]
pub(crate) struct ReconnectOutcome {
    /// The channel, by the URI that the client used.
    pub(crate) channel: Uri,
    pub(crate) outcome: LoadedRecovery,
}

/// The recovery of a channel, with the URIs of the host.
#[derive(Debug)]
pub(crate) enum LoadedRecovery {
    /// Envelopes as the log has them.
    Replay(Vec<String>),
    Snapshot(Snapshot),
    Missing,
}

impl ReconnectOutcomes {
    /// Returns the bytes of log entries in the replays, for the limit of the outbox.
    pub(crate) fn log_bytes(&self) -> usize {
        let of = |recovered: &ReconnectOutcome| match &recovered.outcome {
            LoadedRecovery::Replay(envelopes) => envelopes.iter().map(String::len).sum(),
            LoadedRecovery::Snapshot(_) | LoadedRecovery::Missing => 0,
        };
        self.channels.iter().map(of).sum()
    }

    /// Encodes the response to `reconnect`.
    pub(crate) fn encode(&self, id: &RequestId) -> Result<String, encode::EncodeError> {
        let channels = self
            .channels
            .iter()
            .map(|recovered| self.to_encoded(recovered));
        let channels = channels.collect::<Result<_, _>>()?;
        encode::success(id, &EncodedReconnectResult { channels })
    }

    fn to_encoded<'a>(
        &'a self,
        recovered: &'a ReconnectOutcome,
    ) -> Result<EncodedRecovery<'a>, encode::EncodeError> {
        let channel = &recovered.channel;
        Ok(match &recovered.outcome {
            LoadedRecovery::Replay(envelopes) => {
                let actions = envelopes.iter().map(|text| self.encode_action(text));
                let actions = actions.collect::<Result<_, _>>()?;
                EncodedRecovery::Replay { channel, actions }
            }
            LoadedRecovery::Snapshot(snapshot) => {
                let snapshot = match &self.address_mapping {
                    None => EncodedSnapshot::Plain(snapshot),
                    Some(names) => {
                        let mut snapshot = serde_json::to_value(snapshot)?;
                        names.apply(&mut snapshot);
                        EncodedSnapshot::Renamed(snapshot)
                    }
                };
                EncodedRecovery::Snapshot { channel, snapshot }
            }
            LoadedRecovery::Missing => EncodedRecovery::Missing { channel },
        })
    }

    /// Maps the URIs of a logged envelope for the client. Each envelope is encoded again at
    /// once, because a parsed replay takes many times the memory of its text.
    fn encode_action<'a>(&self, text: &'a str) -> Result<Cow<'a, RawValue>, encode::EncodeError> {
        Ok(match &self.address_mapping {
            None => Cow::Borrowed(serde_json::from_str(text)?),
            Some(names) => {
                let mut envelope: Json = serde_json::from_str(text)?;
                names.apply(&mut envelope);
                Cow::Owned(serde_json::value::to_raw_value(&envelope)?)
            }
        })
    }
}

#[derive(Serialize)]
struct EncodedReconnectResult<'a> {
    channels: Vec<EncodedRecovery<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum EncodedRecovery<'a> {
    Replay {
        channel: &'a Uri,
        actions: Vec<Cow<'a, RawValue>>,
    },
    Snapshot {
        channel: &'a Uri,
        snapshot: EncodedSnapshot<'a>,
    },
    Missing {
        channel: &'a Uri,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum EncodedSnapshot<'a> {
    Plain(&'a Snapshot),
    Renamed(Json),
}
