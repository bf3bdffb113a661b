//! Clients of older versions.
//!
//! The host speaks 1.0. What an older client says goes up to that before the
//! host hears it, and what the host says goes down before the client does; the
//! steps between are those of `agenthost_versions`. Here is what they need of
//! each such client, and nothing of it for any other.

mod answers;
mod greeting;
mod hearing;
mod host_files;
mod names;
mod replay;
mod telling;
mod words;
mod world;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agenthost_core::{ClientQuirks, ConnectionId, Host, Scene};
use agenthost_protocol::action::Rejection;
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};
use agenthost_versions::{Chain, Dispatch, Viewer};

pub(crate) use answers::OlderAnswer;
pub(crate) use hearing::{Heard, named};
use names::{Naming, SessionAliases};
pub(crate) use replay::Past;
pub(crate) use telling::{Happened, TellError};
pub(crate) use words::{Told, Words};
pub(crate) use world::scene;

/// Most of what a client was sent, or sent itself, that is remembered until
/// there is an answer to it.
const OPEN: usize = 1_024;

/// Whether a connection is known to speak the host's version, so that what it
/// says can be read without asking anybody.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fluent(Arc<AtomicBool>);

impl Fluent {
    pub(crate) fn is_known(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn know(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// All connections, as far as versions are concerned.
#[derive(Debug, Default)]
pub(crate) struct Older {
    peers: BTreeMap<ConnectionId, Peer>,
    /// Connections that have not said yet what they speak.
    new: BTreeMap<ConnectionId, Fluent>,
    /// What sessions are called for clients that read a provider from the name.
    aliases: Arc<SessionAliases>,
}

/// A client of an older version.
#[derive(Debug)]
pub(crate) struct Peer {
    chain: Chain,
    viewer: Viewer,
    quirks: ClientQuirks,
    /// The version that was agreed on, as the client gets to see it.
    version: Json,
    /// Channels that it asked for. It may be subscribed to more, so that it
    /// can be told what another version says elsewhere.
    follows: BTreeSet<Uri>,
    /// What it dispatched and has not seen come back, by its own number.
    sent: VecDeque<(Json, Sent)>,
    /// What it was asked, by the id of the request.
    asked: BTreeMap<RequestId, &'static str>,
    /// Requests that it has made, with what there is to know when they are
    /// answered.
    open: BTreeMap<RequestId, Open>,
}

/// An action as a client sent it.
#[derive(Debug)]
struct Sent {
    channel: Option<String>,
    action: Object,
}

impl Sent {
    /// Why it was refused. What the host calls it is nothing to the client.
    fn words_for(&self, rejection: &Rejection) -> String {
        let reason = rejection.rejection_reason.clone();
        let name = |action: Option<&Json>| {
            let name = action.and_then(Json::as_str);
            name.map(|name| format!("`{name}`"))
        };
        let heard = name(rejection.action.0.get("type"));
        match (name(self.action.get("type")), heard) {
            (Some(said), Some(heard)) => reason.replace(&heard, &said),
            _ => reason,
        }
    }
}

/// A request that was not answered yet.
#[derive(Debug, Default)]
struct Open {
    /// What there was when it was carried out.
    scene: Scene,
    /// What to dispatch for the client when it has succeeded.
    after: Vec<Dispatch>,
    /// For a replay: where its channels were when the client left.
    past: Vec<Past>,
}

impl Older {
    pub(crate) fn connected(&mut self, connection: ConnectionId, fluent: Fluent) {
        self.new.insert(connection, fluent);
    }

    pub(crate) fn disconnected(&mut self, connection: ConnectionId) {
        self.new.remove(&connection);
        self.peers.remove(&connection);
    }

    pub(crate) fn has(&self, connection: ConnectionId) -> bool {
        self.peers.contains_key(&connection)
    }

    /// Brings second names up to date, if a client needs them.
    fn refresh_aliases(&mut self, host: &Host) {
        let mut peers = self.peers.values();
        let needed = peers.any(|peer| peer.quirks.provider_schemes);
        if needed && !self.aliases.is_current(host) {
            self.aliases = Arc::new(SessionAliases::of(host, &self.aliases));
        }
    }

    /// A connection has said hello and was understood in the host's version.
    fn speaks_current(&mut self, connection: ConnectionId) {
        if let Some(fluent) = self.new.remove(&connection) {
            fluent.know();
        }
    }
}

impl Peer {
    fn new(release: Release, version: Json, client: ClientId, quirks: ClientQuirks) -> Self {
        Peer {
            quirks,
            chain: Chain::to(release),
            viewer: Viewer::new(release, client),
            version,
            follows: BTreeSet::new(),
            sent: VecDeque::new(),
            asked: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// How the client is told names, if not as the host has them.
    fn naming(&self, aliases: &Arc<SessionAliases>) -> Option<Naming> {
        self.quirks.provider_schemes.then(|| Naming {
            aliases: Arc::clone(aliases),
            host_files: self.quirks.remote_files,
        })
    }

    /// The name that the host has for what the client calls so.
    fn meant(&self, host: &Host, aliases: &Arc<SessionAliases>, name: &str) -> Option<String> {
        let file = self.quirks.remote_files.then(|| host_files::meant(name));
        if let Some(Some(file)) = file {
            return Some(file);
        }
        let aliased = self.quirks.provider_schemes.then(|| aliases.meant(name));
        if let Some(Some(aliased)) = aliased {
            return Some(aliased);
        }
        if !self.quirks.reprinted_uris {
            return None;
        }
        host.channel_like(name).map(ToString::to_string)
    }

    fn release(&self) -> Release {
        self.viewer.release()
    }

    /// Without chats, one is its session; without drafts, what is chosen for a
    /// chat is chosen for its session. Either way who follows a session has to
    /// hear of its chat.
    fn hears_chats(&self) -> bool {
        !self.release().capabilities().drafts
    }

    fn remember(&mut self, number: Json, sent: Sent) {
        if self.sent.len() >= OPEN {
            self.sent.pop_front();
        }
        self.sent.push_back((number, sent));
    }

    /// What the client sent under a number of its own.
    fn recall(&mut self, number: &Json) -> Option<Sent> {
        let index = self.sent.iter().position(|(known, _)| known == number)?;
        self.sent.remove(index).map(|(_, sent)| sent)
    }
}
