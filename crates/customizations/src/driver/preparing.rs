//! Turns that are about to begin, and hooks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agenthost_core::customizing::{CustomizationEvent, Preparation, Prepared};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use tokio::time::Instant;

use super::task::{Done as TaskDone, HookKey, Session, Task};
use crate::hooks::{Occasion, Outcome, ReadyHook, Surroundings, run};
use crate::parse::{Detail, Hook};
use crate::sources::{Settings, to_allow};
use crate::turns::{Effective, View};

/// How long a turn waits for what is still being read.
const PATIENCE: Duration = Duration::from_secs(10);

/// A turn that can begin, or must not.
pub(super) struct Done {
    session: Uri,
    chat: Uri,
    turn: TurnId,
    outcome: Box<Result<Prepared, String>>,
}

impl Task {
    /// A turn is about to begin.
    pub(super) fn prepare(&mut self, preparation: Box<Preparation>) {
        match self.sessions.get_mut(&preparation.session) {
            Some(session) => {
                let until = Instant::now() + PATIENCE;
                session.waiting.push((preparation, until));
                self.prepare_waiting(Instant::now());
            }
            // Nobody asked what it has: then it needs nothing.
            None => self.prepared(Done {
                session: preparation.session.clone(),
                chat: preparation.chat.clone(),
                turn: preparation.turn.clone(),
                outcome: Box::new(Ok(Prepared::default())),
            }),
        }
    }

    /// Goes on with turns for which all is read, or that waited long enough.
    pub(super) fn prepare_waiting(&mut self, now: Instant) {
        let mut ready = Vec::new();
        let sessions = self.sessions.iter();
        let waiting: Vec<Uri> = sessions
            .filter(|(_, session)| !session.waiting.is_empty())
            .map(|(uri, _)| uri.clone())
            .collect();
        for uri in waiting {
            let all_read = self.sessions.get(&uri).is_some_and(|it| self.is_read(it));
            if let Some(session) = self.sessions.get_mut(&uri) {
                let waiting = std::mem::take(&mut session.waiting);
                for (preparation, until) in waiting {
                    match all_read || until <= now {
                        true => ready.push(preparation),
                        false => session.waiting.push((preparation, until)),
                    }
                }
            }
        }
        for preparation in ready {
            self.begin(preparation);
        }
    }

    /// A turn can begin, or must not.
    pub(super) fn prepared(&mut self, done: Done) {
        if let Some(session) = self.sessions.get_mut(&done.session) {
            let turn = (done.chat.clone(), done.turn.clone());
            session.preparing.remove(&turn);
        }
        let event = CustomizationEvent::Prepared {
            chat: done.chat,
            turn: done.turn,
            outcome: done.outcome,
        };
        self.tell(&done.session, event);
    }

    /// A turn is over, perhaps before it has begun.
    pub(super) fn turn_ended(&mut self, session: &Uri, chat: Uri, turn: TurnId) {
        let Some(known) = self.sessions.get_mut(session) else {
            return;
        };
        known
            .waiting
            .retain(|(preparation, _)| (&preparation.chat, &preparation.turn) != (&chat, &turn));
        if let Some(preparing) = known.preparing.remove(&(chat, turn)) {
            preparing.abort();
        }
        if known.begun {
            self.run_beside(session, Occasion::stop);
        }
    }

    /// A session is over.
    pub(super) fn session_ended(&mut self, session: &Uri) {
        let Some(known) = self.sessions.get_mut(session) else {
            return;
        };
        known.waiting.clear();
        for preparing in std::mem::take(&mut known.preparing).into_values() {
            preparing.abort();
        }
        known.tools.end();
        if known.begun {
            self.run_beside(session, Occasion::session_end);
        }
    }

    /// Whether all is known that a session has.
    fn is_read(&self, session: &Session) -> bool {
        let mut shelves = session.shelves.iter();
        let mut packages = session.packages.iter();
        session.told.is_some()
            && shelves.all(|key| {
                let shelf = self.shelves.get(key);
                shelf.is_none_or(|shelf| shelf.parsed.is_some())
            })
            && packages.all(|(key, _)| {
                let package = self.packages.get(key);
                package.is_none_or(super::clients::ClientPackage::is_known)
            })
    }

