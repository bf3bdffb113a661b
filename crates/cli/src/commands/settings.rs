//! `agenthost model` and `agenthost mode`: list and change the settings of a session.

pub(crate) mod chat_model;
pub(crate) mod session_settings;

use std::process::ExitCode;

use agenthost_client::Client;
use agenthost_protocol::uri::Uri;
use agenthost_view::composer::NamedOption;
use anyhow::bail;
use clap_complete::engine::ArgValueCandidates;

use self::chat_model::{current_model, offered_models, select_model, set_model};
use self::session_settings::{MODE_KEY, find_choice, set_choice};
use crate::completion_values::session_ids;
use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions};
use crate::dialog;
use crate::output;
use crate::session_lookup::named_or_latest_session;

/// List the models of a session, or change the model
#[derive(clap::Args)]
#[command(after_help = MODEL_EXAMPLES)]
pub(crate) struct ModelArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
}

/// List the modes of a session, or change the mode
#[derive(clap::Args)]
#[command(after_help = MODE_EXAMPLES)]
pub(crate) struct ModeArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
}

#[derive(clap::Args)]
struct ChoiceArgs {
    /// The new value; without it, the values are listed
    #[arg(value_name = "ID")]
    value: Option<String>,
    /// The session: its address, or the beginning or end of its id
    /// [default: the latest one in this folder]
    #[arg(long, value_name = "ID", add = ArgValueCandidates::new(session_ids))]
    session: Option<String>,
    #[command(flatten)]
    host: HostOptions,
}

const MODEL_EXAMPLES: &str = "\
Examples:
  agenthost model                list the models; `*` marks the current one
  agenthost model sonnet         change the model of the latest session in this folder";

const MODE_EXAMPLES: &str = "\
Examples:
  agenthost mode                 list the modes; `*` marks the current one
  agenthost mode plan            change the mode of the latest session in this folder";

pub(crate) async fn model(arguments: ModelArgs) -> anyhow::Result<ExitCode> {
    let arguments = arguments.choice;
    let mut connection =
        HostConnection::connect(&arguments.host, COMMAND_RECONNECT_TIMEOUT).await?;
    let result = list_or_change_model(&mut connection.client, &arguments).await;
    connection.close().await?;
    result.map(|()| ExitCode::SUCCESS)
}

pub(crate) async fn mode(arguments: ModeArgs) -> anyhow::Result<ExitCode> {
    let arguments = arguments.choice;
    let mut connection =
        HostConnection::connect(&arguments.host, COMMAND_RECONNECT_TIMEOUT).await?;
    let result = list_or_change_mode(&mut connection.client, &arguments).await;
    connection.close().await?;
    result.map(|()| ExitCode::SUCCESS)
}

async fn list_or_change_model(client: &mut Client, arguments: &ChoiceArgs) -> anyhow::Result<()> {
    let session = named_or_latest_session(client, arguments.session.as_deref()).await?;
    let agent = session.metadata.provider.clone();
    let chat = open_session(client, &session.resource).await?;
    client.subscribe(&chat).await?;
    let offered = offered_models(client, &agent).await?;
    if let Some(named) = &arguments.value {
        let model = select_model(&offered, named)?;
        return set_model(client, &chat, model).await;
    }
    if offered.is_empty() {
        bail!("the agent `{agent}` offers no models");
    }
    let current = current_model(client, &chat).map(|model| model.id.to_string());
    print_options(&offered, current.as_deref())
}

async fn list_or_change_mode(client: &mut Client, arguments: &ChoiceArgs) -> anyhow::Result<()> {
    let session = named_or_latest_session(client, arguments.session.as_deref()).await?;
    let session = session.resource;
    open_session(client, &session).await?;
    if let Some(value) = &arguments.value {
        return set_choice(client, &session, MODE_KEY, value).await;
    }
    let choice = find_choice(client, &session, MODE_KEY).await?;
    print_options(&choice.options, choice.value.as_deref())
}

/// Subscribes to a session and waits until it is ready. Returns its default chat.
async fn open_session(client: &mut Client, session: &Uri) -> anyhow::Result<Uri> {
    client.subscribe(session).await?;
    dialog::wait_until_ready(client, session, |_| Ok(())).await
}

/// Prints options, with a mark before the current one.
fn print_options(options: &[NamedOption], current: Option<&str>) -> anyhow::Result<()> {
    for option in options {
        let mark = match current == Some(option.id.as_str()) {
            true => "*",
            false => " ",
        };
        let label = match option.label == option.id {
            true => String::new(),
            false => format!("  {}", option.label),
        };
        let line = format!("{mark} {}{label}", option.id);
        output::print_data(&output::escape_invisible(&line))?;
    }
    Ok(())
}
