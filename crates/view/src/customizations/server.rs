//! MCP servers of a session, with their states.

use agenthost_protocol::session::{McpServerCustomization, McpServerState, SessionState};
use serde::Serialize;

use super::row::MAX_MESSAGE;
use super::token::TokenRequirement;
use crate::visible_text::visible_label;

/// The `_meta` key with a problem of a running server, such as invalid tools.
const PROBLEM_META_KEY: &str = "agenthost.problem";

/// An MCP server with its state.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerRow {
    pub state: ServerStateKind,
    /// Reason of an error, or a problem of a running server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `true` if messages wait until the server has started.
    pub blocking: bool,
    /// Number of its tools, if it is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
    /// Token that the server requires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires: Option<TokenRequirement>,
}

/// The state of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ServerStateKind {
    /// The server is starting.
    Starting,
    /// The server is running.
    Ready,
    /// The server requires a token.
    AuthRequired,
    /// The server has failed.
    Error,
    /// The server is not running.
    Stopped,
    /// A state that a later protocol version defines.
    Unknown,
}

impl ServerRow {
    pub(super) fn new(server: &McpServerCustomization, session: &SessionState) -> Self {
        let mut row = ServerRow {
            state: ServerStateKind::Stopped,
            message: None,
            blocking: false,
            tools: None,
            requires: None,
        };
        match &server.state {
            McpServerState::Starting(starting) => {
                row.state = ServerStateKind::Starting;
                row.blocking = starting.blocking == Some(true);
            }
            McpServerState::Ready => {
                row.state = ServerStateKind::Ready;
                row.tools = Some(tool_count(&server.base.name, session));
                let problem = server.base.meta.as_ref();
                let problem = problem.and_then(|meta| meta.get(PROBLEM_META_KEY)?.as_str());
                row.message = problem.map(|text| visible_label(text, MAX_MESSAGE));
            }
            McpServerState::AuthRequired(requirement) => {
                row.state = ServerStateKind::AuthRequired;
                row.requires = Some(TokenRequirement::of_challenge(requirement));
            }
            McpServerState::Error(failed) => {
                row.state = ServerStateKind::Error;
                row.message = Some(visible_label(&failed.error.message, MAX_MESSAGE));
            }
            McpServerState::Stopped => {}
            McpServerState::Unknown(_) => row.state = ServerStateKind::Unknown,
        }
        row
    }
}

/// Returns the number of tools of a server. Their names begin with that of the server.
fn tool_count(server: &str, session: &SessionState) -> usize {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    let prefix: String = server
        .chars()
        .map(|character| if is_plain(character) { character } else { '_' })
        .chain(['_'])
        .collect();
    let tools = session.server_tools.iter().flatten();
    tools.filter(|tool| tool.name.starts_with(&prefix)).count()
}
