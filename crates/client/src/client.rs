//! The client: sends requests, dispatches actions and mirrors the channels it subscribes
//! to.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use agenthost_protocol::action::{Action, ActionOrigin, ReceivedAction, ReceivedEnvelope};
use agenthost_protocol::channel::Snapshot;
use agenthost_protocol::connection::{
    CHANNEL_CURSORS_VERSION, DispatchActionParams, Implementation, InitializeParams,
    SubscribeParams, UnsubscribeParams,
};
use agenthost_protocol::ids::{ClientId, ClientSeq, ServerSeq};
use agenthost_protocol::rpc::{
    CallError, Command, ErrorCode, HostNotification, InvalidMessage, Message, RequestId, RpcError,
    encode,
};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::version::Version;
use agenthost_protocol::wire::{DecodeError, Document, Limits, ParseError, Wire};

use crate::mirror::MirroredChannel;
use crate::optimistic::{PendingAction, TooManyPending};
use crate::reconnect::{Outage, ReconnectForm};
use crate::resources::{NoResources, ResourceProvider};
use crate::transport::{HostAddress, HostTransport, TransportError};

/// Maximum number of updates that are buffered while a request waits for its response. A
/// host that sends this many updates without a response is broken or malicious; the limit
/// bounds the memory it can use.
const MAX_BUFFERED_UPDATES: usize = 100_000;

/// Identity, initial subscriptions and reconnect timeout of a [`Client`].
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The id that the client is identified by, also when it reconnects.
    pub client_id: ClientId,
    /// Name and version of the client program, sent to the host in the handshake.
    pub info: Implementation,
    /// Channels that the client subscribes to in the handshake.
    pub subscriptions: Vec<Uri>,
    /// Time that the client tries to reconnect after it lost the connection.
    pub reconnect_timeout: Duration,
}

