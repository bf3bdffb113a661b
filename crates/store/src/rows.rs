//! Row formats that are not types of the protocol.

use agenthost_core::agent::ForbiddenValue;
use agenthost_core::{AgentOptions, ClientRecord, Principal};
use agenthost_protocol::common::SessionConfigSchema;
use agenthost_protocol::connection::{ClientCapabilities, Implementation};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Document, Json, Limits, Wire};

use crate::error::StoreError;

/// The stored form of a [`ClientRecord`].
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
            // Rows of hosts without writer epochs belong to the first epoch.
            epoch: row.epoch.unwrap_or(ServerSeq(0)),
        }
    }
}

/// The stored form of [`AgentOptions`].
#[derive(Wire)]
pub(crate) struct AgentOptionsRow {
    schema: SessionConfigSchema,
    forbidden: Vec<ForbiddenRow>,
}

#[derive(Wire)]
struct ForbiddenRow {
    key: String,
    value: Json,
    reason: String,
}

impl From<&AgentOptions> for AgentOptionsRow {
    fn from(options: &AgentOptions) -> Self {
        let forbidden = options.forbidden.iter().map(|value| ForbiddenRow {
            key: value.key.clone(),
            value: value.value.clone(),
            reason: value.reason.clone(),
        });
        AgentOptionsRow {
            schema: options.schema.clone(),
            forbidden: forbidden.collect(),
        }
    }
}

impl From<AgentOptionsRow> for AgentOptions {
    fn from(row: AgentOptionsRow) -> Self {
        let forbidden = row.forbidden.into_iter().map(|row| ForbiddenValue {
            key: row.key,
            value: row.value,
            reason: row.reason,
        });
        AgentOptions {
            schema: row.schema,
            forbidden: forbidden.collect(),
        }
    }
}

/// Decodes the text of a row. `what` describes the row in an error.
pub(crate) fn decode_row<T: Wire>(
    what: impl FnOnce() -> String,
    text: &str,
) -> Result<T, StoreError> {
    let unreadable = |problem: String| StoreError::Unreadable {
        what: what(),
        problem,
    };
    match Document::parse(text, Limits::STATE) {
        Ok(document) => T::decode(document.root()).map_err(|error| unreadable(error.to_string())),
        Err(error) => Err(unreadable(error.to_string())),
    }
}
