//! The lifecycle and the published state of a session's MCP servers.
//!
//! A server starts when an agent requests its tools, with the first turn that could use it, or
//! when the user starts it. Turns wait for it (MCP-3). Messages between clients and servers are
//! in `app_channel`, calls of client tools in `gateway_calls`.

pub(crate) mod app_channel;
pub(crate) mod auth;
pub mod driver;
pub(crate) mod problems;
pub(crate) mod retry;
pub(crate) mod tool_filter;
pub mod transport;

use agenthost_protocol::common::ToolDefinition;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{
    McpServerApps, McpServerStarting, McpServerState, McpServerStateChanged, ServerToolsChanged,
    SessionAction,
};
use agenthost_protocol::uri::Uri;

pub(crate) use retry::ServerFailure;

use crate::tools::gateway_calls::{GatewayCall, reject_gateway_call};
use problems::contains_server;

use crate::agent::AgentCommand;
use crate::agent::content::clean_server_tools;
use crate::customization::driver::HookDenial;
use crate::customization::{all_customizations, find_server, is_stopped, mcp_servers};
use crate::host::Host;
use crate::host::effect::{Effect, Effects};
use crate::host::step::Env;
use crate::tools::client_tools::client_tools;
use crate::tools::hook_checks::resolve_gateway_call;
use crate::tools::mcp::driver::{McpCommand, McpEvent, McpTool, StartReason};

/// Maximum number of tools of all servers of a session.
const MAX_MCP_TOOLS: usize = 2_000;

impl Host {
    /// Handles an event of the MCP servers of a session.
    pub(crate) fn handle_mcp_event(
        &mut self,
        env: &Env,
        session: &Uri,
        event: McpEvent,
        out: &mut Effects,
    ) {
        if !self.customizations.contains(session) {
            reject_late_event(session, event, out);
            return;
        }
        match event {
            McpEvent::ToolsRequested => self.handle_tools_requested(session, out),
            McpEvent::ServerReady { server, apps } => {
                self.record_ready(env, session, &server);
                self.publish_server_apps(session, &server, apps, out);
                self.set_server_state(session, &server, McpServerState::Ready, out);
            }
            McpEvent::ServerAuthRequired {
                server,
                requirement,
            } => {
                let state = McpServerState::AuthRequired(requirement);
                self.set_server_state(session, &server, state, out);
            }
            McpEvent::ServerFailed { server, error } => {
                self.handle_server_failed(env, session, &server, error, out);
            }
            McpEvent::ServerStopped { server } => {
                self.block_server(session, &server);
                let state = self.stopped_state(session, &server);
                self.set_server_state(session, &server, state, out);
            }
            McpEvent::ToolListProblem {
                server,
                problem: about,
            } => {
                self.set_server_problem(session, &server, about, out);
            }
            McpEvent::ToolsChanged { tools } => self.set_mcp_tools(session, tools, out),
            McpEvent::ClientToolCalled {
                chat,
                call,
                tool,
                input,
            } => {
                let session = session.clone();
                let called = GatewayCall {
                    session,
                    chat,
                    tool,
                    input,
                };
                self.handle_client_tool_called(env, call, called, out);
            }
            McpEvent::ApprovalRequested {
                chat,
                call,
                tool,
                input,
            } => self.check_gateway_call(session, &chat, call, &tool, &input, out),
            McpEvent::CallAbandoned { call } => {
                self.drop_abandoned_check(call, out);
                self.handle_call_abandoned(env, call, out);
            }
            McpEvent::CallAuthRequired {
                chat,
                tool,
                requirement,
            } => self.require_call_auth(session, &chat, &tool, requirement, out),
            McpEvent::CallAuthorized { chat, tool } => {
                self.call_authorized(session, &chat, &tool, out);
            }
            McpEvent::ForwardAnswered {
                connection,
                id,
                result: answer,
            } => self.handle_forward_answered(connection, &id, *answer, out),
            McpEvent::ServerNotified {
                server,
                method,
                params,
            } => self.publish_server_notification(session, &server, method, params, out),
        }
    }

    /// Handles an agent's request for tools. The tools follow once all customizations were
    /// discovered.
    fn handle_tools_requested(&mut self, session: &Uri, out: &mut Effects) {
        if let Some(known) = self.customizations.get_mut(session) {
            known.tools_requested = true;
            self.start_requested_servers(session, out);
        }
    }

    /// Starts the servers for an agent that has requested tools, once all customizations were
    /// discovered.
    pub(crate) fn start_requested_servers(&mut self, session: &Uri, out: &mut Effects) {
        let known = self.customizations.get(session);
        if known.is_some_and(|known| known.tools_requested && known.is_discovered) {
            self.start_servers(session, out);
            self.sync_gateway_tools(session, out);
        }
    }

