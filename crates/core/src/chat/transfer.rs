//! Moves chats within a session, to another session, or to a new session.

use std::sync::Arc;

use agenthost_protocol::chat::{
    ChatAction, ChatMoveDestination, ChatMoveToSession, ChatOrigin, ChatSummary, MovableChanged,
    MoveChatParams, MoveChatResult, ResponsePart, ToolCall,
};
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::session::{
    ChatAdded, ChatRemoved, ChatsReordered, SessionAction, SessionState,
};
use agenthost_protocol::terminal::{TerminalAction, TerminalClaim, TerminalClaimed};
use agenthost_protocol::uri::{Uri, session_uri};

use crate::agent::{AgentCommand, ChatContext};
use crate::changeset::driver::CheckpointId;
use crate::host::Host;
use crate::host::effect::{Effect, Effects, ResponseBody, StoreWrite};
use crate::host::error::RequestFailure;
use crate::host::step::Env;
use crate::session;

/// A chat and the worker chats that move with it.
struct MovedChats {
    from: Uri,
    chats: Vec<Arc<ChatSummary>>,
}

impl Host {
    /// Moves a chat. All checks precede the first change (MOV-3, MOV-4).
    pub(crate) fn move_chat(
        &mut self,
        env: &Env,
        params: MoveChatParams,
        out: &mut Effects,
    ) -> Result<ResponseBody, RequestFailure> {
        let chat = params.channel;
        let moved = self.collect_moved_chats(&chat)?;
        let session = match params.destination {
            ChatMoveDestination::Session(to) if to.session == moved.from => {
                self.reorder_chat(&chat, &to, out)?;
                to.session
            }
            ChatMoveDestination::Session(to) => {
                self.transfer_chats(moved, &to, out)?;
                to.session
            }
            ChatMoveDestination::NewSession => self.move_to_new_session(env, &chat, moved, out)?,
        };
        Ok(ResponseBody::MoveChat(MoveChatResult { session }))
    }

    /// Returns the channels that `moveChat` needs, as far as they are loaded: the chat, its
    /// worker chats, and the terminals that their tool calls show.
    pub(crate) fn channels_for_move(&self, chat: &Uri) -> Vec<Uri> {
        let session = self.session_of(chat).and_then(|from| self.session(from));
        let chats = session.map(|session| moved_with(session, chat));
        let mut channels: Vec<_> = chats
            .iter()
            .flatten()
            .map(|it| it.resource.clone())
            .collect();
        let shown = channels.iter().flat_map(|chat| self.shown_terminals(chat));
        let shown: Vec<_> = shown.cloned().collect();
        channels.extend(shown);
        channels.push(chat.clone());
        channels
    }

    /// Returns the terminals that the tool calls of a chat show.
    fn shown_terminals(&self, chat: &Uri) -> impl Iterator<Item = &Uri> {
        let turns = self
            .chat(chat)
            .into_iter()
            .flat_map(|chat| chat.turns.iter());
        let parts = turns.flat_map(|turn| turn.response_parts.items());
        let calls = parts.filter_map(ResponsePart::as_tool_call);
        let content = calls.flat_map(ToolCall::content);
        content.filter_map(|content| Some(&content.as_terminal()?.resource))
    }

    /// Moves the terminals that a chat shows to its new session (MOV-13). Otherwise they
    /// would be removed with the old session (TER-17).
    fn move_terminals(&mut self, chat: &Uri, from: &Uri, to: &Uri, out: &mut Effects) {
        let terminals: Vec<_> = self.shown_terminals(chat).cloned().collect();
        for terminal in terminals {
            let claim = self.terminal(&terminal).map(|state| state.claim.clone());
            let Some(TerminalClaim::Session(mut claim)) = claim else {
                continue;
            };
            if claim.session != *from || claim.chat != *chat {
                continue;
            }
            self.move_channel(&terminal, to, out);
            claim.session = to.clone();
            let claimed = TerminalAction::Claimed(TerminalClaimed {
                claim: TerminalClaim::Session(claim),
            });
            self.originate(&terminal, claimed, out);
        }
    }

    fn move_channel(&mut self, channel: &Uri, to: &Uri, out: &mut Effects) {
        if let Some(entry) = self.channels.get_mut(channel) {
            entry.session = Some(to.clone());
        }
        out.write(StoreWrite::ChannelMoved {
            channel: channel.clone(),
            session: to.clone(),
        });
    }

