//! Hooks of tools: what waits for them, and what becomes of it.
//!
//! Two things wait until hooks have looked at them: a call at the gateway, and
//! a question of an agent about a call, before people see it. Hooks can say no
//! and nothing else; whatever they let pass goes on as if there were none. In a
//! session without such hooks nothing waits.

mod described;
mod waiting;

use std::collections::BTreeSet;

use agenthost_protocol::chat::{
    CancellationReason, ChatAction, ToolCall, ToolCallComplete, ToolCallConfirmed,
    ToolCallContributor, ToolCallQuestion, ToolCallReady, ToolCallTarget,
};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::Uri;

use crate::customizing::CustomizationErrand;
use crate::effect::{Effect, Effects};
use crate::env::Env;
use crate::host::Host;
use crate::tool_servers::{ToolErrand, ToolGuard, ToolTicket};
use crate::tool_use::{CheckTicket, ToolMoment, ToolUse};
use described::call_of;
use waiting::{Check, Question, Waiting, passing};

pub(crate) use waiting::ToolChecks;

/// Most uses of tools that wait at a time. More are refused.
const CHECKS: usize = 1_000;

/// Most of what an agent does with a call while that waits. More is dropped,
/// and said so.
const LATER: usize = 64;

impl Host {
    /// A session has hooks for these moments, and no others.
    pub(crate) fn learn_tool_hooks(
        &mut self,
        session: &Uri,
        moments: BTreeSet<ToolMoment>,
        out: &mut Effects,
    ) {
        let Some(known) = self.customizing.get_mut(session) else {
            return;
        };
        let guarded = moments.contains(&ToolMoment::Before);
        let before = std::mem::replace(&mut known.tool_hooks, moments);
        if before.contains(&ToolMoment::Before) != guarded {
            let guard = match guarded {
                true => ToolGuard::Hooks,
                false => ToolGuard::Nobody,
            };
            out.push(Effect::Tools(Box::new(ToolErrand::Guard {
                session: session.clone(),
                guard,
            })));
        }
    }

    fn has_tool_hooks(&self, session: &Uri, moment: ToolMoment) -> bool {
        let known = self.customizing.get(session);
        known.is_some_and(|known| known.tool_hooks.contains(&moment))
            && self.is_customizable(session)
    }

    /// An agent does something. A question about a call waits for hooks, and so
    /// does what comes after it about the same call.
    pub(crate) fn agent_acts(
        &mut self,
        env: &Env,
        chat: &Uri,
        action: ChatAction,
        out: &mut Effects,
    ) {
        let Some(action) = self.keep_back(env, chat, action, out) else {
            return;
        };
        match self.keep_completion(chat, action, out) {
            Some(ChatAction::ToolCallComplete(complete)) => {
                let target = complete.target.clone();
                self.agent_completes(env, chat, complete, out);
                self.survey_after(chat, &target, out);
            }
            Some(action) => self.agent_action(env, chat, action, out),
            None => {}
        }
    }

    /// An agent completes a call.
    pub(crate) fn agent_completes(
        &mut self,
        env: &Env,
        chat: &Uri,
        complete: Box<ToolCallComplete>,
        out: &mut Effects,
    ) {
        let target = complete.target.clone();
        let was_open = !self.is_completed(chat, &target);
        self.agent_action(env, chat, ChatAction::ToolCallComplete(complete), out);
        if was_open {
            self.tool_used(chat, &target, out);
        }
    }

    /// Keeps back what has to wait; gives back what does not.
    fn keep_back(
        &mut self,
        env: &Env,
        chat: &Uri,
        action: ChatAction,
        out: &mut Effects,
    ) -> Option<ChatAction> {
        let Some(target) = call_of(&action) else {
            return Some(action);
        };
        if let Some(question) = self.tool_checks.question(chat, target) {
            match question.later.len() < LATER {
                true => question.later.push(action),
                false => out.push(Effect::Discarded {
                    channel: chat.clone(),
                    action: action.info().name,
                    reason: "too much happened to a call that waits for hooks".to_owned(),
                }),
            }
            return None;
        }
        match action {
            ChatAction::ToolCallReady(ready) if self.is_to_be_checked(chat, &ready) => {
                self.check_question(env, chat, ready, out);
                None
            }
            action => Some(action),
        }
    }

