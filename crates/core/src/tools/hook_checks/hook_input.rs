//! Builds the input of tool hooks from tool calls.

use agenthost_protocol::chat::{
    ToolCall, ToolCallCompleted, ToolCallContributor, ToolCallHead, ToolCallReady, ToolInput,
};
use agenthost_protocol::common::Meta;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Object};

use crate::customization::find_server;
use crate::host::Host;
use crate::terminal::command_report::RAW_INPUT_META_KEY;
use crate::tools::client_tools::{client_tools, sanitize_tool_name};
use crate::tools::tool_use::{ToolHookPhase, ToolUse};

/// Maximum length of the server part and of the tool part of a name.
const MAX_NAME_PART_CHARS: usize = 100;

/// Name of the gateway's MCP server in tool names.
const GATEWAY_SERVER_NAME: &str = "agenthost";

impl Host {
    /// Returns the tool use of an approval request.
    pub(super) fn approval_tool_use(&self, chat: &Uri, ready: &ToolCallReady) -> Option<ToolUse> {
        let session = self.session_of(chat)?;
        let call = self.active_call(chat, &ready.target)?;
        let contributor = ready.contributor.as_ref();
        let before = match call {
            ToolCall::Running(call) => call.parameters.tool_input.as_ref(),
            ToolCall::PendingConfirmation(call) => call.parameters.tool_input.as_ref(),
            ToolCall::Streaming(_)
            | ToolCall::AuthRequired(_)
            | ToolCall::PendingResultConfirmation(_)
            | ToolCall::Completed(_)
            | ToolCall::Cancelled(_)
            | ToolCall::Unknown(_) => None,
        };
        Some(ToolUse {
            session: session.clone(),
            chat: chat.clone(),
            phase: ToolHookPhase::Before,
            names: self.tool_names(session, call.head()?, contributor),
            input: hook_input(
                ready.target.meta.as_ref(),
                ready.tool_input.as_ref().or(before),
            ),
            response: None,
        })
    }

    /// Returns the tool use of a completed call.
    pub(super) fn completed_tool_use(
        &self,
        chat: &Uri,
        moment: ToolHookPhase,
        call: &ToolCallCompleted,
    ) -> Option<ToolUse> {
        let session = self.session_of(chat)?;
        Some(ToolUse {
            session: session.clone(),
            chat: chat.clone(),
            phase: moment,
            names: self.tool_names(session, &call.head, None),
            input: hook_input(call.head.meta.as_ref(), call.parameters.tool_input.as_ref()),
            response: Some(wire::to_json(&call.result)),
        })
    }

    /// Returns the tool use of a gateway call.
    pub(super) fn gateway_tool_use(
        &self,
        session: &Uri,
        chat: &Uri,
        tool: &str,
        input: &str,
    ) -> ToolUse {
        let known = self.customizations.get(session);
        let mut servers = known.into_iter().flat_map(|known| &known.mcp_tools);
        let names = match servers.find(|known| known.name == tool) {
            Some(found) => self.server_tool_names(session, &found.server, &found.original_name),
            None => {
                let clients = self.session(session).map(client_tools).unwrap_or_default();
                let own = clients.into_iter().find(|known| known.name == tool);
                let own = own.map_or_else(|| tool.to_owned(), |own| own.definition.name);
                client_tool_names(&own)
            }
        };
        ToolUse {
            session: session.clone(),
            chat: chat.clone(),
            phase: ToolHookPhase::Before,
            names,
            input: parse_or_string(input),
            response: None,
        }
    }

    fn tool_names(
        &self,
        session: &Uri,
        head: &ToolCallHead,
        contributor: Option<&ToolCallContributor>,
    ) -> Vec<String> {
        match contributor.or(head.contributor.as_ref()) {
            Some(ToolCallContributor::Mcp(mcp)) => {
                self.server_tool_names(session, &mcp.customization_id, &head.tool_name)
            }
            Some(ToolCallContributor::Client(_)) => client_tool_names(&head.tool_name),
            Some(ToolCallContributor::Unknown(_)) | None => vec![head.tool_name.clone()],
        }
    }

    /// Returns the names of an MCP server's tool: the name that other hosts use, and the names
    /// that agents use, which get all tools from the gateway.
    fn server_tool_names(&self, session: &Uri, id: &CustomizationId, tool: &str) -> Vec<String> {
        let state = self.session(session);
        let found = state.and_then(|state| find_server(state, id));
        let name = found.map_or("", |found| found.server.base.name.as_str());
        let known = self.customizations.get(session);
        let mut tools = known.into_iter().flat_map(|known| &known.mcp_tools);
        let known = tools.find(|known| known.server == *id && known.original_name == tool);
        let mut names = vec![mcp_tool_name(name, tool)];
        if let Some(known) = known {
            names.push(known.name.clone());
            names.push(format!("mcp__{GATEWAY_SERVER_NAME}__{}", known.name));
        }
        names
    }
}

/// Returns the names of a client tool: its own, and the name as a tool of the gateway.
fn client_tool_names(tool: &str) -> Vec<String> {
    vec![tool.to_owned(), mcp_tool_name(GATEWAY_SERVER_NAME, tool)]
}

fn mcp_tool_name(server: &str, tool: &str) -> String {
    format!(
        "mcp__{}__{}",
        sanitize_tool_name(server, MAX_NAME_PART_CHARS),
        sanitize_tool_name(tool, MAX_NAME_PART_CHARS)
    )
}

/// Returns the arguments of a call. Arguments that are too large for the state are passed as a
/// content reference.
fn hook_input(meta: Option<&Meta>, input: Option<&ToolInput>) -> Json {
    if let Some(raw) = meta.and_then(|meta| meta.get(RAW_INPUT_META_KEY)) {
        return raw.clone();
    }
    match input {
        None => Json::Object(Object::new()),
        Some(ToolInput::Inline(text)) => parse_or_string(text),
        Some(ToolInput::Referenced(content)) => wire::to_json(content),
    }
}

/// Parses text as JSON, or returns it as a JSON string.
fn parse_or_string(text: &str) -> Json {
    wire::from_str(text).unwrap_or_else(|_| Json::from(text))
}
