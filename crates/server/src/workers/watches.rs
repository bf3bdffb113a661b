//! Watches directories for clients that subscribe to file changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agenthost_core::{Input, WatchRequest};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use agenthost_workspace::{DirectoryWatch, ProtectedPaths};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The running watches, by their channels.
#[derive(Debug)]
pub(crate) struct WatchWorker {
    watches: Arc<Mutex<BTreeMap<Uri, DirectoryWatch>>>,
    protected: ProtectedPaths,
    /// The input queue. While it is full, the thread of a watch waits.
    inputs: mpsc::Sender<Input>,
}

impl WatchWorker {
    pub(crate) fn new(inputs: mpsc::Sender<Input>, protected: ProtectedPaths) -> Self {
        WatchWorker {
            watches: Arc::default(),
            protected,
            inputs,
        }
    }

    /// Starts a watch. `Input::WatchStarted` follows, then one `Input::FilesChanged` for each
    /// batch of changes.
    pub(crate) fn start(&mut self, request: Box<WatchRequest>, tasks: &mut JoinSet<Input>) {
        let watches = Arc::clone(&self.watches);
        let inputs = self.inputs.clone();
        let protected = self.protected.clone();
        tasks.spawn_blocking(move || {
            let channel = request.channel.clone();
            let send_changes = move |changes| {
                let channel = channel.clone();
                let sent = inputs.blocking_send(Input::FilesChanged { channel, changes });
                sent.ignore_closed();
            };
            let started =
                DirectoryWatch::start(&request.roots, &protected, &request.watch, send_changes);
            let outcome = started.map(|watch| {
                lock(&watches).insert(request.channel.clone(), watch);
            });
            Input::WatchStarted { request, outcome }
        });
    }

    /// Stops the watch of a channel, if there is one.
    pub(crate) fn stop(&mut self, channel: &Uri) {
        lock(&self.watches).remove(channel);
    }
}
