//! `agenthost attach`: takes part in a session, line by line.

mod conversation;
mod input;
mod session_choice;

use std::process::ExitCode;
use std::time::Duration;

use agenthost_client::Client;
use clap_complete::engine::ArgValueCandidates;

use self::conversation::{Conversation, ConversationEnd};
use self::session_choice::choose_session;
use crate::background::HostLifetime;
use crate::commands::run::TEMPORARY_VARIABLE;
use crate::completion_values::{agent_names, session_ids};
use crate::connect::HostTarget;
use crate::session_lookup::find_session;

/// Take part in a session: see it live, write, approve, cancel
///
/// Any number of terminals and other clients can attach to the same session. Enter sends a
/// message; while a turn runs, it is queued. Alt-Enter begins a new line, a paste is one message,
/// Ctrl-G opens $EDITOR, Tab completes commands, @files and session ids. Lines that begin with a
/// slash are commands: /help lists them.
#[derive(clap::Args)]
#[command(after_help = ATTACH_EXAMPLES)]
pub(crate) struct AttachArgs {
    /// The session: its address, or the beginning or end of its id
    /// [default: the latest one in this folder]
    #[arg(add = ArgValueCandidates::new(session_ids))]
    session: Option<String>,
    /// Print all earlier turns, not only the last ones
    #[arg(long)]
    all: bool,
    /// Create a new session in this folder
    #[arg(long, conflicts_with = "session")]
    new: bool,
    /// The agent of the new session [default: the host's default agent; asks once]
    #[arg(long, value_name = "NAME", requires = "new", add = ArgValueCandidates::new(agent_names))]
    agent: Option<String>,
    /// If no host is running, start one that ends with its last client and turn
    #[arg(long, env = TEMPORARY_VARIABLE)]
    temporary: bool,
    #[command(flatten)]
    host: HostTarget,
}

const ATTACH_EXAMPLES: &str = "\
Examples:
  agenthost attach                  join the latest session of this folder
  agenthost attach --new            create a session in this folder
  agenthost attach 6314fd6f         join the session whose id begins or ends like this";

/// Time that the client tries to reconnect to a lost host. It is long, because the user can
/// leave at any time.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) async fn run(arguments: AttachArgs) -> anyhow::Result<ExitCode> {
    let lifetime = HostLifetime::of_flag(arguments.temporary);
    let mut attached = arguments.host.connect(lifetime, RECONNECT_TIMEOUT).await?;
    let ended = run_conversations(&mut attached.client, &arguments).await;
    attached.close().await?;
    ended
}

/// Takes part in a session, and then in those that the user switches to.
async fn run_conversations(
    client: &mut Client,
    arguments: &AttachArgs,
) -> anyhow::Result<ExitCode> {
    let Some(mut session) = choose_session(client, arguments).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    loop {
        let conversation = Conversation::open(client, &session, arguments).await?;
        match conversation.run(client).await? {
            ConversationEnd::Quit => return Ok(ExitCode::SUCCESS),
            ConversationEnd::Signal(number) => {
                return Ok(ExitCode::from(128u8.saturating_add(number)));
            }
            ConversationEnd::Switch(named) => {
                let next = find_session(client, &named).await?.resource;
                client.unsubscribe(&session).await?;
                session = next;
            }
        }
    }
}
