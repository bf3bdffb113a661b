//! Checks the actions of clients. Every rule about a client's action is called from here; rules
//! that need the state of a subject (changesets, background commands, response sizes) are
//! functions in the folder of that subject.
//!
//! A rule depends on the state and on the sender, never on whether the reducer would change
//! anything (DSP-12). It may return the action in a normalized form (DSP-14).

mod annotations;
mod answering_client;
pub(crate) mod chat;
mod formats;
mod input;
pub(crate) mod limits;
mod root;
pub(crate) mod scope;
pub(crate) mod session;
mod terminal;

pub(crate) use input::find_open_request;

use agenthost_protocol::action::{Action, Dispatcher};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatAction, Message, MessageKind};
use agenthost_protocol::ids::{ClientId, ProviderId};
use agenthost_protocol::root::{AgentInfo, MultipleWorkingDirectoriesCapability};
use agenthost_protocol::session::{SessionAction, SessionState};
use agenthost_protocol::uri::Uri;

use crate::agent::models;
use crate::chat::completions;
use crate::host::Host;
use crate::host::error::{Refusal, RequestFailure};
use crate::host::step::Env;
use crate::policy::limits::check_message_meta;

impl Host {
    /// Checks an action that a client dispatched on a channel. Returns it in normalized form.
    pub(crate) fn check_client_action(
        &self,
        env: &Env,
        channel: &Uri,
        client: &ClientId,
        action: Action,
    ) -> Result<Action, Refusal> {
        let info = action.info();
        if info.dispatcher == Dispatcher::Host {
            return Err(Refusal::HostOnly(info.name));
        }
        let Some(state) = self.state(channel) else {
            return Err(Refusal::WrongChannel(info.name));
        };
        match (state, action) {
            (ChannelState::Chat(chat), Action::Chat(mut action)) => {
                let session = self
                    .session_of(channel)
                    .and_then(|owner| self.session(owner));
                let agent = session.and_then(|session| self.agent_of_session(session));
                self.normalize_chat_action(channel, agent, &mut action)?;
                let context = chat::ChatActionContext {
                    agent,
                    session,
                    chat,
                    evicted_turns: self.evicted_turns(channel),
                    early_turns: self.client_quirks(client).early_turns,
                };
                let action = chat::check_chat_action(env, &context, client, action)?;
                self.check_response_size(channel, &action)?;
                Ok(Action::Chat(action))
            }
            (ChannelState::Session(session), Action::Session(action)) => {
                let agent = self.agent_of_session(session);
                if let SessionAction::ConfigChanged(change) = &action
                    && let Some(reason) = self.find_forbidden_value(session, &change.config)
                {
                    return Err(Refusal::Invalid(reason.to_owned()));
                }
                session::check_session_action(agent, session, client, action).map(Action::Session)
            }
            (ChannelState::Terminal(terminal), Action::Terminal(action)) => {
                let action = terminal::check_terminal_action(terminal, client, action)?;
                if terminal::is_detach(terminal, &action) {
                    self.check_background_capacity(channel)?;
                }
                Ok(Action::Terminal(action))
            }
            (ChannelState::Annotations(state), Action::Annotations(action)) => {
                let session = self.session_of(channel).unwrap_or(channel);
                annotations::check_annotations_action(session, state, action)
                    .map(Action::Annotations)
            }
            (ChannelState::Changeset(_), Action::Changeset(action)) => {
                self.check_review(channel)?;
                Ok(Action::Changeset(action))
            }
            (ChannelState::Root(root), Action::Root(action)) => {
                root::check_root_action(root, action).map(Action::Root)
            }
            (
                ChannelState::Session(_)
                | ChannelState::Chat(_)
                | ChannelState::Terminal(_)
                | ChannelState::Changeset(_)
                | ChannelState::ResourceWatch(_)
                | ChannelState::Canvas(_)
                | ChannelState::AutomationRun(_)
                | ChannelState::Root(_)
                | ChannelState::Annotations(_)
                | ChannelState::Automations(_),
                _,
            ) => Err(Refusal::WrongChannel(info.name)),
        }
    }

