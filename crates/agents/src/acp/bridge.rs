//! One session of the host, and the agent that works for it.
//!
//! One task owns it all: the process, a session of the agent's own for each
//! chat, and what waits for an answer. It waits for three things: what the host
//! wants, what the agent sends, and the time when something is overdue.

mod beginning;
mod commands;
mod heard;
mod lasting;
mod losing;
mod prompting;
mod serve;
mod trust;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agenthost_core::agent::{AgentCommand, AgentEvent};
use agenthost_core::{SessionKey, uris};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;
use tokio::sync::mpsc;
use tokio::time::Instant;

use self::trust::Remarks;
use super::agent::AcpAgent;
use super::chat::{AgentSession, Chat, Link, Prompted, Running, TurnModel};
use super::live::{Call, Live, Phase};
use super::offered::Offered;
use super::options;
use super::profile::AgentSessions;
use super::replay::Purpose;
use super::services::Services;
use super::told::Told;
use super::wire::Incoming;
use crate::agent::{Events, Session};
use crate::mapper::TurnEvent;

/// How long an agent may take to answer a choice.
const SETTLE: Duration = Duration::from_secs(30);

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
    stage: Stage,
    /// Prompts that were told to stop, of chats that do not want to know.
    abandoned: Vec<Abandoned>,
    services: Services,
    remarks: Remarks,
    /// The tools that the host offers.
    offered: Arc<Offered>,
}

/// A prompt that nobody waits for, but that has to come to an end.
struct Abandoned {
    chat: Uri,
    turn: TurnId,
    stop_by: Instant,
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
        stage: Stage::Opening,
        abandoned: Vec::new(),
        services: Services::new(session.protected),
        remarks: Remarks::default(),
        offered: Arc::default(),
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
                incoming = next(self.live.as_mut()) => {
                    // What the host had to say of a call comes before what the
                    // agent says of its end.
                    while let Ok(command) = commands.try_recv() {
                        if command == AgentCommand::Close {
                            return Ok(());
                        }
                        self.command(command).await?;
                    }
                    self.heard(incoming).await?;
                }
                happened = self.services.terminals.next() => self.happened(happened).await?,
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

    /// Goes on with all turns that wait for the agent.
    async fn advance_all(&mut self) -> Result<(), String> {
        let chats: Vec<_> = self.chats.keys().cloned().collect();
        for chat in chats {
            self.advance(&chat).await?;
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
        if let Link::None = chat.agent_session {
            return self.open_session(address).await;
        }
        match &mut chat.agent_session {
            Link::None | Link::Opening(_) | Link::TakingUp(..) => Ok(()),
            Link::Open(session) if session.unsettled > 0 => Ok(()),
            Link::Open(session) => {
                let model = chat.turn.as_mut().and_then(|turn| turn.model.take());
                // The answer comes back here; an agent that refuses keeps the
                // model that it has.
                if model.is_some_and(|model| switch(live, session, model)) {
                    return Ok(());
                }
                self.prompt(address).await
            }
        }
    }

    /// Gets an agent session for a chat: the one that it had, or another.
    async fn open_session(&mut self, address: &Uri) -> Result<(), String> {
        if self.take_up(address, Purpose::GoOn) {
            return Ok(());
        }
        let (Some(live), Some(chat)) = (&self.live, self.chats.get_mut(address)) else {
            return Ok(());
        };
        let only = self.agent.profile.sessions == AgentSessions::One;
        // With tools of the host it was begun for the first chat.
        let fits = self.agent.gateway.is_none() || only;
        let fits = fits || *address == uris::default_chat(&self.session);
        if let (true, Some(spare)) = (fits, self.spare.open()) {
            let id = spare.id.clone();
            chat.agent_session = std::mem::take(&mut self.spare);
            self.note(address, &id).await?;
            return Box::pin(self.advance(address)).await;
        }
        let by = live.open_session(Some(address.clone()), &self.folders);
        chat.agent_session = Link::Opening(by);
        Ok(())
    }

    /// The agent session of a chat, or the spare one.
    fn agent_session(&mut self, chat: Option<&Uri>) -> Option<&mut AgentSession> {
        match chat {
            Some(chat) => self.chats.get_mut(chat)?.agent_session.open(),
            None => self.spare.open(),
        }
    }

    /// Tells the host what follows from what the agent sent about a chat, or
    /// about the spare session.
    async fn tell(&mut self, of: Option<&Uri>, told: Vec<Told>) -> Result<(), String> {
        for told in told {
            match (told, of) {
                (Told::Commands(commands), _) => {
                    self.events.send(AgentEvent::Commands { commands }).await?;
                }
                (Told::Options(listed), _) => {
                    if let Some(session) = self.agent_session(of) {
                        session.options.replace(&listed);
                    }
                    self.tell_options(of).await?;
                }
                (Told::Mode(mode), _) => {
                    if let Some(session) = self.agent_session(of) {
                        session.options.set_mode(&mode);
                    }
                    self.tell_options(of).await?;
                }
                (Told::Keep(kept), Some(address)) => {
                    if let Err(error) = self.events.keep(kept.name, kept.bytes).await {
                        let lost = format!("What a file holds is lost: {error}");
                        self.say(address, TurnEvent::Notice(lost.into())).await?;
                    }
                }
                (Told::Turn(event), Some(address)) => self.say(address, event).await?,
                (Told::Title(title), Some(address)) => {
                    let chat = address.clone();
                    self.events.send(AgentEvent::Titled { chat, title }).await?;
                }
                (Told::Terminal(terminal, told), Some(address)) => {
                    self.tell_terminal(address, terminal, told).await?;
                }
                // Nothing was said in the spare one yet.
                (Told::Keep(_) | Told::Turn(_) | Told::Title(_) | Told::Terminal(..), None) => {}
            }
        }
        Ok(())
    }

    /// Something happened in the turn of a chat, if it has one.
    async fn say(&mut self, chat: &Uri, event: TurnEvent) -> Result<(), String> {
        let turn = self.chats.get_mut(chat).and_then(|chat| chat.turn.as_mut());
        if let Some(turn) = turn {
            self.events.say(chat, &mut turn.mapper, event).await?;
        }
        Ok(())
    }

    /// Tells the host what can be chosen and what is, in the session of a chat
    /// or in the spare one; once the agent has answered what it was told.
    async fn tell_options(&mut self, chat: Option<&Uri>) -> Result<(), String> {
        let unset = self.values.is_empty();
        let Some(session) = self.agent_session(chat) else {
            return Ok(());
        };
        if session.unsettled > 0 || session.options.is_empty() && unset {
            return Ok(());
        }
        let (mut values, mut schema) = (session.options.values(), session.options.schema());
        // One that is for a turn alone is nobody's choice.
        let own = session.own_model.clone();
        values.extend(own.map(|own| (options::MODEL.to_owned(), own)));
        self.values = values;
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
    session.settle_by = Some(Instant::now() + SETTLE);
    session.options.ask(key, value);
    let call = Call::Set {
        agent_session: session.id.clone(),
        key: key.to_owned(),
        value: value.clone(),
    };
    live.call(call, method, &params);
    true
}

/// Tells the agent which model a turn wants, if that is news; says whether it
/// was.
fn switch(live: &Live, session: &mut AgentSession, model: TurnModel) -> bool {
    match model {
        TurnModel::Chosen(model) => set(live, session, options::MODEL, &model),
        TurnModel::Lent(name) => {
            let Some((model, own)) = session.options.model_called(&name) else {
                return false;
            };
            let told = set(live, session, options::MODEL, &model);
            session.own_model = told.then_some(own);
            told
        }
    }
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
