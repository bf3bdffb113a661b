//! A client: requests, dispatched actions, and a mirror of what it follows.

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

/// Most updates that are put aside while a request waits for its answer.
const MAX_BUFFERED_UPDATES: usize = 100_000;

/// How a client introduces itself.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The name that it goes by.
    pub client_id: ClientId,
    /// What it is.
    pub info: Implementation,
    /// Channels that it follows from the start.
    pub subscriptions: Vec<Uri>,
    /// How long it tries to come back when the connection is lost.
    pub reconnect_timeout: Duration,
}

/// Why a client can't go on.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The host said no.
    #[error("the host says: {}", .0.message)]
    Refused(RpcError),
    /// The host sent something that is no JSON.
    #[error("the host sent something unreadable: {0}")]
    Parse(#[from] ParseError),
    /// The host sent JSON that is no message.
    #[error("the host sent something unreadable: {0}")]
    Invalid(#[from] InvalidMessage),
    /// The host sent a message that is wrong.
    #[error("the host sent something unreadable: {0}")]
    Decode(#[from] DecodeError),
    /// A message could not be written.
    #[error("a message could not be written: {0}")]
    Encode(#[from] encode::EncodeError),
    /// The connection was lost, and is there again; what was asked may have
    /// happened or not.
    #[error("the connection was lost before the answer came")]
    Interrupted,
    /// We did too much that the host has not spoken of yet.
    #[error(transparent)]
    TooManyPending(#[from] TooManyPending),
    /// The host answers nothing and says a lot.
    #[error("the host does not answer")]
    NoAnswer,
}

/// Something that the host told.
#[derive(Debug, Clone)]
pub enum ClientUpdate {
    /// A channel changed; the mirror shows it already.
    Action(Box<ReceivedEnvelope>),
    /// The host refused an action of ours.
    Rejected {
        /// Which of ours.
        origin: Option<ActionOrigin>,
        /// Why.
        reason: String,
    },
    /// Something that is no state.
    Notification(Box<HostNotification>),
    /// The connection was lost. Whoever goes on asking comes back.
    Disconnected,
    /// It is there again; what was missed follows.
    Reconnected,
    /// The connection was lost and is there again, and not all that was missed
    /// could be told one by one.
    Resynced {
        /// Channels that start again from a snapshot: the mirror shows where they
        /// are now. A channel that is no longer in the mirror is gone. All others
        /// were told before.
        channels: Vec<Uri>,
        /// What we did and the host had not spoken of: it may have happened or
        /// not, and shows no more.
        unconfirmed: Vec<(Uri, PendingAction)>,
    },
}

/// A connection to a host.
pub struct Client {
    pub(crate) address: HostAddress,
    pub(crate) options: ClientOptions,
    pub(crate) transport: HostTransport,
    last_request_id: u64,
    last_client_seq: i64,
    pub(crate) mirror: BTreeMap<Uri, MirroredChannel>,
    /// The last sequence number on any channel.
    pub(crate) last_seen_seq: ServerSeq,
    /// How to come back.
    pub(crate) reconnect_form: ReconnectForm,
    /// What came while something else was waited for.
    pub(crate) buffered: VecDeque<ClientUpdate>,
    /// While the connection is lost.
    pub(crate) outage: Option<Outage>,
    /// What the host may read here.
    pub(crate) resources: Box<dyn ResourceProvider>,
    /// What is due to the host before anything else is heard of it.
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
    /// Connects and introduces itself.
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

    /// Asks something and waits for the answer. What else comes meanwhile is
    /// put aside for [`Client::next_update`].
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

    /// Follows a channel from now on. Returns how it is; nothing if it has no
    /// state.
    pub async fn subscribe(&mut self, channel: &Uri) -> Result<Option<Snapshot>, ClientError> {
        let subscribe = SubscribeParams {
            channel: channel.clone(),
            delivery: None,
            view: None,
            meta: None,
        };
        let result = match self.request(subscribe.clone()).await {
            // Doing it again does no harm.
            Err(ClientError::Interrupted) => self.request(subscribe).await?,
            other => other?,
        };
        if let Some(snapshot) = &result.snapshot {
            self.install_snapshot(snapshot.clone());
        }
        Ok(result.snapshot)
    }

    /// Stops following a channel. While the connection is lost, the host is not
    /// told: the channel is left out when the client comes back.
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

    /// Wants something to happen. In a channel that is followed it shows at
    /// once; whether it did happen, an update tells. While the connection is
    /// lost it waits, and nobody for it.
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
        // What is followed is sent when the host is back.
        if is_followed && self.outage.is_some() {
            return Ok(client_seq);
        }
        self.ensure_connected().await?;
        match self.send_dispatch(channel, client_seq, action).await {
            Err(ClientError::Transport(lost)) => {
                self.begin_outage(lost);
                // For what is not followed, nobody knows.
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

    /// The next thing that the host tells. Comes back by itself when the
    /// connection is lost. If waiting is given up, nothing is lost.
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

    /// Whether the connection is lost at the moment.
    pub fn is_disconnected(&self) -> bool {
        self.outage.is_some()
    }

    /// Takes note of a message that is not the answer that is waited for.
    fn handle_message(
        &mut self,
        message: Message<'_>,
    ) -> Result<Option<ClientUpdate>, ClientError> {
        let call = match message {
            // To a request that was given up.
            Message::Response(_) => return Ok(None),
            Message::Request(id, call) => {
                self.pending_response = Some(self.resources.answer(&id, &call)?);
                return Ok(None);
            }
            Message::Notification(call) => call,
        };
        let notification = match HostNotification::decode(&call) {
            Ok(notification) => notification,
            // A newer host may tell things that we don't know (FWD-1).
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
    /// The code that the host said no with, if it did.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            ClientError::Refused(error) => Some(error.code),
            _ => None,
        }
    }
}
