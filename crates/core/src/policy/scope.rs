//! Access scopes: the requests and actions that the device of a connection may send.
//!
//! The scope belongs to the connection, as the transport authenticated it. It is checked before
//! any other rule and before the quirks of a client, so that a refused message has no effect at
//! all.

use agenthost_protocol::action::Action;
use agenthost_protocol::rpc::ClientRequest;
use agenthost_protocol::session::{ActiveClient, SessionAction};
use agenthost_protocol::terminal::TerminalAction;

use crate::host::Host;
use crate::host::error::{Refusal, RequestFailure};
use crate::host::input::ConnectionId;

/// The permissions of a connection. Each scope includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessScope {
    /// Reads sessions, files and terminals, and changes nothing.
    Read,
    /// Does everything except for opening terminals and typing in them.
    Operate,
    /// Does everything. A peer with the token of the host has this scope.
    Terminal,
}

impl AccessScope {
    /// All scopes, the smallest first.
    pub const ALL: [AccessScope; 3] = [
        AccessScope::Read,
        AccessScope::Operate,
        AccessScope::Terminal,
    ];

    /// Returns the name of the scope, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            AccessScope::Read => "read",
            AccessScope::Operate => "operate",
            AccessScope::Terminal => "terminal",
        }
    }

    /// Returns the scope of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

impl std::fmt::Display for AccessScope {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A message that the scope of its connection does not permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{what}` needs the scope `{needed}`, and this device has the scope `{granted}`; \
     `agenthost pair --scope {needed}` pairs a device with more rights"
)]
pub struct ScopeViolation {
    /// The method of the request or the type of the action.
    pub what: &'static str,
    /// The smallest scope that permits the message.
    pub needed: AccessScope,
    /// The scope of the connection.
    pub granted: AccessScope,
}

impl Host {
    /// Checks that the scope of a connection permits a request.
    pub(crate) fn check_request_scope(
        &self,
        connection: ConnectionId,
        request: &ClientRequest,
    ) -> Result<(), RequestFailure> {
        let needed = scope_of_request(request);
        self.check_scope(connection, request.method(), needed)
            .map_err(RequestFailure::OutOfScope)
    }

    /// Checks that the scope of a connection permits an action.
    pub(crate) fn check_action_scope(
        &self,
        connection: ConnectionId,
        action: &Action,
    ) -> Result<(), Refusal> {
        let needed = scope_of_action(action);
        self.check_scope(connection, action.info().name, needed)
            .map_err(Refusal::OutOfScope)
    }

    /// Checks that the scope of a connection permits a message to an MCP server, which may
    /// call a tool.
    pub(crate) fn check_mcp_scope(&self, connection: ConnectionId) -> Result<(), RequestFailure> {
        self.check_scope(connection, "mcpMessage", AccessScope::Operate)
            .map_err(RequestFailure::OutOfScope)
    }

    /// Sets the display name of a device's client to the name that the user has given the
    /// device: all clients show it, so the device must not choose it.
    pub(crate) fn name_active_client(&self, connection: ConnectionId, active: &mut ActiveClient) {
        let entry = self.clients.connections.get(&connection);
        if let Some(name) = entry.and_then(|entry| entry.peer.device_name.as_ref()) {
            active.display_name = Some(name.clone());
        }
    }

    /// Sets the display name of a device's client in an action of that client.
    pub(crate) fn name_client_in_action(&self, connection: ConnectionId, action: &mut Action) {
        if let Action::Session(SessionAction::ActiveClientSet(set)) = action {
            self.name_active_client(connection, &mut set.active_client);
        }
    }

    pub(crate) fn check_scope(
        &self,
        connection: ConnectionId,
        what: &'static str,
        needed: AccessScope,
    ) -> Result<(), ScopeViolation> {
        let entry = self.clients.connections.get(&connection);
        let granted = entry.map_or(AccessScope::Read, |entry| entry.peer.scope);
        if granted >= needed {
            Ok(())
        } else {
            Err(ScopeViolation {
                what,
                needed,
                granted,
            })
        }
    }
}

/// Returns the smallest scope that permits a request. Requests that only concern the view of
/// the client itself need no more than `read`.
fn scope_of_request(request: &ClientRequest) -> AccessScope {
    match request {
        ClientRequest::Ping(_)
        | ClientRequest::Initialize(_)
        | ClientRequest::Reconnect(_)
        | ClientRequest::Subscribe(_)
        | ClientRequest::ListSessions(_)
        | ClientRequest::FetchTurns(_)
        | ClientRequest::ResolveSessionConfig(_)
        | ClientRequest::SessionConfigCompletions(_)
        | ClientRequest::Completions(_)
        | ClientRequest::CreateResourceWatch(_)
        | ClientRequest::ResourceRead(_)
        | ClientRequest::ResourceList(_)
        | ClientRequest::ResourceResolve(_)
        | ClientRequest::ListAutomationTriggerDefinitions(_)
        | ClientRequest::FetchAutomationRuns(_) => AccessScope::Read,
        ClientRequest::CreateSession(_)
        | ClientRequest::DisposeSession(_)
        | ClientRequest::CreateChat(_)
        | ClientRequest::DisposeChat(_)
        | ClientRequest::MoveChat(_)
        | ClientRequest::DisposeTerminal(_)
        | ClientRequest::InvokeChangesetOperation(_)
        | ClientRequest::ResourceRequest(_)
        | ClientRequest::ResourceWrite(_)
        | ClientRequest::ResourceCopy(_)
        | ClientRequest::ResourceDelete(_)
        | ClientRequest::ResourceMove(_)
        | ClientRequest::ResourceMkdir(_)
        | ClientRequest::Authenticate(_)
        | ClientRequest::RunAutomation(_) => AccessScope::Operate,
        ClientRequest::CreateTerminal(_) => AccessScope::Terminal,
    }
}

/// Returns the smallest scope that permits an action. Every action changes a state that all
/// clients share, also a draft or a read mark, so none is permitted with `read`.
fn scope_of_action(action: &Action) -> AccessScope {
    match action {
        Action::Terminal(
            TerminalAction::Input(_) | TerminalAction::Resized(_) | TerminalAction::Claimed(_),
        ) => AccessScope::Terminal,
        Action::Terminal(
            TerminalAction::TitleChanged(_)
            | TerminalAction::Cleared(_)
            | TerminalAction::Data(_)
            | TerminalAction::CwdChanged(_)
            | TerminalAction::Exited(_)
            | TerminalAction::CommandDetectionAvailable(_)
            | TerminalAction::CommandExecuted(_)
            | TerminalAction::CommandFinished(_),
        )
        | Action::Root(_)
        | Action::Session(_)
        | Action::Chat(_)
        | Action::Changeset(_)
        | Action::Annotations(_)
        | Action::ResourceWatch(_)
        | Action::Canvas(_)
        | Action::Automations(_)
        | Action::AutomationRun(_) => AccessScope::Operate,
    }
}
