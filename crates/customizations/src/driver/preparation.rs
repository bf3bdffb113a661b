//! Prepares turns (rules, commands, hook results) and runs the hooks of sessions and turns.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agenthost_core::customization::driver::{
    CustomizationEvent, PreparationError, PreparedTurn, TurnPreparation,
};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use tokio::time::Instant;

use super::task::{DriverTask, HookKey, TrackedSession, WorkDone as TaskDone};
use crate::hooks::{HookEnvironment, HookInvocation, HookOutcome, ResolvedHook, run_hooks};
use crate::parse::{DeclaredHook, ItemDetail};
use crate::sources::{CustomizationSettings, unapproved_code_key};
use crate::turn_view::{EnabledItem, SessionView};

/// Timeout for containers and packages that are still being read when a turn begins. After
/// it, the turn is prepared without them.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(10);

/// The result of a preparation: the turn can begin, or is denied.
pub(super) struct PreparationDone {
    session: Uri,
    chat: Uri,
    turn: TurnId,
    outcome: Result<PreparedTurn, PreparationError>,
}

impl DriverTask {
    /// Queues the preparation of a turn until the session's containers have been read.
    pub(super) fn queue_preparation(&mut self, preparation: Box<TurnPreparation>) {
        match self.sessions.get_mut(&preparation.session) {
            Some(session) => {
                let deadline = Instant::now() + PREPARE_TIMEOUT;
                session.pending_turns.push((preparation, deadline));
                self.prepare_ready_turns(Instant::now());
            }
            // An untracked session has no customizations, so its turns need no preparation.
            None => self.handle_prepared(PreparationDone {
                session: preparation.session.clone(),
                chat: preparation.chat.clone(),
                turn: preparation.turn.clone(),
                outcome: Ok(PreparedTurn::default()),
            }),
        }
    }

    /// Starts the preparations of turns after all containers have been read or the timeout
    /// has expired.
    pub(super) fn prepare_ready_turns(&mut self, now: Instant) {
        let mut ready = Vec::new();
        let sessions = self.sessions.iter();
        let waiting: Vec<Uri> = sessions
            .filter(|(_, session)| !session.pending_turns.is_empty())
            .map(|(uri, _)| uri.clone())
            .collect();
        for uri in waiting {
            let all_read = self
                .sessions
                .get(&uri)
                .is_some_and(|it| self.is_fully_read(it));
            if let Some(session) = self.sessions.get_mut(&uri) {
                let waiting = std::mem::take(&mut session.pending_turns);
                for (preparation, deadline) in waiting {
                    match all_read || deadline <= now {
                        true => ready.push(preparation),
                        false => session.pending_turns.push((preparation, deadline)),
                    }
                }
            }
        }
        for preparation in ready {
            self.start_preparation(preparation);
        }
    }

    /// Handles the result of a preparation, and reports it to the host.
    pub(super) fn handle_prepared(&mut self, done: PreparationDone) {
        if let Some(session) = self.sessions.get_mut(&done.session) {
            let turn = (done.chat.clone(), done.turn.clone());
            session.running_preparations.remove(&turn);
        }
        let event = CustomizationEvent::TurnPrepared {
            chat: done.chat,
            turn: done.turn,
            outcome: Box::new(done.outcome),
        };
        self.push_event(&done.session, event);
    }

    /// Handles the end of a turn: cancels its preparation, and runs the `Stop` hooks.
    pub(super) fn handle_turn_ended(&mut self, session: &Uri, chat: Uri, turn: TurnId) {
        let Some(known) = self.sessions.get_mut(session) else {
            return;
        };
        known
            .pending_turns
            .retain(|(preparation, _)| (&preparation.chat, &preparation.turn) != (&chat, &turn));
        if let Some(preparing) = known.running_preparations.remove(&(chat, turn)) {
            preparing.abort();
        }
        if known.has_started {
            self.spawn_hooks(session, HookInvocation::stop);
        }
    }

    /// Handles the end of a session: cancels its pending work, and runs the `SessionEnd`
    /// hooks.
    pub(super) fn handle_session_ended(&mut self, session: &Uri) {
        let Some(known) = self.sessions.get_mut(session) else {
            return;
        };
        known.pending_turns.clear();
        for preparing in std::mem::take(&mut known.running_preparations).into_values() {
            preparing.abort();
        }
        known.tool_hooks.abort_all();
        if known.has_started {
            self.spawn_hooks(session, HookInvocation::session_end);
        }
    }

    /// Returns `true` if all containers and packages of a session have been read.
    fn is_fully_read(&self, session: &TrackedSession) -> bool {
        let mut shelves = session.containers.iter();
        let mut packages = session.packages.iter();
        session.published.is_some()
            && shelves.all(|key| {
                let shelf = self.containers.get(key);
                shelf.is_none_or(|shelf| shelf.parsed.is_some())
            })
            && packages.all(|(key, _)| {
                let package = self.packages.get(key);
                package.is_none_or(super::client_packages::ClientPackage::is_read)
            })
    }

