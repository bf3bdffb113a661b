//! The client without I/O: messages in, messages out, and a mirror of the subscribed channels.
//!
//! The owner of an engine opens a transport, calls [`ClientEngine::open`], sends the messages of
//! [`ClientEngine::take_message`], and passes every received message to
//! [`ClientEngine::receive`]. It reads results from [`ClientEngine::take_update`] and
//! [`ClientEngine::take_response`]. When the transport fails it calls [`ClientEngine::close`],
//! and `open` again as soon as there is a new one: the engine then resumes its subscriptions.

mod handshake;
mod mirror;
mod recovery;
mod response;
mod saved_state;

use std::collections::VecDeque;
use std::sync::Arc;

use agenthost_protocol::action::{Action, ActionOrigin, ReceivedEnvelope};
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::common::Meta;
use agenthost_protocol::connection::{
    ClientCapabilities, Implementation, SubscribeParams, UnsubscribeParams,
};
use agenthost_protocol::ids::{ClientId, ClientSeq};
use agenthost_protocol::rpc::{CallError, Command, HostNotification, Message, RequestId, encode};
use agenthost_protocol::sorted::SortedMap;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Document, Limits};
use serde::Serialize;

use crate::error::{EngineError, check_size};
use crate::optimistic::{OptimisticState, PendingAction};
use crate::resources::{NoResources, ResourceProvider};
use mirror::ChannelMirror;
use recovery::ReconnectForm;
pub use response::ClientResponse;
use saved_state::encode_dispatch;
pub use saved_state::{DispatchedAction, SavedEngine};

/// Identity and initial subscriptions of a [`ClientEngine`].
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// The id that the client is identified by, also when it reconnects.
    pub client_id: ClientId,
    /// Name and version of the client program, sent to the host in the handshake.
    pub info: Implementation,
    /// Channels that the client subscribes to in the handshake.
    pub subscriptions: Vec<Uri>,
    /// Optional features that the client supports.
    pub capabilities: Option<ClientCapabilities>,
}

/// The phase of the connection of a [`ClientEngine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnginePhase {
    /// There is no transport.
    Closed,
    /// The handshake, or the request to resume, waits for its response.
    Opening,
    /// The host does not accept the form of the request to resume. The owner closes the
    /// transport and opens a new one, and the engine tries the other form.
    Reopen,
    /// The mirror is complete and follows the host.
    Live,
}

/// An event that changes what a client shows.
#[derive(Debug, Clone)]
pub enum ClientUpdate {
    /// The host published an action. The mirror contains its effect already.
    Action(Box<ReceivedEnvelope>),
    /// The host rejected an action of this client.
    Rejected {
        /// The client and sequence number of the rejected action.
        origin: Option<ActionOrigin>,
        /// The reason that the host gave.
        reason: String,
    },
    /// The host sent a notification that changes no channel state.
    Notification(Box<HostNotification>),
    /// The connection was lost. The client reconnects.
    Disconnected,
    /// The connection is open again. The missed actions follow as further updates.
    Reconnected,
    /// The connection was lost and is open again, and the host could not replay every
    /// missed action.
    Resynced {
        /// Channels that restart from a snapshot; the mirror contains their current state.
        /// A channel that is no longer in the mirror was removed. The missed actions of all
        /// other channels were returned as updates before this one.
        channels: Vec<Uri>,
        /// Actions of this client that the host had not confirmed. The host may or may not
        /// have applied them, and the optimistic state no longer contains them.
        unconfirmed: Vec<(Uri, PendingAction)>,
    },
}

/// A request that waits for its response, and who gets it.
#[derive(Debug, Clone, PartialEq)]
enum PendingRequest {
    Initialize,
    Reconnect,
    Subscribe(SubscribeParams),
    /// A request of the owner of the engine.
    Owner,
}

/// The description of a host in the handshake.
#[derive(Debug, Clone, PartialEq)]
pub struct HostInfo {
    /// Name and version of the program.
    pub program: Option<Implementation>,
    /// Directory at which clients start to browse files.
    pub default_directory: Option<Uri>,
    /// Extension data (`_meta`) of the handshake.
    pub meta: Option<Meta>,
}

/// A client of a host, without a transport.
pub struct ClientEngine {
    options: EngineOptions,
    phase: EnginePhase,
    /// `true` after the first handshake.
    is_initialized: bool,
    host: Option<HostInfo>,
    reconnect_form: ReconnectForm,
    last_request_id: u64,
    last_client_seq: i64,
    mirror: ChannelMirror,
    requests: SortedMap<u64, PendingRequest>,
    outgoing: VecDeque<String>,
    updates: VecDeque<ClientUpdate>,
    responses: VecDeque<ClientResponse>,
    resources: Box<dyn ResourceProvider>,
}

impl std::fmt::Debug for ClientEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientEngine")
            .field("client_id", &self.options.client_id)
            .field("phase", &self.phase)
            .field("mirror", &self.mirror)
            .finish_non_exhaustive()
    }
}

