//! Starts, ends and cancels turns.
//!
//! A prompt passes these stages before its agent gets it: the queue of the chat until the
//! previous turn has ended (here), the session until it is ready (`early_start`), attachments,
//! preparation and MCP servers (`pending_prompt`), and the checkpoint before the turn
//! (`checkpoint_barrier`). An agent that speaks ACP may hold it once more until its process and
//! its agent session are ready (`acp::bridge`).

pub(crate) mod checkpoint_barrier;
pub(crate) mod command_turn;
pub(crate) mod early_start;
pub(crate) mod pending_prompt;
pub(crate) mod response_size;
pub(crate) mod steering_messages;
pub(crate) mod unfinished_calls;
pub(crate) mod usage;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agenthost_protocol::action::Action;
use agenthost_protocol::chat::{
    ChatAction, ChatActivityChanged, ChatError, ChatState, ErrorPart, Message, PendingMessageKind,
    PendingMessageRemoved, TurnCancelled, TurnComplete, TurnStarted,
};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::{PendingMessageId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Standalone;
use serde::{Deserialize, Serialize};

use crate::changeset::driver::CheckpointId;
use crate::chat::turn::checkpoint_barrier::CheckpointBarrier;
use crate::chat::turn::command_turn::CommandRun;
use crate::chat::turn::pending_prompt::{MessageSenders, PendingPrompt};
use crate::chat::turn::response_size::ResponseUsages;
use crate::chat::turn::steering_messages::QueuedSteering;
use crate::chat::turn::unfinished_calls::TurnEnd;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::input::ConnectionId;
use crate::host::step::Env;
use crate::policy;

/// State of turns that is not part of the protocol's states.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TurnTable {
    /// Prompts that are not sent to their agent yet, by chat.
    prompts: BTreeMap<Uri, PendingPrompt>,
    /// Effects that wait for the checkpoint before their turn, by chat.
    barriers: BTreeMap<Uri, CheckpointBarrier>,
    senders: MessageSenders,
    pub(crate) queued_steering: QueuedSteering,
    /// Sizes of the responses of active turns.
    #[serde(skip)]
    response_sizes: ResponseUsages,
    /// Commands of command turns, by terminal.
    command_runs: BTreeMap<Uri, CommandRun>,
    /// Chats with background work of an agent that runs.
    pub(crate) background_chats: BTreeSet<Uri>,
    /// Chats from the log with a turn that was active when the host stopped, until the
    /// terminals that the turn shows are loaded.
    #[serde(skip)]
    pub(crate) interrupted_chats: BTreeSet<Uri>,
    #[serde(skip)]
    pub(crate) recovery: TurnRecovery,
}

/// Handling of turns that were active when the earlier process of the host stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TurnRecovery {
    /// They were interrupted, because their agents and terminals have ended.
    #[default]
    Interrupted,
    /// They go on. The channels with running work are not loaded yet.
    Loading,
    /// They go on.
    Continued,
}

impl TurnTable {
    pub(crate) fn prompt_mut(&mut self, chat: &Uri) -> Option<&mut PendingPrompt> {
        self.prompts.get_mut(chat)
    }

    /// Removes the pending prompt of a chat. Returns `false` if there is none.
    pub(crate) fn remove_prompt(&mut self, chat: &Uri) -> bool {
        self.prompts.remove(chat).is_some()
    }

    /// Returns the chats with a pending prompt.
    pub(crate) fn chats_with_prompts(&self) -> impl Iterator<Item = &Uri> {
        self.prompts.keys()
    }

    /// Returns `true` if a prompt or a command is waiting or running.
    pub(crate) fn has_work(&self) -> bool {
        !self.prompts.is_empty() || !self.barriers.is_empty() || !self.command_runs.is_empty()
    }

    pub(crate) fn has_command_run(&self, terminal: &Uri) -> bool {
        self.command_runs.contains_key(terminal)
    }

    pub(crate) fn command_run(&self, terminal: &Uri) -> Option<&CommandRun> {
        self.command_runs.get(terminal)
    }

    pub(crate) fn remove_command_run(&mut self, terminal: &Uri) {
        self.command_runs.remove(terminal);
    }

