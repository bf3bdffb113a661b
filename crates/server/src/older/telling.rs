//! What the host says, for clients of older versions.

use std::rc::Rc;

use agenthost_core::{Answer, ConnectionId, Effect, Host, Input, Received};
use agenthost_protocol::action::{ActionEnvelope, Rejection};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::connection::DispatchActionParams;
use agenthost_protocol::rpc::encode::{self, EncodeError};
use agenthost_protocol::rpc::{
    ClientNotification, HostNotification, HostRequest, RequestId, RpcError,
};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{self, Json, Object};
use agenthost_versions::{Call, Dispatch, Envelope, Lost, Moment, Scene};
use axum::extract::ws::Utf8Bytes;
use serde::Serialize;

use super::hearing::UNASKED;
use super::names::Naming;
use super::words::{Line, Told, Words};
use super::world::{Live, scene};
use super::{OPEN, Older, OlderAnswer, Peer};

/// Why something was not told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TellError {
    #[error(transparent)]
    Lost(#[from] Lost),
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// An action, and what there was around it.
pub(crate) struct Happened<'a> {
    pub(crate) envelope: &'a ActionEnvelope,
    pub(crate) before: Option<&'a ChannelState>,
    pub(crate) scene: &'a Scene,
    /// As the host's own version says it, for a piece of a stream.
    pub(crate) current: Option<&'a Utf8Bytes>,
}

impl Older {
    /// Remembers what there is at the moment for answers that have to be put
    /// into other words.
    pub(crate) fn look_around(&mut self, host: &Host, effects: &[Effect]) {
        if self.peers.is_empty() {
            return;
        }
        self.refresh_aliases(host);
        for effect in effects {
            let Effect::Reply {
                connection,
                id,
                answer: Ok(answer),
            } = effect
            else {
                continue;
            };
            let Some(peer) = self.peers.get_mut(connection) else {
                continue;
            };
            let shown: Vec<_> = match answer {
                Answer::Initialize(result) => resources(&result.snapshots),
                Answer::Snapshots(result) => resources(&result.snapshots),
                Answer::Subscribe(result) => resources(result.snapshot.as_slice()),
                Answer::ListSessions(result) => {
                    let sessions = result.items.iter();
                    sessions.map(|summary| summary.resource.clone()).collect()
                }
                _ => continue,
            };
            let open = peer.open.entry(id.clone()).or_default();
            open.scene = host.scene(&shown);
        }
    }

    /// An answer, in the words of whom it goes to, and what has to be
    /// dispatched for them now; `None` if nobody waits for it.
    pub(crate) fn answer(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        answer: Result<Answer, RpcError>,
        replayed: Vec<Envelope>,
    ) -> Option<(OlderAnswer, Vec<Input>)> {
        let peer = self.peers.get_mut(&connection)?;
        if id == RequestId::Text(UNASKED.into()) {
            return None;
        }
        let open = peer.open.remove(&id).unwrap_or_default();
        let after = match &answer {
            Ok(_) => open.after,
            Err(_) => Vec::new(),
        };
        let inputs = after
            .into_iter()
            .filter_map(|one| dispatch(connection, one));
        let inputs = inputs.collect();
        let answer = OlderAnswer {
            id,
            answer,
            chain: peer.chain,
            viewer: peer.viewer.clone(),
            version: peer.version.clone(),
            follows: peer.follows.clone(),
            scene: scene(open.scene),
            replayed,
            names: peer.naming(&self.aliases),
        };
        Some((answer, inputs))
    }

