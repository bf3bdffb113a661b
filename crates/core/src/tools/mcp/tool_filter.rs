//! Tool filters: the tools that the agent of a chat may use while a custom agent is selected.
//!
//! The filter does not apply to the agent's own tools. The gateway applies it to the tools of
//! the host, so a custom agent can't call a tool that it may not use (CUS-18).

use agenthost_protocol::uri::Uri;

use crate::host::Host;
use crate::host::effect::{Effect, Effects};
use crate::tools::mcp::driver::McpCommand;

impl Host {
    /// Sets the tools for the next turn of a chat; `None` allows all. Sends a command only if
    /// the filter has changed.
    pub(crate) fn set_tool_filter(
        &mut self,
        session: &Uri,
        chat: &Uri,
        tools: Option<Vec<String>>,
        out: &mut Effects,
    ) {
        let Some(known) = self.customizations.get_mut(session) else {
            return;
        };
        let before = match &tools {
            Some(tools) => known.tool_filters.insert(chat.clone(), tools.clone()),
            None => known.tool_filters.remove(chat),
        };
        if before != tools {
            out.push(Effect::Mcp(Box::new(McpCommand::SetToolFilter {
                session: session.clone(),
                chat: chat.clone(),
                tools,
            })));
        }
    }
}
