//! Calls of tools that the host offers.
//!
//! What a server's tool is called for, the agent tells like anything else. A
//! client's tool is carried out by its client: what the agent tells of it counts
//! until it really calls it, and the host hears of that in another way.

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

/// Most calls that may be told of later. When there are more, the oldest is
/// forgotten, and shown a second time if it is told of.
const MAX_UNANNOUNCED_CALLS: usize = 64;

/// What is said of a call that the agent told of and never made.
const NEVER_CALLED_MESSAGE: &str = "The agent did not call it.";

/// What is said of a call that the host had begun itself meanwhile.
const DUPLICATE_CALL_MESSAGE: &str = "The same call is shown already.";

/// A call of a client's tool that the agent has not told of.
#[derive(Debug)]
pub(crate) struct UnannouncedCall {
    tool: String,
    input: Value,
}

impl TurnToolCalls {
    /// The host offers these tools from now on.
    pub(crate) fn set_host_tools(&mut self, host_tools: Arc<HostToolSet>) {
        self.host_tools = host_tools;
    }

    /// The agent really calls a tool of a client, with some JSON. The call may
    /// be one that it told of, or one that the host has begun.
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
            // What is no JSON is nothing that would be told of so.
            input: serde_json::from_str(input).unwrap_or_default(),
        };
        // It told of it while the host began one of its own.
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

    /// A client has completed a call.
    pub(crate) fn handle_client_tool_completed(&mut self, id: &ToolCallId) {
        if let Some(call) = self.calls.get_mut(id) {
            call.stage = CallStage::Ended;
        }
    }

    /// The turn is over: what was told of and not called never will be
    /// (TOO-27).
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
    /// Finds out whether it is of a tool of the host, until it is known. That it
    /// is a client's has to be known at once (TOO-5).
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

    /// Whether a client carries it out.
    pub(crate) fn is_client_tool(&self) -> bool {
        matches!(self.tool, Some(HostTool::Client(_)))
    }

    /// Whether the host knows of it already. Then it is not told again.
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

    /// Whether it can be that call. Agents that tell of a call before they know
    /// its arguments tell of each one once, so any will do.
    fn matches_unannounced(&self, unannounced: &UnannouncedCall) -> bool {
        let tool = self.tool.as_ref().filter(|_| self.is_client_tool());
        let is_same_tool = tool.is_some_and(|tool| tool.name() == unannounced.tool);
        let is_empty_object =
            |input: &Value| input.as_object().is_some_and(|fields| fields.is_empty());
        let input = self.arguments().filter(|input| !is_empty_object(input));
        is_same_tool && input.is_none_or(|input| *input == unannounced.input)
    }

    /// Something about a call of a client's tool. That it runs, and what comes of
    /// it, is not the agent's to say; that it will not run, is.
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
            // It has to be ready before it can end (CLT-9), and must not run: its
            // client would begin with it.
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

    /// Whose tool it is (TOO-2).
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

    /// The app that shows what it does (MCP-18).
    pub(crate) fn app_meta(&self) -> Option<(String, Value)> {
        match self.tool.as_ref()? {
            HostTool::Server(tool) => Some(("ui".to_owned(), tool.ui.clone()?)),
            HostTool::Client(_) => None,
        }
    }

    /// What it is called with.
    pub(crate) fn arguments(&self) -> Option<&Value> {
        let input = self.input.as_ref()?;
        Some(match self.tool {
            Some(_) => host_tools::unwrap_arguments(input),
            None => input,
        })
    }
}

/// What a server's tool answered, in the words of MCP, as some agents pass it on:
/// as it is, or as a `result`.
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
    fn what_a_server_answered_is_for_people_to_read() {
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
