//! Worker chats that agents open for subagents, and background work.
//!
//! A worker chat names the tool call that spawned it, and the call names the chat (CHT-16):
//! the host maintains both links. A worker chat that users can't write to runs no longer
//! than the turn of that call, unless its parent lists it as background work (BGW-4).

use std::sync::Arc;

use agenthost_protocol::chat::{
    BackgroundWork, BackgroundWorkRemoved, ChatAction, ChatInteractivity, ChatOrigin, ChatState,
    ChatSummary, Message, MessageKind, ToolCall, ToolCallComplete, ToolCallContentChanged,
    ToolCallRunning, ToolCallTarget, ToolOrigin, ToolResultContent, ToolResultSubagent,
    TurnStarted,
};
use agenthost_protocol::ids::{BackgroundWorkId, ToolCallId, TurnId};
use agenthost_protocol::session::{ChatAdded, SessionAction};
use agenthost_protocol::uri::Uri;

use crate::agent::{AgentCommand, WorkerChat};
use crate::changeset::driver::CheckpointId;
use crate::chat::{new_chat_state, new_chat_summary};
use crate::host::Host;
use crate::host::effect::{Effect, Effects};
use crate::host::error::ActionCheckError;
use crate::host::step::Env;
use crate::policy::limits::MAX_SESSION_CHATS;
use crate::resource::uris;

impl Host {
    /// Opens a worker chat for an agent. An invalid request is reported and ignored.
    pub(crate) fn open_worker(
        &mut self,
        env: &Env,
        session: &Uri,
        worker: WorkerChat,
        out: &mut Effects,
    ) {
        let target = self.check_spawning_call(session, &worker);
        let target = match target {
            Ok(target) => target,
            Err(error) => {
                out.push(Effect::ReportDiscarded {
                    channel: worker.chat,
                    action: "worker chat",
                    reason: error.to_string(),
                });
                return;
            }
        };
        let summary = ChatSummary {
            title: worker.title,
            origin: Some(ChatOrigin::Tool(ToolOrigin {
                chat: worker.parent.clone(),
                tool_call_id: worker.call,
            })),
            interactivity: Some(worker.interactivity),
            movable: Some(false),
            ..new_chat_summary(env, worker.chat.clone())
        };
        let state = new_chat_state(summary.clone());
        self.create_channel(&worker.chat, Some(session), state.into(), out);
        let added = ChatAdded {
            summary: Arc::new(summary),
        };
        self.originate(session, SessionAction::ChatAdded(added), out);
        self.sync_session(session, out);
        self.publish_worker_links(&worker.parent, &target, out);
    }

    /// Checks that a worker chat can be opened, and returns the tool call that spawned it.
    fn check_spawning_call(
        &self,
        session: &Uri,
        worker: &WorkerChat,
    ) -> Result<ToolCallTarget, ActionCheckError> {
        if self.channels.contains(&worker.chat) {
            return Err(ActionCheckError::AddressTaken);
        }
        uris::check_chat(&worker.chat).map_err(ActionCheckError::InvalidAddress)?;
        let chats = self.session(session).map_or(0, |state| state.chats.len());
        if chats >= MAX_SESSION_CHATS {
            return Err(ActionCheckError::TooManyChats);
        }
        let parent = self.chat(&worker.parent);
        let parent = parent.filter(|_| self.session_of(&worker.parent) == Some(session));
        let turn = parent.and_then(|parent| parent.active_turn.as_ref());
        let Some(turn) = turn.filter(|_| running_call(parent, &worker.call).is_some()) else {
            return Err(ActionCheckError::SpawningCallNotRunning);
        };
        Ok(ToolCallTarget {
            turn_id: turn.id.clone(),
            tool_call_id: worker.call.clone(),
            meta: None,
        })
    }

    /// Adds links to its worker chats to the content of a running call, if they are
    /// missing.
    pub(crate) fn publish_worker_links(
        &mut self,
        chat: &Uri,
        target: &ToolCallTarget,
        out: &mut Effects,
    ) {
        let Some(call) = running_call(self.chat(chat), &target.tool_call_id) else {
            return;
        };
        let before = call.content.clone().unwrap_or_default();
        let meta = call.head.meta.clone();
        let mut content = before.clone();
        self.add_worker_links(chat, &target.tool_call_id, &mut content);
        if content != before {
            let target = ToolCallTarget {
                meta,
                ..target.clone()
            };
            let changed = ToolCallContentChanged { target, content };
            let changed = ChatAction::ToolCallContentChanged(changed);
            self.originate(chat, changed, out);
        }
    }

