//! `agenthost undo`, `restore`, `commit`, `merge` and `apply`: operations on the changes of a
//! session.

use std::process::ExitCode;

use agenthost_client::Client;
use agenthost_protocol::changeset::{
    ChangesetOperation, ChangesetOperationStatus, InvokeChangesetOperationParams,
};
use agenthost_protocol::common::Meta;
use agenthost_protocol::ids::OperationId;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use agenthost_view::title::plain_title;
use anyhow::bail;
use clap_complete::engine::ArgValueCandidates;

use crate::commands::diff::{turn_changeset_uri, wait_for_changeset};
use crate::completion_values::session_ids;
use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions};
use crate::dialog::question::confirm;
use crate::output;
use crate::session_lookup::named_or_latest_session;
use crate::terminal::spinner::{OPERATION_DELAY, show_while};
use crate::turn_lookup::find_turn;

/// The `_meta` key of a commit message.
const COMMIT_MESSAGE_META_KEY: &str = "agenthost.message";

/// The session and the host.
#[derive(clap::Args)]
struct TargetArgs {
    /// The session: its address, or the beginning or end of its id
    /// [default: the latest one in this folder]
    #[arg(add = ArgValueCandidates::new(session_ids))]
    session: Option<String>,
    #[command(flatten)]
    host: HostOptions,
}

/// Undo the changes of a turn, and keep later ones
#[derive(clap::Args)]
#[command(after_help = UNDO_EXAMPLES)]
pub(crate) struct UndoArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// The turn: its id or the beginning of it [default: the last one]
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    turn: Option<String>,
    /// Undo the changes of all turns of the session
    #[arg(long)]
    all: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// Restore all files to their state before a turn
#[derive(clap::Args)]
pub(crate) struct RestoreArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// The turn: its id or the beginning of it [default: the last one]
    #[arg(long, value_name = "ID")]
    turn: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// Commit all changes in the folder of a session
#[derive(clap::Args)]
#[command(after_help = COMMIT_EXAMPLES)]
pub(crate) struct CommitArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// The commit message [default: the title of the session]
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
}

/// Merge the branch of a session's worktree into its base branch
#[derive(clap::Args)]
pub(crate) struct MergeArgs {
    #[command(flatten)]
    target: TargetArgs,
}

/// Apply the changes of a session's worktree to the folder that it was created from
#[derive(clap::Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    target: TargetArgs,
}

const UNDO_EXAMPLES: &str = "\
Examples:
  agenthost undo                 undo the last turn of the latest session in this folder
  agenthost undo --all --yes     undo the whole session without asking";

const COMMIT_EXAMPLES: &str = "\
Examples:
  agenthost commit -m \"parser: numbers with a sign\"
  agenthost commit 6314fd6f";

/// The changes that an operation applies to.
enum OperationScope {
    Turn(Option<String>),
    Session,
    Uncommitted,
    Branch,
}

/// An operation to run.
struct OperationRun {
    id: &'static str,
    scope: OperationScope,
    asks: bool,
    meta: Option<Meta>,
}

pub(crate) async fn undo(arguments: UndoArgs) -> anyhow::Result<ExitCode> {
    let scope = match arguments.all {
        true => OperationScope::Session,
        false => OperationScope::Turn(arguments.turn),
    };
    let asks = !arguments.yes;
    run(arguments.target, "undo", scope, asks, None).await
}

pub(crate) async fn restore(arguments: RestoreArgs) -> anyhow::Result<ExitCode> {
    let scope = OperationScope::Turn(arguments.turn);
    let asks = !arguments.yes;
    run(arguments.target, "restore", scope, asks, None).await
}

pub(crate) async fn commit(arguments: CommitArgs) -> anyhow::Result<ExitCode> {
    let meta = arguments.message.map(|message| {
        let message = (COMMIT_MESSAGE_META_KEY.to_owned(), Json::from(message));
        Meta::new(Object::from_iter([message]))
    });
    run(
        arguments.target,
        "commit",
        OperationScope::Uncommitted,
        false,
        meta,
    )
    .await
}

