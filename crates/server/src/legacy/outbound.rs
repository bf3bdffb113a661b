//! Downgrades messages of the host for legacy clients.

use std::rc::Rc;

use agenthost_core::{ClientMessage, ConnectionId, Effect, Host, Input, ResponseBody};
use agenthost_protocol::action::{ActionEnvelope, Rejection};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::connection::DispatchActionParams;
use agenthost_protocol::rpc::encode;
use agenthost_protocol::rpc::encode::EncodeError;
use agenthost_protocol::rpc::{
    ClientNotification, HostNotification, HostRequest, RequestId, RpcError,
};
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Object};
use agenthost_versions::{
    JsonCall, JsonDispatch, JsonEnvelope, TranslationContext, TranslationError,
};
use axum::extract::ws::Utf8Bytes;
use serde::Serialize;

use super::aliases::AddressMapping;
use super::cache::{DowngradeCache, LegacyMessage, LegacyMessages};
use super::inbound::SYNTHETIC_REQUEST_ID;
use super::live_state::LiveState;
use super::{LegacyClient, LegacyClients, LegacyResponse};

/// An error that keeps a message from being downgraded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DowngradeError {
    #[error(transparent)]
    Translation(#[from] TranslationError),
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// An action, with the channel states before and after it.
pub(crate) struct ActionContext<'a> {
    pub(crate) envelope: &'a ActionEnvelope,
    pub(crate) before: Option<&'a ChannelState>,
    pub(crate) state_view: &'a StateView,
    /// The notification in the current version, for deltas of a stream, which releases with
    /// chats encode the same.
    pub(crate) current_text: Option<&'a Utf8Bytes>,
}

impl LegacyClients {
    /// Captures the channel states for responses that will be downgraded later.
    pub(crate) fn capture_views(&mut self, host: &Host, effects: &[Effect]) {
        if self.clients.is_empty() {
            return;
        }
        self.refresh_aliases(host);
        for effect in effects {
            let Effect::Respond {
                connection,
                id,
                result: Ok(answer),
            } = effect
            else {
                continue;
            };
            let Some(peer) = self.clients.get_mut(connection) else {
                continue;
            };
            let channels: Vec<_> = match answer {
                ResponseBody::Initialize(result) => snapshot_channels(&result.snapshots),
                ResponseBody::Snapshots(result) => snapshot_channels(&result.snapshots),
                ResponseBody::Subscribe(result) => snapshot_channels(result.snapshot.as_slice()),
                ResponseBody::ListSessions(result) => {
                    let sessions = result.items.iter();
                    sessions.map(|summary| summary.resource.clone()).collect()
                }
                _ => continue,
            };
            if let Some(open) = peer.open_requests.get_or_default(id) {
                open.state_view = host.state_view(&channels);
            }
        }
    }

    /// Builds a downgradable response, with the inputs that have to be dispatched for the
    /// client now. Returns `None` for a response that the client does not expect.
    pub(crate) fn take_response(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        answer: Result<ResponseBody, RpcError>,
        replayed: Vec<JsonEnvelope>,
    ) -> Option<(LegacyResponse, Vec<Input>)> {
        let peer = self.clients.get_mut(&connection)?;
        if id == RequestId::Text(SYNTHETIC_REQUEST_ID.into()) {
            return None;
        }
        let open = peer.open_requests.remove(&id).unwrap_or_default();
        let after = match &answer {
            Ok(_) => open.follow_ups,
            Err(_) => Vec::new(),
        };
        let inputs = after
            .into_iter()
            .filter_map(|one| to_dispatch_input(connection, one));
        let inputs = inputs.collect();
        let answer = LegacyResponse {
            id,
            body: answer,
            chain: peer.chain,
            target: peer.target.clone(),
            version: peer.version.clone(),
            subscriptions: peer.subscriptions.clone(),
            state_view: open.state_view,
            replayed_actions: replayed,
            address_mapping: peer.address_mapping(&self.aliases),
        };
        Some((answer, inputs))
    }

