//! Hooks: what is to be run when something happens.

use std::time::Duration;

use agenthost_protocol::session::{ChildCustomization, HookCustomization};
use serde_json::Value;

use super::{ContainerItem, ItemDetail, ItemKind, ItemLocation, ParseContext};
use crate::syntax::jsonc::JsoncDocument;

/// How long a hook may take unless it says otherwise.
const DEFAULT_HOOK_TIMEOUT: Duration = Duration::from_secs(30);

/// How long it may take at most.
const MAX_HOOK_TIMEOUT: Duration = Duration::from_secs(600);

/// Most hooks of a container.
const MAX_HOOKS: usize = 100;

/// Most hooks of a container that are looked at. A matcher is compiled to see
/// whether it can be used, which is work also for hooks that are not kept.
const MAX_EXAMINED_HOOKS: usize = 2 * MAX_HOOKS;

/// When a hook is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookEvent {
    /// A session begins.
    SessionStart,
    /// A user has said something.
    UserPromptSubmit,
    /// A turn is over.
    Stop,
    /// A session is over.
    SessionEnd,
    /// A tool is about to be used.
    PreToolUse,
    /// A tool was used.
    PostToolUse,
    /// A tool was used, and it failed.
    PostToolUseFailure,
    /// Something that the host does not get to see. It is shown and never run.
    Unsupported,
}

/// A hook. What it runs is told to nobody (CUS-19).
#[derive(Clone, PartialEq, Eq)]
pub struct DeclaredHook {
    /// When it is run.
    pub event: HookEvent,
    /// What of those events it is about.
    pub matcher: Option<String>,
    /// What is run, by a shell.
    pub command: String,
    /// What it finds in its environment.
    pub environment: Vec<(String, String)>,
    /// Where it starts, from the working directory.
    pub directory: Option<String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// Leaves out what is run.
impl std::fmt::Debug for DeclaredHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeclaredHook")
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}

/// Reads a file with hooks, if it is there.
pub(super) fn parse_hook_file(context: &mut ParseContext<'_>, path: &str) {
    if let Some(declarations) = context.read_jsonc(path) {
        parse_hooks(context, path, &declarations, &[]);
    }
}

/// Reads hooks that are declared below some names of a file.
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
    // A file of settings without hooks is no mistake; one with hooks of
    // another type is.
    let wrapped = value.get("hooks");
    if let Some(hooks) = wrapped {
        value = hooks;
        names.push("hooks");
    }
    let Some(events) = value.as_object() else {
        context.add_problem(path, "hooks have to be an object of events");
        return;
    };
    for (name, entries) in events {
        let Some(event) = parse_event(name) else {
            // Other keys of a file without `hooks` are none of our business.
            if wrapped.is_some() {
                context.add_problem(
                    path,
                    format!(
                        "the event `{}` is not known",
                        super::truncate_chars(name, 40)
                    ),
                );
            }
            continue;
        };
        let Some(entries) = entries.as_array() else {
            context.add_problem(path, format!("the hooks of `{name}` have to be a list"));
            continue;
        };
        let mut hooks = Vec::new();
        for entry in entries {
            // One that is meant for some must not be run for all.
            let matcher = match entry.get("matcher") {
                None | Some(Value::Null) => None,
                Some(Value::String(matcher)) => Some(matcher.as_str()),
                Some(_) => {
                    context.add_problem(path, "a hook is not run: its matcher has to be a text");
                    continue;
                }
            };
            match entry.get("hooks") {
                Some(Value::Array(inner)) => {
                    for hook in inner {
                        hooks.extend(parse_hook(context, path, event, matcher, hook));
                    }
                }
                Some(_) => {
                    context.add_problem(path, format!("`hooks` of `{name}` has to be a list"))
                }
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
    let name = match context.claimed_names.contains_key(&taken) {
        true => format!("{event} ({})", location.path),
        false => event.to_owned(),
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
    let system = match cfg!(target_os = "macos") {
        true => "osx",
        false => "linux",
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
        let problem = format!("a hook's timeout has to be a number of seconds: it gets {usual}");
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

/// What a hook of an event does not do that a person may expect of it.
fn event_limitation(event: HookEvent) -> Option<&'static str> {
    match event {
        HookEvent::Unsupported => Some("are not run: the host does not see when it happens"),
        HookEvent::PreToolUse => {
            Some("do not see what an agent does with its own tools without asking for permission")
        }
        HookEvent::SessionStart
        | HookEvent::UserPromptSubmit
        | HookEvent::Stop
        | HookEvent::SessionEnd
        | HookEvent::PostToolUse
        | HookEvent::PostToolUseFailure => None,
    }
}

/// Which event a name means, in the words of several agents.
/// The event of a name. Open Plugins writes `PreToolUse`, others `preToolUse`:
/// both mean the same.
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
