//! `agenthost tui`: the terminal interface.

use std::io::IsTerminal;
use std::process::ExitCode;

use agenthost_client::HostAddress;
use agenthost_server::HOST_FILE;
use agenthost_tui::{HostStarter, ScreenOptions, ScreenTheme, TuiOptions};
use anyhow::bail;

use crate::background::HostLifetime;
use crate::connect::{
    COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions, HostTarget, random_id,
};
use crate::remote_host::{RelayStart, RemoteHost};
use crate::session_lookup::find_session;
use crate::terminal_environment;

/// Open the terminal interface: sessions, chats, approvals, changes
///
/// Shows all sessions of the host, and starts a host that stays if none is running. The footer
/// names the keys of the present place, and ? lists all of them. `agenthost attach` is the client
/// for screen readers, logs and terminals without cursor movement.
#[derive(clap::Args, Default)]
#[command(after_help = TUI_EXAMPLES)]
pub(crate) struct TuiArgs {
    /// The session that is opened: its address, or the beginning or end of its id [default: the
    /// latest of this folder]
    session: Option<String>,
    #[command(flatten)]
    host: HostTarget,
}

impl TuiArgs {
    /// Returns the arguments that open the interface with the host of another machine.
    pub(crate) fn of_remote_host(remote: RemoteHost) -> Self {
        TuiArgs {
            session: None,
            host: HostTarget {
                remote: Some(remote),
                local: HostOptions::default(),
            },
        }
    }
}

/// Name that other clients see beside answers and comments.
const DEVICE_NAME: &str = "terminal";

const TUI_EXAMPLES: &str = "\
Examples:
  agenthost                    open the interface
  agenthost tui 6314fd6f       open the session whose id begins or ends like this
  agenthost --host ssh:box     use the host of another machine
  NO_COLOR=1 agenthost         without colours";

/// Returns `true` if a person can use the interface: both directions are a terminal.
pub(crate) fn is_at_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

pub(crate) async fn run(arguments: TuiArgs) -> anyhow::Result<ExitCode> {
    check_terminal()?;
    let connected = arguments
        .host
        .connect(HostLifetime::Unlimited, COMMAND_RECONNECT_TIMEOUT);
    let mut connection = connected.await?;
    let session = match &arguments.session {
        Some(named) => Some(find_session(&mut connection.client, named).await?.resource),
        None => None,
    };
    let folder = arguments.host.resolve_directory(&connection.client, None);
    connection.close().await?;
    let options = TuiOptions {
        address: host_address(&arguments.host)?,
        client_id: format!("agenthost-tui-{}", random_id()?),
        device_name: DEVICE_NAME.to_owned(),
        editor: editor(),
        screen: ScreenOptions {
            theme: theme(),
            // In a folder that was deleted, there is no folder for new sessions.
            folder: folder
                .ok()
                .map(|folder| folder.to_string_lossy().into_owned()),
            session,
        },
        session_meta: terminal_environment::session_meta(),
        start_host: host_starter(arguments.host),
    };
    agenthost_tui::run(options).await?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the address at which the interface connects to the host, once one is running.
fn host_address(target: &HostTarget) -> anyhow::Result<HostAddress> {
    match &target.remote {
        Some(remote) => Ok(remote.address(RelayStart::OnlyRunning)),
        None => {
            let settings = target.local.resolve_settings()?;
            let file = settings.data_directory.join(HOST_FILE);
            Ok(HostAddress::ReadyFile(file))
        }
    }
}

fn check_terminal() -> anyhow::Result<()> {
    if !is_at_terminal() {
        bail!(
            "the terminal interface needs a terminal for its input and output\nhint: `agenthost \
             attach` and `agenthost run` work with files and pipes"
        );
    }
    match std::env::var("TERM").as_deref() {
        Ok("dumb") => bail!(
            "the terminal interface cannot use a terminal of the type `dumb`\nhint: `agenthost \
             attach` prints plain lines"
        ),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the function that starts a host in place of one that has ended. It prints nothing,
/// because the interface has the terminal.
fn host_starter(target: HostTarget) -> HostStarter {
    let target = std::rc::Rc::new(target);
    Box::new(move || {
        let target = std::rc::Rc::clone(&target);
        Box::pin(async move { Ok(start_host(&target).await?) })
    })
}

/// Starts a host if none is running. Returns a note about it.
async fn start_host(target: &HostTarget) -> anyhow::Result<String> {
    let lifetime = HostLifetime::Unlimited;
    let (connection, note) = match target.remote {
        Some(_) => {
            let connection = target.connect(lifetime, COMMAND_RECONNECT_TIMEOUT).await?;
            (connection, None)
        }
        None => HostConnection::open(&target.local, lifetime, COMMAND_RECONNECT_TIMEOUT).await?,
    };
    connection.close().await?;
    Ok(note.unwrap_or_else(|| "the host is running".to_owned()))
}

/// Chooses the theme as <https://no-color.org> asks for.
fn theme() -> ScreenTheme {
    match std::env::var_os("NO_COLOR") {
        Some(value) if !value.is_empty() => ScreenTheme::plain(),
        Some(_) | None => ScreenTheme::colored(),
    }
}

fn editor() -> String {
    let named = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok());
    named
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "vi".to_owned())
}
