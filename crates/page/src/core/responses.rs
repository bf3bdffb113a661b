//! Requests of the core, and what their responses are for.

use agenthost_client::{ClientResponse, EngineError};
use agenthost_protocol::chat::CreateChatParams;
use agenthost_protocol::ids::ClientSeq;
use agenthost_protocol::resource::ResourceReadParams;
use agenthost_protocol::root::ListSessionsParams;
use agenthost_protocol::rpc::{Command, RequestId};
use agenthost_protocol::session::CreateSessionParams;
use agenthost_protocol::terminal::CreateTerminalParams;
use agenthost_protocol::uri::Uri;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::PageCore;
use super::files::FileResponse;
use crate::effect::PageEffect;

/// A command whose action waits for the confirmation of the host.
#[derive(Debug)]
pub(super) struct PendingResult {
    pub(super) client_seq: ClientSeq,
    pub(super) command: u64,
    /// Text of the user, to be restored if the host rejects the action.
    pub(super) restored: Option<String>,
}

/// Converts a response to the result of a command. Responses without a converter of their own use
/// [`discard`].
pub(super) type ResultConverter = fn(ClientResponse) -> Result<Option<Box<RawValue>>, RequestError>;

/// A request that waits for its response.
#[derive(Debug)]
pub(super) struct PendingResponse {
    pub(super) id: RequestId,
    pub(super) purpose: ResponsePurpose,
}

/// The use of a response.
#[derive(Debug)]
pub(super) enum ResponsePurpose {
    /// A page of the session list.
    Sessions { generation: u64 },
    /// A session that the user creates with a first message.
    Create {
        command: u64,
        session: Uri,
        message: String,
        model: Option<String>,
    },
    /// A terminal that the user starts.
    CreateTerminal { command: u64, uri: Uri },
    /// The result of a command, converted to what the page expects.
    Reply {
        command: u64,
        convert: ResultConverter,
    },
    /// A check of the connection.
    Ping,
    /// One side of the open diff.
    DiffSide { revision: u64, is_after: bool },
    /// A chat that the user creates.
    CreateChat { command: u64, chat: Uri },
    /// A request of the files panel.
    File(FileResponse),
}

impl ResponsePurpose {
    /// Returns the command of the user that waits for the response.
    pub(super) fn command(&self) -> Option<u64> {
        match self {
            ResponsePurpose::Create { command, .. }
            | ResponsePurpose::CreateTerminal { command, .. }
            | ResponsePurpose::CreateChat { command, .. }
            | ResponsePurpose::Reply { command, .. } => Some(*command),
            ResponsePurpose::File(purpose) => purpose.command(),
            ResponsePurpose::Sessions { .. }
            | ResponsePurpose::Ping
            | ResponsePurpose::DiffSide { .. } => None,
        }
    }
}

/// The reason for which a request has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    /// The host answered with an error.
    #[error("{0}")]
    Refused(String),
    /// The host may or may not have executed the request.
    #[error("the connection was lost before the response arrived")]
    Interrupted,
    /// The response is broken.
    #[error(transparent)]
    Broken(#[from] EngineError),
}

pub(super) fn decode<C: Command>(response: ClientResponse) -> Result<C::Result, RequestError> {
    match response.decode::<C>()? {
        Some(Ok(result)) => Ok(result),
        Some(Err(error)) => Err(RequestError::Refused(error.message)),
        None => Err(RequestError::Interrupted),
    }
}

impl PageCore {
    pub(super) fn handle_response(&mut self, response: ClientResponse) {
        let mut waiting = self.responses.iter();
        let Some(position) = waiting.position(|pending| pending.id == response.id) else {
            return;
        };
        let purpose = self.responses.swap_remove(position).purpose;
        match purpose {
            ResponsePurpose::Sessions { generation } => {
                match decode::<ListSessionsParams>(response) {
                    Ok(page) => self.add_session_page(generation, page),
                    Err(error) if self.link.is_live() => self.add_note(error.to_string(), None),
                    // The list is requested again with the next connection.
                    Err(_) => {}
                }
            }
            ResponsePurpose::Create {
                command,
                session,
                message,
                model,
            } => match decode::<CreateSessionParams>(response) {
                Ok(_) => self.start_session(command, session, message, model),
                Err(error) => {
                    self.add_note(error.to_string(), Some(message));
                    self.fail(command, error.to_string());
                }
            },
            ResponsePurpose::CreateChat { command, chat } => {
                match decode::<CreateChatParams>(response) {
                    Ok(_) => self.show_created_chat(command, chat),
                    Err(error) => self.fail(command, error.to_string()),
                }
            }
            ResponsePurpose::CreateTerminal { command, uri } => {
                match decode::<CreateTerminalParams>(response) {
                    Ok(_) => self.report_terminal(command, &uri),
                    Err(error) => self.fail(command, error.to_string()),
                }
            }
            ResponsePurpose::Reply { command, convert } => match convert(response) {
                Ok(value) => self.effects.push(PageEffect::Done {
                    id: command,
                    error: None,
                    value,
                }),
                Err(error) => self.fail(command, error.to_string()),
            },
            ResponsePurpose::File(purpose) => self.handle_file_response(purpose, response),
            // Its arrival is all that matters.
            ResponsePurpose::Ping => {}
            ResponsePurpose::DiffSide { revision, is_after } => {
                let outcome = decode::<ResourceReadParams>(response);
                self.changes.add_side(revision, is_after, outcome);
                self.dirty.changes = true;
            }
        }
    }
}

/// Drops the result of a request: the command has only succeeded.
pub(super) fn discard<C: Command>(
    response: ClientResponse,
) -> Result<Option<Box<RawValue>>, RequestError> {
    decode::<C>(response)?;
    Ok(None)
}

/// Returns a result for the page.
pub(super) fn encode(value: &impl Serialize) -> Result<Option<Box<RawValue>>, RequestError> {
    let value = to_raw_value(value).map_err(|error| RequestError::Refused(error.to_string()))?;
    Ok(Some(value))
}
