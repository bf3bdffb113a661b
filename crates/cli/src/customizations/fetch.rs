//! `agenthost customizations fetch`: plugins from elsewhere.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::ExitCode;

use agenthost_customizations::fetch::{FetchError, PluginSource, fetch};
use agenthost_customizations::{ConfiguredPlugin, Looked};
use agenthost_protocol::session::LoadState;
use anyhow::{Context, bail};

use super::here::Here;
use crate::config;
use crate::output;
use crate::place::Place;

/// Get the plugins of the configuration that are in git repositories and
/// archives, or get them again
///
/// Nothing is ever fetched by itself. A host that runs takes up what is new at
/// once; what was there before stays if something goes wrong.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A plugin, by its name or address [default: all of them]
    plugin: Option<String>,
    #[command(flatten)]
    place: Place,
}

const EXAMPLES: &str = "\
Examples:
  agenthost customizations fetch                  all plugins of the configuration
  agenthost customizations fetch review-tools     one of them

A plugin of the configuration (config.toml):
  [[plugins]]
  url = \"https://github.com/example/review-tools.git\"
  reference = \"v1.2.0\"";

pub(super) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let here = Here::new(&arguments.place, Some(Path::new("/")))?;
    let plugins = wanted(&here.settings.plugins, arguments.plugin.as_deref())?;
    if plugins.is_empty() {
        let place = config::usual_place();
        let place = place.map_or("the configuration".to_owned(), |place| {
            place.display().to_string()
        });
        output::note(&format!(
            "there is nothing to fetch: add `[[plugins]]` with a `url` to {place}"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    make_private(&here)?;
    let mut ok = true;
    for source in plugins {
        match one(&here, &source).await {
            Ok(line) => output::data(&output::plain(&line))?,
            Err(error) => {
                ok = false;
                output::failure(&error.context(format!("fetch `{}`", source.name())));
            }
        }
    }
    Ok(match ok {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The plugins that are meant.
fn wanted(all: &[ConfiguredPlugin], named: Option<&str>) -> anyhow::Result<Vec<PluginSource>> {
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
                [] => bail!("the configuration has no plugin `{named}`, nor any other to fetch"),
                names => bail!(
                    "the configuration has no plugin `{named}` to fetch, but these: {}",
                    names.join(", ")
                ),
            }
        }
        folders if folders.iter().all(is_folder) => {
            bail!("`{named}` is a folder of this machine: it is read where it is")
        }
        _ => Ok(meant.into_iter().filter(|one| !is_folder(one)).collect()),
    }
}

/// Where the host keeps what it remembers is nobody else's business, whoever
/// makes the folder.
fn make_private(here: &Here) -> anyhow::Result<()> {
    let mut folder = std::fs::DirBuilder::new();
    let made = folder.recursive(true).mode(0o700).create(&here.data);
    made.with_context(|| format!("make `{}`", here.data.display()))
}

async fn one(here: &Here, source: &PluginSource) -> anyhow::Result<String> {
    output::note(&format!(
        "fetching `{}` from {} …",
        source.name(),
        source.address()
    ));
    let (wanted, data) = (source.clone(), here.data.clone());
    let fetched = tokio::task::spawn_blocking(move || fetch(&wanted, &data)).await?;
    let folder = fetched.map_err(|error| {
        let hint = hint(&error);
        match hint {
            Some(hint) => anyhow::anyhow!("{error}\nhint: {hint}"),
            None => error.into(),
        }
    })?;
    let mut looked = here.look().await?.into_iter();
    let looked = looked.find(|looked| looked.root.as_ref() == Some(&folder));
    let looked = looked.with_context(|| format!("nothing was found in `{}`", folder.display()))?;
    describe(&looked)
}

fn describe(looked: &Looked) -> anyhow::Result<String> {
    let name = looked.shown.base().map_or("", |base| base.name.as_str());
    let children = looked.shown.children().unwrap_or_default().len();
    let things = match children {
        1 => "1 thing".to_owned(),
        count => format!("{count} things"),
    };
    match &looked.load {
        LoadState::Loaded | LoadState::Loading => Ok(format!("{name}  loaded, {things} in it")),
        LoadState::Degraded(problem) => Ok(format!(
            "{name}  degraded, {things} in it: {}",
            problem.message
        )),
        LoadState::Error(problem) => bail!("it is here and can't be used: {}", problem.message),
    }
}

fn hint(error: &FetchError) -> Option<&'static str> {
    match error {
        FetchError::Program { program, problem } if problem.contains("No such file") => {
            Some(match *program {
                "git" => "install git, and try again",
                _ => "install curl, and try again",
            })
        }
        FetchError::Program { program: "git", .. } => Some(
            "see whether `git ls-remote URL` works without a password; what was there before is still there",
        ),
        FetchError::Program { .. } => {
            Some("see whether the address is right; what was there before is still there")
        }
        FetchError::Address(_) => Some("correct `url` or `archive` of `[[plugins]]`"),
        FetchError::Archive(_) => {
            Some("an archive is a zip or tar.gz without links that lead out of it")
        }
        FetchError::Nothing | FetchError::File { .. } => None,
    }
}
