//! What the host hears of later.

use std::sync::Arc;
use std::time::Duration;

use agenthost_core::{FileSearch, ITEMS, Input};
use agenthost_protocol::number::Millis;
use agenthost_workspace::{Bounds, find_files};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Searches for files at the same time. Whoever asks for one more is told
/// that there is nothing: the next letter asks again.
const SEARCHES: usize = 8;

/// What a search may cost.
const BOUNDS: Bounds = Bounds {
    items: ITEMS,
    files: 200_000,
    time: Duration::from_millis(300),
};

/// Everything that has begun and will be an input when it is done. Dropped,
/// nothing comes of it.
#[derive(Debug)]
pub(crate) struct Later {
    tasks: JoinSet<Input>,
    searches: Arc<Semaphore>,
}

impl Default for Later {
    fn default() -> Self {
        Later {
            tasks: JoinSet::new(),
            searches: Arc::new(Semaphore::new(SEARCHES)),
        }
    }
}

impl Later {
    /// The next thing that is done; never, if nothing has begun.
    pub(crate) async fn next(&mut self) -> Input {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(input)) => return input,
                // It broke, or was ended: nothing comes of it.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Tells the host something after a while.
    pub(crate) fn after(&mut self, after: Millis, input: Input) {
        let after = Duration::from_millis(u64::try_from(after.0).unwrap_or(0));
        self.tasks.spawn(async move {
            tokio::time::sleep(after).await;
            input
        });
    }

    /// Looks for files. What can be said at once comes back.
    pub(crate) fn find(&mut self, search: Box<FileSearch>) -> Option<Input> {
        let Ok(permit) = Arc::clone(&self.searches).try_acquire_owned() else {
            let files = Vec::new();
            return Some(Input::FilesFound { search, files });
        };
        self.tasks.spawn_blocking(move || {
            let files = find_files(&search.directories, &search.query, BOUNDS);
            drop(permit);
            Input::FilesFound { search, files }
        });
        None
    }
}
