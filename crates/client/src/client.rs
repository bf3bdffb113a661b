//! A client with a transport: sends requests, dispatches actions and reconnects.

use std::time::Duration;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::connection::{Implementation, SubscribeParams};
use agenthost_protocol::ids::{ClientId, ClientSeq};
use agenthost_protocol::rpc::{Command, ErrorCode, RequestId, RpcError};
use agenthost_protocol::uri::Uri;

use crate::engine::{ClientEngine, ClientUpdate, EngineOptions, EnginePhase, HostInfo};
use crate::error::EngineError;
use crate::reconnect::Outage;
use crate::resources::ResourceProvider;
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
    /// A message could not be decoded, encoded or accepted.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The host answered a request with an error.
    #[error("the host returned an error: {}", .0.message)]
    Refused(RpcError),
    /// The connection was lost before the response arrived, and is open again. The host may
    /// or may not have executed the request.
    #[error("the connection was lost before the response arrived")]
    Interrupted,
    /// The host sent more updates than the client buffers, and no response.
    #[error("the host sent no response")]
    NoAnswer,
}

/// A connection to a host that reconnects when it is lost.
#[derive(Debug)]
pub struct Client {
    pub(crate) address: HostAddress,
    pub(crate) reconnect_timeout: Duration,
    pub(crate) engine: ClientEngine,
    pub(crate) transport: HostTransport,
    /// Set while the connection is lost.
    pub(crate) outage: Option<Outage>,
}

impl Client {
    /// Connects to a host and completes the handshake.
    ///
    /// # Errors
    ///
    /// Returns [`ClientError`] if the host cannot be reached or refuses the handshake.
    pub async fn connect(
        address: &HostAddress,
        options: ClientOptions,
    ) -> Result<Self, ClientError> {
        let mut client = Client {
            address: address.clone(),
            reconnect_timeout: options.reconnect_timeout,
            transport: HostTransport::connect(address).await?,
            engine: ClientEngine::new(EngineOptions {
                client_id: options.client_id,
                info: options.info,
                subscriptions: options.subscriptions,
                capabilities: None,
            }),
            outage: None,
        };
        client.engine.open()?;
        client.exchange_until_live().await?;
        Ok(client)
    }

    /// Sets the address at which the client reconnects after it lost the connection.
    pub fn set_address(&mut self, address: HostAddress) {
        self.address = address;
    }

    /// Returns the description that the host gave in the last full handshake.
    pub fn host_info(&self) -> Option<&HostInfo> {
        self.engine.host_info()
    }

    /// Sets the provider of resources, replacing the previous one. Without a provider, the
    /// client serves no resources.
    pub fn serve_resources(&mut self, resources: impl ResourceProvider + 'static) {
        self.engine.serve_resources(resources);
    }

    /// Sends a request and waits for its response. Updates that arrive meanwhile are
    /// buffered for [`Client::next_update`].
    ///
    /// # Errors
    ///
    /// Returns [`ClientError::Refused`] if the host answers with an error, and
    /// [`ClientError::Interrupted`] if the connection was lost before the response arrived.
    pub async fn request<C: Command>(&mut self, command: C) -> Result<C::Result, ClientError> {
        self.ensure_connected().await?;
        let id = self.engine.request(&command)?;
        match self.wait_for_response::<C>(&id).await {
            Err(ClientError::Transport(lost)) => {
                self.begin_outage(lost);
                self.discard_responses();
                self.ensure_connected().await?;
                Err(ClientError::Interrupted)
            }
            answered => answered,
        }
    }

    async fn wait_for_response<C: Command>(
        &mut self,
        id: &RequestId,
    ) -> Result<C::Result, ClientError> {
        loop {
            self.exchange().await?;
            while let Some(response) = self.engine.take_response() {
                // Other responses are those of requests whose futures were dropped.
                if response.id == *id {
                    let outcome = response.decode::<C>()?;
                    let outcome = outcome.ok_or(ClientError::Interrupted)?;
                    return outcome.map_err(ClientError::Refused);
                }
            }
            if self.engine.update_count() >= MAX_BUFFERED_UPDATES {
                return Err(ClientError::NoAnswer);
            }
        }
    }

    /// Subscribes to a channel. Returns its snapshot, or `None` if the channel has no
    /// state.
    ///
    /// # Errors
    ///
    /// Returns [`ClientError::Refused`] if the host does not accept the subscription.
    pub async fn subscribe(&mut self, channel: &Uri) -> Result<Option<Snapshot>, ClientError> {
        let subscribe = SubscribeParams::of_channel(channel.clone());
        let result = match self.request(subscribe.clone()).await {
            // Subscribing is idempotent, so it is safe to retry.
            Err(ClientError::Interrupted) => self.request(subscribe).await?,
            other => other?,
        };
        if let Some(snapshot) = &result.snapshot {
            self.engine.install_snapshot(snapshot.clone());
        }
        Ok(result.snapshot)
    }