    /// Checks that a chat can be moved, and returns it with all worker chats below it
    /// (MOV-6).
    fn collect_moved_chats(&self, chat: &Uri) -> Result<MovedChats, RequestFailure> {
        let unknown = || RequestFailure::UnknownSession(chat.clone());
        let movable = self.chat(chat).ok_or_else(unknown)?.summary.movable;
        let from = self.session_of(chat).cloned().ok_or_else(unknown)?;
        let session = self.session(&from).ok_or_else(unknown)?;
        if movable != Some(true) || session.default_chat.as_ref() == Some(chat) {
            return reject_params("this chat can't be moved");
        }
        let chats = moved_with(session, chat);
        let busy = |summary: &Arc<ChatSummary>| {
            let running = SessionStatus::IN_PROGRESS;
            summary.status.contains(running)
        };
        if chats.iter().any(busy) {
            return Err(RequestFailure::TurnInProgress(chat.clone()));
        }
        let at_work = |summary: &Arc<ChatSummary>| {
            let chat = self.chat(&summary.resource);
            let work = chat.and_then(|chat| chat.background_work.as_ref());
            work.is_some_and(|work| work.items().next().is_some())
        };
        if chats.iter().any(at_work) {
            return reject_params("this chat has background work");
        }
        let has_command = |summary: &Arc<ChatSummary>| {
            let mut terminals = self.shown_terminals(&summary.resource);
            terminals.any(|terminal| self.is_background_command(terminal))
        };
        if chats.iter().any(has_command) {
            return reject_params("a command of this chat runs in the background");
        }
        Ok(MovedChats { from, chats })
    }

    /// Moves a chat to another position in its session (MOV-5).
    fn reorder_chat(
        &mut self,
        chat: &Uri,
        to: &ChatMoveToSession,
        out: &mut Effects,
    ) -> Result<(), RequestFailure> {
        let order = self.chat_order(&to.session)?;
        let order = insert_after(order, std::slice::from_ref(chat), to.after.as_ref())?;
        let reordered = SessionAction::ChatsReordered(ChatsReordered { chats: order });
        self.originate(&to.session, reordered, out);
        self.sync_session(&to.session, out);
        Ok(())
    }

    /// Moves chats to another session of the same agent (MOV-9).
    fn transfer_chats(
        &mut self,
        party: MovedChats,
        to: &ChatMoveToSession,
        out: &mut Effects,
    ) -> Result<(), RequestFailure> {
        let unknown = || RequestFailure::UnknownSession(to.session.clone());
        let destination = self.session(&to.session).ok_or_else(unknown)?;
        let source = self.session(&party.from).ok_or_else(unknown)?;
        if destination.metadata.provider != source.metadata.provider {
            return reject_params("destination: the session has another agent");
        }
        let known = destination.metadata.working_directories.clone();
        let known = known.unwrap_or_default();
        let directories = party
            .chats
            .iter()
            .flat_map(|chat| &chat.working_directories);
        if directories
            .flatten()
            .any(|directory| !known.contains(directory))
        {
            return reject_params("destination: the session lacks a directory of the chat");
        }
        let moved: Vec<_> = party
            .chats
            .iter()
            .map(|chat| chat.resource.clone())
            .collect();
        let order = insert_after(self.chat_order(&to.session)?, &moved, to.after.as_ref())?;
        self.detach_chats(&party, &to.session, out);
        for summary in party.chats {
            let added = SessionAction::ChatAdded(ChatAdded { summary });
            self.originate(&to.session, added, out);
        }
        let reordered = SessionAction::ChatsReordered(ChatsReordered { chats: order });
        self.originate(&to.session, reordered, out);
        self.sync_session(&party.from, out);
        self.sync_session(&to.session, out);
        self.open_moved_chats(&moved, out);
        Ok(())
    }

