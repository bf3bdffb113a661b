//! The state of a chat in the bridge: its agent session, its turn and its pending requests.

pub(crate) mod auto_approve;
pub(crate) mod mcp_servers;
pub(crate) mod option_label;
pub(crate) mod options;
pub(crate) mod prompt;
pub(crate) mod replay;
pub(crate) mod transcript;

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_agents::TurnMapper;
use agenthost_core::agent::{ChatContext, ToolCallDecision};
use agenthost_core::customization::driver::PreparedTurn;
use agenthost_protocol::chat::{Answers, InputResponseKind, Message, Turn};
use agenthost_protocol::ids::{ConfirmationOptionId, InputRequestId, ToolCallId, TurnId};
use agenthost_protocol::list::List;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::mapper::elicitation::ElicitationForm;
use super::mapper::{ChatMapper, PermissionRequest};
use super::session::options::SessionOptions;
use super::session::prompt::AttachedResources;
use super::session::replay::SessionReplay;
use super::transport::RequestResponder;

/// A session of the agent, in ACP, that serves one chat.
#[derive(Debug)]
pub(crate) struct AgentSession {
    /// The id that the agent gave the session.
    pub(crate) id: String,
    pub(crate) mapper: ChatMapper,
    pub(crate) options: SessionOptions,
    /// The number of option requests without a response.
    pub(crate) pending_options: u32,
    /// The deadline of the last option request.
    pub(crate) option_deadline: Option<Instant>,
    pub(crate) history: HistoryKnowledge,
    /// The instructions of the host that were last sent to the agent.
    pub(crate) instructions: Option<Arc<str>>,
    /// The model that the user chose, while a turn uses another one.
    pub(crate) chosen_model: Option<Value>,
}

/// A chat with its agent session and its turn.
#[derive(Debug, Default)]
pub(crate) struct ChatEntry {
    pub(crate) agent_session: AgentSessionState,
    pub(crate) turn: Option<TurnInProgress>,
    /// The prompt that the agent has not answered yet. There is at most one, because agents
    /// differ in their handling of a second prompt.
    pub(crate) in_flight: Option<PromptInFlight>,
    /// The attachments of the next message.
    pub(crate) attachments: TurnAttachments,
    /// The id of an agent session that contains the conversation of this chat and must be
    /// resumed.
    pub(crate) resumable_id: Option<String>,
    /// The context of a side chat, which is no part of its own conversation.
    pub(crate) context: Option<ChatContext>,
}

/// The content of the attachments of one message, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct TurnAttachments {
    turn: Option<TurnId>,
    pub(crate) resources: AttachedResources,
}

impl TurnAttachments {
    /// Returns the attachments of a turn. Attachments of another turn are removed.
    pub(crate) fn for_turn(&mut self, turn: &TurnId) -> &mut AttachedResources {
        if self.turn.as_ref() != Some(turn) {
            self.turn = Some(turn.clone());
            self.resources.clear();
        }
        &mut self.resources
    }
}

/// The agent session of a chat, or the progress of getting one.
#[derive(Debug, Default)]
pub(crate) enum AgentSessionState {
    #[default]
    None,
    /// A session was requested; the response is due at this deadline.
    Opening(Instant),
    /// The agent was requested to resume a session; the response is due at this deadline.
    Resuming(Instant, Box<SessionReplay>),
    Open(Box<AgentSession>),
}

impl AgentSessionState {
    /// Returns the agent session, if it is open.
    pub(crate) fn open_session(&mut self) -> Option<&mut AgentSession> {
        match self {
            AgentSessionState::Open(session) => Some(session),
            AgentSessionState::None
            | AgentSessionState::Opening(_)
            | AgentSessionState::Resuming(..) => None,
        }
    }

    /// Returns the deadline of the pending session or option request, if there is one.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self {
            AgentSessionState::Opening(deadline) | AgentSessionState::Resuming(deadline, _) => {
                Some(*deadline)
            }
            AgentSessionState::Open(session) => session
                .option_deadline
                .filter(|_| session.pending_options > 0),
            AgentSessionState::None => None,
        }
    }
}

/// The part of the chat's conversation that an agent session contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HistoryKnowledge {
    /// No part: the session is new.
    None,
    /// All turns: the session was resumed, and the user has not been notified yet.
    Resumed,
    /// All turns of the conversation.
    Complete,
}

/// A prompt that the agent has not answered yet.
#[derive(Debug)]
pub(crate) struct PromptInFlight {
    pub(crate) turn: TurnId,
    /// The deadline of the response after the prompt was cancelled.
    pub(crate) cancel_deadline: Option<Instant>,
    /// The history that the agent session contained before this prompt.
    pub(crate) previous_history: HistoryKnowledge,
    /// The instructions that the agent session had before this prompt.
    pub(crate) previous_instructions: Option<Arc<str>>,
}

/// A turn that has not ended.
#[derive(Debug)]
pub(crate) struct TurnInProgress {
    pub(crate) id: TurnId,
    pub(crate) message: Arc<Message>,
    /// The turns before this one.
    pub(crate) previous_turns: List<Turn>,
    /// The model for this turn, until it was sent to the agent.
    pub(crate) model: Option<TurnModel>,
    /// The additions of customizations, until they were sent to the agent.
    pub(crate) prepared: PreparedTurn,
    pub(crate) mapper: TurnMapper,
    pub(crate) prompt_state: PromptState,
    permissions: BTreeMap<ToolCallId, (PermissionRequest, RequestResponder)>,
    elicitations: BTreeMap<InputRequestId, (ElicitationForm, RequestResponder)>,
}

