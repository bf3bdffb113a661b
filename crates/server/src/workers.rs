//! Workers run jobs outside of the loop and return the results as inputs. There is one worker
//! for each subject.
//!
//! A worker starts a job in a task and returns at once. If the result is known immediately, for
//! example because a limit is reached, the worker returns it instead.

pub(crate) mod changes;
pub(crate) mod customization;
pub(crate) mod disk_usage;
pub(crate) mod drivers;
pub(crate) mod files;
pub(crate) mod retention;
pub(crate) mod search;
pub(crate) mod terminals;
pub(crate) mod timers;
pub(crate) mod watches;

use agenthost_core::Input;
use tokio::task::JoinSet;

use crate::workers::changes::ChangeWorker;
use crate::workers::files::FileWorker;
use crate::workers::retention::RetentionWorker;
use crate::workers::search::SearchWorker;
use crate::workers::timers::TimerWorker;
use crate::workers::watches::WatchWorker;

/// All workers and the tasks of their jobs. Dropping it cancels the tasks.
pub(crate) struct Workers {
    /// Tasks of jobs that end with an input. The workers limit file requests and searches, the
    /// host limits watches and timers.
    pub(crate) tasks: JoinSet<Input>,
    pub(crate) file_worker: FileWorker,
    pub(crate) search_worker: SearchWorker,
    pub(crate) watch_worker: WatchWorker,
    pub(crate) timer_worker: TimerWorker,
    pub(crate) retention_worker: RetentionWorker,
    /// Has its own task set, because the loop waits for open checkpoints before it ends.
    pub(crate) change_worker: ChangeWorker,
}

impl Workers {
    /// Starts a check of the limits on sessions, unless one is running.
    pub(crate) fn start_retention_check(&mut self) {
        self.retention_worker.start(&mut self.tasks);
    }

    /// Waits for the next result of a job. Never returns if no job is running.
    pub(crate) async fn next_input(&mut self) -> Input {
        loop {
            tokio::select! {
                Some(done) = self.tasks.join_next() => {
                    // A job whose task panicked has no result.
                    if let Ok(input) = done {
                        return input;
                    }
                }
                input = self.change_worker.next_input() => return input,
            }
        }
    }
}