    /// Whether hooks have to look at a call before people are asked about it. A
    /// client's call that nothing is asked about was never made, and is about
    /// to end; a question that is put in other words has been looked at.
    fn is_to_be_checked(&self, chat: &Uri, ready: &ToolCallReady) -> bool {
        let target = &ready.target;
        let Some(session) = self.owner(chat) else {
            return false;
        };
        if ready.confirmed.is_some()
            || !self.has_tool_hooks(session, ToolMoment::Before)
            || !self.is_running(chat, &target.turn_id)
            || self.is_command(chat, &target.turn_id)
        {
            return false;
        }
        let Some(call) = self.call(chat, target) else {
            return false;
        };
        let head = call.head();
        let contributor = head.and_then(|head| head.contributor.as_ref());
        let of_client = matches!(contributor, Some(ToolCallContributor::Client(_)));
        let asks = ready.question != ToolCallQuestion::default();
        let asked = match call {
            ToolCall::PendingConfirmation(call) => {
                let input = ready.tool_input.as_ref();
                input.is_none_or(|input| call.parameters.tool_input.as_ref() == Some(input))
            }
            _ => false,
        };
        (asks || !of_client) && !asked
    }

    fn check_question(
        &mut self,
        env: &Env,
        chat: &Uri,
        ready: Box<ToolCallReady>,
        out: &mut Effects,
    ) {
        let turn = ready.target.turn_id.clone();
        let Some(tool) = self.asked_about(chat, &ready) else {
            return;
        };
        if self.tool_checks.waiting.len() >= CHECKS {
            let reason = "Too many tools wait for hooks".to_owned();
            self.refuse_question(env, chat, ready, reason, out);
            return;
        }
        let question = Question {
            call: ready.target.tool_call_id.clone(),
            ready,
            passing: passing(&tool, turn.clone()),
            later: Vec::new(),
        };
        let what = Waiting::Question(Box::new(question));
        self.check(Some(turn), tool, what, out);
    }

    /// An agent is about to call a tool at the gateway.
    pub(crate) fn check_call(
        &mut self,
        session: &Uri,
        chat: &Uri,
        call: ToolTicket,
        tool: &str,
        input: &str,
        out: &mut Effects,
    ) {
        if !self.has_tool_hooks(session, ToolMoment::Before) {
            pass(session, call, Ok(()), out);
            return;
        }
        let tool = self.called_at_gateway(session, chat, tool, input);
        let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        let turn = turn.map(|turn| turn.id.clone());
        if let Some(turn) = &turn
            && self.tool_checks.has_passed(&passing(&tool, turn.clone()))
        {
            pass(session, call, Ok(()), out);
        } else if self.tool_checks.waiting.len() >= CHECKS {
            let reason = "Too many tools wait for hooks".to_owned();
            pass(session, call, Err(reason), out);
        } else {
            self.check(turn, tool, Waiting::Gateway(call), out);
        }
    }

    fn check(&mut self, turn: Option<TurnId>, tool: ToolUse, what: Waiting, out: &mut Effects) {
        let checks = &mut self.tool_checks;
        checks.last = checks.last.saturating_add(1);
        let ticket = CheckTicket(checks.last);
        let check = Check {
            session: tool.session.clone(),
            chat: tool.chat.clone(),
            turn,
            what,
        };
        checks.waiting.insert(ticket, check);
        let tool = Box::new(tool);
        let errand = CustomizationErrand::CheckTool { ticket, tool };
        out.push(Effect::Customize(Box::new(errand)));
    }

    /// Hooks have looked at something. It may not wait any more.
    pub(crate) fn tool_checked(
        &mut self,
        env: &Env,
        ticket: CheckTicket,
        verdict: Result<(), String>,
        out: &mut Effects,
    ) {
        let Some(check) = self.tool_checks.waiting.remove(&ticket) else {
            return;
        };
        let chat = &check.chat;
        match check.what {
            Waiting::Gateway(call) => pass(&check.session, call, verdict, out),
            Waiting::Question(question) => {
                let Question {
                    ready,
                    passing,
                    later,
                    ..
                } = *question;
                match verdict {
                    Ok(()) => {
                        self.tool_checks.remember(passing);
                        self.agent_action(env, chat, ChatAction::ToolCallReady(ready), out);
                    }
                    Err(reason) => self.refuse_question(env, chat, ready, reason, out),
                }
                for action in later {
                    self.agent_acts(env, chat, action, out);
                }
            }
        }
    }

