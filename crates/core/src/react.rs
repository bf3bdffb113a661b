//! What follows from an action that was accepted.
//!
//! Causes come before effects: first the action itself, then what the session
//! shows of it, then what lists show of the session, then what agents are
//! asked to do (SEQ-5, SEQ-7).

use std::sync::Arc;

use agenthost_protocol::action::Action;
use agenthost_protocol::chat::{CancellationReason, ChatAction, PendingMessageKind};
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::root::SessionSummaryChangedParams;
use agenthost_protocol::rpc::HostNotification;
use agenthost_protocol::session::{
    ChatAdded, ChatUpdated, SessionAction, SessionIsReadChanged, SessionTitleChanged,
};
use agenthost_protocol::uri::{RootChannel, Uri};

use crate::agent::{AgentCommand, Decision};
use crate::effect::{Effect, Effects, Write};
use crate::env::Env;
use crate::host::Host;
use crate::summary::{self, ChatChange};

/// Longest title made from a message.
const TITLE: usize = 60;

impl Host {
    pub(crate) fn react(&mut self, env: &Env, channel: &Uri, action: &Action, out: &mut Effects) {
        match action {
            Action::Chat(action) => {
                self.sync_chat(channel, out);
                self.react_chat(env, channel, action, out);
            }
            Action::Session(_) => self.sync_session(channel, out),
            Action::Root(_)
            | Action::Terminal(_)
            | Action::Changeset(_)
            | Action::Annotations(_)
            | Action::ResourceWatch(_)
            | Action::Canvas(_)
            | Action::Automations(_)
            | Action::AutomationRun(_) => {}
        }
    }

    fn react_chat(&mut self, env: &Env, chat: &Uri, action: &ChatAction, out: &mut Effects) {
        match action {
            ChatAction::TurnStarted(start) => {
                self.mark_unread(chat, out);
                self.give_title(chat, &start.message.text, out);
                let prompt = AgentCommand::Prompt {
                    chat: chat.clone(),
                    turn: start.turn_id.clone(),
                    message: Arc::clone(&start.message),
                };
                self.command(chat, prompt, out);
            }
            ChatAction::TurnCancelled(cancel) => {
                let cancel = AgentCommand::Cancel {
                    chat: chat.clone(),
                    turn: cancel.turn_id.clone(),
                };
                self.clear_activity(chat, out);
                self.sync_chat(chat, out);
                self.command(chat, cancel, out);
            }
            ChatAction::TurnResume(resume) => {
                let resume = AgentCommand::Resume {
                    chat: chat.clone(),
                    turn: resume.turn_id.clone(),
                };
                self.mark_unread(chat, out);
                self.command(chat, resume, out);
            }
            ChatAction::Truncated(cut) => {
                let rewind = AgentCommand::Rewind {
                    chat: chat.clone(),
                    last: cut.turn_id.clone(),
                };
                self.command(chat, rewind, out);
            }
            ChatAction::ToolCallConfirmed(confirmed) => {
                let decision = if confirmed.approved {
                    Decision::Approved {
                        option: confirmed.selected_option_id.clone(),
                        edited_input: confirmed.edited_tool_input.clone(),
                    }
                } else {
                    Decision::Denied {
                        reason: confirmed.reason.unwrap_or(CancellationReason::Denied),
                        suggestion: confirmed.user_suggestion.clone(),
                    }
                };
                self.decide(chat, &confirmed.target, decision, out);
            }
            ChatAction::ToolCallResultConfirmed(confirmed) => {
                let decision = if confirmed.approved {
                    Decision::ResultApproved
                } else {
                    Decision::ResultDenied
                };
                self.decide(chat, &confirmed.target, decision, out);
            }
            ChatAction::InputCompleted(completed) => {
                let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
                if let Some(turn) = turn.map(|turn| turn.id.clone()) {
                    let answer = AgentCommand::Answer {
                        chat: chat.clone(),
                        turn,
                        request: completed.request_id.clone(),
                        response: completed.response,
                    };
                    self.command(chat, answer, out);
                }
            }
            // A message queued while nothing runs goes at once (PEN-4).
            ChatAction::PendingMessageSet(set) if set.kind == PendingMessageKind::Queued => {
                self.start_queued(env, chat, out);
            }
            _ => {}
        }
    }

