//! A chat, as the bridge has it: its agent session, and its turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_core::agent::{ChatContext, Decision};
use agenthost_core::customizing::Prepared;
use agenthost_protocol::chat::{Answers, InputResponseKind, Message, Turn};
use agenthost_protocol::ids::{ConfirmationOptionId, InputRequestId, ToolCallId, TurnId};
use agenthost_protocol::list::List;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::mapper::{ChatMapper, Permission};
use super::options::Options;
use super::prompt::Resources;
use super::questions::Form;
use super::replay::Replay;
use super::wire::Reply;
use crate::mapper::TurnMapper;

/// A session of the agent's own.
#[derive(Debug)]
pub(crate) struct AgentSession {
    /// What the agent calls it.
    pub(crate) id: String,
    pub(crate) mapper: ChatMapper,
    pub(crate) options: Options,
    /// Choices that the agent was told of and has not answered yet.
    pub(crate) unsettled: u32,
    /// Until when it has to.
    pub(crate) settle_by: Option<Instant>,
    pub(crate) knows: Knows,
    /// What it was told to go by.
    pub(crate) instructions: Option<Arc<str>>,
    /// The model that it has by choice, while another is lent to a turn.
    pub(crate) own_model: Option<Value>,
}

/// A chat.
#[derive(Debug, Default)]
pub(crate) struct Chat {
    pub(crate) agent_session: Link,
    pub(crate) turn: Option<Running>,
    /// The prompt that the agent has not answered yet. There is one at most:
    /// what agents do with a second one is anybody's guess.
    pub(crate) in_flight: Option<InFlight>,
    /// What the next message refers to.
    pub(crate) resources: Attachments,
    /// What the agent calls a session of its own that knows what was said here,
    /// and has to be taken up again.
    pub(crate) noted: Option<String>,
    /// What the chat has to know that nobody said in it.
    pub(crate) context: Option<ChatContext>,
}

/// What a message refers to, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Attachments {
    turn: Option<TurnId>,
    pub(crate) read: Resources,
}

impl Attachments {
    /// Those of a turn. What another turn left behind is forgotten.
    pub(crate) fn for_turn(&mut self, turn: &TurnId) -> &mut Resources {
        if self.turn.as_ref() != Some(turn) {
            self.turn = Some(turn.clone());
            self.read.clear();
        }
        &mut self.read
    }
}

/// Whether a chat has an agent session.
#[derive(Debug, Default)]
pub(crate) enum Link {
    #[default]
    None,
    /// The agent was asked for one; it has to be there until then.
    Opening(Instant),
    /// The agent was asked to take up one that it had before.
    TakingUp(Instant, Box<Replay>),
    Open(Box<AgentSession>),
}

impl Link {
    /// The agent session, if it is there.
    pub(crate) fn open(&mut self) -> Option<&mut AgentSession> {
        match self {
            Link::Open(session) => Some(session),
            Link::None | Link::Opening(_) | Link::TakingUp(..) => None,
        }
    }

    /// Until when it has to be there, if it was asked for, or has to answer.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self {
            Link::Opening(by) | Link::TakingUp(by, _) => Some(*by),
            Link::Open(session) => session.settle_by.filter(|_| session.unsettled > 0),
            Link::None => None,
        }
    }
}

/// What an agent session knows of what was said before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Knows {
    /// Nothing: it is new.
    Nothing,
    /// All of it: it was taken up again, and nobody was told so yet.
    TakenUp,
    /// All of it.
    All,
}

/// A prompt that the agent works on.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) turn: TurnId,
    /// Until when it has to stop; it was told to.
    pub(crate) stop_by: Option<Instant>,
    /// What the agent session knew before it.
    pub(crate) knew: Knows,
    /// What the agent session had to go by before it.
    pub(crate) instructed: Option<Arc<str>>,
}

/// A turn that has not ended.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) id: TurnId,
    pub(crate) message: Arc<Message>,
    /// The turns before it.
    pub(crate) before: List<Turn>,
    /// The model that it wants, until the agent was told.
    pub(crate) model: Option<TurnModel>,
    /// What customizations have to add, until the agent was told.
    pub(crate) prepared: Prepared,
    pub(crate) mapper: TurnMapper,
    pub(crate) prompted: Prompted,
    permissions: BTreeMap<ToolCallId, (Permission, Reply)>,
    questions: BTreeMap<InputRequestId, (Form, Reply)>,
}

