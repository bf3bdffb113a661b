//! A chat, as the bridge has it: its agent session, and its turn.

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

/// A session of the agent's own.
#[derive(Debug)]
pub(crate) struct AgentSession {
    /// What the agent calls it.
    pub(crate) id: String,
    pub(crate) mapper: ChatMapper,
    pub(crate) options: SessionOptions,
    /// Choices that the agent was told of and has not answered yet.
    pub(crate) pending_options: u32,
    /// Until when it has to.
    pub(crate) option_deadline: Option<Instant>,
    pub(crate) history: HistoryKnowledge,
    /// What it was told to go by.
    pub(crate) instructions: Option<Arc<str>>,
    /// The model that it has by choice, while another is lent to a turn.
    pub(crate) chosen_model: Option<Value>,
}

/// A chat.
#[derive(Debug, Default)]
pub(crate) struct ChatEntry {
    pub(crate) agent_session: AgentSessionState,
    pub(crate) turn: Option<TurnInProgress>,
    /// The prompt that the agent has not answered yet. There is one at most:
    /// what agents do with a second one is anybody's guess.
    pub(crate) in_flight: Option<PromptInFlight>,
    /// What the next message refers to.
    pub(crate) attachments: TurnAttachments,
    /// What the agent calls a session of its own that knows what was said here,
    /// and has to be taken up again.
    pub(crate) resumable_id: Option<String>,
    /// What the chat has to know that nobody said in it.
    pub(crate) context: Option<ChatContext>,
}

/// What a message refers to, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct TurnAttachments {
    turn: Option<TurnId>,
    pub(crate) resources: AttachedResources,
}

impl TurnAttachments {
    /// Those of a turn. What another turn left behind is forgotten.
    pub(crate) fn for_turn(&mut self, turn: &TurnId) -> &mut AttachedResources {
        if self.turn.as_ref() != Some(turn) {
            self.turn = Some(turn.clone());
            self.resources.clear();
        }
        &mut self.resources
    }
}

/// Whether a chat has an agent session.
#[derive(Debug, Default)]
pub(crate) enum AgentSessionState {
    #[default]
    None,
    /// The agent was asked for one; it has to be there until then.
    Opening(Instant),
    /// The agent was asked to take up one that it had before.
    Resuming(Instant, Box<SessionReplay>),
    Open(Box<AgentSession>),
}

impl AgentSessionState {
    /// The agent session, if it is there.
    pub(crate) fn open_session(&mut self) -> Option<&mut AgentSession> {
        match self {
            AgentSessionState::Open(session) => Some(session),
            AgentSessionState::None
            | AgentSessionState::Opening(_)
            | AgentSessionState::Resuming(..) => None,
        }
    }

    /// Until when it has to be there, if it was asked for, or has to answer.
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

/// What an agent session knows of what was said before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HistoryKnowledge {
    /// Nothing: it is new.
    None,
    /// All of it: it was taken up again, and nobody was told so yet.
    Resumed,
    /// All of it.
    Complete,
}

/// A prompt that the agent works on.
#[derive(Debug)]
pub(crate) struct PromptInFlight {
    pub(crate) turn: TurnId,
    /// Until when it has to stop; it was told to.
    pub(crate) cancel_deadline: Option<Instant>,
    /// What the agent session knew before it.
    pub(crate) previous_history: HistoryKnowledge,
    /// What the agent session had to go by before it.
    pub(crate) previous_instructions: Option<Arc<str>>,
}

/// A turn that has not ended.
#[derive(Debug)]
pub(crate) struct TurnInProgress {
    pub(crate) id: TurnId,
    pub(crate) message: Arc<Message>,
    /// The turns before it.
    pub(crate) previous_turns: List<Turn>,
    /// The model that it wants, until the agent was told.
    pub(crate) model: Option<TurnModel>,
    /// What customizations have to add, until the agent was told.
    pub(crate) prepared: PreparedTurn,
    pub(crate) mapper: TurnMapper,
    pub(crate) prompt_state: PromptState,
    permissions: BTreeMap<ToolCallId, (PermissionRequest, RequestResponder)>,
    elicitations: BTreeMap<InputRequestId, (ElicitationForm, RequestResponder)>,
}

/// A model that a turn wants.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TurnModel {
    /// Somebody chose it.
    Chosen(Value),
    /// A custom agent goes by this name of one, for this turn alone.
    Temporary(String),
}

/// What was decided about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermissionOutcome {
    Allowed,
    Denied,
}

/// Whether the agent was told of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptState {
    Pending,
    Sent,
}

impl TurnInProgress {
    /// A turn that begins.
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

    /// The agent is told of it.
    pub(crate) fn mark_prompted(&mut self) {
        self.prompt_state = PromptState::Sent;
    }

    /// Somebody has to decide. A question about the same call takes the place
    /// of an older one, which has no answer any more.
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

    /// Somebody has to answer.
    pub(crate) fn add_elicitation(
        &mut self,
        id: InputRequestId,
        form: ElicitationForm,
        responder: RequestResponder,
    ) {
        self.elicitations.insert(id, (form, responder));
    }

    /// Somebody decided. Says what; `None` if nobody asked.
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
            // Nobody said that it is fine forever.
            responder.respond(&cancelled_outcome());
            return Some(PermissionOutcome::Denied);
        };
        responder.respond(&json!({"outcome": {"outcome": "selected", "optionId": id}}));
        Some(outcome)
    }

    /// Somebody answered.
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

    /// Nobody will decide or answer any more. Agents that are not told so wait
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

/// The answer to a question that has no answer.
pub(crate) fn cancelled_outcome() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}

/// The agent's option that fits what was decided. Who did not pick one means
/// this once.
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
