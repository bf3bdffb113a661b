//! What a peer says, sorted.

pub(crate) mod auth;
pub(crate) mod channel_recovery;
pub(crate) mod disconnect;
pub(crate) mod dispatch;
pub(crate) mod epochs;
pub(crate) mod handshake;
pub(crate) mod host_requests;
pub(crate) mod quirks;
pub(crate) mod registry;
pub(crate) mod subscriptions;
pub(crate) mod token_registry;

use agenthost_protocol::action::ActionOrigin;
use agenthost_protocol::connection::ReconnectRequest;
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::rpc::{ClientNotification, ClientRequest, ErrorCode, RequestId, RpcError};

use crate::connection::handshake::CatchUpMode;
use crate::host::Host;
use crate::host::effect::{Effect, Effects, ResponseBody};
use crate::host::error::RequestFailure;
use crate::host::input::{ClientMessage, ConnectionId, RejectedDispatch};
use crate::host::step::Env;
use crate::resource::FileRequest;

impl Host {
    pub(crate) fn handle_message(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        message: ClientMessage,
        out: &mut Effects,
    ) {
        if !self.clients.connections.contains_key(&connection) {
            return;
        }
        match message {
            ClientMessage::Invalid(id, error) => out.respond_error(connection, &id, error),
            ClientMessage::Request(id, request) => {
                match self.handle_request(env, connection, &id, *request, out) {
                    Ok(Some(answer)) => out.respond(connection, &id, answer),
                    // It was answered in its place among the effects.
                    Ok(None) => {}
                    Err(error) => {
                        // Without a common version there is nothing to talk about
                        // (HSK-6).
                        let over = error.code == ErrorCode::UnsupportedProtocolVersion;
                        out.respond_error(connection, &id, error);
                        if over {
                            out.push(Effect::CloseConnection { connection });
                        }
                    }
                }
            }
            ClientMessage::ReplayTooLarge(id, params) => {
                if let Err(error) =
                    self.reconnect(env, connection, &id, *params, CatchUpMode::Snapshots, out)
                {
                    out.respond_error(connection, &id, error);
                }
            }
            ClientMessage::ToMcpServer(id, message) => {
                self.forward_to_server(connection, id, *message, out)
            }
            ClientMessage::Response(id, answer) => {
                self.handle_response(connection, id, *answer, out)
            }
            ClientMessage::Rejected(refused) => {
                if let Some(client_id) = self.clients.client_of(connection).cloned() {
                    let RejectedDispatch {
                        channel,
                        client_seq,
                        action,
                        reason,
                    } = *refused;
                    let origin = ActionOrigin {
                        client_id,
                        client_seq,
                    };
                    self.reject_action(connection, channel, action, origin, reason, out);
                }
            }
            // Before the handshake nobody knows who is speaking (HSK-2).
            ClientMessage::Notification(_) if self.clients.client_of(connection).is_none() => {}
            ClientMessage::Notification(notification) => match *notification {
                ClientNotification::Unsubscribe(params) => {
                    self.unsubscribe(env, connection, &params.channel, out);
                }
                ClientNotification::DispatchAction(params) => {
                    self.dispatch_action(env, connection, params, out);
                }
            },
        }
    }

    /// Sends somebody for an answer.
    fn submit_file_request(
        &self,
        connection: ConnectionId,
        id: &RequestId,
        request: FileRequest,
        out: &mut Effects,
    ) -> Result<Option<ResponseBody>, RpcError> {
        self.submit_file_job(connection, id, request, out);
        Ok(None)
    }

