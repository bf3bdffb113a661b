//! Messages between clients and MCP servers through `mcp:` channels.
//!
//! Only clients that support MCP Apps see these channels. The state is the same for all
//! clients, and the channels are removed from messages to the others (MCP-12, A-9).

use std::sync::Arc;

use agenthost_protocol::action::{Action, ActionEnvelope};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::rpc::{ErrorCode, RequestId, RpcError};
use agenthost_protocol::session::{
    ChildCustomization, Customization, CustomizationUpdated, CustomizationsChanged,
    McpServerCustomization, SessionAction,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::customization::mcp_servers;
use crate::host::Host;
use crate::host::effect::{Effect, Effects, ResponseBody};
use crate::host::error::RequestFailure;
use crate::host::input::ConnectionId;
use crate::tools::mcp::driver::{McpCommand, McpForward};
use crate::tools::mcp::server_channel;

/// A message of a client to an MCP server.
#[derive(Clone)]
pub struct McpClientMessage {
    /// The `mcp:` channel of the server.
    pub channel: Uri,
    /// The method name in MCP.
    pub method: String,
    /// The parameters, without the channel.
    pub params: Object,
}

/// Omits the parameters, so that they never reach the log.
impl std::fmt::Debug for McpClientMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpClientMessage")
            .field("channel", &self.channel)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// Returns `true` if a channel is that of an MCP server.
#[must_use]
pub fn is_server_channel(channel: &str) -> bool {
    channel.starts_with("mcp:")
}

impl Host {
    /// Forwards a message of a client to an MCP server. The driver decides which methods are
    /// allowed.
    pub(crate) fn forward_to_server(
        &mut self,
        connection: ConnectionId,
        id: Option<RequestId>,
        message: McpClientMessage,
        out: &mut Effects,
    ) {
        let passed = self.try_forward(connection, id.as_ref(), message, out);
        if let (Some(id), Err(error)) = (id, passed) {
            out.respond_error(connection, &id, error);
        }
    }

    fn try_forward(
        &mut self,
        connection: ConnectionId,
        id: Option<&RequestId>,
        message: McpClientMessage,
        out: &mut Effects,
    ) -> Result<(), RpcError> {
        if self.clients.client_of(connection).is_none() {
            return Err(RequestFailure::NotInitialized.into());
        }
        self.check_mcp_scope(connection)?;
        if !self.supports_apps(connection) {
            let reason = "`capabilities.mcpApps` was not declared";
            return Err(RpcError::new(ErrorCode::MethodNotFound, reason));
        }
        let unknown = || RequestFailure::UnknownChannel(message.channel.clone());
        let (session, server) = self.find_server_at(&message.channel).ok_or_else(unknown)?;
        let McpClientMessage { method, params, .. } = message;
        let job = match id {
            Some(id) => McpCommand::ForwardRequest(Box::new(McpForward {
                connection,
                id: id.clone(),
                session,
                server,
                method,
                params,
            })),
            None => McpCommand::ForwardNotification {
                session,
                server,
                method,
                params,
            },
        };
        out.push(Effect::Mcp(Box::new(job)));
        Ok(())
    }

    /// Finds the server with this channel. A server has a channel only while it is ready.
    pub(crate) fn find_server_at(&self, channel: &Uri) -> Option<(Uri, CustomizationId)> {
        self.customizations.sessions().find_map(|session| {
            let mut servers = mcp_servers(self.session(session)?);
            let found = servers.find(|found| found.server.channel.as_ref() == Some(channel))?;
            Some((session.clone(), found.server.base.id.clone()))
        })
    }

    /// Sends the response of a server to the client, unless the connection has been closed.
    pub(crate) fn handle_forward_answered(
        &self,
        connection: ConnectionId,
        id: &RequestId,
        answer: Result<Json, RpcError>,
        out: &mut Effects,
    ) {
        if self.clients.connections.contains_key(&connection) {
            match answer {
                Ok(answer) => {
                    out.respond(connection, id, ResponseBody::McpResult(Box::new(answer)))
                }
                Err(error) => out.respond_error(connection, id, error),
            }
        }
    }

    /// Forwards a notification of a server to the subscribers of the session that support MCP
    /// Apps (MCP-21).
    pub(crate) fn publish_server_notification(
        &self,
        session: &Uri,
        server: &CustomizationId,
        method: String,
        mut params: Object,
        out: &mut Effects,
    ) {
        let subscribers = self
            .channels
            .get(session)
            .map(|channel| &channel.subscribers);
        let to = subscribers.into_iter().flat_map(|all| all.keys().copied());
        let to: Vec<_> = to.filter(|to| self.supports_apps(*to)).collect();
        if !to.is_empty() {
            let channel = server_channel(session, server);
            params.insert("channel".to_owned(), Json::from(channel.as_str()));
            out.push(Effect::ForwardMcpNotification { method, params, to });
        }
    }

    pub(crate) fn supports_apps(&self, connection: ConnectionId) -> bool {
        let client = self.clients.client_of(connection);
        let client = client.and_then(|client| self.clients.clients.get(client));
        client.is_some_and(|client| client.record.capabilities.mcp_apps.is_some())
    }
}

/// Returns an action without the fields that only clients with MCP Apps receive; `None` if it
/// has no such fields.
#[must_use]
pub fn strip_apps_from_action(envelope: &ActionEnvelope) -> Option<ActionEnvelope> {
    let Action::Session(action) = &*envelope.action else {
        return None;
    };
    let hidden = match action {
        SessionAction::McpServerStateChanged(changed) => {
            changed.channel.as_ref()?;
            let mut changed = changed.clone();
            changed.channel = None;
            SessionAction::McpServerStateChanged(changed)
        }
        SessionAction::CustomizationUpdated(updated) => {
            let customization = Arc::new(strip_apps(&updated.customization)?);
            SessionAction::CustomizationUpdated(CustomizationUpdated { customization })
        }
        SessionAction::CustomizationsChanged(changed) => {
            let customizations = strip_apps_from_list(&changed.customizations)?;
            SessionAction::CustomizationsChanged(CustomizationsChanged { customizations })
        }
        SessionAction::Ready(_)
        | SessionAction::CreationFailed(_)
        | SessionAction::ChatAdded(_)
        | SessionAction::ChatRemoved(_)
        | SessionAction::ChatUpdated(_)
        | SessionAction::ChatsReordered(_)
        | SessionAction::DefaultChatChanged(_)
        | SessionAction::TitleChanged(_)
        | SessionAction::ServerToolsChanged(_)
        | SessionAction::ActiveClientSet(_)
        | SessionAction::ActiveClientRemoved(_)
        | SessionAction::WorkingDirectorySet(_)
        | SessionAction::WorkingDirectoryRemoved(_)
        | SessionAction::WorkingDirectoryReplaced(_)
        | SessionAction::InputNeededSet(_)
        | SessionAction::InputNeededRemoved(_)
        | SessionAction::CustomizationToggled(_)
        | SessionAction::CustomizationRemoved(_)
        | SessionAction::McpServerStartRequested(_)
        | SessionAction::McpServerStopRequested(_)
        | SessionAction::McpServerBackgroundRequested(_)
        | SessionAction::IsReadChanged(_)
        | SessionAction::IsArchivedChanged(_)
        | SessionAction::ActivityChanged(_)
        | SessionAction::ChangesetsChanged(_)
        | SessionAction::ConfigChanged(_)
        | SessionAction::MetaChanged(_) => return None,
    };
    let mut envelope = envelope.clone();
    envelope.action = Arc::new(hidden.into());
    Some(envelope)
}

/// Removes the same fields from a state.
pub fn strip_apps_from_state(state: &mut ChannelState) {
    if let ChannelState::Session(session) = state
        && let Some(list) = session
            .customizations
            .as_ref()
            .and_then(strip_apps_from_list)
    {
        Arc::make_mut(session).customizations = Some(list);
    }
}

type CustomizationList = agenthost_protocol::list::List<Customization>;

fn strip_apps_from_list(list: &CustomizationList) -> Option<CustomizationList> {
    let plain: Vec<_> = list.items().map(strip_apps).collect();
    if plain.iter().all(Option::is_none) {
        return None;
    }
    let all = list.items().zip(plain);
    let all = all.map(|(shown, plain)| Arc::new(plain.unwrap_or_else(|| shown.clone())));
    Some(all.collect())
}

/// Returns a customization without these fields; `None` if it has none.
fn strip_apps(shown: &Customization) -> Option<Customization> {
    let has =
        |server: &McpServerCustomization| server.channel.is_some() || server.mcp_app.is_some();
    let top = matches!(shown, Customization::McpServer(server) if has(server));
    let mut children = shown.children().into_iter().flatten();
    let inside =
        children.any(|child| matches!(child, ChildCustomization::McpServer(server) if has(server)));
    if !top && !inside {
        return None;
    }
    let hide = |server: &mut McpServerCustomization| {
        server.channel = None;
        server.mcp_app = None;
    };
    let mut plain = shown.clone();
    if let Customization::McpServer(server) = &mut plain {
        hide(server);
    }
    for child in plain.children_mut().into_iter().flatten() {
        if let ChildCustomization::McpServer(server) = child {
            hide(server);
        }
    }
    Some(plain)
}
