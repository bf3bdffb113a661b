//! Running hooks.
//!
//! A hook is code: it is run only if its container is trusted, in a process
//! group of its own that ends when its time is up or nobody waits any more.
//! Neither what it is told nor what it says is ever logged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agenthost_workspace::{RUN_VARIABLE, RunMark};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use crate::parse::{Hook, HookEvent};

/// Most bytes of what a hook says that are kept.
const OUTPUT: usize = 64 * 1024;

/// The exit code that says no.
const REFUSED: i32 = 2;

/// A hook with what it needs.
#[derive(Debug, Clone)]
pub(crate) struct ReadyHook {
    pub(crate) hook: Hook,
    /// What it finds in its environment besides what is there for all.
    pub(crate) environment: Vec<(String, String)>,
    /// Where it starts.
    pub(crate) directory: PathBuf,
}

/// What hooks are told.
#[derive(Clone)]
pub(crate) struct Occasion {
    pub(crate) event: HookEvent,
    /// What its matcher is compared with.
    pub(crate) subject: &'static str,
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
        Occasion {
            event,
            subject,
            told,
        }
    }

    fn concerns(&self, hook: &Hook) -> bool {
        let matches = hook.matcher.as_deref().is_none_or(|matcher| {
            self.subject.is_empty() || matcher.split('|').any(|one| one.trim() == self.subject)
        });
        hook.event == self.event && matches
    }
}

/// Runs all hooks of an occasion, one after the other, until one refuses.
pub(crate) async fn run(
    hooks: &[ReadyHook],
    occasion: &Occasion,
    environment: &BTreeMap<String, String>,
) -> Outcome {
    let mut all = Outcome::default();
    for hook in hooks {
        if !occasion.concerns(&hook.hook) {
            continue;
        }
        let said = one(hook, occasion, environment).await;
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

/// What a hook said.
struct Said {
    code: Option<i32>,
    output: String,
    complaint: String,
}

impl Said {
    fn nothing() -> Self {
        Said {
            code: None,
            output: String::new(),
            complaint: String::new(),
        }
    }

    fn outcome(&self, event: HookEvent) -> Outcome {
        let can_refuse = event == HookEvent::UserPromptSubmit;
        if self.code == Some(REFUSED) && can_refuse {
            let why = match self.complaint.trim() {
                "" => "a hook refused it",
                why => why,
            };
            return Outcome {
                context: String::new(),
                refusal: Some(why.to_owned()),
            };
        }
        if self.code != Some(0) {
            return Outcome::default();
        }
        let output = self.output.trim();
        let Ok(Value::Object(answer)) = serde_json::from_str::<Value>(output) else {
            return Outcome {
                context: output.to_owned(),
                refusal: None,
            };
        };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let blocks = text(answer.get("decision")).as_deref() == Some("block");
        let stops = answer.get("continue") == Some(&Value::Bool(false));
        if can_refuse && (blocks || stops) {
            let why = text(answer.get("reason")).or_else(|| text(answer.get("stopReason")));
            return Outcome {
                context: String::new(),
                refusal: Some(why.unwrap_or_else(|| "a hook refused it".to_owned())),
            };
        }
        let specific = answer.get("hookSpecificOutput");
        let context = specific.and_then(|specific| specific.get("additionalContext"));
        Outcome {
            context: text(context).unwrap_or_default(),
            refusal: None,
        }
    }
}

async fn one(
    ready: &ReadyHook,
    occasion: &Occasion,
    environment: &BTreeMap<String, String>,
) -> Said {
    // Shells know names without `env:` in front.
    let command = ready.hook.command.replace("${env:", "${");
    let mark = RunMark::unique();
    let spawned = Command::new("sh")
        .arg("-c")
        .arg(command)
        .env_clear()
        .envs(environment)
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
    let group = child.id().map(|id| Group(id, mark));
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

/// Everything that a hook started ends with it, wherever it went.
struct Group(u32, RunMark);

impl Drop for Group {
    fn drop(&mut self) {
        if let Ok(group) = i32::try_from(self.0) {
            // There may be nobody left in it.
            killpg(Pid::from_raw(group), Signal::SIGKILL).unwrap_or_default();
        }
        self.1.kill_all();
    }
}