    /// An action for one of them.
    pub(crate) fn action(
        &mut self,
        connection: ConnectionId,
        happened: &Happened<'_>,
        told: &mut Told,
    ) -> Result<Words, TellError> {
        let Some(peer) = self.peers.get_mut(&connection) else {
            return Ok(Words::default());
        };
        let names = peer.naming(&self.aliases);
        let names = names.as_ref();
        let lines = peer.lines(happened, names, told)?;
        let mut words = Words::from(peer.wanted(lines));
        if let Some(origin) = &happened.envelope.origin
            && peer.viewer.is_called(&origin.client_id)
        {
            // It waits for its own, even if that changed nothing it can see.
            let number = serde_json::to_value(origin.client_seq).map_err(Lost::from)?;
            let sent = peer.recall(&number);
            let credited = words.lines.iter().any(|line| line.credited);
            if let Some(sent) = sent.filter(|_| !credited) {
                let echo = Envelope {
                    channel: sent.channel,
                    action: sent.action,
                    server_seq: happened.envelope.server_seq.0,
                    origin: Some(serde_json::to_value(origin).map_err(Lost::from)?),
                    rejection: None,
                };
                words.echo = Some(action_text(echo, names)?);
            }
        }
        Ok(words)
    }

    /// That an action was refused, as the client sent it.
    pub(crate) fn rejection(
        &mut self,
        host: &Host,
        connection: ConnectionId,
        rejection: &Rejection,
    ) -> Result<Words, TellError> {
        let Some(peer) = self.peers.get_mut(&connection) else {
            return Ok(Words::default());
        };
        let names = peer.naming(&self.aliases);
        let names = names.as_ref();
        let number = serde_json::to_value(rejection.origin.client_seq).map_err(Lost::from)?;
        let envelopes = match peer.recall(&number) {
            Some(sent) => vec![Envelope {
                rejection: Some(sent.words_for(rejection)),
                channel: sent.channel,
                action: sent.action,
                server_seq: rejection.server_seq.0,
                origin: Some(serde_json::to_value(&rejection.origin).map_err(Lost::from)?),
            }],
            // It was no action in any version, and is sent back as it came.
            None if !rejection.action.0.is_object() => {
                let text = encode::notification("action", rejection)?;
                return Ok(Words::from_iter([text.into()]));
            }
            None => {
                let world = Live(host);
                peer.chain.rejection(&peer.at(&world), rejection)?
            }
        };
        let texts = envelopes.into_iter();
        texts.map(|envelope| action_text(envelope, names)).collect()
    }

    /// A notification, for one of them.
    pub(crate) fn notification(
        &self,
        host: &Host,
        connection: ConnectionId,
        notification: &HostNotification,
        told: &mut Told,
    ) -> Result<Words, TellError> {
        let Some(peer) = self.peers.get(&connection) else {
            return Ok(Words::default());
        };
        let channel = about(notification);
        let lines = match told.to(peer, &channel) {
            Some(lines) => lines,
            None => {
                let world = Live(host);
                let call = Call {
                    method: notification.method().to_owned(),
                    params: object(notification)?,
                };
                let calls = peer.chain.notification(&peer.at(&world), call);
                let names = peer.naming(&self.aliases);
                let lines = calls.into_iter().map(|call| {
                    let params = renamed(call.params, names.as_ref());
                    Ok(Line {
                        channel: None,
                        text: encode::notification(&call.method, &params)?.into(),
                        credited: false,
                    })
                });
                told.share(peer, &channel, lines.collect::<Result<_, TellError>>()?)
            }
        };
        Ok(lines.into())
    }

    /// A request of the host, for one of them.
    pub(crate) fn request(
        &mut self,
        host: &Host,
        connection: ConnectionId,
        id: &RequestId,
        request: &HostRequest,
    ) -> Result<Words, TellError> {
        let Some(peer) = self.peers.get_mut(&connection) else {
            return Ok(Words::default());
        };
        let method = request.method();
        let mut call = Call {
            method: method.to_owned(),
            params: object(request)?,
        };
        let world = Live(host);
        peer.chain.request(&peer.at(&world), &mut call);
        if peer.asked.len() >= OPEN {
            peer.asked.pop_first();
        }
        peer.asked.insert(id.clone(), method);
        let params = renamed(call.params, peer.naming(&self.aliases).as_ref());
        let text = encode::request(id, &call.method, &params)?;
        Ok(Words::from_iter([text.into()]))
    }
}

