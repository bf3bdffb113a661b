//! Takes checkpoints, computes diffs and runs changeset operations, one job at a time for each
//! session.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agenthost_core::{ChangeJob, ChangeTask, Input, RequestFailure, SurveyedEdits};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_workspace::{
    ChangeTracker, ChangesError, ContentStore, ProtectedPaths, WorktreeRemoval, is_whole_edit,
};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;

/// Limit on concurrent jobs of all sessions, for quick jobs and for slow ones each.
const MAX_CHANGE_JOBS: usize = 8;

/// Runs the jobs of the change tracker, those of one session in order.
#[derive(Debug)]
pub(crate) struct ChangeWorker {
    tasks: JoinSet<JobOutcome>,
    /// Jobs that a stopping host waits for and that have not ended: files can't be captured later,
    /// and the data of a removed session must not stay.
    awaited_jobs: usize,
    tracker: Arc<ChangeTracker>,
    /// The content store for the contents of edited files.
    contents: Arc<ContentStore>,
    permits: Arc<Semaphore>,
    /// Permits for jobs that may take minutes. They are separate, so that quick jobs never wait
    /// for slow ones.
    slow_permits: Arc<Semaphore>,
    /// A receiver for each session that is closed when the latest job of the session has ended.
    previous: BTreeMap<Uri, oneshot::Receiver<()>>,
}

/// The end of a job.
#[derive(Debug)]
struct JobOutcome {
    input: Option<Input>,
    is_awaited: bool,
}

impl ChangeWorker {
    /// Creates the worker. The change tracker stores its data in `directory` and the pid files
    /// of its processes in `pid_dir`.
    pub(crate) fn new(
        directory: PathBuf,
        contents: Arc<ContentStore>,
        pid_dir: &Path,
        protected: ProtectedPaths,
    ) -> Self {
        let changes = ChangeTracker::new(directory).with_pid_dir(pid_dir);
        ChangeWorker {
            tasks: JoinSet::new(),
            awaited_jobs: 0,
            tracker: Arc::new(changes.with_protected_paths(protected)),
            contents,
            permits: Arc::new(Semaphore::new(MAX_CHANGE_JOBS)),
            slow_permits: Arc::new(Semaphore::new(MAX_CHANGE_JOBS)),
            previous: BTreeMap::new(),
        }
    }

    /// Returns the change tracker, which other parts of the server share.
    pub(crate) fn tracker(&self) -> Arc<ChangeTracker> {
        Arc::clone(&self.tracker)
    }

    /// Waits for the next result of a job. Never returns if no job is running.
    pub(crate) async fn next_input(&mut self) -> Input {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(outcome)) => {
                    if let Some(input) = self.finish_job(outcome) {
                        return input;
                    }
                }
                // The task was cancelled.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Waits for the next result of a job. Returns `None` when all jobs have ended that a stopping
    /// host waits for.
    pub(crate) async fn next_awaited_input(&mut self) -> Option<Input> {
        while self.awaited_jobs > 0 {
            // A cancelled task has no result.
            if let Ok(outcome) = self.tasks.join_next().await?
                && let Some(input) = self.finish_job(outcome)
            {
                return Some(input);
            }
        }
        None
    }

    fn finish_job(&mut self, outcome: JobOutcome) -> Option<Input> {
        if outcome.is_awaited {
            self.awaited_jobs = self.awaited_jobs.saturating_sub(1);
        }
        outcome.input
    }

    /// Queues a job behind the earlier jobs of the same session.
    pub(crate) fn submit(&mut self, job: ChangeJob) {
        let is_awaited = matches!(
            job.task,
            ChangeTask::TakeCheckpoint { .. } | ChangeTask::ForgetSession { .. }
        );
        if is_awaited {
            self.awaited_jobs += 1;
        }
        let (done, next) = oneshot::channel::<()>();
        if matches!(job.task, ChangeTask::ForgetSession { .. }) {
            self.tracker.cancel_setup(&job.session);
            // Sessions without running jobs are removed here, so that the map does not grow.
            let busy =
                |last: &mut oneshot::Receiver<()>| last.try_recv() == Err(TryRecvError::Empty);
            self.previous.retain(|_, last| busy(last));
        }
        let previous = self.previous.insert(job.session.clone(), next);
        let changes = Arc::clone(&self.tracker);
        let contents = Arc::clone(&self.contents);
        let room = match job.task {
            ChangeTask::RunOperation { .. }
            | ChangeTask::CreateWorktree(_)
            | ChangeTask::ForgetSession { .. } => &self.slow_permits,
            ChangeTask::TakeCheckpoint { .. }
            | ChangeTask::ComputeDiff { .. }
            | ChangeTask::SurveyEdits(_) => &self.permits,
        };
        let room = Arc::clone(room);
        self.tasks.spawn(async move {
            if let Some(previous) = previous {
                // The sender is dropped when the job has ended, also by a panic.
                previous.await.ignore_elapsed();
            }
            // The semaphore is never closed.
            let permit = room.acquire_owned().await.ok();
            let failure = failed_input(&job);
            let outcome =
                tokio::task::spawn_blocking(move || run_job(&changes, &contents, job)).await;
            drop((permit, done));
            JobOutcome {
                input: outcome.unwrap_or(failure),
                is_awaited,
            }
        });
    }
}