    fn decide(
        &mut self,
        chat: &Uri,
        target: &agenthost_protocol::chat::ToolCallTarget,
        decision: Decision,
        out: &mut Effects,
    ) {
        let command = AgentCommand::Decide {
            chat: chat.clone(),
            turn: target.turn_id.clone(),
            call: target.tool_call_id.clone(),
            decision,
        };
        self.command(chat, command, out);
    }

    /// Asks something of the agent of a chat. After a restart the agent has to
    /// be opened again first.
    fn command(&mut self, chat: &Uri, command: AgentCommand, out: &mut Effects) {
        let Some(session) = self.owner(chat).cloned() else {
            return;
        };
        let Some(state) = self.session(&session) else {
            return;
        };
        let provider = state.metadata.provider.clone();
        let open = AgentCommand::Open {
            directories: state
                .metadata
                .working_directories
                .clone()
                .unwrap_or_default(),
            config: state.config.as_ref().map(|config| config.values.clone()),
        };
        let new = self.opened.insert(session.clone());
        for command in new.then_some(open).into_iter().chain([command]) {
            out.push(Effect::Agent {
                session: session.clone(),
                provider: provider.clone(),
                command: Box::new(command),
            });
        }
    }

    /// New activity has not been seen by anyone.
    fn mark_unread(&mut self, chat: &Uri, out: &mut Effects) {
        let Some(session) = self.owner(chat).cloned() else {
            return;
        };
        let read = self
            .session(&session)
            .is_some_and(|session| session.metadata.status.contains(SessionStatus::IS_READ));
        if read {
            let unread = SessionAction::IsReadChanged(SessionIsReadChanged { is_read: false });
            self.originate(&session, unread, out);
            self.sync_session(&session, out);
        }
    }

    /// A session without a title takes it from its first message.
    fn give_title(&mut self, chat: &Uri, text: &str, out: &mut Effects) {
        let Some(session) = self.owner(chat).cloned() else {
            return;
        };
        let untitled = self
            .session(&session)
            .is_some_and(|session| session.metadata.title.is_empty());
        let line = text.lines().map(str::trim).find(|line| !line.is_empty());
        if let (true, Some(line)) = (untitled, line) {
            let mut title: String = line.chars().take(TITLE).collect();
            if line.chars().count() > TITLE {
                title.push('…');
            }
            let titled = SessionAction::TitleChanged(SessionTitleChanged { title });
            self.originate(&session, titled, out);
            self.sync_session(&session, out);
        }
    }

    /// Brings the session's entry of a chat up to date (CHT-19).
    pub(crate) fn sync_chat(&mut self, chat: &Uri, out: &mut Effects) {
        let Some(session) = self.owner(chat).cloned() else {
            return;
        };
        let Some(after) = self.chat(chat).map(|chat| chat.summary.clone()) else {
            return;
        };
        let entry = self.session(&session).and_then(|session| {
            let mut chats = session.chats.items();
            chats.find(|entry| entry.resource == *chat).cloned()
        });
        let Some(before) = entry else {
            return;
        };
        let action = match summary::chat_change(&before, &after) {
            ChatChange::None => return,
            ChatChange::Some(changes) => SessionAction::ChatUpdated(Box::new(ChatUpdated {
                chat: chat.clone(),
                changes: *changes,
            })),
            ChatChange::Whole => SessionAction::ChatAdded(ChatAdded {
                summary: Arc::new(after),
            }),
        };
        self.originate(&session, action, out);
        self.sync_session(&session, out);
    }

    /// Brings what lists show of a session up to date (ROOT-12).
    pub(crate) fn sync_session(&mut self, session: &Uri, out: &mut Effects) {
        let (Some(state), Some(before)) = (self.session(session), self.sessions.get(session))
        else {
            return;
        };
        let after = summary::session(state, before);
        let Some(changes) = summary::session_changes(before, &after) else {
            return;
        };
        self.sessions.insert(session.clone(), after.clone());
        out.write(Write::Session(Box::new(after)));
        let changed = SessionSummaryChangedParams {
            channel: RootChannel,
            session: session.clone(),
            changes,
        };
        self.notify_root(
            HostNotification::SessionSummaryChanged(Box::new(changed)),
            out,
        );
    }
}