pub(crate) async fn merge(arguments: MergeArgs) -> anyhow::Result<ExitCode> {
    run(
        arguments.target,
        "merge",
        OperationScope::Branch,
        false,
        None,
    )
    .await
}

pub(crate) async fn apply(arguments: ApplyArgs) -> anyhow::Result<ExitCode> {
    run(
        arguments.target,
        "apply",
        OperationScope::Branch,
        false,
        None,
    )
    .await
}

async fn run(
    target: TargetArgs,
    id: &'static str,
    scope: OperationScope,
    asks: bool,
    meta: Option<Meta>,
) -> anyhow::Result<ExitCode> {
    let mut connection = HostConnection::connect(&target.host, COMMAND_RECONNECT_TIMEOUT).await?;
    let operation = OperationRun {
        id,
        scope,
        asks,
        meta,
    };
    let named = target.session.as_deref();
    let result = run_operation(&mut connection.client, named, operation).await;
    connection.close().await?;
    result.map(|()| ExitCode::SUCCESS)
}

async fn run_operation(
    client: &mut Client,
    named: Option<&str>,
    run: OperationRun,
) -> anyhow::Result<()> {
    let session = named_or_latest_session(client, named).await?;
    let channel = changeset_uri(client, &session, run.scope).await?;
    let computed = wait_for_changeset(client, &channel);
    let state = show_while("computing the changes", OPERATION_DELAY, computed).await?;
    let mut operations = state.operations.iter().flatten();
    let Some(offered) = operations.find(|offered| offered.id.as_str() == run.id) else {
        bail!(
            "this session has no `{}`: it does not work in a worktree",
            run.id
        );
    };
    check_offered(offered)?;
    if let Some(question) = offered.confirmation.as_ref().filter(|_| run.asks) {
        for file in state.files.items() {
            let sides = [&file.edit.after, &file.edit.before];
            let side = sides.into_iter().flatten().next();
            if let Some(side) = side {
                let path = agenthost_view::location::path_of(&side.uri);
                output::print_note(&output::shorten_home(&path));
            }
        }
        let question = plain_title(question);
        if !confirm(&question, "`--yes` does it without asking")? {
            output::print_note("nothing was changed");
            return Ok(());
        }
    }
    let invoked = client.request(InvokeChangesetOperationParams {
        channel,
        operation_id: OperationId::from(run.id),
        target: None,
        meta: run.meta,
    });
    let invoked = show_while("working", OPERATION_DELAY, invoked).await?;
    let message = invoked.message;
    let message = message.as_ref().map(MaybeMarkdown::as_str);
    output::print_note(message.unwrap_or("done"));
    Ok(())
}

/// Refuses an operation that cannot run now, with its reason.
fn check_offered(offered: &ChangesetOperation) -> anyhow::Result<()> {
    let label = offered.label.to_lowercase();
    match offered.status {
        ChangesetOperationStatus::Disabled => {
            let description = offered.description.as_deref().unwrap_or_default();
            let reason = description.rsplit(": ").next().unwrap_or_default();
            bail!("cannot {label}: {reason}")
        }
        ChangesetOperationStatus::Running => bail!("cannot {label}: it is running already"),
        ChangesetOperationStatus::Idle
        | ChangesetOperationStatus::Error
        | ChangesetOperationStatus::Unknown(_) => Ok(()),
    }
}

async fn changeset_uri(
    client: &mut Client,
    session: &SessionSummary,
    scope: OperationScope,
) -> anyhow::Result<Uri> {
    let view = match scope {
        OperationScope::Session => "session",
        OperationScope::Uncommitted => "uncommitted",
        OperationScope::Branch => "branch",
        OperationScope::Turn(turn) => {
            let turn = find_turn(client, session, turn.as_deref()).await?;
            return Ok(turn_changeset_uri(&session.resource, &turn));
        }
    };
    Ok(Uri::from(format!("{}/changeset/{view}", session.resource)))
}
