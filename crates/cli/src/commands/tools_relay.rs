//! `agenthost tools-relay`: the relay between an agent and the gateway of the host.

use std::process::ExitCode;

use agenthost_mcp::{RelayTarget, relay};

/// Relay MCP messages between an agent and the gateway of the host (agents start this)
#[derive(clap::Args)]
pub(crate) struct ToolsRelayArgs {}

pub(crate) async fn run(_: ToolsRelayArgs) -> anyhow::Result<ExitCode> {
    let target = RelayTarget::from_environment()?;
    relay(target, tokio::io::stdin(), tokio::io::stdout()).await?;
    Ok(ExitCode::SUCCESS)
}
