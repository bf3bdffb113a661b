//! Cards of tool calls that wait for approval.

use agenthost_protocol::chat::{
    ConfirmationOption, ConfirmationOptionKind, RiskAssessment, ToolCallHead, ToolCallParameters,
    ToolCallPendingConfirmation, ToolCallPendingResultConfirmation, ToolCallResult, ToolInput,
    ToolResultContent,
};
use agenthost_protocol::common::FileEditCollection;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Document, Json, Limits};

use super::parameters::parameter_lines;
use super::{
    ApprovalCard, ApprovalPhase, RequestOption, RequestOptionKind, RequestScope, call_key,
};
use crate::file_edit::EditSummary;
use crate::markdown::MarkdownBlock;
use crate::title::{blocks_of, plain_title};
use crate::visible_text::{visible_label, visible_prose, visible_text};

/// Maximum number of characters of the label of an option.
const MAX_OPTION_CHARS: usize = 300;

/// The `_meta` key of a call whose request is longer than the message of the host.
const TRUNCATED_META_KEY: &str = "agenthost.truncated";

/// Label of an approval that applies once, if the agent has no options.
const ALLOW_LABEL: &str = "Allow once";

/// Label of a denial, if the agent has no option that denies.
const DENY_LABEL: &str = "Deny";

/// The arguments of a tool call, as a client shows them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallInput {
    /// The whole command line, if the call runs a command.
    pub command: Option<String>,
    /// The whole arguments, indented, if the call runs no command.
    pub text: Option<String>,
    /// URI of the arguments, if they are too large for the state.
    pub uri: Option<Uri>,
}

/// Returns the arguments of a tool call: as a command line if the metadata of the call says that
/// it runs a command.
pub fn call_input(head: &ToolCallHead, input: Option<&ToolInput>) -> CallInput {
    match input {
        None => CallInput::default(),
        Some(ToolInput::Referenced(content)) => CallInput {
            uri: Some(content.uri.clone()),
            ..CallInput::default()
        },
        Some(ToolInput::Inline(text)) if runs_command(head) => CallInput {
            command: Some(text.clone()),
            ..CallInput::default()
        },
        Some(ToolInput::Inline(text)) => CallInput {
            text: Some(indent_json(text)).filter(|text| !text.is_empty() && text != "{}"),
            ..CallInput::default()
        },
    }
}

/// Returns the command line of a tool call, if it runs a command.
pub fn call_command(head: &ToolCallHead, parameters: &ToolCallParameters) -> Option<String> {
    call_input(head, parameters.tool_input.as_ref()).command
}

impl ApprovalCard {
    pub(super) fn of_call(
        scope: &RequestScope,
        turn: &TurnId,
        call: &ToolCallPendingConfirmation,
    ) -> Self {
        let question = &call.question;
        let mut card = Self::new(scope, turn, &call.head, &call.parameters);
        if let Some(title) = &question.confirmation_title {
            card.title = plain_title(&visible_message(title));
        }
        (card.risk, card.safety) = risk_of(question.risk_assessment.as_ref());
        card.set_edits(edits_of(question.edits.as_ref()));
        card.options = options_of(question.options.as_deref().unwrap_or_default());
        card.editable = question.editable == Some(true);
        card
    }

    pub(super) fn of_result(
        scope: &RequestScope,
        turn: &TurnId,
        call: &ToolCallPendingResultConfirmation,
    ) -> Self {
        let mut card = Self::new(scope, turn, &call.head, &call.parameters);
        let message = visible_message(&call.result.past_tense_message);
        card.title = plain_title(&message);
        card.details = blocks_of(&message);
        let content = call.result.content.iter().flatten();
        let edits = content.filter_map(|block| match block {
            ToolResultContent::FileEdit(edit) => Some(EditSummary::of_edit(edit)),
            ToolResultContent::Text(_)
            | ToolResultContent::EmbeddedResource(_)
            | ToolResultContent::Resource(_)
            | ToolResultContent::Terminal(_)
            | ToolResultContent::Subagent(_)
            | ToolResultContent::Unknown(_) => None,
        });
        card.set_edits(edits.collect());
        card.output = output_of(&call.result);
        card.phase = ApprovalPhase::Result;
        card
    }

    fn new(
        scope: &RequestScope,
        turn: &TurnId,
        head: &ToolCallHead,
        parameters: &ToolCallParameters,
    ) -> Self {
        let input = call_input(head, parameters.tool_input.as_ref());
        let message = visible_message(&parameters.invocation_message);
        let visible = |text: &Option<String>| text.as_deref().map(visible_text);
        let (command, text) = (visible(&input.command), visible(&input.text));
        let is_changed = command != input.command || text != input.text;
        ApprovalCard {
            key: call_key("approval", scope, turn, &head.tool_call_id),
            session: scope.session.clone(),
            chat: scope.chat.clone(),
            turn_id: turn.clone(),
            call_id: head.tool_call_id.clone(),
            tool: head.tool_name.clone(),
            title: plain_title(&message),
            details: blocks_of(&message),
            intention: head.intention.as_deref().map(visible_prose),
            command,
            input: text,
            source: input.command.or(input.text).filter(|_| is_changed),
            parameters: parameter_lines(head, scope.folder.as_deref()),
            input_uri: input.uri,
            output: None,
            folder: scope.folder.clone(),
            worker: scope.worker.clone(),
            risk: None,
            safety: None,
            edits: Vec::new(),
            truncated: is_truncated(head),
            options: options_of(&[]),
            phase: ApprovalPhase::Call,
            editable: false,
        }
    }

