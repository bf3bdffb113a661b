//! Parses hooks: commands that run at events.

use std::time::Duration;

use agenthost_protocol::session::{ChildCustomization, HookCustomization};
use serde_json::Value;

use super::{ContainerItem, ItemDetail, ItemKind, ItemLocation, ParseContext};
use crate::syntax::jsonc::JsoncDocument;

/// Timeout of a hook that declares none.
const DEFAULT_HOOK_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum timeout that a hook can declare. A hook can delay a turn for this long.
const MAX_HOOK_TIMEOUT: Duration = Duration::from_secs(600);

/// Maximum number of hooks of a container.
const MAX_HOOKS: usize = 100;

/// Maximum number of hooks of a container that are examined. The parser compiles each
/// matcher to validate it, which takes time for rejected hooks, too.
const MAX_EXAMINED_HOOKS: usize = 2 * MAX_HOOKS;

/// The event at which a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookEvent {
    /// The first turn of a session begins.
    SessionStart,
    /// The user has sent a prompt.
    UserPromptSubmit,
    /// A turn has ended.
    Stop,
    /// A session has ended.
    SessionEnd,
    /// A tool call is about to run.
    PreToolUse,
    /// A tool call has succeeded.
    PostToolUse,
    /// A tool call has failed.
    PostToolUseFailure,
    /// An event that the host can't observe. Its hooks are listed and never run.
    Unsupported,
}

/// A hook of a container. Its command is never sent to a client (CUS-19).
#[derive(Clone, PartialEq, Eq)]
pub struct DeclaredHook {
    /// The event at which it runs.
    pub event: HookEvent,
    /// A pattern that selects events, for example by tool name.
    pub matcher: Option<String>,
    /// The command line, which a shell runs.
    pub command: String,
    /// Additional environment variables of the command.
    pub environment: Vec<(String, String)>,
    /// The folder where it starts, relative to the working directory.
    pub directory: Option<String>,
    /// The time after which the hook is ended.
    pub timeout: Duration,
}

/// Omits the command, so that logs do not contain it.
impl std::fmt::Debug for DeclaredHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeclaredHook")
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}

/// Parses a file with hooks, if it exists.
pub(super) fn parse_hook_file(context: &mut ParseContext<'_>, path: &str) {
    if let Some(declarations) = context.read_jsonc(path) {
        parse_hooks(context, path, &declarations, &[]);
    }
}

/// Parses hooks that are declared below the given keys of a file.
pub(super) fn parse_hooks(
    context: &mut ParseContext<'_>,
    path: &str,
    declarations: &JsoncDocument,
    names: &[&str],
) {
    let mut value = declarations.get_path(names);
    if value.get("disableAllHooks") == Some(&Value::Bool(true)) {
        return;
    }
    let mut names = names.to_vec();
    // A settings file without hooks is valid. One with hooks of another type is not.
    let wrapped = value.get("hooks");
    if let Some(hooks) = wrapped {
        value = hooks;
        names.push("hooks");
    }
    let Some(events) = value.as_object() else {
        context.add_problem(path, "hooks must be an object with events as keys");
        return;
    };
    for (name, entries) in events {
        let Some(event) = parse_event(name) else {
            // Other keys of a file without `hooks` are unrelated settings.
            if wrapped.is_some() {
                context.add_problem(
                    path,
                    format!("unknown event `{}`", super::truncate_chars(name, 40)),
                );
            }
            continue;
        };
        let Some(entries) = entries.as_array() else {
            context.add_problem(path, format!("the hooks of `{name}` must be a list"));
            continue;
        };
        let mut hooks = Vec::new();
        for entry in entries {
            // A hook with an invalid matcher must not run for all events.
            let matcher = match entry.get("matcher") {
                None | Some(Value::Null) => None,
                Some(Value::String(matcher)) => Some(matcher.as_str()),
                Some(_) => {
                    context.add_problem(path, "a hook is not run: its matcher must be a string");
                    continue;
                }
            };
            match entry.get("hooks") {
                Some(Value::Array(inner)) => {
                    for hook in inner {
                        hooks.extend(parse_hook(context, path, event, matcher, hook));
                    }
                }
                Some(_) => context.add_problem(path, format!("`hooks` of `{name}` must be a list")),
                None => hooks.extend(parse_hook(context, path, event, matcher, entry)),
            }
        }
        if hooks.is_empty() {
            continue;
        }
        if let Some(limit) = event_limitation(event) {
            context.add_problem(path, format!("hooks of `{name}` {limit}"));
        }
        names.push(name);
        let range = declarations.range(&names);
        names.pop();
        let location = ItemLocation {
            path,
            inline: name,
            range,
        };
        add_hooks(context, location, name, hooks);
    }
}

