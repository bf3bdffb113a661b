//! Runs the hooks of containers as child processes.
//!
//! A hook is code, so it runs only if its container is trusted. It runs in its own process
//! group, which is killed at the timeout or when the caller stops waiting. If the host is
//! killed, the next host kills the hook. Neither input nor output of a hook is ever logged.

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

/// Maximum size of a hook's standard output and of its standard error; the rest is dropped.
pub(crate) const MAX_HOOK_OUTPUT_BYTES: usize = 64 * 1024;

/// The environment of all hooks.
#[derive(Debug, Clone)]
pub(crate) struct HookEnvironment {
    /// Environment variables of every hook.
    pub(crate) environment: BTreeMap<String, String>,
    /// Directory for pid files. With it, the next host kills hooks if this host is killed.
    pub(crate) pid_dir: Option<PathBuf>,
}

/// A hook with its directory and its environment.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedHook {
    pub(crate) hook: DeclaredHook,
    /// Environment variables in addition to those of all hooks.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) directory: PathBuf,
    /// Cancelled when the hook is disabled: it is killed, or not started at all.
    pub(crate) stop: CancellationToken,
}

/// The event and the input of hooks.
#[derive(Clone)]
pub(crate) struct HookInvocation {
    pub(crate) event: HookEvent,
    /// Names that matchers are compared with. If empty, every matcher matches.
    pub(crate) subjects: Vec<String>,
    pub(crate) input: Value,
}

/// The combined result of hooks.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct HookOutcome {
    /// Text that the hooks add to the agent's context.
    pub(crate) context: String,
    /// Set if a hook denies the tool call or the prompt.
    pub(crate) refusal: Option<DenialReason>,
}

/// The reason for which a hook denies a tool call or a prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DenialReason {
    /// The reason that the hook gave, truncated.
    #[error("{0}")]
    Explained(String),
    /// The hook gave no reason.
    #[error("a hook denied it")]
    Unexplained,
}

impl HookInvocation {
    /// Returns the invocation for the start of a session.
    pub(crate) fn session_start(session: &str, directory: &Path) -> Self {
        let more = json!({ "source": "startup" });
        HookInvocation::new(HookEvent::SessionStart, "startup", session, directory, more)
    }

    /// Returns the invocation for a prompt of the user.
    pub(crate) fn prompt(session: &str, directory: &Path, prompt: &str) -> Self {
        let more = json!({ "prompt": prompt });
        HookInvocation::new(HookEvent::UserPromptSubmit, "", session, directory, more)
    }

    /// Returns the invocation for the end of a turn.
    pub(crate) fn stop(session: &str, directory: &Path) -> Self {
        let more = json!({ "stop_hook_active": false });
        HookInvocation::new(HookEvent::Stop, "", session, directory, more)
    }

    /// Returns the invocation for the end of a session.
    pub(crate) fn session_end(session: &str, directory: &Path) -> Self {
        let more = json!({ "reason": "other" });
        HookInvocation::new(HookEvent::SessionEnd, "other", session, directory, more)
    }

    /// Returns the invocation before or after a tool call.
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

    /// Returns `true` if a hook declares this event and its matcher matches.
    pub(crate) fn matches(&self, hook: &DeclaredHook) -> bool {
        let matches =
            |matcher| self.subjects.is_empty() || matcher::matches(matcher, &self.subjects);
        hook.event == self.event && hook.matcher.as_deref().is_none_or(matches)
    }
}

/// Returns the hook event for a phase of a tool call.
pub(crate) fn event_of_phase(phase: ToolHookPhase) -> HookEvent {
    match phase {
        ToolHookPhase::Before => HookEvent::PreToolUse,
        ToolHookPhase::After => HookEvent::PostToolUse,
        ToolHookPhase::Failed => HookEvent::PostToolUseFailure,
    }
}

/// Returns the phase of a tool call for a hook event, or `None` for other events.
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

/// Runs all matching hooks, one after the other, until one denies.
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
            // Dropping the other future kills the process group of the hook.
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
    // Shells expand `${NAME}`, not `${env:NAME}`.
    let command = resolved.hook.command.replace("${env:", "${");
    let marker = EnvMarker::unique();
    // Held until the pid file is written: the host may be killed in between.
    let reservation = environment.pid_dir.as_deref();
    let reservation = reservation.map(|pid_dir| PidFile::reserve(pid_dir, &marker));
    let reservation = reservation.and_then(warn_without_pid_file);
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
            tracing::warn!(event = ?invocation.event, %error, "failed to run a hook");
            return HookOutput::empty();
        }
    };
    // All processes that the hook started are killed with it.
    let group = child.id().map(|process| {
        let pid_file = create_pid_file(environment, process, &marker);
        let group = ProcessGroup::of_leader(process);
        GroupGuard::new(group, marker, pid_file, "failed to kill a hook")
    });
    drop(reservation);
    let input = invocation.input.to_string();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write_input = async move {
        if let Some(mut stdin) = stdin {
            // A hook need not read its input.
            stdin.write_all(input.as_bytes()).await.ignore_closed();
        }
    };
    let end = async move {
        let status = child.wait().await;
        // Remaining descendants would keep the pipes of the hook open.
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
            tracing::warn!(event = ?invocation.event, "hook timed out");
            HookOutput::empty()
        }
    }
}

/// Reads a pipe to its end and returns the first [`MAX_HOOK_OUTPUT_BYTES`].
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

/// Creates the pid file of a hook, with which the next host kills the hook if this host is
/// killed.
fn create_pid_file(
    environment: &HookEnvironment,
    process: u32,
    marker: &EnvMarker,
) -> Option<PidFile> {
    let pid_file = PidFile::create(environment.pid_dir.as_deref()?, process, Some(marker));
    match pid_file {
        // The hook has exited already.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        result => warn_without_pid_file(result),
    }
}

fn warn_without_pid_file(result: io::Result<PidFile>) -> Option<PidFile> {
    result
        .inspect_err(|error| tracing::warn!(%error, "failed to write the pid file of a hook"))
        .ok()
}
