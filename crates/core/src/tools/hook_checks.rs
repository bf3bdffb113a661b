//! Hook checks: tool calls that wait until the hooks of the session have allowed or denied
//! them.
//!
//! A call at the gateway waits, and so does an approval request of an agent before it is
//! published. Hooks can only deny. A call that they allow continues as if there were no hooks.
//! In a session without such hooks no call waits.

pub(crate) mod held_calls;
pub(crate) mod hook_input;

use std::collections::BTreeSet;

use agenthost_protocol::chat::{
    CancellationReason, ChatAction, ToolCall, ToolCallComplete, ToolCallConfirmed,
    ToolCallContributor, ToolCallQuestion, ToolCallReady, ToolCallTarget,
};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::Uri;

use crate::customization::driver::{CustomizationCommand, HookDenial};
use crate::host::Host;
use crate::host::effect::audit::approvals::AuditDecision;
use crate::host::effect::{Effect, Effects};
use crate::host::step::Env;
use crate::tools::mcp::driver::{CallGateMode, GatewayCallId, McpCommand};
use crate::tools::tool_use::{HookCheckId, ToolHookPhase, ToolUse};
use held_calls::{CheckSubject, HeldToolCall, HookCheck, to_passed_check};

pub(crate) use held_calls::HookChecks;

/// Maximum number of concurrent hook checks. Further calls are denied.
const MAX_HOOK_CHECKS: usize = 1_000;

/// Maximum number of agent actions on a call that are held during its check. Further actions
/// are discarded, and that is reported.
const MAX_HELD_ACTIONS: usize = 64;

impl Host {
    /// Replaces the phases for which a session has tool hooks.
    pub(crate) fn set_tool_hooks(
        &mut self,
        session: &Uri,
        phases: BTreeSet<ToolHookPhase>,
        out: &mut Effects,
    ) {
        let Some(known) = self.customizations.get_mut(session) else {
            return;
        };
        let guarded = phases.contains(&ToolHookPhase::Before);
        let before = std::mem::replace(&mut known.tool_hooks, phases);
        if before.contains(&ToolHookPhase::Before) != guarded {
            let guard = if guarded {
                CallGateMode::Hooks
            } else {
                CallGateMode::Open
            };
            out.push(Effect::Mcp(Box::new(McpCommand::SetCallGate {
                session: session.clone(),
                mode: guard,
            })));
        }
    }

    fn has_tool_hooks(&self, session: &Uri, moment: ToolHookPhase) -> bool {
        let known = self.customizations.get(session);
        known.is_some_and(|known| known.tool_hooks.contains(&moment))
            && self.is_customizable(session)
    }

    /// Handles an action of an agent. An approval request is held until its hook check has
    /// ended, and so are later actions on the same call.
    pub(crate) fn handle_agent_action(
        &mut self,
        env: &Env,
        chat: &Uri,
        action: ChatAction,
        out: &mut Effects,
    ) {
        let Some(action) = self.hold_if_checked(env, chat, action, out) else {
            return;
        };
        let Some(action) = self.hold_completion(chat, action, out) else {
            return;
        };
        let ChatAction::ToolCallComplete(complete) = action else {
            self.apply_agent_action(env, chat, action, out);
            return;
        };
        let target = complete.target.clone();
        self.complete_agent_call(env, chat, complete, out);
        self.survey_after(chat, &target, out);
    }

    /// Applies the completion of a call by its agent.
    pub(crate) fn complete_agent_call(
        &mut self,
        env: &Env,
        chat: &Uri,
        complete: Box<ToolCallComplete>,
        out: &mut Effects,
    ) {
        let target = complete.target.clone();
        let was_open = !self.is_completed(chat, &target);
        self.apply_agent_action(env, chat, ChatAction::ToolCallComplete(complete), out);
        if was_open {
            self.notify_tool_used(chat, &target, out);
        }
    }

    /// Holds an action that has to wait for hooks. Returns it if it does not.
    fn hold_if_checked(
        &mut self,
        env: &Env,
        chat: &Uri,
        action: ChatAction,
        out: &mut Effects,
    ) -> Option<ChatAction> {
        let Some(target) = action.tool_call() else {
            return Some(action);
        };
        if let Some(question) = self.tools.hook_checks.held_call_mut(chat, target) {
            if question.held_actions.len() < MAX_HELD_ACTIONS {
                question.held_actions.push(action)
            } else {
                out.push(Effect::ReportDiscarded {
                    channel: chat.clone(),
                    action: action.info().name,
                    reason: "too many actions for a tool call that waits for hooks".to_owned(),
                })
            }
            return None;
        }
        let ChatAction::ToolCallReady(ready) = action else {
            return Some(action);
        };
        if !self.needs_check(chat, &ready) {
            return Some(ChatAction::ToolCallReady(ready));
        }
        self.check_tool_call(env, chat, ready, out);
        None
    }

