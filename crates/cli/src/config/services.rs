//! What the host does for an agent, and servers of tools that it is to use.

use std::collections::BTreeMap;

use agenthost_agents::{AcpAgent, AcpMcpServer, AcpMcpWay, AcpService, HOST_TOOLS, KnownAgent};
use anyhow::bail;
use serde::Deserialize;

/// The keys of an agent that are about this.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServicesTable {
    files: Option<bool>,
    terminals: Option<bool>,
    mcp_servers: Vec<McpTable>,
}

#[derive(Clone, Deserialize)]
struct McpTable {
    name: String,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
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
        let servers = self.mcp_servers.iter().map(McpTable::server);
        let servers = servers.collect::<anyhow::Result<Vec<_>>>()?;
        Ok(agent.with_mcp_servers(servers))
    }
}

impl McpTable {
    fn server(&self) -> anyhow::Result<AcpMcpServer> {
        let name = self.name.clone();
        if name == HOST_TOOLS {
            bail!("server `{name}`: that is what the host's own server is called");
        }
        let way = match (&self.command, &self.url) {
            (Some(command), None) if self.headers.is_empty() => AcpMcpWay::Program {
                command: command.clone(),
                arguments: self.args.clone(),
                environment: self.env.clone().into_iter().collect(),
            },
            (None, Some(url)) if self.args.is_empty() && self.env.is_empty() => AcpMcpWay::Http {
                url: url.clone(),
                headers: self.headers.clone().into_iter().collect(),
            },
            (Some(_), _) | (None, Some(_)) => {
                bail!(
                    "server `{name}` has keys of a `command` and of a `url`: it is one or the other"
                )
            }
            (None, None) => bail!("server `{name}` needs a `command` or a `url`"),
        };
        Ok(AcpMcpServer { name, way })
    }
}