    /// Adds the links to worker chats to an action that replaces the content of a call.
    pub(crate) fn preserve_worker_links(&self, chat: &Uri, action: &mut ChatAction) {
        if let ChatAction::ToolCallComplete(complete) = action {
            self.complete_with_workers(chat, complete);
        } else if let ChatAction::ToolCallContentChanged(change) = action {
            let call = change.target.tool_call_id.clone();
            self.add_worker_links(chat, &call, &mut change.content);
        }
    }

    /// Adds the links to worker chats to the result of a call.
    pub(crate) fn complete_with_workers(&self, chat: &Uri, complete: &mut ToolCallComplete) {
        let mut content = complete.result.content.clone().unwrap_or_default();
        self.add_worker_links(chat, &complete.target.tool_call_id, &mut content);
        if !content.is_empty() {
            complete.result.content = Some(content);
        }
    }

    fn add_worker_links(
        &self,
        chat: &Uri,
        call: &ToolCallId,
        content: &mut Vec<ToolResultContent>,
    ) {
        for worker in self.workers_of(chat) {
            let of_call = matches!(&worker.origin, Some(ChatOrigin::Tool(origin))
                if origin.tool_call_id == *call);
            let named = content.iter().any(|block| {
                matches!(block, ToolResultContent::Subagent(block) if block.resource == worker.resource)
            });
            if of_call && !named {
                content.push(ToolResultContent::Subagent(ToolResultSubagent {
                    resource: worker.resource.clone(),
                    title: worker.title.clone(),
                    agent_name: None,
                    description: None,
                }));
            }
        }
    }

    /// Returns the worker chats that the calls of a chat have spawned.
    pub(crate) fn workers_of(&self, chat: &Uri) -> Vec<Arc<ChatSummary>> {
        let session = self
            .session_of(chat)
            .and_then(|session| self.session(session));
        let chats = session.into_iter().flat_map(|session| session.chats.iter());
        let is_worker = |summary: &&Arc<ChatSummary>| matches!(&summary.origin, Some(ChatOrigin::Tool(origin)) if origin.chat == *chat);
        chats.filter(is_worker).cloned().collect()
    }

    /// Returns `true` if the chat is a worker chat.
    pub(crate) fn is_worker(&self, chat: &Uri) -> bool {
        let state = self.chat(chat);
        state.is_some_and(|chat| matches!(chat.summary.origin, Some(ChatOrigin::Tool(_))))
    }

    /// Cancels the turns of a chat's workers, unless the call that spawned them is still in
    /// the active turn or they are listed as background work.
    pub(crate) fn end_workers(&mut self, env: &Env, chat: &Uri, out: &mut Effects) {
        for worker in self.workers_of(chat) {
            if !self.is_work_expected(&worker) {
                self.cancel_turn(env, &worker.resource, out);
            }
        }
    }

    /// Returns `true` if a turn may run in the chat: its spawning call is in the active
    /// turn, it is listed as background work, or users can write to it.
    fn is_work_expected(&self, summary: &ChatSummary) -> bool {
        let Some(ChatOrigin::Tool(origin)) = &summary.origin else {
            return true;
        };
        let full = matches!(summary.interactivity, None | Some(ChatInteractivity::Full));
        let parent = self.chat(&origin.chat);
        full || parent.is_some_and(|parent| {
            has_call(parent, &origin.tool_call_id) || is_in_background(parent, &summary.resource)
        })
    }

