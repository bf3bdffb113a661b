//! `agenthost customizations allow`: code of packages that may run.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use agenthost_client::Client;
use agenthost_customizations::{Allowed, CODE, Looked, is_current_code_key};
use agenthost_protocol::session::{ChildCustomization, Customization};
use agenthost_protocol::wire::{Json, Object};
use agenthost_workspace::{GitError, RepositoryCode};
use anyhow::{Context, bail};

use super::describe::describe;
use super::here::{Here, TRUSTED};
use super::quoting::quoted;
use crate::host_settings::{self, texts};
use crate::output;
use crate::place::{Attached, PATIENCE, Place};
use crate::talk::Typed;

/// Let hooks and servers (MCP) that came with a folder run, or see which wait
///
/// Hooks and servers are programs. Those of your own folders and of the
/// configuration run; those that came with a project, or that a client
/// brought, wait until somebody has looked at them. So do the hooks and the
/// filters of its git repository: operations such as a commit need them. What is allowed is what is
/// there now: when it changes, it waits again. The host remembers it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// What to allow, by its name; without one, what waits and what is allowed
    /// is listed
    name: Vec<String>,
    /// The folder that it came with [default: this folder]
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    directory: Option<PathBuf>,
    /// The session that it is in, for what clients brought
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Take it back: a name, or a line of `--list`
    #[arg(long, requires = "name")]
    remove: bool,
    /// List what waits and what is allowed
    #[arg(long, conflicts_with_all = ["name", "remove"])]
    list: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    place: Place,
}

const EXAMPLES: &str = "\
Examples:
  agenthost customizations allow                  what waits, and what is allowed
  agenthost customizations allow Hooks            shows what they run, and asks
  agenthost customizations allow MCP servers
  agenthost customizations allow git              hooks and filters of the repository
  agenthost customizations allow --remove Hooks   no longer";

/// A container with code.
struct Coded {
    name: String,
    uri: String,
    key: String,
    allowed: Allowed,
    /// What it runs, in words.
    runs: Vec<String>,
}

pub(super) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let here = Here::new(&arguments.place, arguments.directory.as_deref())?;
    let mut attached = Attached::to(&arguments.place, PATIENCE).await?;
    let result = allow(&mut attached.client, here, &arguments).await;
    attached.leave().await?;
    result?;
    Ok(ExitCode::SUCCESS)
}

async fn allow(client: &mut Client, mut here: Here, arguments: &Arguments) -> anyhow::Result<()> {
    let values = host_settings::read(client).await?;
    let mut keys = texts(&values, TRUSTED);
    here.settings.trusted = keys.iter().cloned().collect();
    let coded: Vec<Coded> = match &arguments.session {
        Some(session) => {
            let shown = super::shown(client, session).await?;
            shown.iter().filter_map(Coded::shown).collect()
        }
        None => {
            let looked = here.look().await?;
            let repository = inspect_repository(here.directory.clone()).await?;
            let repository = repository.map(|code| Coded::repository(code, &keys));
            let coded = looked.iter().filter_map(Coded::looked);
            coded.chain(repository).collect()
        }
    };
    let name = arguments.name.join(" ");
    if name.is_empty() {
        return list(&coded, &keys);
    }
    if arguments.remove {
        let meant = coded.iter().filter(|one| one.is_called(&name));
        let meant: Vec<_> = meant.map(|one| one.key.as_str()).collect();
        let before = keys.len();
        keys.retain(|key| *key != name && !meant.contains(&key.as_str()));
        if keys.len() == before {
            bail!("`{name}` was not allowed; `agenthost customizations allow` lists what is");
        }
        set(client, keys).await?;
        output::note(&format!("`{name}` is not allowed any more"));
        return Ok(());
    }
    let one = find(&coded, &name)?;
    match one.allowed {
        Allowed::Own | Allowed::ByPerson => {
            output::note(&format!("`{}` is allowed already", one.name));
            return Ok(());
        }
        Allowed::NotYet => {}
    }
    output::note(&format!("`{}` of {} would run:", one.name, one.uri));
    for line in &one.runs {
        output::note(&format!("  {line}"));
    }
    if !arguments.yes {
        agree().await?;
    }
    // Keys of an older digest never match, and would only use up the limit.
    keys.retain(|key| is_current_key(key));
    keys.push(one.key.clone());
    set(client, keys).await?;
    output::note(&format!(
        "`{}` is allowed, as it is now; if it changes, it waits again",
        one.name
    ));
    Ok(())
}

/// The host keeps what a client's plugin runs to itself.
const UNSEEN: &str = "and only the client that brought it can show how: look at it there";

impl Coded {
    /// What was read here.
    fn looked(looked: &Looked) -> Option<Self> {
        let base = looked.shown.base()?;
        let code = looked.code.as_ref()?;
        // What the configuration and the user bring needs nobody's leave.
        if code.allowed == Allowed::Own {
            return None;
        }
        Some(Coded {
            name: base.name.clone(),
            uri: base.uri.as_str().to_owned(),
            key: code.key.clone(),
            allowed: code.allowed,
            runs: code.runs.iter().map(describe).collect(),
        })
    }

