//! Resource watches: channels that report file changes in a folder.
//!
//! The changes are not state: they are sent to the subscribers and not stored. A watch lasts as
//! long as it has a subscriber (WAT-5).

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

/// Maximum number of concurrent watches, because each can use handles of the operating system.
const MAX_WATCHES: usize = 1_000;

/// Time that a watch without subscribers stays active (WAT-6).
const WATCH_IDLE_TIMEOUT: Millis = Millis(30_000);

/// A request to start a watch.
#[derive(Debug, Clone)]
pub struct WatchRequest {
    /// The connection that sent the request.
    pub connection: ConnectionId,
    /// The id of the request to answer.
    pub id: RequestId,
    /// URI of the channel to create.
    pub channel: Uri,
    /// The roots that were granted at the request.
    pub roots: Vec<GrantedRoot>,
    /// The folder and filters to watch.
    pub watch: ResourceWatchState,
}

impl Host {
    /// Starts a watch. Its channel exists once the watch runs (WAT-1). A watch on immutable
    /// content is accepted and never reports anything, because clients request one for every
    /// document that they open.
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
        let job = WatchRequest {
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
            self.handle_watch_started(job, Ok(()), out);
        } else {
            out.push(Effect::Watch(Box::new(job)));
        }
        Ok(())
    }

    /// Handles a watch that has started or failed. Stops it if the connection has been closed.
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

    /// Sends changes to the subscribers without logging them: a client that reconnects does not
    /// need them.
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

    /// Stops a watch without subscribers.
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

    /// Removes the watches of the previous run, which are no longer active.
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