    fn start_preparation(&mut self, preparation: Box<TurnPreparation>) {
        let Some(view) = self.session_view(&preparation.session) else {
            return;
        };
        let hooks = self.resolve_hooks(&preparation.session, &view);
        // The host must receive the hook phases before it receives `TurnPrepared`.
        self.sync_tool_hooks(&preparation.session, &hooks);
        let directory = hook_directory(&view);
        let environment = self.hook_environment();
        let name = preparation.session.as_str().to_owned();
        let Some(session) = self.sessions.get_mut(&preparation.session) else {
            return;
        };
        let mut invocations = Vec::new();
        if !session.has_started {
            session.has_started = true;
            invocations.push(HookInvocation::session_start(&name, &directory));
        }
        invocations.push(HookInvocation::prompt(&name, &directory, &preparation.text));
        let remarks = session.tool_hooks.take_remarks(&preparation.chat);
        let turn = (preparation.chat.clone(), preparation.turn.clone());
        let handle = self.work.spawn(async move {
            let outcome = match view.prepare_turn(&preparation) {
                Ok(prepared) => {
                    run_preparation_hooks(prepared, remarks, &hooks, &invocations, &environment)
                        .await
                }
                Err(why) => Err(why),
            };
            TaskDone::TurnPrepared(Box::new(PreparationDone {
                session: preparation.session,
                chat: preparation.chat,
                turn: preparation.turn,
                outcome,
            }))
        });
        session.running_preparations.insert(turn, handle);
    }

    /// Runs hooks in the background, where no turn waits for their result.
    fn spawn_hooks(&mut self, session: &Uri, occasion: fn(&str, &Path) -> HookInvocation) {
        let Some(view) = self.session_view(session) else {
            return;
        };
        let hooks = self.resolve_hooks(session, &view);
        let occasion = occasion(session.as_str(), &hook_directory(&view));
        let environment = self.hook_environment();
        self.work.spawn(async move {
            run_hooks(&hooks, &occasion, &environment).await;
            TaskDone::Nothing
        });
    }

    /// Returns the environment that all hooks share.
    pub(super) fn hook_environment(&self) -> HookEnvironment {
        HookEnvironment {
            environment: self.settings.environment.clone(),
            pid_dir: self.pid_dir.clone(),
        }
    }

    /// Returns the enabled hooks of containers with approved code, with their environment
    /// and working directory.
    pub(super) fn resolve_hooks(&mut self, session: &Uri, view: &SessionView) -> Vec<ResolvedHook> {
        let workspace = view.directories.first().map(PathBuf::as_path);
        let directory = hook_directory(view);
        let mut ready = Vec::new();
        let Some(known) = self.sessions.get_mut(session) else {
            return ready;
        };
        for (key, effective, hooks) in runnable_hooks(&self.settings, view) {
            let stop = known.hook_stops.entry(key).or_default();
            let names =
                effective
                    .definition
                    .placeholder_values(&self.settings, &self.data, workspace);
            for hook in hooks {
                let mut environment = names.package_environment();
                environment.extend(hook.environment.iter().cloned());
                let own = hook.directory.as_deref();
                ready.push(ResolvedHook {
                    hook: hook.clone(),
                    environment,
                    directory: own.map_or(directory.clone(), |own| directory.join(own)),
                    stop: stop.clone(),
                });
            }
        }
        ready
    }

    /// Stops running hooks of a session that are no longer permitted: they were disabled,
    /// their approval was revoked, or their plugin was removed.
    pub(super) fn stop_disallowed_hooks(&mut self, session: &Uri) {
        let Some(view) = self.session_view(session) else {
            return;
        };
        let runnable = runnable_hooks(&self.settings, &view);
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

/// Returns the items with hooks that may run: the items are enabled, and the code of their
/// container is approved.
fn runnable_hooks<'a>(
    settings: &CustomizationSettings,
    view: &'a SessionView,
) -> Vec<(HookKey, EnabledItem<'a>, &'a [DeclaredHook])> {
    let mut all = Vec::new();
    for effective in view.enabled_items() {
        let ItemDetail::Hooks(hooks) = &effective.item.detail else {
            continue;
        };
        // The approval must belong to this container: clients choose ids, so another
        // container may have the same id.
        if unapproved_code_key(settings, effective.definition, effective.parsed).is_some() {
            continue;
        }
        let container = effective.definition.id.clone();
        let key = (container, effective.item.child.id().cloned());
        all.push((key, effective, hooks.as_slice()));
    }
    all
}

/// Adds the hooks' context to a prepared turn, including remarks since the last turn. A
/// hook can deny the turn.
async fn run_preparation_hooks(
    prepared: PreparedTurn,
    remarks: Option<String>,
    hooks: &[ResolvedHook],
    invocations: &[HookInvocation],
    environment: &HookEnvironment,
) -> Result<PreparedTurn, PreparationError> {
    let mut all = Vec::from_iter(remarks);
    for occasion in invocations {
        let outcome: HookOutcome = run_hooks(hooks, occasion, environment).await;
        if let Some(refusal) = outcome.refusal {
            return Err(PreparationError::Denied(refusal.to_string()));
        }
        all.extend(Some(outcome.context).filter(|context| !context.is_empty()));
    }
    Ok(PreparedTurn {
        context: (!all.is_empty()).then(|| all.join("\n\n")),
        ..prepared
    })
}

/// Returns the working directory for the hooks of a session.
pub(super) fn hook_directory(view: &SessionView) -> PathBuf {
    let first = view.directories.first().or(view.home.as_ref());
    first.cloned().unwrap_or_else(|| PathBuf::from("/"))
}
