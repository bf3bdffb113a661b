//! Helpers for the tests of MCP servers.

use std::path::Path;
use std::time::Duration;

use agenthost_core::agent::ClientTool;
use agenthost_core::tools::mcp::driver::{McpCommand, McpEvent, McpTool};
use agenthost_core::tools::mcp::transport::{McpServerSpec, McpTransport};
use agenthost_core::{AccessToken, Input, Principal, TokenKey};
use agenthost_mcp::{McpConfig, McpManager};
use agenthost_protocol::common::{McpAuthRequirement, ToolDefinition};
use agenthost_protocol::ids::{ClientId, CustomizationId};
use agenthost_protocol::session::McpServerApps;
use agenthost_protocol::uri::Uri;
use agenthost_testkit::acp_agent::agent_command;
use agenthost_testkit::mcp_server::SERVER_MODE_VARIABLE;
use tempfile::TempDir;
use tokio::sync::mpsc;

/// Longest time that a step may take.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// A manager of MCP servers, and its events.
pub(crate) struct McpHarness {
    pub(crate) servers: McpManager,
    pub(crate) events: mpsc::Receiver<Input>,
    /// Received events that the test has not waited for yet.
    pub(crate) other: Vec<(Uri, McpEvent)>,
    pub(crate) notes: TempDir,
}

pub(crate) fn session() -> Uri {
    Uri::new("ahp-session:/s1")
}

pub(crate) fn chat() -> Uri {
    Uri::new("ahp-chat:/c1")
}

pub(crate) fn principal(name: &str) -> Principal {
    Principal(name.to_owned())
}

pub(crate) fn id(text: &str) -> CustomizationId {
    CustomizationId::new(text)
}

/// Returns a server that is this test program, started again in a mode.
pub(crate) fn program(how: &str) -> McpServerSpec {
    let (command, arguments) = agent_command("as_server");
    let environment = vec![
        (SERVER_MODE_VARIABLE.to_owned(), how.to_owned()),
        ("TEST_SECRET".to_owned(), "hunter22".to_owned()),
    ];
    McpServerSpec {
        name: "test".to_owned(),
        transport: McpTransport::Stdio {
            command,
            arguments,
            environment,
            directory: None,
        },
    }
}

pub(crate) fn web(url: &str) -> McpServerSpec {
    McpServerSpec {
        name: "web".to_owned(),
        transport: McpTransport::Http {
            url: url.to_owned(),
            headers: Vec::new(),
        },
    }
}

pub(crate) fn client_tool(name: &str) -> ClientTool {
    ClientTool {
        client: ClientId::new("editor"),
        name: name.to_owned(),
        definition: ToolDefinition {
            name: name.to_owned(),
            title: Some("A tool".to_owned()),
            description: Some("Does something".to_owned()),
            input_schema: None,
            output_schema: None,
            annotations: None,
            meta: None,
        },
    }
}

impl McpHarness {
    pub(crate) fn new() -> Self {
        // There is no host here that would start servers when an agent connects, so agents need not
        // wait.
        Self::with(McpConfig {
            startup_wait: Duration::ZERO,
            ..McpConfig::default()
        })
    }

    pub(crate) fn with(config: McpConfig) -> Self {
        let notes = TempDir::new().unwrap();
        let config = McpConfig {
            pid_dir: Some(notes.path().to_owned()),
            ..config
        };
        let (sender, events) = mpsc::channel(64);
        let servers = McpManager::new(config, sender).unwrap();
        servers.set_token_principals(&session(), vec![principal("ann")]);
        McpHarness {
            servers,
            events,
            other: Vec::new(),
            notes,
        }
    }

    pub(crate) fn start(&self, server: &str, spec: McpServerSpec) {
        self.servers.start_server(&session(), &id(server), spec);
    }

    pub(crate) fn execute(&self, errand: McpCommand) {
        self.servers.execute(errand, |_, _| None);
    }

    pub(crate) fn stop_server(&self, server: &str) {
        self.execute(McpCommand::Stop {
            session: session(),
            server: id(server),
        });
    }

    pub(crate) fn token(&self, resource: &str, token: Option<&str>) {
        self.token_of("ann", resource, token);
    }

    pub(crate) fn token_of(&self, name: &str, resource: &str, token: Option<&str>) {
        let place = TokenKey {
            principal: principal(name),
            resource: resource.to_owned(),
        };
        let token = token.map(|token| AccessToken::from(token.to_owned()));
        self.servers.set_token(place, token);
    }

    /// Waits for an event for which `wanted` returns a value, and returns the value.
    pub(crate) async fn until<T>(&mut self, wanted: impl Fn(&McpEvent) -> Option<T>) -> T {
        let at = self
            .other
            .iter()
            .position(|(_, event)| wanted(event).is_some());
        if let Some(at) = at {
            let (_, event) = self.other.remove(at);
            return wanted(&event).unwrap();
        }
        loop {
            let event = tokio::time::timeout(DEADLINE, self.events.recv()).await;
            let Ok(event) = event else {
                panic!("waited for nothing; heard {:?}", self.other);
            };
            let Some(Input::Mcp { session, event }) = event else {
                panic!("unexpected input: {event:?}");
            };
            if let Some(found) = wanted(&event) {
                return found;
            }
            self.other.push((session, event));
        }
    }

    pub(crate) async fn ready(&mut self) -> McpServerApps {
        self.until(|event| match event {
            McpEvent::ServerReady { apps, .. } => Some(Ok(apps.clone())),
            McpEvent::ServerFailed { error, .. } => Some(Err(error.message.clone())),
            _ => None,
        })
        .await
        .unwrap()
    }

    pub(crate) async fn failed(&mut self) -> String {
        self.until(|event| match event {
            McpEvent::ServerFailed { error, .. } => Some(error.message.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn tool_list_problem(&mut self) -> Option<String> {
        self.until(|event| match event {
            McpEvent::ToolListProblem { problem: about, .. } => Some(about.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn stopped(&mut self) {
        self.until(|event| matches!(event, McpEvent::ServerStopped { .. }).then_some(()))
            .await;
    }

    pub(crate) async fn auth_required(&mut self) -> McpAuthRequirement {
        self.until(|event| match event {
            McpEvent::ServerAuthRequired { requirement, .. } => Some((**requirement).clone()),
            _ => None,
        })
        .await
    }

    /// Waits until the tools satisfy a condition, and returns them.
    pub(crate) async fn tools(&mut self, wanted: impl Fn(&[McpTool]) -> bool) -> Vec<McpTool> {
        self.until(|event| match event {
            McpEvent::ToolsChanged { tools } if wanted(tools) => Some(tools.clone()),
            _ => None,
        })
        .await
    }

    /// Stops all servers, and asserts that no process is left.
    pub(crate) async fn end(self) {
        let McpHarness { servers, notes, .. } = self;
        tokio::time::timeout(DEADLINE, servers.stop())
            .await
            .unwrap();
        assert_eq!(recorded_processes(notes.path()), Vec::<u32>::new());
    }
}

/// Returns the ids of the processes that are recorded as running.
pub(crate) fn recorded_processes(notes: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(notes).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    names
        .map(|name| name.to_str().unwrap().parse().unwrap())
        .collect()
}
