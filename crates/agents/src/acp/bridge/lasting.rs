//! Agent sessions that last: noted, taken up again, copied, adopted.

use agenthost_core::agent::{AdoptedTurn, AgentEvent, ChatContext};
use agenthost_core::uris;
use agenthost_protocol::chat::Message;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use serde_json::Value;
use tokio::time::Instant;

use super::heard::is_sign_in;
use super::{Bridge, Link, Stage, Told};
use crate::acp::chat::Knows;
use crate::acp::mapper::ChatMapper;
use crate::acp::options;
use crate::acp::replay::{Purpose, Replay, Replayed};
use crate::acp::wire::CallError;
use crate::mapper::TurnMapper;

impl Bridge {
    /// There is a new chat that knows something already. What was said in it
    /// comes with each message, what was said beside it only now.
    pub(super) fn open_chat(&mut self, address: Uri, context: ChatContext) {
        let source = match &context {
            ChatContext::Own { copy_of, .. } => copy_of.as_ref(),
            ChatContext::Beside { .. } => None,
        };
        let source = source.and_then(|source| self.chats.get_mut(source));
        let idle = source.filter(|source| source.in_flight.is_none());
        let id = idle.and_then(|source| Some(source.agent_session.open()?.id.clone()));
        let live = self.live.as_ref();
        let by = live
            .zip(id)
            .and_then(|(live, id)| live.copy(&address, &id, &self.folders));
        let chat = self.chats.entry(address).or_default();
        if let Some(by) = by {
            chat.agent_session = Link::Opening(by);
        }
        if let ChatContext::Beside { .. } = context {
            chat.context = Some(context);
        }
    }

    /// A session that knows what another knows is there, or can't be: then a
    /// new one has to do.
    pub(super) async fn copied(
        &mut self,
        address: Uri,
        by: Instant,
        answer: Result<Value, CallError>,
    ) -> Result<(), String> {
        if !self.awaits(&address, by) {
            self.close_unwanted(&answer);
            return Ok(());
        }
        let answer = answer.unwrap_or_default();
        let id = answer.get("sessionId").and_then(Value::as_str);
        if let Some(id) = id {
            let id = id.to_owned();
            return self
                .session_began(Some(address), id, &answer, Knows::All)
                .await;
        }
        if let Some(chat) = self.chats.get_mut(&address) {
            chat.agent_session = Link::None;
        }
        self.advance(&address).await
    }

    /// Asks the agent to take up its session of a chat, if it has one and can;
    /// says whether it was asked.
    pub(super) fn take_up(&mut self, address: &Uri, purpose: Purpose) -> bool {
        let key = self.key();
        let folder = self.folders.first().cloned().unwrap_or_default();
        let (Some(live), Some(chat)) = (&self.live, self.chats.get_mut(address)) else {
            return false;
        };
        let Some(id) = chat.noted.take() else {
            return false;
        };
        let Some(by) = live.take_up(address, &id, purpose, &self.folders) else {
            return false;
        };
        let replay = Replay::new(id, purpose, address.clone(), ChatMapper::new(key, folder));
        chat.agent_session = Link::TakingUp(by, Box::new(replay));
        true
    }

