//! What the agent sends.

use agenthost_core::agent::AgentEvent;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use serde_json::Value;

use super::{Abandoned, Bridge, Call, Incoming, Link};
use crate::acp::chat::cancelled;
use crate::acp::replay::Replay;
use crate::acp::wire::{AUTHENTICATION_REQUIRED, CallError, Object, Reply};

/// Whose an agent session is.
pub(super) enum Owner {
    Chat(Uri),
    Spare,
}

impl Owner {
    /// The chat that has it; `None` if it is the spare one.
    fn chat(&self) -> Option<&Uri> {
        match self {
            Owner::Chat(chat) => Some(chat),
            Owner::Spare => None,
        }
    }
}

impl Bridge {
    pub(super) async fn heard(&mut self, incoming: Incoming<Call>) -> Result<(), String> {
        match incoming {
            Incoming::Update(params) => self.update(&params).await,
            Incoming::Permission(params, reply) => self.permission(&params, reply).await,
            Incoming::Elicitation(params, reply) => self.question(&params, reply).await,
            Incoming::Service(request, params, reply) => self.serve(request, params, reply).await,
            Incoming::Answer(call, answer) => self.answered(call, answer).await,
            Incoming::Closed(reason) => self.closed(reason).await,
        }
    }

    async fn update(&mut self, params: &Object) -> Result<(), String> {
        let (Some(id), Some(update)) = (session_of(params), params.get("update")) else {
            return Ok(());
        };
        if let Some(owner) = self.owner(id) {
            return self.apply(&owner, update).await;
        }
        match self.replay(id) {
            Some(replay) => {
                replay.update(update);
                Ok(())
            }
            None => {
                if let Some(live) = &mut self.live {
                    live.keep_early(id.to_owned(), update.clone());
                }
                Ok(())
            }
        }
    }

    pub(super) async fn apply(&mut self, owner: &Owner, update: &Value) -> Result<(), String> {
        let chat = owner.chat();
        let Some(session) = self.agent_session(chat) else {
            return Ok(());
        };
        let told = session.mapper.update(update);
        self.tell(chat, told).await
    }

    async fn permission(&mut self, params: &Object, reply: Reply) -> Result<(), String> {
        let Some(address) = session_of(params).and_then(|id| self.chat_of(id)) else {
            self.refuse(params, reply, &cancelled());
            return Ok(());
        };
        let chat = self.chats.get_mut(&address);
        let asked = chat.and_then(|chat| {
            let session = chat.agent_session.open()?;
            let turn = chat.turn.as_mut()?;
            Some((session.mapper.permission(params)?, turn))
        });
        match asked {
            Some(((permission, told), turn)) => {
                turn.ask_permission(permission, reply);
                self.tell(Some(&address), told).await
            }
            None => {
                reply.send(&cancelled());
                Ok(())
            }
        }
    }

    async fn question(&mut self, params: &Object, reply: Reply) -> Result<(), String> {
        let address = session_of(params).and_then(|id| self.chat_of(id));
        let chat = address
            .as_ref()
            .and_then(|address| self.chats.get_mut(address));
        let asked = chat.and_then(|chat| {
            let session = chat.agent_session.open()?;
            let turn = chat.turn.as_mut()?;
            Some((session.mapper.question(params)?, turn))
        });
        match (asked, address) {
            (Some(((id, form, told), turn)), Some(address)) => {
                turn.ask_question(id, form, reply);
                self.tell(Some(&address), vec![told]).await
            }
            // There is no turn that it could be asked in.
            _ => {
                self.refuse(params, reply, &serde_json::json!({"action": "cancel"}));
                Ok(())
            }
        }
    }

    async fn answered(
        &mut self,
        call: Call,
        answer: Result<Value, CallError>,
    ) -> Result<(), String> {
        // What becomes of that is said when the connection is over.
        if answer == Err(CallError::Gone) {
            return Ok(());
        }
        match call {
            Call::Initialize => self.initialized(answer).await,
            Call::Open(chat, by) => self.opened(chat, by, answer).await,
            Call::TakeUp(chat, id, by) => self.taken_up(chat, &id, by, answer).await,
            Call::Copy(chat, by) => self.copied(chat, by, answer).await,
            Call::Prompt(chat, turn) => self.prompted(&chat, &turn, answer).await,
            Call::Set {
                agent_session,
                key,
                value,
            } => self.was_set(&agent_session, &key, &value, answer).await,
            Call::Other => Ok(()),
        }
    }