impl Peer {
    pub(super) fn at<'a>(&'a self, world: &'a dyn agenthost_versions::World) -> Moment<'a> {
        Moment {
            viewer: &self.viewer,
            world,
            before: None,
        }
    }

    /// What of some messages is for the client. Of a channel that it did not
    /// ask for it only has to be known what happens.
    fn wanted(&self, lines: Rc<Vec<Line>>) -> Rc<Vec<Line>> {
        if self.release() != Release::V0_4 {
            return lines;
        }
        let follows = |channel: &Uri| self.follows.contains(channel);
        let wants = |line: &&Line| line.channel.as_ref().is_none_or(follows);
        if lines.iter().all(|line| wants(&line)) {
            return lines;
        }
        Rc::new(lines.iter().filter(wants).cloned().collect())
    }

    fn lines(
        &self,
        happened: &Happened<'_>,
        names: Option<&Naming>,
        told: &mut Told,
    ) -> Result<Rc<Vec<Line>>, TellError> {
        let channel = &happened.envelope.channel;
        if let Some(lines) = told.to(self, channel) {
            return Ok(lines);
        }
        let renamed = names.is_some_and(|names| names.renames(channel));
        let passes = !renamed && self.chain.passes(&happened.envelope.action);
        let current = happened.current.filter(|_| passes);
        let lines = if let Some(current) = current {
            vec![Line {
                channel: Some(channel.clone()),
                text: current.clone(),
                credited: happened.envelope.origin.is_some(),
            }]
        } else {
            let at = Moment {
                viewer: &self.viewer,
                world: happened.scene,
                before: happened.before,
            };
            let envelopes = self.chain.action(&at, happened.envelope)?;
            let lines = envelopes.into_iter().map(|envelope| {
                Ok(Line {
                    channel: envelope.channel.as_deref().map(Uri::from),
                    credited: envelope.origin.is_some(),
                    text: action_text(envelope, names)?,
                })
            });
            lines.collect::<Result<_, TellError>>()?
        };
        Ok(told.share(self, channel, lines))
    }
}

/// The session that a notification is about; else the host itself.
fn about(notification: &HostNotification) -> Uri {
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

fn resources(snapshots: &[agenthost_protocol::channel::Snapshot]) -> Vec<Uri> {
    let resources = snapshots.iter().map(|snapshot| snapshot.resource.clone());
    resources.collect()
}

fn object(value: &impl Serialize) -> Result<Object, TellError> {
    match serde_json::to_value(value).map_err(Lost::from)? {
        Json::Object(object) => Ok(object),
        _ => Ok(Object::new()),
    }
}

fn action_text(envelope: Envelope, names: Option<&Naming>) -> Result<Utf8Bytes, TellError> {
    let mut envelope = envelope.into_json();
    names
        .into_iter()
        .for_each(|names| names.show(&mut envelope));
    Ok(encode::notification("action", &envelope)?.into())
}

/// Parameters with the names that a client is shown.
fn renamed(params: Object, names: Option<&Naming>) -> Json {
    let mut params = Json::Object(params);
    names.into_iter().for_each(|names| names.show(&mut params));
    params
}

/// What is dispatched in a client's name.
fn dispatch(connection: ConnectionId, dispatch: Dispatch) -> Option<Input> {
    let mut params = Object::new();
    params.insert("channel".to_owned(), Json::from(dispatch.channel));
    params.insert("clientSeq".to_owned(), Json::from(0));
    params.insert("action".to_owned(), Json::Object(dispatch.action));
    let text = Json::Object(params).to_string();
    let params: DispatchActionParams = wire::from_str(&text).ok()?;
    let notification = Box::new(ClientNotification::DispatchAction(params));
    Some(Input::Received {
        connection,
        message: Received::Notification(notification),
    })
}
