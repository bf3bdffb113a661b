//! Tool calls of MCP servers that wait for an access token.

use agenthost_protocol::chat::{
    ChatAction, ToolCall, ToolCallAuthNeeded, ToolCallAuthResolved, ToolCallContributor,
    ToolCallTarget,
};
use agenthost_protocol::common::McpAuthRequirement;
use agenthost_protocol::uri::Uri;

use crate::host::Host;
use crate::host::effect::Effects;
use crate::tools::gateway_calls::tool_calls;

impl Host {
    /// Publishes that a tool call needs a token (TOO-18).
    pub(super) fn require_call_auth(
        &mut self,
        session: &Uri,
        chat: &Uri,
        tool: &str,
        requirement: Box<McpAuthRequirement>,
        out: &mut Effects,
    ) {
        if let Some(target) = self.find_server_call(session, chat, tool, AuthWait::Running) {
            let required = ChatAction::ToolCallAuthRequired(Box::new(ToolCallAuthNeeded {
                target,
                auth: *requirement,
            }));
            self.originate(chat, required, out);
            self.sync_chat(chat, out);
            self.sync_input_needed_of(chat, out);
        }
    }

    /// Publishes that a tool call has its token and continues (TOO-20).
    pub(super) fn call_authorized(
        &mut self,
        session: &Uri,
        chat: &Uri,
        tool: &str,
        out: &mut Effects,
    ) {
        if let Some(target) = self.find_server_call(session, chat, tool, AuthWait::Waiting) {
            self.originate(
                chat,
                ChatAction::ToolCallAuthResolved(ToolCallAuthResolved { target }),
                out,
            );
            self.sync_chat(chat, out);
            self.sync_input_needed_of(chat, out);
        }
    }

    /// Finds the last call of a server's tool that runs, or that waits for a token.
    fn find_server_call(
        &self,
        session: &Uri,
        chat: &Uri,
        tool: &str,
        waits: AuthWait,
    ) -> Option<ToolCallTarget> {
        let known = self.customizations.get(session)?;
        let tool = known.mcp_tools.iter().find(|known| known.name == tool)?;
        let turn = self.chat(chat)?.active_turn.as_ref()?;
        let fitting = tool_calls(turn.response_parts.items()).filter(|(call, head)| {
            let of_server = matches!(
                &head.contributor,
                Some(ToolCallContributor::Mcp(owner)) if owner.customization_id == tool.server
            );
            let state = match waits {
                AuthWait::Waiting => matches!(call, ToolCall::AuthRequired(_)),
                AuthWait::Running => matches!(call, ToolCall::Running(_)),
            };
            of_server && state && head.tool_name == tool.original_name
        });
        let (_, head) = fitting.last()?;
        Some(ToolCallTarget {
            turn_id: turn.id.clone(),
            tool_call_id: head.tool_call_id.clone(),
            meta: head.meta.clone(),
        })
    }
}

/// The state of the call to find.
enum AuthWait {
    Waiting,
    Running,
}
