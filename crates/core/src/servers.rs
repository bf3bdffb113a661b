//! The servers of tools of sessions: when they run, and what is shown of it.
//!
//! A server starts when an agent comes for its tools, with the first turn that
//! could use it, or when a person says so; turns wait for it (MCP-3). What it
//! says and who may hear that is in `side_channel`, what agents call tools of
//! clients for in `calls`.

mod allowed;
mod calls;
mod complaints;
mod retries;
mod tokens;

use agenthost_protocol::common::ToolDefinition;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{
    McpServerApps, McpServerStarting, McpServerState, McpServerStateChanged, ServerToolsChanged,
    SessionAction,
};
use agenthost_protocol::uri::Uri;

pub(crate) use calls::ToolCalls;
pub(crate) use retries::Failure;

use calls::{Called, refuse};
use complaints::holds;

use crate::agent::AgentCommand;
use crate::agent_content::clean_server_tools;
use crate::client_tools::client_tools;
use crate::customizations::{all_of, is_stopped, server, servers};
use crate::effect::{Effect, Effects};
use crate::env::Env;
use crate::host::Host;
use crate::tool_checks::pass;
use crate::tool_servers::{ServerTool, StartedBy, ToolErrand, ToolEvent};

/// Most tools of the servers of a session.
const TOOLS: usize = 2_000;

impl Host {
    /// Something happened to the servers of tools of a session.
    pub(crate) fn tools_told(
        &mut self,
        env: &Env,
        session: &Uri,
        event: ToolEvent,
        out: &mut Effects,
    ) {
        if !self.customizing.contains_key(session) {
            match event {
                ToolEvent::Called { call, .. } => refuse(call, "The session is over", out),
                ToolEvent::Calling { call, .. } => {
                    let reason = "The session is over".to_owned();
                    pass(session, call, Err(reason), out);
                }
                _ => {}
            }
            return;
        }
        match event {
            ToolEvent::Sought => self.tools_sought(session, out),
            ToolEvent::Ready { server, apps } => {
                self.note_ready(env, session, &server);
                self.show_apps(session, &server, apps, out);
                self.server_is(session, &server, McpServerState::Ready, out);
            }
            ToolEvent::AuthRequired {
                server,
                requirement,
            } => {
                let state = McpServerState::AuthRequired(requirement);
                self.server_is(session, &server, state, out);
            }
            ToolEvent::Failed { server, error } => {
                self.server_failed(env, session, &server, error, out);
            }
            ToolEvent::Stopped { server } => {
                self.bar(session, &server);
                let state = self.state_at_rest(session, &server);
                self.server_is(session, &server, state, out);
            }
            ToolEvent::Complaint { server, about } => {
                self.server_complaint(session, &server, about, out);
            }
            ToolEvent::Tools { tools } => self.learn_tools(session, tools, out),
            ToolEvent::Called {
                chat,
                call,
                tool,
                input,
            } => {
                let session = session.clone();
                let called = Called {
                    session,
                    chat,
                    tool,
                    input,
                };
                self.tool_called(env, call, called, out);
            }
            ToolEvent::Calling {
                chat,
                call,
                tool,
                input,
            } => self.check_call(session, &chat, call, &tool, &input, out),
            ToolEvent::Abandoned { call } => {
                self.check_abandoned(call, out);
                self.tool_abandoned(env, call, out);
            }
            ToolEvent::CallNeedsToken {
                chat,
                tool,
                requirement,
            } => self.call_needs_token(session, &chat, &tool, requirement, out),
            ToolEvent::CallHasToken { chat, tool } => {
                self.call_has_token(session, &chat, &tool, out);
            }
            ToolEvent::Answered {
                connection,
                id,
                answer,
            } => self.server_answered(connection, &id, *answer, out),
            ToolEvent::Said {
                server,
                method,
                params,
            } => self.server_said(session, &server, method, params, out),
        }
    }

    /// An agent came for tools. It hears of them when all that is there has been
    /// found.
    fn tools_sought(&mut self, session: &Uri, out: &mut Effects) {
        if let Some(known) = self.customizing.get_mut(session) {
            known.sought = true;
            self.start_sought_servers(session, out);
        }
    }