/// Errors that end an operation of a [`Client`].
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection could not be opened or failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The host answered a request with an error.
    #[error("the host returned an error: {}", .0.message)]
    Refused(RpcError),
    /// The host sent text that is not JSON.
    #[error("the host sent invalid JSON: {0}")]
    Parse(#[from] ParseError),
    /// The host sent JSON that is not a JSON-RPC message.
    #[error("the host sent an invalid message: {0}")]
    Invalid(#[from] InvalidMessage),
    /// The host sent a message whose parameters or result have the wrong type.
    #[error("the host sent a message that cannot be decoded: {0}")]
    Decode(#[from] DecodeError),
    /// An outgoing message could not be encoded.
    #[error("encode a message: {0}")]
    Encode(#[from] encode::EncodeError),
    /// The connection was lost before the response arrived, and is open again. The host may
    /// or may not have executed the request.
    #[error("the connection was lost before the response arrived")]
    Interrupted,
    /// The limit of unconfirmed actions of a channel is reached.
    #[error(transparent)]
    TooManyPending(#[from] TooManyPending),
    /// The host sent more updates than the client buffers, and no response.
    #[error("the host sent no response")]
    NoAnswer,
}

/// An event that [`Client::next_update`] returns.
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
    /// The connection was lost. The next call of [`Client::next_update`] reconnects.
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

/// A connection to a host that reconnects when it is lost.
pub struct Client {
    pub(crate) address: HostAddress,
    pub(crate) options: ClientOptions,
    pub(crate) transport: HostTransport,
    last_request_id: u64,
    last_client_seq: i64,
    pub(crate) mirror: BTreeMap<Uri, MirroredChannel>,
    /// The highest sequence number that was received on any channel.
    pub(crate) last_seen_seq: ServerSeq,
    /// The form of `reconnect` request that this host accepts.
    pub(crate) reconnect_form: ReconnectForm,
    /// Updates that arrived while a request waited for its response.
    pub(crate) buffered: VecDeque<ClientUpdate>,
    /// Set while the connection is lost.
    pub(crate) outage: Option<Outage>,
    /// Serves the requests of the host for resources of this client.
    pub(crate) resources: Box<dyn ResourceProvider>,
    /// The response to a host request. It is sent before the next message is received.
    pub(crate) pending_response: Option<String>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("client_id", &self.options.client_id)
            .field("channels", &self.mirror.keys())
            .field("seen", &self.last_seen_seq)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Connects to a host and completes the handshake.
    pub async fn connect(
        address: &HostAddress,
        options: ClientOptions,
    ) -> Result<Self, ClientError> {
        let mut client = Client {
            address: address.clone(),
            transport: HostTransport::connect(address).await?,
            options,
            last_request_id: 0,
            last_client_seq: 0,
            mirror: BTreeMap::new(),
            last_seen_seq: ServerSeq(0),
            reconnect_form: ReconnectForm::Connection,
            buffered: VecDeque::new(),
            outage: None,
            resources: Box::new(NoResources),
            pending_response: None,
        };
        let subscriptions = client.options.subscriptions.clone();
        client.initialize(subscriptions).await?;
        Ok(client)
    }

    pub(crate) async fn initialize(&mut self, subscriptions: Vec<Uri>) -> Result<(), ClientError> {
        let initialize = InitializeParams {
            channel: RootChannel,
            protocol_versions: vec![
                CHANNEL_CURSORS_VERSION.to_string(),
                Version::CURRENT.to_string(),
            ],
            client_id: self.options.client_id.clone(),
            client_info: Some(self.options.info.clone()),
            initial_subscriptions: Some(subscriptions),
            locale: None,
            capabilities: None,
            meta: None,
        };
        let result = self.send_request(initialize).await?;
        self.last_seen_seq = result.server_seq;
        self.reconnect_form = ReconnectForm::for_version(&result.protocol_version);
        for snapshot in result.snapshots {
            self.install_snapshot(snapshot);
        }
        Ok(())
    }

    /// Sends a request and waits for its response. Updates that arrive meanwhile are
    /// buffered for [`Client::next_update`].
    pub async fn request<C: Command>(&mut self, command: C) -> Result<C::Result, ClientError> {
        self.ensure_connected().await?;
        match self.send_request(command).await {
            Err(ClientError::Transport(lost)) => {
                self.begin_outage(lost);
                self.ensure_connected().await?;
                Err(ClientError::Interrupted)
            }
            answered => answered,
        }
    }

    pub(crate) async fn send_request<C: Command>(
        &mut self,
        command: C,
    ) -> Result<C::Result, ClientError> {
        self.last_request_id += 1;
        let id = RequestId::from(self.last_request_id);
        let text = encode::request(&id, C::METHOD, &command)?;
        self.transport.send(text).await?;
        loop {
            let text = self.receive_message().await?;
            let document = Document::parse(&text, Limits::STATE)?;
            match Message::decode(&document)? {
                Message::Response(response) if response.id == id => {
                    let node = response.outcome.map_err(ClientError::Refused)?;
                    return Ok(C::Result::decode(node)?);
                }
                message => {
                    if let Some(update) = self.handle_message(message)? {
                        if self.buffered.len() == MAX_BUFFERED_UPDATES {
                            return Err(ClientError::NoAnswer);
                        }
                        self.buffered.push_back(update);
                    }
                }
            }
        }
    }

    /// Subscribes to a channel. Returns its snapshot, or `None` if the channel has no
    /// state.
    pub async fn subscribe(&mut self, channel: &Uri) -> Result<Option<Snapshot>, ClientError> {
        let subscribe = SubscribeParams {
            channel: channel.clone(),
            delivery: None,
            view: None,
            meta: None,
        };
        let result = match self.request(subscribe.clone()).await {
            // Subscribing is idempotent, so it is safe to retry.
            Err(ClientError::Interrupted) => self.request(subscribe).await?,
            other => other?,
        };
        if let Some(snapshot) = &result.snapshot {
            self.install_snapshot(snapshot.clone());
        }
        Ok(result.snapshot)
    }

    /// Ends the subscription of a channel. While the connection is lost, the client sends
    /// nothing to the host: it leaves the channel out of its subscriptions when it
    /// reconnects.
    pub async fn unsubscribe(&mut self, channel: &Uri) -> Result<(), ClientError> {
        self.mirror.remove(channel);
        if self.outage.is_some() {
            return Ok(());
        }
        let params = UnsubscribeParams {
            channel: channel.clone(),
        };
        let text = encode::notification("unsubscribe", &params)?;
        if let Err(lost) = self.transport.send(text).await {
            self.begin_outage(lost);
        }
        Ok(())
    }

    /// Dispatches an action. If the client is subscribed to the channel, its optimistic
    /// state contains the action at once. A later update reports if the host accepted it.
    /// While the connection is lost, an action on a subscribed channel is queued and this
    /// method returns without waiting.
    pub async fn dispatch(
        &mut self,
        channel: &Uri,
        action: impl Into<Action>,
    ) -> Result<ClientSeq, ClientError> {
        self.last_client_seq += 1;
        let client_seq = ClientSeq(self.last_client_seq);
        let action = action.into();
        let followed = self.mirror.get_mut(channel);
        let is_followed = followed.is_some();
        if let Some(followed) = followed {
            followed.optimistic.dispatch(client_seq, action.clone())?;
        }
        // Pending actions of subscribed channels are sent after reconnecting.
        if is_followed && self.outage.is_some() {
            return Ok(client_seq);
        }
        self.ensure_connected().await?;
        match self.send_dispatch(channel, client_seq, action).await {
            Err(ClientError::Transport(lost)) => {
                self.begin_outage(lost);
                // Without a subscription there is no pending action to send again: the host
                // may or may not have received this one.
                if !is_followed {
                    self.ensure_connected().await?;
                }
            }
            sent => sent?,
        }
        Ok(client_seq)
    }

    pub(crate) async fn send_dispatch(
        &mut self,
        channel: &Uri,
        client_seq: ClientSeq,
        action: Action,
    ) -> Result<(), ClientError> {
        let params = DispatchActionParams {
            channel: channel.clone(),
            client_seq,
            action: ReceivedAction::Valid(action),
        };
        let text = encode::notification("dispatchAction", &params)?;
        Ok(self.transport.send(text).await?)
    }

    /// Waits for the next update. Reconnects if the connection is lost. This method is
    /// cancel safe: no update is lost if the future is dropped.
    pub async fn next_update(&mut self) -> Result<ClientUpdate, ClientError> {
        loop {
            if let Some(update) = self.buffered.pop_front() {
                return Ok(update);
            }
            if let Some(outage) = &mut self.outage {
                if !std::mem::replace(&mut outage.is_reported, true) {
                    return Ok(ClientUpdate::Disconnected);
                }
                self.ensure_connected().await?;
                continue;
            }
            let text = match self.receive_message().await {
                Ok(text) => text,
                Err(lost) => {
                    self.begin_outage(lost);
                    continue;
                }
            };
            let document = Document::parse(&text, Limits::STATE)?;
            let message = Message::decode(&document)?;
            if let Some(update) = self.handle_message(message)? {
                return Ok(update);
            }
        }
    }

    /// Returns `true` while the connection is lost.
    pub fn is_disconnected(&self) -> bool {
        self.outage.is_some()
    }

    /// Handles a message that is not the response to the current request. Returns the
    /// update to report, if any.
    fn handle_message(
        &mut self,
        message: Message<'_>,
    ) -> Result<Option<ClientUpdate>, ClientError> {
        let call = match message {
            // The response to a request that was cancelled.
            Message::Response(_) => return Ok(None),
            Message::Request(id, call) => {
                self.pending_response = Some(self.resources.answer(&id, &call)?);
                return Ok(None);
            }
            Message::Notification(call) => call,
        };
        let notification = match HostNotification::decode(&call) {
            Ok(notification) => notification,
            // A newer host may send notifications that this client does not know (FWD-1).
            Err(CallError::UnknownMethod(_)) => return Ok(None),
            Err(CallError::InvalidParams(error)) => return Err(error.into()),
        };
        match notification {
            HostNotification::Action(envelope) => Ok(Some(self.apply_envelope(envelope))),
            other => Ok(Some(ClientUpdate::Notification(Box::new(other)))),
        }
    }
}

impl From<RpcError> for ClientError {
    fn from(error: RpcError) -> Self {
        ClientError::Refused(error)
    }
}

impl ClientError {
    /// Returns the error code of the response if the host answered with an error.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            ClientError::Refused(error) => Some(error.code),
            _ => None,
        }
    }
}