    fn begin(&mut self, preparation: Box<Preparation>) {
        let Some(view) = self.view(&preparation.session) else {
            return;
        };
        let hooks = self.ready_hooks(&preparation.session, &view);
        // Before it is told that the turn can begin.
        self.tell_tool_hooks(&preparation.session, &hooks);
        let directory = directory_of(&view);
        let around = self.surroundings();
        let name = preparation.session.as_str().to_owned();
        let Some(session) = self.sessions.get_mut(&preparation.session) else {
            return;
        };
        let mut occasions = Vec::new();
        if !session.begun {
            session.begun = true;
            occasions.push(Occasion::session_start(&name, &directory));
        }
        occasions.push(Occasion::prompt(&name, &directory, &preparation.text));
        let remarks = session.tools.take_remarks(&preparation.chat);
        let turn = (preparation.chat.clone(), preparation.turn.clone());
        let handle = self.work.spawn(async move {
            let outcome = match view.prepare(&preparation) {
                Ok(prepared) => with_hooks(prepared, remarks, &hooks, &occasions, &around).await,
                Err(why) => Err(why),
            };
            TaskDone::Prepared(Box::new(Done {
                session: preparation.session,
                chat: preparation.chat,
                turn: preparation.turn,
                outcome: Box::new(outcome),
            }))
        });
        session.preparing.insert(turn, handle);
    }

    /// Runs hooks that nothing waits for.
    fn run_beside(&mut self, session: &Uri, occasion: fn(&str, &Path) -> Occasion) {
        let Some(view) = self.view(session) else {
            return;
        };
        let hooks = self.ready_hooks(session, &view);
        let occasion = occasion(session.as_str(), &directory_of(&view));
        let around = self.surroundings();
        self.work.spawn(async move {
            run(&hooks, &occasion, &around).await;
            TaskDone::Nothing
        });
    }

    /// What all hooks have around them.
    pub(super) fn surroundings(&self) -> Surroundings {
        Surroundings {
            environment: self.settings.environment.clone(),
            notes: self.notes.clone(),
        }
    }

    /// Hooks that are on, of containers whose code may run.
    pub(super) fn ready_hooks(&mut self, session: &Uri, view: &View) -> Vec<ReadyHook> {
        let workspace = view.directories.first().map(PathBuf::as_path);
        let directory = directory_of(view);
        let mut ready = Vec::new();
        let Some(known) = self.sessions.get_mut(session) else {
            return ready;
        };
        for (key, effective, hooks) in runnable(&self.settings, view) {
            let stop = known.hook_stops.entry(key).or_default();
            let names = effective
                .definition
                .names(&self.settings, &self.data, workspace);
            for hook in hooks {
                let mut environment = names.own_environment();
                environment.extend(hook.environment.iter().cloned());
                let own = hook.directory.as_deref();
                ready.push(ReadyHook {
                    hook: hook.clone(),
                    environment,
                    directory: own.map_or(directory.clone(), |own| directory.join(own)),
                    stop: stop.clone(),
                });
            }
        }
        ready
    }

    /// Stops hooks of a session that run and must not any more: they were
    /// turned off, their approval was taken back, or their plugin is gone.
    pub(super) fn stop_hooks(&mut self, session: &Uri) {
        let Some(view) = self.view(session) else {
            return;
        };
        let runnable = runnable(&self.settings, &view);
        let keys: BTreeSet<HookKey> = runnable.into_iter().map(|(key, ..)| key).collect();
        if let Some(known) = self.sessions.get_mut(session) {
            known.hook_stops.retain(|key, stop| {
                let stays = keys.contains(key);
                if !stays {
                    stop.cancel();
                }
                stays
            });
        }
    }
}

/// Items with hooks that may run: they are on, and the code of their container
/// is allowed.
fn runnable<'a>(settings: &Settings, view: &'a View) -> Vec<(HookKey, Effective<'a>, &'a [Hook])> {
    let mut all = Vec::new();
    for effective in view.effective() {
        let Detail::Hooks(hooks) = &effective.item.detail else {
            continue;
        };
        // The approval has to be that of this very container: a client chooses
        // ids, so another one may have the same.
        if to_allow(settings, effective.definition, effective.parsed).is_some() {
            continue;
        }
        let container = effective.definition.id.clone();
        let key = (container, effective.item.child.id().cloned());
        all.push((key, effective, hooks.as_slice()));
    }
    all
}

/// Adds what hooks have to say, now and since the last turn; one of them may
/// refuse.
async fn with_hooks(
    prepared: Prepared,
    remarks: Option<String>,
    hooks: &[ReadyHook],
    occasions: &[Occasion],
    around: &Surroundings,
) -> Result<Prepared, String> {
    let mut all = Vec::from_iter(remarks);
    for occasion in occasions {
        let said: Outcome = run(hooks, occasion, around).await;
        if let Some(refusal) = said.refusal {
            return Err(refusal);
        }
        all.extend(Some(said.context).filter(|context| !context.is_empty()));
    }
    Ok(Prepared {
        context: (!all.is_empty()).then(|| all.join("\n\n")),
        ..prepared
    })
}

/// Where hooks of a session start.
pub(super) fn directory_of(view: &View) -> PathBuf {
    let first = view.directories.first().or(view.home.as_ref());
    first.cloned().unwrap_or_else(|| PathBuf::from("/"))
}
