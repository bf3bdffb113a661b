//! Routes the messages of a connection: requests, responses and notifications.

pub(crate) mod auth;
pub(crate) mod channel_recovery;
pub(crate) mod client_retention;
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
use agenthost_protocol::connection::{InitializeParams, ReconnectRequest};
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
                    // The handler has already pushed the response, in order with its other
                    // effects.
                    Ok(None) => {}
                    Err(error) => {
                        // Without a common version the client can't use the connection
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
            // Before the handshake the connection has no client (HSK-2).
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

    /// Handles a request. Returns `None` if the response is already among the effects.
    fn handle_request(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        id: &RequestId,
        request: ClientRequest,
        out: &mut Effects,
    ) -> Result<Option<ResponseBody>, RpcError> {
        let is_handshake = matches!(
            request,
            ClientRequest::Ping(_) | ClientRequest::Initialize(_) | ClientRequest::Reconnect(_)
        );
        if !is_handshake && self.clients.client_of(connection).is_none() {
            return Err(RequestFailure::NotInitialized.into());
        }
        self.check_request_scope(connection, &request)?;
        self.route_request(env, connection, id, request, out)
    }

    fn route_request(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        id: &RequestId,
        request: ClientRequest,
        out: &mut Effects,
    ) -> Result<Option<ResponseBody>, RpcError> {
        let submit = |request, out: &mut Effects| {
            self.submit_file_job(connection, id, request, out);
            Ok(None)
        };
        let answered = match request {
            ClientRequest::Ping(_) => Ok(Some(ResponseBody::Null)),
            ClientRequest::Initialize(params) => {
                return self.answer_initialize(connection, id, params, out);
            }
            ClientRequest::Reconnect(request) => {
                return self.answer_reconnect(env, connection, id, request, out);
            }
            ClientRequest::Subscribe(params) => self.subscribe(connection, &params, out).map(Some),
            ClientRequest::ListSessions(params) => {
                self.list_sessions(connection, &params).map(Some)
            }
            ClientRequest::CreateSession(params) => {
                let created = self.create_session(env, connection, id, params, out);
                created.map(|()| None)
            }
            ClientRequest::DisposeSession(params) => {
                let disposed = self.dispose_session_for(connection, &params, out);
                disposed.map(|()| Some(ResponseBody::Null))
            }
            ClientRequest::CreateChat(params) => {
                let created = self.create_chat(env, connection, id, params, out);
                created.map(|()| None)
            }
            ClientRequest::DisposeChat(params) => {
                let disposed = self.dispose_chat(env, &params.channel, out);
                disposed.map(|()| Some(ResponseBody::Null))
            }
            ClientRequest::MoveChat(params) => self.move_chat(env, params, out).map(Some),
            ClientRequest::FetchTurns(params) => {
                self.fetch_turns(connection, &params, out).map(Some)
            }
            ClientRequest::ResolveSessionConfig(params) => self.resolve_config(&params).map(Some),
            ClientRequest::SessionConfigCompletions(params) => {
                self.config_completions(&params).map(Some)
            }
            ClientRequest::Completions(params) => {
                self.handle_completions(connection, id, &params, out)
            }
            ClientRequest::CreateTerminal(params) => {
                self.create_terminal(connection, params, out).map(Some)
            }
            ClientRequest::DisposeTerminal(params) => {
                self.dispose_terminal(&params.channel, out).map(Some)
            }
            ClientRequest::InvokeChangesetOperation(params) => {
                let invoked = self.invoke_operation(connection, id, &params, out);
                invoked.map(|()| None)
            }
            ClientRequest::CreateResourceWatch(params) => {
                let created = self.create_watch(env, connection, id, params, out);
                created.map(|()| None)
            }
            ClientRequest::ResourceRequest(params) => {
                self.request_access(connection, id, &params, out)
            }
            ClientRequest::ResourceRead(params) => submit(FileRequest::Read(params), out),
            ClientRequest::ResourceWrite(params) => {
                submit(FileRequest::Write(Box::new(params)), out)
            }
            ClientRequest::ResourceList(params) => submit(FileRequest::List(params), out),
            ClientRequest::ResourceCopy(params) => submit(FileRequest::Copy(params), out),
            ClientRequest::ResourceDelete(params) => submit(FileRequest::Delete(params), out),
            ClientRequest::ResourceMove(params) => submit(FileRequest::Move(params), out),
            ClientRequest::ResourceResolve(params) => submit(FileRequest::Resolve(params), out),
            ClientRequest::ResourceMkdir(params) => submit(FileRequest::MakeDirectory(params), out),
            ClientRequest::Authenticate(params) => {
                self.authenticate(env, connection, params, out).map(Some)
            }
            unsupported @ (ClientRequest::ListAutomationTriggerDefinitions(_)
            | ClientRequest::RunAutomation(_)
            | ClientRequest::FetchAutomationRuns(_)) => {
                Err(RequestFailure::Unsupported(unsupported.method()))
            }
        };
        Ok(answered?)
    }

    fn answer_initialize(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        params: InitializeParams,
        out: &mut Effects,
    ) -> Result<Option<ResponseBody>, RpcError> {
        // A returning client has tried to reconnect first, or subscribes to more than the
        // root channel.
        let followed = params.initial_subscriptions.as_ref().map_or(0, Vec::len);
        let entry = self.clients.connections.get(&connection);
        let is_back = followed > 1 || entry.is_some_and(|entry| entry.reconnect_refused);
        let answer = self.initialize(connection, params, out)?;
        out.respond(connection, id, answer);
        if is_back {
            self.send_list_changes(connection, ServerSeq(0), out);
        }
        Ok(None)
    }

    fn answer_reconnect(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        id: &RequestId,
        request: ReconnectRequest,
        out: &mut Effects,
    ) -> Result<Option<ResponseBody>, RpcError> {
        let answered = match request {
            ReconnectRequest::Connection(params) => {
                self.reconnect(env, connection, id, params, CatchUpMode::Replay, out)
            }
            ReconnectRequest::Channels(params) => {
                self.recover_channels(env, connection, id, &params, out)
            }
        };
        if answered.is_err()
            && let Some(entry) = self.clients.connections.get_mut(&connection)
        {
            entry.reconnect_refused = true;
        }
        answered?;
        Ok(None)
    }
}
