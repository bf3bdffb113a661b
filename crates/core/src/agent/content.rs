//! Sanitizes text and URIs from agents, MCP servers and plugins before they enter a state.
//!
//! Every agent event passes through `clean_event` before the host handles it. Labels lose
//! the characters that change the appearance of other text (`protocol::label`). URIs with
//! schemes that clients must not open become text (`resource::links`). A confirmation
//! option with a duplicate id is dropped, because a client can't distinguish the two.
//! Message text and tool output stay verbatim.

mod labels;

use std::collections::BTreeSet;
use std::sync::Arc;

use agenthost_protocol::chat::{
    BackgroundWork, ChatAction, InputRequest, Question, QuestionBase, ResponsePart,
    SystemNotificationPart, ToolCallQuestion, ToolInput, ToolResultContent, ToolResultText,
};
use agenthost_protocol::common::{ContentRef, FileEdit};
use agenthost_protocol::label::{clean_label, clean_text};
use agenthost_protocol::terminal::TerminalAction;
use agenthost_protocol::text::MaybeMarkdown;

pub(crate) use labels::{
    clean_agents, clean_commands, clean_customization, clean_schema, clean_server_tools,
    clean_tools,
};

use crate::agent::AgentEvent;
use crate::resource::links::is_link;

/// Sanitizes an event of an agent.
pub(crate) fn clean_event(event: &mut AgentEvent) {
    match event {
        AgentEvent::Chat { action, .. } => clean_action(action),
        AgentEvent::Opened { tools } => clean_tools(tools),
        AgentEvent::WorkerOpened(worker) => clean_label(&mut worker.title),
        AgentEvent::SlashCommandsChanged { commands } => clean_commands(commands),
        AgentEvent::ConfigSchemaChanged { schema, .. } => clean_schema(schema),
        AgentEvent::TerminalOpened { state, .. } => clean_label(&mut state.title),
        AgentEvent::Terminal { action, .. } => {
            if let TerminalAction::TitleChanged(change) = &mut **action {
                clean_label(&mut change.title);
            }
        }
        AgentEvent::HistoryImported { turns, .. } => {
            let actions = turns.iter_mut().flat_map(|turn| &mut turn.actions);
            actions.for_each(clean_action);
        }
        // A suggested title is sanitized where its first line is extracted.
        AgentEvent::TitleSuggested { .. }
        | AgentEvent::Stopped { .. }
        | AgentEvent::SteeringAccepted { .. }
        | AgentEvent::TurnStarted { .. }
        | AgentEvent::TurnEnded { .. }
        | AgentEvent::WorkerClosed { .. }
        | AgentEvent::NoteChanged { .. }
        | AgentEvent::ForbiddenValuesChanged { .. }
        | AgentEvent::AuthRequired => {}
    }
}

/// Sanitizes a chat action of an agent.
pub fn clean_action(action: &mut ChatAction) {
    match action {
        ChatAction::ToolCallStart(start) => {
            clean_label(&mut start.tool_name);
            clean_label(&mut start.display_name);
            start.intention.iter_mut().for_each(clean_text);
        }
        ChatAction::ToolCallDelta(delta) => {
            delta.invocation_message.iter_mut().for_each(clean_message);
        }
        ChatAction::ToolCallReady(ready) => {
            clean_message(&mut ready.invocation_message);
            ready.intention.iter_mut().for_each(clean_text);
            clean_question(&mut ready.question);
            if let Some(ToolInput::Referenced(input)) = &ready.tool_input
                && !is_link(&input.uri)
            {
                ready.tool_input = Some(ToolInput::Inline(format_blocked_link(input)));
            }
        }
        ChatAction::ToolCallContentChanged(change) => clean_blocks(&mut change.content),
        ChatAction::ToolCallComplete(complete) => {
            clean_message(&mut complete.result.past_tense_message);
            complete.result.content.iter_mut().for_each(clean_blocks);
        }
        ChatAction::ResponsePart(added) => clean_part(&mut added.part),
        ChatAction::InputRequested(requested) => clean_request(&mut requested.request),
        ChatAction::ActivityChanged(change) => change.activity.iter_mut().for_each(clean_label),
        ChatAction::BackgroundWorkSet(set) => {
            let mut work = (*set.work).clone();
            match &mut work {
                BackgroundWork::Shell(work) => clean_label(&mut work.base.label),
                BackgroundWork::Subagent(work) => clean_label(&mut work.base.label),
                BackgroundWork::Unknown(_) => {}
            }
            if work != *set.work {
                set.work = Arc::new(work);
            }
        }
        // These carry message text, which stays verbatim, or no text of the agent.
        ChatAction::Delta(_)
        | ChatAction::Reasoning(_)
        | ChatAction::Usage(_)
        | ChatAction::TurnStarted(_)
        | ChatAction::TurnComplete(_)
        | ChatAction::TurnCancelled(_)
        | ChatAction::TurnResume(_)
        | ChatAction::Error(_)
        | ChatAction::ToolCallConfirmed(_)
        | ChatAction::ToolCallResultConfirmed(_)
        | ChatAction::ToolCallAuthRequired(_)
        | ChatAction::ToolCallAuthResolved(_)
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
        | ChatAction::InputAnswerChanged(_)
        | ChatAction::InputCompleted(_)
        | ChatAction::Truncated(_)
        | ChatAction::TurnsLoaded(_) => {}
    }
}

