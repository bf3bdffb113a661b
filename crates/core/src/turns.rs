//! What agents do, and what a stop of the host leaves behind.

use std::sync::Arc;

use agenthost_protocol::action::{Action, Dispatcher};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{
    ChatAction, ChatActivityChanged, ChatError, ChatState, ErrorPart, Message, PendingMessageKind,
    PendingMessageRemoved, ResponsePart, TurnComplete, TurnStarted,
};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::{PendingMessageId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::{
    CreationFailed, Ready, ServerToolsChanged, SessionAction, SessionLifecycle,
};
use agenthost_protocol::terminal::{TerminalAction, TerminalExited, TerminalLifecycle};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Standalone;

use crate::agent::AgentEvent;
use crate::effect::{Effect, Effects};
use crate::env::Env;
use crate::host::{Held, Host};
use crate::input::Loaded;
use crate::{policy, waiting};

impl Host {
    pub(crate) fn agent_event(
        &mut self,
        env: &Env,
        session: &Uri,
        event: AgentEvent,
        out: &mut Effects,
    ) {
        match event {
            AgentEvent::Opened { tools } => {
                // Opened again after a restart: it has been ready all along.
                if self.is_creating(session) {
                    self.originate(session, SessionAction::Ready(Ready {}), out);
                }
                if !tools.is_empty() {
                    let changed = ServerToolsChanged { tools };
                    self.originate(session, SessionAction::ServerToolsChanged(changed), out);
                }
                self.sync_session(session, out);
            }
            AgentEvent::Stopped { error } => self.agent_stopped(env, session, error, out),
            // An agent has no business in the chats of others.
            AgentEvent::Chat { chat, .. }
            | AgentEvent::Steered { chat, .. }
            | AgentEvent::TurnEnded { chat, .. }
                if self.owner(&chat) != Some(session) => {}
            AgentEvent::Chat { chat, action } => self.agent_action(env, &chat, *action, out),
            AgentEvent::Steered { chat, id } => {
                let waiting = self
                    .chat(&chat)
                    .and_then(|chat| chat.steering_message.as_ref());
                if waiting.is_some_and(|waiting| waiting.id == id) {
                    let kind = PendingMessageKind::Steering;
                    let removed = PendingMessageRemoved { kind, id };
                    let removed = ChatAction::PendingMessageRemoved(removed);
                    self.originate(&chat, removed, out);
                }
            }
            AgentEvent::TurnEnded { chat, turn, error } => {
                self.end_turn(env, &chat, &turn, error, out);
            }
            AgentEvent::TerminalOpened { terminal, state } => {
                if !self.channels.contains_key(&terminal) && self.sessions.contains_key(session) {
                    self.create(&terminal, Some(session), (*state).into(), out);
                }
            }
            AgentEvent::Terminal { terminal, action } => {
                if self.owner(&terminal) == Some(session) {
                    self.originate(&terminal, *action, out);
                    self.trim_terminal(&terminal, out);
                }
            }
        }
    }

    /// A session that was being created has failed; one that was ready lost
    /// what was running, and opens its agent again when it is needed.
    fn agent_stopped(&mut self, env: &Env, session: &Uri, error: ErrorInfo, out: &mut Effects) {
        self.opened.remove(session);
        if self.is_creating(session) {
            let failed = SessionAction::CreationFailed(CreationFailed { error });
            self.originate(session, failed, out);
            self.sync_session(session, out);
            return;
        }
        let chats = self.session(session).map(|session| session.chats.clone());
        for chat in chats.iter().flat_map(|chats| chats.items()) {
            let turn = self
                .chat(&chat.resource)
                .and_then(|chat| chat.active_turn.as_ref());
            if let Some(turn) = turn.map(|turn| turn.id.clone()) {
                let part = ErrorPart {
                    error: error.clone(),
                    resumable: None,
                };
                self.end_turn(env, &chat.resource, &turn, Some(part), out);
            }
        }
    }

    fn is_creating(&self, session: &Uri) -> bool {
        self.session(session)
            .is_some_and(|session| session.lifecycle == SessionLifecycle::Creating)
    }

    /// An agent may do what only the host may, and only in a turn that is
    /// still running: what comes late is dropped (TUR-16).
    fn agent_action(&mut self, env: &Env, chat: &Uri, action: ChatAction, out: &mut Effects) {
        let agents = action.info().dispatcher == Dispatcher::Host
            || matches!(
                action,
                ChatAction::ToolCallComplete(_) | ChatAction::ToolCallContentChanged(_)
            );
        // How a turn ends, what of a chat is loaded and where it may go is the
        // host's business.
        let host = matches!(
            action,
            ChatAction::TurnComplete(_)
                | ChatAction::Error(_)
                | ChatAction::TurnsLoaded(_)
                | ChatAction::MovableChanged(_)
        );
        let late = turn_of(&action).is_some_and(|turn| !self.is_running(chat, turn));
        if !agents || host || late {
            return;
        }
        if let ChatAction::ResponsePart(added) = &action
            && has_its_own_action(&added.part)
        {
            out.push(Effect::Discarded {
                channel: chat.clone(),
                action: action.info().name,
                reason: "such a part is added by an action of its own".to_owned(),
            });
            return;
        }
        let matters = waiting::matters(&action);
        let stamped = matches!(
            action,
            ChatAction::ToolCallStart(_) | ChatAction::ToolCallReady(_)
        );
        if self.originate(chat, Action::Chat(action), out) {
            self.sync_chat(chat, out);
            if matters {
                self.sync_waiting_of(chat, out);
            }
            if stamped {
                self.fail_stray_calls(env, chat, out);
            }
        }
    }

    fn is_running(&self, chat: &Uri, turn: &TurnId) -> bool {
        self.chat(chat)
            .and_then(|chat| chat.active_turn.as_ref())
            .is_some_and(|active| active.id == *turn)
    }

    /// Ends a turn by the host's own clock (TUR-5), then goes on with the
    /// queue, unless it failed (PEN-3, A-8).
    fn end_turn(
        &mut self,
        env: &Env,
        chat: &Uri,
        turn: &TurnId,
        error: Option<ErrorPart>,
        out: &mut Effects,
    ) {
        if !self.is_running(chat, turn) {
            return;
        }
        let duration = self.chat(chat).map_or(Millis(0), |chat| elapsed(env, chat));
        let (turn_id, meta) = (turn.clone(), None);
        let failed = error.is_some();
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
        self.clear_activity(chat, out);
        self.sync_chat(chat, out);
        self.sync_waiting_of(chat, out);
        if !failed {
            self.start_queued(env, chat, out);
        }
    }

    /// Nothing is being done when no turn runs (TUR-17).
    pub(crate) fn clear_activity(&mut self, chat: &Uri, out: &mut Effects) {
        let busy = self
            .chat(chat)
            .is_some_and(|chat| chat.summary.activity.is_some());
        if busy {
            let cleared = ChatActivityChanged { activity: None };
            self.originate(chat, ChatAction::ActivityChanged(cleared), out);
        }
    }

    /// Makes a turn of the first queued message, if nothing runs.
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
        // What was fine when it was queued may not be any more (PEN-10).
        let session = self.owner(chat).and_then(|session| self.session(session));
        let agent = session.and_then(|session| self.agent_of(session));
        let judged = policy::check_message(agent, &head.message)
            .and_then(|()| self.check_attachments(&head.message));
        match judged {
            Ok(()) => self.start_turn(env, chat, Arc::clone(&head.message), Some(head.id), out),
            Err(refusal) => {
                let turn_id = TurnId::from(env.unique("turn"));
                let started = ChatAction::TurnStarted(TurnStarted {
                    turn_id: turn_id.clone(),
                    started_at: env.timestamp(),
                    message: Arc::clone(&head.message),
                    queued_message_id: Some(head.id),
                    meta: None,
                });
                self.originate(chat, started, out);
                let error = ErrorInfo {
                    error_type: "messageRefused".to_owned(),
                    message: refusal.to_string(),
                    stack: None,
                    meta: None,
                };
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

    /// Starts a turn that no client started by itself.
    pub(crate) fn start_turn(
        &mut self,
        env: &Env,
        chat: &Uri,
        message: Arc<Message>,
        queued_message_id: Option<PendingMessageId>,
        out: &mut Effects,
    ) {
        let started = Action::Chat(ChatAction::TurnStarted(TurnStarted {
            turn_id: TurnId::from(env.unique("turn")),
            started_at: env.timestamp(),
            message,
            queued_message_id,
            meta: None,
        }));
        self.originate(chat, started.clone(), out);
        self.react(env, chat, &started, out);
    }

    /// A channel comes back from the log. What was running when the host
    /// stopped is running no more (REC-16, REC-17).
    pub(crate) fn restore(&mut self, env: &Env, channel: &Uri, loaded: Loaded, out: &mut Effects) {
        let Some(target) = self.channels.get_mut(channel) else {
            return;
        };
        if let Held::Here(before) = &mut target.held {
            // The same with more turns; what runs in it still runs.
            if loaded.earlier.len() < before.earlier.len() {
                *before = loaded;
            }
            return;
        }
        let state = loaded.state.clone();
        target.held = Held::Here(loaded);
        match state {
            ChannelState::Chat(chat) => {
                if let Some(turn) = &chat.active_turn {
                    let part = stopped("the host stopped while this turn was running");
                    self.end_turn(env, channel, &turn.id, Some(part), out);
                }
            }
            ChannelState::Session(session) => {
                if session.lifecycle == SessionLifecycle::Creating {
                    let error = stopped("the host stopped while the session was created").error;
                    let failed = SessionAction::CreationFailed(CreationFailed { error });
                    self.originate(channel, failed, out);
                }
                self.drop_forgotten_clients(env, channel, out);
                self.sync_session(channel, out);
            }
            ChannelState::Terminal(terminal)
                if terminal.lifecycle == TerminalLifecycle::Running =>
            {
                let exited = TerminalAction::Exited(TerminalExited { exit_code: None });
                self.originate(channel, exited, out);
            }
            _ => {}
        }
    }
}

/// Parts that change what a chat waits for are opened by actions that say so
/// (PRT-5, TUR-8).
fn has_its_own_action(part: &ResponsePart) -> bool {
    match part {
        ResponsePart::ToolCall(_) | ResponsePart::InputRequest(_) | ResponsePart::Error(_) => true,
        ResponsePart::Markdown(_)
        | ResponsePart::ContentRef(_)
        | ResponsePart::Reasoning(_)
        | ResponsePart::SystemNotification(_)
        | ResponsePart::Unknown(_) => false,
    }
}

/// How long the running turn has taken, by the host's clock.
pub(crate) fn elapsed(env: &Env, chat: &ChatState) -> Millis {
    let turn = chat.active_turn.as_ref();
    let started = turn.and_then(|turn| turn.started_at.to_millis().ok());
    Millis(started.map_or(0, |started| (env.now.0 - started.0).max(0)))
}

fn stopped(message: &str) -> ErrorPart {
    ErrorPart {
        error: ErrorInfo {
            error_type: "hostStopped".to_owned(),
            message: message.to_owned(),
            stack: None,
            meta: None,
        },
        resumable: None,
    }
}

/// The turn that an action belongs to, if it belongs to one.
fn turn_of(action: &ChatAction) -> Option<&TurnId> {
    match action {
        ChatAction::Delta(action) => Some(&action.turn_id),
        ChatAction::ResponsePart(action) => Some(&action.turn_id),
        ChatAction::Reasoning(action) => Some(&action.turn_id),
        ChatAction::Usage(action) => Some(&action.turn_id),
        ChatAction::ToolCallStart(action) => Some(&action.target.turn_id),
        ChatAction::ToolCallDelta(action) => Some(&action.target.turn_id),
        ChatAction::ToolCallReady(action) => Some(&action.target.turn_id),
        ChatAction::ToolCallComplete(action) => Some(&action.target.turn_id),
        ChatAction::ToolCallContentChanged(action) => Some(&action.target.turn_id),
        ChatAction::ToolCallAuthRequired(action) => Some(&action.target.turn_id),
        ChatAction::ToolCallAuthResolved(action) => Some(&action.target.turn_id),
        ChatAction::TurnStarted(_)
        | ChatAction::TurnComplete(_)
        | ChatAction::TurnCancelled(_)
        | ChatAction::Error(_)
        | ChatAction::TurnResume(_)
        | ChatAction::ToolCallConfirmed(_)
        | ChatAction::ToolCallResultConfirmed(_)
        | ChatAction::ActivityChanged(_)
        | ChatAction::BackgroundWorkSet(_)
        | ChatAction::BackgroundWorkRemoved(_)
        | ChatAction::MovableChanged(_)
        | ChatAction::ChangesetsChanged(_)
        | ChatAction::CanvasesChanged(_)
        | ChatAction::WorkingDirectorySet(_)
        | ChatAction::WorkingDirectoryRemoved(_)
        | ChatAction::PendingMessageSet(_)
        | ChatAction::PendingMessageRemoved(_)
        | ChatAction::QueuedMessagesReordered(_)
        | ChatAction::DraftChanged(_)
        | ChatAction::IsReadChanged(_)
        | ChatAction::IsArchivedChanged(_)
        | ChatAction::InputRequested(_)
        | ChatAction::InputAnswerChanged(_)
        | ChatAction::InputCompleted(_)
        | ChatAction::Truncated(_)
        | ChatAction::TurnsLoaded(_) => None,
    }
}
