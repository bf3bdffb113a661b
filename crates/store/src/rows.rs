//! What stands in a row, beyond the types of the protocol.

use agenthost_core::{ClientRecord, Principal};
use agenthost_protocol::connection::{ClientCapabilities, Implementation};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Document, Limits, Wire};

use crate::error::StoreError;

/// What is remembered of a client.
#[derive(Wire)]
pub(crate) struct ClientRow {
    principal: String,
    version: String,
    capabilities: ClientCapabilities,
    locale: Option<String>,
    info: Option<Implementation>,
    windowed: Option<Vec<Uri>>,
    shared: Option<bool>,
    epoch: Option<ServerSeq>,
}

impl From<&ClientRecord> for ClientRow {
    fn from(record: &ClientRecord) -> Self {
        ClientRow {
            principal: record.principal.0.clone(),
            version: record.version.clone(),
            capabilities: record.capabilities.clone(),
            locale: record.locale.clone(),
            info: record.info.clone(),
            windowed: Some(record.windowed.iter().cloned().collect()),
            shared: Some(record.shared),
            epoch: Some(record.epoch),
        }
    }
}

impl From<ClientRow> for ClientRecord {
    fn from(row: ClientRow) -> Self {
        ClientRecord {
            principal: Principal(row.principal),
            version: row.version,
            capabilities: row.capabilities,
            locale: row.locale,
            info: row.info,
            windowed: row.windowed.into_iter().flatten().collect(),
            shared: row.shared.unwrap_or(false),
            // Rows of hosts that did not know epochs are of the first one.
            epoch: row.epoch.unwrap_or(ServerSeq(0)),
        }
    }
}

/// Reads what was written.
pub(crate) fn read<T: Wire>(what: impl FnOnce() -> String, text: &str) -> Result<T, StoreError> {
    let unreadable = |problem: String| StoreError::Unreadable {
        what: what(),
        problem,
    };
    match Document::parse(text, Limits::STATE) {
        Ok(document) => T::decode(document.root()).map_err(|error| unreadable(error.to_string())),
        Err(error) => Err(unreadable(error.to_string())),
    }
}
