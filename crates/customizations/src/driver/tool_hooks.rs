//! Hooks that run before and after tool calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agenthost_core::customization::driver::{CustomizationEvent, HookDenial};
use agenthost_core::tools::tool_use::{HookCheckId, ToolHookPhase, ToolUse};
use agenthost_protocol::uri::Uri;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::preparation::hook_directory;
use super::task::{DriverTask, WorkDone as TaskDone};
use crate::hooks::{
    HookInvocation, MAX_HOOK_OUTPUT_BYTES, ResolvedHook, phase_of_event, run_hooks,
};
use crate::turn_view::SessionView;

/// Maximum number of finished tool calls for which the hooks of a session run at the same
/// time.
const MAX_CONCURRENT_HOOKS: usize = 4;

/// Maximum number of finished tool calls per session for which hooks are queued or running.
/// Further tool calls are not reported to the hooks.
const MAX_QUEUED_TOOL_USES: usize = 64;

/// Maximum number of chats per session with stored remarks of hooks. Remarks for further
/// chats are dropped.
const MAX_REMARK_CHATS: usize = 64;

/// The state of a session's tool hooks.
pub(super) struct ToolHooks {
    /// The phases that were last reported to the host.
    phases: BTreeSet<ToolHookPhase>,
    /// Handles of checks that tool calls wait for.
    running_checks: BTreeMap<HookCheckId, AbortHandle>,
    /// Handles of hooks for finished tool calls; some have ended already.
    running_uses: Vec<AbortHandle>,
    /// Permits that limit concurrent hooks for finished tool calls.
    permits: Arc<Semaphore>,
    /// Remarks of hooks that are added to the next prompt, by chat.
    remarks: BTreeMap<Uri, String>,
}

impl Default for ToolHooks {
    fn default() -> Self {
        ToolHooks {
            phases: BTreeSet::new(),
            running_checks: BTreeMap::new(),
            running_uses: Vec::new(),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_HOOKS)),
            remarks: BTreeMap::new(),
        }
    }
}

/// The verdict of the hooks on a tool call that is about to run.
pub(super) struct CheckDone {
    session: Uri,
    check: HookCheckId,
    verdict: Result<(), HookDenial>,
}

/// The remarks of the hooks on a finished tool call.
pub(super) struct HookRemark {
    session: Uri,
    chat: Uri,
    remark: String,
}

impl ToolHooks {
    /// Removes and returns the remarks for the next prompt of a chat.
    pub(super) fn take_remarks(&mut self, chat: &Uri) -> Option<String> {
        self.remarks.remove(chat)
    }

    /// Aborts all running checks and hooks.
    pub(super) fn abort_all(&mut self) {
        let checking = std::mem::take(&mut self.running_checks).into_values();
        for running in checking.chain(std::mem::take(&mut self.running_uses)) {
            running.abort();
        }
    }

    fn add_remark(&mut self, chat: Uri, remark: &str) {
        if remark.is_empty()
            || (self.remarks.len() >= MAX_REMARK_CHATS && !self.remarks.contains_key(&chat))
        {
            return;
        }
        let remarks = self.remarks.entry(chat).or_default();
        if !remarks.is_empty() {
            remarks.push_str("\n\n");
        }
        let capacity = MAX_HOOK_OUTPUT_BYTES.saturating_sub(remarks.len());
        remarks.extend(remark.chars().take(capacity));
    }
}

impl DriverTask {
    /// Reports the phases for which a session has hooks that may run, if they have changed.
    pub(super) fn sync_tool_hooks(&mut self, session: &Uri, hooks: &[ResolvedHook]) {
        let moments = hooks
            .iter()
            .filter_map(|ready| phase_of_event(ready.hook.event));
        let moments: BTreeSet<_> = moments.collect();
        if let Some(known) = self.sessions.get_mut(session)
            && known.tool_hooks.phases != moments
        {
            known.tool_hooks.phases.clone_from(&moments);
            self.push_event(
                session,
                CustomizationEvent::ToolHooksChanged { phases: moments },
            );
        }
    }