    /// Returns `true` if hooks have to check a call before its approval request is published. A
    /// client tool call without an approval request was never sent to the gateway and is about
    /// to end. A reworded request with the same input was checked before.
    fn needs_check(&self, chat: &Uri, ready: &ToolCallReady) -> bool {
        let target = &ready.target;
        let Some(session) = self.session_of(chat) else {
            return false;
        };
        if ready.confirmed.is_some()
            || !self.has_tool_hooks(session, ToolHookPhase::Before)
            || !self.is_running(chat, &target.turn_id)
            || self.is_command_turn(chat, &target.turn_id)
        {
            return false;
        }
        let Some(call) = self.active_call(chat, target) else {
            return false;
        };
        let head = call.head();
        let contributor = head.and_then(|head| head.contributor.as_ref());
        let of_client = matches!(contributor, Some(ToolCallContributor::Client(_)));
        let asks = ready.question != ToolCallQuestion::default();
        let input = ready.tool_input.as_ref();
        let is_same = |known| input.is_none_or(|input| known == Some(input));
        let asked = matches!(
            call,
            ToolCall::PendingConfirmation(call) if is_same(call.parameters.tool_input.as_ref())
        );
        (asks || !of_client) && !asked
    }

    fn check_tool_call(
        &mut self,
        env: &Env,
        chat: &Uri,
        ready: Box<ToolCallReady>,
        out: &mut Effects,
    ) {
        let turn = ready.target.turn_id.clone();
        let Some(tool) = self.approval_tool_use(chat, &ready) else {
            return;
        };
        if self.tools.hook_checks.pending.len() >= MAX_HOOK_CHECKS {
            self.deny_tool_call(env, chat, ready, &HookDenial::TooManyChecks, out);
            return;
        }
        let question = HeldToolCall {
            call: ready.target.tool_call_id.clone(),
            ready,
            passed_check: to_passed_check(&tool, turn.clone()),
            held_actions: Vec::new(),
        };
        let what = CheckSubject::ToolCall(Box::new(question));
        self.start_check(Some(turn), tool, what, out);
    }

    /// Checks a call that an agent has sent to the gateway.
    pub(crate) fn check_gateway_call(
        &mut self,
        session: &Uri,
        chat: &Uri,
        call: GatewayCallId,
        tool: &str,
        input: &str,
        out: &mut Effects,
    ) {
        if !self.has_tool_hooks(session, ToolHookPhase::Before) {
            resolve_gateway_call(session, call, Ok(()), out);
            return;
        }
        let tool = self.gateway_tool_use(session, chat, tool, input);
        let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        let turn = turn.map(|turn| turn.id.clone());
        if let Some(turn) = &turn
            && self
                .tools
                .hook_checks
                .take_passed(&to_passed_check(&tool, turn.clone()))
        {
            resolve_gateway_call(session, call, Ok(()), out);
        } else if self.tools.hook_checks.pending.len() >= MAX_HOOK_CHECKS {
            resolve_gateway_call(session, call, Err(HookDenial::TooManyChecks), out);
        } else {
            self.start_check(turn, tool, CheckSubject::Gateway(call), out);
        }
    }

    fn start_check(
        &mut self,
        turn: Option<TurnId>,
        tool: ToolUse,
        subject: CheckSubject,
        out: &mut Effects,
    ) {
        let checks = &mut self.tools.hook_checks;
        checks.last_id = checks.last_id.saturating_add(1);
        let ticket = HookCheckId(checks.last_id);
        let check = HookCheck {
            session: tool.session.clone(),
            chat: tool.chat.clone(),
            turn,
            subject,
        };
        checks.pending.insert(ticket, check);
        let tool = Box::new(tool);
        let job = CustomizationCommand::CheckTool {
            id: ticket,
            tool_use: tool,
        };
        out.push(Effect::Customization(Box::new(job)));
    }

    /// Handles the result of a hook check. The check may have been dropped before.
    pub(crate) fn resolve_check(
        &mut self,
        env: &Env,
        id: HookCheckId,
        verdict: Result<(), HookDenial>,
        out: &mut Effects,
    ) {
        let Some(check) = self.tools.hook_checks.pending.remove(&id) else {
            return;
        };
        let chat = &check.chat;
        match check.subject {
            CheckSubject::Gateway(call) => resolve_gateway_call(&check.session, call, verdict, out),
            CheckSubject::ToolCall(question) => {
                let HeldToolCall {
                    ready,
                    passed_check: passing,
                    held_actions: later,
                    ..
                } = *question;
                match verdict {
                    Ok(()) => {
                        self.tools.hook_checks.record_passed(passing);
                        self.apply_agent_action(env, chat, ChatAction::ToolCallReady(ready), out);
                    }
                    Err(denial) => self.deny_tool_call(env, chat, ready, &denial, out),
                }
                for action in later {
                    self.handle_agent_action(env, chat, action, out);
                }
            }
        }
    }