/// A model that a turn wants.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TurnModel {
    /// Somebody chose it.
    Chosen(Value),
    /// A custom agent goes by this name of one, for this turn alone.
    Lent(String),
}

/// What was decided about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    Denied,
}

/// Whether the agent was told of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prompted {
    NotYet,
    Yes,
}

impl Running {
    /// A turn that begins.
    pub(crate) fn new(
        id: TurnId,
        message: Arc<Message>,
        before: List<Turn>,
        prepared: Prepared,
    ) -> Self {
        let chosen = message.model.as_ref();
        let chosen = chosen.map(|model| TurnModel::Chosen(json!(model.id)));
        let lent = prepared.model.as_ref();
        let lent = lent.map(|model| TurnModel::Lent(model.id.to_string()));
        Running {
            mapper: TurnMapper::new(id.clone()),
            model: chosen.or(lent),
            prepared,
            id,
            message,
            before,
            prompted: Prompted::NotYet,
            permissions: BTreeMap::new(),
            questions: BTreeMap::new(),
        }
    }

    /// The agent is told of it.
    pub(crate) fn mark_prompted(&mut self) {
        self.prompted = Prompted::Yes;
    }

    /// Somebody has to decide. A question about the same call takes the place
    /// of an older one, which has no answer any more.
    pub(crate) fn ask_permission(&mut self, permission: Permission, reply: Reply) {
        let call = permission.call.clone();
        if let Some((_, older)) = self.permissions.insert(call, (permission, reply)) {
            older.send(&cancelled());
        }
    }

    /// Somebody has to answer.
    pub(crate) fn ask_question(&mut self, id: InputRequestId, form: Form, reply: Reply) {
        self.questions.insert(id, (form, reply));
    }

    /// Somebody decided. Says what; `None` if nobody asked.
    pub(crate) fn decide(&mut self, call: &ToolCallId, decision: &Decision) -> Option<Verdict> {
        let (picked, verdict) = match decision {
            Decision::Approved { option, .. } => (option, Verdict::Allowed),
            Decision::Denied { option, .. } => (option, Verdict::Denied),
            Decision::ResultApproved | Decision::ResultDenied => return None,
        };
        let (permission, reply) = self.permissions.remove(call)?;
        let Some(id) = option(&permission, picked.as_ref(), verdict) else {
            // Nobody said that it is fine forever.
            reply.send(&cancelled());
            return Some(Verdict::Denied);
        };
        reply.send(&json!({"outcome": {"outcome": "selected", "optionId": id}}));
        Some(verdict)
    }

    /// Somebody answered.
    pub(crate) fn answer(
        &mut self,
        request: &InputRequestId,
        response: InputResponseKind,
        answers: &Answers,
    ) {
        if let Some((form, reply)) = self.questions.remove(request) {
            reply.send(&form.answer(response, answers));
        }
    }

    /// Nobody will decide or answer any more. Agents that are not told so wait
    /// forever.
    pub(crate) fn give_up(self) {
        for (_, reply) in self.permissions.into_values() {
            reply.send(&cancelled());
        }
        for (_, reply) in self.questions.into_values() {
            reply.send(&json!({"action": "cancel"}));
        }
    }
}

/// The answer to a question that has no answer.
pub(crate) fn cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}

/// The agent's option that fits what was decided. Who did not pick one means
/// this once.
fn option<'a>(
    permission: &'a Permission,
    picked: Option<&ConfirmationOptionId>,
    verdict: Verdict,
) -> Option<&'a str> {
    let options = &permission.options;
    let picked =
        picked.and_then(|picked| options.iter().find(|option| option.id == picked.as_str()));
    let (once, family) = match verdict {
        Verdict::Allowed => ("allow_once", "allow"),
        Verdict::Denied => ("reject_once", "reject"),
    };
    let found = picked
        .or_else(|| options.iter().find(|option| option.kind == once))
        .or_else(|| {
            let fits = |kind: &str| kind.starts_with(family) && !kind.ends_with("_always");
            options.iter().find(|option| fits(&option.kind))
        });
    found.map(|option| option.id.as_str())
}