    /// Sets the edits. Clients show them whole, so the previews of their diffs in the description
    /// are dropped, and it does not matter if those are truncated.
    fn set_edits(&mut self, edits: Vec<EditSummary>) {
        if !edits.is_empty() {
            self.truncated = false;
            self.details.retain(|block| !is_preview(block, &edits));
        }
        self.edits = edits;
    }
}

/// Returns `true` if the message of the host does not have all of the request.
fn is_truncated(head: &ToolCallHead) -> bool {
    let meta = head.meta.as_ref();
    let mark = meta.and_then(|meta| meta.get(TRUNCATED_META_KEY));
    mark.and_then(Json::as_bool) == Some(true)
}

/// Returns `true` for the diff of an edit as the host describes it.
fn is_preview(block: &MarkdownBlock, edits: &[EditSummary]) -> bool {
    let MarkdownBlock::Code { language, text, .. } = block else {
        return false;
    };
    let mut lines = text.lines();
    let is_old = lines.next().is_some_and(|line| line.starts_with("--- "));
    let path = lines.next().and_then(|line| line.strip_prefix("+++ "));
    let is_edited = |path: &str| edits.iter().any(|edit| edit.path.ends_with(path));
    language.as_deref() == Some("diff") && is_old && path.is_some_and(is_edited)
}

/// Returns a text with its hidden characters escaped: the user decides upon what it says.
fn visible_message(text: &MaybeMarkdown) -> MaybeMarkdown {
    match text {
        MaybeMarkdown::Plain(text) => MaybeMarkdown::Plain(visible_prose(text)),
        MaybeMarkdown::Markdown(text) => MaybeMarkdown::Markdown(visible_prose(text)),
    }
}

/// Returns the options of the agent. Options of unknown kinds are left out: a client could not
/// tell if they approve. A denial without an option is always possible.
fn options_of(options: &[ConfirmationOption]) -> Vec<RequestOption> {
    let known = options.iter().filter_map(|option| {
        let kind = match option.kind {
            ConfirmationOptionKind::Approve => RequestOptionKind::Approve,
            ConfirmationOptionKind::Deny => RequestOptionKind::Deny,
            ConfirmationOptionKind::Unknown(_) => return None,
        };
        Some(RequestOption {
            id: Some(option.id.clone()),
            label: visible_label(&option.label, MAX_OPTION_CHARS),
            kind,
        })
    });
    let mut known: Vec<_> = known.collect();
    let plain = |label: &str, kind| RequestOption {
        id: None,
        label: label.to_owned(),
        kind,
    };
    if known.is_empty() {
        known.push(plain(ALLOW_LABEL, RequestOptionKind::Approve));
    }
    if !known
        .iter()
        .any(|option| option.kind == RequestOptionKind::Deny)
    {
        known.push(plain(DENY_LABEL, RequestOptionKind::Deny));
    }
    known
}

fn risk_of(risk: Option<&RiskAssessment>) -> (Option<String>, Option<f64>) {
    match risk {
        Some(RiskAssessment::Complete(risk)) => {
            (Some(plain_title(&risk.reason)), Some(risk.safety.0))
        }
        Some(RiskAssessment::Loading(_) | RiskAssessment::Unknown(_)) | None => (None, None),
    }
}

/// Returns the texts of a result; `None` if it has none.
fn output_of(result: &ToolCallResult) -> Option<String> {
    let content = result.content.iter().flatten();
    let texts = content.filter_map(|block| match block {
        ToolResultContent::Text(text) => Some(visible_text(&text.text)),
        ToolResultContent::FileEdit(_)
        | ToolResultContent::EmbeddedResource(_)
        | ToolResultContent::Resource(_)
        | ToolResultContent::Terminal(_)
        | ToolResultContent::Subagent(_)
        | ToolResultContent::Unknown(_) => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then_some(text)
}

fn edits_of(edits: Option<&FileEditCollection>) -> Vec<EditSummary> {
    let items = edits.into_iter().flat_map(|edits| &edits.items);
    items.map(EditSummary::of_edit).collect()
}

/// Returns `true` if `toolInput` is a command line. Before the call runs, only the raw arguments
/// or the kind of tool say so.
fn runs_command(head: &ToolCallHead) -> bool {
    let Some(meta) = &head.meta else {
        return false;
    };
    let is = |key: &str, value: &str| meta.get(key).and_then(Json::as_str) == Some(value);
    is("toolKind", "terminal")
        || is("language", "shellscript")
        || is("kind", "execute")
        || meta.contains_key("rawInput")
}

/// Indents JSON. Any other text is returned unchanged.
fn indent_json(text: &str) -> String {
    match Document::parse(text, Limits::MESSAGE) {
        Ok(document) if document.root().is_object() || document.root().is_array() => {
            format!("{:#}", document.root().to_json())
        }
        Ok(_) | Err(_) => text.to_owned(),
    }
}