    /// Moves a chat to a new session as its default chat (MOV-7).
    fn move_to_new_session(
        &mut self,
        env: &Env,
        chat: &Uri,
        mut party: MovedChats,
        out: &mut Effects,
    ) -> Result<Uri, RequestFailure> {
        let unknown = || RequestFailure::UnknownSession(party.from.clone());
        let source = self.session(&party.from).ok_or_else(unknown)?;
        let provider = source.metadata.provider.clone();
        let session = session_uri(&provider, &env.unique_id("session"));
        let directories = source.metadata.working_directories.clone();
        let directories = directories.unwrap_or_default();
        let config = source.config.clone();
        // A default chat can't be moved (SES-13).
        let fixed = ChatAction::MovableChanged(MovableChanged { movable: false });
        self.originate(chat, fixed, out);
        for summary in &mut party.chats {
            if summary.resource == *chat {
                Arc::make_mut(summary).movable = Some(false);
            }
        }
        let mut state = SessionState {
            default_chat: Some(chat.clone()),
            config,
            chats: party.chats.iter().cloned().collect(),
            ..session::new_session_state(env, &session, provider, directories)
        };
        self.title_moved_session(&session, chat, &mut state);
        let listed = session::new_session_summary(env, &session, &state);
        self.create_channel(&session, Some(&session), state.into(), out);
        self.create_annotations(&session, out);
        let listed = Arc::new(listed);
        self.sessions.insert(session.clone(), Arc::clone(&listed));
        out.write(StoreWrite::Session(Arc::clone(&listed)));
        self.store_environment(&session, None, Some(&party.from), out);
        self.detach_chats(&party, &session, out);
        self.announce_session(&listed, out);
        self.sync_session(&party.from, out);
        self.take_checkpoint(&session, CheckpointId::SessionStart, out);
        self.open_agent(&session, out);
        let moved: Vec<_> = party
            .chats
            .iter()
            .map(|chat| chat.resource.clone())
            .collect();
        self.open_moved_chats(&moved, out);
        Ok(session)
    }

    /// Removes chats from their session. They keep their URIs, states and subscribers
    /// (MOV-8).
    fn detach_chats(&mut self, party: &MovedChats, to: &Uri, out: &mut Effects) {
        // Stored content that the chats refer to must stay readable (RES-15).
        out.push(Effect::ShareContent {
            from: party.from.clone(),
            to: to.clone(),
        });
        for summary in &party.chats {
            let chat = summary.resource.clone();
            self.remove_changesets(&chat, out);
            let closed = AgentCommand::CloseChat { chat: chat.clone() };
            if self.sessions.is_agent_open(&party.from) {
                self.send_agent_command(&party.from, closed, out);
            }
            self.set_agent_note(&party.from, &chat, None, out);
            self.set_tool_filter(&party.from, &chat, None, out);
            self.move_channel(&chat, to, out);
            self.move_terminals(&chat, &party.from, to, out);
            let removed = SessionAction::ChatRemoved(ChatRemoved { chat });
            self.originate(&party.from, removed, out);
        }
    }

    /// Sends the turns of moved chats to the agent of their new session.
    pub(crate) fn open_moved_chats(&mut self, chats: &[Uri], out: &mut Effects) {
        for chat in chats {
            let Some(state) = self.chat(chat) else {
                continue;
            };
            let opened = AgentCommand::OpenChat {
                chat: chat.clone(),
                context: ChatContext::History {
                    turns: state.turns.clone(),
                    copy_of: None,
                },
            };
            self.send_agent_command(chat, opened, out);
        }
    }

    fn chat_order(&self, session: &Uri) -> Result<Vec<Uri>, RequestFailure> {
        let state = self.session(session);
        let state = state.ok_or_else(|| RequestFailure::UnknownSession(session.clone()))?;
        Ok(state
            .chats
            .items()
            .map(|chat| chat.resource.clone())
            .collect())
    }
}

/// Returns a chat of a session and all worker chats below it (MOV-6).
fn moved_with(session: &SessionState, chat: &Uri) -> Vec<Arc<ChatSummary>> {
    let mut chats: Vec<Arc<ChatSummary>> = Vec::new();
    for summary in session.chats.iter() {
        let is_moved = summary.resource == *chat;
        let is_worker = matches!(&summary.origin, Some(ChatOrigin::Tool(origin))
            if origin.chat == *chat || chats.iter().any(|other| other.resource == origin.chat));
        if is_moved || is_worker {
            chats.push(Arc::clone(summary));
        }
    }
    chats
}

/// Returns the order with the moved chats behind `after`, or at the front if that is
/// `None`.
fn insert_after(
    order: Vec<Uri>,
    moved: &[Uri],
    after: Option<&Uri>,
) -> Result<Vec<Uri>, RequestFailure> {
    let mut order: Vec<_> = order
        .into_iter()
        .filter(|chat| !moved.contains(chat))
        .collect();
    let index = match after {
        None => 0,
        Some(anchor) => match order.iter().position(|chat| chat == anchor) {
            Some(index) => index + 1,
            None => return reject_params("destination.after: no such chat in that session"),
        },
    };
    order.splice(index..index, moved.iter().cloned());
    Ok(order)
}

fn reject_params<T>(reason: &str) -> Result<T, RequestFailure> {
    Err(RequestFailure::InvalidParams(reason.to_owned()))
}
