//! Tracks the tool calls of a turn.
//!
//! Agents report a tool call in any order: the permission request before the call, updates of a
//! call that was never started, the same call again, updates after its end. The mapper merges
//! all reports of a call by its id, and emits only events that are legal next steps.

mod display;
mod host_calls;

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_agents::{ToolAnnounced, ToolContent, ToolReady, TurnEvent};
use agenthost_protocol::chat::{
    ToolCallQuestion, ToolCallResult, ToolResultContent, ToolResultText,
};
use agenthost_protocol::common::{FileEditCollection, Meta};
use agenthost_protocol::ids::ToolCallId;
use agenthost_protocol::wire::Object;
use agenthost_stdx::text::truncate_chars;
use serde_json::{Value, json};

use super::content;
use super::events::EventCollector;
use super::host_tools::{HostTool, HostToolSet};
use super::permission::{PermissionOption, PermissionPrompt};
use super::terminal_views::{CallTerminals, TerminalMeta};
use crate::transport::schema::{
    ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolKind,
};
use display::{DisplayStage, TRUNCATED_META_KEY};

#[derive(Debug, Default)]
pub(crate) struct TurnToolCalls {
    calls: BTreeMap<ToolCallId, TrackedCall>,
    /// The tools that the host offers.
    host_tools: Arc<HostToolSet>,
    /// Calls of client tools that the agent has not reported yet.
    unannounced: Vec<host_calls::UnannouncedCall>,
}

