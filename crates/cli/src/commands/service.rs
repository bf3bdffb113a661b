//! `agenthost service`: runs the host as a service of the user.

mod definition;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};

use crate::commands::serve::ServeOptions;
use crate::output;
use definition::{LAUNCHD_LABEL, SYSTEMD_UNIT, launchd_agent, systemd_unit};

/// Start the host at every login, as a service of your user
#[derive(clap::Args)]
pub(crate) struct ServiceArgs {
    #[command(subcommand)]
    command: ServiceCommand,
}

#[derive(clap::Subcommand)]
enum ServiceCommand {
    Install(Box<InstallArgs>),
    Remove(RemoveArgs),
}

/// Write the service, enable it and start it
///
/// On Linux this is a systemd user unit, on macOS a launchd agent. The options are those of
/// `agenthost serve`.
#[derive(clap::Args)]
struct InstallArgs {
    /// Print the file of the service, and change nothing
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    options: ServeOptions,
}

/// Stop the service and remove it; sessions stay
#[derive(clap::Args)]
struct RemoveArgs {}

pub(crate) fn run(arguments: &ServiceArgs) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        ServiceCommand::Install(install) => install_service(install)?,
        ServiceCommand::Remove(RemoveArgs {}) => remove_service()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn install_service(arguments: &InstallArgs) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("find the program of the host")?;
    let mut words = vec![program.into_os_string(), "serve".into()];
    words.extend(arguments.options.to_arguments()?);
    let words: Result<Vec<String>, _> = words.into_iter().map(|word| word.into_string()).collect();
    let words = words.map_err(|word| anyhow::anyhow!("`{}` is not UTF-8", word.display()))?;
    let path = std::env::var("PATH").unwrap_or_default();
    let text = if cfg!(target_os = "macos") {
        launchd_agent(&words, &path)?
    } else {
        systemd_unit(&words, &path)?
    };
    if arguments.print {
        return output::print_data(text.trim_end());
    }
    let file = service_path()?;
    write_file(&file, &text)?;
    output::print_note(&format!("wrote {}", file.display()));
    if cfg!(target_os = "macos") {
        call("launchctl", &["load", "-w", &file.to_string_lossy()])?;
    } else {
        call("systemctl", &["--user", "daemon-reload"])?;
        call("systemctl", &["--user", "enable", "--now", SYSTEMD_UNIT])?;
        output::print_note(
            "systemd stops the services of a user at the last logout; \
             `loginctl enable-linger` lets this one go on",
        );
    }
    output::print_note("the host runs as a service; `agenthost status` shows it");
    Ok(())
}

fn remove_service() -> anyhow::Result<()> {
    let file = service_path()?;
    if !file.exists() {
        output::print_note("no service is installed");
        return Ok(());
    }
    let stopped = if cfg!(target_os = "macos") {
        call("launchctl", &["unload", "-w", &file.to_string_lossy()])
    } else {
        call("systemctl", &["--user", "disable", "--now", SYSTEMD_UNIT])
    };
    std::fs::remove_file(&file).with_context(|| format!("remove `{}`", file.display()))?;
    output::print_note(&format!("removed {}", file.display()));
    stopped?;
    if !cfg!(target_os = "macos") {
        call("systemctl", &["--user", "daemon-reload"])?;
    }
    Ok(())
}

/// Returns the path of the file that defines the service.
fn service_path() -> anyhow::Result<PathBuf> {
    let home = std::env::home_dir().context("find the home directory: HOME is not set")?;
    if cfg!(target_os = "macos") {
        return Ok(home.join(format!("Library/LaunchAgents/{LAUNCHD_LABEL}.plist")));
    }
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.filter(|path| path.is_absolute());
    let config = config.unwrap_or_else(|| home.join(".config"));
    Ok(config.join("systemd/user").join(SYSTEMD_UNIT))
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("create `{}`", directory.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("write `{}`", path.display()))
}

/// Runs a program of the system to its end.
fn call(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let line = format!("{program} {}", arguments.join(" "));
    let called = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output();
    match called {
        Ok(ended) if ended.status.success() => Ok(()),
        Ok(ended) => {
            let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
            bail!("`{line}` failed: {}", errors.trim())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "`{program}` is not installed, so the service was not started\n\
             hint: `agenthost start` runs the host in the background"
        ),
        Err(error) => Err(error).with_context(|| format!("run `{line}`")),
    }
}