fn clean_message(message: &mut MaybeMarkdown) {
    match message {
        MaybeMarkdown::Plain(text) | MaybeMarkdown::Markdown(text) => clean_text(text),
    }
}

fn clean_question(question: &mut ToolCallQuestion) {
    let title = question.confirmation_title.iter_mut();
    title.for_each(clean_message);
    if let Some(options) = &mut question.options {
        let mut ids = BTreeSet::new();
        options.retain(|option| ids.insert(option.id.clone()));
        for option in options {
            clean_label(&mut option.label);
        }
    }
    if let Some(edits) = &mut question.edits {
        edits.items.retain(is_edit_openable);
    }
}

fn clean_blocks(blocks: &mut Vec<ToolResultContent>) {
    for block in blocks {
        match block {
            ToolResultContent::Resource(content) if !is_link(&content.uri) => {
                let text = format_blocked_link(content);
                *block = ToolResultContent::Text(ToolResultText { text });
            }
            ToolResultContent::FileEdit(edit) if !is_edit_openable(edit) => {
                let sides = [&edit.before, &edit.after];
                let side = sides.into_iter().flatten().next();
                let text = side
                    .map(|side| format_blocked_link(&side.content))
                    .unwrap_or_default();
                *block = ToolResultContent::Text(ToolResultText { text });
            }
            ToolResultContent::Terminal(terminal) => clean_label(&mut terminal.title),
            ToolResultContent::Subagent(worker) => {
                clean_label(&mut worker.title);
                worker.agent_name.iter_mut().for_each(clean_label);
                worker.description.iter_mut().for_each(clean_text);
            }
            ToolResultContent::Resource(_)
            | ToolResultContent::FileEdit(_)
            | ToolResultContent::Text(_)
            | ToolResultContent::EmbeddedResource(_)
            | ToolResultContent::Unknown(_) => {}
        }
    }
}

fn clean_part(part: &mut Arc<ResponsePart>) {
    match &**part {
        ResponsePart::ContentRef(content) if !is_link(&content.uri) => {
            let notice = SystemNotificationPart {
                content: format_blocked_link(content).into(),
                meta: None,
            };
            *part = Arc::new(ResponsePart::SystemNotification(notice));
        }
        ResponsePart::SystemNotification(notice) => {
            let mut notice = notice.clone();
            clean_message(&mut notice.content);
            *part = Arc::new(ResponsePart::SystemNotification(notice));
        }
        // Message text stays verbatim; parts with an action of their own are not added here.
        ResponsePart::ContentRef(_)
        | ResponsePart::Markdown(_)
        | ResponsePart::Reasoning(_)
        | ResponsePart::ToolCall(_)
        | ResponsePart::InputRequest(_)
        | ResponsePart::Error(_)
        | ResponsePart::Unknown(_) => {}
    }
}

fn clean_request(request: &mut InputRequest) {
    request.message.iter_mut().for_each(clean_text);
    for question in request.questions.iter_mut().flatten() {
        let base = match question {
            Question::Text(question) => &mut question.base,
            Question::Number(question) | Question::Integer(question) => &mut question.base,
            Question::Boolean(question) => &mut question.base,
            Question::SingleSelect(question) => {
                clean_choices(&mut question.options);
                &mut question.base
            }
            Question::MultiSelect(question) => {
                clean_choices(&mut question.options);
                &mut question.base
            }
            Question::Unknown(_) => continue,
        };
        clean_question_base(base);
    }
}

fn clean_question_base(base: &mut QuestionBase) {
    base.title.iter_mut().for_each(clean_label);
    clean_text(&mut base.message);
}

fn clean_choices(choices: &mut [agenthost_protocol::chat::Choice]) {
    for choice in choices {
        clean_label(&mut choice.label);
        choice.description.iter_mut().for_each(clean_text);
    }
}

/// Returns `true` if clients may open every URI of an edit.
fn is_edit_openable(edit: &FileEdit) -> bool {
    let sides = [&edit.before, &edit.after];
    let mut sides = sides.into_iter().flatten();
    sides.all(|side| is_link(&side.uri) && is_link(&side.content.uri))
}

/// Returns a text that shows a URI which clients must not open.
fn format_blocked_link(content: &ContentRef) -> String {
    /// Limit for the shown part of a URI: a `data:` URI contains the whole content.
    const MAX_SHOWN_CHARS: usize = 200;
    let mut text: String = content.uri.as_str().chars().take(MAX_SHOWN_CHARS).collect();
    clean_label(&mut text);
    format!("(link that can't be opened: {text})")
}