/// A tool call, merged from all reports of the agent.
#[derive(Debug, Default)]
struct TrackedCall {
    stage: CallStage,
    title: Option<String>,
    name: Option<String>,
    kind: Option<ToolKind>,
    content: Vec<ToolCallContent>,
    locations: Vec<ToolCallLocation>,
    input: Option<Value>,
    output: Option<Value>,
    meta: Option<Object>,
    /// The part of the streamed arguments that was already published.
    input_sent: String,
    title_sent: Option<String>,
    /// The text and the edits of the last permission request.
    permission_prompt: PermissionPrompt,
    /// The host tool that is called, if it is one.
    tool: Option<HostTool>,
    /// The stage that was last published to clients.
    stage_sent: Option<DisplayStage>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum CallStage {
    #[default]
    New,
    /// The arguments are being streamed.
    InputStreaming,
    /// The call waits for the user's decision.
    AwaitingApproval,
    Running,
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallEnding {
    Succeeded,
    Failed,
}

impl TurnToolCalls {
    /// Returns `true` if the turn has a tool call with this id.
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.calls.contains_key(&ToolCallId::from(id))
    }

    /// Returns the ids of all tool calls.
    pub(crate) fn into_ids(self) -> impl Iterator<Item = ToolCallId> {
        self.calls.into_keys()
    }

    /// Handles a report of a tool call: a new one, or more about a known one.
    pub(crate) fn update_call(
        &mut self,
        mut update: ToolCallUpdate,
        terminals: &mut CallTerminals,
        collector: &mut EventCollector<'_>,
    ) {
        let id = ToolCallId::from(update.tool_call_id.to_string());
        let call = self.calls.entry(id.clone()).or_default();
        if call.stage == CallStage::Ended {
            return;
        }
        let status = update.fields.status;
        let is_first = call.stage == CallStage::New;
        let terminal_meta = TerminalMeta::take_from(&mut update);
        let is_active = terminal_meta.shows_activity();
        let has_new_content = call.merge(update);
        call.recognize_tool(&self.host_tools);
        if is_first {
            if call.match_unannounced(&mut self.unannounced) {
                return;
            }
            call.announce(&id, collector);
        }
        if call.is_client_tool() {
            return call.update_client_call(&id, status, terminals, collector);
        }
        let has_changed =
            terminals.apply_meta(&id, &call.title(), terminal_meta, collector) || has_new_content;
        let ending = match status {
            Some(ToolCallStatus::Completed) => Some(CallEnding::Succeeded),
            Some(ToolCallStatus::Failed) => Some(CallEnding::Failed),
            _ => None,
        };
        let has_begun = match status {
            Some(ToolCallStatus::Pending) => false,
            // Some agents never report the status of a call.
            None => (is_first && call.input.is_some()) || has_changed || is_active,
            Some(_) => true,
        };
        let has_held_content =
            call.stage == CallStage::InputStreaming && has_begun && !call.content.is_empty();
        if call.stage == CallStage::InputStreaming && has_begun {
            call.emit_ready(&id, collector);
        } else if call.stage == CallStage::InputStreaming {
            call.emit_input(&id, collector);
        }
        if let Some(ending) = ending {
            call.emit_result(&id, ending, terminals, collector);
        } else if call.stage == CallStage::Running && (has_changed || has_held_content) {
            call.emit_content(&id, terminals, collector);
        }
    }

    /// Handles a permission request. Returns `false` if the tool call has ended or a client
    /// executes it already.
    pub(crate) fn request_permission(
        &mut self,
        mut update: ToolCallUpdate,
        options: &[PermissionOption],
        terminals: &mut CallTerminals,
        collector: &mut EventCollector<'_>,
    ) -> bool {
        let id = ToolCallId::from(update.tool_call_id.to_string());
        let call = self.calls.entry(id.clone()).or_default();
        if call.stage == CallStage::Ended {
            return false;
        }
        let is_first = call.stage == CallStage::New;
        let terminal_meta = TerminalMeta::take_from(&mut update);
        call.permission_prompt = PermissionPrompt::split_prompt(&mut update);
        call.merge(update);
        call.recognize_tool(&self.host_tools);
        if is_first {
            if call.match_unannounced(&mut self.unannounced) {
                return false;
            }
            call.announce(&id, collector);
        }
        terminals.apply_meta(&id, &call.title(), terminal_meta, collector);
        call.stage = CallStage::AwaitingApproval;
        // For a request with edits, VS Code shows a single button of its own that approves
        // once. If the agent offers no such option, only the message contains the edits.
        let edits = if options.iter().any(|option| option.kind == "allow_once") {
            content::file_edits(&call.content, &terminals.folder, collector)
        } else {
            Vec::new()
        };
        let question = ToolCallQuestion {
            confirmation_title: Some(call.title().into()),
            risk_assessment: None,
            edits: (!edits.is_empty()).then_some(FileEditCollection { items: edits }),
            // ACP has no way to send edited arguments to the agent.
            editable: Some(false),
            options: Some(options.iter().map(PermissionOption::to_option).collect()),
        };
        call.stage_sent = Some(DisplayStage::AwaitingApproval);
        let mut meta = call.display_meta(DisplayStage::AwaitingApproval);
        let kinds = options
            .iter()
            .map(|option| (option.id.clone(), json!(option.kind)));
        meta.insert("permissionKinds".to_owned(), Value::Object(kinds.collect()));
        let message = call.permission_message(terminals);
        if message.is_truncated {
            meta.insert(TRUNCATED_META_KEY.to_owned(), json!(true));
        }
        collector.push_turn_event(TurnEvent::ToolReady(Box::new(ToolReady {
            id,
            message: message.text,
            intention: call.intention(),
            input: call.input_text(),
            question: Some(question),
            contributor: call.contributor(),
            meta: Some(Meta::new(meta)),
        })));
        true
    }

    /// Continues a tool call that the user approved. Publishes its earlier content again,
    /// because the permission request has replaced it.
    pub(crate) fn mark_approved(
        &mut self,
        id: &ToolCallId,
        terminals: &CallTerminals,
        collector: &mut EventCollector<'_>,
    ) {
        if let Some(call) = self.calls.get_mut(id)
            && call.stage == CallStage::AwaitingApproval
        {
            call.stage = CallStage::Running;
            let is_silent = call.content.is_empty() && !call.is_command();
            if !is_silent && !call.is_client_tool() {
                call.emit_content(id, terminals, collector);
            }
        }
    }

    /// Ends a tool call that the user denied.
    pub(crate) fn mark_denied(&mut self, id: &ToolCallId) {
        if let Some(call) = self.calls.get_mut(id) {
            call.stage = CallStage::Ended;
        }
    }
}

impl TrackedCall {
    /// Merges an update. Returns `true` if the content changed.
    fn merge(&mut self, update: ToolCallUpdate) -> bool {
        fn set_if_some<T>(field: &mut Option<T>, value: Option<T>) {
            if value.is_some() {
                *field = value;
            }
        }
        let fields = update.fields;
        set_if_some(
            &mut self.title,
            fields.title.filter(|title| !title.is_empty()),
        );
        set_if_some(&mut self.name, fields.name);
        set_if_some(&mut self.kind, fields.kind);
        set_if_some(
            &mut self.input,
            fields.raw_input.filter(|input| !input.is_null()),
        );
        set_if_some(
            &mut self.output,
            fields.raw_output.filter(|output| !output.is_null()),
        );
        if let Some(meta) = update.meta {
            self.meta.get_or_insert_default().extend(meta);
        }
        if let Some(locations) = fields.locations {
            self.locations = locations;
        }
        match fields.content {
            Some(content) if content != self.content => {
                self.content = content;
                true
            }
            _ => false,
        }
    }