    /// Starts a turn that an agent begins by itself. If the chat can't have one now, the
    /// host cancels it at the agent.
    pub(crate) fn begin_agent_turn(
        &mut self,
        chat: &Uri,
        turn: TurnId,
        message: Arc<Message>,
        env: &Env,
        out: &mut Effects,
    ) {
        let Some(state) = self.chat(chat) else {
            return;
        };
        let used = state.turns.find(|other| other.id == turn).is_some()
            || self.evicted_turns(chat).contains(&turn);
        let problem = if state.active_turn.is_some() {
            Some("another turn is in progress")
        } else if used || turn.as_str().is_empty() {
            Some("its turn id is in use")
        } else if message.origin.kind == MessageKind::User {
            // An agent must not send messages in the name of the user (TUR-3).
            Some("an agent cannot send messages of kind `user`")
        } else if !self.is_work_expected(&state.summary) {
            Some("the tool call that it works for has ended")
        } else {
            None
        };
        if let Some(reason) = problem {
            out.push(Effect::ReportDiscarded {
                channel: chat.clone(),
                action: "chat/turnStarted",
                reason: reason.to_owned(),
            });
            let chat = chat.clone();
            let cancel = AgentCommand::Cancel {
                chat: chat.clone(),
                turn,
            };
            self.send_agent_command(&chat, cancel, out);
            return;
        }
        let started = ChatAction::TurnStarted(TurnStarted {
            turn_id: turn.clone(),
            started_at: env.timestamp(),
            message,
            queued_message_id: None,
            meta: None,
        });
        self.originate(chat, started, out);
        self.checkpoint_turn(chat, &turn, CheckpointId::BeforeTurn, out);
        self.sync_chat(chat, out);
        self.mark_unread(chat, out);
        self.forward_steering(chat, out);
    }

    /// Checks that an entry of background work refers to a channel of this session (BGW-2).
    pub(crate) fn check_background(
        &self,
        session: &Uri,
        work: &BackgroundWork,
    ) -> Result<(), ActionCheckError> {
        let named = match work {
            BackgroundWork::Subagent(work) => Some(&work.chat),
            BackgroundWork::Shell(work) => work.terminal.as_ref(),
            BackgroundWork::Unknown(_) => None,
        };
        match named {
            Some(channel) if self.session_of(channel) != Some(session) => {
                Err(ActionCheckError::NotInSession(channel.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Removes all background work of a chat, because the agent has exited or the host
    /// has restarted.
    pub(crate) fn clear_background(&mut self, env: &Env, chat: &Uri, out: &mut Effects) {
        self.remove_background(chat, |_| true, out);
        self.end_workers(env, chat, out);
    }

    /// Removes a worker chat from the background work of its parent.
    pub(crate) fn remove_from_background(&mut self, worker: &Uri, out: &mut Effects) {
        let origin = self
            .chat(worker)
            .and_then(|chat| chat.summary.origin.clone());
        if let Some(ChatOrigin::Tool(origin)) = origin {
            self.remove_background(&origin.chat, |work| is_work_of(work, worker), out);
        }
    }

    fn remove_background(
        &mut self,
        chat: &Uri,
        which: impl Fn(&BackgroundWork) -> bool,
        out: &mut Effects,
    ) {
        let state = self.chat(chat);
        let work = state.and_then(|chat| chat.background_work.as_ref());
        let ids: Vec<_> = work
            .into_iter()
            .flat_map(|work| work.items())
            .filter(|work| which(work))
            .filter_map(|work| Some(BackgroundWorkId::from(work.key()?)))
            .collect();
        for id in ids {
            let removed = ChatAction::BackgroundWorkRemoved(BackgroundWorkRemoved { id });
            self.originate(chat, removed, out);
        }
    }
}

fn has_call(chat: &ChatState, call: &ToolCallId) -> bool {
    let turn = chat.active_turn.as_ref();
    turn.is_some_and(|turn| turn.response_parts.call(call.as_str()).is_some())
}

fn is_in_background(chat: &ChatState, worker: &Uri) -> bool {
    let mut work = chat.background_work.iter().flat_map(|work| work.items());
    work.any(|work| is_work_of(work, worker))
}

fn is_work_of(work: &BackgroundWork, worker: &Uri) -> bool {
    matches!(work, BackgroundWork::Subagent(work) if work.chat == *worker)
}

/// Returns a call of the active turn, if its status is running.
fn running_call<'a>(chat: Option<&'a ChatState>, call: &ToolCallId) -> Option<&'a ToolCallRunning> {
    let turn = chat?.active_turn.as_ref()?;
    let ToolCall::Running(call) = turn.response_parts.call(call.as_str())? else {
        return None;
    };
    Some(call)
}
