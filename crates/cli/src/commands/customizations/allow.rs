//! `agenthost customizations allow`: approves hooks and MCP servers that came with a
//! folder.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use agenthost_client::Client;
use agenthost_customizations::{CODE_META_KEY, CodeTrust, InspectedContainer, is_current_code_key};
use agenthost_protocol::session::{ChildCustomization, Customization};
use agenthost_protocol::wire::{Json, Object};
use agenthost_stdx::shell::quote_word;
use agenthost_workspace::{GitError, RepositoryCode};
use anyhow::{Context, bail};

use super::describe::describe_code_entry;
use super::local::{LocalCustomizations, TRUSTED_CODE_KEY};
use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions};
use crate::dialog::stdin::StdinReader;
use crate::host_settings;
use crate::host_settings::string_list;
use crate::output;

/// Allow hooks and MCP servers of a folder to run, or list those that are not allowed yet
///
/// Hooks and MCP servers are programs. Those of your own folders and of the configuration need no
/// approval. Those that came with a project or from a client do not run until you allow them. The
/// same applies to the hooks and filters of the project's git repository, which operations such as
/// a commit run. An approval covers the current content: after a change, the code needs approval
/// again. The host stores the approvals.
#[derive(clap::Args)]
#[command(after_help = ALLOW_CODE_EXAMPLES)]
pub(super) struct AllowCodeArgs {
    /// The code to allow, by name; without a name, pending and allowed code is listed
    name: Vec<String>,
    /// The folder that the code came with [default: this folder]
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    directory: Option<PathBuf>,
    /// The session with the code, for plugins of clients
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Revoke the approval of a name, or of a key that `--list` prints
    #[arg(long, requires = "name")]
    remove: bool,
    /// List pending and allowed code
    #[arg(long, conflicts_with_all = ["name", "remove"])]
    list: bool,
    /// Allow without asking
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    host: HostOptions,
}

const ALLOW_CODE_EXAMPLES: &str = "\
Examples:
  agenthost customizations allow                  list pending and allowed code
  agenthost customizations allow Hooks            show their commands, then ask
  agenthost customizations allow MCP servers
  agenthost customizations allow git              allow hooks and filters of the repository
  agenthost customizations allow --remove Hooks   revoke the approval";

/// A container with code that needs approval.
struct CodeContainer {
    name: String,
    uri: String,
    key: String,
    trust: CodeTrust,
    /// Descriptions of the code that it runs, one for each hook, server or setting.
    code_lines: Vec<String>,
}

pub(super) async fn run(arguments: AllowCodeArgs) -> anyhow::Result<ExitCode> {
    let local = LocalCustomizations::new(&arguments.host, arguments.directory.as_deref())?;
    let mut attached = HostConnection::connect(&arguments.host, COMMAND_RECONNECT_TIMEOUT).await?;
    let result = update_trusted_code(&mut attached.client, local, &arguments).await;
    attached.close().await?;
    result?;
    Ok(ExitCode::SUCCESS)
}

async fn update_trusted_code(
    client: &mut Client,
    mut local: LocalCustomizations,
    arguments: &AllowCodeArgs,
) -> anyhow::Result<()> {
    let values = host_settings::read_settings(client).await?;
    let mut keys = string_list(&values, TRUSTED_CODE_KEY);
    local.settings.trusted_code = keys.iter().cloned().collect();
    let containers: Vec<CodeContainer> = match &arguments.session {
        Some(session) => {
            let shown = super::load_customizations(client, session).await?;
            shown
                .iter()
                .filter_map(CodeContainer::from_session)
                .collect()
        }
        None => {
            let looked = local.inspect().await?;
            let repository = inspect_repository(local.directory.clone()).await?;
            let repository = repository.map(|code| CodeContainer::from_repository(code, &keys));
            let coded = looked.iter().filter_map(CodeContainer::from_inspected);
            coded.chain(repository).collect()
        }
    };
    let name = arguments.name.join(" ");
    if name.is_empty() {
        return list_code(&containers, &keys);
    }
    if arguments.remove {
        let meant = containers.iter().filter(|one| one.matches_name(&name));
        let meant: Vec<_> = meant.map(|one| one.key.as_str()).collect();
        let before = keys.len();
        keys.retain(|key| *key != name && !meant.contains(&key.as_str()));
        if keys.len() == before {
            bail!(
                "cannot remove `{name}`: it is not allowed; `agenthost customizations allow` lists allowed code"
            );
        }
        store_trusted_keys(client, keys).await?;
        output::print_note(&format!("`{name}` is no longer allowed"));
        return Ok(());
    }
    let one = find_container(&containers, &name)?;
    match one.trust {
        CodeTrust::Own | CodeTrust::Approved => {
            output::print_note(&format!("`{}` is already allowed", one.name));
            return Ok(());
        }
        CodeTrust::Pending => {}
    }
    output::print_note(&format!("`{}` of {} would run:", one.name, one.uri));
    for line in &one.code_lines {
        output::print_note(&format!("  {line}"));
    }
    if !arguments.yes {
        ask_consent().await?;
    }
    // Keys with the digest of an earlier format never match, and would only use up the
    // limit.
    keys.retain(|key| is_current_key(key));
    keys.push(one.key.clone());
    store_trusted_keys(client, keys).await?;
    output::print_note(&format!(
        "`{}` is allowed with its current content; after a change it needs approval again",
        one.name
    ));
    Ok(())
}

/// Printed in place of the code of a client's plugin, which the host does not publish.
const HIDDEN_CODE_NOTE: &str =
    "command not visible here: review it in the client that published it";