    /// Runs the hooks for a tool call that is about to run and waits for their verdict.
    pub(super) fn start_tool_check(&mut self, check: HookCheckId, tool: &ToolUse) {
        let session = tool.session.clone();
        let Some((hooks, invocation)) = self.matching_hooks(tool) else {
            self.handle_tool_checked(CheckDone {
                session,
                check,
                verdict: Ok(()),
            });
            return;
        };
        let environment = self.hook_environment();
        let of = session.clone();
        let handle = self.work.spawn(async move {
            let outcome = run_hooks(&hooks, &invocation, &environment).await;
            TaskDone::ToolChecked(CheckDone {
                session: of,
                check,
                verdict: outcome
                    .refusal
                    .map_or(Ok(()), |reason| Err(HookDenial::Denied(reason.to_string()))),
            })
        });
        if let Some(known) = self.sessions.get_mut(&session) {
            known.tool_hooks.running_checks.insert(check, handle);
        }
    }

    /// Cancels a check that no tool call waits for any more.
    pub(super) fn cancel_tool_check(&mut self, session: &Uri, check: HookCheckId) {
        let known = self.sessions.get_mut(session);
        if let Some(running) =
            known.and_then(|known| known.tool_hooks.running_checks.remove(&check))
        {
            running.abort();
        }
    }

    /// Handles the verdict of a check, and reports it to the host.
    pub(super) fn handle_tool_checked(&mut self, checked: CheckDone) {
        if let Some(known) = self.sessions.get_mut(&checked.session) {
            known.tool_hooks.running_checks.remove(&checked.check);
        }
        let event = CustomizationEvent::ToolChecked {
            id: checked.check,
            verdict: checked.verdict,
        };
        self.push_event(&checked.session, event);
    }

    /// Queues the hooks for a finished tool call. No tool call waits for them.
    pub(super) fn run_tool_used_hooks(&mut self, tool: &ToolUse) {
        let Some((hooks, invocation)) = self.matching_hooks(tool) else {
            return;
        };
        let Some(known) = self.sessions.get_mut(&tool.session) else {
            return;
        };
        known
            .tool_hooks
            .running_uses
            .retain(|running| !running.is_finished());
        if known.tool_hooks.running_uses.len() >= MAX_QUEUED_TOOL_USES {
            tracing::warn!(session = %tool.session, "hooks not run for a tool call: too many are pending");
            return;
        }
        let permits = Arc::clone(&known.tool_hooks.permits);
        let environment = self.hook_environment();
        let (session, chat) = (tool.session.clone(), tool.chat.clone());
        let handle = self.work.spawn(async move {
            // The semaphore is never closed.
            let permit = permits.acquire_owned().await;
            let outcome = run_hooks(&hooks, &invocation, &environment).await;
            drop(permit);
            TaskDone::ToolRemarked(HookRemark {
                session,
                chat,
                remark: outcome.context,
            })
        });
        if let Some(known) = self.sessions.get_mut(&tool.session) {
            known.tool_hooks.running_uses.push(handle);
        }
    }

    /// Stores the remarks of hooks until the next prompt of the chat.
    pub(super) fn add_hook_remark(&mut self, remarked: HookRemark) {
        if let Some(known) = self.sessions.get_mut(&remarked.session) {
            known.tool_hooks.add_remark(remarked.chat, &remarked.remark);
        }
    }

    /// Returns the hooks that match a tool call, or `None` without any match.
    fn matching_hooks(&mut self, tool: &ToolUse) -> Option<(Vec<ResolvedHook>, HookInvocation)> {
        let view: SessionView = self.session_view(&tool.session)?;
        let invocation = HookInvocation::tool(tool, &hook_directory(&view));
        let mut hooks = self.resolve_hooks(&tool.session, &view);
        hooks.retain(|ready| invocation.matches(&ready.hook));
        (!hooks.is_empty()).then_some((hooks, invocation))
    }
}