    /// The agent took up a session, or could not.
    pub(super) async fn taken_up(
        &mut self,
        address: Uri,
        id: &str,
        by: Instant,
        answer: Result<Value, CallError>,
    ) -> Result<(), String> {
        let Some(live) = &self.live else {
            return Ok(());
        };
        let chat = self.chats.get_mut(&address);
        let link = chat.map(|chat| &mut chat.agent_session);
        let Some(link) = link.filter(|link| link.deadline() == Some(by)) else {
            // Nobody wants it any more.
            live.close_session(id);
            return Ok(());
        };
        let Link::TakingUp(_, replay) = std::mem::take(link) else {
            return Ok(());
        };
        let replay = *replay;
        if answer.is_err() {
            live.forget(id);
        }
        let purpose = replay.purpose;
        let answer = match (answer, purpose) {
            (Ok(answer), _) => answer,
            (Err(error), Purpose::Adopt) => {
                let id = &replay.id;
                return Err(format!(
                    "take up its session `{id}`: {}",
                    live.explain(&error)
                ));
            }
            (Err(error), Purpose::GoOn) if is_sign_in(&Err(error.clone())) => {
                let reason = live.explain(&error);
                if let Some(chat) = self.chats.get_mut(&address) {
                    chat.noted = Some(replay.id);
                }
                self.events.send(AgentEvent::SignInNeeded).await?;
                return self.fail_turn(&address, "authRequired", &reason).await;
            }
            // It has forgotten it: a new one is told what was said.
            (Err(_), Purpose::GoOn) => return self.advance(&address).await,
        };
        let chat = self.chats.get(&address);
        let turn = chat.and_then(|chat| chat.turn.as_ref());
        let before = turn.map(|turn| &turn.before);
        if purpose == Purpose::GoOn && before.is_some_and(|before| !replay.fits(before)) {
            live.close_session(&replay.id);
            return self.advance(&address).await;
        }
        let id = replay.id.clone();
        let (turns, about) = replay.finish();
        let knows = match purpose {
            Purpose::GoOn => Knows::TakenUp,
            Purpose::Adopt => {
                self.adopt(&address, turns).await?;
                Knows::All
            }
        };
        self.session_began(Some(address.clone()), id, &answer, knows)
            .await?;
        self.tell(Some(&address), about).await?;
        if purpose == Purpose::Adopt {
            self.forget_wish().await?;
            self.ready().await?;
        }
        Ok(())
    }

    /// The session of the agent that a new session of the host is to take up.
    pub(super) fn wish(&self) -> Option<String> {
        let wish = self.values.get(options::AGENT_SESSION)?.as_str()?;
        (!wish.is_empty()).then(|| wish.to_owned())
    }

    /// Takes up a session that the host does not know.
    pub(super) fn begin_adopting(&mut self, id: String) -> Result<(), String> {
        let chat = uris::default_chat(&self.session);
        self.chats.entry(chat.clone()).or_default().noted = Some(id);
        if self.take_up(&chat, Purpose::Adopt) {
            return Ok(());
        }
        Err("this agent can't take up a session again, or another session here has it".to_owned())
    }

    async fn adopt(&mut self, chat: &Uri, turns: Vec<Replayed>) -> Result<(), String> {
        let mut adopted = Vec::new();
        for turn in turns {
            let id = turn.id;
            let mut mapper = TurnMapper::new(id.clone());
            let mut actions = Vec::new();
            for told in turn.told {
                match told {
                    Told::Turn(event) => actions.extend(mapper.map(event)),
                    Told::Keep(kept) => {
                        let kept = self.events.keep(kept.name, kept.bytes).await;
                        kept.map_err(|error| error.to_string())?;
                    }
                    Told::Terminal(terminal, told) => {
                        self.tell_terminal(chat, terminal, told).await?;
                    }
                    Told::Title(_) | Told::Commands(_) | Told::Options(_) | Told::Mode(_) => {}
                }
            }
            adopted.push(AdoptedTurn {
                id,
                message: Message::of_user(turn.said).into(),
                actions,
            });
        }
        let chat = chat.clone();
        let turns = adopted;
        Ok(self
            .events
            .send(AgentEvent::Adopted { chat, turns })
            .await?)
    }

    /// The wish was granted: from now on the session is noted as all are.
    async fn forget_wish(&mut self) -> Result<(), String> {
        let granted = (options::AGENT_SESSION.to_owned(), Json::from(""));
        let configurable = AgentEvent::Configurable {
            schema: Box::new(options::unknown()),
            values: Object::from_iter([granted]),
        };
        self.events.send(configurable).await?;
        let chat = uris::default_chat(&self.session);
        self.tell_options(Some(&chat)).await
    }

    /// The host can send messages from now on.
    pub(super) async fn ready(&mut self) -> Result<(), String> {
        self.stage = Stage::Open;
        let tools = Vec::new();
        self.events.send(AgentEvent::Opened { tools }).await?;
        self.advance_all().await
    }

    /// Has the host remember which session of the agent a chat has, if that is
    /// of any use.
    pub(super) async fn note(&mut self, chat: &Uri, id: &str) -> Result<(), String> {
        if !self.live.as_ref().is_some_and(|live| live.can_take_up()) {
            return Ok(());
        }
        let noted = AgentEvent::Noted {
            chat: chat.clone(),
            note: Some(id.to_owned()),
        };
        Ok(self.events.send(noted).await?)
    }
}
