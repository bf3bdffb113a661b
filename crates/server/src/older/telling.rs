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
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{self, Json, Object};
use agenthost_versions::{Call, Dispatch, Envelope, Lost, Moment, Scene};
use axum::extract::ws::Utf8Bytes;
use serde::Serialize;

use super::hearing::UNASKED;
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

/// What is told of one thing, made once for all whom it is the same for.
#[derive(Default)]
pub(crate) struct Told(Vec<(Audience, Rc<Vec<Line>>)>);

/// Those to whom the same is told.
#[derive(PartialEq, Eq)]
struct Audience {
    release: Release,
    /// What they see the channel as.
    chat: Option<Uri>,
    session: Option<Uri>,
}

/// A message on a channel.
struct Line {
    channel: Option<String>,
    text: Utf8Bytes,
    /// Whether it says who did it.
    credited: bool,
}

/// An action, and what there was around it.
pub(crate) struct Happened<'a> {
    pub(crate) envelope: &'a ActionEnvelope,
    pub(crate) before: Option<&'a ChannelState>,
    pub(crate) scene: &'a Scene,
    /// As the host's own version says it.
    pub(crate) current: &'a Utf8Bytes,
}

impl Older {
    /// Remembers what there is at the moment for answers that have to be put
    /// into other words.
    pub(crate) fn look_around(&mut self, host: &Host, effects: &[Effect]) {
        if self.peers.is_empty() {
            return;
        }
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
        };
        Some((answer, inputs))
    }

    /// An action for one of them.
    pub(crate) fn action(
        &mut self,
        connection: ConnectionId,
        happened: &Happened<'_>,
        told: &mut Told,
    ) -> Result<Vec<Utf8Bytes>, TellError> {
        let Some(peer) = self.peers.get_mut(&connection) else {
            return Ok(Vec::new());
        };
        let lines = peer.lines(happened, told)?;
        let mut texts: Vec<_> = lines
            .iter()
            .filter(|line| peer.wants(line))
            .map(|line| line.text.clone())
            .collect();
        if let Some(origin) = &happened.envelope.origin
            && *peer.viewer.client() == origin.client_id
        {
            // It waits for its own, even if that changed nothing it can see.
            let number = serde_json::to_value(origin.client_seq).map_err(Lost::from)?;
            let sent = peer.recall(&number);
            let credited = lines.iter().any(|line| line.credited && peer.wants(line));
            if let Some(sent) = sent.filter(|_| !credited) {
                let echo = Envelope {
                    channel: sent.channel,
                    action: sent.action,
                    server_seq: happened.envelope.server_seq.0,
                    origin: Some(serde_json::to_value(origin).map_err(Lost::from)?),
                    rejection: None,
                };
                texts.insert(0, action_text(echo)?);
            }
        }
        peer.viewer.is_personal();
        Ok(texts)
    }

    /// That an action was refused, as the client sent it.
    pub(crate) fn rejection(
        &mut self,
        host: &Host,
        connection: ConnectionId,
        rejection: &Rejection,
    ) -> Result<Vec<Utf8Bytes>, TellError> {
        let Some(peer) = self.peers.get_mut(&connection) else {
            return Ok(Vec::new());
        };
        let number = serde_json::to_value(rejection.origin.client_seq).map_err(Lost::from)?;
        let envelopes = match peer.recall(&number) {
            Some(sent) => vec![Envelope {
                channel: sent.channel,
                action: sent.action,
                server_seq: rejection.server_seq.0,
                origin: Some(serde_json::to_value(&rejection.origin).map_err(Lost::from)?),
                rejection: Some(rejection.rejection_reason.clone()),
            }],
            None => {
                let world = Live(host);
                peer.chain.rejection(&peer.at(&world), rejection)?
            }
        };
        envelopes.into_iter().map(action_text).collect()
    }

    /// A notification, for one of them.
    pub(crate) fn notification(
        &self,
        host: &Host,
        connection: ConnectionId,
        notification: &HostNotification,
    ) -> Result<Vec<Utf8Bytes>, TellError> {
        let Some(peer) = self.peers.get(&connection) else {
            return Ok(Vec::new());
        };
        let world = Live(host);
        let call = Call {
            method: notification.method().to_owned(),
            params: object(notification)?,
        };
        let calls = peer.chain.notification(&peer.at(&world), call);
        let texts = calls.into_iter().map(|call| {
            let text = encode::notification(&call.method, &call.params)?;
            Ok(text.into())
        });
        texts.collect()
    }

    /// A request of the host, for one of them.
    pub(crate) fn request(
        &mut self,
        host: &Host,
        connection: ConnectionId,
        id: &RequestId,
        request: &HostRequest,
    ) -> Result<Option<Utf8Bytes>, TellError> {
        let Some(peer) = self.peers.get_mut(&connection) else {
            return Ok(None);
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
        Ok(Some(
            encode::request(id, &call.method, &call.params)?.into(),
        ))
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

    /// Whether a message is for the client, or it only has to be known of.
    fn wants(&self, line: &Line) -> bool {
        let known = |channel: &String| self.follows.contains(&Uri::from(channel.as_str()));
        self.release() != Release::V0_4 || line.channel.as_ref().is_none_or(known)
    }

    fn lines(&self, happened: &Happened<'_>, told: &mut Told) -> Result<Rc<Vec<Line>>, TellError> {
        let channel = &happened.envelope.channel;
        let audience = Audience {
            release: self.release(),
            chat: self.viewer.chat_of(channel).cloned(),
            session: self.viewer.session_of(channel).cloned(),
        };
        if let Some((_, lines)) = told.0.iter().find(|(known, _)| *known == audience) {
            return Ok(Rc::clone(lines));
        }
        // Pieces of a stream have not changed since there are chats.
        let lines = if happened.before.is_none() && self.release().capabilities().chats {
            vec![Line {
                channel: Some(channel.to_string()),
                text: happened.current.clone(),
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
                    channel: envelope.channel.clone(),
                    credited: envelope.origin.is_some(),
                    text: action_text(envelope)?,
                })
            });
            lines.collect::<Result<_, TellError>>()?
        };
        let lines = Rc::new(lines);
        if !self.viewer.is_personal() {
            told.0.push((audience, Rc::clone(&lines)));
        }
        Ok(lines)
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

fn action_text(envelope: Envelope) -> Result<Utf8Bytes, TellError> {
    Ok(encode::notification("action", &envelope.into_json())?.into())
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