    /// The code of the repository that the folder is in.
    fn repository(code: RepositoryCode, keys: &[String]) -> Self {
        let hooks = code.hooks.iter();
        let hooks = hooks.map(|hook| {
            format!(
                "hook {}: {}",
                quoted(&hook.name),
                quoted(&hook.path.to_string_lossy())
            )
        });
        let settings = code.settings.iter();
        let settings =
            settings.map(|(key, value)| format!("setting {}: {}", quoted(key), quoted(value)));
        Coded {
            name: "git".to_owned(),
            uri: code.repository.display().to_string(),
            allowed: match keys.contains(&code.key) {
                true => Allowed::ByPerson,
                false => Allowed::NotYet,
            },
            runs: hooks.chain(settings).collect(),
            key: code.key,
        }
    }

    /// What a session has. The host does not say what is run, only when.
    fn shown(shown: &Customization) -> Option<Self> {
        let base = shown.base()?;
        let key = base.meta.as_ref()?.get(CODE)?.as_str()?;
        let children = shown.children().unwrap_or_default().iter();
        let runs = children.filter_map(|child| match child {
            ChildCustomization::Hook(hook) => {
                Some(format!("hook {}, {UNSEEN}", hook.leaf.base.name))
            }
            ChildCustomization::McpServer(server) => {
                Some(format!("server {}, {UNSEEN}", server.base.name))
            }
            ChildCustomization::Agent(_)
            | ChildCustomization::Skill(_)
            | ChildCustomization::Prompt(_)
            | ChildCustomization::Rule(_)
            | ChildCustomization::Unknown(_) => None,
        });
        Some(Coded {
            name: base.name.clone(),
            uri: base.uri.as_str().to_owned(),
            key: key.to_owned(),
            allowed: Allowed::NotYet,
            runs: runs.collect(),
        })
    }

    fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.key == name || self.uri == name
    }
}

/// Whether a key can still match: one of a package, or one of a repository.
fn is_current_key(key: &str) -> bool {
    is_current_code_key(key) || RepositoryCode::is_current_key(key)
}

async fn inspect_repository(folder: PathBuf) -> anyhow::Result<Option<RepositoryCode>> {
    let inspected = tokio::task::spawn_blocking(move || RepositoryCode::inspect(&folder)).await?;
    match inspected {
        // Without git no operation runs its code.
        Err(GitError::NotInstalled) => Ok(None),
        inspected => inspected.context("look for the code of the git repository"),
    }
}

fn find<'a>(coded: &'a [Coded], name: &str) -> anyhow::Result<&'a Coded> {
    let meant: Vec<_> = coded.iter().filter(|one| one.is_called(name)).collect();
    match meant.as_slice() {
        [one] => Ok(one),
        [] if coded.is_empty() => bail!(
            "there is nothing to allow here; what clients brought is found with `--session ID`"
        ),
        [] => {
            let names: Vec<_> = coded.iter().map(|one| one.name.as_str()).collect();
            bail!(
                "there is no `{name}` with code here, but these: {}",
                names.join(", ")
            )
        }
        several => {
            let keys: Vec<_> = several.iter().map(|one| one.key.as_str()).collect();
            bail!("several are called `{name}`: say {}", keys.join(" or "))
        }
    }
}

fn list(coded: &[Coded], keys: &[String]) -> anyhow::Result<()> {
    let waiting = coded.iter().filter(|one| one.allowed == Allowed::NotYet);
    let mut shown = false;
    for one in waiting {
        output::data(&output::plain(&format!(
            "waits    {}  {}",
            one.name, one.uri
        )))?;
        for line in &one.runs {
            output::data(&output::plain(&format!("         {line}")))?;
        }
        shown = true;
    }
    for key in keys {
        let named = coded.iter().find(|one| one.key == *key);
        let name = named.map_or(String::new(), |one| format!("  {}", one.name));
        let state = match is_current_key(key) {
            true => "allowed",
            false => "expired",
        };
        output::data(&output::plain(&format!("{state}  {key}{name}")))?;
        shown = true;
    }
    if !shown {
        output::note("no code waits to be allowed here, and none was");
    }
    Ok(())
}

async fn agree() -> anyhow::Result<()> {
    if !std::io::stdin().is_terminal() {
        bail!("nobody is here to agree; `--yes` agrees");
    }
    output::note("allow it? [y/N]");
    let answer = Typed::new().next().await.context("nobody agreed")?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => bail!("nothing was allowed"),
    }
}

async fn set(client: &mut Client, keys: Vec<String>) -> anyhow::Result<()> {
    let config = Object::from_iter([(TRUSTED.to_owned(), Json::from(keys))]);
    host_settings::change(client, config).await?;
    Ok(())
}