/// The model that a turn requires.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TurnModel {
    /// The model that the user chose for the message.
    Chosen(Value),
    /// The name of the model that a custom agent requires, for this turn only.
    Temporary(String),
}

/// The decision about a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermissionOutcome {
    Allowed,
    Denied,
}

/// The progress of a turn's prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptState {
    Pending,
    Sent,
}

impl TurnInProgress {
    /// Creates a turn whose prompt is pending.
    pub(crate) fn new(
        id: TurnId,
        message: Arc<Message>,
        previous_turns: List<Turn>,
        prepared: PreparedTurn,
    ) -> Self {
        let chosen_model = message.model.as_ref();
        let chosen_model = chosen_model.map(|model| TurnModel::Chosen(json!(model.id)));
        let temporary_model = prepared.model.as_ref();
        let temporary_model =
            temporary_model.map(|model| TurnModel::Temporary(model.id.to_string()));
        TurnInProgress {
            mapper: TurnMapper::new(id.clone()),
            model: chosen_model.or(temporary_model),
            prepared,
            id,
            message,
            previous_turns,
            prompt_state: PromptState::Pending,
            permissions: BTreeMap::new(),
            elicitations: BTreeMap::new(),
        }
    }

    /// Records that the prompt was sent to the agent.
    pub(crate) fn mark_prompted(&mut self) {
        self.prompt_state = PromptState::Sent;
    }

    /// Stores a permission request until the user decides. It replaces an earlier request about
    /// the same tool call, which is cancelled.
    pub(crate) fn add_permission(
        &mut self,
        permission: PermissionRequest,
        responder: RequestResponder,
    ) {
        let call = permission.call.clone();
        if let Some((_, replaced)) = self.permissions.insert(call, (permission, responder)) {
            replaced.respond(&cancelled_outcome());
        }
    }

    /// Stores an elicitation until the user answers.
    pub(crate) fn add_elicitation(
        &mut self,
        id: InputRequestId,
        form: ElicitationForm,
        responder: RequestResponder,
    ) {
        self.elicitations.insert(id, (form, responder));
    }

    /// Responds to the permission request of a tool call. Returns the outcome, or `None` if
    /// there is no such request.
    pub(crate) fn resolve_permission(
        &mut self,
        call: &ToolCallId,
        decision: &ToolCallDecision,
    ) -> Option<PermissionOutcome> {
        let (picked, outcome) = match decision {
            ToolCallDecision::Approved { option, .. } => (option, PermissionOutcome::Allowed),
            ToolCallDecision::Denied { option, .. } => (option, PermissionOutcome::Denied),
            ToolCallDecision::ResultApproved | ToolCallDecision::ResultDenied => return None,
        };
        let (permission, responder) = self.permissions.remove(call)?;
        let Some(id) = select_option(&permission, picked.as_ref(), outcome) else {
            // The agent offers only lasting options, and the user made no lasting decision.
            responder.respond(&cancelled_outcome());
            return Some(PermissionOutcome::Denied);
        };
        responder.respond(&json!({"outcome": {"outcome": "selected", "optionId": id}}));
        Some(outcome)
    }

    /// Responds to an elicitation with the user's answers.
    pub(crate) fn answer_elicitation(
        &mut self,
        request: &InputRequestId,
        response: InputResponseKind,
        answers: &Answers,
    ) {
        if let Some((form, responder)) = self.elicitations.remove(request) {
            responder.respond(&form.to_response(response, answers));
        }
    }

    /// Cancels all pending requests of the turn. Without a response the agent would wait
    /// forever.
    pub(crate) fn cancel_requests(self) {
        for (_, responder) in self.permissions.into_values() {
            responder.respond(&cancelled_outcome());
        }
        for (_, responder) in self.elicitations.into_values() {
            responder.respond(&json!({"action": "cancel"}));
        }
    }
}

/// Returns the response to a cancelled permission request.
pub(crate) fn cancelled_outcome() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}

/// Returns the agent's option for a decision. If the user picked no option, it is one that
/// applies only once.
fn select_option<'a>(
    permission: &'a PermissionRequest,
    picked: Option<&ConfirmationOptionId>,
    outcome: PermissionOutcome,
) -> Option<&'a str> {
    let options = &permission.options;
    let picked =
        picked.and_then(|picked| options.iter().find(|option| option.id == picked.as_str()));
    let (once, family) = match outcome {
        PermissionOutcome::Allowed => ("allow_once", "allow"),
        PermissionOutcome::Denied => ("reject_once", "reject"),
    };
    let found = picked
        .or_else(|| options.iter().find(|option| option.kind == once))
        .or_else(|| {
            let is_temporary = |kind: &str| kind.starts_with(family) && !kind.ends_with("_always");
            options.iter().find(|option| is_temporary(&option.kind))
        });
    found.map(|option| option.id.as_str())
}
