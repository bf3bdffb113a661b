//! Creates sessions that start with the turns of another session.
//!
//! Since 0.9 the protocol has no request for that: a client forks a chat and then moves it.
//! Legacy clients request it in `createSession`; upgrading their request moves the source of the
//! fork to `_meta`.

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

/// Key in `_meta` of `createSession` for the source of the fork.
const FORK_META_KEY: &str = "agenthost.fork";

/// The source of a forked session, and the turns that it starts with.
pub(crate) struct SessionFork {
    /// The session that was forked.
    pub(crate) session: Uri,
    origin: ForkOrigin,
    turns: List<Turn>,
}

/// Returns the source session and the last turn to copy, if a fork is requested.
pub(crate) fn requested_fork(meta: Option<&Meta>) -> Option<(Uri, TurnId)> {
    let fork = meta?.get(FORK_META_KEY)?;
    let text = |field| fork.get(field).and_then(Json::as_str);
    Some((Uri::from(text("session")?), TurnId::from(text("turnId")?)))
}

impl Host {
    /// Resolves the source of a forked session; `None` if no fork is requested. Parameters that
    /// the client omitted are copied from the source.
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
            return refuse("no such turn in that session, or it has not ended");
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
    /// Sets the origin of the new session's chat.
    pub(crate) fn set_origin(&self, chat: &mut ChatSummary) {
        chat.origin = Some(ChatOrigin::Fork(self.origin.clone()));
    }

    /// Returns the turns that the new session starts with.
    pub(crate) fn into_turns(self) -> List<Turn> {
        self.turns
    }
}
