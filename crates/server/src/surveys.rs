//! Looks at the files of sessions: one after the other for each session.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agenthost_core::{
    ChangeErrand, ChangeTask, Effect, Failure, Input, Mark, SurveyedEdits, TerminalCommand,
    TurnPlace,
};
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{
    Changes, ChangesError, Contents, Leftover, ProtectedPaths, is_whole_edit,
};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;

/// Looks at the same time, whoever they are for.
const AT_A_TIME: usize = 8;

/// Most things that wait for a turn to begin.
const HELD: usize = 256;

/// All that looks at files of sessions, and who waits for it.
#[derive(Debug)]
pub(crate) struct Surveys {
    tasks: JoinSet<Option<Input>>,
    /// Moments that are being marked.
    marking: usize,
    changes: Arc<Changes>,
    /// Where contents of edited files are stored.
    contents: Arc<Contents>,
    room: Arc<Semaphore>,
    /// The same for what may take minutes: nobody else waits for that.
    slow: Arc<Semaphore>,
    /// Tells for each session when the last look is over.
    last: BTreeMap<Uri, oneshot::Receiver<()>>,
    /// What happens to files once it is known how they were before.
    held: BTreeMap<TurnPlace, Held>,
}

/// What happens to the files of a session when all marks are there.
#[derive(Debug, Default)]
struct Held {
    marks: usize,
    effects: Vec<Effect>,
}

impl Surveys {
    /// What is remembered is kept in a directory, and what runs is noted in
    /// another.
    pub(crate) fn new(
        directory: PathBuf,
        contents: Arc<Contents>,
        notes: &Path,
        protected: ProtectedPaths,
    ) -> Self {
        let changes = Changes::new(directory).with_notes(notes);
        Surveys {
            tasks: JoinSet::new(),
            marking: 0,
            changes: Arc::new(changes.protecting(protected)),
            contents,
            room: Arc::new(Semaphore::new(AT_A_TIME)),
            slow: Arc::new(Semaphore::new(AT_A_TIME)),
            last: BTreeMap::new(),
            held: BTreeMap::new(),
        }
    }

    /// What was in files.
    pub(crate) fn changes(&self) -> Arc<Changes> {
        Arc::clone(&self.changes)
    }

    /// Whether a moment is being marked.
    pub(crate) fn is_marking(&self) -> bool {
        self.marking > 0
    }