impl ClientEngine {
    /// Creates an engine that has never been connected.
    pub fn new(options: EngineOptions) -> Self {
        ClientEngine {
            options,
            phase: EnginePhase::Closed,
            is_initialized: false,
            host: None,
            reconnect_form: ReconnectForm::Connection,
            last_request_id: 0,
            last_client_seq: 0,
            mirror: ChannelMirror::default(),
            requests: SortedMap::new(),
            outgoing: VecDeque::new(),
            updates: VecDeque::new(),
            responses: VecDeque::new(),
            resources: Box::new(NoResources),
        }
    }

    /// Returns the phase of the connection.
    pub fn phase(&self) -> EnginePhase {
        self.phase
    }

    /// Returns the description that the host gave in the last full handshake.
    pub fn host_info(&self) -> Option<&HostInfo> {
        self.host.as_ref()
    }

    /// Sets the provider of resources, replacing the previous one.
    pub fn serve_resources(&mut self, resources: impl ResourceProvider + 'static) {
        self.resources = Box::new(resources);
    }

    /// Starts the handshake on a new transport, or resumes the subscriptions of the last one.
    ///
    /// # Errors
    ///
    /// Returns [`EngineError::Encode`] if the request cannot be encoded.
    pub fn open(&mut self) -> Result<(), EngineError> {
        self.reset_transport();
        self.phase = EnginePhase::Opening;
        if self.is_initialized {
            let request = self.reconnect_request();
            self.push_request(&request, PendingRequest::Reconnect)?;
        } else {
            let subscriptions = self.options.subscriptions.clone();
            self.push_initialize(subscriptions)?;
        }
        Ok(())
    }

    /// Records that the transport is gone. Requests without a response are reported as
    /// interrupted; unconfirmed actions are kept for the next transport.
    pub fn close(&mut self) {
        if self.phase == EnginePhase::Live {
            self.updates.push_back(ClientUpdate::Disconnected);
        }
        self.phase = EnginePhase::Closed;
        self.reset_transport();
    }

    /// Drops messages and requests that belong to a transport that is gone.
    fn reset_transport(&mut self) {
        self.outgoing.clear();
        for (id, request) in std::mem::take(&mut self.requests) {
            match request {
                PendingRequest::Owner => self.responses.push_back(ClientResponse {
                    id: RequestId::from(id),
                    text: None,
                }),
                // Subscribing is idempotent, so it is safe to try again.
                PendingRequest::Subscribe(params) => self.mirror.want(params),
                PendingRequest::Initialize | PendingRequest::Reconnect => {}
            }
        }
    }

    /// Sends a request. Its response is returned by [`Self::take_response`].
    ///
    /// # Errors
    ///
    /// Returns [`EngineError::Encode`] if the request cannot be encoded.
    pub fn request<C: Command>(&mut self, command: &C) -> Result<RequestId, EngineError> {
        self.push_request(command, PendingRequest::Owner)
    }

