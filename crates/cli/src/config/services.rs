//! Services of the host for an agent, and the MCP servers that the agent itself connects
//! to.

use std::collections::BTreeMap;

use agenthost_acp::{AcpAgent, AcpService, AgentMcpServer, KnownAgent};
use agenthost_agents::GATEWAY_SERVER_NAME;
use agenthost_core::tools::mcp::transport::{EnvRef, McpTransport};
use anyhow::bail;
use serde::Deserialize;

use super::customizations::{McpTable, McpTableTransport};

/// The keys of an agent table for services and MCP servers.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct ServicesTable {
    files: Option<bool>,
    terminals: Option<bool>,
    mcp_servers: Vec<McpTable>,
}

impl ServicesTable {
    /// Adds the configured services and MCP servers to an agent. The defaults are those of
    /// the known agent, if it is one.
    pub(super) fn apply_to(
        &self,
        mut agent: AcpAgent,
        known: Option<&KnownAgent>,
    ) -> anyhow::Result<AcpAgent> {
        let services = [
            (
                self.files,
                known.is_some_and(|known| known.files),
                AcpService::Files,
            ),
            (
                self.terminals,
                known.is_some_and(|known| known.terminals),
                AcpService::Terminals,
            ),
        ];
        for (wanted, usual, service) in services {
            if wanted.unwrap_or(usual) {
                agent = agent.with_service(service);
            }
        }
        let servers = self.mcp_servers.iter().map(to_agent_mcp_server);
        let servers = servers.collect::<anyhow::Result<Vec<_>>>()?;
        Ok(agent.with_mcp_servers(servers))
    }
}

/// Converts a table to an MCP server that the agent starts or connects to by itself.
fn to_agent_mcp_server(table: &McpTable) -> anyhow::Result<AgentMcpServer> {
    let name = table.name.clone();
    if name == GATEWAY_SERVER_NAME {
        bail!("MCP server `{name}`: the name is reserved for the host's own server");
    }
    let pairs = |pairs: &BTreeMap<String, String>| {
        let pairs = pairs.clone().into_iter();
        pairs.map(|(name, value)| (name, EnvRef(value))).collect()
    };
    let way = match table.transport()? {
        McpTableTransport::Stdio {
            command,
            arguments,
            environment,
        } => McpTransport::Stdio {
            command: command.to_owned(),
            arguments: arguments.to_vec(),
            environment: pairs(environment),
            directory: None,
        },
        McpTableTransport::Http { url, headers } => McpTransport::Http {
            url: url.to_owned(),
            headers: pairs(headers),
        },
    };
    Ok(AgentMcpServer {
        name,
        transport: way,
    })
}
