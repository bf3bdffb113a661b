//! Running hooks.
//!
//! A hook is code: it is run only if its container is trusted, in a process
//! group of its own that ends when its time is up or nobody waits any more. If
//! the host is killed, the next one ends it. Neither what it is told nor what it
//! says is ever logged.

pub(crate) mod result;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agenthost_core::tools::tool_use::{ToolHookPhase, ToolUse};
use agenthost_process::{EnvMarker, GroupGuard, MARKER_VARIABLE, PidFile, ProcessGroup};
use agenthost_stdx::result::IgnoreResult;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::parse::{DeclaredHook, HookEvent};
use crate::syntax::matcher;
use result::HookOutput;

/// Most bytes of what a hook says that are kept.
pub(crate) const MAX_HOOK_OUTPUT_BYTES: usize = 64 * 1024;

/// What all hooks have around them.
#[derive(Debug, Clone)]
pub(crate) struct HookEnvironment {
    /// What they find in their environment.
    pub(crate) environment: BTreeMap<String, String>,
    /// Where it is noted that they run.
    pub(crate) pid_dir: Option<PathBuf>,
}

/// A hook with what it needs.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedHook {
    pub(crate) hook: DeclaredHook,
    /// What it finds in its environment besides what is there for all.
    pub(crate) environment: Vec<(String, String)>,
    /// Where it starts.
    pub(crate) directory: PathBuf,
    /// Cancelled when it is turned off: it is stopped, or not run at all.
    pub(crate) stop: CancellationToken,
}

/// What hooks are told.
#[derive(Clone)]
pub(crate) struct HookInvocation {
    pub(crate) event: HookEvent,
    /// What matchers are compared with; nothing, if all are meant.
    pub(crate) subjects: Vec<String>,
    pub(crate) input: Value,
}

/// What came of hooks.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct HookOutcome {
    /// What they want the agent to know.
    pub(crate) context: String,
    /// Why what was about to happen must not.
    pub(crate) refusal: Option<DenialReason>,
}

/// The error of a hook that denies what is about to happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DenialReason {
    /// The reason that the hook gave, truncated.
    #[error("{0}")]
    Explained(String),
    /// A denial without a reason.
    #[error("a hook refused it")]
    Unexplained,
}

impl HookInvocation {
    /// A session begins.
    pub(crate) fn session_start(session: &str, directory: &Path) -> Self {
        let more = json!({ "source": "startup" });
        HookInvocation::new(HookEvent::SessionStart, "startup", session, directory, more)
    }

    /// A user has said something.
    pub(crate) fn prompt(session: &str, directory: &Path, prompt: &str) -> Self {
        let more = json!({ "prompt": prompt });
        HookInvocation::new(HookEvent::UserPromptSubmit, "", session, directory, more)
    }

    /// A turn is over.
    pub(crate) fn stop(session: &str, directory: &Path) -> Self {
        let more = json!({ "stop_hook_active": false });
        HookInvocation::new(HookEvent::Stop, "", session, directory, more)
    }

    /// A session is over.
    pub(crate) fn session_end(session: &str, directory: &Path) -> Self {
        let more = json!({ "reason": "other" });
        HookInvocation::new(HookEvent::SessionEnd, "other", session, directory, more)
    }

    /// A tool is used.
    pub(crate) fn tool(tool: &ToolUse, directory: &Path) -> Self {
        let event = event_of_phase(tool.phase);
        let mut more = json!({
            "tool_name": tool.names.first(),
            "tool_input": tool.input,
        });
        if let (Some(response), Value::Object(more)) = (&tool.response, &mut more) {
            more.insert("tool_response".to_owned(), response.clone());
        }
        let mut invocation = HookInvocation::new(event, "", tool.session.as_str(), directory, more);
        invocation.subjects.clone_from(&tool.names);
        invocation
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
            HookEvent::Unsupported => "",
        };
        let mut input = json!({
            "session_id": session,
            "cwd": directory.to_string_lossy(),
            "hook_event_name": name,
        });
        if let (Value::Object(input), Value::Object(more)) = (&mut input, more) {
            input.extend(more);
        }
        let subject = Some(subject).filter(|subject| !subject.is_empty());
        HookInvocation {
            event,
            subjects: subject.map(str::to_owned).into_iter().collect(),
            input,
        }
    }

    /// Whether a hook is for it.
    pub(crate) fn matches(&self, hook: &DeclaredHook) -> bool {
        let matches =
            |matcher| self.subjects.is_empty() || matcher::matches(matcher, &self.subjects);
        hook.event == self.event && hook.matcher.as_deref().is_none_or(matches)
    }
}