    /// The agent is done with a message. Its turn may have been cancelled
    /// before, and the next one wait for this.
    async fn prompted(
        &mut self,
        address: &Uri,
        id: &TurnId,
        answer: Result<Value, CallError>,
    ) -> Result<(), String> {
        let meant = |prompt: &Abandoned| prompt.chat == *address && prompt.turn == *id;
        self.abandoned.retain(|prompt| !meant(prompt));
        let Some(chat) = self.chats.get_mut(address) else {
            return Ok(());
        };
        let Some(flight) = chat.in_flight.take_if(|flight| flight.turn == *id) else {
            return Ok(());
        };
        if let (Err(_), Some(session)) = (&answer, chat.agent_session.open()) {
            // It was told, but may not have listened.
            session.knows = flight.knew;
            session.instructions = flight.instructed;
        }
        self.give_back_model(address);
        if is_sign_in(&answer) {
            self.events.send(AgentEvent::SignInNeeded).await?;
        }
        let Some(chat) = self.chats.get_mut(address) else {
            return Ok(());
        };
        let running = chat.turn.as_ref().is_some_and(|turn| turn.id == *id);
        if let (true, Some(session)) = (running, chat.agent_session.open()) {
            let (told, error) = session.mapper.answered(answer);
            self.tell(Some(address), told).await?;
            let turn = self
                .chats
                .get_mut(address)
                .and_then(|chat| chat.turn.take());
            if let Some(turn) = turn {
                turn.give_up();
            }
            self.events.end(address, id, error).await?;
        }
        self.advance(address).await
    }

    async fn was_set(
        &mut self,
        id: &str,
        key: &str,
        value: &Value,
        answer: Result<Value, CallError>,
    ) -> Result<(), String> {
        let Some(owner) = self.owner(id) else {
            return Ok(());
        };
        let Some(session) = self.agent_session(owner.chat()) else {
            return Ok(());
        };
        session.unsettled = session.unsettled.saturating_sub(1);
        session.options.settle(key, value);
        // What an agent refuses stays as it is, and the host hears how that is.
        match answer {
            Ok(answer) => match answer.get("configOptions") {
                Some(listed) => session.options.replace(listed),
                None => session.options.set(key, value),
            },
            Err(error) => self.remarks.not_taken(key, &error.to_string()),
        }
        match owner {
            Owner::Chat(chat) => {
                self.tell_options(Some(&chat)).await?;
                self.advance(&chat).await
            }
            Owner::Spare => self.tell_options(None).await,
        }
    }

    /// The agent is gone.
    async fn closed(&mut self, reason: Option<String>) -> Result<(), String> {
        let complaint = match self.live.take() {
            Some(live) => live.end().await,
            None => None,
        };
        let mut words = "the agent ended".to_owned();
        for more in [reason, complaint].into_iter().flatten() {
            words.push_str(": ");
            words.push_str(&more);
        }
        self.lose(&words).await
    }

    pub(super) fn owner(&self, id: &str) -> Option<Owner> {
        let spare = matches!(&self.spare, Link::Open(session) if session.id == id);
        let chat = || self.chat_of(id).map(Owner::Chat);
        spare.then_some(Owner::Spare).or_else(chat)
    }

    /// What is told again of an agent session that is being taken up.
    fn replay(&mut self, id: &str) -> Option<&mut Replay> {
        let links = self.chats.values_mut().map(|chat| &mut chat.agent_session);
        let mut replays = links.filter_map(|link| match link {
            Link::TakingUp(_, replay) => Some(&mut **replay),
            Link::None | Link::Opening(_) | Link::Open(_) => None,
        });
        replays.find(|replay| replay.id == id)
    }

    pub(super) fn chat_of(&self, id: &str) -> Option<Uri> {
        let mut chats = self.chats.iter();
        let found = chats.find(
            |(_, chat)| matches!(&chat.agent_session, Link::Open(session) if session.id == id),
        );
        found.map(|(address, _)| address.clone())
    }
}

/// Whether somebody has to sign in first.
pub(super) fn is_sign_in(answer: &Result<Value, CallError>) -> bool {
    matches!(answer, Err(CallError::Refused { code, .. }) if *code == AUTHENTICATION_REQUIRED)
}

pub(super) fn session_of(params: &Object) -> Option<&str> {
    params.get("sessionId").and_then(Value::as_str)
}
