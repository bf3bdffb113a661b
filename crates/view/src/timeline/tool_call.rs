//! Rows of tool calls.

use agenthost_protocol::chat::{
    CancellationReason, ConfirmationReason, ToolCall, ToolCallApproval, ToolCallCancelled,
    ToolCallContributor, ToolCallHead, ToolCallParameters, ToolCallResult, ToolInput,
    ToolResultContent,
};
use agenthost_protocol::common::Meta;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::wire::Json;

use super::plan::plan_entries;
use super::row::{CallContent, CallDecision, CallOutcome, CallStatus, RowBody, ToolCallRow};
use super::{MAX_CLIENT_NAME_CHARS, TimelineContext};
use crate::file_edit::EditSummary;
use crate::mcp_app::app_of_call;
use crate::request::{RequestCard, call_input};
use crate::title::plain_title;
use crate::visible_text::{visible_label, visible_order, visible_text};

/// The `_meta` key of a tool call for the client that answered its request: a name, or an object
/// with `name` and `clientId`.
const ANSWERED_BY_META_KEY: &str = "agenthost.answeredBy";

/// Returns the body of the row of a tool call; `None` for an unknown status.
pub(super) fn call_body(
    call: &ToolCall,
    turn: &TurnId,
    context: &TimelineContext,
) -> Option<RowBody> {
    if let Some(entries) = plan_entries(call) {
        return Some(RowBody::Plan { entries });
    }
    let head = call.head()?;
    let mut row = plain_row(head, context);
    match call {
        ToolCall::Streaming(call) => {
            row.set_title(call.invocation_message.as_ref());
            let input = call.partial_input.clone().map(ToolInput::Inline);
            row.set_input(head, input.as_ref());
        }
        ToolCall::PendingConfirmation(call) => {
            row.status = CallStatus::Waiting;
            row.set_parameters(head, &call.parameters);
        }
        ToolCall::Running(call) => {
            row.status = CallStatus::Running;
            row.set_parameters(head, &call.parameters);
            row.set_approval(&call.approval);
        }
        ToolCall::AuthRequired(call) => {
            row.status = CallStatus::AuthRequired;
            row.set_parameters(head, &call.parameters);
            row.set_approval(&call.approval);
        }
        ToolCall::PendingResultConfirmation(call) => {
            row.set_parameters(head, &call.parameters);
            row.set_approval(&call.approval);
            row.set_result(&call.result);
            row.status = CallStatus::Waiting;
        }
        ToolCall::Completed(call) => {
            row.set_parameters(head, &call.parameters);
            row.set_approval(&call.approval);
            row.set_result(&call.result);
        }
        ToolCall::Cancelled(call) => {
            row.set_parameters(head, &call.parameters);
            row.set_cancellation(call);
        }
        ToolCall::Unknown(_) => return None,
    }
    row.content = call_contents(call.content());
    row.request = RequestCard::of_call(&context.scope, turn, call);
    Some(RowBody::ToolCall(Box::new(row)))
}

/// Returns the name of the client that answered the request of a tool call.
pub(crate) fn answering_client(meta: Option<&Meta>) -> Option<String> {
    let client = meta?.get(ANSWERED_BY_META_KEY)?;
    let name = client.get("name").or_else(|| client.get("clientId"));
    let name = name.unwrap_or(client).as_str()?;
    (!name.is_empty()).then(|| visible_label(name, MAX_CLIENT_NAME_CHARS))
}

/// Returns the id of the client that answered the request of a tool call.
pub(crate) fn answering_client_id(meta: Option<&Meta>) -> Option<&str> {
    let client = meta?.get(ANSWERED_BY_META_KEY)?;
    client.get("clientId")?.as_str()
}

fn plain_row(head: &ToolCallHead, context: &TimelineContext) -> ToolCallRow {
    let contributor = match &head.contributor {
        Some(ToolCallContributor::Client(client)) => Some(client.client_id.as_str()),
        Some(ToolCallContributor::Mcp(server)) => Some(server.customization_id.as_str()),
        Some(ToolCallContributor::Unknown(_)) | None => None,
    };
    let contributor = contributor.map(|id| {
        let name = context.contributors.get(id);
        visible_order(name.map_or(id, String::as_str))
    });
    let app = app_of_call(head).filter(|(_, server)| context.app_servers.contains(*server));
    ToolCallRow {
        call_id: head.tool_call_id.clone(),
        name: visible_order(&head.display_name),
        title: visible_order(&head.display_name),
        status: CallStatus::Streaming,
        intention: head.intention.as_deref().map(visible_order),
        command: None,
        input: None,
        input_uri: None,
        contributor,
        app: app.map(|(uri, _)| uri.to_owned()),
        content: Vec::new(),
        request: None,
        decision: None,
        selected_option: None,
        answered_by: answering_client(head.meta.as_ref()),
        outcome: None,
        reason: None,
    }
}

