//! Requests of the frontend, and what their responses are for.

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

use super::Frontend;
use super::apps::{to_app_reply, to_document};
use super::edit_diffs::EditReading;
use super::files::FileResponse;
use super::new_session::MessageDraft;
use super::races::RacedAction;
use crate::effect::FrontendEffect;

/// A command whose action waits for the confirmation of the host.
#[derive(Debug)]
pub(super) struct PendingResult {
    pub(super) client_seq: ClientSeq,
    pub(super) command: u64,
    pub(super) report: RejectionReport,
    /// The channel of the action, if the engine had no state of it: the engine does not send the
    /// action again after a lost connection.
    pub(super) unmirrored: Option<Uri>,
}

/// The way in which the user learns that the host has rejected an action.
#[derive(Debug)]
pub(super) enum RejectionReport {
    /// A note, with the text of the user to be restored.
    Note { restored: Option<String> },
    /// A note about what another client did first, if it did.
    Race(RacedAction),
    /// The result of the command alone: the page shows it beside the input.
    CommandOnly,
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
        draft: MessageDraft,
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
    DiffSide { reading: u64, is_after: bool },
    /// One side of an edit that waits for approval.
    EditSide(Box<EditReading>),
    /// A file of the code that the user reviews.
    CodeFile { revision: u64, index: usize },
    /// A token that the user sends.
    SignIn { command: u64, resource: String },
    /// A token that the user withdraws.
    SignOut { command: u64, resource: String },
    /// A chat that the user creates.
    CreateChat { command: u64, chat: Uri },
    /// The HTML of an MCP App.
    OpenApp { command: u64, uri: String },
    /// The answer to a request of an MCP App.
    AppRequest { command: u64 },
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
            | ResponsePurpose::SignIn { command, .. }
            | ResponsePurpose::SignOut { command, .. }
            | ResponsePurpose::OpenApp { command, .. }
            | ResponsePurpose::AppRequest { command }
            | ResponsePurpose::Reply { command, .. } => Some(*command),
            ResponsePurpose::EditSide(reading) => Some(reading.command),
            ResponsePurpose::File(purpose) => purpose.command(),
            ResponsePurpose::Sessions { .. }
            | ResponsePurpose::Ping
            | ResponsePurpose::CodeFile { .. }
            | ResponsePurpose::DiffSide { .. } => None,
        }
    }

    /// Returns `true` for requests of MCP Apps.
    pub(super) fn is_of_app(&self) -> bool {
        match self {
            ResponsePurpose::OpenApp { .. } | ResponsePurpose::AppRequest { .. } => true,
            ResponsePurpose::Create { .. }
            | ResponsePurpose::Reply { .. }
            | ResponsePurpose::CreateTerminal { .. }
            | ResponsePurpose::CreateChat { .. }
            | ResponsePurpose::Sessions { .. }
            | ResponsePurpose::Ping
            | ResponsePurpose::File(_)
            | ResponsePurpose::CodeFile { .. }
            | ResponsePurpose::SignIn { .. }
            | ResponsePurpose::SignOut { .. }
            | ResponsePurpose::EditSide(_)
            | ResponsePurpose::DiffSide { .. } => false,
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

impl Frontend {
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
                draft,
            } => match decode::<CreateSessionParams>(response) {
                Ok(_) => self.start_session(command, session, draft),
                // The page still has the draft.
                Err(error) => self.fail(command, error.to_string()),
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
            ResponsePurpose::Reply { command, convert } => self.finish(command, convert(response)),
            ResponsePurpose::OpenApp { command, uri } => {
                self.finish(command, to_document(response, &uri));
            }
            ResponsePurpose::AppRequest { command } => {
                self.finish(command, to_app_reply(response));
            }
            ResponsePurpose::File(purpose) => self.handle_file_response(purpose, response),
            // Its arrival is all that matters.
            ResponsePurpose::Ping => {}
            ResponsePurpose::CodeFile { revision, index } => {
                self.add_code_file(revision, index, decode::<ResourceReadParams>(response));
            }
            ResponsePurpose::SignIn { command, resource } => {
                self.finish_token(command, &resource, true, response);
            }
            ResponsePurpose::SignOut { command, resource } => {
                self.finish_token(command, &resource, false, response);
            }
            ResponsePurpose::EditSide(reading) => self.add_edit_side(*reading, response),
            ResponsePurpose::DiffSide { reading, is_after } => {
                let outcome = decode::<ResourceReadParams>(response);
                self.changes.add_side(reading, is_after, outcome);
                self.dirty.changes = true;
            }
        }
    }
}

impl Frontend {
    fn finish(&mut self, command: u64, outcome: Result<Option<Box<RawValue>>, RequestError>) {
        match outcome {
            Ok(value) => self.effects.push(FrontendEffect::Done {
                id: command,
                error: None,
                value,
            }),
            Err(error) => self.fail(command, error.to_string()),
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
