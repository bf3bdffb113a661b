//! `agenthost relay`: connects standard input and output to the host of this machine.

use std::process::ExitCode;
use std::time::Duration;

use agenthost_client::{HostAddress, HostTransport, TransportError};
use agenthost_server::HOST_FILE;
use anyhow::Context;

use crate::background::HostLifetime;
use crate::connect::{HostConnection, HostOptions};

/// Connect standard input and output to the host, for a client on another machine
///
/// `agenthost --host ssh:NAME` runs this command at the other machine. Each line is a message of
/// the protocol. Starts a host in the background if none is running.
#[derive(clap::Args)]
pub(crate) struct RelayArgs {
    /// Fail if no host is running
    #[arg(long)]
    no_start: bool,
    #[command(flatten)]
    host: HostOptions,
}

pub(crate) async fn run(arguments: RelayArgs) -> anyhow::Result<ExitCode> {
    let settings = arguments.host.resolve_settings()?;
    if !arguments.no_start {
        let lifetime = HostLifetime::Unlimited;
        let started =
            HostConnection::connect_or_start(&arguments.host, lifetime, Duration::ZERO).await?;
        started.close().await?;
    }
    let address = HostAddress::ReadyFile(settings.data_directory.join(HOST_FILE));
    let host = HostTransport::connect(&address).await;
    let host = host.context("connect to the host\nhint: `agenthost start` starts one")?;
    relay_messages(host, HostTransport::of_standard_streams()).await?;
    Ok(ExitCode::SUCCESS)
}

/// Passes messages in both directions until the client has closed its end. A side that does not
/// read stops the other one.
async fn relay_messages(
    mut host: HostTransport,
    mut client: HostTransport,
) -> Result<(), TransportError> {
    loop {
        tokio::select! {
            text = host.next_message() => send_message(&mut client, text?).await?,
            text = client.next_message() => match text {
                Ok(text) => send_message(&mut host, text).await?,
                Err(TransportError::Closed { .. }) => return Ok(()),
                Err(error) => return Err(error),
            },
        }
    }
}

async fn send_message(to: &mut HostTransport, text: String) -> Result<(), TransportError> {
    to.ready().await?;
    to.start_send(text)?;
    to.flush().await
}
