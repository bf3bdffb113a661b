//! `agenthost allow`: which folders clients may use.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agenthost_client::Client;
use agenthost_protocol::wire::{Json, Object};
use anyhow::{Context, bail};

use crate::host_settings::{self, texts};
use crate::output;
use crate::place::{Attached, PATIENCE, Place};

/// Let clients use a folder, or see what they may use and ask for
///
/// The folders of sessions can always be used, and those of the configuration
/// file. What is allowed here is remembered by the host.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The folder; without one, what is allowed and asked for is listed
    folder: Option<PathBuf>,
    /// To change what is in it, not only to look
    #[arg(long, requires = "folder", conflicts_with = "remove")]
    write: bool,
    /// Take it back
    #[arg(long, requires = "folder")]
    remove: bool,
    #[command(flatten)]
    place: Place,
}

const EXAMPLES: &str = "\
Examples:
  agenthost allow                   what clients may use, and what they ask for
  agenthost allow ~/notes           they may look into it
  agenthost allow --write ~/notes   they may change what is in it
  agenthost allow --remove ~/notes  no longer";

/// The settings, and what they mean.
const READABLE: &str = "readableFolders";
const WRITABLE: &str = "writableFolders";
const REQUESTED: &str = "requestedFolders";

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let mut attached = Attached::to(&arguments.place, PATIENCE).await?;
    let result = allow(&mut attached.client, &arguments).await;
    attached.leave().await?;
    result?;
    Ok(ExitCode::SUCCESS)
}

async fn allow(client: &mut Client, arguments: &Arguments) -> anyhow::Result<()> {
    let values = host_settings::read(client).await?;
    let Some(folder) = &arguments.folder else {
        return list(&values);
    };
    let uri = address(folder, arguments.remove)?;
    let mut config = Object::new();
    for (key, wanted) in [(READABLE, !arguments.write), (WRITABLE, arguments.write)] {
        let mut folders = texts(&values, key);
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
        bail!("`{}` was not allowed", folder.display());
    }
    list(&host_settings::change(client, config).await?)
}

fn list(values: &Object) -> anyhow::Result<()> {
    let kinds = [
        (READABLE, "read"),
        (WRITABLE, "write"),
        (REQUESTED, "asked for:"),
    ];
    let mut shown = false;
    for (key, what) in kinds {
        for folder in texts(values, key) {
            output::data(&output::plain(&format!("{what} {folder}")))?;
            shown = true;
        }
    }
    if !shown {
        output::note("nothing beside the folders of sessions; `agenthost allow DIR` allows more");
    }
    Ok(())
}

/// The address of a folder. One that is gone can still be taken back.
fn address(folder: &Path, gone: bool) -> anyhow::Result<String> {
    let real = match std::fs::canonicalize(folder) {
        Ok(real) => real,
        Err(_) if gone => std::path::absolute(folder)?,
        Err(error) => {
            return Err(error).with_context(|| format!("folder `{}`", folder.display()));
        }
    };
    let uri = agenthost_workspace::uri_of(&real);
    let uri = uri.context("the name of the folder is not UTF-8")?;
    Ok(uri.to_string())
}
