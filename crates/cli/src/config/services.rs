//! What the host does for an agent, and servers of tools that it is to use.

use std::collections::BTreeMap;

use agenthost_agents::{AcpAgent, AcpMcpServer, AcpMcpWay, AcpService, HOST_TOOLS, KnownAgent};
use anyhow::bail;
use serde::Deserialize;

use super::customizations::{McpPlace, McpTable};

/// The keys of an agent that are about this.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServicesTable {
    files: Option<bool>,
    terminals: Option<bool>,
    mcp_servers: Vec<McpTable>,
}

impl ServicesTable {
    /// The agent with what the file says about it, or else what is known.
    pub(super) fn add_to(
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
                agent = agent.offering(service);
            }
        }
        let servers = self.mcp_servers.iter().map(server);
        let servers = servers.collect::<anyhow::Result<Vec<_>>>()?;
        Ok(agent.with_mcp_servers(servers))
    }
}

/// A server that the agent starts or reaches by itself.
fn server(table: &McpTable) -> anyhow::Result<AcpMcpServer> {
    let name = table.name.clone();
    if name == HOST_TOOLS {
        bail!("server `{name}`: that is what the host's own server is called");
    }
    let pairs = |pairs: &BTreeMap<String, String>| pairs.clone().into_iter().collect();
    let way = match table.place()? {
        McpPlace::Program {
            command,
            arguments,
            environment,
        } => AcpMcpWay::Program {
            command: command.to_owned(),
            arguments: arguments.to_vec(),
            environment: pairs(environment),
        },
        McpPlace::Http { url, headers } => AcpMcpWay::Http {
            url: url.to_owned(),
            headers: pairs(headers),
        },
    };
    Ok(AcpMcpServer { name, way })
}
