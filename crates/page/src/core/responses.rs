//! Requests of the core, and what their responses are for.

use agenthost_client::{ClientResponse, EngineError};
use agenthost_protocol::changeset::InvokeChangesetOperationParams;
use agenthost_protocol::chat::{CompletionsParams, FetchTurnsParams};
use agenthost_protocol::ids::ClientSeq;
use agenthost_protocol::resource::{ResourceListParams, ResourceReadParams};
use agenthost_protocol::root::ListSessionsParams;
use agenthost_protocol::rpc::{Command, RequestId};
use agenthost_protocol::session::{CreateSessionParams, DisposeSessionParams};
use agenthost_protocol::uri::Uri;
use serde_json::{Value, json};

use super::PageCore;

/// A command whose action waits for the confirmation of the host.
#[derive(Debug)]
pub(super) struct PendingResult {
    pub(super) client_seq: ClientSeq,
    pub(super) command: u64,
    /// Text of the user, to be restored if the host rejects the action.
    pub(super) restored: Option<String>,
}

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
    Sessions {
        generation: u64,
    },
    /// A session that the user creates with a first message.
    Create {
        command: u64,
        session: Uri,
        message: String,
        model: Option<String>,
    },
    Dispose {
        command: u64,
    },
    OlderTurns {
        command: u64,
    },
    Completions {
        command: u64,
    },
    ReadFile {
        command: u64,
    },
    ListFolder {
        command: u64,
    },
    Operation {
        command: u64,
    },
    /// One side of the open diff.
    DiffSide {
        revision: u64,
        is_after: bool,
    },
}

impl ResponsePurpose {
    /// Returns the command of the user that waits for the response.
    pub(super) fn command(&self) -> Option<u64> {
        match self {
            ResponsePurpose::Create { command, .. }
            | ResponsePurpose::Dispose { command }
            | ResponsePurpose::OlderTurns { command }
            | ResponsePurpose::Completions { command }
            | ResponsePurpose::ReadFile { command }
            | ResponsePurpose::ListFolder { command }
            | ResponsePurpose::Operation { command } => Some(*command),
            ResponsePurpose::Sessions { .. } | ResponsePurpose::DiffSide { .. } => None,
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

fn decode<C: Command>(response: ClientResponse) -> Result<C::Result, RequestError> {
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
            ResponsePurpose::Dispose { command } => {
                let outcome = decode::<DisposeSessionParams>(response);
                self.finish(command, outcome.map(|_| Value::Null));
            }
            ResponsePurpose::OlderTurns { command } => {
                let outcome = decode::<FetchTurnsParams>(response);
                self.dirty.chat = true;
                self.finish(command, outcome.map(|_| Value::Null));
            }
            ResponsePurpose::Completions { command } => {
                let outcome = decode::<CompletionsParams>(response);
                self.finish(command, outcome.map(|result| completion_items(&result)));
            }
            ResponsePurpose::ReadFile { command } => {
                let outcome = decode::<ResourceReadParams>(response);
                let outcome = outcome.map(|file| {
                    json!({"data": file.data, "encoding": file.encoding, "contentType": file.content_type})
                });
                self.finish(command, outcome);
            }
            ResponsePurpose::ListFolder { command } => {
                let outcome = decode::<ResourceListParams>(response);
                let outcome = outcome.map(|result| json!({"entries": result.entries}));
                self.finish(command, outcome);
            }
            ResponsePurpose::Operation { command } => {
                let outcome = decode::<InvokeChangesetOperationParams>(response);
                if let Err(error) = &outcome {
                    self.add_note(error.to_string(), None);
                }
                let outcome = outcome.map(|result| json!({"message": result.message}));
                self.finish(command, outcome);
            }
            ResponsePurpose::DiffSide { revision, is_after } => {
                let outcome = decode::<ResourceReadParams>(response);
                self.changes.add_side(revision, is_after, outcome);
                self.dirty.changes = true;
            }
        }
    }

    fn finish(&mut self, command: u64, outcome: Result<Value, RequestError>) {
        match outcome {
            Ok(value) => self.done(command, Some(value)),
            Err(error) => self.fail(command, error.to_string()),
        }
    }
}

/// Converts completions to the form of the page.
fn completion_items(result: &agenthost_protocol::chat::CompletionsResult) -> Value {
    let rows = agenthost_view::composer::attachment_rows(Some(
        &result
            .items
            .iter()
            .map(|item| item.attachment.clone())
            .collect::<Vec<_>>(),
    ));
    let items = result.items.iter().zip(rows).map(|(item, row)| {
        json!({
            "insert": item.insert_text, "label": row.name, "description": row.kind,
            "start": item.range_start, "end": item.range_end,
        })
    });
    Value::Array(items.collect())
}
