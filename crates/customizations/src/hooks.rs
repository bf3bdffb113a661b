//! Running hooks.
//!
//! A hook is code: it is run only if its container is trusted, in a process
//! group of its own that ends when its time is up or nobody waits any more. If
//! the host is killed, the next one ends it. Neither what it is told nor what it
//! says is ever logged.

mod answer;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agenthost_core::tool_use::{ToolMoment, ToolUse};
use agenthost_workspace::{RUN_VARIABLE, RunMark, RunningNote};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::matcher;
use crate::parse::{Hook, HookEvent};
use answer::Said;

/// Most bytes of what a hook says that are kept.
pub(crate) const OUTPUT: usize = 64 * 1024;

/// What all hooks have around them.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    /// What they find in their environment.
    pub(crate) environment: BTreeMap<String, String>,
    /// Where it is noted that they run.
    pub(crate) notes: Option<PathBuf>,
}

/// A hook with what it needs.
#[derive(Debug, Clone)]
pub(crate) struct ReadyHook {
    pub(crate) hook: Hook,
    /// What it finds in its environment besides what is there for all.
    pub(crate) environment: Vec<(String, String)>,
    /// Where it starts.
    pub(crate) directory: PathBuf,
    /// Cancelled when it is turned off: it is stopped, or not run at all.
    pub(crate) stop: CancellationToken,
}

/// What hooks are told.
#[derive(Clone)]
pub(crate) struct Occasion {
    pub(crate) event: HookEvent,
    /// What matchers are compared with; nothing, if all are meant.
    pub(crate) subjects: Vec<String>,
    pub(crate) told: Value,
}

/// What came of hooks.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// What they want the agent to know.
    pub(crate) context: String,
    /// Why what was about to happen must not.
    pub(crate) refusal: Option<String>,
}

impl Occasion {
    /// A session begins.
    pub(crate) fn session_start(session: &str, directory: &Path) -> Self {
        let more = json!({ "source": "startup" });
        Occasion::new(HookEvent::SessionStart, "startup", session, directory, more)
    }

    /// A user has said something.
    pub(crate) fn prompt(session: &str, directory: &Path, prompt: &str) -> Self {
        let more = json!({ "prompt": prompt });
        Occasion::new(HookEvent::UserPromptSubmit, "", session, directory, more)
    }

    /// A turn is over.
    pub(crate) fn stop(session: &str, directory: &Path) -> Self {
        let more = json!({ "stop_hook_active": false });
        Occasion::new(HookEvent::Stop, "", session, directory, more)
    }

    /// A session is over.
    pub(crate) fn session_end(session: &str, directory: &Path) -> Self {
        let more = json!({ "reason": "other" });
        Occasion::new(HookEvent::SessionEnd, "other", session, directory, more)
    }

    /// A tool is used.
    pub(crate) fn tool(tool: &ToolUse, directory: &Path) -> Self {
        let event = event_of(tool.moment);
        let mut more = json!({
            "tool_name": tool.names.first(),
            "tool_input": tool.input,
        });
        if let (Some(response), Value::Object(more)) = (&tool.response, &mut more) {
            more.insert("tool_response".to_owned(), response.clone());
        }
        let mut occasion = Occasion::new(event, "", tool.session.as_str(), directory, more);
        occasion.subjects.clone_from(&tool.names);
        occasion
    }

    fn new(
        event: HookEvent,
        subject: &'static str,
        session: &str,
        directory: &Path,
        more: Value,
    ) -> Self {
        let name = match event {
            HookEvent::SessionStart => "SessionStart",
            HookEvent::UserPromptSubmit => "UserPromptSubmit",
            HookEvent::Stop => "Stop",
            HookEvent::SessionEnd => "SessionEnd",
            HookEvent::PreToolUse => "PreToolUse",
            HookEvent::PostToolUse => "PostToolUse",
            HookEvent::PostToolUseFailure => "PostToolUseFailure",
            HookEvent::Elsewhere => "",
        };
        let mut told = json!({
            "session_id": session,
            "cwd": directory.to_string_lossy(),
            "hook_event_name": name,
        });
        if let (Value::Object(told), Value::Object(more)) = (&mut told, more) {
            told.extend(more);
        }
        let subject = Some(subject).filter(|subject| !subject.is_empty());
        Occasion {
            event,
            subjects: subject.map(str::to_owned).into_iter().collect(),
            told,
        }
    }

    /// Whether a hook is for it.
    pub(crate) fn concerns(&self, hook: &Hook) -> bool {
        let matches =
            |matcher| self.subjects.is_empty() || matcher::matches(matcher, &self.subjects);
        hook.event == self.event && hook.matcher.as_deref().is_none_or(matches)
    }
}