impl ToolCallRow {
    /// Replaces the title, unless the text is empty.
    fn set_title(&mut self, text: Option<&MaybeMarkdown>) {
        let title = text.map(plain_title);
        if let Some(title) = title.filter(|title| !title.is_empty()) {
            self.title = title;
        }
    }

    fn set_input(&mut self, head: &ToolCallHead, input: Option<&ToolInput>) {
        let input = call_input(head, input);
        self.command = input.command.as_deref().map(visible_text);
        self.input = input.text.as_deref().map(visible_text);
        self.input_uri = input.uri;
    }

    fn set_parameters(&mut self, head: &ToolCallHead, parameters: &ToolCallParameters) {
        self.set_title(Some(&parameters.invocation_message));
        self.set_input(head, parameters.tool_input.as_ref());
    }

    fn set_approval(&mut self, approval: &ToolCallApproval) {
        self.decision = match approval.confirmed {
            ConfirmationReason::NotNeeded => Some(CallDecision::NotNeeded),
            ConfirmationReason::UserAction => Some(CallDecision::User),
            ConfirmationReason::Setting => Some(CallDecision::Setting),
            ConfirmationReason::Unknown(_) => None,
        };
        let option = approval.selected_option.as_ref();
        self.selected_option = option.map(|option| option.label.clone());
    }

    fn set_result(&mut self, result: &ToolCallResult) {
        self.set_title(Some(&result.past_tense_message));
        self.status = if result.success {
            CallStatus::Completed
        } else {
            CallStatus::Failed
        };
        let message = result.error.as_ref().and_then(|error| error.get("message"));
        self.reason = message.and_then(Json::as_str).map(visible_order);
    }

    fn set_cancellation(&mut self, call: &ToolCallCancelled) {
        self.status = CallStatus::Cancelled;
        self.outcome = Some(match call.reason {
            CancellationReason::Denied => CallOutcome::Denied,
            CancellationReason::Skipped => CallOutcome::Skipped,
            CancellationReason::ResultDenied => CallOutcome::ResultDenied,
        });
        let message = call.reason_message.as_ref().map(MaybeMarkdown::as_str);
        let suggestion = call.user_suggestion.as_ref().map(|text| text.text.as_str());
        self.reason = message.or(suggestion).map(visible_order);
        let option = call.selected_option.as_ref();
        self.selected_option = option.map(|option| option.label.clone());
    }
}

/// Returns the content of a call. The host repeats the output of a command as text, for clients
/// without terminals.
fn call_contents(content: &[ToolResultContent]) -> Vec<CallContent> {
    let mut blocks: Vec<_> = content.iter().filter_map(call_content).collect();
    let previews = blocks.iter().filter_map(|block| match block {
        CallContent::Terminal { preview, .. } => preview.clone(),
        _ => None,
    });
    let previews: Vec<_> = previews.collect();
    blocks.retain(|block| match block {
        CallContent::Text { text } => !previews.contains(text),
        _ => true,
    });
    blocks
}

/// Returns a block of content; `None` for an unknown kind.
fn call_content(content: &ToolResultContent) -> Option<CallContent> {
    let content = match content {
        ToolResultContent::Text(text) => CallContent::Text {
            text: visible_order(&text.text),
        },
        ToolResultContent::EmbeddedResource(embedded) => CallContent::Embedded {
            content_type: embedded.content_type.clone(),
            data: embedded.data.clone(),
        },
        ToolResultContent::Resource(content) => CallContent::Resource {
            uri: content.uri.clone(),
            content_type: content.content_type.clone(),
        },
        ToolResultContent::FileEdit(edit) => CallContent::Edit {
            edit: EditSummary::of_edit(edit),
        },
        ToolResultContent::Terminal(terminal) => {
            let result = terminal.result.as_ref();
            CallContent::Terminal {
                uri: terminal.resource.clone(),
                title: visible_order(&terminal.title),
                exit_code: result.and_then(|result| result.exit_code),
                preview: result
                    .and_then(|result| result.preview.as_deref())
                    .map(visible_order),
                ended: result.is_some(),
            }
        }
        ToolResultContent::Subagent(worker) => CallContent::Worker {
            chat: worker.resource.clone(),
            title: visible_order(&worker.title),
            agent: worker.agent_name.clone(),
            description: worker.description.as_deref().map(visible_order),
        },
        ToolResultContent::Unknown(_) => return None,
    };
    Some(content)
}