    /// Starts what an agent came for, once it is known what there is.
    pub(crate) fn start_sought_servers(&mut self, session: &Uri, out: &mut Effects) {
        let known = self.customizing.get(session);
        if known.is_some_and(|known| known.sought && known.found) {
            self.start_servers(session, out);
            self.offer_to_gateway(session, out);
        }
    }

    /// Starts the servers that could be of use and were never started; the next
    /// message waits for them. What the host remembers of an earlier run may not
    /// be there any more, so that it is there has to be known.
    pub(crate) fn start_servers(&mut self, session: &Uri, out: &mut Effects) {
        let (Some(state), Some(known)) = (self.session(session), self.customizing.get(session))
        else {
            return;
        };
        if !known.found {
            return;
        }
        let idle = servers(state).filter(|found| found.is_on && is_stopped(found.server));
        let idle = idle.map(|found| found.server.base.id.clone());
        let held = |id: &CustomizationId| known.halted.contains(id) || known.barred.contains(id);
        let idle: Vec<_> = idle.filter(|id| !held(id)).collect();
        for server in idle {
            self.start_for_turn(session, server, out);
        }
    }

    /// Starts a server; the next message waits for it.
    fn start_for_turn(&mut self, session: &Uri, server: CustomizationId, out: &mut Effects) {
        let starting = McpServerStarting {
            blocking: Some(true),
        };
        self.server_is(session, &server, McpServerState::Starting(starting), out);
        self.start_server(session, server, StartedBy::Turn, out);
    }

    /// A person wants a server started, or started again (MCP-5).
    pub(crate) fn server_wanted(
        &mut self,
        session: &Uri,
        server: &CustomizationId,
        out: &mut Effects,
    ) {
        if let Some(known) = self.customizing.get_mut(session) {
            known.halted.remove(server);
            known.barred.remove(server);
            known.failures.remove(server);
            self.start_server(session, server.clone(), StartedBy::Person, out);
        }
    }

    fn start_server(
        &mut self,
        session: &Uri,
        server: CustomizationId,
        by: StartedBy,
        out: &mut Effects,
    ) {
        if let Some(known) = self.customizing.get_mut(session) {
            known.servers.insert(server.clone());
        }
        out.push(Effect::Tools(Box::new(ToolErrand::Start {
            session: session.clone(),
            server,
            by,
        })));
    }

    /// A person does not want a server to run.
    pub(crate) fn server_unwanted(
        &mut self,
        session: &Uri,
        server: &CustomizationId,
        out: &mut Effects,
    ) {
        if let Some(known) = self.customizing.get_mut(session) {
            known.halted.insert(server.clone());
            self.stop_server(session, server.clone(), out);
            self.prompt_unblocked(session, out);
        }
    }

    fn stop_server(&self, session: &Uri, server: CustomizationId, out: &mut Effects) {
        out.push(Effect::Tools(Box::new(ToolErrand::Stop {
            session: session.clone(),
            server,
        })));
    }

    /// A server that was to start has stopped: it may not run as things are,
    /// and nothing is gained by trying again and again.
    fn bar(&mut self, session: &Uri, id: &CustomizationId) {
        let state = self.session(session);
        let found = state.and_then(|state| server(state, id));
        let starting =
            found.is_some_and(|found| matches!(found.server.state, McpServerState::Starting(_)));
        if starting && let Some(known) = self.customizing.get_mut(session) {
            known.barred.insert(id.clone());
        }
    }

