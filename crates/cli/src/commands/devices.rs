//! `agenthost devices`: lists the paired devices and signs them out.

use std::process::ExitCode;

use agenthost_protocol::number::Millis;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_server::{DeviceDirectory, PairedDevice};
use anyhow::{Context, bail};
use clap::Subcommand;

use crate::connect::HostOptions;
use crate::output;

/// List the devices that are signed in to the page of the host
///
/// Prints id, scope, time of the pairing, time of the last connection, and name of each
/// device.
#[derive(clap::Args)]
#[command(after_help = DEVICES_EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct DevicesArgs {
    #[command(subcommand)]
    command: Option<DevicesCommand>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    host: HostOptions,
}

#[derive(Subcommand)]
enum DevicesCommand {
    Revoke(RevokeArgs),
}

/// Sign out a device
///
/// The host closes the connections of the device and refuses it from then on, until it is
/// paired again.
#[derive(clap::Args)]
struct RevokeArgs {
    /// Name or id of the device
    #[arg(value_name = "NAME-OR-ID")]
    device: String,
    #[command(flatten)]
    host: HostOptions,
}

const DEVICES_EXAMPLES: &str = "\
Examples:
  agenthost devices
  agenthost devices revoke phone";

pub(crate) async fn run(arguments: DevicesArgs) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        Some(DevicesCommand::Revoke(revoke)) => revoke_device(revoke)?,
        None => list_devices(&arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list_devices(arguments: &DevicesArgs) -> anyhow::Result<()> {
    let (_, devices) = read_devices(&arguments.host)?;
    for device in &devices {
        if arguments.json {
            let description = serde_json::json!({
                "id": device.id,
                "name": device.name,
                "scope": device.scope.name(),
                "createdAt": time_text(device.created_at),
                "lastSeenAt": time_text(device.last_seen_at),
            });
            output::print_data(&description.to_string())?;
        } else {
            output::print_data(&output::escape_invisible(&device_line(device)))?;
        }
    }
    if devices.is_empty() && !arguments.json {
        output::print_note("no device is paired; `agenthost pair` pairs one");
    }
    Ok(())
}

fn revoke_device(arguments: &RevokeArgs) -> anyhow::Result<()> {
    let (directory, devices) = read_devices(&arguments.host)?;
    let wanted = &arguments.device;
    let by_id = devices.iter().filter(|device| device.id == *wanted);
    let by_name = devices.iter().filter(|device| device.name == *wanted);
    let found: Vec<_> = match by_id.collect::<Vec<_>>() {
        found if found.is_empty() => by_name.collect(),
        found => found,
    };
    let device = match found.as_slice() {
        [device] => device,
        [] => bail!("there is no device `{wanted}`\nhint: `agenthost devices` lists all devices"),
        several => {
            let ids: Vec<_> = several.iter().map(|device| device.id.as_str()).collect();
            let ids = ids.join(", ");
            bail!("several devices have the name `{wanted}`\nhint: use one of the ids {ids}")
        }
    };
    let revoked = directory.revoke(&device.id);
    if !revoked.context("write the paired devices")? {
        bail!("the device `{wanted}` was signed out by another process");
    }
    output::print_note(&format!("signed out {} ({})", device.name, device.id));
    Ok(())
}

fn read_devices(host: &HostOptions) -> anyhow::Result<(DeviceDirectory, Vec<PairedDevice>)> {
    let settings = host.resolve_settings()?;
    let directory = DeviceDirectory::open(&settings.data_directory);
    let directory = directory.context("open the paired devices in the data directory")?;
    let devices = directory.read_devices();
    let devices = devices.context("read the paired devices in the data directory")?;
    Ok((directory, devices))
}

fn device_line(device: &PairedDevice) -> String {
    format!(
        "{}  {:<8}  {}  {}  {}",
        device.id,
        device.scope.name(),
        time_text(device.created_at),
        time_text(device.last_seen_at),
        device.name
    )
}

fn time_text(millis: u64) -> String {
    let millis = Millis(i64::try_from(millis).unwrap_or(i64::MAX));
    Timestamp::from_millis(millis).to_string()
}
