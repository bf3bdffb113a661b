//! Surveys the file edits of active turns, so that tool calls report complete edits
//! (TOO-26).
//!
//! Clients restore the files of a checkpoint themselves: they write back the contents from
//! before the edits of completed tool calls, and delete files that were created. So these
//! edits must be complete, with whole contents. The reports of agents are neither: commands
//! change files, an edit is reported with a part of the file, and overwriting a file is
//! reported as creating it.
//!
//! After a call that may have changed files, the host compares the files of the session
//! with the last survey, or with the start of the turn. Later events of the agent in this
//! chat wait for the result, so that edits appear at the right position in the response. A
//! call whose agent reports edits is completed with the edits that were actually made. All
//! other edits are reported by a separate call of the host, because clients show edits
//! instead of the other content of a call.

mod report;

use std::collections::{BTreeMap, VecDeque};

use agenthost_protocol::chat::{
    ChatAction, ChatOrigin, ToolCall, ToolCallComplete, ToolCallTarget,
};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use serde::{Deserialize, Serialize};

use crate::agent::AgentEvent;
use crate::changeset::driver::{ChangeTask, EditSurvey, SurveyScope, SurveyedEdits, TurnRef};
use crate::chat::turn::response_size::response_bytes;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::step::Env;
use report::edits_in;
pub(crate) use report::strip_edits;

/// Limit for the agent events that wait for a survey. Beyond it the survey is dropped and
/// all events are handled at once.
const MAX_HELD_EVENTS: usize = 4_096;

/// Limit for the size of the waiting events of a chat, in bytes.
const MAX_HELD_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// Tool kinds of ACP that never change files.
const READ_ONLY_KINDS: [&str; 5] = ["read", "search", "think", "fetch", "switch_mode"];

/// The edit surveys of all chats.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct EditSurveys {
    /// Surveys of active turns, by chat.
    surveys: BTreeMap<Uri, TurnSurvey>,
    /// Events that waited for the survey of a turn that has ended, with their session.
    late_events: VecDeque<(Uri, AgentEvent)>,
}

/// The survey state of an active turn.
#[derive(Clone, Serialize, Deserialize)]
struct TurnSurvey {
    turn: TurnId,
    is_running: bool,
    /// `true` if files may have changed since the last survey began.
    is_stale: bool,
    /// A call that reports edits. It is completed with the result of the survey.
    completion: Option<Box<ToolCallComplete>>,
    /// Events of the agent that arrived since the survey began, in order.
    held_events: VecDeque<AgentEvent>,
    held_bytes: usize,
    /// `true` if this is a command turn whose command has exited.
    command_ended: bool,
}

/// Hides the results of tool calls.
impl std::fmt::Debug for TurnSurvey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnSurvey")
            .field("turn", &self.turn)
            .field("is_running", &self.is_running)
            .field("held_events", &self.held_events.len())
            .finish_non_exhaustive()
    }
}

impl EditSurveys {
    /// Returns `true` while events of a chat wait for a survey.
    pub(crate) fn is_waiting(&self, chat: &Uri) -> bool {
        self.surveys
            .get(chat)
            .is_some_and(|survey| survey.is_running)
    }

    fn survey_of(&mut self, chat: &Uri, turn: &TurnId) -> &mut TurnSurvey {
        let new = || TurnSurvey {
            turn: turn.clone(),
            is_running: false,
            is_stale: false,
            completion: None,
            held_events: VecDeque::new(),
            held_bytes: 0,
            command_ended: false,
        };
        let survey = self.surveys.entry(chat.clone()).or_insert_with(new);
        if survey.turn != *turn {
            *survey = new();
        }
        survey
    }
}