/// The event of hooks that are run at a moment.
pub(crate) fn event_of(moment: ToolMoment) -> HookEvent {
    match moment {
        ToolMoment::Before => HookEvent::PreToolUse,
        ToolMoment::After => HookEvent::PostToolUse,
        ToolMoment::Failed => HookEvent::PostToolUseFailure,
    }
}

/// The moment that hooks of an event are for, if they are about tools.
pub(crate) fn moment_of(event: HookEvent) -> Option<ToolMoment> {
    match event {
        HookEvent::PreToolUse => Some(ToolMoment::Before),
        HookEvent::PostToolUse => Some(ToolMoment::After),
        HookEvent::PostToolUseFailure => Some(ToolMoment::Failed),
        HookEvent::SessionStart
        | HookEvent::UserPromptSubmit
        | HookEvent::Stop
        | HookEvent::SessionEnd
        | HookEvent::Elsewhere => None,
    }
}

/// Runs all hooks of an occasion, one after the other, until one refuses.
pub(crate) async fn run(
    hooks: &[ReadyHook],
    occasion: &Occasion,
    around: &Surroundings,
) -> Outcome {
    let mut all = Outcome::default();
    for hook in hooks {
        if !occasion.concerns(&hook.hook) {
            continue;
        }
        let said = tokio::select! {
            biased;
            // Its process group ends with the other future.
            () = hook.stop.cancelled() => continue,
            said = one(hook, occasion, around) => said,
        };
        let outcome = said.outcome(occasion.event);
        if !outcome.context.is_empty() {
            if !all.context.is_empty() {
                all.context.push_str("\n\n");
            }
            all.context.push_str(&outcome.context);
        }
        if outcome.refusal.is_some() {
            all.refusal = outcome.refusal;
            break;
        }
    }
    all
}

async fn one(ready: &ReadyHook, occasion: &Occasion, around: &Surroundings) -> Said {
    // Shells know names without `env:` in front.
    let command = ready.hook.command.replace("${env:", "${");
    let mark = RunMark::unique();
    let spawned = Command::new("sh")
        .arg("-c")
        .arg(command)
        .env_clear()
        .envs(&around.environment)
        .envs(ready.environment.iter().map(|(name, value)| (name, value)))
        .env(RUN_VARIABLE, mark.as_str())
        .current_dir(&ready.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            tracing::warn!(event = ?occasion.event, %error, "a hook could not be run");
            return Said::nothing();
        }
    };
    let group = child.id().map(|process| Group {
        note: note(around, process, &mark),
        process,
        mark,
    });
    let told = occasion.told.to_string();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let tell = async move {
        if let Some(mut stdin) = stdin {
            // A hook need not listen.
            stdin.write_all(told.as_bytes()).await.unwrap_or_default();
        }
    };
    let end = async move {
        let status = child.wait().await;
        // Whoever it left behind would keep its pipes open.
        drop(group);
        status
    };
    let run = async {
        let ((), output, complaint, status) =
            tokio::join!(tell, gather(stdout), gather(stderr), end);
        Said {
            code: status.ok().and_then(|status| status.code()),
            output,
            complaint,
        }
    };
    match tokio::time::timeout(ready.hook.patience.max(Duration::from_millis(1)), run).await {
        Ok(said) => said,
        Err(_) => {
            tracing::warn!(event = ?occasion.event, "a hook took too long");
            Said::nothing()
        }
    }
}

/// The beginning of what a program writes; the rest is read and dropped.
async fn gather(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut pipe) = pipe else {
        return String::new();
    };
    let mut kept = Vec::new();
    let mut piece = [0_u8; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut piece).await {
        let room = OUTPUT.saturating_sub(kept.len());
        kept.extend(piece.iter().take(count.min(room)));
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Notes that a hook runs, so that the next host ends it if this one can't.
fn note(around: &Surroundings, process: u32, mark: &RunMark) -> Option<RunningNote> {
    match RunningNote::write(around.notes.as_deref()?, process, Some(mark)) {
        Ok(note) => Some(note),
        // It has ended already.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!(%error, "it could not be noted that a hook runs");
            None
        }
    }
}

/// Everything that a hook started ends with it, wherever it went.
struct Group {
    process: u32,
    mark: RunMark,
    /// Gone when nothing of it is left.
    note: Option<RunningNote>,
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Ok(group) = i32::try_from(self.process) {
            // There may be nobody left in it.
            killpg(Pid::from_raw(group), Signal::SIGKILL).unwrap_or_default();
        }
        self.mark.kill_all();
        drop(self.note.take());
    }
}
