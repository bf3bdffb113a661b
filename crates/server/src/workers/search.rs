//! Searches files by a part of their names, for completions.

use std::sync::Arc;
use std::time::Duration;

use agenthost_core::{FileSearch, Input, MAX_COMPLETION_ITEMS};
use agenthost_workspace::{ProtectedPaths, SearchLimits, search_files};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Limit on concurrent searches. A further search returns no files: the client searches again
/// with the next character that the user types.
const MAX_SEARCHES: usize = 8;

/// Limits of one search: enough for a large repository, and short enough for completion while
/// typing.
const SEARCH_LIMITS: SearchLimits = SearchLimits {
    max_results: MAX_COMPLETION_ITEMS,
    max_files: 200_000,
    timeout: Duration::from_millis(300),
};

/// Runs searches on blocking threads, up to [`MAX_SEARCHES`] at a time.
#[derive(Debug)]
pub(crate) struct SearchWorker {
    permits: Arc<Semaphore>,
    protected: ProtectedPaths,
}

impl SearchWorker {
    pub(crate) fn new(protected: ProtectedPaths) -> Self {
        SearchWorker {
            permits: Arc::new(Semaphore::new(MAX_SEARCHES)),
            protected,
        }
    }

    /// Starts a search. Returns an empty result if too many are running.
    pub(crate) fn run(
        &mut self,
        search: Box<FileSearch>,
        tasks: &mut JoinSet<Input>,
    ) -> Option<Input> {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            let files = Vec::new();
            return Some(Input::FileSearchFinished { search, files });
        };
        let protected = self.protected.clone();
        tasks.spawn_blocking(move || {
            let files = search_files(
                &search.directories,
                &protected,
                &search.query,
                SEARCH_LIMITS,
            );
            drop(permit);
            Input::FileSearchFinished { search, files }
        });
        None
    }
}
