//! One session of the host, and the agent that works for it.
//!
//! One task owns it all: the process, a session of the agent's own for each
//! chat, and what waits for an answer. It waits for three things: what the host
//! wants, what the agent sends, and the time when something is overdue.

mod commands;
mod heard;
mod trust;

use std::collections::BTreeMap;
use std::path::PathBuf;

use agenthost_core::SessionKey;
use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;
use tokio::sync::mpsc;
use tokio::time::Instant;

use self::trust::Remarks;
use super::agent::AcpAgent;
use super::chat::{AgentSession, Chat, InFlight, Link, Memory, Prompted, Running};
use super::live::{Call, Live, Phase};
use super::mapper::failure;
use super::prompt;
use super::told::Told;
use super::wire::Incoming;
use crate::agent::{Events, Session};
use crate::mapper::TurnEvent;

/// What is said when an agent knows nothing of what was said before.
const FORGOTTEN: &str = "The agent was started anew. It does not remember what was said before.";

/// A session, and what works for it.
struct Bridge {
    session: Uri,
    events: Events,
    agent: AcpAgent,
    folders: Vec<PathBuf>,
    /// How the session is to be configured.
    values: Object,
    live: Option<Live>,
    chats: BTreeMap<Uri, Chat>,
    /// An agent session that no chat uses yet: the agent has to have one to say
    /// what it can do.
    spare: Link,
    /// Until when a session has to be there that was asked for.
    open_by: Option<Instant>,
    stage: Stage,
    remarks: Remarks,
}

/// Whether the host was told that the agent is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    Open,
}

/// Works for a session until there are no more commands.
pub(super) async fn work(session: Session, agent: AcpAgent) -> Result<(), String> {
    let mut commands = session.commands;
    let mut bridge = Bridge {
        session: session.uri,
        events: session.events,
        agent,
        folders: Vec::new(),
        values: Object::new(),
        live: None,
        chats: BTreeMap::new(),
        spare: Link::None,
        open_by: None,
        stage: Stage::Opening,
        remarks: Remarks::default(),
    };
    let worked = bridge.work(&mut commands).await;
    bridge.close().await;
    worked
}

impl Bridge {
    async fn work(&mut self, commands: &mut mpsc::Receiver<AgentCommand>) -> Result<(), String> {
        loop {
            let deadline = self.next_deadline();
            tokio::select! {
                command = commands.recv() => match command {
                    None | Some(AgentCommand::Close) => return Ok(()),
                    Some(command) => self.command(command).await?,
                },
                incoming = next(self.live.as_mut()) => self.heard(incoming).await?,
                () = until(deadline) => self.overdue().await?,
            }
        }
    }

    /// Starts the agent if it does not run.
    async fn start(&mut self) -> Result<(), String> {
        if self.live.is_none() {
            let folder = self.folders.first().cloned();
            let folder = folder.ok_or("an agent needs a folder to work in")?;
            let started = Live::start(&self.agent, &folder).await;
            self.live = Some(started?);
        }
        Ok(())
    }

    /// Goes on with the turn of a chat, as far as that is possible now.
    async fn advance(&mut self, address: &Uri) -> Result<(), String> {
        let Some(chat) = self.chats.get_mut(address) else {
            return Ok(());
        };
        let waits = chat.turn.as_ref().map(|turn| turn.prompted) == Some(Prompted::NotYet);
        if !waits || chat.in_flight.is_some() {
            return Ok(());
        }
        if let Err(reason) = self.start().await {
            return self.fail_turn(address, "agentStart", &reason).await;
        }
        let (Some(live), Some(chat)) = (&self.live, self.chats.get_mut(address)) else {
            return Ok(());
        };
        if live.phase != Phase::Ready {
            return Ok(());
        }
        if let (Link::None, Link::Open(_)) = (&chat.agent_session, &self.spare) {
            chat.agent_session = std::mem::take(&mut self.spare);
        }
        match &mut chat.agent_session {
            Link::None => {
                self.open_by = Some(live.open_session(Some(address.clone()), &self.folders));
                chat.agent_session = Link::Opening;
                Ok(())
            }
            Link::Opening => Ok(()),
            Link::Open(session) if session.unsettled > 0 => Ok(()),
            Link::Open(session) => {
                let model = chat.turn.as_mut().and_then(|turn| turn.model.take());
                // The answer comes back here; an agent that refuses keeps the
                // model that it has.
                if model.is_some_and(|model| set(live, session, "model", &model)) {
                    return Ok(());
                }
                self.prompt(address).await
            }
        }
    }

