//! What hooks are told of the use of a tool.

use agenthost_protocol::chat::{
    ChatAction, ToolCall, ToolCallCompleted, ToolCallContributor, ToolCallHead, ToolCallReady,
    ToolCallTarget, ToolInput,
};
use agenthost_protocol::common::Meta;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{self, Json, Object};

use crate::client_tools::{client_tools, plain};
use crate::command_report::RAW_INPUT;
use crate::customizations::server;
use crate::host::Host;
use crate::tool_use::{ToolMoment, ToolUse};

/// Longest part of a name.
const NAME: usize = 100;

/// What the server of clients' tools is called.
const OWN_SERVER: &str = "agenthost";

impl Host {
    /// What an agent asks about.
    pub(super) fn asked_about(&self, chat: &Uri, ready: &ToolCallReady) -> Option<ToolUse> {
        let session = self.owner(chat)?;
        let call = self.call(chat, &ready.target)?;
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
            moment: ToolMoment::Before,
            names: self.names(session, call.head()?, contributor),
            input: input(
                ready.target.meta.as_ref(),
                ready.tool_input.as_ref().or(before),
            ),
            response: None,
        })
    }

    /// A call that is over.
    pub(super) fn completed(
        &self,
        chat: &Uri,
        moment: ToolMoment,
        call: &ToolCallCompleted,
    ) -> Option<ToolUse> {
        let session = self.owner(chat)?;
        Some(ToolUse {
            session: session.clone(),
            chat: chat.clone(),
            moment,
            names: self.names(session, &call.head, None),
            input: input(call.head.meta.as_ref(), call.parameters.tool_input.as_ref()),
            response: Some(wire::to_json(&call.result)),
        })
    }

    /// What an agent calls at the gateway.
    pub(super) fn called_at_gateway(
        &self,
        session: &Uri,
        chat: &Uri,
        tool: &str,
        input: &str,
    ) -> ToolUse {
        let known = self.customizing.get(session);
        let mut servers = known.into_iter().flat_map(|known| &known.server_tools);
        let names = match servers.find(|known| known.name == tool) {
            Some(found) => self.names_at_server(session, &found.server, &found.own_name),
            None => {
                let clients = self.session(session).map(client_tools).unwrap_or_default();
                let own = clients.into_iter().find(|known| known.name == tool);
                let own = own.map_or_else(|| tool.to_owned(), |own| own.definition.name);
                names_at_client(&own)
            }
        };
        ToolUse {
            session: session.clone(),
            chat: chat.clone(),
            moment: ToolMoment::Before,
            names,
            input: json(input),
            response: None,
        }
    }

    fn names(
        &self,
        session: &Uri,
        head: &ToolCallHead,
        contributor: Option<&ToolCallContributor>,
    ) -> Vec<String> {
        match contributor.or(head.contributor.as_ref()) {
            Some(ToolCallContributor::Mcp(mcp)) => {
                self.names_at_server(session, &mcp.customization_id, &head.tool_name)
            }
            Some(ToolCallContributor::Client(_)) => names_at_client(&head.tool_name),
            Some(ToolCallContributor::Unknown(_)) | None => vec![head.tool_name.clone()],
        }
    }

    /// A server's tool has the name that other hosts give it, and the ones that
    /// agents know: those get all tools from a server of the host.
    fn names_at_server(&self, session: &Uri, id: &CustomizationId, tool: &str) -> Vec<String> {
        let state = self.session(session);
        let found = state.and_then(|state| server(state, id));
        let name = found.map_or("", |found| found.server.base.name.as_str());
        let known = self.customizing.get(session);
        let mut tools = known.into_iter().flat_map(|known| &known.server_tools);
        let known = tools.find(|known| known.server == *id && known.own_name == tool);
        let mut names = vec![long_name(name, tool)];
        if let Some(known) = known {
            names.push(known.name.clone());
            names.push(format!("mcp__{OWN_SERVER}__{}", known.name));
        }
        names
    }
}

/// A client's tool has its own name, and the one that it would have at a server.
fn names_at_client(tool: &str) -> Vec<String> {
    vec![tool.to_owned(), long_name(OWN_SERVER, tool)]
}

fn long_name(server: &str, tool: &str) -> String {
    format!("mcp__{}__{}", plain(server, NAME), plain(tool, NAME))
}

/// Arguments. What is too large to be in the state is told by its address.
fn input(meta: Option<&Meta>, input: Option<&ToolInput>) -> Json {
    if let Some(raw) = meta.and_then(|meta| meta.get(RAW_INPUT)) {
        return raw.clone();
    }
    match input {
        None => Json::Object(Object::new()),
        Some(ToolInput::Inline(text)) => json(text),
        Some(ToolInput::Referenced(content)) => wire::to_json(content),
    }
}

/// What is no JSON is told as it is.
fn json(text: &str) -> Json {
    wire::from_str(text).unwrap_or_else(|_| Json::from(text))
}

/// The call that an action is about, if it is about one.
pub(super) fn call_of(action: &ChatAction) -> Option<&ToolCallTarget> {
    match action {
        ChatAction::ToolCallStart(action) => Some(&action.target),
        ChatAction::ToolCallDelta(action) => Some(&action.target),
        ChatAction::ToolCallReady(action) => Some(&action.target),
        ChatAction::ToolCallConfirmed(action) => Some(&action.target),
        ChatAction::ToolCallComplete(action) => Some(&action.target),
        ChatAction::ToolCallResultConfirmed(action) => Some(&action.target),
        ChatAction::ToolCallContentChanged(action) => Some(&action.target),
        ChatAction::ToolCallAuthRequired(action) => Some(&action.target),
        ChatAction::ToolCallAuthResolved(action) => Some(&action.target),
        ChatAction::TurnStarted(_)
        | ChatAction::TurnComplete(_)
        | ChatAction::TurnCancelled(_)
        | ChatAction::TurnResume(_)
        | ChatAction::Error(_)
        | ChatAction::Delta(_)
        | ChatAction::ResponsePart(_)
        | ChatAction::Reasoning(_)
        | ChatAction::Usage(_)
        | ChatAction::ActivityChanged(_)
        | ChatAction::BackgroundWorkSet(_)
        | ChatAction::BackgroundWorkRemoved(_)
        | ChatAction::MovableChanged(_)
        | ChatAction::ChangesetsChanged(_)
        | ChatAction::CanvasesChanged(_)
        | ChatAction::WorkingDirectorySet(_)
        | ChatAction::WorkingDirectoryRemoved(_)
        | ChatAction::PendingMessageSet(_)
        | ChatAction::PendingMessageRemoved(_)
        | ChatAction::QueuedMessagesReordered(_)
        | ChatAction::DraftChanged(_)
        | ChatAction::IsReadChanged(_)
        | ChatAction::IsArchivedChanged(_)
        | ChatAction::InputRequested(_)
        | ChatAction::InputAnswerChanged(_)
        | ChatAction::InputCompleted(_)
        | ChatAction::Truncated(_)
        | ChatAction::TurnsLoaded(_) => None,
    }
}
