//! Tool calls of tools that the host offers.
//!
//! The agent reports calls of MCP server tools like any other call. A client tool is executed
//! by its client: the agent's reports count only until the call arrives at the gateway, from
//! where the host receives it on another connection.

use std::sync::Arc;

use agenthost_agents::{ToolReady, TurnEvent};
use agenthost_protocol::chat::{
    ClientContributor, McpContributor, ToolCallContributor, ToolCallQuestion,
};
use agenthost_protocol::common::Meta;
use agenthost_protocol::ids::ToolCallId;
use serde_json::{Value, json};

use super::display::DisplayStage;
use super::{
    CallEnding, CallStage, CallTerminals, EventCollector, HostTool, HostToolSet, TrackedCall,
    TurnToolCalls, find_tool_name,
};
use crate::mapper::host_tools;
use crate::mapper::host_tools::CallHints;
use crate::transport::schema::ToolCallStatus;

/// The maximum number of unannounced calls. When there are more, the oldest is removed, and
/// shown a second time if the agent reports it later.
const MAX_UNANNOUNCED_CALLS: usize = 64;

/// Key in the metadata of a call for its MCP App.
pub(super) const APP_META_KEY: &str = "ui";

/// The message for a call that the agent announced and never made.
const NEVER_CALLED_MESSAGE: &str = "The agent did not make this call.";

/// The message for a call that the host had already started itself.
const DUPLICATE_CALL_MESSAGE: &str = "This call is a duplicate of another one.";

/// A call of a client tool that the agent has not reported yet.
#[derive(Debug)]
pub(crate) struct UnannouncedCall {
    tool: String,
    input: Value,
}

impl TurnToolCalls {
    /// Replaces the tools that the host offers.
    pub(crate) fn set_host_tools(&mut self, host_tools: Arc<HostToolSet>) {
        self.host_tools = host_tools;
    }

    /// Handles a call of a client tool that arrived at the gateway, with its arguments as JSON.
    /// It may be a call that the agent announced, or one that the host started.
    pub(crate) fn handle_client_tool_called(
        &mut self,
        id: &ToolCallId,
        tool: &str,
        input: &str,
        terminals: &mut CallTerminals,
        collector: &mut EventCollector<'_>,
    ) {
        if let Some(call) = self.calls.get_mut(id) {
            call.stage = CallStage::Ended;
            return;
        }
        let unannounced = UnannouncedCall {
            tool: tool.to_owned(),
            // Invalid JSON never matches the arguments that an agent reports.
            input: serde_json::from_str(input).unwrap_or_default(),
        };
        // The agent announced the call while the host started its own.
        let mut calls = self.calls.iter_mut();
        let announced = calls.find(|(_, call)| {
            call.stage == CallStage::InputStreaming && call.matches_unannounced(&unannounced)
        });
        if let Some((id, call)) = announced {
            call.output = Some(json!(DUPLICATE_CALL_MESSAGE));
            return call.end_uncalled(id, CallEnding::Succeeded, terminals, collector);
        }
        if self.unannounced.len() >= MAX_UNANNOUNCED_CALLS {
            self.unannounced.remove(0);
        }
        self.unannounced.push(unannounced);
    }

    pub(crate) fn handle_client_tool_completed(&mut self, id: &ToolCallId) {
        if let Some(call) = self.calls.get_mut(id) {
            call.stage = CallStage::Ended;
        }
    }

    /// Ends announced client tool calls at the end of the turn, because they can't be made any
    /// more (TOO-27).
    pub(crate) fn end_uncalled_calls(
        &mut self,
        terminals: &mut CallTerminals,
        collector: &mut EventCollector<'_>,
    ) {
        for (id, call) in &mut self.calls {
            let is_open = matches!(call.stage, CallStage::InputStreaming | CallStage::Running);
            if is_open && call.is_client_tool() {
                call.output = Some(json!(NEVER_CALLED_MESSAGE));
                call.end_uncalled(id, CallEnding::Failed, terminals, collector);
            }
        }
    }
}

impl TrackedCall {
    /// Recognizes a host tool until the tool is known. A client tool must be recognized at the
    /// first report of the call (TOO-5).
    pub(crate) fn recognize_tool(&mut self, host_tools: &HostToolSet) {
        if self.tool.is_some() || !matches!(self.stage, CallStage::New | CallStage::InputStreaming)
        {
            return;
        }
        let meta_name = self.meta.as_ref().and_then(|meta| find_tool_name(meta, 3));
        let tool = host_tools.recognize_tool(&CallHints {
            title: self.title.as_deref(),
            name: self.name.as_deref(),
            meta_name: meta_name.as_deref(),
            input: self.input.as_ref(),
            meta: self.meta.as_ref(),
        });
        self.tool = tool.filter(|tool| match tool {
            HostTool::Client(_) => self.stage == CallStage::New,
            HostTool::Server(_) => true,
        });
    }

