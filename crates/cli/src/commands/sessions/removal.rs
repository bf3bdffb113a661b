//! `agenthost sessions rm`, also known as `agenthost remove`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agenthost_acp::delete_agent_sessions;
use agenthost_client::Client;
use agenthost_protocol::common::Meta;
use agenthost_protocol::session::{DisposeSessionParams, SessionSummary};
use agenthost_protocol::wire::{Json, Object};
use agenthost_server::ServerConfig;
use agenthost_workspace::{ChangeTracker, UnmergedWork};
use anyhow::bail;

use super::session_selection::{SelectionArgs, is_running};
use crate::commands::agents::find_offered_agent;
use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions, HostSettings};
use crate::dialog::question::confirm;
use crate::output;
use crate::session_lookup::describe_session;

/// The `_meta` key of a session with the ids of the agent's own sessions, by chat.
const AGENT_SESSIONS_META_KEY: &str = "agenthost.agentSessions";

/// The `_meta` key of `disposeSession` for the worktree, and its value.
const WORKTREE_META_KEY: &str = "agenthost.worktree";
const DISCARD_WORKTREE: &str = "discard";

/// The hint of a question without a terminal to answer it.
const YES_HINT: &str = "`--yes` deletes without asking";

/// Delete sessions with all their data
///
/// Deletes messages, stored content, checkpoints and worktrees. Files in other folders are not
/// changed. If the agent supports it, its own record of the session is deleted, too. A worktree
/// with changes that are not committed is kept, and so is a branch with commits that the base
/// branch does not have, unless you agree or use `--discard-worktrees`.
#[derive(clap::Args)]
pub(crate) struct RemoveSessionsArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Also delete sessions with a running turn, which is cancelled
    #[arg(long)]
    force: bool,
    /// Delete worktrees with their branches, whatever they contain
    #[arg(long)]
    discard_worktrees: bool,
    /// Keep the sessions that agents have stored themselves
    #[arg(long)]
    keep_agent_sessions: bool,
    #[command(flatten)]
    host: HostOptions,
}

/// A session that is to be removed.
struct PlannedRemoval {
    session: SessionSummary,
    discards_worktree: bool,
}

/// The sessions that agents have stored themselves, by agent and folder.
type AgentSessionIds = BTreeMap<(String, PathBuf), Vec<String>>;

pub(crate) async fn run(arguments: RemoveSessionsArgs) -> anyhow::Result<ExitCode> {
    let settings = arguments.host.resolve_settings()?;
    let mut connection =
        HostConnection::connect(&arguments.host, COMMAND_RECONNECT_TIMEOUT).await?;
    let mut ids = AgentSessionIds::new();
    let removed = remove_sessions(&mut connection.client, &arguments, &settings, &mut ids).await;
    connection.close().await?;
    if !arguments.keep_agent_sessions {
        delete_in_agents(&settings, ids).await;
    }
    removed.map(|()| ExitCode::SUCCESS)
}

async fn remove_sessions(
    client: &mut Client,
    arguments: &RemoveSessionsArgs,
    settings: &HostSettings,
    ids: &mut AgentSessionIds,
) -> anyhow::Result<()> {
    let sessions = arguments.selection.resolve(client).await?;
    if sessions.is_empty() {
        output::print_note("no session is that old");
        return Ok(());
    }
    check_running(&sessions, arguments)?;
    if arguments.selection.older_than.is_some() && !arguments.yes {
        for session in &sessions {
            output::print_note(&describe_session(session));
        }
        let question = match sessions.len() {
            1 => "delete this session?".to_owned(),
            count => format!("delete these {count} sessions?"),
        };
        if !confirm(&question, YES_HINT)? {
            return Ok(());
        }
    }
    let tracker = ChangeTracker::new(ServerConfig::new(&settings.data_directory).changes_dir());
    // All questions come first, so that an interrupted command has removed nothing.
    let mut planned = Vec::new();
    for session in sessions {
        planned.extend(plan_removal(session, arguments, &tracker)?);
    }
    for removal in planned {
        collect_agent_sessions(&removal.session, ids);
        remove_session(client, removal).await?;
    }
    Ok(())
}

/// Refuses to remove running sessions without a question or `--force`, before any is removed.
fn check_running(
    sessions: &[SessionSummary],
    arguments: &RemoveSessionsArgs,
) -> anyhow::Result<()> {
    let running = sessions.iter().find(|session| is_running(session));
    match running {
        Some(session) if arguments.yes && !arguments.force => bail!(
            "{} has a running turn, so nothing was deleted\n\
             hint: `--force` cancels the turn",
            describe_session(session)
        ),
        _ => Ok(()),
    }
}