    /// The next thing that is known; never, if nothing has begun.
    pub(crate) async fn next(&mut self) -> Input {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(Some(input))) => {
                    if matches!(input, Input::Marked { .. }) {
                        self.marking = self.marking.saturating_sub(1);
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
    pub(crate) fn begin(&mut self, errand: ChangeErrand) {
        if let Some(place) = place_of(&errand.session, &errand.task) {
            self.held.entry(place).or_default().marks += 1;
        }
        if matches!(errand.task, ChangeTask::Mark { .. }) {
            self.marking += 1;
        }
        let (done, next) = oneshot::channel::<()>();
        if matches!(errand.task, ChangeTask::Forget) {
            self.changes.cancel_setup(&errand.session);
            // A good moment to forget those that nothing is done for any more.
            let busy =
                |last: &mut oneshot::Receiver<()>| last.try_recv() == Err(TryRecvError::Empty);
            self.last.retain(|_, last| busy(last));
        }
        let before = self.last.insert(errand.session.clone(), next);
        let changes = Arc::clone(&self.changes);
        let contents = Arc::clone(&self.contents);
        let room = match errand.task {
            ChangeTask::Operate { .. } | ChangeTask::MakeWorktree(_) | ChangeTask::Forget => {
                &self.slow
            }
            ChangeTask::Mark { .. } | ChangeTask::Compare { .. } | ChangeTask::Survey(_) => {
                &self.room
            }
        };
        let room = Arc::clone(room);
        self.tasks.spawn(async move {
            if let Some(before) = before {
                // It is over when its sender is gone, however it went.
                before.await.unwrap_or_default();
            }
            // Nobody closes it.
            let permit = room.acquire_owned().await.ok();
            let broken = lost(&errand);
            let looked =
                tokio::task::spawn_blocking(move || look(&changes, &contents, errand)).await;
            drop((permit, done));
            looked.unwrap_or(broken)
        });
    }

    /// Keeps what a turn does until it is known how the files were before. What
    /// need not wait comes back.
    pub(crate) fn hold(&mut self, effect: Effect) -> Option<Effect> {
        // Mostly nothing waits.
        if self.held.is_empty() {
            return Some(effect);
        }
        let place = match &effect {
            Effect::Agent {
                session, command, ..
            } => command.chat().map(|chat| TurnPlace {
                session: session.clone(),
                chat: chat.clone(),
            }),
            Effect::Terminal { place, .. } => place.clone(),
            _ => None,
        };
        let Some(held) = place.and_then(|place| self.held.get_mut(&place)) else {
            return Some(effect);
        };
        // There are few things that can be asked of a turn that has not begun,
        // but anything may be typed.
        if held.effects.len() < HELD || !is_typed(&effect) {
            held.effects.push(effect);
        }
        None
    }

    /// A moment was marked: what waited for it need not wait any more.
    pub(crate) fn release(&mut self, input: &Input) -> Vec<Effect> {
        let Input::Marked {
            session,
            mark: Mark::Before(turn),
            ..
        } = input
        else {
            return Vec::new();
        };
        let place = TurnPlace {
            session: session.clone(),
            chat: turn.chat.clone(),
        };
        let Some(held) = self.held.get_mut(&place) else {
            return Vec::new();
        };
        held.marks = held.marks.saturating_sub(1);
        if held.marks > 0 {
            return Vec::new();
        }
        self.held.remove(&place).unwrap_or_default().effects
    }
}

/// The turn that waits for a task.
fn place_of(session: &Uri, task: &ChangeTask) -> Option<TurnPlace> {
    match task {
        ChangeTask::Mark {
            mark: Mark::Before(turn),
            ..
        } => Some(TurnPlace {
            session: session.clone(),
            chat: turn.chat.clone(),
        }),
        _ => None,
    }
}

fn is_typed(effect: &Effect) -> bool {
    match effect {
        Effect::Terminal { command, .. } => matches!(
            **command,
            TerminalCommand::Type(_) | TerminalCommand::Resize { .. }
        ),
        _ => false,
    }
}

/// Does what is asked. Waits for the disk, and for git.
fn look(changes: &Changes, contents: &Contents, errand: ChangeErrand) -> Option<Input> {
    let ChangeErrand {
        session,
        directories,
        task,
    } = errand;
    Some(match task {
        ChangeTask::Mark { mark, chat_began } => {
            let marked = changes.mark(&session, &directories, &mark, chat_began.as_ref());
            if let Err(error) = &marked {
                tracing::info!(%session, %error, "changes of files are not tracked");
            }
            Input::Marked {
                session,
                mark,
                outcome: Box::new(marked.map_err(Failure::from)),
            }
        }
        ChangeTask::Compare { channel, span } => {
            let compared = changes.compare(&session, &directories, &span);
            Input::Compared {
                channel,
                outcome: Box::new(compared.map_err(Failure::from)),
            }
        }
        ChangeTask::Survey(survey) => {
            let edits = changes.survey(&session, &directories, &survey, contents);
            if let Err(error) = &edits {
                tracing::info!(%session, %error, "edits of files are not reported");
            }
            let confirmed = survey.claimed.into_iter().filter(is_whole_edit);
            Input::Surveyed {
                turn: survey.turn,
                surveyed: Box::new(SurveyedEdits {
                    edits: edits.unwrap_or_default(),
                    confirmed: confirmed.collect(),
                }),
            }
        }
        ChangeTask::Operate { name, wanted } => {
            let done = changes.operate(&session, &directories, &wanted);
            Input::Operated {
                wanted,
                name,
                outcome: done.map_err(Failure::from),
            }
        }
        ChangeTask::MakeWorktree(wish) => {
            let made = match directories.first() {
                Some(folder) => changes.make_worktree(&session, folder, &wish),
                None => Err(ChangesError::NoFolder),
            };
            Input::WorktreeMade {
                session,
                outcome: made.map_err(Failure::from),
            }
        }
        ChangeTask::Forget => {
            match changes.drop_worktree(&session) {
                Ok(Leftover::Nothing) => {}
                Ok(Leftover::Kept(what)) => tracing::warn!(%session, "kept: {what}"),
                Err(error) => tracing::warn!(%session, %error, "a worktree is still there"),
            }
            if let Err(error) = changes.forget(&session) {
                tracing::warn!(%session, %error, "what was kept of a session is still there");
            }
            return None;
        }
    })
}

/// What is said when looking broke.
fn lost(errand: &ChangeErrand) -> Option<Input> {
    let broken = || Failure::Failed("something broke on the way".to_owned());
    Some(match &errand.task {
        ChangeTask::Mark { mark, .. } => Input::Marked {
            session: errand.session.clone(),
            mark: mark.clone(),
            outcome: Box::new(Err(broken())),
        },
        ChangeTask::Compare { channel, .. } => Input::Compared {
            channel: channel.clone(),
            outcome: Box::new(Err(broken())),
        },
        ChangeTask::Survey(survey) => Input::Surveyed {
            turn: survey.turn.clone(),
            surveyed: Box::default(),
        },
        ChangeTask::Operate { name, wanted } => Input::Operated {
            wanted: wanted.clone(),
            name: name.clone(),
            outcome: Err(broken()),
        },
        ChangeTask::MakeWorktree(_) => Input::WorktreeMade {
            session: errand.session.clone(),
            outcome: Err(broken()),
        },
        ChangeTask::Forget => return None,
    })
}