    /// Hands the message of a turn to the agent.
    async fn prompt(&mut self, address: &Uri) -> Result<(), String> {
        let (Some(live), Some(chat)) = (&self.live, self.chats.get_mut(address)) else {
            return Ok(());
        };
        let (Some(session), Some(turn)) = (chat.agent_session.open(), &mut chat.turn) else {
            return Ok(());
        };
        session.mapper.begin();
        turn.prompted = Prompted::Yes;
        let resources = std::mem::take(&mut chat.resources);
        let blocks = prompt::blocks(&turn.message, &resources, live.senses);
        let params = serde_json::json!({"sessionId": session.id, "prompt": blocks});
        let call = Call::Prompt(address.clone(), turn.id.clone());
        live.call(call, "session/prompt", &params);
        chat.in_flight = Some(InFlight {
            turn: turn.id.clone(),
            stop_by: None,
        });
        if std::mem::take(&mut chat.memory) == Memory::Lost {
            let notice = Told::Turn(TurnEvent::Notice(FORGOTTEN.into()));
            self.tell(address, vec![notice]).await?;
        }
        self.make_remarks().await
    }

    /// Tells the host what follows from what the agent sent about a chat.
    async fn tell(&mut self, address: &Uri, told: Vec<Told>) -> Result<(), String> {
        for told in told {
            let Some(chat) = self.chats.get_mut(address) else {
                return Ok(());
            };
            match told {
                Told::Keep(kept) => {
                    if let Err(error) = self.events.keep(kept.name, kept.bytes).await
                        && let Some(turn) = &mut chat.turn
                    {
                        let lost = format!("What a file holds is lost: {error}");
                        let lost = TurnEvent::Notice(lost.into());
                        self.events.say(address, &mut turn.mapper, lost).await?;
                    }
                }
                Told::Turn(event) => {
                    if let Some(turn) = &mut chat.turn {
                        self.events.say(address, &mut turn.mapper, event).await?;
                    }
                }
                Told::Title(title) => {
                    let chat = address.clone();
                    self.events.send(AgentEvent::Titled { chat, title }).await?;
                }
                Told::Commands(commands) => {
                    self.events.send(AgentEvent::Commands { commands }).await?;
                }
                Told::Options(listed) => {
                    if let Some(session) = chat.agent_session.open() {
                        session.options.replace(&listed);
                    }
                    self.tell_options(Some(address)).await?;
                }
                Told::Mode(mode) => {
                    if let Some(session) = chat.agent_session.open() {
                        session.options.set_mode(&mode);
                    }
                    self.tell_options(Some(address)).await?;
                }
            }
        }
        Ok(())
    }

    /// Tells the host what can be chosen and what is, in the session of a chat
    /// or in the spare one; once the agent has answered what it was told.
    async fn tell_options(&mut self, chat: Option<&Uri>) -> Result<(), String> {
        let link = match chat {
            Some(chat) => self.chats.get_mut(chat).map(|chat| &mut chat.agent_session),
            None => Some(&mut self.spare),
        };
        let Some(session) = link.and_then(Link::open) else {
            return Ok(());
        };
        let nothing = session.options.is_empty() && self.values.is_empty();
        if session.unsettled > 0 || nothing {
            return Ok(());
        }
        self.values = session.options.values();
        let mut schema = session.options.schema();
        let forbidden = self.agent.profile.rule().mark(&mut schema);
        self.remarks.look(&forbidden, &self.values);
        if let Some(forbids) = self.remarks.news(forbidden) {
            self.events.send(forbids).await?;
        }
        let configurable = AgentEvent::Configurable {
            schema: Box::new(schema),
            values: self.values.clone(),
        };
        self.events.send(configurable).await?;
        self.make_remarks().await
    }

