//! What a peer says, sorted.

use agenthost_protocol::action::ActionOrigin;
use agenthost_protocol::connection::ReconnectRequest;
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::rpc::{ClientNotification, ClientRequest, ErrorCode, RequestId, RpcError};

use crate::effect::{Answer, Effect, Effects};
use crate::env::Env;
use crate::files::FileRequest;
use crate::handshake::CatchUp;
use crate::host::Host;
use crate::input::{ConnectionId, Received, RefusedDispatch};
use crate::refusal::Failure;

impl Host {
    pub(crate) fn receive(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        message: Received,
        out: &mut Effects,
    ) {
        if !self.clients.connections.contains_key(&connection) {
            return;
        }
        match message {
            Received::Invalid(id, error) => out.fail(connection, &id, error),
            Received::Request(id, request) => {
                match self.answer(env, connection, &id, *request, out) {
                    Ok(Some(answer)) => out.answer(connection, &id, answer),
                    // It was answered in its place among the effects.
                    Ok(None) => {}
                    Err(error) => {
                        // Without a common version there is nothing to talk about
                        // (HSK-6).
                        let over = error.code == ErrorCode::UnsupportedProtocolVersion;
                        out.fail(connection, &id, error);
                        if over {
                            out.push(Effect::Close { connection });
                        }
                    }
                }
            }
            Received::TooMuchMissed(id, params) => {
                if let Err(error) =
                    self.reconnect(env, connection, &id, *params, CatchUp::Snapshots, out)
                {
                    out.fail(connection, &id, error);
                }
            }
            Received::ToServer(id, message) => self.message_server(connection, id, *message, out),
            Received::Response(id, answer) => self.hear_answer(connection, id, *answer, out),
            Received::Refused(refused) => {
                if let Some(client_id) = self.clients.client_of(connection).cloned() {
                    let RefusedDispatch {
                        channel,
                        client_seq,
                        action,
                        reason,
                    } = *refused;
                    let origin = ActionOrigin {
                        client_id,
                        client_seq,
                    };
                    self.reject(connection, channel, action, origin, reason, out);
                }
            }
            // Before the handshake nobody knows who is speaking (HSK-2).
            Received::Notification(_) if self.clients.client_of(connection).is_none() => {}
            Received::Notification(notification) => match *notification {
                ClientNotification::Unsubscribe(params) => {
                    self.unsubscribe(env, connection, &params.channel, out);
                }
                ClientNotification::DispatchAction(params) => {
                    self.dispatch(env, connection, params, out);
                }
            },
        }
    }

    /// Sends somebody for an answer.
    fn errand(
        &self,
        connection: ConnectionId,
        id: &RequestId,
        request: FileRequest,
        out: &mut Effects,
    ) -> Result<Option<Answer>, RpcError> {
        self.use_files(connection, id, request, out);
        Ok(None)
    }

    /// Carries a request out; `None` if the answer is among the effects
    /// already.
    fn answer(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        id: &RequestId,
        request: ClientRequest,
        out: &mut Effects,
    ) -> Result<Option<Answer>, RpcError> {
        match request {
            ClientRequest::Ping(_) => return Ok(Some(Answer::Null)),
            ClientRequest::Initialize(params) => {
                // Whoever follows more than the host already was here before.
                let followed = params.initial_subscriptions.as_ref().map_or(0, Vec::len);
                let answer = self.initialize(connection, params, out)?;
                out.answer(connection, id, answer);
                if followed > 1 {
                    self.tell_list_changes(connection, ServerSeq(0), out);
                }
                return Ok(None);
            }
            ClientRequest::Reconnect(request) => {
                match request {
                    ReconnectRequest::Connection(params) => {
                        self.reconnect(env, connection, id, params, CatchUp::Replay, out)?;
                    }
                    ReconnectRequest::Channels(params) => {
                        self.recover(env, connection, id, &params, out)?;
                    }
                }
                return Ok(None);
            }
            _ if self.clients.client_of(connection).is_none() => {
                return Err(Failure::NotInitialized.into());
            }
            ClientRequest::Subscribe(params) => self.subscribe(connection, &params, out),
            ClientRequest::ListSessions(params) => self.list_sessions(connection, &params),
            ClientRequest::CreateSession(params) => {
                self.create_session(env, connection, id, params, out)?;
                return Ok(None);
            }
            ClientRequest::DisposeSession(params) => {
                self.dispose_for(connection, &params.channel, out)?;
                Ok(Answer::Null)
            }
            ClientRequest::CreateChat(params) => {
                self.create_chat(env, connection, id, params, out)?;
                return Ok(None);
            }
            ClientRequest::DisposeChat(params) => {
                self.dispose_chat(env, &params.channel, out)?;
                Ok(Answer::Null)
            }
            ClientRequest::FetchTurns(params) => self.fetch_turns(connection, &params, out),
            ClientRequest::ResolveSessionConfig(params) => self.resolve_config(&params),
            ClientRequest::SessionConfigCompletions(params) => self.config_completions(&params),
            ClientRequest::Completions(params) => {
                return Ok(self.completions(connection, id, &params, out)?);
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
                return self.errand(connection, id, FileRequest::Read(params), out);
            }
            ClientRequest::ResourceWrite(params) => {
                return self.errand(connection, id, FileRequest::Write(Box::new(params)), out);
            }
            ClientRequest::ResourceList(params) => {
                return self.errand(connection, id, FileRequest::List(params), out);
            }
            ClientRequest::ResourceCopy(params) => {
                return self.errand(connection, id, FileRequest::Copy(params), out);
            }
            ClientRequest::ResourceDelete(params) => {
                return self.errand(connection, id, FileRequest::Delete(params), out);
            }
            ClientRequest::ResourceMove(params) => {
                return self.errand(connection, id, FileRequest::Move(params), out);
            }
            ClientRequest::ResourceResolve(params) => {
                return self.errand(connection, id, FileRequest::Resolve(params), out);
            }
            ClientRequest::ResourceMkdir(params) => {
                return self.errand(connection, id, FileRequest::MakeDirectory(params), out);
            }
            ClientRequest::Authenticate(params) => self.authenticate(env, connection, params, out),
            ClientRequest::MoveChat(params) => self.move_chat(env, params, out),
            other => Err(Failure::Unsupported(other.method())),
        }
        .map(Some)
        .map_err(RpcError::from)
    }
}
