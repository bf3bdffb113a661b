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

use crate::host::Host;
use crate::host::channels::ChannelEntry;
use crate::host::effect::{Effect, Effects, ResponseBody};
use crate::host::error::RequestFailure;
use crate::host::input::{ConnectionId, Input};
use crate::host::step::Env;
use crate::resource::uris;
use crate::resource::{FileAccess, GrantedRoot};

/// Most watches at a time.
const MAX_WATCHES: usize = 1_000;

/// How long a watch waits for somebody who watches (WAT-6).
const WATCH_IDLE_TIMEOUT: Millis = Millis(30_000);

/// A watch that is to begin.
#[derive(Debug, Clone)]
pub struct WatchRequest {
    /// Who asked.
    pub connection: ConnectionId,
    /// What has to be answered.
    pub id: RequestId,
    /// The channel that it will have.
    pub channel: Uri,
    /// What may be looked at.
    pub roots: Vec<GrantedRoot>,
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
    ) -> Result<(), RequestFailure> {
        let is_fixed = uris::is_immutable(&params.uri);
        if !is_fixed {
            self.check_granted(&params.uri, FileAccess::Read)?;
        }
        let watches = self.channels.entries().filter(|channel| is_watch(channel));
        if watches.count() >= MAX_WATCHES {
            let reason = format!("there are {MAX_WATCHES} watches already");
            return Err(RequestFailure::InvalidParams(reason));
        }
        let errand = WatchRequest {
            connection,
            id: id.clone(),
            channel: Uri::from(format!("ahp-resource-watch:/{}", env.unique_id("watch"))),
            roots: self.unique_granted_roots(),
            watch: ResourceWatchState {
                root: params.uri,
                recursive: params.recursive == Some(true),
                excludes: params.excludes,
                includes: params.includes,
            },
        };
        if is_fixed {
            self.handle_watch_started(errand, Ok(()), out);
        } else {
            out.push(Effect::Watch(Box::new(errand)));
        }
        Ok(())
    }

    /// A watch has begun, or could not. Whoever asked may be gone.
    pub(crate) fn handle_watch_started(
        &mut self,
        request: WatchRequest,
        outcome: Result<(), RequestFailure>,
        out: &mut Effects,
    ) {
        let WatchRequest {
            connection,
            id,
            channel,
            watch,
            ..
        } = request;
        if let Err(failure) = outcome {
            self.complete_request(connection, &id, Err(failure), out);
            return;
        }
        if !self.clients.connections.contains_key(&connection) {
            out.push(Effect::Unwatch { channel });
            return;
        }
        self.create_channel(&channel, None, watch.into(), out);
        let unwatched = Input::WatchIdleTimedOut {
            channel: channel.clone(),
        };
        out.schedule(WATCH_IDLE_TIMEOUT, unwatched);
        let result = CreateResourceWatchResult { channel };
        out.respond(connection, &id, ResponseBody::CreateResourceWatch(result));
    }

    /// Tells who watches what was seen: there is nothing to catch up with.
    pub(crate) fn handle_files_changed(
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
        self.publish_unlogged(&watchers, channel, action, None, out);
    }

    /// Ends a watch that nobody watches.
    pub(crate) fn stop_idle_watch(&mut self, channel: &Uri, out: &mut Effects) {
        let Some(watch) = self.channels.get(channel) else {
            return;
        };
        if is_watch(watch) && watch.subscribers.is_empty() {
            self.remove_channel(channel, out);
            let channel = channel.clone();
            out.push(Effect::Unwatch { channel });
        }
    }

    /// Nothing that was watched when the host stopped is watched now.
    pub(crate) fn remove_stale_watches(&mut self, out: &mut Effects) {
        let channels = self.channels.uris();
        let watches = channels.filter(|uri| uri.as_str().starts_with("ahp-resource-watch:"));
        for channel in watches.cloned().collect::<Vec<_>>() {
            self.remove_channel(&channel, out);
        }
    }
}

fn is_watch(channel: &ChannelEntry) -> bool {
    let loaded = channel.loaded();
    loaded.is_some_and(|loaded| matches!(loaded.state, ChannelState::ResourceWatch(_)))
}