    /// Stops servers that are off now, or gone (CUS-16).
    pub(crate) fn stop_unwanted_servers(&mut self, session: &Uri, out: &mut Effects) {
        let (Some(state), Some(known)) = (self.session(session), self.customizing.get(session))
        else {
            return;
        };
        let mut unwanted = Vec::new();
        for id in &known.servers {
            let found = server(state, id);
            let gone = found.is_none();
            let off = found.is_some_and(|found| !found.is_on && !is_stopped(found.server));
            if gone || off {
                unwanted.push((id.clone(), gone));
            }
        }
        for (server, gone) in unwanted {
            self.stop_server(session, server.clone(), out);
            if let Some(known) = self.customizing.get_mut(session) {
                known.failures.remove(&server);
                if gone {
                    known.servers.remove(&server);
                    known.halted.remove(&server);
                    known.barred.remove(&server);
                    known.complaints.remove(&server);
                }
            }
            if !gone {
                self.server_is(session, &server, McpServerState::Stopped, out);
            }
        }
    }

    /// What ran when the host stopped does not run any more.
    pub(crate) fn stop_old_servers(&mut self, session: &Uri, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        let old = servers(state).filter(|found| !is_stopped(found.server));
        let old: Vec<_> = old.map(|found| found.server.base.id.clone()).collect();
        for server in old {
            self.server_is(session, &server, McpServerState::Stopped, out);
        }
    }

    /// Nobody needs the servers of a session any more.
    pub(crate) fn end_servers(&mut self, session: &Uri, out: &mut Effects) {
        self.stop_old_servers(session, out);
        let session = session.clone();
        out.push(Effect::Tools(Box::new(ToolErrand::End { session })));
    }

    /// Whether turns of a session wait for a server (MCP-3).
    pub(crate) fn is_blocked(&self, session: &Uri) -> bool {
        let blocks = |state: &McpServerState| match state {
            McpServerState::Starting(starting) => starting.blocking == Some(true),
            _ => false,
        };
        let state = self.session(session);
        let mut servers = state.into_iter().flat_map(servers);
        servers.any(|found| blocks(&found.server.state))
    }

    /// Shows the state that a server is in, with its channel while it is ready
    /// (MCP-2, MCP-17).
    fn server_is(
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
            channel: ready.then(|| channel_of(session, id)),
        }));
        self.originate(session, changed, out);
        if !ready {
            self.server_complaint(session, id, None, out);
        }
        self.prompt_unblocked(session, out);
    }

    /// Shows what the apps of a server may do, where it stands.
    fn show_apps(
        &mut self,
        session: &Uri,
        id: &CustomizationId,
        apps: McpServerApps,
        out: &mut Effects,
    ) {
        let Some(state) = self.session(session) else {
            return;
        };
        let Some(mut shown) = all_of(state).find(|one| holds(one, id)).cloned() else {
            return;
        };
        if let Some(server) = shown.server_mut(id) {
            server.mcp_app = Some(apps);
        }
        self.publish(session, shown, out);
    }

    /// The tools of servers are others now.
    fn learn_tools(&mut self, session: &Uri, mut tools: Vec<ServerTool>, out: &mut Effects) {
        tools.truncate(TOOLS);
        clean_server_tools(&mut tools);
        let Some(known) = self.customizing.get_mut(session) else {
            return;
        };
        let before = std::mem::replace(&mut known.server_tools, tools.clone());
        self.show_tools(session, &before, &tools, out);
        if self.opened.contains(session) {
            self.command(session, AgentCommand::ServerTools { tools }, out);
        }
    }

    /// Shows the tools of servers beside those that the agent has itself
    /// (SES-16).
    fn show_tools(
        &mut self,
        session: &Uri,
        before: &[ServerTool],
        now: &[ServerTool],
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

    /// Tells what tools the clients of a session carry out.
    pub(crate) fn offer_to_gateway(&self, session: &Uri, out: &mut Effects) {
        if self.customizing.contains_key(session)
            && let Some(state) = self.session(session)
        {
            out.push(Effect::Tools(Box::new(ToolErrand::ClientTools {
                session: session.clone(),
                tools: client_tools(state),
            })));
        }
    }
}

/// The channel of a server: one for each, and the same whenever it is ready.
pub(crate) fn channel_of(session: &Uri, server: &CustomizationId) -> Uri {
    let hash = crate::contents::short_hash(format!("{session}\n{server}").as_bytes());
    Uri::from(format!("mcp://agenthost/{hash}"))
}
