//! What a line of the log says.

use agenthost_protocol::action::ReceivedEnvelope;
use agenthost_protocol::channel::Snapshot;
use agenthost_protocol::rpc::Message;
use agenthost_protocol::wire::{DecodeError, Document, Limits, Node, ParseError, Wire};

/// Something in the log that makes state.
pub(super) enum Entry {
    Snapshot(Box<Snapshot>),
    Envelope(Box<ReceivedEnvelope>),
}

/// Why a line could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    #[error("not UTF-8, from byte {0}")]
    NotUtf8(usize),
    #[error(transparent)]
    Parse(#[from] ParseError),
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error("neither a snapshot, nor an action envelope, nor a message")]
    Unrecognised,
}

/// A state can be larger than any message a peer may send.
const LIMITS: Limits = Limits {
    bytes: 1 << 30,
    depth: Limits::MAX_DEPTH,
};

/// Reads a line. A message that makes no state is no entry.
pub(super) fn read(line: &[u8]) -> Result<Vec<Entry>, LineError> {
    let text =
        std::str::from_utf8(line).map_err(|error| LineError::NotUtf8(error.valid_up_to()))?;
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let document = Document::parse(text, LIMITS)?;
    let root = document.root();
    if root.is_object() && root.get("jsonrpc")?.is_some() {
        return message(&document);
    }
    entry(root)?
        .map(|entry| vec![entry])
        .ok_or(LineError::Unrecognised)
}

/// A snapshot or an envelope, told apart by the fields they must have.
fn entry(node: Node<'_>) -> Result<Option<Entry>, DecodeError> {
    if node.get("state")?.is_some() {
        return Snapshot::decode(node).map(|snapshot| Some(Entry::Snapshot(Box::new(snapshot))));
    }
    if node.get("action")?.is_some() {
        return ReceivedEnvelope::decode(node)
            .map(|envelope| Some(Entry::Envelope(Box::new(envelope))));
    }
    Ok(None)
}

/// What a message says about state: the `action` notification, and answers to
/// `initialize`, `subscribe` and `reconnect`.
fn message(document: &Document<'_>) -> Result<Vec<Entry>, LineError> {
    let mut entries = Vec::new();
    match Message::decode(document).map_err(|invalid| invalid.problem)? {
        Message::Notification(call) if call.method == "action" => {
            let missing = || DecodeError::missing().within("params");
            entries.extend(entry(call.params.ok_or_else(missing)?)?);
        }
        Message::Response(response) => {
            if let Ok(result) = response.outcome
                && result.is_object()
            {
                collect(result, &mut entries)?;
            }
        }
        Message::Request(..) | Message::Notification(_) => {}
    }
    Ok(entries)
}

/// The snapshots and envelopes in an answer.
fn collect(result: Node<'_>, entries: &mut Vec<Entry>) -> Result<(), DecodeError> {
    if let Some(snapshot) = result.get("snapshot")? {
        entries.extend(entry(snapshot).map_err(|error| error.within("snapshot"))?);
    }
    for field in ["snapshots", "actions"] {
        let Some(list) = result.get(field)?.filter(|list| list.is_array()) else {
            continue;
        };
        for (index, item) in list.items()?.enumerate() {
            let item = entry(item).map_err(|error| error.within_item(index).within(field))?;
            entries.extend(item);
        }
    }
    Ok(())
}
