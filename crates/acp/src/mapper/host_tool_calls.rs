//! Forwards changes of the host's tools, and calls of client tools, to the running turn.

use std::sync::Arc;

use agenthost_protocol::ids::ToolCallId;

use super::{ChatMapper, EventCollector, HostToolSet, MappedEvent};

impl ChatMapper {
    /// Replaces the tools that the host offers.
    pub(crate) fn set_host_tools(&mut self, host_tools: &Arc<HostToolSet>) {
        self.host_tools = Arc::clone(host_tools);
        if let Some(turn) = &mut self.turn {
            turn.tool_calls.set_host_tools(Arc::clone(host_tools));
        }
    }

    /// Handles a call of a client tool that arrived at the gateway, with its arguments as JSON.
    pub(crate) fn handle_client_tool_called(
        &mut self,
        call: &ToolCallId,
        tool: &str,
        input: &str,
    ) -> Vec<MappedEvent> {
        let session = self.session.clone();
        let mut collector = EventCollector::new(&session);
        if let Some(turn) = &mut self.turn {
            turn.tool_calls.handle_client_tool_called(
                call,
                tool,
                input,
                &mut self.terminals,
                &mut collector,
            );
        }
        collector.events
    }

    pub(crate) fn handle_client_tool_completed(&mut self, call: &ToolCallId) {
        if let Some(turn) = &mut self.turn {
            turn.tool_calls.handle_client_tool_completed(call);
        }
    }
}
