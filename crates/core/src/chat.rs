//! Creates and removes chats.

pub(crate) mod attachments;
pub(crate) mod completions;
pub(crate) mod history_window;
pub(crate) mod origin;
pub(crate) mod transfer;
pub(crate) mod turn;
pub(crate) mod workers;

use std::sync::Arc;

use agenthost_protocol::chat::{ChatOrigin, ChatState, ChatSummary, CreateChatParams};
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::list::List;
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::session::{ChatAdded, ChatRemoved, SessionAction, SessionLifecycle};
use agenthost_protocol::uri::Uri;

use crate::agent::AgentCommand;
use crate::chat::turn::TurnSource;
use crate::host::Host;
use crate::host::effect::{Effects, ResponseBody};
use crate::host::error::RequestFailure;
use crate::host::input::ConnectionId;
use crate::host::step::Env;
use crate::policy;
use crate::policy::limits::MAX_SESSION_CHATS;
use crate::resource::uris;

impl Host {
    /// Creates a chat for a client. The chat is in the session's catalogue before the
    /// response, and its first turn starts after the response (CHT-6, CHT-15).
    pub(crate) fn create_chat(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        id: &RequestId,
        mut params: CreateChatParams,
        out: &mut Effects,
    ) -> Result<(), RequestFailure> {
        let session = &params.channel;
        let Some(state) = self.session(session) else {
            return Err(RequestFailure::UnknownSession(session.clone()));
        };
        if self.channels.contains(&params.chat) {
            // A client that does not know if the default chat exists creates it again
            // (CHT-3).
            if params.chat == uris::default_chat_uri(session) {
                out.respond(connection, id, ResponseBody::Null);
                return Ok(());
            }
            return Err(RequestFailure::ChatExists(params.chat));
        }
        uris::check_chat(&params.chat)?;
        if state.chats.len() >= MAX_SESSION_CHATS {
            let reason = format!("a session may have at most {MAX_SESSION_CHATS} chats");
            return Err(RequestFailure::InvalidParams(reason));
        }
        let refuse = |reason: &str| Err(RequestFailure::InvalidParams(reason.to_owned()));
        if state.lifecycle != SessionLifecycle::Ready {
            return refuse("the session is not ready");
        }
        let agent = self.agent_of_session(state);
        let capabilities = agent.and_then(|agent| agent.capabilities.as_ref());
        if capabilities.is_none_or(|capabilities| capabilities.multiple_chats.is_none()) {
            return refuse("the agent of this session has one chat only");
        }
        let origin = self.check_chat_source(&params, agent)?;
        let known = state.metadata.working_directories.as_deref();
        for directory in params.working_directories.iter_mut().flatten() {
            let mut known = known.unwrap_or_default().iter();
            match known.find(|known| uris::is_same_uri(known, directory)) {
                Some(known) => directory.clone_from(known),
                None => {
                    return refuse("workingDirectories: not all are directories of the session");
                }
            }
        }
        if let Some(message) = &params.initial_message {
            let judged = policy::check_message(agent, Some(state), message);
            judged.map_err(|refusal| RequestFailure::InvalidParams(refusal.to_string()))?;
        }
        if let Some(message) = &mut params.initial_message {
            let pinned = self.pin_attachments(message);
            pinned.map_err(|refusal| RequestFailure::InvalidParams(refusal.to_string()))?;
        }
        let seed = self.seed_chat(origin, params.working_directories);
        let summary = ChatSummary {
            working_directories: seed.directories,
            origin: Some(seed.origin),
            movable: Some(true),
            ..new_chat_summary(env, params.chat.clone())
        };
        let (session, chat) = (params.channel, params.chat);
        let state = ChatState {
            turns: seed.turns,
            ..new_chat_state(summary.clone())
        };
        self.create_channel(&chat, Some(&session), state.into(), out);
        let added = ChatAdded {
            summary: Arc::new(summary),
        };
        self.originate(&session, SessionAction::ChatAdded(added), out);
        self.sync_session(&session, out);
        out.respond(connection, id, ResponseBody::Null);
        if let Some(context) = seed.context {
            let opened = AgentCommand::OpenChat {
                chat: chat.clone(),
                context,
            };
            self.send_agent_command(&chat, opened, out);
        }
        if let Some(message) = params.initial_message {
            self.start_turn(env, &chat, message, TurnSource::Request(connection), out);
        }
        Ok(())
    }

    /// Removes a chat and cancels its active turn (CHT-22). The default chat can only be
    /// removed with its session (CHT-23).
    pub(crate) fn dispose_chat(
        &mut self,
        env: &Env,
        chat: &Uri,
        out: &mut Effects,
    ) -> Result<(), RequestFailure> {
        let session = self.session_of(chat).filter(|_| self.chat(chat).is_some());
        let Some(session) = session.cloned() else {
            return Err(RequestFailure::UnknownSession(chat.clone()));
        };
        let default = self
            .session(&session)
            .and_then(|session| session.default_chat.as_ref());
        if default == Some(chat) {
            let reason = "the default chat can only be removed together with its session";
            return Err(RequestFailure::InvalidParams(reason.to_owned()));
        }
        self.remove_chat(env, &session, chat, out);
        Ok(())
    }

    /// Removes a worker chat that its agent no longer needs (CHT-24).
    pub(crate) fn close_worker(&mut self, env: &Env, chat: &Uri, out: &mut Effects) {
        let origin = self.chat(chat).and_then(|chat| chat.summary.origin.clone());
        if let (Some(ChatOrigin::Tool(_)), Some(session)) = (origin, self.session_of(chat).cloned())
        {
            self.remove_chat(env, &session, chat, out);
        }
    }

    /// Removes a chat with its worker chats, which make no sense without the chat that
    /// spawned them.
    fn remove_chat(&mut self, env: &Env, session: &Uri, chat: &Uri, out: &mut Effects) {
        for worker in self.workers_of(chat) {
            self.remove_chat(env, session, &worker.resource, out);
        }
        self.cancel_turn(env, chat, out);
        self.remove_from_background(chat, out);
        let removed = SessionAction::ChatRemoved(ChatRemoved { chat: chat.clone() });
        self.originate(session, removed, out);
        self.sync_session(session, out);
        if self.sessions.is_agent_open(session) {
            let chat = chat.clone();
            self.send_agent_command(session, AgentCommand::CloseChat { chat }, out);
        }
        self.remove_changesets(chat, out);
        self.set_agent_note(session, chat, None, out);
        self.remove_channel(chat, out);
        self.sync_input_needed(session, chat, out);
        self.drop_chat_usage(session, chat, out);
    }
}

pub(crate) fn new_chat_summary(env: &Env, chat: Uri) -> ChatSummary {
    ChatSummary {
        resource: chat,
        title: String::new(),
        status: SessionStatus::IDLE,
        activity: None,
        modified_at: env.timestamp(),
        changes: None,
        origin: Some(ChatOrigin::User),
        movable: None,
        interactivity: None,
        working_directories: None,
    }
}

pub(crate) fn new_chat_state(summary: ChatSummary) -> ChatState {
    ChatState {
        summary,
        changesets: None,
        background_work: None,
        canvases: None,
        turns: List::new(),
        turns_next_cursor: None,
        active_turn: None,
        steering_message: None,
        queued_messages: None,
        draft: None,
        meta: None,
    }
}