    /// Ends the subscription of a channel. While the connection is lost, the client sends
    /// nothing to the host: it leaves the channel out of its subscriptions when it
    /// reconnects.
    ///
    /// # Errors
    ///
    /// Returns [`ClientError::Engine`] if the message cannot be encoded.
    pub async fn unsubscribe(&mut self, channel: &Uri) -> Result<(), ClientError> {
        self.engine.unsubscribe(channel)?;
        self.send_or_begin_outage().await;
        Ok(())
    }

    /// Dispatches an action. If the client is subscribed to the channel, its optimistic
    /// state contains the action at once. A later update reports if the host accepted it.
    /// While the connection is lost, an action on a subscribed channel is queued and this
    /// method returns without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`ClientError::Engine`] if too many actions are unconfirmed, and
    /// [`ClientError::Transport`] if the channel is not subscribed and the host cannot be reached.
    pub async fn dispatch(
        &mut self,
        channel: &Uri,
        action: impl Into<Action>,
    ) -> Result<ClientSeq, ClientError> {
        let is_subscribed = self.engine.state(channel).is_some();
        // Without a subscription there is no pending action to send after reconnecting.
        if !is_subscribed {
            self.ensure_connected().await?;
        }
        let client_seq = self.engine.dispatch(channel, action.into())?;
        self.send_or_begin_outage().await;
        // The host may or may not have received an action on another channel.
        if !is_subscribed {
            self.ensure_connected().await?;
        }
        Ok(client_seq)
    }

    /// Waits for the next update. Reconnects if the connection is lost. This method is
    /// cancel safe: no update is lost if the future is dropped.
    ///
    /// # Errors
    ///
    /// Returns [`ClientError::Transport`] if the host cannot be reached until the reconnect
    /// timeout, and [`ClientError::Engine`] if the host sends a broken message.
    pub async fn next_update(&mut self) -> Result<ClientUpdate, ClientError> {
        loop {
            if let Some(update) = self.engine.take_update() {
                return Ok(update);
            }
            if self.outage.is_some() {
                self.ensure_connected().await?;
                continue;
            }
            match self.exchange().await {
                Err(ClientError::Transport(lost)) => self.begin_outage(lost),
                other => other?,
            }
            self.discard_responses();
        }
    }

    /// Returns `true` while the connection is lost.
    pub fn is_disconnected(&self) -> bool {
        self.outage.is_some()
    }

    /// Returns the number of dispatched actions that the host has neither confirmed nor
    /// rejected.
    pub fn unconfirmed_count(&self) -> usize {
        self.engine.unconfirmed_count()
    }

    /// Returns `true` if updates have been received that [`Client::next_update`] has not returned
    /// yet, for example while a request waited for its response.
    pub fn has_updates(&self) -> bool {
        self.engine.update_count() > 0
    }

    /// Returns the optimistic state of a subscribed channel: the confirmed state with the
    /// pending actions of this client applied.
    pub fn state(&self, channel: &Uri) -> Option<&ChannelState> {
        self.engine.state(channel)
    }

    /// Returns the confirmed state of a subscribed channel, without pending actions of this
    /// client.
    pub fn confirmed_state(&self, channel: &Uri) -> Option<&ChannelState> {
        self.engine.confirmed_state(channel)
    }

    /// Sends all messages of the engine, then receives one. This method is cancel safe.
    async fn exchange(&mut self) -> Result<(), ClientError> {
        self.send_messages().await?;
        let text = self.transport.next_message().await?;
        Ok(self.engine.receive(text)?)
    }

    pub(crate) async fn exchange_until_live(&mut self) -> Result<(), ClientError> {
        while self.engine.phase() == EnginePhase::Opening {
            self.exchange().await?;
        }
        Ok(())
    }

    /// Sends all messages of the engine. A message leaves the engine only when the transport
    /// accepts it, so none is lost or sent twice if the future is dropped.
    pub(crate) async fn send_messages(&mut self) -> Result<(), TransportError> {
        while self.engine.has_messages() {
            self.transport.ready().await?;
            if let Some(text) = self.engine.take_message() {
                self.transport.start_send(text)?;
            }
        }
        self.transport.flush().await
    }

    async fn send_or_begin_outage(&mut self) {
        if self.outage.is_none()
            && let Err(lost) = self.send_messages().await
        {
            self.begin_outage(lost);
        }
    }

    /// Drops the responses to requests whose futures were dropped.
    fn discard_responses(&mut self) {
        while self.engine.take_response().is_some() {}
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
