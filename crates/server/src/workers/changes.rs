//! Looks at the files of sessions: one after the other for each session.

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

/// Looks at the same time, whoever they are for.
const MAX_CHANGE_JOBS: usize = 8;

/// All that looks at files of sessions, and who waits for it.
#[derive(Debug)]
pub(crate) struct ChangeWorker {
    tasks: JoinSet<Option<Input>>,
    /// Moments that are being marked.
    open_checkpoints: usize,
    tracker: Arc<ChangeTracker>,
    /// Where contents of edited files are stored.
    contents: Arc<ContentStore>,
    permits: Arc<Semaphore>,
    /// The same for what may take minutes: nobody else waits for that.
    slow_permits: Arc<Semaphore>,
    /// Tells for each session when the last look is over.
    previous: BTreeMap<Uri, oneshot::Receiver<()>>,
}

impl ChangeWorker {
    /// What is remembered is kept in a directory, and what runs is noted in
    /// another.
    pub(crate) fn new(
        directory: PathBuf,
        contents: Arc<ContentStore>,
        pid_dir: &Path,
        protected: ProtectedPaths,
    ) -> Self {
        let changes = ChangeTracker::new(directory).with_pid_dir(pid_dir);
        ChangeWorker {
            tasks: JoinSet::new(),
            open_checkpoints: 0,
            tracker: Arc::new(changes.with_protected_paths(protected)),
            contents,
            permits: Arc::new(Semaphore::new(MAX_CHANGE_JOBS)),
            slow_permits: Arc::new(Semaphore::new(MAX_CHANGE_JOBS)),
            previous: BTreeMap::new(),
        }
    }

    /// What was in files.
    pub(crate) fn tracker(&self) -> Arc<ChangeTracker> {
        Arc::clone(&self.tracker)
    }

    /// Whether a moment is being marked.
    pub(crate) fn has_open_checkpoints(&self) -> bool {
        self.open_checkpoints > 0
    }

    /// The next thing that is known; never, if nothing has begun.
    pub(crate) async fn next_input(&mut self) -> Input {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(Some(input))) => {
                    if matches!(input, Input::CheckpointTaken { .. }) {
                        self.open_checkpoints = self.open_checkpoints.saturating_sub(1);
                    }
                    return input;
                }
                // Nothing comes of it.
                Some(Ok(None) | Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Looks at files when all that was asked for the same session is done.
    pub(crate) fn submit(&mut self, job: ChangeJob) {
        if matches!(job.task, ChangeTask::TakeCheckpoint { .. }) {
            self.open_checkpoints += 1;
        }
        let (done, next) = oneshot::channel::<()>();
        if matches!(job.task, ChangeTask::ForgetSession) {
            self.tracker.cancel_setup(&job.session);
            // A good moment to forget those that nothing is done for any more.
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
            | ChangeTask::ForgetSession => &self.slow_permits,
            ChangeTask::TakeCheckpoint { .. }
            | ChangeTask::ComputeDiff { .. }
            | ChangeTask::SurveyEdits(_) => &self.permits,
        };
        let room = Arc::clone(room);
        self.tasks.spawn(async move {
            if let Some(previous) = previous {
                // It is over when its sender is gone, however it went.
                previous.await.ignore_elapsed();
            }
            // Nobody closes it.
            let permit = room.acquire_owned().await.ok();
            let failure = failed_input(&job);
            let outcome =
                tokio::task::spawn_blocking(move || run_job(&changes, &contents, job)).await;
            drop((permit, done));
            outcome.unwrap_or(failure)
        });
    }
}

/// Does what is asked. Waits for the disk, and for git.
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
                tracing::info!(%session, %error, "changes of files are not tracked");
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
                tracing::info!(%session, %error, "edits of files are not reported");
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
        ChangeTask::ForgetSession => {
            match tracker.remove_worktree(&session) {
                Ok(WorktreeRemoval::Removed) => {}
                Ok(WorktreeRemoval::Kept(what)) => tracing::warn!(%session, "kept: {what}"),
                Err(error) => tracing::warn!(%session, %error, "a worktree is still there"),
            }
            if let Err(error) = tracker.remove_session(&session) {
                tracing::warn!(%session, %error, "what was kept of a session is still there");
            }
            return None;
        }
    })
}

/// What is said when looking broke.
fn failed_input(job: &ChangeJob) -> Option<Input> {
    let failure = || RequestFailure::Internal("something broke on the way".to_owned());
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
        ChangeTask::ForgetSession => return None,
    })
}
