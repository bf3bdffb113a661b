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
mod serve;
mod trust;

use std::collections::BTreeMap;
use std::path::PathBuf;
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
use super::chat::{AgentSession, Chat, InFlight, Knows, Link, Prompted, Running};
use super::live::{Call, Live, Phase};
use super::profile::AgentSessions;
use super::prompt;
use super::replay::Purpose;
use super::services::Services;
use super::told::Told;
use super::transcript;
use super::wire::Incoming;
use crate::agent::{Events, Session};
use crate::mapper::TurnEvent;

/// What is said when an agent was not there.
const GIVEN: &str =
    "The agent begins a new session of its own, and was given what was said before as text.";

/// What is said when an agent was away.
const TAKEN_UP: &str = "The agent was started again, and goes on with its own session.";

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
        services: Services::new(),
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
                if model.is_some_and(|model| set(live, session, "model", &model)) {
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

    /// Hands the message of a turn to the agent.
    async fn prompt(&mut self, address: &Uri) -> Result<(), String> {
        let (Some(live), Some(chat)) = (&mut self.live, self.chats.get_mut(address)) else {
            return Ok(());
        };
        let (Some(session), Some(turn)) = (chat.agent_session.open(), &mut chat.turn) else {
            return Ok(());
        };
        session.mapper.begin(address, &turn.id);
        turn.prompted = Prompted::Yes;
        let resources = std::mem::take(&mut chat.resources);
        let mut blocks = prompt::blocks(&turn.message, &resources.read, live.senses);
        let knows = std::mem::replace(&mut session.knows, Knows::All);
        let notice = match knows {
            Knows::All => None,
            Knows::TakenUp => Some(TAKEN_UP),
            Knows::Nothing => {
                let context = chat.context.as_ref().map(transcript::context);
                let own = (!turn.before.is_empty()).then(|| transcript::of(&turn.before));
                let notice = own.is_some().then_some(GIVEN);
                let told: Vec<_> = context.into_iter().chain(own).collect();
                if !told.is_empty() {
                    let told = told.join("\n\n");
                    let recollection = prompt::recollection(address, &told, live.senses);
                    // A command is one at the very beginning only.
                    let place = usize::from(turn.message.text.starts_with('/'));
                    blocks.insert(place, recollection);
                }
                notice
            }
        };
        let params = serde_json::json!({"sessionId": session.id, "prompt": blocks});
        let call = Call::Prompt(address.clone(), turn.id.clone());
        live.call(call, "session/prompt", &params);
        chat.in_flight = Some(InFlight {
            turn: turn.id.clone(),
            stop_by: None,
            // Nothing is lost by a prompt that said nothing of before.
            knew: notice.map_or(Knows::All, |_| knows),
        });
        let notices = [notice.map(str::to_owned), live.take_left_out()];
        let notices = notices.into_iter().flatten();
        let notices = notices.map(|notice| Told::Turn(TurnEvent::Notice(notice.into())));
        let notices = notices.collect();
        self.tell(Some(address), notices).await?;
        self.make_remarks().await
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
        let (values, mut schema) = (session.options.values(), session.options.schema());
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