/// Runs a job. Blocks on the disk and on git.
fn run_job(tracker: &ChangeTracker, contents: &ContentStore, job: ChangeJob) -> Option<Input> {
    let ChangeJob {
        session,
        directories,
        task,
    } = job;
    Some(match task {
        ChangeTask::TakeCheckpoint {
            checkpoint: mark,
            chat_start: chat_began,
        } => {
            let marked =
                tracker.take_checkpoint(&session, &directories, &mark, chat_began.as_ref());
            if let Err(error) = &marked {
                tracing::info!(%session, %error, "failed to take a checkpoint");
            }
            Input::CheckpointTaken {
                session,
                checkpoint: mark,
                outcome: Box::new(marked.map_err(RequestFailure::from)),
            }
        }
        ChangeTask::ComputeDiff {
            channel,
            range: span,
        } => {
            let compared = tracker.diff(&session, &directories, &span);
            Input::DiffComputed {
                channel,
                outcome: Box::new(compared.map_err(RequestFailure::from)),
            }
        }
        ChangeTask::SurveyEdits(survey) => {
            let edits = tracker.survey_edits(&session, &directories, &survey, contents);
            if let Err(error) = &edits {
                tracing::info!(%session, %error, "failed to compare files after a tool call");
            }
            let confirmed = survey.claimed.into_iter().filter(is_whole_edit);
            Input::EditsSurveyed {
                turn: survey.turn,
                edits: Box::new(SurveyedEdits {
                    edits: edits.unwrap_or_default(),
                    confirmed: confirmed.collect(),
                }),
            }
        }
        ChangeTask::RunOperation {
            operation_id: name,
            request: wanted,
        } => {
            let done = tracker.run_operation(&session, &directories, &wanted);
            Input::OperationFinished {
                request: wanted,
                operation_id: name,
                outcome: done.map_err(RequestFailure::from),
            }
        }
        ChangeTask::CreateWorktree(wish) => {
            let made = match directories.first() {
                Some(folder) => tracker.create_worktree(&session, folder, &wish),
                None => Err(ChangesError::NoFolder),
            };
            Input::WorktreeCreated {
                session,
                outcome: made.map_err(RequestFailure::from),
            }
        }
        ChangeTask::ForgetSession { worktree } => {
            match tracker.remove_worktree(&session, worktree) {
                Ok(WorktreeRemoval::Removed) => {}
                Ok(WorktreeRemoval::Kept(reason)) => {
                    tracing::warn!(%session, reason, "kept a worktree or its branch");
                }
                Err(error) => tracing::warn!(%session, %error, "failed to remove a worktree"),
            }
            if let Err(error) = tracker.remove_session(&session) {
                tracing::warn!(%session, %error, "failed to remove the checkpoints of a session");
            }
            return None;
        }
    })
}

/// Builds the input that reports a job whose task panicked.
fn failed_input(job: &ChangeJob) -> Option<Input> {
    let failure = || RequestFailure::Internal("internal error: a worker task panicked".to_owned());
    Some(match &job.task {
        ChangeTask::TakeCheckpoint {
            checkpoint: mark, ..
        } => Input::CheckpointTaken {
            session: job.session.clone(),
            checkpoint: mark.clone(),
            outcome: Box::new(Err(failure())),
        },
        ChangeTask::ComputeDiff { channel, .. } => Input::DiffComputed {
            channel: channel.clone(),
            outcome: Box::new(Err(failure())),
        },
        ChangeTask::SurveyEdits(survey) => Input::EditsSurveyed {
            turn: survey.turn.clone(),
            edits: Box::default(),
        },
        ChangeTask::RunOperation {
            operation_id: name,
            request: wanted,
        } => Input::OperationFinished {
            request: wanted.clone(),
            operation_id: name.clone(),
            outcome: Err(failure()),
        },
        ChangeTask::CreateWorktree(_) => Input::WorktreeCreated {
            session: job.session.clone(),
            outcome: Err(failure()),
        },
        ChangeTask::ForgetSession { .. } => return None,
    })
}