    /// Starts the enabled servers that are stopped. The next prompt waits for them. Does
    /// nothing before discovery, because servers of an earlier run may no longer exist.
    pub(crate) fn start_servers(&mut self, session: &Uri, out: &mut Effects) {
        let (Some(state), Some(known)) = (self.session(session), self.customizations.get(session))
        else {
            return;
        };
        if !known.is_discovered {
            return;
        }
        let idle = mcp_servers(state).filter(|found| found.is_on && is_stopped(found.server));
        let idle = idle.map(|found| found.server.base.id.clone());
        let held = |id: &CustomizationId| {
            known.stopped_by_user.contains(id) || known.blocked_as_untrusted.contains(id)
        };
        let idle: Vec<_> = idle.filter(|id| !held(id)).collect();
        for server in idle {
            self.start_for_turn(session, server, out);
        }
    }

    /// Starts a server, for which the next prompt waits.
    fn start_for_turn(&mut self, session: &Uri, server: CustomizationId, out: &mut Effects) {
        let starting = McpServerStarting {
            blocking: Some(true),
        };
        self.set_server_state(session, &server, McpServerState::Starting(starting), out);
        self.start_server(session, server, StartReason::Turn, out);
    }

    /// Starts or restarts a server for the user (MCP-5).
    pub(crate) fn start_by_user(
        &mut self,
        session: &Uri,
        server: &CustomizationId,
        out: &mut Effects,
    ) {
        if let Some(known) = self.customizations.get_mut(session) {
            known.stopped_by_user.remove(server);
            known.blocked_as_untrusted.remove(server);
            known.failures.remove(server);
            self.start_server(session, server.clone(), StartReason::User, out);
        }
    }

    fn start_server(
        &mut self,
        session: &Uri,
        server: CustomizationId,
        reason: StartReason,
        out: &mut Effects,
    ) {
        if let Some(known) = self.customizations.get_mut(session) {
            known.started_servers.insert(server.clone());
        }
        out.push(Effect::Mcp(Box::new(McpCommand::Start {
            session: session.clone(),
            server,
            reason,
        })));
    }

    /// Stops a server for the user.
    pub(crate) fn stop_by_user(
        &mut self,
        session: &Uri,
        server: &CustomizationId,
        out: &mut Effects,
    ) {
        if let Some(known) = self.customizations.get_mut(session) {
            known.stopped_by_user.insert(server.clone());
            self.stop_server(session, server.clone(), out);
            self.send_unblocked_prompts(session, out);
        }
    }

    fn stop_server(&self, session: &Uri, server: CustomizationId, out: &mut Effects) {
        out.push(Effect::Mcp(Box::new(McpCommand::Stop {
            session: session.clone(),
            server,
        })));
    }

    /// Blocks a server that has stopped while it was starting: it may not run now, and retries
    /// would not help.
    fn block_server(&mut self, session: &Uri, id: &CustomizationId) {
        let state = self.session(session);
        let found = state.and_then(|state| find_server(state, id));
        let starting =
            found.is_some_and(|found| matches!(found.server.state, McpServerState::Starting(_)));
        if starting && let Some(known) = self.customizations.get_mut(session) {
            known.blocked_as_untrusted.insert(id.clone());
        }
    }

    /// Stops servers that were disabled or removed (CUS-16).
    pub(crate) fn stop_disabled_servers(&mut self, session: &Uri, out: &mut Effects) {
        let (Some(state), Some(known)) = (self.session(session), self.customizations.get(session))
        else {
            return;
        };
        let mut unwanted = Vec::new();
        for id in &known.started_servers {
            let found = find_server(state, id);
            let gone = found.is_none();
            let off = found.is_some_and(|found| !found.is_on && !is_stopped(found.server));
            if gone || off {
                unwanted.push((id.clone(), gone));
            }
        }
        for (server, gone) in unwanted {
            self.stop_server(session, server.clone(), out);
            if let Some(known) = self.customizations.get_mut(session) {
                known.failures.remove(&server);
                if gone {
                    known.started_servers.remove(&server);
                    known.stopped_by_user.remove(&server);
                    known.blocked_as_untrusted.remove(&server);
                    known.problems.remove(&server);
                }
            }
            if !gone {
                self.set_server_state(session, &server, McpServerState::Stopped, out);
            }
        }
    }

    /// Marks all servers of a session as stopped, because those of an earlier run no longer
    /// run.
    pub(crate) fn reset_server_states(&mut self, session: &Uri, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        let old = mcp_servers(state).filter(|found| !is_stopped(found.server));
        let old: Vec<_> = old.map(|found| found.server.base.id.clone()).collect();
        for server in old {
            self.set_server_state(session, &server, McpServerState::Stopped, out);
        }
    }

    /// Stops the servers of a session that is no longer tracked.
    pub(crate) fn end_servers(&mut self, session: &Uri, out: &mut Effects) {
        self.reset_server_states(session, out);
        let session = session.clone();
        out.push(Effect::Mcp(Box::new(McpCommand::EndSession { session })));
    }

