//! `agenthost allow`: grants clients access to folders.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agenthost_client::Client;
use agenthost_protocol::wire::{Json, Object};
use anyhow::{Context, bail};

use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions};
use crate::host_settings;
use crate::host_settings::string_list;
use crate::output;

/// Let clients use a folder, or list allowed and requested folders
///
/// Folders of sessions and of the configuration file are always allowed. The host stores the
/// permissions that this command grants.
#[derive(clap::Args)]
#[command(after_help = ALLOW_EXAMPLES)]
pub(crate) struct AllowArgs {
    /// The folder; without one, allowed and requested folders are listed
    folder: Option<PathBuf>,
    /// Also allow changes, not only reading
    #[arg(long, requires = "folder", conflicts_with = "remove")]
    write: bool,
    /// Revoke the access
    #[arg(long, requires = "folder")]
    remove: bool,
    #[command(flatten)]
    host: HostOptions,
}

const ALLOW_EXAMPLES: &str = "\
Examples:
  agenthost allow                   list allowed and requested folders
  agenthost allow ~/notes           let clients read it
  agenthost allow --write ~/notes   let clients change it
  agenthost allow --remove ~/notes  revoke the permission";

/// Keys of the host settings with the granted and the requested folders.
const READABLE_FOLDERS_KEY: &str = "readableFolders";
const WRITABLE_FOLDERS_KEY: &str = "writableFolders";
const REQUESTED_FOLDERS_KEY: &str = "requestedFolders";

pub(crate) async fn run(arguments: AllowArgs) -> anyhow::Result<ExitCode> {
    let mut attached = HostConnection::connect(&arguments.host, COMMAND_RECONNECT_TIMEOUT).await?;
    let result = update_grants(&mut attached.client, &arguments).await;
    attached.close().await?;
    result?;
    Ok(ExitCode::SUCCESS)
}

async fn update_grants(client: &mut Client, arguments: &AllowArgs) -> anyhow::Result<()> {
    let values = host_settings::read_settings(client).await?;
    let Some(folder) = &arguments.folder else {
        return list_folders(&values);
    };
    let uri = folder_uri(folder, arguments.remove)?;
    let mut config = Object::new();
    for (key, wanted) in [
        (READABLE_FOLDERS_KEY, !arguments.write),
        (WRITABLE_FOLDERS_KEY, arguments.write),
    ] {
        let mut folders = string_list(&values, key);
        let before = folders.len();
        folders.retain(|other| *other != uri);
        let was = folders.len() < before;
        let is = wanted && !arguments.remove;
        if is {
            folders.push(uri.clone());
        }
        if was || is {
            config.insert(key.to_owned(), Json::from(folders));
        }
    }
    if config.is_empty() {
        bail!(
            "cannot remove `{}`: it is not an allowed folder",
            folder.display()
        );
    }
    list_folders(&host_settings::change_settings(client, config).await?)
}

fn list_folders(values: &Object) -> anyhow::Result<()> {
    let kinds = [
        (READABLE_FOLDERS_KEY, "read"),
        (WRITABLE_FOLDERS_KEY, "write"),
        (REQUESTED_FOLDERS_KEY, "requested"),
    ];
    let mut shown = false;
    for (key, what) in kinds {
        for folder in string_list(values, key) {
            output::print_data(&output::escape_invisible(&format!("{what} {folder}")))?;
            shown = true;
        }
    }
    if !shown {
        output::print_note(
            "only the folders of sessions and of the configuration are allowed; \
             `agenthost allow DIR` allows more",
        );
    }
    Ok(())
}

/// Returns the URI of a folder. With `may_be_missing`, the folder need not exist, so that
/// the grant of a deleted folder can be removed.
fn folder_uri(folder: &Path, may_be_missing: bool) -> anyhow::Result<String> {
    let real = match std::fs::canonicalize(folder) {
        Ok(real) => real,
        Err(_) if may_be_missing => std::path::absolute(folder)?,
        Err(error) => {
            return Err(error).with_context(|| format!("resolve folder `{}`", folder.display()));
        }
    };
    let uri = agenthost_workspace::uri_of(&real);
    let uri = uri.context("the path of the folder is not UTF-8")?;
    Ok(uri.to_string())
}
