//! Calls of servers' tools that wait for a token.

use agenthost_protocol::chat::{
    ChatAction, ToolCall, ToolCallAuthNeeded, ToolCallAuthResolved, ToolCallContributor,
    ToolCallTarget,
};
use agenthost_protocol::common::McpAuthRequirement;
use agenthost_protocol::uri::Uri;

use super::calls::calls;
use crate::effect::Effects;
use crate::host::Host;

impl Host {
    /// A call of a server's tool needs a token (TOO-18).
    pub(super) fn call_needs_token(
        &mut self,
        session: &Uri,
        chat: &Uri,
        tool: &str,
        requirement: Box<McpAuthRequirement>,
        out: &mut Effects,
    ) {
        if let Some(target) = self.server_call(session, chat, tool, Waits::No) {
            let required = ChatAction::ToolCallAuthRequired(Box::new(ToolCallAuthNeeded {
                target,
                auth: *requirement,
            }));
            self.originate(chat, required, out);
            self.sync_chat(chat, out);
            self.sync_waiting_of(chat, out);
        }
    }

    /// Such a call goes on (TOO-20).
    pub(super) fn call_has_token(
        &mut self,
        session: &Uri,
        chat: &Uri,
        tool: &str,
        out: &mut Effects,
    ) {
        if let Some(target) = self.server_call(session, chat, tool, Waits::Yes) {
            self.originate(
                chat,
                ChatAction::ToolCallAuthResolved(ToolCallAuthResolved { target }),
                out,
            );
            self.sync_chat(chat, out);
            self.sync_waiting_of(chat, out);
        }
    }

    /// The last call of a server's tool that runs, or waits for a token.
    fn server_call(
        &self,
        session: &Uri,
        chat: &Uri,
        tool: &str,
        waits: Waits,
    ) -> Option<ToolCallTarget> {
        let known = self.customizing.get(session)?;
        let tool = known.server_tools.iter().find(|known| known.name == tool)?;
        let turn = self.chat(chat)?.active_turn.as_ref()?;
        let fitting = calls(turn.response_parts.items()).filter(|(call, head)| {
            let of_server = match &head.contributor {
                Some(ToolCallContributor::Mcp(owner)) => owner.customization_id == tool.server,
                _ => false,
            };
            let state = match waits {
                Waits::Yes => matches!(call, ToolCall::AuthRequired(_)),
                Waits::No => matches!(call, ToolCall::Running(_)),
            };
            of_server && state && head.tool_name == tool.own_name
        });
        let (_, head) = fitting.last()?;
        Some(ToolCallTarget {
            turn_id: turn.id.clone(),
            tool_call_id: head.tool_call_id.clone(),
            meta: head.meta.clone(),
        })
    }
}

/// Whether a call waits for a token.
enum Waits {
    Yes,
    No,
}
