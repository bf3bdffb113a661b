//! Tools that the host offers, in a chat.

use std::sync::Arc;

use agenthost_protocol::ids::ToolCallId;

use super::{ChatMapper, EventCollector, HostToolSet, MappedEvent};

impl ChatMapper {
    /// The host offers these tools from now on.
    pub(crate) fn set_host_tools(&mut self, host_tools: &Arc<HostToolSet>) {
        self.host_tools = Arc::clone(host_tools);
        if let Some(turn) = &mut self.turn {
            turn.tool_calls.set_host_tools(Arc::clone(host_tools));
        }
    }

    /// The agent really calls a tool of a client, with some JSON.
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

    /// A client has completed a call.
    pub(crate) fn handle_client_tool_completed(&mut self, call: &ToolCallId) {
        if let Some(turn) = &mut self.turn {
            turn.tool_calls.handle_client_tool_completed(call);
        }
    }
}
