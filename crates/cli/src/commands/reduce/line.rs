//! Parses a line of the log.

use agenthost_protocol::action::ReceivedEnvelope;
use agenthost_protocol::channel::Snapshot;
use agenthost_protocol::rpc::Message;
use agenthost_protocol::wire::{DecodeError, Document, Limits, Node, ParseError, Wire};

/// A snapshot or an action in the log.
pub(super) enum LogEntry {
    Snapshot(Box<Snapshot>),
    Envelope(Box<ReceivedEnvelope>),
}

/// The reason why a line could not be parsed.
#[derive(Debug, thiserror::Error)]
pub(super) enum LogLineError {
    #[error("not UTF-8, from byte {0}")]
    NotUtf8(usize),
    #[error(transparent)]
    Parse(#[from] ParseError),
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error("neither a snapshot, nor an action envelope, nor a message")]
    Unrecognized,
}

/// Parses a line. Returns no entries for a message without snapshots and actions.
pub(super) fn parse_line(line: &[u8]) -> Result<Vec<LogEntry>, LogLineError> {
    let text =
        std::str::from_utf8(line).map_err(|error| LogLineError::NotUtf8(error.valid_up_to()))?;
    // Some editors put a byte order mark at the start of a file.
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let document = Document::parse(text, Limits::STATE)?;
    let root = document.root();
    if root.is_object() && root.get("jsonrpc")?.is_some() {
        return decode_message(&document);
    }
    if !root.is_object() {
        return Err(DecodeError::expected("an object", root).into());
    }
    let entry = if root.get("state")?.is_some() {
        decode_snapshot(root)?
    } else if root.get("action")?.is_some() {
        decode_envelope(root)?
    } else {
        return Err(LogLineError::Unrecognized);
    };
    Ok(vec![entry])
}

fn decode_snapshot(node: Node<'_>) -> Result<LogEntry, DecodeError> {
    Snapshot::decode(node).map(|snapshot| LogEntry::Snapshot(Box::new(snapshot)))
}

fn decode_envelope(node: Node<'_>) -> Result<LogEntry, DecodeError> {
    ReceivedEnvelope::decode(node).map(|envelope| LogEntry::Envelope(Box::new(envelope)))
}

/// Returns the entries in a message: those of the `action` notification, and of responses
/// to `initialize`, `subscribe` and `reconnect`.
fn decode_message(document: &Document<'_>) -> Result<Vec<LogEntry>, LogLineError> {
    let mut entries = Vec::new();
    match Message::decode(document).map_err(|invalid| invalid.problem)? {
        Message::Notification(call) if call.method == "action" => {
            let missing = || DecodeError::missing().within("params");
            let params = call.params.ok_or_else(missing)?;
            entries.push(decode_envelope(params).map_err(|error| error.within("params"))?);
        }
        Message::Response(response) => {
            if let Ok(result) = response.outcome
                && result.is_object()
            {
                collect_entries(result, &mut entries).map_err(|error| error.within("result"))?;
            }
        }
        Message::Request(..) | Message::Notification(_) => {}
    }
    Ok(entries)
}

/// Collects the snapshots and envelopes in a response, or in one of its channel outcomes.
fn collect_entries(result: Node<'_>, entries: &mut Vec<LogEntry>) -> Result<(), DecodeError> {
    if let Some(node) = result.get("snapshot")? {
        entries.push(decode_snapshot(node).map_err(|error| error.within("snapshot"))?);
    }
    type EntryDecoder = fn(Node<'_>) -> Result<LogEntry, DecodeError>;
    let lists: [(&'static str, EntryDecoder); 2] =
        [("snapshots", decode_snapshot), ("actions", decode_envelope)];
    for (field, read) in lists {
        let Some(list) = result.get(field)? else {
            continue;
        };
        let items = list.items().map_err(|error| error.within(field))?;
        for (index, item) in items.enumerate() {
            let entry = read(item).map_err(|error| error.within_item(index).within(field))?;
            entries.push(entry);
        }
    }
    if let Some(outcomes) = result.get("channels")? {
        let outcomes = outcomes.items().map_err(|error| error.within("channels"))?;
        for (index, outcome) in outcomes.enumerate() {
            collect_entries(outcome, entries)
                .map_err(|error| error.within_item(index).within("channels"))?;
        }
    }
    Ok(())
}