    fn title(&self) -> String {
        if let Some(tool) = &self.tool {
            return tool.title().to_owned();
        }
        self.title.clone().unwrap_or_else(|| self.tool_name())
    }

    /// Returns the name of the tool, for programs. Some agents send it only in their metadata.
    fn tool_name(&self) -> String {
        if let Some(tool) = &self.tool {
            return tool.original_name().to_owned();
        }
        let meta_name = || self.meta.as_ref().and_then(|meta| find_tool_name(meta, 3));
        let kind = || Some(json!(self.kind?).as_str()?.to_owned());
        let name = self.name.clone().or_else(meta_name);
        let name = name.or_else(kind).unwrap_or_else(|| "other".to_owned());
        match name.as_str() {
            // VS Code takes `task` for a worker with its own chat, and shows nothing of a call
            // without one.
            "task" => "Task".to_owned(),
            _ => name,
        }
    }

    fn announce(&mut self, id: &ToolCallId, collector: &mut EventCollector<'_>) {
        self.stage = CallStage::InputStreaming;
        let meta = Some(self.display_meta(DisplayStage::Announced)).filter(|meta| !meta.is_empty());
        collector.push_turn_event(TurnEvent::ToolAnnounced(Box::new(ToolAnnounced {
            id: id.clone(),
            name: self.tool_name(),
            display_name: self.title(),
            intention: self.intention(),
            contributor: self.contributor(),
            meta: meta.map(Meta::new),
        })));
    }

    /// Publishes the part of the arguments that is new: agents send the arguments again and
    /// again, each time with more of them. `ToolReady` contains the complete arguments.
    fn emit_input(&mut self, id: &ToolCallId, collector: &mut EventCollector<'_>) {
        let text = match self.arguments() {
            None => None,
            Some(Value::Object(fields)) if fields.is_empty() => None,
            Some(_) => self.input_text(),
        };
        let text = text.unwrap_or_default();
        let open_text = text.trim_end_matches(['}', ']', '"']);
        let added = open_text.strip_prefix(self.input_sent.as_str());
        let added = added.filter(|added| !added.is_empty()).map(str::to_owned);
        if added.is_none() && self.title_sent == self.title {
            return;
        }
        self.input_sent.extend(added.as_deref());
        self.title_sent.clone_from(&self.title);
        collector.push_turn_event(TurnEvent::ToolInput {
            id: id.clone(),
            more: added,
            message: self.title().into(),
        });
    }