    /// Normalizes a chat action before it is checked: messages lose placeholders of models and
    /// get their attachments pinned, tool calls keep their links to workers.
    fn normalize_chat_action(
        &self,
        channel: &Uri,
        agent: Option<&AgentInfo>,
        action: &mut ChatAction,
    ) -> Result<(), Refusal> {
        match action {
            ChatAction::TurnStarted(start) => {
                models::drop_placeholder(agent, &mut start.message);
                self.pin_attachments(&mut start.message)?;
            }
            ChatAction::PendingMessageSet(set) => {
                models::drop_placeholder(agent, &mut set.message);
                self.pin_attachments(&mut set.message)?;
            }
            ChatAction::DraftChanged(change) => {
                let draft = change.draft.as_mut();
                draft
                    .into_iter()
                    .for_each(|draft| models::drop_placeholder(agent, draft));
            }
            ChatAction::ToolCallComplete(_) | ChatAction::ToolCallContentChanged(_) => {
                self.preserve_worker_links(channel, action)
            }
            ChatAction::Delta(_)
            | ChatAction::ResponsePart(_)
            | ChatAction::Reasoning(_)
            | ChatAction::Usage(_)
            | ChatAction::TurnComplete(_)
            | ChatAction::TurnCancelled(_)
            | ChatAction::Error(_)
            | ChatAction::TurnResume(_)
            | ChatAction::ToolCallStart(_)
            | ChatAction::ToolCallDelta(_)
            | ChatAction::ToolCallReady(_)
            | ChatAction::ToolCallConfirmed(_)
            | ChatAction::ToolCallResultConfirmed(_)
            | ChatAction::ToolCallAuthRequired(_)
            | ChatAction::ToolCallAuthResolved(_)
            | ChatAction::ActivityChanged(_)
            | ChatAction::BackgroundWorkSet(_)
            | ChatAction::BackgroundWorkRemoved(_)
            | ChatAction::MovableChanged(_)
            | ChatAction::ChangesetsChanged(_)
            | ChatAction::CanvasesChanged(_)
            | ChatAction::WorkingDirectorySet(_)
            | ChatAction::WorkingDirectoryRemoved(_)
            | ChatAction::PendingMessageRemoved(_)
            | ChatAction::QueuedMessagesReordered(_)
            | ChatAction::IsReadChanged(_)
            | ChatAction::IsArchivedChanged(_)
            | ChatAction::InputRequested(_)
            | ChatAction::InputAnswerChanged(_)
            | ChatAction::InputCompleted(_)
            | ChatAction::Truncated(_)
            | ChatAction::TurnsLoaded(_) => {}
        }
        Ok(())
    }

    /// Returns the agent with this name, or the default agent if no name is given.
    pub(crate) fn find_agent(
        &self,
        name: Option<&ProviderId>,
    ) -> Result<&AgentInfo, RequestFailure> {
        let mut agents = self.config.catalog.agents.iter();
        let found = match name {
            Some(name) => agents.find(|agent| agent.provider == *name),
            None => {
                let chosen = self.default_agent();
                let fits = |agent: &&AgentInfo| Some(&agent.provider) == chosen.as_ref();
                agents.clone().find(fits).or_else(|| agents.next())
            }
        };
        found.ok_or_else(|| {
            let asked = name.map_or("default".to_owned(), ToString::to_string);
            RequestFailure::UnknownProvider(asked)
        })
    }

    pub(crate) fn agent_of_session(&self, session: &SessionState) -> Option<&AgentInfo> {
        self.find_agent(Some(&session.metadata.provider)).ok()
    }
}

/// Checks that a message comes from a user and that its model and custom agent exist.
pub(crate) fn check_message(
    agent: Option<&AgentInfo>,
    session: Option<&SessionState>,
    message: &Message,
) -> Result<(), Refusal> {
    check_from_user(message)?;
    check_message_meta(message)?;
    completions::check_attachments(message)?;
    if let Some(model) = &message.model
        && !agent.is_some_and(|agent| agent.has_model(&model.id))
    {
        return Err(unknown("model", &model.id));
    }
    if let Some(custom) = &message.agent
        && !session.is_some_and(|session| session.offers_agent(&custom.uri))
    {
        return Err(unknown("custom agent", &custom.uri));
    }
    Ok(())
}

/// Refuses messages of any kind but `user`: a client speaks only for its user (DSP-15).
fn check_from_user(message: &Message) -> Result<(), Refusal> {
    match message.origin.kind {
        MessageKind::User => Ok(()),
        MessageKind::Agent
        | MessageKind::Tool
        | MessageKind::Automation
        | MessageKind::SystemNotification
        | MessageKind::Unknown(_) => Err(Refusal::NotFromUser),
    }
}

/// Maximum length of a name or id that a client chooses (SEC-5).
pub(crate) const MAX_NAME_BYTES: usize = 200;

/// Checks a name that a client has chosen for something new.
fn check_name(what: &str, name: &str) -> Result<(), Refusal> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        let reason = format!("the name of a {what} has 1 to {MAX_NAME_BYTES} bytes");
        return Err(Refusal::Invalid(reason));
    }
    Ok(())
}

/// Maximum length of a stored title in characters (SEC-5).
const MAX_TITLE_CHARS: usize = 500;

/// Checks a title that a client has chosen.
fn check_title(title: &str) -> Result<(), Refusal> {
    if title.chars().count() > MAX_TITLE_CHARS {
        let reason = format!("a title has at most {MAX_TITLE_CHARS} characters");
        return Err(Refusal::Invalid(reason));
    }
    Ok(())
}

/// Returns the capabilities of an agent for several directories, or refuses if it has none.
fn check_multiple_directories(
    agent: Option<&AgentInfo>,
) -> Result<&MultipleWorkingDirectoriesCapability, Refusal> {
    let capabilities = agent.and_then(|agent| agent.capabilities.as_ref());
    capabilities
        .and_then(|capabilities| capabilities.multiple_working_directories.as_ref())
        .ok_or(Refusal::Unsupported("several working directories"))
}

fn unknown(what: &'static str, name: impl ToString) -> Refusal {
    let name = name.to_string().chars().take(60).collect();
    Refusal::Unknown { what, name }
}
