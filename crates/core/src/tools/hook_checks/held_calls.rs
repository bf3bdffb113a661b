//! Pending hook checks, and tool calls that are held until their check has ended.

use std::collections::BTreeMap;

use agenthost_protocol::chat::{ChatAction, ToolCallReady, ToolCallTarget};
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use serde::{Deserialize, Serialize};

use crate::tools::mcp::driver::GatewayCallId;
use crate::tools::tool_use::{HookCheckId, ToolUse};

/// Maximum number of passed checks that are remembered. The oldest is evicted, and its call is
/// checked again.
const MAX_PASSED_CHECKS: usize = 100;

/// Pending and passed hook checks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct HookChecks {
    pub(super) last_id: u64,
    pub(super) pending: BTreeMap<HookCheckId, HookCheck>,
    /// Approval requests that hooks have allowed. The call may follow at the gateway, and is
    /// not checked a second time.
    pub(super) passed: Vec<PassedCheck>,
}

/// A pending hook check.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct HookCheck {
    pub(super) session: Uri,
    pub(super) chat: Uri,
    /// The turn of the call. The check is dropped when it ends.
    pub(super) turn: Option<TurnId>,
    pub(super) subject: CheckSubject,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum CheckSubject {
    /// A call at the gateway.
    Gateway(GatewayCallId),
    /// An approval request of an agent.
    ToolCall(Box<HeldToolCall>),
}

/// An approval request that is held until its check has ended.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct HeldToolCall {
    pub(super) call: ToolCallId,
    pub(super) ready: Box<ToolCallReady>,
    /// The entry to record if hooks allow the call.
    pub(super) passed_check: PassedCheck,
    /// Actions of the agent on the call since then.
    pub(super) held_actions: Vec<ChatAction>,
}

/// Omits the request, so that it never reaches the log.
impl std::fmt::Debug for HeldToolCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeldToolCall")
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

/// A tool use that hooks have allowed.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PassedCheck {
    pub(super) chat: Uri,
    pub(super) turn: TurnId,
    name: Option<String>,
    input: Json,
}

/// Omits the input, so that it never reaches the log.
impl std::fmt::Debug for PassedCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PassedCheck")
            .field("chat", &self.chat)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl HookCheck {
    /// Returns `true` if the check holds an approval request of this call.
    fn holds_call(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        let same = self.chat == *chat && self.turn.as_ref() == Some(&target.turn_id);
        match &self.subject {
            CheckSubject::ToolCall(question) => same && question.call == target.tool_call_id,
            CheckSubject::Gateway(_) => false,
        }
    }
}

impl HookChecks {
    /// Returns `true` if no check is pending or remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.passed.is_empty()
    }

    /// Returns the held approval request of a call.
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

    /// Returns `true` if an approval request of the call is held.
    pub(super) fn is_held(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        self.pending
            .values()
            .any(|check| check.holds_call(chat, target))
    }

    /// Remembers a tool use that hooks have allowed.
    pub(super) fn record_passed(&mut self, passed: PassedCheck) {
        if self.passed.len() >= MAX_PASSED_CHECKS {
            self.passed.remove(0);
        }
        self.passed.push(passed);
    }

    /// Removes a passed check that equals this call. Returns `true` if there was one. Each
    /// passed check counts for one call.
    pub(super) fn take_passed(&mut self, call: &PassedCheck) -> bool {
        let place = self.passed.iter().position(|passed| passed == call);
        place.map(|place| self.passed.remove(place)).is_some()
    }
}

/// Returns the entry by which the same tool use is recognized at the gateway.
pub(super) fn to_passed_check(tool: &ToolUse, turn: TurnId) -> PassedCheck {
    PassedCheck {
        chat: tool.chat.clone(),
        turn,
        name: tool.names.first().cloned(),
        input: tool.input.clone(),
    }
}
