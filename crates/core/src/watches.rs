//! Watches: clients that want to know what changes in a folder.
//!
//! What is seen is no state: it goes to those who watch and is not kept. A
//! watch lasts for as long as somebody does (WAT-5).

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::number::Millis;
use agenthost_protocol::resource::{
    CreateResourceWatchParams, CreateResourceWatchResult, ResourceChange, ResourceChanges,
    ResourceWatchAction, ResourceWatchChanged, ResourceWatchState,
};
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::Uri;

use crate::effect::{Answer, Effect, Effects};
use crate::env::Env;
use crate::files::{Access, Root};
use crate::host::{Channel, Host};
use crate::input::{ConnectionId, Input};
use crate::refusal::Failure;
use crate::uris;

/// Most watches at a time.
const WATCHES: usize = 1_000;

/// How long a watch waits for somebody who watches (WAT-6).
const PATIENCE: Millis = Millis(30_000);

/// A watch that is to begin.
#[derive(Debug, Clone)]
pub struct WatchErrand {
    /// Who asked.
    pub connection: ConnectionId,
    /// What has to be answered.
    pub id: RequestId,
    /// The channel that it will have.
    pub channel: Uri,
    /// What may be looked at.
    pub roots: Vec<Root>,
    /// What to watch.
    pub watch: ResourceWatchState,
}

impl Host {
    /// Has a watch begun. It is there when it has (WAT-1). On something that
    /// never changes there is a watch, too, and it never reports anything:
    /// clients that show it ask for one.
    pub(crate) fn create_watch(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        id: &RequestId,
        params: CreateResourceWatchParams,
        out: &mut Effects,
    ) -> Result<(), Failure> {
        let is_fixed = uris::never_changes(&params.uri);
        if !is_fixed {
            self.check_granted(&params.uri, Access::Read)?;
        }
        let watches = self.channels.values().filter(|channel| is_watch(channel));
        if watches.count() >= WATCHES {
            let reason = format!("there are {WATCHES} watches already");
            return Err(Failure::InvalidParams(reason));
        }
        let errand = WatchErrand {
            connection,
            id: id.clone(),
            channel: Uri::from(format!("ahp-resource-watch:/{}", env.unique("watch"))),
            roots: self.roots(),
            watch: ResourceWatchState {
                root: params.uri,
                recursive: params.recursive == Some(true),
                excludes: params.excludes,
                includes: params.includes,
            },
        };
        if is_fixed {
            self.watching(errand, Ok(()), out);
        } else {
            out.push(Effect::Watch(Box::new(errand)));
        }
        Ok(())
    }

    /// A watch has begun, or could not. Whoever asked may be gone.
    pub(crate) fn watching(
        &mut self,
        errand: WatchErrand,
        begun: Result<(), Failure>,
        out: &mut Effects,
    ) {
        let WatchErrand {
            connection,
            id,
            channel,
            watch,
            ..
        } = errand;
        if let Err(failure) = begun {
            self.pass_on(connection, &id, Err(failure), out);
            return;
        }
        if !self.clients.connections.contains_key(&connection) {
            out.push(Effect::Unwatch { channel });
            return;
        }
        self.create(&channel, None, watch.into(), out);
        let unwatched = Input::StillUnwatched {
            channel: channel.clone(),
        };
        out.later(PATIENCE, unwatched);
        let result = CreateResourceWatchResult { channel };
        out.answer(connection, &id, Answer::Watch(result));
    }

    /// Tells who watches what was seen: there is nothing to catch up with.
    pub(crate) fn files_changed(
        &mut self,
        channel: &Uri,
        items: Vec<ResourceChange>,
        out: &mut Effects,
    ) {
        let Some(watch) = self.channels.get(channel) else {
            return;
        };
        let watchers: Vec<_> = watch.subscribers.keys().copied().collect();
        if watchers.is_empty() || items.is_empty() {
            return;
        }
        let changes = ResourceChanges { items };
        let action = ResourceWatchAction::Changed(ResourceWatchChanged { changes });
        self.show(&watchers, channel, action, None, out);
    }

    /// Ends a watch that nobody watches.
    pub(crate) fn end_unwatched(&mut self, channel: &Uri, out: &mut Effects) {
        let Some(watch) = self.channels.get(channel) else {
            return;
        };
        if is_watch(watch) && watch.subscribers.is_empty() {
            self.remove(channel, out);
            let channel = channel.clone();
            out.push(Effect::Unwatch { channel });
        }
    }

    /// Nothing that was watched when the host stopped is watched now.
    pub(crate) fn drop_watches(&mut self, out: &mut Effects) {
        let channels = self.channels.keys();
        let watches = channels.filter(|uri| uri.as_str().starts_with("ahp-resource-watch:"));
        for channel in watches.cloned().collect::<Vec<_>>() {
            self.remove(&channel, out);
        }
    }
}

fn is_watch(channel: &Channel) -> bool {
    let loaded = channel.loaded();
    loaded.is_some_and(|loaded| matches!(loaded.state, ChannelState::ResourceWatch(_)))
}