    /// Downgrades an action for one client.
    pub(crate) fn downgrade_action(
        &mut self,
        connection: ConnectionId,
        context: &ActionContext<'_>,
        cache: &mut DowngradeCache,
    ) -> Result<LegacyMessages, DowngradeError> {
        let Some(peer) = self.clients.get_mut(&connection) else {
            return Ok(LegacyMessages::default());
        };
        let address_mapping = peer.address_mapping(&self.aliases);
        let address_mapping = address_mapping.as_ref();
        let lines = peer.downgrade_action(context, address_mapping, cache)?;
        let mut messages = LegacyMessages::from(peer.filter_subscribed(lines));
        if let Some(origin) = &context.envelope.origin
            && peer.target.has_client_id(&origin.client_id)
        {
            // The client waits for the echo of its action, even if the action changed nothing
            // that its release can express.
            let number = serde_json::to_value(origin.client_seq).map_err(TranslationError::from)?;
            let sent = peer.take_dispatched(&number);
            let has_origin = messages.messages.iter().any(|line| line.has_origin);
            if let Some(sent) = sent.filter(|_| !has_origin) {
                let echo = JsonEnvelope {
                    channel: sent.channel,
                    action: sent.action,
                    server_seq: context.envelope.server_seq.0,
                    origin: Some(serde_json::to_value(origin).map_err(TranslationError::from)?),
                    rejection_reason: None,
                };
                messages.echo = Some(encode_action(echo, address_mapping)?);
            }
        }
        Ok(messages)
    }

    /// Downgrades a rejection. It contains the action as the client sent it.
    pub(crate) fn downgrade_rejection(
        &mut self,
        host: &Host,
        connection: ConnectionId,
        rejection: &Rejection,
    ) -> Result<LegacyMessages, DowngradeError> {
        let Some(peer) = self.clients.get_mut(&connection) else {
            return Ok(LegacyMessages::default());
        };
        let address_mapping = peer.address_mapping(&self.aliases);
        let address_mapping = address_mapping.as_ref();
        let number =
            serde_json::to_value(rejection.origin.client_seq).map_err(TranslationError::from)?;
        let envelopes = match peer.take_dispatched(&number) {
            Some(sent) => vec![JsonEnvelope {
                rejection_reason: Some(sent.rejection_reason(rejection)),
                channel: sent.channel,
                action: sent.action,
                server_seq: rejection.server_seq.0,
                origin: Some(
                    serde_json::to_value(&rejection.origin).map_err(TranslationError::from)?,
                ),
            }],
            // The payload is not an action in any version, so it is returned unchanged.
            None if !rejection.action.0.is_object() => {
                let text = encode::notification("action", rejection)?;
                return Ok(LegacyMessages::from_iter([text.into()]));
            }
            None => {
                let live_state = LiveState(host);
                peer.chain
                    .downgrade_rejection(&peer.translation_context(&live_state), rejection)?
            }
        };
        let texts = envelopes.into_iter();
        texts
            .map(|envelope| encode_action(envelope, address_mapping))
            .collect()
    }

    /// Downgrades a notification for one client.
    pub(crate) fn downgrade_notification(
        &self,
        host: &Host,
        connection: ConnectionId,
        notification: &HostNotification,
        cache: &mut DowngradeCache,
    ) -> Result<LegacyMessages, DowngradeError> {
        let Some(peer) = self.clients.get(&connection) else {
            return Ok(LegacyMessages::default());
        };
        let channel = notification_subject(notification);
        let lines = match cache.get(peer, &channel) {
            Some(lines) => lines,
            None => {
                let live_state = LiveState(host);
                let call = JsonCall {
                    method: notification.method().to_owned(),
                    params: to_object(notification)?,
                };
                let calls = peer
                    .chain
                    .downgrade_notification(&peer.translation_context(&live_state), call);
                let address_mapping = peer.address_mapping(&self.aliases);
                let lines = calls.into_iter().map(|call| {
                    let params = map_addresses(call.params, address_mapping.as_ref());
                    Ok(LegacyMessage {
                        channel: None,
                        text: encode::notification(&call.method, &params)?.into(),
                        has_origin: false,
                    })
                });
                cache.insert(
                    peer,
                    &channel,
                    lines.collect::<Result<_, DowngradeError>>()?,
                )
            }
        };
        Ok(lines.into())
    }

    /// Downgrades a host request for one client, and records it for the response.
    pub(crate) fn downgrade_request(
        &mut self,
        host: &Host,
        connection: ConnectionId,
        id: &RequestId,
        request: &HostRequest,
    ) -> Result<LegacyMessages, DowngradeError> {
        let Some(peer) = self.clients.get_mut(&connection) else {
            return Ok(LegacyMessages::default());
        };
        let method = request.method();
        let mut call = JsonCall {
            method: method.to_owned(),
            params: to_object(request)?,
        };
        let live_state = LiveState(host);
        peer.chain
            .downgrade_request(&peer.translation_context(&live_state), &mut call);
        peer.host_requests.insert(id.clone(), method);
        let params = map_addresses(call.params, peer.address_mapping(&self.aliases).as_ref());
        let text = encode::request(id, &call.method, &params)?;
        Ok(LegacyMessages::from_iter([text.into()]))
    }
}