    /// Denies a call without an approval request to the user. Clients and the agent see it as
    /// if the user had denied it.
    fn deny_tool_call(
        &mut self,
        env: &Env,
        chat: &Uri,
        ready: Box<ToolCallReady>,
        denial: &HookDenial,
        out: &mut Effects,
    ) {
        let refused = ChatAction::ToolCallConfirmed(Box::new(ToolCallConfirmed {
            target: ready.target.clone(),
            approved: false,
            confirmed: None,
            reason: Some(CancellationReason::Denied),
            edited_tool_input: None,
            user_suggestion: None,
            reason_message: Some(MaybeMarkdown::Plain(denial.to_string())),
            selected_option_id: None,
        }));
        let target = ready.target.clone();
        if self.originate(chat, ChatAction::ToolCallReady(ready), out) {
            self.audit_decision(chat, &target, AuditDecision::Denied, "hook", out);
            if self.originate(chat, refused.clone(), out) {
                self.react(env, chat, &refused.into(), out);
            }
        }
    }

    /// Drops the hook checks of turns that have ended.
    pub(crate) fn drop_late_checks(&mut self, chat: &Uri, out: &mut Effects) {
        if self.tools.hook_checks.is_empty() {
            return;
        }
        let running = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        let running = running.map(|turn| turn.id.clone());
        let over = |turn: &TurnId| Some(turn) != running.as_ref();
        let passed = &mut self.tools.hook_checks.passed;
        passed.retain(|passed| passed.chat != *chat || !over(&passed.turn));
        self.drop_checks(
            |check| check.chat == *chat && check.turn.as_ref().is_some_and(over),
            &HookDenial::TurnOver,
            out,
        );
    }

    /// Drops the hook checks of a removed chat.
    pub(crate) fn drop_checks_of_chat(&mut self, chat: &Uri, out: &mut Effects) {
        self.tools
            .hook_checks
            .passed
            .retain(|passed| passed.chat != *chat);
        self.drop_checks(|check| check.chat == *chat, &HookDenial::ChatGone, out);
    }

    /// Drops the hook checks of a session that is no longer tracked.
    pub(crate) fn drop_checks_of_session(&mut self, session: &Uri, out: &mut Effects) {
        self.drop_checks(
            |check| check.session == *session,
            &HookDenial::SessionOver,
            out,
        );
    }

    /// Drops the check of a gateway call that the agent has abandoned.
    pub(crate) fn drop_abandoned_check(&mut self, call: GatewayCallId, out: &mut Effects) {
        let is_it =
            |check: &HookCheck| matches!(check.subject, CheckSubject::Gateway(it) if it == call);
        self.drop_checks(is_it, &HookDenial::CallAbandoned, out);
    }

    fn drop_checks(
        &mut self,
        is_over: impl Fn(&HookCheck) -> bool,
        denial: &HookDenial,
        out: &mut Effects,
    ) {
        let over = self
            .tools
            .hook_checks
            .pending
            .extract_if(.., |_, check| is_over(check));
        for (ticket, check) in over {
            if let CheckSubject::Gateway(call) = check.subject {
                resolve_gateway_call(&check.session, call, Err(denial.clone()), out);
            }
            let session = check.session;
            let job = CustomizationCommand::CancelCheck {
                session,
                id: ticket,
            };
            out.push(Effect::Customization(Box::new(job)));
        }
    }

    /// Reports a completed call to the driver, which runs its hooks. The call does not wait for
    /// them.
    pub(crate) fn notify_tool_used(&self, chat: &Uri, target: &ToolCallTarget, out: &mut Effects) {
        let Some(ToolCall::Completed(call)) = self.active_call(chat, target) else {
            return;
        };
        let moment = if call.result.success {
            ToolHookPhase::After
        } else {
            ToolHookPhase::Failed
        };
        let session = self.session_of(chat);
        if session.is_some_and(|session| self.has_tool_hooks(session, moment))
            && let Some(tool) = self.completed_tool_use(chat, moment, call)
        {
            let job = CustomizationCommand::ToolUsed(Box::new(tool));
            out.push(Effect::Customization(Box::new(job)));
        }
    }

    /// Returns `true` if the approval request of a call is held for a hook check.
    pub(crate) fn waits_for_hooks(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        self.tools.hook_checks.is_held(chat, target)
    }

    fn is_completed(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        matches!(self.active_call(chat, target), Some(ToolCall::Completed(_)))
    }
}

/// Reports the verdict on a call to the gateway.
pub(crate) fn resolve_gateway_call(
    session: &Uri,
    call: GatewayCallId,
    verdict: Result<(), HookDenial>,
    out: &mut Effects,
) {
    let session = session.clone();
    out.push(Effect::Mcp(Box::new(McpCommand::ResolveApproval {
        session,
        call,
        verdict,
    })));
}