    /// Carries a request out; `None` if the answer is among the effects
    /// already.
    fn handle_request(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        id: &RequestId,
        request: ClientRequest,
        out: &mut Effects,
    ) -> Result<Option<ResponseBody>, RpcError> {
        match request {
            ClientRequest::Ping(_) => return Ok(Some(ResponseBody::Null)),
            ClientRequest::Initialize(params) => {
                // Whoever follows more than the host already was here before.
                let followed = params.initial_subscriptions.as_ref().map_or(0, Vec::len);
                let answer = self.initialize(connection, params, out)?;
                out.respond(connection, id, answer);
                if followed > 1 {
                    self.send_list_changes(connection, ServerSeq(0), out);
                }
                return Ok(None);
            }
            ClientRequest::Reconnect(request) => {
                match request {
                    ReconnectRequest::Connection(params) => {
                        self.reconnect(env, connection, id, params, CatchUpMode::Replay, out)?;
                    }
                    ReconnectRequest::Channels(params) => {
                        self.recover_channels(env, connection, id, &params, out)?;
                    }
                }
                return Ok(None);
            }
            _ if self.clients.client_of(connection).is_none() => {
                return Err(RequestFailure::NotInitialized.into());
            }
            ClientRequest::Subscribe(params) => self.subscribe(connection, &params, out),
            ClientRequest::ListSessions(params) => self.list_sessions(connection, &params),
            ClientRequest::CreateSession(params) => {
                self.create_session(env, connection, id, params, out)?;
                return Ok(None);
            }
            ClientRequest::DisposeSession(params) => {
                self.dispose_session_for(connection, &params.channel, out)?;
                Ok(ResponseBody::Null)
            }
            ClientRequest::CreateChat(params) => {
                self.create_chat(env, connection, id, params, out)?;
                return Ok(None);
            }
            ClientRequest::DisposeChat(params) => {
                self.dispose_chat(env, &params.channel, out)?;
                Ok(ResponseBody::Null)
            }
            ClientRequest::FetchTurns(params) => self.fetch_turns(connection, &params, out),
            ClientRequest::ResolveSessionConfig(params) => self.resolve_config(&params),
            ClientRequest::SessionConfigCompletions(params) => self.config_completions(&params),
            ClientRequest::Completions(params) => {
                return Ok(self.handle_completions(connection, id, &params, out)?);
            }
            ClientRequest::CreateTerminal(params) => self.create_terminal(connection, params, out),
            ClientRequest::DisposeTerminal(params) => self.dispose_terminal(&params.channel, out),
            ClientRequest::InvokeChangesetOperation(params) => {
                self.invoke_operation(connection, id, &params, out)?;
                return Ok(None);
            }
            ClientRequest::CreateResourceWatch(params) => {
                self.create_watch(env, connection, id, params, out)?;
                return Ok(None);
            }
            ClientRequest::ResourceRequest(params) => {
                return Ok(self.request_access(connection, id, &params, out)?);
            }
            ClientRequest::ResourceRead(params) => {
                return self.submit_file_request(connection, id, FileRequest::Read(params), out);
            }
            ClientRequest::ResourceWrite(params) => {
                return self.submit_file_request(
                    connection,
                    id,
                    FileRequest::Write(Box::new(params)),
                    out,
                );
            }
            ClientRequest::ResourceList(params) => {
                return self.submit_file_request(connection, id, FileRequest::List(params), out);
            }
            ClientRequest::ResourceCopy(params) => {
                return self.submit_file_request(connection, id, FileRequest::Copy(params), out);
            }
            ClientRequest::ResourceDelete(params) => {
                return self.submit_file_request(connection, id, FileRequest::Delete(params), out);
            }
            ClientRequest::ResourceMove(params) => {
                return self.submit_file_request(connection, id, FileRequest::Move(params), out);
            }
            ClientRequest::ResourceResolve(params) => {
                return self.submit_file_request(connection, id, FileRequest::Resolve(params), out);
            }
            ClientRequest::ResourceMkdir(params) => {
                return self.submit_file_request(
                    connection,
                    id,
                    FileRequest::MakeDirectory(params),
                    out,
                );
            }
            ClientRequest::Authenticate(params) => self.authenticate(env, connection, params, out),
            ClientRequest::MoveChat(params) => self.move_chat(env, params, out),
            ClientRequest::ListAutomationTriggerDefinitions(_)
            | ClientRequest::RunAutomation(_)
            | ClientRequest::FetchAutomationRuns(_) => {
                Err(RequestFailure::Unsupported(request.method()))
            }
        }
        .map(Some)
        .map_err(RpcError::from)
    }
}