    /// Adds an action to the response size of the active turn.
    pub(crate) fn record_response(&mut self, chat: &Uri, state: &ChatState, action: &ChatAction) {
        self.response_sizes.record(chat, state, action);
        if matches!(
            action,
            ChatAction::BackgroundWorkSet(_) | ChatAction::BackgroundWorkRemoved(_)
        ) {
            let mut work = state.background_work.iter().flat_map(|work| work.items());
            match work.next() {
                Some(_) => self.background_chats.insert(chat.clone()),
                None => self.background_chats.remove(chat),
            };
        }
    }

    /// Measures the response of a turn that another process of the host began.
    pub(crate) fn measure_response(&mut self, chat: &Uri, state: &ChatState) {
        self.response_sizes.measure(chat, state);
    }

    /// Drops the data of a chat whose channel was removed.
    pub(crate) fn forget_chat(&mut self, chat: &Uri) {
        self.response_sizes.remove(chat);
        self.queued_steering.take(chat);
        self.interrupted_chats.remove(chat);
        self.background_chats.remove(chat);
    }
}

/// Source of the message of a turn that the host starts.
#[derive(Debug)]
pub(crate) enum TurnSource {
    /// The message was queued.
    Queue(PendingMessageId),
    /// A client sent the message with a request.
    Request(ConnectionId),
    /// The message was a steering message that the previous turn did not accept.
    Steering(PendingMessageId),
}

impl Host {
    pub(crate) fn is_running(&self, chat: &Uri, turn: &TurnId) -> bool {
        self.chat(chat)
            .and_then(|chat| chat.active_turn.as_ref())
            .is_some_and(|active| active.id == *turn)
    }

    /// Ends a turn, with a duration by the host's clock (TUR-5), and starts the next queued
    /// message unless the turn failed (PEN-3, A-8).
    pub(crate) fn end_turn(
        &mut self,
        env: &Env,
        chat: &Uri,
        turn: &TurnId,
        error: Option<ErrorPart>,
        out: &mut Effects,
    ) {
        if self.finish_turn(env, chat, turn, error, out) {
            self.start_queued(env, chat, out);
        }
    }

    /// Ends a turn if it is active. Returns `true` if the next turn may start.
    fn finish_turn(
        &mut self,
        env: &Env,
        chat: &Uri,
        turn: &TurnId,
        error: Option<ErrorPart>,
        out: &mut Effects,
    ) -> bool {
        if !self.is_running(chat, turn) {
            return false;
        }
        let end = match &error {
            None => TurnEnd::Complete,
            Some(part) => TurnEnd::Failed(&part.error.message),
        };
        self.complete_unfinished_calls(chat, end, out);
        let failed = error.is_some();
        let duration = self.chat(chat).map_or(Millis(0), |chat| elapsed(env, chat));
        let (turn_id, meta) = (turn.clone(), None);
        let action = match error {
            None => ChatAction::TurnComplete(TurnComplete {
                turn_id,
                duration,
                meta,
            }),
            Some(part) => ChatAction::Error(ChatError {
                turn_id,
                duration,
                part: Standalone(part),
                meta,
            }),
        };
        self.originate(chat, action, out);
        self.turns.prompts.remove(chat);
        self.turns.queued_steering.take(chat);
        self.clear_activity(chat, out);
        self.sync_chat(chat, out);
        self.sync_input_needed_of(chat, out);
        self.end_workers(env, chat, out);
        self.deliver_results(chat, out);
        self.notify_turn_ended(chat, turn, out);
        self.checkpoint_turn(chat, turn, CheckpointId::AfterTurn, out);
        !failed
    }

    /// Handles the end of a turn that an agent reports. A steering message that the agent
    /// has not accepted starts the next turn, before the queued messages.
    pub(crate) fn handle_turn_ended(
        &mut self,
        env: &Env,
        chat: &Uri,
        turn: &TurnId,
        error: Option<ErrorPart>,
        out: &mut Effects,
    ) {
        if !self.is_command_turn(chat, turn) && self.finish_turn(env, chat, turn, error, out) {
            self.start_unsent_steering(env, chat, out);
            self.start_queued(env, chat, out);
        }
    }