impl TurnSurvey {
    /// Queues an event until the survey has finished. Returns the event as an error if the
    /// queue is full.
    fn hold(&mut self, event: AgentEvent) -> Result<(), AgentEvent> {
        let bytes = if let AgentEvent::Chat { action, .. } = &event {
            response_bytes(action)
        } else {
            0
        };
        let bytes = self.held_bytes.saturating_add(bytes);
        if self.held_events.len() >= MAX_HELD_EVENTS || bytes > MAX_HELD_EVENT_BYTES {
            return Err(event);
        }
        self.held_bytes = bytes;
        self.held_events.push_back(event);
        Ok(())
    }
}

impl Host {
    /// Queues an event of an agent if its chat waits for a survey. Returns events that need
    /// not wait.
    pub(crate) fn hold_for_survey(
        &mut self,
        env: &Env,
        session: &Uri,
        event: AgentEvent,
        out: &mut Effects,
    ) -> Option<AgentEvent> {
        let chat = match event_chat(&event) {
            Some(chat) if self.session_of(chat) == Some(session) => chat.clone(),
            _ => return Some(event),
        };
        // Worker chats may have changed files since the last survey.
        if let AgentEvent::TurnEnded { turn, .. } = &event
            && let Some(survey) = self.changesets.edit_surveys.surveys.get(&chat)
            && survey.turn == *turn
            && survey.is_stale
        {
            self.start_survey(&chat, out);
        }
        let survey = self.changesets.edit_surveys.surveys.get_mut(&chat);
        let Some(survey) = survey.filter(|survey| survey.is_running) else {
            return Some(event);
        };
        match survey.hold(event) {
            Ok(()) => None,
            // The events of an agent must not fill the memory during a survey.
            Err(event) => {
                self.drop_survey(env, session, &chat, out);
                Some(event)
            }
        }
    }

    /// Holds back the completion of a call that reports edits until a survey has finished.
    /// Returns every other action.
    pub(crate) fn hold_completion(
        &mut self,
        chat: &Uri,
        action: ChatAction,
        out: &mut Effects,
    ) -> Option<ChatAction> {
        let ChatAction::ToolCallComplete(complete) = action else {
            return Some(action);
        };
        if !reports_edits(&complete) || !self.can_survey(chat, &complete.target) {
            return Some(ChatAction::ToolCallComplete(complete));
        }
        let survey = self
            .changesets
            .edit_surveys
            .survey_of(chat, &complete.target.turn_id);
        // The completion waited for something else, and another survey has begun meanwhile.
        if survey.is_running {
            let action = Box::new(ChatAction::ToolCallComplete(complete));
            let chat = chat.clone();
            survey
                .held_events
                .push_back(AgentEvent::Chat { chat, action });
            return None;
        }
        survey.completion = Some(complete);
        self.start_survey(chat, out);
        None
    }

    /// Starts a survey after a call that may have changed files.
    pub(crate) fn survey_after(&mut self, chat: &Uri, target: &ToolCallTarget, out: &mut Effects) {
        if self.mark_possible_edit(chat, target) && !self.is_worker(chat) {
            self.start_survey(chat, out);
        }
    }

    /// Marks the turn for a survey before it ends, if the call may have changed files. The
    /// changes of a worker chat count for the turn that spawned it. Returns `false` if the
    /// call needs no survey.
    pub(crate) fn mark_possible_edit(&mut self, chat: &Uri, target: &ToolCallTarget) -> bool {
        if !self.can_survey(chat, target) || self.is_read_only_call(chat, target) {
            return false;
        }
        let base = self.base_turn(chat, &target.turn_id);
        if self.is_worker(chat) && base.chat == *chat {
            return false;
        }
        self.changesets
            .edit_surveys
            .survey_of(&base.chat, &base.turn)
            .is_stale = true;
        true
    }

    /// Ends a command turn, after its running survey if there is one.
    pub(crate) fn finish_command_turn(
        &mut self,
        env: &Env,
        chat: &Uri,
        turn: &TurnId,
        out: &mut Effects,
    ) {
        let survey = self.changesets.edit_surveys.surveys.get_mut(chat);
        match survey.filter(|survey| survey.turn == *turn && survey.is_running) {
            Some(survey) => survey.command_ended = true,
            None => self.end_turn(env, chat, turn, None, out),
        }
    }

