//! Customizations that come and go, MCP servers that start and fail, and agents that call client
//! tools.

use agenthost_core::customization::driver::{
    CustomizationCommand, CustomizationEvent, HookDenial, PreparationError, PreparedTurn, QueryId,
    ResourceQuery,
};
use agenthost_core::tools::mcp::driver::{GatewayCallId, McpCommand, McpEvent};
use agenthost_core::tools::tool_use::ToolHookPhase;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::Customization;
use agenthost_protocol::wire;

use super::*;

impl Simulation {
    /// Answers most commands for customizations and MCP servers, and adds random events.
    pub(super) fn customize(&mut self) {
        if let Some(errand) = self.test_host.customize.pop_front() {
            match self.chance.chance(0.7) {
                true => self.answer_command(&errand),
                false => self.test_host.customize.push_back(errand),
            }
        }
        if let Some(errand) = self.test_host.tools.pop_front() {
            match self.chance.chance(0.7) {
                true => self.answer_tools(&errand),
                false => self.test_host.tools.push_back(errand),
            }
        }
        if self.chance.chance(0.15) {
            let session = uri(self.chance.pick(&["s1", "s2", "s3"]).unwrap());
            let event = self.customization_event();
            self.test_host.step(Input::Customization { session, event });
        }
        if self.chance.chance(0.1) {
            self.tool_event();
        }
        if self.chance.chance(0.3) {
            self.time_out_announcements();
        }
    }

    fn customization_event(&mut self) -> CustomizationEvent {
        match self.chance.rng.u32(0..12) {
            0..3 => {
                let mut all: Vec<_> = (0..self.chance.rng.usize(0..3))
                    .map(|_| self.customization())
                    .collect();
                all.dedup_by(|one, other| one.id() == other.id());
                CustomizationEvent::CustomizationsFound { all }
            }
            3..7 => CustomizationEvent::CustomizationUpdated(Box::new(self.customization())),
            7..9 => CustomizationEvent::CustomizationRemoved(self.customization_id()),
            9..11 => CustomizationEvent::ToolHooksChanged {
                phases: [
                    ToolHookPhase::Before,
                    ToolHookPhase::After,
                    ToolHookPhase::Failed,
                ]
                .into_iter()
                .filter(|_| self.chance.chance(0.6))
                .collect(),
            },
            _ => CustomizationEvent::ResourceRequested {
                id: QueryId(1),
                client: (*self.chance.pick(&["a", "b"]).unwrap()).into(),
                query: ResourceQuery::List(Uri::from("virtual:/x")),
            },
        }
    }

    fn customization_id(&mut self) -> CustomizationId {
        format!("CustomizationId-{}", self.chance.rng.u32(0..3))
            .as_str()
            .into()
    }

    fn customization(&mut self) -> Customization {
        let id = self.customization_id();
        // The customization driver never assigns an id twice.
        let child = format!("{id}-server");
        let server = json!({"type": "mcpServer", "id": child, "uri": "file:///m", "name": "m", "state": {"kind": "ready"}});
        let plugin = json!({"type": "plugin", "id": id, "uri": format!("file:///{id}"), "name": "p", "children": [server]});
        let top = json!({"type": "mcpServer", "id": id, "uri": "file:///m", "name": "m", "state": {"kind": "stopped"}});
        let folder = json!({"type": "directory", "id": id, "uri": "file:///d", "name": "d", "enabled": true, "contents": "rule", "writable": false});
        let any = [plugin, top, folder];
        let any = self.chance.pick(&any).unwrap();
        wire::from_str(&any.to_string()).unwrap()
    }

    fn answer_command(&mut self, errand: &CustomizationCommand) {
        let (session, event) = match errand {
            CustomizationCommand::Track { session, .. } => (session, self.customization_event()),
            CustomizationCommand::Prepare(preparation) => {
                let refused = self.chance.chance(0.1);
                let outcome = if refused {
                    Err(PreparationError::Denied("no".to_owned()))
                } else {
                    Ok(PreparedTurn::default())
                };
                let prepared = CustomizationEvent::TurnPrepared {
                    chat: preparation.chat.clone(),
                    turn: preparation.turn.clone(),
                    outcome: Box::new(outcome),
                };
                (&preparation.session, prepared)
            }
            CustomizationCommand::CheckTool {
                id: ticket,
                tool_use: tool,
            } => {
                let checked = CustomizationEvent::ToolChecked {
                    id: *ticket,
                    verdict: match self.chance.chance(0.3) {
                        true => Err(HookDenial::Denied("no".to_owned())),
                        false => Ok(()),
                    },
                };
                (&tool.session, checked)
            }
            _ => return,
        };
        let session = session.clone();
        self.test_host.step(Input::Customization { session, event });
    }

    fn answer_tools(&mut self, errand: &McpCommand) {
        let McpCommand::Start {
            session, server, ..
        } = errand
        else {
            return;
        };
        let (session, server) = (session.clone(), server.clone());
        let event = match self.chance.rng.u32(0..3) {
            0 => McpEvent::ServerStopped { server },
            1 => McpEvent::ServerFailed {
                server,
                error: agenthost_protocol::common::ErrorInfo::new("test", "it broke"),
            },
            _ => McpEvent::ServerReady {
                server,
                apps: wire::from_str(r#"{"capabilities": {}}"#).unwrap(),
            },
        };
        self.test_host.step(Input::Mcp { session, event });
    }

    fn tool_event(&mut self) {
        let name = *self.chance.pick(&["s1", "s2", "s3"]).unwrap();
        let session = uri(name);
        let open: Vec<_> = self.test_host.called.iter().copied().collect();
        let abandoned = self.chance.pick(&open).copied();
        let event = match abandoned {
            Some(call) if self.chance.chance(0.2) => {
                self.test_host.called.remove(&call);
                McpEvent::CallAbandoned { call }
            }
            _ => {
                let Some(ChannelState::Session(state)) = self.test_host.log.channels.get(&session)
                else {
                    return;
                };
                let tools = state.active_clients.iter().flat_map(|client| &client.tools);
                let tools: Vec<_> = tools.map(|tool| tool.name.clone()).collect();
                let Some(tool) = self.chance.pick(&tools).cloned() else {
                    return;
                };
                self.requests += 1;
                let call = GatewayCallId(self.requests);
                self.test_host.called.insert(call);
                let (chat, input) = (uri(&format!("{name}.chat")), "{}".to_owned());
                match self.chance.chance(0.4) {
                    true => McpEvent::ApprovalRequested {
                        chat,
                        call,
                        tool,
                        input,
                    },
                    false => McpEvent::ClientToolCalled {
                        chat,
                        call,
                        tool,
                        input,
                    },
                }
            }
        };
        self.test_host.step(Input::Mcp { session, event });
    }

    fn time_out_announcements(&mut self) {
        if let Some(call) = self.test_host.untold.pop_front() {
            self.test_host
                .step(Input::CallAnnouncementTimedOut { call });
        }
    }

    /// Completes all preparations that turns wait for.
    pub(super) fn end_preparations(&mut self) {
        // One may lead to another.
        loop {
            if !self.test_host.untold.is_empty() {
                self.time_out_announcements();
            } else if let Some(errand) = self.test_host.customize.pop_front() {
                self.answer_command(&errand);
            } else if let Some(errand) = self.test_host.tools.pop_front() {
                self.answer_tools(&errand);
            } else {
                return;
            }
        }
    }
}
