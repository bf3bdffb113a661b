//! The list of terminals, and the output of a terminal as plain text.

use agenthost_protocol::terminal::{
    OutputTail, TerminalClaim, TerminalInfo, TerminalLifecycle, TerminalPart, TerminalSessionClaim,
    TerminalState,
};
use agenthost_protocol::uri::Uri;
use serde::Serialize;

use crate::location::path_of;
use crate::visible_text::visible_order;

/// Output that is read to compute the end of it as plain text. Escape sequences make the text
/// shorter.
const TAIL_SOURCE_FACTOR: usize = 4;

/// A terminal in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalRow {
    /// URI of the terminal.
    pub uri: Uri,
    /// Title of the terminal.
    pub title: String,
    /// Working directory, if the client follows the terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// `true` while the program runs.
    pub running: bool,
    /// Exit code of the program, if it has exited and the code is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    pub owner: TerminalOwner,
    /// Id of the owner: the client, or the session.
    pub owner_id: String,
    /// `true` if the terminal belongs to the selected session or to this client.
    pub of_session: bool,
    /// `true` if the host lets a client end the terminal.
    pub can_close: bool,
    /// Size of the terminal, if the client follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<TerminalSize>,
}

/// The owner of a terminal as this client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TerminalOwner {
    /// This client; no other client can type.
    Own,
    /// Another client; this client cannot type.
    OtherClient,
    /// A session; all of its clients can type.
    Session,
    /// A tool call of a session; all clients of the session can type.
    ToolCall,
}

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TerminalSize {
    pub cols: u64,
    pub rows: u64,
}

/// The selection of a client that decides which terminals are its own.
#[derive(Debug, Clone, Copy)]
pub struct TerminalContext<'a> {
    pub client_id: &'a str,
    pub session: Option<&'a Uri>,
}

impl TerminalRow {
    /// Returns the row of a terminal in the list of the host. `state` is present if the client
    /// follows the terminal.
    pub fn of_info(
        info: &TerminalInfo,
        state: Option<&TerminalState>,
        context: TerminalContext<'_>,
    ) -> Self {
        TerminalRow {
            can_close: true,
            folder: state.and_then(folder_of),
            size: state.and_then(size_of),
            ..plain_row(
                &info.resource,
                &info.title,
                &info.claim,
                &info.lifecycle,
                context,
            )
        }
    }

    /// Returns the row of a terminal that is not in the list of the host, such as that of a
    /// tool call.
    pub fn of_state(uri: &Uri, state: &TerminalState, context: TerminalContext<'_>) -> Self {
        let is_background =
            matches!(&state.claim, TerminalClaim::Session(claim) if !is_of_call(claim));
        TerminalRow {
            can_close: is_background && state.lifecycle == TerminalLifecycle::Running,
            folder: folder_of(state),
            size: size_of(state),
            ..plain_row(uri, &state.title, &state.claim, &state.lifecycle, context)
        }
    }
}

fn plain_row(
    uri: &Uri,
    title: &str,
    claim: &TerminalClaim,
    lifecycle: &TerminalLifecycle,
    context: TerminalContext<'_>,
) -> TerminalRow {
    let (running, exit_code) = match lifecycle {
        TerminalLifecycle::Running => (true, None),
        TerminalLifecycle::Exited(exit) => (false, exit.exit_code),
    };
    let (owner, owner_id, of_session) = match claim {
        TerminalClaim::Client(client) => {
            let id = client.client_id.as_str();
            let owner = if id == context.client_id {
                TerminalOwner::Own
            } else {
                TerminalOwner::OtherClient
            };
            (owner, id, owner == TerminalOwner::Own)
        }
        TerminalClaim::Session(claim) => {
            let owner = if is_of_call(claim) {
                TerminalOwner::ToolCall
            } else {
                TerminalOwner::Session
            };
            let of_session = context.session == Some(&claim.session);
            (owner, claim.session.as_str(), of_session)
        }
    };
    TerminalRow {
        uri: uri.clone(),
        title: visible_order(title),
        folder: None,
        running,
        exit_code,
        owner,
        owner_id: owner_id.to_owned(),
        of_session,
        can_close: false,
        size: None,
    }
}

fn is_of_call(claim: &TerminalSessionClaim) -> bool {
    claim.turn_id.is_some() || claim.tool_call_id.is_some()
}

fn folder_of(state: &TerminalState) -> Option<String> {
    state.cwd.as_ref().map(path_of)
}

fn size_of(state: &TerminalState) -> Option<TerminalSize> {
    let (cols, rows) = (state.cols?, state.rows?);
    Some(TerminalSize { cols, rows })
}

/// Returns the whole output of a terminal, with its escape sequences.
pub fn raw_output(state: &TerminalState) -> String {
    state.content.items().map(part_output).collect()
}

/// Returns the end of a terminal's output as plain text of at most `max_bytes` bytes.
pub fn output_tail(state: &TerminalState, max_bytes: usize) -> String {
    let mut missing = max_bytes.saturating_mul(TAIL_SOURCE_FACTOR);
    let mut pieces = Vec::new();
    for part in state.content.items().rev() {
        let output = part_output(part);
        let from = output.ceil_char_boundary(output.len().saturating_sub(missing));
        let kept = output.get(from..).unwrap_or_default();
        // A piece that starts within a line could start within an escape sequence.
        let kept = match kept.split_once('\n') {
            Some((_, rest)) if from > 0 => rest,
            _ => kept,
        };
        pieces.push(kept);
        missing = missing.saturating_sub(output.len());
        if missing == 0 {
            break;
        }
    }
    let mut tail = OutputTail::new(max_bytes);
    for piece in pieces.iter().rev() {
        tail.push(piece);
    }
    tail.finish().0
}

fn part_output(part: &TerminalPart) -> &str {
    match part {
        TerminalPart::Unclassified(output) => &output.value,
        TerminalPart::Command(command) => &command.output,
        TerminalPart::Unknown(_) => "",
    }
}

#[cfg(test)]
#[path = "terminals_tests.rs"]
mod tests;
