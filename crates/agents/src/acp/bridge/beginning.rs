//! How an agent, and its sessions, begin.

use agenthost_core::agent::AgentEvent;
use agenthost_protocol::uri::Uri;
use serde_json::Value;
use tokio::time::Instant;

use super::heard::{Owner, is_sign_in};
use super::{AgentSession, Bridge, Link, Stage, set};
use crate::acp::chat::Knows;
use crate::acp::mapper::ChatMapper;
use crate::acp::options::Options;
use crate::acp::wire::CallError;

impl Bridge {
    pub(super) async fn initialized(
        &mut self,
        answer: Result<Value, CallError>,
    ) -> Result<(), String> {
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        let started = match answer {
            Ok(answer) => live.initialized(&answer),
            Err(error) => Err(live.explain(&error)),
        };
        if let Err(reason) = started {
            self.live = None;
            return self.lose(&format!("start the agent: {reason}")).await;
        }
        if self.stage == Stage::Opening {
            // What is there to be taken up is, when it is needed.
            if self.chats.values().any(|chat| chat.noted.is_some()) {
                return self.ready().await;
            }
            if let Some(id) = self.wish() {
                return self.begin_adopting(id);
            }
            if let Some(live) = &self.live {
                self.spare = Link::Opening(live.open_session(None, &self.folders));
            }
            return Ok(());
        }
        self.advance_all().await
    }

    /// A session of the agent's own is there, or can't be.
    pub(super) async fn opened(
        &mut self,
        chat: Option<Uri>,
        by: Instant,
        answer: Result<Value, CallError>,
    ) -> Result<(), String> {
        if chat.as_ref().is_some_and(|chat| !self.awaits(chat, by)) {
            self.close_unwanted(&answer);
            return Ok(());
        }
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        let id = |answer: &Value| Some(answer.get("sessionId")?.as_str()?.to_owned());
        let reason = match &answer {
            Ok(answer) if id(answer).is_some() => None,
            Ok(_) => Some("it began a session without a name".to_owned()),
            Err(error) => Some(live.explain(error)),
        };
        if let Some(reason) = reason {
            let reason = format!("begin a session: {reason}");
            if is_sign_in(&answer) {
                self.events.send(AgentEvent::SignInNeeded).await?;
            }
            return match chat {
                None => Err(reason),
                Some(chat) => {
                    if let Some(place) = self.chats.get_mut(&chat) {
                        place.agent_session = Link::None;
                    }
                    self.fail_turn(&chat, "agentSession", &reason).await
                }
            };
        }
        let answer = answer.unwrap_or_default();
        let id = id(&answer).unwrap_or_default();
        self.session_began(chat, id, &answer, Knows::Nothing).await
    }

    /// Whether a chat still waits for the agent session that was asked for.
    pub(super) fn awaits(&self, chat: &Uri, by: Instant) -> bool {
        let chat = self.chats.get(chat);
        chat.is_some_and(|chat| chat.agent_session.deadline() == Some(by))
    }

    /// A session came that nobody waits for any more.
    pub(super) fn close_unwanted(&self, answer: &Result<Value, CallError>) {
        let id = answer
            .as_ref()
            .ok()
            .and_then(|answer| answer.get("sessionId")?.as_str());
        if let (Some(id), Some(live)) = (id, &self.live) {
            live.close_session(id);
        }
    }

    /// A session of the agent's own is there, for a chat or as a spare one.
    pub(super) async fn session_began(
        &mut self,
        chat: Option<Uri>,
        id: String,
        answer: &Value,
        knows: Knows,
    ) -> Result<(), String> {
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        let early = live.take_early(&id);
        let folder = self.folders.first().cloned().unwrap_or_default();
        let mut session = AgentSession {
            mapper: ChatMapper::new(self.key(), folder),
            options: Options::read(answer),
            id: id.clone(),
            unsettled: 0,
            settle_by: None,
            knows,
            instructions: None,
            own_model: None,
        };
        session.mapper.offer(&self.offered);
        let rule = self.agent.profile.rule();
        let mut values = self.values.clone();
        let withheld = rule.withhold(&session.options.schema(), &mut values);
        self.remarks.refused(&withheld);
        if let Some(live) = &self.live {
            for (key, value) in &values {
                set(live, &mut session, key, value);
            }
        }
        let link = Link::Open(Box::new(session));
        let owner = match chat {
            None => {
                self.spare = link;
                Owner::Spare
            }
            Some(chat) => match self.chats.get_mut(&chat) {
                Some(place) => {
                    place.agent_session = link;
                    Owner::Chat(chat)
                }
                // It was closed meanwhile.
                None => {
                    if let Some(live) = &self.live {
                        live.close_session(&id);
                    }
                    return Ok(());
                }
            },
        };
        for update in early {
            self.apply(&owner, &update).await?;
        }
        match owner {
            Owner::Spare => {
                self.tell_options(None).await?;
                self.ready().await
            }
            Owner::Chat(chat) => {
                self.note(&chat, &id).await?;
                self.tell_options(Some(&chat)).await?;
                self.advance(&chat).await
            }
        }
    }
}
