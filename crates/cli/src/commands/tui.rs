//! `agenthost tui`: the terminal interface.

use std::io::IsTerminal;
use std::process::ExitCode;

use agenthost_client::HostAddress;
use agenthost_server::HOST_FILE;
use agenthost_tui::{HostStarter, ScreenOptions, ScreenTheme, TuiOptions};
use anyhow::bail;

use crate::background::HostLifetime;
use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions, random_id};
use crate::session_lookup::find_session;

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
    host: HostOptions,
}

/// Name that other clients see beside answers and comments.
const DEVICE_NAME: &str = "terminal";

const TUI_EXAMPLES: &str = "\
Examples:
  agenthost                    open the interface
  agenthost tui 6314fd6f       open the session whose id begins or ends like this
  NO_COLOR=1 agenthost         without colours";

/// Returns `true` if a person can use the interface: both directions are a terminal.
pub(crate) fn is_at_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

pub(crate) async fn run(arguments: TuiArgs) -> anyhow::Result<ExitCode> {
    check_terminal()?;
    let settings = arguments.host.resolve_settings()?;
    let mut connection = start_host(&arguments.host).await?;
    let session = match &arguments.session {
        Some(named) => Some(find_session(&mut connection.client, named).await?.resource),
        None => None,
    };
    connection.close().await?;
    let folder = std::env::current_dir().ok();
    let options = TuiOptions {
        address: HostAddress::ReadyFile(settings.data_directory.join(HOST_FILE)),
        client_id: format!("agenthost-tui-{}", random_id()?),
        device_name: DEVICE_NAME.to_owned(),
        editor: editor(),
        screen: ScreenOptions {
            theme: theme(),
            folder: folder.map(|folder| folder.to_string_lossy().into_owned()),
            session,
        },
        start_host: host_starter(arguments.host),
    };
    agenthost_tui::run(options).await?;
    Ok(ExitCode::SUCCESS)
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

async fn start_host(options: &HostOptions) -> anyhow::Result<HostConnection> {
    let lifetime = HostLifetime::Unlimited;
    HostConnection::connect_or_start(options, lifetime, COMMAND_RECONNECT_TIMEOUT).await
}

/// Returns the function that starts a host in place of one that has ended.
fn host_starter(options: HostOptions) -> HostStarter {
    let options = std::rc::Rc::new(options);
    Box::new(move || {
        let options = std::rc::Rc::clone(&options);
        Box::pin(async move {
            let connection = start_host(&options).await?;
            connection.close().await?;
            Ok(())
        })
    })
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