    /// Sends a request that is no command of the protocol, such as one for an MCP server. Its
    /// response is returned by [`Self::take_response`].
    ///
    /// # Errors
    ///
    /// Returns [`EngineError::Encode`] if the request cannot be encoded.
    pub fn request_method(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<RequestId, EngineError> {
        self.push_call(method, params, PendingRequest::Owner)
    }

    /// Subscribes to a channel. Its state is in the mirror once the host has answered.
    ///
    /// # Errors
    ///
    /// Returns [`EngineError::Encode`] if the request cannot be encoded.
    pub fn subscribe(&mut self, params: SubscribeParams) -> Result<(), EngineError> {
        if self.phase != EnginePhase::Live {
            self.mirror.want(params);
            return Ok(());
        }
        self.push_request(&params.clone(), PendingRequest::Subscribe(params))?;
        Ok(())
    }

    /// Ends the subscription of a channel. While the connection is lost, the engine only
    /// leaves the channel out of its subscriptions when it resumes.
    ///
    /// # Errors
    ///
    /// Returns [`EngineError::Encode`] if the notification cannot be encoded.
    pub fn unsubscribe(&mut self, channel: &Uri) -> Result<(), EngineError> {
        self.mirror.remove(channel);
        if self.phase == EnginePhase::Live {
            let channel = channel.clone();
            let text = encode::notification("unsubscribe", &UnsubscribeParams { channel })?;
            self.outgoing.push_back(text);
        }
        Ok(())
    }

    /// Dispatches an action. If the client is subscribed to the channel, its optimistic
    /// state contains the action at once, and the action is kept until the host has confirmed
    /// or rejected it. An action on another channel is lost if there is no connection.
    ///
    /// # Errors
    ///
    /// Returns [`EngineError::TooManyPending`] if the limit of unconfirmed actions is reached,
    /// [`EngineError::TooLarge`] if hosts do not accept the size of the action, and
    /// [`EngineError::Encode`] if it cannot be encoded.
    pub fn dispatch(&mut self, channel: &Uri, action: Action) -> Result<ClientSeq, EngineError> {
        let client_seq = ClientSeq(self.last_client_seq + 1);
        let action = Arc::new(action);
        // Encoded also without a connection: an action that is too large must not be kept, because
        // it would end each connection.
        let text = encode_dispatch(channel, client_seq, action.clone())?;
        self.mirror.dispatch(channel, client_seq, &action)?;
        self.last_client_seq = client_seq.0;
        if self.phase == EnginePhase::Live {
            self.outgoing.push_back(text);
        }
        Ok(client_seq)
    }

    /// Returns the next message to send.
    pub fn take_message(&mut self) -> Option<String> {
        self.outgoing.pop_front()
    }

    /// Returns `true` if there are messages to send.
    pub fn has_messages(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Returns the next update.
    pub fn take_update(&mut self) -> Option<ClientUpdate> {
        self.updates.pop_front()
    }

    /// Returns the number of updates that [`Self::take_update`] has not returned yet.
    pub fn update_count(&self) -> usize {
        self.updates.len()
    }

    /// Returns the next response to a request of the owner.
    pub fn take_response(&mut self) -> Option<ClientResponse> {
        self.responses.pop_front()
    }

    /// Handles a message of the host.
    ///
    /// # Errors
    ///
    /// Returns [`EngineError`] if the message is broken, or if the host refuses the handshake.
    /// The owner should close the transport.
    pub fn receive(&mut self, text: String) -> Result<(), EngineError> {
        let document = Document::parse(&text, Limits::STATE)?;
        match Message::decode(&document)? {
            Message::Response(response) => {
                let number = self.request_number(&response.id);
                match number.and_then(|number| self.requests.remove(&number)) {
                    // The response to a request of an earlier transport.
                    None => Ok(()),
                    Some(PendingRequest::Owner) => {
                        let id = response.id;
                        let text = Some(text);
                        self.responses.push_back(ClientResponse { id, text });
                        Ok(())
                    }
                    Some(PendingRequest::Initialize) => self.finish_initialize(response.outcome),
                    Some(PendingRequest::Reconnect) => self.finish_reconnect(response.outcome),
                    Some(PendingRequest::Subscribe(params)) => {
                        self.finish_subscribe(params.channel, response.outcome)
                    }
                }
            }
            Message::Request(id, call) => {
                let answer = self.resources.answer(&id, &call)?;
                self.outgoing.push_back(answer);
                Ok(())
            }
            Message::Notification(call) => match HostNotification::decode(&call) {
                Ok(HostNotification::Action(envelope)) => {
                    let update = self.mirror.apply(envelope, &self.options.client_id);
                    self.updates.push_back(update);
                    Ok(())
                }
                Ok(other) => {
                    let update = ClientUpdate::Notification(Box::new(other));
                    self.updates.push_back(update);
                    Ok(())
                }
                // A newer host may send notifications that this client does not know (FWD-1).
                Err(CallError::UnknownMethod(_)) => Ok(()),
                Err(CallError::InvalidParams(error)) => Err(error.into()),
            },
        }
    }

    /// Puts the snapshot of a channel into the mirror, as after a subscription.
    pub fn install_snapshot(&mut self, snapshot: Snapshot) {
        self.mirror.install(snapshot);
    }

    /// Returns the optimistic state of a subscribed channel: the confirmed state with the
    /// pending actions of this client applied.
    pub fn state(&self, channel: &Uri) -> Option<&ChannelState> {
        self.mirror.get(channel).map(OptimisticState::optimistic)
    }

    /// Returns the confirmed state of a subscribed channel, without pending actions of this
    /// client.
    pub fn confirmed_state(&self, channel: &Uri) -> Option<&ChannelState> {
        self.mirror.get(channel).map(OptimisticState::confirmed)
    }

    /// Returns the actions of this client on a channel that the host has neither confirmed nor
    /// rejected, in the order of their dispatch.
    pub fn pending_actions(&self, channel: &Uri) -> impl Iterator<Item = &PendingAction> {
        let optimistic = self.mirror.get(channel).into_iter();
        optimistic.flat_map(OptimisticState::pending)
    }

    /// Returns the number of dispatched actions that the host has neither confirmed nor
    /// rejected.
    pub fn unconfirmed_count(&self) -> usize {
        self.mirror.unconfirmed_count()
    }

    /// Returns the subscribed channels.
    pub fn channels(&self) -> impl Iterator<Item = &Uri> {
        self.mirror.channels()
    }

    fn request_number(&self, id: &RequestId) -> Option<u64> {
        let mut numbers = self.requests.keys().copied();
        numbers.find(|number| RequestId::from(*number) == *id)
    }

    fn push_request<C: Command>(
        &mut self,
        command: &C,
        pending: PendingRequest,
    ) -> Result<RequestId, EngineError> {
        self.push_call(C::METHOD, command, pending)
    }

    fn push_call(
        &mut self,
        method: &str,
        params: &impl Serialize,
        pending: PendingRequest,
    ) -> Result<RequestId, EngineError> {
        let number = self.last_request_id + 1;
        let id = RequestId::from(number);
        let text = check_size(encode::request(&id, method, params)?)?;
        self.last_request_id = number;
        self.requests.insert(number, pending);
        self.outgoing.push_back(text);
        Ok(id)
    }
}