    /// Cancels the active turn of a chat, if there is one.
    pub(crate) fn cancel_turn(&mut self, env: &Env, chat: &Uri, out: &mut Effects) {
        let Some(state) = self.chat(chat) else {
            return;
        };
        if let Some(turn) = &state.active_turn {
            let cancelled = ChatAction::TurnCancelled(TurnCancelled {
                turn_id: turn.id.clone(),
                duration: elapsed(env, state),
                meta: None,
            });
            self.complete_unfinished_calls(chat, TurnEnd::Cancelled, out);
            self.originate(chat, cancelled.clone(), out);
            self.react(env, chat, &cancelled.into(), out);
        }
    }

    /// Clears the activity of a chat: without an active turn there is none (TUR-17).
    pub(crate) fn clear_activity(&mut self, chat: &Uri, out: &mut Effects) {
        let busy = self
            .chat(chat)
            .is_some_and(|chat| chat.summary.activity.is_some());
        if busy {
            let cleared = ChatActivityChanged { activity: None };
            self.originate(chat, ChatAction::ActivityChanged(cleared), out);
        }
    }

    /// Starts a turn with the first queued message, if no turn is active.
    pub(crate) fn start_queued(&mut self, env: &Env, chat: &Uri, out: &mut Effects) {
        let Some(state) = self.chat(chat).filter(|chat| chat.active_turn.is_none()) else {
            return;
        };
        let head = state.queued_messages.as_ref();
        let Some(head) = head.and_then(|queue| queue.items().next()).cloned() else {
            return;
        };
        let removed = PendingMessageRemoved {
            kind: PendingMessageKind::Queued,
            id: head.id.clone(),
        };
        self.originate(chat, ChatAction::PendingMessageRemoved(removed), out);
        // The message may refer to a model, agent or chat that was removed since (PEN-10).
        let session = self
            .session_of(chat)
            .and_then(|session| self.session(session));
        let agent = session.and_then(|session| self.agent_of_session(session));
        let checked = policy::check_message(agent, session, &head.message)
            .and_then(|()| self.check_attachments(&head.message));
        match checked {
            Ok(()) => {
                let message = Arc::clone(&head.message);
                self.start_turn(env, chat, message, TurnSource::Queue(head.id), out);
            }
            Err(refusal) => {
                let turn_id = TurnId::from(env.unique_id("turn"));
                let started = ChatAction::TurnStarted(TurnStarted {
                    turn_id: turn_id.clone(),
                    started_at: env.timestamp(),
                    message: Arc::clone(&head.message),
                    queued_message_id: Some(head.id),
                    meta: None,
                });
                self.originate(chat, started, out);
                let error = ErrorInfo::new("messageRefused", refusal.to_string());
                let resumable = None;
                self.end_turn(
                    env,
                    chat,
                    &turn_id,
                    Some(ErrorPart { error, resumable }),
                    out,
                );
            }
        }
    }

    /// Starts a turn on behalf of the host, with a new turn id.
    pub(crate) fn start_turn(
        &mut self,
        env: &Env,
        chat: &Uri,
        message: Arc<Message>,
        source: TurnSource,
        out: &mut Effects,
    ) {
        let turn_id = TurnId::from(env.unique_id("turn"));
        let queued_message_id = match source {
            TurnSource::Queue(id) => Some(id),
            TurnSource::Steering(id) => {
                self.record_steering_sender(chat, &turn_id, id);
                None
            }
            TurnSource::Request(connection) => {
                self.record_turn_sender(chat, &turn_id, connection);
                None
            }
        };
        let started = Action::Chat(ChatAction::TurnStarted(TurnStarted {
            turn_id,
            started_at: env.timestamp(),
            message,
            queued_message_id,
            meta: None,
        }));
        self.originate(chat, started.clone(), out);
        self.react(env, chat, &started, out);
    }
}

/// Returns the time since the active turn started, by the host's clock.
pub(crate) fn elapsed(env: &Env, chat: &ChatState) -> Millis {
    let turn = chat.active_turn.as_ref();
    let started = turn.and_then(|turn| turn.started_at.to_millis().ok());
    Millis(started.map_or(0, |started| (env.now.0 - started.0).max(0)))
}
