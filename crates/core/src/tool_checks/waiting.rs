//! What waits for hooks.

use std::collections::BTreeMap;

use agenthost_protocol::chat::{ChatAction, ToolCallReady, ToolCallTarget};
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use crate::tool_servers::ToolTicket;
use crate::tool_use::{CheckTicket, ToolUse};

/// Most calls that are remembered to have passed. The oldest is forgotten, and
/// looked at again.
const PASSED: usize = 100;

/// Uses of tools that wait for hooks.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolChecks {
    pub(super) last: u64,
    pub(super) waiting: BTreeMap<CheckTicket, Check>,
    /// Questions that hooks had nothing against. The call that follows may come
    /// to the gateway, and hooks have seen it then.
    pub(super) passed: Vec<Passed>,
}

/// Something that waits.
#[derive(Debug, Clone)]
pub(super) struct Check {
    pub(super) session: Uri,
    pub(super) chat: Uri,
    /// The turn that it is of: it does not wait longer than that.
    pub(super) turn: Option<TurnId>,
    pub(super) what: Waiting,
}

#[derive(Debug, Clone)]
pub(super) enum Waiting {
    /// A call at the gateway.
    Gateway(ToolTicket),
    /// A question of an agent.
    Question(Box<Question>),
}

/// A question of an agent about a call.
#[derive(Clone)]
pub(super) struct Question {
    pub(super) call: ToolCallId,
    pub(super) ready: Box<ToolCallReady>,
    /// What it is about.
    pub(super) passing: Passed,
    /// What the agent did with the call since.
    pub(super) later: Vec<ChatAction>,
}

/// Shows nothing of what is asked.
impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question")
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

/// What hooks had nothing against.
#[derive(Clone, PartialEq)]
pub(super) struct Passed {
    pub(super) chat: Uri,
    pub(super) turn: TurnId,
    name: Option<String>,
    input: Json,
}

/// Shows nothing of what a tool is used with.
impl std::fmt::Debug for Passed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passed")
            .field("chat", &self.chat)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Check {
    /// Whether it is a question about a call.
    fn asks(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        let same = self.chat == *chat && self.turn.as_ref() == Some(&target.turn_id);
        match &self.what {
            Waiting::Question(question) => same && question.call == target.tool_call_id,
            Waiting::Gateway(_) => false,
        }
    }
}

impl ToolChecks {
    /// Whether nothing waits, and nothing is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.passed.is_empty()
    }

    /// The question that a call waits with.
    pub(super) fn question(
        &mut self,
        chat: &Uri,
        target: &ToolCallTarget,
    ) -> Option<&mut Question> {
        let mut waiting = self.waiting.values_mut();
        let check = waiting.find(|check| check.asks(chat, target))?;
        match &mut check.what {
            Waiting::Question(question) => Some(&mut **question),
            Waiting::Gateway(_) => None,
        }
    }

    /// Whether a call waits with a question.
    pub(super) fn asks(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        self.waiting.values().any(|check| check.asks(chat, target))
    }

    /// Remembers what hooks had nothing against.
    pub(super) fn remember(&mut self, passed: Passed) {
        if self.passed.len() >= PASSED {
            self.passed.remove(0);
        }
        self.passed.push(passed);
    }

    /// Whether hooks have seen a call before it came to the gateway. It counts
    /// for one call.
    pub(super) fn has_passed(&mut self, call: &Passed) -> bool {
        let place = self.passed.iter().position(|passed| passed == call);
        place.map(|place| self.passed.remove(place)).is_some()
    }
}

/// A use of a tool in a turn, as it is known again.
pub(super) fn passing(tool: &ToolUse, turn: TurnId) -> Passed {
    Passed {
        chat: tool.chat.clone(),
        turn,
        name: tool.names.first().cloned(),
        input: tool.input.clone(),
    }
}