    /// Drops the surveys of a chat, and handles the events that wait for them: the agent
    /// has exited, or its queue of events is full.
    pub(crate) fn drop_survey(&mut self, env: &Env, session: &Uri, chat: &Uri, out: &mut Effects) {
        // A waiting event may start another survey.
        while let Some(survey) = self.changesets.edit_surveys.surveys.remove(chat) {
            if let Some(complete) = survey.completion {
                self.complete_surveyed(env, chat, complete, &mut SurveyedEdits::default(), out);
            }
            for event in survey.held_events {
                self.handle_agent_event(env, session, event, out);
            }
            if survey.command_ended {
                self.end_turn(env, chat, &survey.turn, None, out);
            }
        }
    }

    /// Starts the running surveys again, because their jobs ended with an earlier process of the
    /// host.
    pub(crate) fn restart_surveys(&mut self, out: &mut Effects) {
        let surveys = self.changesets.edit_surveys.surveys.iter_mut();
        let mut chats = Vec::new();
        for (chat, survey) in surveys.filter(|(_, survey)| survey.is_running) {
            survey.is_running = false;
            chats.push(chat.clone());
        }
        for chat in chats {
            self.start_survey(&chat, out);
        }
    }

    /// Drops the survey of a turn that has ended. Its waiting events are handled later.
    pub(crate) fn drop_late_survey(&mut self, chat: &Uri) {
        let survey = self.changesets.edit_surveys.surveys.get(chat);
        if survey.is_none_or(|survey| self.is_running(chat, &survey.turn)) {
            return;
        }
        let survey = self.changesets.edit_surveys.surveys.remove(chat);
        if let (Some(session), Some(survey)) = (self.session_of(chat).cloned(), survey) {
            let events = survey.held_events.into_iter();
            let released = events.map(|event| (session.clone(), event));
            self.changesets.edit_surveys.late_events.extend(released);
        }
    }

    /// Handles the events that waited for surveys of ended turns. Most of them are late by
    /// now, but the agent may have started another turn.
    pub(crate) fn release_late_events(&mut self, env: &Env, out: &mut Effects) {
        while let Some((session, event)) = self.changesets.edit_surveys.late_events.pop_front() {
            self.handle_agent_event(env, &session, event, out);
        }
    }

    /// Handles the result of a survey: completes the call that waits for it, and reports
    /// all other edits.
    pub(crate) fn handle_edits_surveyed(
        &mut self,
        env: &Env,
        turn: &TurnRef,
        mut surveyed: SurveyedEdits,
        out: &mut Effects,
    ) {
        let TurnRef { chat, turn } = turn;
        let Some(session) = self.session_of(chat).cloned() else {
            return;
        };
        let survey = self.changesets.edit_surveys.surveys.get_mut(chat);
        let Some(survey) = survey.filter(|survey| survey.turn == *turn && survey.is_running) else {
            return;
        };
        if let Some(complete) = survey.completion.take() {
            self.complete_surveyed(env, chat, complete, &mut surveyed, out);
        }
        if !surveyed.edits.is_empty() {
            self.report_edits(env, chat, turn, surveyed.edits, out);
        }
        let Some(survey) = self.changesets.edit_surveys.surveys.get_mut(chat) else {
            return;
        };
        survey.is_running = false;
        if survey.is_stale {
            self.start_survey(chat, out);
            return;
        }
        if survey.command_ended {
            self.changesets.edit_surveys.surveys.remove(chat);
            self.end_turn(env, chat, turn, None, out);
            return;
        }
        self.release_held_events(env, &session, chat, out);
    }

