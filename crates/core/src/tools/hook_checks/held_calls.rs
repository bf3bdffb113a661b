//! What waits for hooks.

use std::collections::BTreeMap;

use agenthost_protocol::chat::{ChatAction, ToolCallReady, ToolCallTarget};
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use crate::tools::mcp::driver::GatewayCallId;
use crate::tools::tool_use::{HookCheckId, ToolUse};

/// Most calls that are remembered to have passed. The oldest is forgotten, and
/// looked at again.
const MAX_PASSED_CHECKS: usize = 100;

/// Uses of tools that wait for hooks.
#[derive(Debug, Clone, Default)]
pub(crate) struct HookChecks {
    pub(super) last_id: u64,
    pub(super) pending: BTreeMap<HookCheckId, HookCheck>,
    /// Questions that hooks had nothing against. The call that follows may come
    /// to the gateway, and hooks have seen it then.
    pub(super) passed: Vec<PassedCheck>,
}

/// Something that waits.
#[derive(Debug, Clone)]
pub(super) struct HookCheck {
    pub(super) session: Uri,
    pub(super) chat: Uri,
    /// The turn that it is of: it does not wait longer than that.
    pub(super) turn: Option<TurnId>,
    pub(super) subject: CheckSubject,
}

#[derive(Debug, Clone)]
pub(super) enum CheckSubject {
    /// A call at the gateway.
    Gateway(GatewayCallId),
    /// A question of an agent.
    ToolCall(Box<HeldToolCall>),
}

/// A question of an agent about a call.
#[derive(Clone)]
pub(super) struct HeldToolCall {
    pub(super) call: ToolCallId,
    pub(super) ready: Box<ToolCallReady>,
    /// What it is about.
    pub(super) passed_check: PassedCheck,
    /// What the agent did with the call since.
    pub(super) held_actions: Vec<ChatAction>,
}

/// Shows nothing of what is asked.
impl std::fmt::Debug for HeldToolCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeldToolCall")
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

/// What hooks had nothing against.
#[derive(Clone, PartialEq)]
pub(super) struct PassedCheck {
    pub(super) chat: Uri,
    pub(super) turn: TurnId,
    name: Option<String>,
    input: Json,
}

/// Shows nothing of what a tool is used with.
impl std::fmt::Debug for PassedCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PassedCheck")
            .field("chat", &self.chat)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl HookCheck {
    /// Whether it is a question about a call.
    fn holds_call(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        let same = self.chat == *chat && self.turn.as_ref() == Some(&target.turn_id);
        match &self.subject {
            CheckSubject::ToolCall(question) => same && question.call == target.tool_call_id,
            CheckSubject::Gateway(_) => false,
        }
    }
}

impl HookChecks {
    /// Whether nothing waits, and nothing is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.passed.is_empty()
    }

    /// The question that a call waits with.
    pub(super) fn held_call_mut(
        &mut self,
        chat: &Uri,
        target: &ToolCallTarget,
    ) -> Option<&mut HeldToolCall> {
        let mut waiting = self.pending.values_mut();
        let check = waiting.find(|check| check.holds_call(chat, target))?;
        match &mut check.subject {
            CheckSubject::ToolCall(question) => Some(&mut **question),
            CheckSubject::Gateway(_) => None,
        }
    }

    /// Whether a call waits with a question.
    pub(super) fn is_held(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        self.pending
            .values()
            .any(|check| check.holds_call(chat, target))
    }

    /// Remembers what hooks had nothing against.
    pub(super) fn record_passed(&mut self, passed: PassedCheck) {
        if self.passed.len() >= MAX_PASSED_CHECKS {
            self.passed.remove(0);
        }
        self.passed.push(passed);
    }

    /// Whether hooks have seen a call before it came to the gateway. It counts
    /// for one call.
    pub(super) fn take_passed(&mut self, call: &PassedCheck) -> bool {
        let place = self.passed.iter().position(|passed| passed == call);
        place.map(|place| self.passed.remove(place)).is_some()
    }
}

/// A use of a tool in a turn, as it is known again.
pub(super) fn to_passed_check(tool: &ToolUse, turn: TurnId) -> PassedCheck {
    PassedCheck {
        chat: tool.chat.clone(),
        turn,
        name: tool.names.first().cloned(),
        input: tool.input.clone(),
    }
}
