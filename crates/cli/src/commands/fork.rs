//! `agenthost fork`: copies a session.

use std::process::ExitCode;

use agenthost_client::Client;
use agenthost_protocol::common::Meta;
use agenthost_protocol::session::CreateSessionParams;
use agenthost_protocol::uri::{Uri, session_uri};
use agenthost_protocol::wire::{Json, Object};
use clap_complete::engine::ArgValueCandidates;

use crate::completion_values::session_ids;
use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions, random_id};
use crate::dialog;
use crate::output;
use crate::session_lookup::{named_or_latest_session, short_id};
use crate::turn_lookup::find_turn;

/// Key in `_meta` of `createSession` for the source of the fork.
const FORK_META_KEY: &str = "agenthost.fork";

/// Create a session that begins with the turns of another one
///
/// Prints the id of the new session. The files stay as they are; `agenthost restore` takes them
/// back to a turn.
#[derive(clap::Args)]
#[command(after_help = FORK_EXAMPLES)]
pub(crate) struct ForkArgs {
    /// The session: its address, or the beginning or end of its id
    /// [default: the latest one in this folder]
    #[arg(add = ArgValueCandidates::new(session_ids))]
    session: Option<String>,
    /// The last turn to copy: its id or the beginning of it [default: the last one]
    #[arg(long, value_name = "ID")]
    turn: Option<String>,
    #[command(flatten)]
    host: HostOptions,
}

const FORK_EXAMPLES: &str = "\
Example:
  agenthost attach $(agenthost fork)       try something else in a copy of the latest session";

pub(crate) async fn fork(arguments: ForkArgs) -> anyhow::Result<ExitCode> {
    let mut connection =
        HostConnection::connect(&arguments.host, COMMAND_RECONNECT_TIMEOUT).await?;
    let forked = fork_session(&mut connection.client, &arguments).await;
    connection.close().await?;
    output::print_data(short_id(&forked?))?;
    Ok(ExitCode::SUCCESS)
}

async fn fork_session(client: &mut Client, arguments: &ForkArgs) -> anyhow::Result<Uri> {
    let source = named_or_latest_session(client, arguments.session.as_deref()).await?;
    let turn = find_turn(client, &source, arguments.turn.as_deref()).await?;
    let provider = source.metadata.provider.clone();
    let session = session_uri(&provider, &random_id()?);
    let fork = Object::from_iter([
        ("session".to_owned(), Json::from(source.resource.as_str())),
        ("turnId".to_owned(), Json::from(turn.as_str())),
    ]);
    let meta = Object::from_iter([(FORK_META_KEY.to_owned(), Json::from(fork))]);
    let create = CreateSessionParams {
        channel: session.clone(),
        provider: Some(provider),
        working_directories: None,
        config: None,
        active_client: None,
        progress_token: None,
        meta: Some(Meta::new(meta)),
    };
    client.request(create).await?;
    client.subscribe(&session).await?;
    dialog::wait_until_ready(client, &session, |_| Ok(())).await?;
    Ok(session)
}
