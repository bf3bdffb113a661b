//! Effects as text.

use agenthost_core::Answer;
use agenthost_protocol::channel::Snapshot;
use agenthost_protocol::connection::ReconnectResult;
use agenthost_protocol::rpc::{Empty, Null, RequestId, encode};
use agenthost_protocol::uri::Uri;
use agenthost_store::StoreError;
use axum::extract::ws::Utf8Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::outbox::Outgoing;

/// An answer to a request. A replay is not among them: it comes from the log
/// as text already.
pub(crate) fn answer(id: &RequestId, answer: &Answer) -> Result<String, encode::EncodeError> {
    match answer {
        Answer::Null => encode::success(id, &Null),
        Answer::Empty => encode::success(id, &Empty {}),
        Answer::Initialize(result) => encode::success(id, result),
        Answer::Subscribe(result) => encode::success(id, result),
        Answer::ListSessions(result) => encode::success(id, result),
        Answer::MoveChat(result) => encode::success(id, result),
        Answer::Operated(result) => encode::success(id, result),
        Answer::ResolveSessionConfig(result) => encode::success(id, result),
        Answer::SessionConfigCompletions(result) => encode::success(id, result),
        Answer::Completions(result) => encode::success(id, result),
        Answer::Watch(result) => encode::success(id, result),
        Answer::Read(result) => encode::success(id, result),
        Answer::List(result) => encode::success(id, result),
        Answer::Resolve(result) => encode::success(id, result),
        Answer::OfServer(result) => encode::success(id, result),
        Answer::Snapshots(result) => {
            encode::success(id, &ReconnectResult::Snapshot(result.clone()))
        }
        Answer::Replay { .. } | Answer::Recoveries { .. } => {
            Err(serde::ser::Error::custom("a replay is read from the log"))
        }
    }
}

/// A message, or why it could not be written.
pub(crate) type Encoded = Result<String, encode::EncodeError>;

/// A message for several connections.
pub(crate) fn utf8(encoded: Encoded) -> Result<Utf8Bytes, StoreError> {
    Ok(Utf8Bytes::from(encoded?))
}

/// A message for one.
pub(crate) fn text(encoded: Encoded) -> Result<Outgoing, StoreError> {
    Ok(Outgoing::Text(utf8(encoded)?))
}

#[derive(Serialize)]
struct Replay<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    actions: Vec<Box<RawValue>>,
    missing: &'a [Uri],
}

/// What a client missed, as the log has it.
pub(crate) fn replay(
    id: &RequestId,
    envelopes: Vec<String>,
    missing: &[Uri],
) -> Result<String, encode::EncodeError> {
    let actions = envelopes.into_iter().map(RawValue::from_string);
    let result = Replay {
        kind: "replay",
        actions: actions.collect::<Result<_, _>>()?,
        missing,
    };
    encode::success(id, &result)
}

/// The outcome of `reconnect` for one channel, with the actions that the log has
/// for it.
#[derive(Debug)]
pub(crate) enum Recovered {
    Replay {
        channel: Uri,
        envelopes: Vec<String>,
    },
    Snapshot(Snapshot),
    Missing(Uri),
}

impl Recovered {
    /// How many bytes of the log it holds.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Recovered::Replay { envelopes, .. } => envelopes.iter().map(String::len).sum(),
            Recovered::Snapshot(_) | Recovered::Missing(_) => 0,
        }
    }

    fn as_recovery(&self) -> Result<RecoveredChannel<'_>, encode::EncodeError> {
        Ok(match self {
            Recovered::Replay { channel, envelopes } => {
                let actions = envelopes.iter().map(|text| serde_json::from_str(text));
                let actions = actions.collect::<Result<_, _>>()?;
                RecoveredChannel::Replay { channel, actions }
            }
            Recovered::Snapshot(snapshot) => RecoveredChannel::Snapshot {
                channel: &snapshot.resource,
                snapshot,
            },
            Recovered::Missing(channel) => RecoveredChannel::Missing { channel },
        })
    }
}

#[derive(Serialize)]
struct Recoveries<'a> {
    channels: Vec<RecoveredChannel<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum RecoveredChannel<'a> {
    Replay {
        channel: &'a Uri,
        actions: Vec<&'a RawValue>,
    },
    Snapshot {
        channel: &'a Uri,
        snapshot: &'a Snapshot,
    },
    Missing {
        channel: &'a Uri,
    },
}

/// The outcomes of `reconnect`, channel by channel.
pub(crate) fn recoveries(
    id: &RequestId,
    channels: &[Recovered],
) -> Result<String, encode::EncodeError> {
    let channels = channels.iter().map(Recovered::as_recovery);
    let channels = channels.collect::<Result<_, _>>()?;
    encode::success(id, &Recoveries { channels })
}