    fn emit_ready(&mut self, id: &ToolCallId, collector: &mut EventCollector<'_>) {
        self.stage = CallStage::Running;
        self.stage_sent = Some(DisplayStage::Running);
        let meta = Some(self.display_meta(DisplayStage::Running)).filter(|meta| !meta.is_empty());
        collector.push_turn_event(TurnEvent::ToolReady(Box::new(ToolReady {
            id: id.clone(),
            message: self.title().into(),
            intention: self.intention(),
            input: self.input_text(),
            question: None,
            contributor: self.contributor(),
            meta: meta.map(Meta::new),
        })));
    }

    /// Publishes the content of a running tool call. A call that required approval is shown as
    /// a command only from now on.
    fn emit_content(
        &mut self,
        id: &ToolCallId,
        terminals: &CallTerminals,
        collector: &mut EventCollector<'_>,
    ) {
        let mut content = content::to_results(id, &self.content, terminals, collector);
        content
            .iter_mut()
            .for_each(content::truncate_running_output);
        let was_asked =
            self.stage_sent.replace(DisplayStage::Running) == Some(DisplayStage::AwaitingApproval);
        let is_new_command = was_asked && self.is_command();
        collector.push_turn_event(TurnEvent::ToolContent(ToolContent {
            id: id.clone(),
            content,
            meta: is_new_command.then(|| Meta::new(self.display_meta(DisplayStage::Running))),
        }));
    }

    fn emit_result(
        &mut self,
        id: &ToolCallId,
        ending: CallEnding,
        terminals: &mut CallTerminals,
        collector: &mut EventCollector<'_>,
    ) {
        self.stage = CallStage::Ended;
        if ending == CallEnding::Succeeded {
            self.permission_prompt.apply_edits(&mut self.content);
        }
        let success = ending == CallEnding::Succeeded;
        let output = self.output.as_ref().and_then(output_text);
        let exit_code = |output: &Value| output.get("exit_code")?.as_i64();
        let exit_code = self.output.as_ref().and_then(exit_code);
        terminals.end_call(id, output.as_deref(), exit_code, collector);
        let mut results = content::to_results(id, &self.content, terminals, collector);
        if results.is_empty()
            && let Some(text) = &output
        {
            let text = text.clone();
            results.push(ToolResultContent::Text(ToolResultText { text }));
        }
        let error = (!success).then(|| {
            let message = content::joined_text(&results).or(output);
            let message = message.unwrap_or_else(|| "the tool call failed".to_owned());
            json!({ "message": truncate_chars(&message, 500) })
        });
        let structured = match &self.output {
            Some(Value::Object(output)) => Some(output.clone()),
            _ => None,
        };
        let result = ToolCallResult {
            success,
            past_tense_message: self.title().into(),
            content: (!results.is_empty()).then_some(results),
            structured_content: structured,
            error,
        };
        collector.push_turn_event(TurnEvent::ToolCompleted(id.clone(), Box::new(result)));
    }
}

/// Returns the tool name in an agent's metadata, searched down to a depth.
fn find_tool_name(meta: &Object, depth: u32) -> Option<String> {
    let own_name = meta.get("toolName").and_then(Value::as_str);
    let nested = || {
        let depth = depth.checked_sub(1)?;
        let mut nested = meta.values().filter_map(Value::as_object);
        nested.find_map(|object| find_tool_name(object, depth))
    };
    own_name.map(str::to_owned).or_else(nested)
}

/// Returns the readable text of a raw output.
fn output_text(output: &Value) -> Option<String> {
    let keys = [
        "formatted_output",
        "aggregated_output",
        "output",
        "stdout",
        "text",
    ];
    let text = output.as_str();
    let text = text.or_else(|| keys.iter().find_map(|key| output.get(key)?.as_str()));
    let text = text.filter(|text| !text.is_empty()).map(str::to_owned);
    text.or_else(|| host_calls::result_text(output))
}