/// The event of hooks that are run at a moment.
pub(crate) fn event_of_phase(phase: ToolHookPhase) -> HookEvent {
    match phase {
        ToolHookPhase::Before => HookEvent::PreToolUse,
        ToolHookPhase::After => HookEvent::PostToolUse,
        ToolHookPhase::Failed => HookEvent::PostToolUseFailure,
    }
}

/// The moment that hooks of an event are for, if they are about tools.
pub(crate) fn phase_of_event(event: HookEvent) -> Option<ToolHookPhase> {
    match event {
        HookEvent::PreToolUse => Some(ToolHookPhase::Before),
        HookEvent::PostToolUse => Some(ToolHookPhase::After),
        HookEvent::PostToolUseFailure => Some(ToolHookPhase::Failed),
        HookEvent::SessionStart
        | HookEvent::UserPromptSubmit
        | HookEvent::Stop
        | HookEvent::SessionEnd
        | HookEvent::Unsupported => None,
    }
}

/// Runs all hooks of an occasion, one after the other, until one refuses.
pub(crate) async fn run_hooks(
    hooks: &[ResolvedHook],
    invocation: &HookInvocation,
    environment: &HookEnvironment,
) -> HookOutcome {
    let mut all = HookOutcome::default();
    for hook in hooks {
        if !invocation.matches(&hook.hook) {
            continue;
        }
        let said = tokio::select! {
            biased;
            // Its process group ends with the other future.
            () = hook.stop.cancelled() => continue,
            said = run_hook(hook, invocation, environment) => said,
        };
        let outcome = said.outcome(invocation.event);
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

async fn run_hook(
    resolved: &ResolvedHook,
    invocation: &HookInvocation,
    environment: &HookEnvironment,
) -> HookOutput {
    // Shells know names without `env:` in front.
    let command = resolved.hook.command.replace("${env:", "${");
    let marker = EnvMarker::unique();
    let spawned = Command::new("sh")
        .arg("-c")
        .arg(command)
        .env_clear()
        .envs(&environment.environment)
        .envs(
            resolved
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .env(MARKER_VARIABLE, marker.as_str())
        .current_dir(&resolved.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            tracing::warn!(event = ?invocation.event, %error, "a hook could not be run");
            return HookOutput::empty();
        }
    };
    // All processes that the hook started end with it.
    let group = child.id().map(|process| {
        let pid_file = create_pid_file(environment, process, &marker);
        let group = ProcessGroup::of_leader(process);
        GroupGuard::new(group, marker, pid_file, "failed to kill a hook")
    });
    let input = invocation.input.to_string();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write_input = async move {
        if let Some(mut stdin) = stdin {
            // A hook need not listen.
            stdin.write_all(input.as_bytes()).await.ignore_closed();
        }
    };
    let end = async move {
        let status = child.wait().await;
        // Processes that it left behind would keep its pipes open.
        drop(group);
        status
    };
    let run = async {
        let ((), output, stderr_text, status) =
            tokio::join!(write_input, read_limited(stdout), read_limited(stderr), end);
        HookOutput {
            exit_code: status.ok().and_then(|status| status.code()),
            stdout: output,
            stderr: stderr_text,
        }
    };
    match tokio::time::timeout(resolved.hook.timeout.max(Duration::from_millis(1)), run).await {
        Ok(said) => said,
        Err(_) => {
            tracing::warn!(event = ?invocation.event, "a hook took too long");
            HookOutput::empty()
        }
    }
}

/// The beginning of what a program writes; the rest is read and dropped.
async fn read_limited(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut pipe) = pipe else {
        return String::new();
    };
    let mut kept = Vec::new();
    let mut piece = [0_u8; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut piece).await {
        let capacity = MAX_HOOK_OUTPUT_BYTES.saturating_sub(kept.len());
        kept.extend(piece.iter().take(count.min(capacity)));
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Notes that a hook runs, so that the next host ends it if this one can't.
fn create_pid_file(
    environment: &HookEnvironment,
    process: u32,
    marker: &EnvMarker,
) -> Option<PidFile> {
    match PidFile::create(environment.pid_dir.as_deref()?, process, Some(marker)) {
        Ok(note) => Some(note),
        // It has ended already.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!(%error, "it could not be noted that a hook runs");
            None
        }
    }
}