    /// Returns `true` if turns of a session wait for a server (MCP-3).
    pub(crate) fn waits_for_servers(&self, session: &Uri) -> bool {
        let blocks = |state: &McpServerState| matches!(state, McpServerState::Starting(starting) if starting.blocking == Some(true));
        let state = self.session(session);
        let mut servers = state.into_iter().flat_map(mcp_servers);
        servers.any(|found| blocks(&found.server.state))
    }

    /// Publishes the state of a server, with its channel while it is ready (MCP-2, MCP-17).
    fn set_server_state(
        &mut self,
        session: &Uri,
        id: &CustomizationId,
        state: McpServerState,
        out: &mut Effects,
    ) {
        let ready = state == McpServerState::Ready;
        let changed = SessionAction::McpServerStateChanged(Box::new(McpServerStateChanged {
            id: id.clone(),
            state,
            channel: ready.then(|| server_channel(session, id)),
        }));
        self.originate(session, changed, out);
        if !ready {
            self.set_server_problem(session, id, None, out);
        }
        self.send_unblocked_prompts(session, out);
    }

    /// Publishes the app capabilities of a server in its customization.
    fn publish_server_apps(
        &mut self,
        session: &Uri,
        id: &CustomizationId,
        apps: McpServerApps,
        out: &mut Effects,
    ) {
        let Some(state) = self.session(session) else {
            return;
        };
        let Some(mut shown) = all_customizations(state)
            .find(|one| contains_server(one, id))
            .cloned()
        else {
            return;
        };
        if let Some(server) = shown.server_mut(id) {
            server.mcp_app = Some(apps);
        }
        self.publish_customization(session, shown, out);
    }

    /// Replaces the tools of the MCP servers of a session.
    fn set_mcp_tools(&mut self, session: &Uri, mut tools: Vec<McpTool>, out: &mut Effects) {
        tools.truncate(MAX_MCP_TOOLS);
        clean_server_tools(&mut tools);
        let Some(known) = self.customizations.get_mut(session) else {
            return;
        };
        let before = std::mem::replace(&mut known.mcp_tools, tools.clone());
        self.publish_tools(session, &before, &tools, out);
        if self.sessions.is_agent_open(session) {
            self.send_agent_command(session, AgentCommand::SetMcpTools { tools }, out);
        }
    }

    /// Publishes the tools of MCP servers in addition to the agent's own (SES-16).
    fn publish_tools(
        &mut self,
        session: &Uri,
        before: &[McpTool],
        now: &[McpTool],
        out: &mut Effects,
    ) {
        let Some(state) = self.session(session) else {
            return;
        };
        let shown = state.server_tools.iter().flatten();
        let own = shown.filter(|tool| !before.iter().any(|gone| gone.name == tool.name));
        let added = now.iter().map(|tool| ToolDefinition {
            title: tool.title.clone(),
            description: tool.description.clone(),
            ..ToolDefinition::new(&tool.name)
        });
        let tools: Vec<_> = own.cloned().chain(added).collect();
        if state.server_tools.as_ref() != Some(&tools) {
            let changed = ServerToolsChanged { tools };
            self.originate(session, SessionAction::ServerToolsChanged(changed), out);
        }
    }

    /// Sends the client tools of a session to the gateway.
    pub(crate) fn sync_gateway_tools(&self, session: &Uri, out: &mut Effects) {
        if self.customizations.contains(session)
            && let Some(state) = self.session(session)
        {
            out.push(Effect::Mcp(Box::new(McpCommand::SetClientTools {
                session: session.clone(),
                tools: client_tools(state),
            })));
        }
    }
}

/// Returns the channel of a server: unique, and the same each time the server is ready.
pub(crate) fn server_channel(session: &Uri, server: &CustomizationId) -> Uri {
    let hash = crate::resource::content::short_hash(format!("{session}\n{server}").as_bytes());
    Uri::from(format!("mcp://agenthost/{hash}"))
}

/// Rejects the call of an event that arrived after the session had ended.
fn reject_late_event(session: &Uri, event: McpEvent, out: &mut Effects) {
    match event {
        McpEvent::ClientToolCalled { call, .. } => {
            reject_gateway_call(call, "the session has ended", out)
        }
        McpEvent::ApprovalRequested { call, .. } => {
            resolve_gateway_call(session, call, Err(HookDenial::SessionOver), out);
        }
        McpEvent::ToolsRequested
        | McpEvent::ServerReady { .. }
        | McpEvent::ServerAuthRequired { .. }
        | McpEvent::ServerFailed { .. }
        | McpEvent::ServerStopped { .. }
        | McpEvent::ToolListProblem { .. }
        | McpEvent::ToolsChanged { .. }
        | McpEvent::CallAbandoned { .. }
        | McpEvent::CallAuthRequired { .. }
        | McpEvent::CallAuthorized { .. }
        | McpEvent::ForwardAnswered { .. }
        | McpEvent::ServerNotified { .. } => {}
    }
}