fn add_hooks(
    context: &mut ParseContext<'_>,
    location: ItemLocation<'_>,
    event: &str,
    hooks: Vec<DeclaredHook>,
) {
    let taken = (ItemKind::Hook, event.to_owned());
    // Several files may have hooks for one event.
    let name = if context.claimed_names.contains_key(&taken) {
        format!("{event} ({})", location.path)
    } else {
        event.to_owned()
    };
    if !context.claim_name(ItemKind::Hook, &name, location.path) {
        return;
    }
    let count = |item: &ContainerItem| match &item.detail {
        ItemDetail::Hooks(hooks) => hooks.len(),
        _ => 0,
    };
    let before: usize = context.parsed.items.iter().map(count).sum();
    if before + hooks.len() > MAX_HOOKS {
        context.add_problem(
            location.path,
            format!("there are more than {MAX_HOOKS} hooks"),
        );
        return;
    }
    let leaf = context.leaf_base(ItemKind::Hook, location, &name);
    context.parsed.items.push(ContainerItem {
        child: ChildCustomization::Hook(HookCustomization { leaf }),
        name,
        path: location.path.to_owned(),
        detail: ItemDetail::Hooks(hooks),
    });
}

fn parse_hook(
    context: &mut ParseContext<'_>,
    path: &str,
    event: HookEvent,
    matcher: Option<&str>,
    value: &Value,
) -> Option<DeclaredHook> {
    context.hooks_examined += 1;
    if context.hooks_examined > MAX_EXAMINED_HOOKS {
        let problem = format!("a hook is not run: there are more than {MAX_EXAMINED_HOOKS}");
        context.add_problem(path, problem);
        return None;
    }
    let text = |key: &str| {
        let text = value.get(key).and_then(Value::as_str)?;
        (!text.trim().is_empty()).then(|| text.to_owned())
    };
    if let Some(kind) = text("type").filter(|kind| kind != "command") {
        let kind = super::truncate_chars(&kind, 40);
        context.add_problem(path, format!("hooks of the type `{kind}` are not run"));
        return None;
    }
    let system = if cfg!(target_os = "macos") {
        "osx"
    } else {
        "linux"
    };
    let Some(command) = text(system)
        .or_else(|| text("bash"))
        .or_else(|| text("command"))
    else {
        context.add_problem(path, "a hook has no command");
        return None;
    };
    let given = value.get("timeout").or_else(|| value.get("timeoutSec"));
    let seconds = given.and_then(Value::as_f64);
    let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0);
    if given.is_some_and(|given| !given.is_null()) && seconds.is_none() {
        let usual = DEFAULT_HOOK_TIMEOUT.as_secs();
        let problem =
            format!("a hook's timeout must be a positive number of seconds: using {usual}");
        context.add_problem(path, problem);
    }
    let timeout = seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .map_or(DEFAULT_HOOK_TIMEOUT, |timeout| {
            timeout.min(MAX_HOOK_TIMEOUT)
        });
    if let Some(Err(why)) = matcher.map(crate::syntax::matcher::check_matcher) {
        context.add_problem(path, format!("a hook is not run: its matcher {why}"));
        return None;
    }
    let environment = value.get("env").and_then(Value::as_object);
    let environment = environment.into_iter().flatten();
    Some(DeclaredHook {
        event,
        matcher: matcher
            .filter(|matcher| !matcher.is_empty() && *matcher != "*")
            .map(str::to_owned),
        command,
        environment: environment
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect(),
        directory: text("cwd"),
        timeout,
    })
}

/// Returns the limitation of an event's hooks that users may not expect.
fn event_limitation(event: HookEvent) -> Option<&'static str> {
    match event {
        HookEvent::Unsupported => Some("are not run: the host does not receive this event"),
        HookEvent::PreToolUse => {
            Some("do not run for an agent's own tools that it uses without asking for approval")
        }
        HookEvent::SessionStart
        | HookEvent::UserPromptSubmit
        | HookEvent::Stop
        | HookEvent::SessionEnd
        | HookEvent::PostToolUse
        | HookEvent::PostToolUseFailure => None,
    }
}

/// Returns the event of a name, as several agents spell it. Open Plugins writes
/// `PreToolUse`, others `preToolUse`; both are accepted.
fn parse_event(name: &str) -> Option<HookEvent> {
    let mut letters = name.chars();
    let first = letters.next()?.to_ascii_uppercase();
    Some(match format!("{first}{}", letters.as_str()).as_str() {
        "SessionStart" => HookEvent::SessionStart,
        "UserPromptSubmit" | "UserPromptSubmitted" | "BeforeSubmitPrompt" => {
            HookEvent::UserPromptSubmit
        }
        "Stop" | "AgentStop" => HookEvent::Stop,
        "SessionEnd" => HookEvent::SessionEnd,
        "PreToolUse" => HookEvent::PreToolUse,
        "PostToolUse" => HookEvent::PostToolUse,
        "PostToolUseFailure" => HookEvent::PostToolUseFailure,
        "PermissionRequest"
        | "Notification"
        | "PreCompact"
        | "SubagentStart"
        | "SubagentStop"
        | "TeammateIdle"
        | "TaskCompleted"
        | "ErrorOccurred"
        | "BeforeShellExecution"
        | "AfterShellExecution"
        | "BeforeMCPExecution"
        | "AfterMCPExecution"
        | "BeforeReadFile"
        | "AfterFileEdit"
        | "AfterAgentResponse"
        | "AfterAgentThought" => HookEvent::Unsupported,
        _ => return None,
    })
}