    /// Handles the events that waited for a survey. One of them may start the next survey,
    /// which holds back the rest.
    fn release_held_events(&mut self, env: &Env, session: &Uri, chat: &Uri, out: &mut Effects) {
        let survey = self.changesets.edit_surveys.surveys.get_mut(chat);
        let mut waiting = survey.map_or(VecDeque::new(), |survey| {
            survey.held_bytes = 0;
            std::mem::take(&mut survey.held_events)
        });
        while let Some(event) = waiting.pop_front() {
            self.handle_agent_event(env, session, event, out);
        }
    }

    /// Returns `true` if the session has folders and the call belongs to the active turn.
    fn can_survey(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        let session = self.session_of(chat);
        let has_folders = session.is_some_and(|session| !self.session_folders(session).is_empty());
        has_folders
            && self.is_running(chat, &target.turn_id)
            && self.active_call(chat, target).is_some()
    }

    fn is_read_only_call(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        let head = self.active_call(chat, target).and_then(ToolCall::head);
        let meta = head.and_then(|head| head.meta.as_ref());
        let kind = meta.and_then(|meta| meta.get("kind")?.as_str());
        kind.is_some_and(|kind| READ_ONLY_KINDS.contains(&kind))
    }

    /// Returns the turn whose survey is the baseline: for a worker chat, the active turn of
    /// the chat that spawned it.
    fn base_turn(&self, chat: &Uri, turn: &TurnId) -> TurnRef {
        let mut base = TurnRef {
            chat: chat.clone(),
            turn: turn.clone(),
        };
        while let Some(state) = self.chat(&base.chat)
            && let Some(ChatOrigin::Tool(origin)) = &state.summary.origin
            && let Some(parent) = self.chat(&origin.chat)
            && let Some(active) = &parent.active_turn
        {
            base = TurnRef {
                chat: origin.chat.clone(),
                turn: active.id.clone(),
            };
        }
        base
    }

    /// Starts a survey of a chat, unless one is running.
    fn start_survey(&mut self, chat: &Uri, out: &mut Effects) {
        let Some(session) = self.session_of(chat).cloned() else {
            return;
        };
        let survey = self.changesets.edit_surveys.surveys.get_mut(chat);
        let Some(survey) = survey.filter(|survey| !survey.is_running) else {
            return;
        };
        survey.is_running = true;
        survey.is_stale = false;
        let claimed = survey.completion.as_deref().into_iter();
        let claimed = claimed.flat_map(edits_in).cloned().collect();
        let turn = survey.turn.clone();
        let task = ChangeTask::SurveyEdits(Box::new(EditSurvey {
            base: self.base_turn(chat, &turn),
            turn: TurnRef {
                chat: chat.clone(),
                turn,
            },
            scope: if self.is_worker(chat) {
                SurveyScope::Claimed
            } else {
                SurveyScope::All
            },
            claimed,
        }));
        let folders = self.session_folders(&session);
        self.push_change_job(session, folders, task, out);
    }
}

/// Returns the chat in which the event must stay in order with other events.
fn event_chat(event: &AgentEvent) -> Option<&Uri> {
    match event {
        AgentEvent::Chat { chat, .. }
        | AgentEvent::SteeringAccepted { chat, .. }
        | AgentEvent::TurnStarted { chat, .. }
        | AgentEvent::TurnEnded { chat, .. } => Some(chat),
        AgentEvent::WorkerOpened(worker) => Some(&worker.parent),
        AgentEvent::Opened { .. }
        | AgentEvent::Stopped { .. }
        | AgentEvent::WorkerClosed { .. }
        | AgentEvent::SlashCommandsChanged { .. }
        | AgentEvent::NoteChanged { .. }
        | AgentEvent::HistoryImported { .. }
        | AgentEvent::TitleSuggested { .. }
        | AgentEvent::ConfigSchemaChanged { .. }
        | AgentEvent::ForbiddenValuesChanged { .. }
        | AgentEvent::AuthRequired
        | AgentEvent::TerminalOpened { .. }
        | AgentEvent::Terminal { .. } => None,
    }
}

fn reports_edits(complete: &ToolCallComplete) -> bool {
    edits_in(complete).next().is_some()
}
