//! The origin of a new chat: empty, a fork, or a side chat.

use agenthost_protocol::chat::{
    ChatOrigin, ChatSource, CreateChatParams, ForkOrigin, SideChatOrigin, Turn,
};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::list::List;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::uri::Uri;

use crate::agent::ChatContext;
use crate::host::Host;
use crate::host::error::RequestFailure;

/// Initial content of a new chat.
pub(crate) struct ChatSeed {
    pub(crate) origin: ChatOrigin,
    pub(crate) turns: List<Turn>,
    pub(crate) directories: Option<Vec<Uri>>,
    pub(crate) context: Option<ChatContext>,
}

impl Host {
    /// Checks the requested source of a new chat, and returns its origin (CHT-8, CHT-9,
    /// CHT-13, CHT-14).
    pub(crate) fn check_chat_source(
        &self,
        params: &CreateChatParams,
        agent: Option<&AgentInfo>,
    ) -> Result<ChatOrigin, RequestFailure> {
        let refuse = |reason: &str| Err(RequestFailure::InvalidParams(format!("source: {reason}")));
        let capabilities = agent.and_then(|agent| agent.capabilities.as_ref());
        let can = capabilities.and_then(|capabilities| capabilities.multiple_chats.as_ref());
        match &params.source {
            None => Ok(ChatOrigin::User),
            Some(ChatSource::Fork(fork)) => {
                if can.is_none_or(|can| can.fork != Some(true)) {
                    return refuse("the agent of this session can't fork chats");
                }
                match self.find_turn_phase(&params.channel, &fork.chat, &fork.turn_id)? {
                    TurnPhase::Over => Ok(ChatOrigin::Fork(ForkOrigin {
                        chat: fork.chat.clone(),
                        turn_id: fork.turn_id.clone(),
                    })),
                    TurnPhase::Running => refuse("cannot fork from a turn that is in progress"),
                }
            }
            Some(ChatSource::SideChat(side)) => {
                if can.is_none_or(|can| can.side_chat != Some(true)) {
                    return refuse("the agent of this session does not support side chats");
                }
                self.find_turn_phase(&params.channel, &side.chat, &side.turn_id)?;
                let selection = side.selection.as_ref();
                if selection.is_some_and(|selection| selection.text.is_empty()) {
                    return refuse("the selection is empty");
                }
                Ok(ChatOrigin::SideChat(SideChatOrigin {
                    chat: side.chat.clone(),
                    turn_id: side.turn_id.clone(),
                    selection: side.selection.clone(),
                }))
            }
        }
    }

    fn find_turn_phase(
        &self,
        session: &Uri,
        chat: &Uri,
        turn: &TurnId,
    ) -> Result<TurnPhase, RequestFailure> {
        let refuse = |reason: &str| Err(RequestFailure::InvalidParams(format!("source: {reason}")));
        let state = self.chat(chat);
        let Some(state) = state.filter(|_| self.session_of(chat) == Some(session)) else {
            return refuse("no such chat in this session");
        };
        let running = state.active_turn.as_ref();
        if running.is_some_and(|active| active.id == *turn) {
            return Ok(TurnPhase::Running);
        }
        match state.turns.find(|other| other.id == *turn) {
            Some(_) => Ok(TurnPhase::Over),
            None => refuse("no such turn in that chat"),
        }
    }

    /// Returns the initial content of a new chat. A fork has the turns and directories of
    /// its source. A side chat has neither, but its agent receives the turns as context
    /// (CHT-10 to CHT-13).
    pub(crate) fn seed_chat(&self, origin: ChatOrigin, directories: Option<Vec<Uri>>) -> ChatSeed {
        let mut seed = ChatSeed {
            origin,
            turns: List::new(),
            directories,
            context: None,
        };
        match &seed.origin {
            ChatOrigin::Fork(fork) => {
                if let Some(source) = self.chat(&fork.chat) {
                    seed.turns = turns_through(&source.turns, &fork.turn_id);
                    seed.directories = source.summary.working_directories.clone();
                    let whole = seed.turns.len() == source.turns.len();
                    let whole = whole && source.active_turn.is_none();
                    seed.context = Some(ChatContext::History {
                        turns: seed.turns.clone(),
                        copy_of: whole.then(|| fork.chat.clone()),
                    });
                }
            }
            ChatOrigin::SideChat(side) => {
                if let Some(source) = self.chat(&side.chat) {
                    let running = source.active_turn.as_ref();
                    let running = running.filter(|active| active.id == side.turn_id).cloned();
                    let turns = match &running {
                        Some(_) => source.turns.clone(),
                        None => turns_through(&source.turns, &side.turn_id),
                    };
                    let selection = side.selection.as_ref();
                    seed.context = Some(ChatContext::SideChat {
                        turns,
                        running,
                        selection: selection.map(|selection| selection.text.clone()),
                    });
                }
            }
            ChatOrigin::User | ChatOrigin::Tool(_) | ChatOrigin::Unknown(_) => {}
        }
        seed
    }
}

enum TurnPhase {
    Over,
    Running,
}

/// Returns the turns up to and including `last`; none if it does not exist.
pub(crate) fn turns_through(turns: &List<Turn>, last: &TurnId) -> List<Turn> {
    let end = turns.find(|turn| turn.id == *last);
    let end = end.map_or(0, |index| index + 1);
    turns.iter().take(end).cloned().collect()
}