    /// Returns `true` if a client executes the call.
    pub(crate) fn is_client_tool(&self) -> bool {
        matches!(self.tool, Some(HostTool::Client(_)))
    }

    /// Returns `true` if the host already shows this call as an unannounced one, and ends the
    /// agent's duplicate.
    pub(crate) fn match_unannounced(
        &mut self,
        unannounced_calls: &mut Vec<UnannouncedCall>,
    ) -> bool {
        let Some(index) = unannounced_calls
            .iter()
            .position(|unannounced| self.matches_unannounced(unannounced))
        else {
            return false;
        };
        unannounced_calls.remove(index);
        self.stage = CallStage::Ended;
        true
    }

    /// Returns `true` if this can be the unannounced call. Agents that report a call before
    /// they know its arguments report each call once, so any call of the tool matches.
    fn matches_unannounced(&self, unannounced: &UnannouncedCall) -> bool {
        let tool = self.tool.as_ref().filter(|_| self.is_client_tool());
        let is_same_tool = tool.is_some_and(|tool| tool.name() == unannounced.tool);
        let is_empty_object =
            |input: &Value| input.as_object().is_some_and(|fields| fields.is_empty());
        let input = self.arguments().filter(|input| !is_empty_object(input));
        is_same_tool && input.is_none_or(|input| *input == unannounced.input)
    }

    /// Handles a report of a client tool call that has not arrived at the gateway. A running
    /// status does not start the call, because only its client executes it. An end status ends
    /// the call as one that was never made.
    pub(crate) fn update_client_call(
        &mut self,
        id: &ToolCallId,
        status: Option<ToolCallStatus>,
        terminals: &mut CallTerminals,
        collector: &mut EventCollector<'_>,
    ) {
        if self.stage == CallStage::InputStreaming {
            self.emit_input(id, collector);
        }
        match status {
            Some(ToolCallStatus::Completed) => {
                self.end_uncalled(id, CallEnding::Succeeded, terminals, collector)
            }
            Some(ToolCallStatus::Failed) => {
                self.end_uncalled(id, CallEnding::Failed, terminals, collector)
            }
            _ => {}
        }
    }

    /// Ends a call that was never made.
    fn end_uncalled(
        &mut self,
        id: &ToolCallId,
        ending: CallEnding,
        terminals: &mut CallTerminals,
        collector: &mut EventCollector<'_>,
    ) {
        if self.stage == CallStage::InputStreaming {
            // The call must be ready before it can end (CLT-9), and must not run, because its
            // client would execute it.
            collector.push_turn_event(TurnEvent::ToolReady(Box::new(ToolReady {
                id: id.clone(),
                message: self.title().into(),
                intention: None,
                input: self.input_text(),
                question: Some(ToolCallQuestion::default()),
                contributor: None,
                meta: Some(self.display_meta(DisplayStage::Running))
                    .filter(|meta| !meta.is_empty())
                    .map(Meta::new),
            })));
        }
        self.emit_result(id, ending, terminals, collector);
    }

    /// Returns the client or MCP server that provides the tool (TOO-2).
    pub(crate) fn contributor(&self) -> Option<ToolCallContributor> {
        Some(match self.tool.as_ref()? {
            HostTool::Client(tool) => ToolCallContributor::Client(ClientContributor {
                client_id: tool.client.clone(),
            }),
            HostTool::Server(tool) => ToolCallContributor::Mcp(McpContributor {
                customization_id: tool.server.clone(),
            }),
        })
    }

    /// Returns the MCP App that shows the call (MCP-18).
    pub(crate) fn app_meta(&self) -> Option<(String, Value)> {
        match self.tool.as_ref()? {
            HostTool::Server(tool) => Some((APP_META_KEY.to_owned(), tool.ui.clone()?)),
            HostTool::Client(_) => None,
        }
    }

    /// Returns the arguments of the call.
    pub(crate) fn arguments(&self) -> Option<&Value> {
        let input = self.input.as_ref()?;
        Some(match self.tool {
            Some(_) => host_tools::unwrap_arguments(input),
            None => input,
        })
    }
}

/// Returns the text of an MCP tool result, as some agents pass it on: directly, or as a
/// `result`.
pub(crate) fn result_text(output: &Value) -> Option<String> {
    let result = output.get("result").unwrap_or(output);
    let parts = result.get("content")?.as_array()?;
    let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_mcp_results_is_extracted() {
        let result = json!({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]});
        assert_eq!(result_text(&result).as_deref(), Some("a\nb"));
        // codex
        let wrapped = json!({"result": result, "error": null});
        assert_eq!(result_text(&wrapped).as_deref(), Some("a\nb"));
        for nothing in [json!({"content": []}), json!({"result": null}), json!("a")] {
            assert_eq!(result_text(&nothing), None);
        }
    }
}
