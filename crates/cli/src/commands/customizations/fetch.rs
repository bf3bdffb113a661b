//! `agenthost customizations fetch`: downloads plugins from git repositories and archives.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::ExitCode;

use agenthost_customizations::fetch::{FetchError, PluginSource, fetch};
use agenthost_customizations::{ConfiguredPlugin, InspectedContainer};
use agenthost_protocol::session::LoadState;
use anyhow::{Context, bail};

use super::local::LocalCustomizations;
use crate::config;
use crate::connect::HostOptions;
use crate::output;

/// Fetch or update the plugins of the configuration from git repositories and archives
///
/// Only this command fetches plugins. A running host loads the new version at once. If fetching
/// fails, the previous version stays.
#[derive(clap::Args)]
#[command(after_help = FETCH_EXAMPLES)]
pub(super) struct FetchArgs {
    /// A plugin, by its name or address [default: all]
    plugin: Option<String>,
    #[command(flatten)]
    host: HostOptions,
}

const FETCH_EXAMPLES: &str = "\
Examples:
  agenthost customizations fetch                  fetch all plugins of the configuration
  agenthost customizations fetch review-tools     fetch one of them

A plugin of the configuration (config.toml):
  [[plugins]]
  url = \"https://github.com/example/review-tools.git\"
  reference = \"v1.2.0\"";

pub(super) async fn run(arguments: FetchArgs) -> anyhow::Result<ExitCode> {
    let local = LocalCustomizations::new(&arguments.host, Some(Path::new("/")))?;
    let plugins = select_plugins(&local.settings.plugins, arguments.plugin.as_deref())?;
    if plugins.is_empty() {
        let config_path = config::default_config_path();
        let place = config_path.map_or("the configuration".to_owned(), |place| {
            place.display().to_string()
        });
        output::print_note(&format!(
            "there is nothing to fetch: add `[[plugins]]` with a `url` to {place}"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    create_private_directory(&local)?;
    let mut ok = true;
    for source in plugins {
        match fetch_plugin(&local, &source).await {
            Ok(line) => output::print_data(&output::escape_invisible(&line))?,
            Err(error) => {
                ok = false;
                output::print_error(&error.context(format!("fetch `{}`", source.name())));
            }
        }
    }
    Ok(if ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Returns the plugins with the given name or address, or all plugins that can be fetched.
fn select_plugins(
    all: &[ConfiguredPlugin],
    named: Option<&str>,
) -> anyhow::Result<Vec<PluginSource>> {
    let sources = all.iter().map(|plugin| &plugin.source);
    let is_folder = |source: &PluginSource| matches!(source, PluginSource::Path(_));
    let Some(named) = named else {
        let fetched = sources.filter(|source| !is_folder(source));
        return Ok(fetched.cloned().collect());
    };
    let is_meant = |source: &&PluginSource| {
        let address = source.address();
        let without = address.split('#').next().unwrap_or_default();
        source.name() == named || address == named || without == named
    };
    let meant: Vec<_> = sources.clone().filter(is_meant).cloned().collect();
    match meant.as_slice() {
        [] => {
            let names: Vec<_> = sources
                .filter(|source| !is_folder(source))
                .map(PluginSource::name)
                .collect();
            match names.as_slice() {
                [] => {
                    bail!("the configuration has no plugin `{named}`, and no other plugin to fetch")
                }
                names => bail!(
                    "the configuration has no plugin `{named}` to fetch; available: {}",
                    names.join(", ")
                ),
            }
        }
        folders if folders.iter().all(is_folder) => {
            bail!("`{named}` is a local folder: it is read in place and not fetched")
        }
        _ => Ok(meant.into_iter().filter(|one| !is_folder(one)).collect()),
    }
}

/// Creates the package directory with mode 0700, like the data directory that contains it.
fn create_private_directory(local: &LocalCustomizations) -> anyhow::Result<()> {
    let mut folder = std::fs::DirBuilder::new();
    let made = folder
        .recursive(true)
        .mode(0o700)
        .create(&local.package_directory);
    made.with_context(|| format!("create `{}`", local.package_directory.display()))
}

async fn fetch_plugin(
    local: &LocalCustomizations,
    source: &PluginSource,
) -> anyhow::Result<String> {
    output::print_note(&format!(
        "fetching `{}` from {} …",
        source.name(),
        source.address()
    ));
    let (wanted, data) = (source.clone(), local.package_directory.clone());
    let fetched = tokio::task::spawn_blocking(move || fetch(&wanted, &data)).await?;
    let folder = fetched.map_err(|error| {
        let hint = fetch_hint(&error);
        match hint {
            Some(hint) => anyhow::anyhow!("{error}\nhint: {hint}"),
            None => error.into(),
        }
    })?;
    let mut looked = local.inspect().await?.into_iter();
    let looked = looked.find(|looked| looked.root.as_ref() == Some(&folder));
    let looked =
        looked.with_context(|| format!("no plugin was found in `{}`", folder.display()))?;
    describe_plugin(&looked)
}

fn describe_plugin(looked: &InspectedContainer) -> anyhow::Result<String> {
    let name = looked
        .customization
        .base()
        .map_or("", |base| base.name.as_str());
    let children = looked.customization.children().unwrap_or_default().len();
    let things = match children {
        1 => "1 customization".to_owned(),
        count => format!("{count} customizations"),
    };
    match &looked.load {
        LoadState::Loaded | LoadState::Loading => Ok(format!("{name}  loaded, {things}")),
        LoadState::Degraded(problem) => {
            Ok(format!("{name}  degraded, {things}: {}", problem.message))
        }
        LoadState::Error(problem) => bail!(
            "the plugin was fetched but cannot be loaded: {}",
            problem.message
        ),
    }
}

fn fetch_hint(error: &FetchError) -> Option<&'static str> {
    match error {
        FetchError::ProgramFailed { program, problem } if problem.contains("No such file") => {
            Some(match *program {
                "git" => "install git, and try again",
                _ => "install curl, and try again",
            })
        }
        FetchError::ProgramFailed { program: "git", .. } => Some(
            "check that `git ls-remote URL` works without a password; a version that was fetched before is unchanged",
        ),
        FetchError::ProgramFailed { .. } => {
            Some("check the address; a version that was fetched before is unchanged")
        }
        FetchError::InvalidAddress(_) => Some("correct `url` or `archive` of `[[plugins]]`"),
        FetchError::InvalidArchive(_) => {
            Some("an archive must be a zip or tar.gz file without links that point outside of it")
        }
        FetchError::NotFetchable | FetchError::File { .. } => None,
    }
}