    /// A call must not run, and nobody is asked: it is shown as it would be if
    /// somebody had said no, and the agent hears the same.
    fn refuse_question(
        &mut self,
        env: &Env,
        chat: &Uri,
        ready: Box<ToolCallReady>,
        reason: String,
        out: &mut Effects,
    ) {
        let refused = ChatAction::ToolCallConfirmed(Box::new(ToolCallConfirmed {
            target: ready.target.clone(),
            approved: false,
            confirmed: None,
            reason: Some(CancellationReason::Denied),
            edited_tool_input: None,
            user_suggestion: None,
            reason_message: Some(MaybeMarkdown::Plain(reason)),
            selected_option_id: None,
        }));
        if self.originate(chat, ChatAction::ToolCallReady(ready), out)
            && self.originate(chat, refused.clone(), out)
        {
            self.react(env, chat, &refused.into(), out);
        }
    }

    /// What waits for hooks in a turn that is over does not wait any more.
    pub(crate) fn drop_late_checks(&mut self, chat: &Uri, out: &mut Effects) {
        if self.tool_checks.is_empty() {
            return;
        }
        let running = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        let running = running.map(|turn| turn.id.clone());
        let over = |turn: &TurnId| Some(turn) != running.as_ref();
        let passed = &mut self.tool_checks.passed;
        passed.retain(|passed| passed.chat != *chat || !over(&passed.turn));
        self.drop_checks(
            |check| check.chat == *chat && check.turn.as_ref().is_some_and(over),
            "The turn is over",
            out,
        );
    }

    /// A chat is gone: nothing in it waits any more.
    pub(crate) fn drop_checks_of_chat(&mut self, chat: &Uri, out: &mut Effects) {
        self.tool_checks
            .passed
            .retain(|passed| passed.chat != *chat);
        self.drop_checks(|check| check.chat == *chat, "The chat is gone", out);
    }

    /// Nobody runs the hooks of a session any more.
    pub(crate) fn drop_checks_of_session(&mut self, session: &Uri, out: &mut Effects) {
        self.drop_checks(
            |check| check.session == *session,
            "The session is over",
            out,
        );
    }

    /// The agent does not wait for a call at the gateway any more.
    pub(crate) fn check_abandoned(&mut self, call: ToolTicket, out: &mut Effects) {
        let is_it = |check: &Check| matches!(check.what, Waiting::Gateway(it) if it == call);
        self.drop_checks(is_it, "The agent does not wait for it any more", out);
    }

    fn drop_checks(&mut self, is_over: impl Fn(&Check) -> bool, reason: &str, out: &mut Effects) {
        let over = self
            .tool_checks
            .waiting
            .extract_if(.., |_, check| is_over(check));
        for (ticket, check) in over {
            if let Waiting::Gateway(call) = check.what {
                pass(&check.session, call, Err(reason.to_owned()), out);
            }
            let session = check.session;
            let errand = CustomizationErrand::DropCheck { session, ticket };
            out.push(Effect::Customize(Box::new(errand)));
        }
    }

    /// A call is over: hooks may be for that. Nothing waits for them.
    pub(crate) fn tool_used(&self, chat: &Uri, target: &ToolCallTarget, out: &mut Effects) {
        let Some(ToolCall::Completed(call)) = self.call(chat, target) else {
            return;
        };
        let moment = match call.result.success {
            true => ToolMoment::After,
            false => ToolMoment::Failed,
        };
        let session = self.owner(chat);
        if session.is_some_and(|session| self.has_tool_hooks(session, moment))
            && let Some(tool) = self.completed(chat, moment, call)
        {
            let errand = CustomizationErrand::ToolUsed(Box::new(tool));
            out.push(Effect::Customize(Box::new(errand)));
        }
    }

    /// Whether hooks look at something that an agent asks about a call.
    pub(crate) fn waits_for_hooks(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        self.tool_checks.asks(chat, target)
    }

    fn is_completed(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        matches!(self.call(chat, target), Some(ToolCall::Completed(_)))
    }
}

/// Tells the gateway whether a call may go on.
pub(crate) fn pass(
    session: &Uri,
    call: ToolTicket,
    verdict: Result<(), String>,
    out: &mut Effects,
) {
    let session = session.clone();
    out.push(Effect::Tools(Box::new(ToolErrand::Pass {
        session,
        call,
        verdict,
    })));
}
