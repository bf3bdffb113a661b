//! Hooks of tools: before a tool is used, and after.

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

/// How many uses of tools the hooks of a session hear of at a time.
const MAX_CONCURRENT_HOOKS: usize = 4;

/// Most uses of tools of a session that hooks have still to hear of. What comes
/// when there are more, they do not hear of.
const MAX_QUEUED_TOOL_USES: usize = 64;

/// Most chats of a session that hooks have something to say in. In others, it
/// is not told.
const MAX_REMARK_CHATS: usize = 64;

/// What the hooks of a session have to do with tools.
pub(super) struct ToolHooks {
    /// When they are run, as it was last told.
    phases: BTreeSet<ToolHookPhase>,
    /// Uses that wait for them.
    running_checks: BTreeMap<HookCheckId, AbortHandle>,
    /// Uses that they hear of; some are over.
    running_uses: Vec<AbortHandle>,
    /// Lets them hear of a few at a time.
    permits: Arc<Semaphore>,
    /// What they want the agent to know with the next message, by chat.
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

/// Hooks have looked at a tool that is about to be used.
pub(super) struct CheckDone {
    session: Uri,
    check: HookCheckId,
    verdict: Result<(), HookDenial>,
}

/// Hooks have heard of a tool that was used.
pub(super) struct HookRemark {
    session: Uri,
    chat: Uri,
    remark: String,
}

impl ToolHooks {
    /// What the agent of a chat should know with its next message.
    pub(super) fn take_remarks(&mut self, chat: &Uri) -> Option<String> {
        self.remarks.remove(chat)
    }

    /// Ends all that runs.
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
    /// Tells for which moments a session has hooks that may run, if they are
    /// others than before.
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

    /// A tool is about to be used.
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

    /// Nobody waits for hooks to look at a tool any more.
    pub(super) fn cancel_tool_check(&mut self, session: &Uri, check: HookCheckId) {
        let known = self.sessions.get_mut(session);
        if let Some(running) =
            known.and_then(|known| known.tool_hooks.running_checks.remove(&check))
        {
            running.abort();
        }
    }

    /// Hooks have looked at a tool.
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

    /// A tool was used. Hooks hear of it in time.
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
            tracing::warn!(session = %tool.session, "hooks do not hear of a tool: too many wait");
            return;
        }
        let permits = Arc::clone(&known.tool_hooks.permits);
        let environment = self.hook_environment();
        let (session, chat) = (tool.session.clone(), tool.chat.clone());
        let handle = self.work.spawn(async move {
            // The places are never closed.
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

    /// Hooks have something to say to a tool that was used.
    pub(super) fn add_hook_remark(&mut self, remarked: HookRemark) {
        if let Some(known) = self.sessions.get_mut(&remarked.session) {
            known.tool_hooks.add_remark(remarked.chat, &remarked.remark);
        }
    }

    /// The hooks that are about the use of a tool, if there are any.
    fn matching_hooks(&mut self, tool: &ToolUse) -> Option<(Vec<ResolvedHook>, HookInvocation)> {
        let view: SessionView = self.session_view(&tool.session)?;
        let invocation = HookInvocation::tool(tool, &hook_directory(&view));
        let mut hooks = self.resolve_hooks(&tool.session, &view);
        hooks.retain(|ready| invocation.matches(&ready.hook));
        (!hooks.is_empty()).then_some((hooks, invocation))
    }
}
