//! What the agent of a chat may use while a custom agent answers there.
//!
//! The agent's own tools are its own. What the host offers it is filtered where
//! it is offered, so a custom agent that may not use a tool can't (CUS-18).

use agenthost_protocol::uri::Uri;

use crate::host::Host;
use crate::host::effect::{Effect, Effects};
use crate::tools::mcp::driver::McpCommand;

impl Host {
    /// A turn is about to begin that is to use these tools; without a list,
    /// all. Nothing is said if that is as it was.
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