    /// The turn of a chat has failed before the agent had a say.
    async fn fail_turn(&mut self, chat: &Uri, kind: &str, reason: &str) -> Result<(), String> {
        let turn = self.chats.get_mut(chat).and_then(|chat| chat.turn.take());
        if let Some(turn) = turn {
            let id = turn.id.clone();
            turn.give_up();
            let error = Some(failure(kind, reason));
            self.events.end(chat, &id, error).await?;
        }
        Ok(())
    }

    /// The agent is gone, or has to go: all that it was doing has failed. The
    /// next message starts it again.
    async fn lose(&mut self, reason: &str) -> Result<(), String> {
        self.open_by = None;
        self.spare = Link::None;
        let chats: Vec<_> = self.chats.keys().cloned().collect();
        for address in chats {
            let Some(chat) = self.chats.get_mut(&address) else {
                continue;
            };
            if let Link::Open(_) = std::mem::take(&mut chat.agent_session) {
                chat.memory = Memory::Lost;
            }
            // A turn that waits for the end of a cancelled one may still begin.
            let cancelled = chat
                .in_flight
                .take()
                .is_some_and(|flight| flight.stop_by.is_some());
            if !cancelled {
                self.fail_turn(&address, "agentStopped", reason).await?;
            }
        }
        if self.stage == Stage::Opening {
            return Err(reason.to_owned());
        }
        let waiting: Vec<_> = self.chats.keys().cloned().collect();
        for address in waiting {
            Box::pin(self.advance(&address)).await?;
        }
        Ok(())
    }

    fn next_deadline(&self) -> Option<Instant> {
        let starting = self.live.as_ref().and_then(|live| match live.phase {
            Phase::Starting(deadline) => Some(deadline),
            Phase::Ready => None,
        });
        let flights = self
            .chats
            .values()
            .filter_map(|chat| chat.in_flight.as_ref());
        let stops = flights.filter_map(|flight| flight.stop_by);
        stops.chain(starting).chain(self.open_by).min()
    }

    /// The agent has taken too long for something.
    async fn overdue(&mut self) -> Result<(), String> {
        let reason = if self.is_stubborn() {
            "the agent did not stop when it was told to, and was ended"
        } else {
            "the agent did not answer in time, and was ended"
        };
        // At once: it had its time.
        self.live = None;
        self.lose(reason).await
    }

    /// Whether the agent goes on with what it was told to stop.
    fn is_stubborn(&self) -> bool {
        let now = Instant::now();
        let mut flights = self
            .chats
            .values()
            .filter_map(|chat| chat.in_flight.as_ref());
        flights.any(|flight| flight.stop_by.is_some_and(|by| by <= now))
    }

    /// Ends the agent, and leaves nothing of it.
    async fn close(&mut self) {
        let Some(live) = self.live.take() else {
            return;
        };
        for chat in std::mem::take(&mut self.chats).into_values() {
            if let (Link::Open(session), Some(_)) = (&chat.agent_session, &chat.in_flight) {
                live.cancel(&session.id);
            }
            if let Some(turn) = chat.turn {
                turn.give_up();
            }
        }
        // Nobody is left to hear what it complained of.
        drop(live.end().await);
    }

    /// What content of this session goes by.
    fn key(&self) -> SessionKey {
        SessionKey::of(&self.session)
    }
}

/// Tells the agent of a choice, if that is news; says whether it was.
fn set(live: &Live, session: &mut AgentSession, key: &str, value: &serde_json::Value) -> bool {
    let Some((method, params)) = session.options.request(&session.id, key, value) else {
        return false;
    };
    session.unsettled += 1;
    let call = Call::Set {
        agent_session: session.id.clone(),
        key: key.to_owned(),
        value: value.clone(),
    };
    live.call(call, method, &params);
    true
}

/// The next thing that an agent sends, if there is one.
async fn next(live: Option<&mut Live>) -> Incoming<Call> {
    match live {
        // The connection says itself when it is over.
        Some(live) => live.incoming.recv().await.unwrap_or(Incoming::Closed(None)),
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