impl CodeContainer {
    /// Creates the entry of a container that was read locally.
    fn from_inspected(looked: &InspectedContainer) -> Option<Self> {
        let base = looked.customization.base()?;
        let code = looked.code.as_ref()?;
        // Code of the configuration and of the user's own folders needs no approval.
        if code.trust == CodeTrust::Own {
            return None;
        }
        Some(CodeContainer {
            name: base.name.clone(),
            uri: base.uri.as_str().to_owned(),
            key: code.key.clone(),
            trust: code.trust,
            code_lines: code.entries.iter().map(describe_code_entry).collect(),
        })
    }

    /// Creates the entry of the git repository that contains the folder.
    fn from_repository(code: RepositoryCode, keys: &[String]) -> Self {
        let hooks = code.hooks.iter();
        let hooks = hooks.map(|hook| {
            format!(
                "hook {}: {}",
                quote_word(&hook.name),
                quote_word(&hook.path.to_string_lossy())
            )
        });
        let settings = code.settings.iter();
        let settings = settings
            .map(|(key, value)| format!("setting {}: {}", quote_word(key), quote_word(value)));
        CodeContainer {
            name: "git".to_owned(),
            uri: code.repository.display().to_string(),
            trust: if keys.contains(&code.key) {
                CodeTrust::Approved
            } else {
                CodeTrust::Pending
            },
            code_lines: hooks.chain(settings).collect(),
            key: code.key,
        }
    }

    /// Creates the entry of a container in a session. The host publishes the names of its
    /// hooks and servers, but not their commands.
    fn from_session(shown: &Customization) -> Option<Self> {
        let base = shown.base()?;
        let key = base.meta.as_ref()?.get(CODE_META_KEY)?.as_str()?;
        let children = shown.children().unwrap_or_default().iter();
        let runs = children.filter_map(|child| match child {
            ChildCustomization::Hook(hook) => {
                Some(format!("hook {}, {HIDDEN_CODE_NOTE}", hook.leaf.base.name))
            }
            ChildCustomization::McpServer(server) => {
                Some(format!("server {}, {HIDDEN_CODE_NOTE}", server.base.name))
            }
            ChildCustomization::Agent(_)
            | ChildCustomization::Skill(_)
            | ChildCustomization::Prompt(_)
            | ChildCustomization::Rule(_)
            | ChildCustomization::Unknown(_) => None,
        });
        Some(CodeContainer {
            name: base.name.clone(),
            uri: base.uri.as_str().to_owned(),
            key: key.to_owned(),
            trust: CodeTrust::Pending,
            code_lines: runs.collect(),
        })
    }

    fn matches_name(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.key == name || self.uri == name
    }
}

/// Returns `true` if a key has the current format of a container or of a repository, so
/// that it can still match.
fn is_current_key(key: &str) -> bool {
    is_current_code_key(key) || RepositoryCode::is_current_key(key)
}

async fn inspect_repository(folder: PathBuf) -> anyhow::Result<Option<RepositoryCode>> {
    let inspected = tokio::task::spawn_blocking(move || RepositoryCode::inspect(&folder)).await?;
    match inspected {
        // Without git, no operation runs code of the repository.
        Err(GitError::NotInstalled) => Ok(None),
        inspected => inspected.context("read the hooks and filters of the git repository"),
    }
}

fn find_container<'a>(
    containers: &'a [CodeContainer],
    name: &str,
) -> anyhow::Result<&'a CodeContainer> {
    let meant: Vec<_> = containers
        .iter()
        .filter(|one| one.matches_name(name))
        .collect();
    match meant.as_slice() {
        [one] => Ok(one),
        [] if containers.is_empty() => {
            bail!("there is no code to allow here; `--session ID` includes plugins of clients")
        }
        [] => {
            let names: Vec<_> = containers.iter().map(|one| one.name.as_str()).collect();
            bail!(
                "there is no code named `{name}` here; available: {}",
                names.join(", ")
            )
        }
        several => {
            let keys: Vec<_> = several.iter().map(|one| one.key.as_str()).collect();
            bail!("`{name}` is ambiguous: use {}", keys.join(" or "))
        }
    }
}

fn list_code(containers: &[CodeContainer], keys: &[String]) -> anyhow::Result<()> {
    let waiting = containers
        .iter()
        .filter(|one| one.trust == CodeTrust::Pending);
    let mut shown = false;
    for one in waiting {
        output::print_data(&output::escape_invisible(&format!(
            "pending  {}  {}",
            one.name, one.uri
        )))?;
        for line in &one.code_lines {
            output::print_data(&output::escape_invisible(&format!("         {line}")))?;
        }
        shown = true;
    }
    for key in keys {
        let named = containers.iter().find(|one| one.key == *key);
        let name = named.map_or(String::new(), |one| format!("  {}", one.name));
        let state = if is_current_key(key) {
            "allowed"
        } else {
            "expired"
        };
        output::print_data(&output::escape_invisible(&format!("{state}  {key}{name}")))?;
        shown = true;
    }
    if !shown {
        output::print_note("no code is pending or allowed here");
    }
    Ok(())
}

async fn ask_consent() -> anyhow::Result<()> {
    if !std::io::stdin().is_terminal() {
        bail!("cannot ask: standard input is not a terminal; `--yes` allows without asking");
    }
    output::print_note("allow it? [y/N]");
    let answer = StdinReader::new()
        .next_line()
        .await
        .context("not confirmed")?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => bail!("nothing was allowed"),
    }
}

async fn store_trusted_keys(client: &mut Client, keys: Vec<String>) -> anyhow::Result<()> {
    let config = Object::from_iter([(TRUSTED_CODE_KEY.to_owned(), Json::from(keys))]);
    host_settings::change_settings(client, config).await?;
    Ok(())
}
