//! Sessions that begin with what was said in another.
//!
//! There is no way to ask for one since 0.9, where a chat is forked and then
//! moved. Clients of older versions ask when they create a session; that comes
//! here as free data.

use agenthost_protocol::chat::{ChatOrigin, ChatSummary, ForkOrigin, Turn};
use agenthost_protocol::common::Meta;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::list::List;
use agenthost_protocol::session::CreateSessionParams;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use crate::chat::origin::turns_through;
use crate::host::Host;
use crate::host::error::RequestFailure;

/// Where it stands.
const FORK_META_KEY: &str = "agenthost.fork";

/// What a new session begins with.
pub(crate) struct SessionFork {
    /// The session it is of.
    pub(crate) session: Uri,
    origin: ForkOrigin,
    turns: List<Turn>,
}

/// The session and the turn that a new session is to begin after.
pub(crate) fn requested_fork(meta: Option<&Meta>) -> Option<(Uri, TurnId)> {
    let fork = meta?.get(FORK_META_KEY)?;
    let text = |field| fork.get(field).and_then(Json::as_str);
    Some((Uri::from(text("session")?), TurnId::from(text("turnId")?)))
}

impl Host {
    /// What a new session begins with, if it is a fork. Fills in what it has
    /// in common with the other and nobody has said.
    pub(crate) fn resolve_fork(
        &self,
        params: &mut CreateSessionParams,
    ) -> Result<Option<SessionFork>, RequestFailure> {
        let refuse = |reason: &str| Err(RequestFailure::InvalidParams(format!("fork: {reason}")));
        let Some((session, turn)) = requested_fork(params.meta.as_ref()) else {
            return Ok(None);
        };
        let Some(source) = self.session(&session) else {
            return Err(RequestFailure::UnknownSession(session));
        };
        let provider = &source.metadata.provider;
        if params.provider.get_or_insert_with(|| provider.clone()) != provider {
            return refuse("that session has another agent");
        }
        if params.working_directories.is_none() {
            params.working_directories = source.metadata.working_directories.clone();
        }
        let chat = source.default_chat.clone();
        let Some((chat, state)) = chat.and_then(|chat| Some((chat.clone(), self.chat(&chat)?)))
        else {
            return refuse("that session has no chat");
        };
        if state.turns.find(|other| other.id == turn).is_none() {
            return refuse("no such turn in that session, or it is not over");
        }
        Ok(Some(SessionFork {
            session,
            turns: turns_through(&state.turns, &turn),
            origin: ForkOrigin {
                chat,
                turn_id: turn,
            },
        }))
    }
}

impl SessionFork {
    /// How the chat of the new session came about.
    pub(crate) fn set_origin(&self, chat: &mut ChatSummary) {
        chat.origin = Some(ChatOrigin::Fork(self.origin.clone()));
    }

    /// What was said before.
    pub(crate) fn into_turns(self) -> List<Turn> {
        self.turns
    }
}
