//! The sessions that an agent has of its own.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::agent::AcpAgent;
use super::live::{Call, Live};
use super::probe::{STEP, answer, finish, start};

/// Most pages that are asked for: an agent may go on forever.
const PAGES: usize = 100;

/// A session that an agent has of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnSession {
    /// What the agent calls it.
    pub id: String,
    /// Where it works.
    pub folder: Option<PathBuf>,
    /// What it is about.
    pub title: Option<String>,
    /// When something was last said in it, as the agent tells it.
    pub updated: Option<String>,
}

/// Starts an agent in a folder, asks for its sessions there, and ends it.
///
/// # Errors
///
/// In words, if it does not answer or can't say.
pub async fn own_sessions(agent: &AcpAgent, folder: &Path) -> Result<Vec<OwnSession>, String> {
    let mut live = Live::start(agent, folder).await?;
    let listed = list(&mut live, folder).await;
    finish(live, listed).await
}

async fn list(live: &mut Live, folder: &Path) -> Result<Vec<OwnSession>, String> {
    let initialized = start(live).await?;
    let can = initialized.pointer("/agentCapabilities/sessionCapabilities/list");
    if can.is_none_or(Value::is_null) {
        return Err("this agent does not tell which sessions it has".to_owned());
    }
    let mut sessions = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES {
        let params = match &cursor {
            None => json!({"cwd": folder}),
            Some(cursor) => json!({"cwd": folder, "cursor": cursor}),
        };
        live.call(Call::Other, "session/list", &params);
        let page = answer(live, STEP).await?;
        let page = page.map_err(|error| live.explain(&error))?;
        let listed = page.get("sessions").and_then(Value::as_array);
        sessions.extend(listed.into_iter().flatten().filter_map(read));
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

fn read(session: &Value) -> Option<OwnSession> {
    let text = |key: &str| Some(session.get(key)?.as_str()?.to_owned());
    Some(OwnSession {
        id: text("sessionId")?,
        folder: text("cwd").map(PathBuf::from),
        title: text("title").filter(|title| !title.is_empty()),
        updated: text("updatedAt"),
    })
}