impl LegacyClient {
    pub(super) fn translation_context<'a>(
        &'a self,
        live_state: &'a dyn agenthost_versions::StateSource,
    ) -> TranslationContext<'a> {
        TranslationContext {
            client: &self.target,
            states: live_state,
            state_before: None,
        }
    }

    /// Removes messages of channels that a 0.4 client did not subscribe to. The server
    /// subscribes it to those only because other messages depend on their state.
    fn filter_subscribed(&self, lines: Rc<Vec<LegacyMessage>>) -> Rc<Vec<LegacyMessage>> {
        if self.release() != Release::V0_4 {
            return lines;
        }
        let follows = |channel: &Uri| self.subscriptions.contains(channel);
        let is_subscribed = |line: &&LegacyMessage| line.channel.as_ref().is_none_or(follows);
        if lines.iter().all(|line| is_subscribed(&line)) {
            return lines;
        }
        Rc::new(lines.iter().filter(is_subscribed).cloned().collect())
    }

    fn downgrade_action(
        &self,
        context: &ActionContext<'_>,
        address_mapping: Option<&AddressMapping>,
        cache: &mut DowngradeCache,
    ) -> Result<Rc<Vec<LegacyMessage>>, DowngradeError> {
        let channel = &context.envelope.channel;
        if let Some(lines) = cache.get(self, channel) {
            return Ok(lines);
        }
        let renamed =
            address_mapping.is_some_and(|address_mapping| address_mapping.renames_channel(channel));
        let passes = !renamed && self.chain.is_passthrough(&context.envelope.action);
        let current = context.current_text.filter(|_| passes);
        let lines = if let Some(current) = current {
            vec![LegacyMessage {
                channel: Some(channel.clone()),
                text: current.clone(),
                has_origin: context.envelope.origin.is_some(),
            }]
        } else {
            let at = TranslationContext {
                client: &self.target,
                states: context.state_view,
                state_before: context.before,
            };
            let envelopes = self.chain.downgrade_action(&at, context.envelope)?;
            let lines = envelopes.into_iter().map(|envelope| {
                Ok(LegacyMessage {
                    channel: envelope.channel.as_deref().map(Uri::from),
                    has_origin: envelope.origin.is_some(),
                    text: encode_action(envelope, address_mapping)?,
                })
            });
            lines.collect::<Result<_, DowngradeError>>()?
        };
        Ok(cache.insert(self, channel, lines))
    }
}

/// Returns the session that a notification is about, or else the root channel.
fn notification_subject(notification: &HostNotification) -> Uri {
    match notification {
        HostNotification::SessionAdded(added) => added.summary.resource.clone(),
        HostNotification::SessionRemoved(removed) => removed.session.clone(),
        HostNotification::SessionSummaryChanged(changed) => changed.session.clone(),
        HostNotification::Action(_)
        | HostNotification::Progress(_)
        | HostNotification::AuthRequired(_)
        | HostNotification::OtlpExportLogs(_)
        | HostNotification::OtlpExportTraces(_)
        | HostNotification::OtlpExportMetrics(_) => RootChannel.into(),
    }
}

fn snapshot_channels(snapshots: &[agenthost_protocol::channel::Snapshot]) -> Vec<Uri> {
    let resources = snapshots.iter().map(|snapshot| snapshot.resource.clone());
    resources.collect()
}

fn to_object(value: &impl Serialize) -> Result<Object, DowngradeError> {
    match serde_json::to_value(value).map_err(TranslationError::from)? {
        Json::Object(object) => Ok(object),
        _ => Ok(Object::new()),
    }
}

fn encode_action(
    envelope: JsonEnvelope,
    address_mapping: Option<&AddressMapping>,
) -> Result<Utf8Bytes, DowngradeError> {
    let mut envelope = envelope.into_json();
    address_mapping
        .into_iter()
        .for_each(|address_mapping| address_mapping.apply(&mut envelope));
    Ok(encode::notification("action", &envelope)?.into())
}

/// Maps the URIs in parameters for the client.
fn map_addresses(params: Object, address_mapping: Option<&AddressMapping>) -> Json {
    let mut params = Json::Object(params);
    address_mapping
        .into_iter()
        .for_each(|address_mapping| address_mapping.apply(&mut params));
    params
}

/// Builds the input for an action that is dispatched on behalf of a client.
fn to_dispatch_input(connection: ConnectionId, dispatch: JsonDispatch) -> Option<Input> {
    let mut params = Object::new();
    params.insert("channel".to_owned(), Json::from(dispatch.channel));
    params.insert("clientSeq".to_owned(), Json::from(0));
    params.insert("action".to_owned(), Json::Object(dispatch.action));
    let text = Json::Object(params).to_string();
    let params: DispatchActionParams = wire::from_str(&text).ok()?;
    let notification = Box::new(ClientNotification::DispatchAction(params));
    Some(Input::Received {
        connection,
        message: ClientMessage::Notification(notification),
    })
}