/// Asks the questions about a session. Returns `None` if the user keeps it.
fn plan_removal(
    session: SessionSummary,
    arguments: &RemoveSessionsArgs,
    tracker: &ChangeTracker,
) -> anyhow::Result<Option<PlannedRemoval>> {
    let described = describe_session(&session);
    let is_named = arguments.selection.older_than.is_none();
    if !arguments.yes && is_named {
        let running = match is_running(&session) {
            true => ", which has a running turn",
            false => "",
        };
        if !confirm(&format!("delete {described}{running}?"), YES_HINT)? {
            return Ok(None);
        }
    }
    let mut discards_worktree = arguments.discard_worktrees;
    if !discards_worktree {
        let work = match tracker.unmerged_work(&session.resource) {
            Ok(work) => work.map(|work| describe_work(&work)),
            Err(error) => Some(format!("its worktree can't be read ({error})")),
        };
        if let Some(work) = work {
            let question = format!("{described}: {work}. Delete that, too?");
            if arguments.yes {
                output::print_note(&format!(
                    "{described}: {work}, which is kept; `--discard-worktrees` deletes it"
                ));
            } else {
                discards_worktree = confirm(&question, YES_HINT)?;
            }
        }
    }
    Ok(Some(PlannedRemoval {
        session,
        discards_worktree,
    }))
}

pub(crate) fn describe_work(work: &UnmergedWork) -> String {
    let directory = work.directory.display();
    let mut parts = Vec::new();
    if work.is_changed {
        parts.push("changes that are not committed".to_owned());
    }
    match work.commits {
        0 => {}
        1 => parts.push("a commit that is not in its base branch".to_owned()),
        count => parts.push(format!("{count} commits that are not in its base branch")),
    }
    format!("its worktree {directory} has {}", parts.join(" and "))
}

async fn remove_session(client: &mut Client, removal: PlannedRemoval) -> anyhow::Result<()> {
    let described = describe_session(&removal.session);
    let discard = (WORKTREE_META_KEY.to_owned(), Json::from(DISCARD_WORKTREE));
    let meta = removal
        .discards_worktree
        .then(|| Meta::new(Object::from_iter([discard])));
    let dispose = DisposeSessionParams {
        channel: removal.session.resource,
        meta,
    };
    client.request(dispose).await?;
    output::print_note(&format!("deleted {described}"));
    Ok(())
}

/// Adds the sessions that the agent of a session has stored itself.
fn collect_agent_sessions(session: &SessionSummary, ids: &mut AgentSessionIds) {
    let meta = session.meta.as_ref();
    let stored = meta.and_then(|meta| meta.get(AGENT_SESSIONS_META_KEY)?.as_object());
    let stored = stored.into_iter().flatten();
    let stored = stored.filter_map(|(_, id)| id.as_str().map(str::to_owned));
    let stored: Vec<_> = stored.collect();
    if stored.is_empty() {
        return;
    }
    let metadata = &session.metadata;
    let folder = metadata.project.as_ref().map(|project| &project.uri);
    let folders = metadata.working_directories.as_ref();
    let folder = folder.or_else(|| folders?.first());
    let folder = folder.and_then(agenthost_workspace::path_of);
    let folder = folder.filter(|folder| folder.is_dir());
    let folder = folder.unwrap_or_else(|| Path::new("/").to_owned());
    let key = (metadata.provider.to_string(), folder);
    ids.entry(key).or_default().extend(stored);
}

/// Deletes sessions in the stores of their agents. A failure is no error, because the host has
/// nothing of these sessions any more.
async fn delete_in_agents(settings: &HostSettings, ids: AgentSessionIds) {
    for ((name, folder), sessions) in ids {
        let deleted = match find_offered_agent(settings, &name) {
            Ok((_, agent)) => delete_agent_sessions(&agent, &folder, &sessions)
                .await
                .map_err(anyhow::Error::from),
            Err(error) => Err(error),
        };
        let all = sessions.len();
        match deleted {
            Ok(count) if count == all => {}
            Ok(count) => output::print_note(&format!(
                "the agent `{name}` keeps its own record of {} of {all} sessions",
                all - count
            )),
            Err(error) => output::print_note(&format!(
                "the agent `{name}` keeps its own record: {}",
                error.to_string().lines().next().unwrap_or_default()
            )),
        }
    }
}
