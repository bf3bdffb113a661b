//! Lists and deletes the sessions that an agent has stored.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{STEP_TIMEOUT, await_initialized, next_response, shutdown_agent};
use crate::agent::AcpAgent;
use crate::connection::{AgentCall, AgentConnection};
use crate::error::{AcpError, UnsupportedFeature};

/// The maximum number of pages that are requested: an agent may return new cursors forever.
const MAX_LIST_PAGES: usize = 100;

/// A session that an agent has stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSessionInfo {
    /// The id that the agent gave the session.
    pub id: String,
    /// The working directory of the session.
    pub folder: Option<PathBuf>,
    /// The title that the agent gave the session.
    pub title: Option<String>,
    /// The time of the last activity, in the format of the agent.
    pub updated_at: Option<String>,
}

/// Starts an agent in a folder, requests its sessions there, and shuts it down.
///
/// # Errors
///
/// Returns an error if the agent does not answer or can't list sessions.
pub async fn list_agent_sessions(
    agent: &AcpAgent,
    folder: &Path,
) -> Result<Vec<AgentSessionInfo>, AcpError> {
    let mut connection = AgentConnection::start(agent, folder).await?;
    let sessions = request_sessions(&mut connection, folder).await;
    shutdown_agent(connection, sessions).await
}

/// Starts an agent in a folder, deletes sessions that it has stored, and shuts it down. Returns
/// the number of deleted sessions; the agent may refuse to delete some.
///
/// # Errors
///
/// Returns an error if the agent does not answer or can't delete sessions.
pub async fn delete_agent_sessions(
    agent: &AcpAgent,
    folder: &Path,
    sessions: &[String],
) -> Result<usize, AcpError> {
    let mut connection = AgentConnection::start(agent, folder).await?;
    let deleted = request_deletions(&mut connection, sessions).await;
    shutdown_agent(connection, deleted).await
}

async fn request_deletions(
    connection: &mut AgentConnection,
    sessions: &[String],
) -> Result<usize, AcpError> {
    let initialized = await_initialized(connection).await?;
    let capability = initialized.pointer("/agentCapabilities/sessionCapabilities/delete");
    if capability.is_none_or(Value::is_null) {
        return Err(UnsupportedFeature::DeleteSessions.into());
    }
    let mut deleted = 0;
    for session in sessions {
        connection.delete_session(session);
        let response = next_response(connection, STEP_TIMEOUT).await?;
        deleted += usize::from(response.is_ok());
    }
    Ok(deleted)
}

async fn request_sessions(
    connection: &mut AgentConnection,
    folder: &Path,
) -> Result<Vec<AgentSessionInfo>, AcpError> {
    let initialized = await_initialized(connection).await?;
    let capability = initialized.pointer("/agentCapabilities/sessionCapabilities/list");
    if capability.is_none_or(Value::is_null) {
        return Err(UnsupportedFeature::ListSessions.into());
    }
    let mut sessions = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_LIST_PAGES {
        let params = match &cursor {
            None => json!({"cwd": folder}),
            Some(cursor) => json!({"cwd": folder, "cursor": cursor}),
        };
        connection.call(AgentCall::Other, "session/list", &params);
        let page = next_response(connection, STEP_TIMEOUT).await?;
        let page = page.map_err(|error| connection.to_acp_error(&error))?;
        let page_sessions = page.get("sessions").and_then(Value::as_array);
        sessions.extend(
            page_sessions
                .into_iter()
                .flatten()
                .filter_map(parse_session),
        );
        cursor = page
            .get("nextCursor")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    Ok(sessions)
}

fn parse_session(session: &Value) -> Option<AgentSessionInfo> {
    let text = |key: &str| Some(session.get(key)?.as_str()?.to_owned());
    Some(AgentSessionInfo {
        id: text("sessionId")?,
        folder: text("cwd").map(PathBuf::from),
        title: text("title").filter(|title| !title.is_empty()),
        updated_at: text("updatedAt"),
    })
}
