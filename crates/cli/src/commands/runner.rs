//! `agenthost runner`: the process that owns agents and terminals. The host starts it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use agenthost_server::{RunnerConfig, RunnerLaunch, ServerConfig, run_runner};
use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::background::READY_LINE;
use crate::background::log_files::{LogFiles, RotatingLog};
use crate::commands::serve::reload::{AgentReloader, StartedWith};
use crate::connect::HostOptions;
use crate::output;
use crate::output::LogDetail;

/// Name of this command.
const RUNNER_COMMAND: &str = "runner";

/// Run the agents and terminals of a host (the host starts this)
#[derive(clap::Args)]
pub(crate) struct RunnerArgs {
    #[command(flatten)]
    host: HostOptions,
    /// File that agents must not access
    #[arg(long, value_name = "PATH")]
    protect: Vec<PathBuf>,
    /// Log more; message contents are never logged
    #[arg(long)]
    verbose: bool,
}

pub(crate) async fn run(arguments: RunnerArgs) -> anyhow::Result<ExitCode> {
    nix::unistd::setsid().context("leave the session of the terminal")?;
    let settings = arguments.host.resolve_settings()?;
    let logs = LogFiles::of(&settings.data_directory);
    logs.create_directory()?;
    let path = logs.runner_path();
    let log = RotatingLog::open(&path);
    let log = log.with_context(|| format!("open log `{}`", path.display()))?;
    let detail = match arguments.verbose {
        true => LogDetail::Everything,
        false => LogDetail::Events,
    };
    output::start_log(detail, false, Some(log), settings.file.redactor()?)?;
    let mut config = ServerConfig::new(&settings.data_directory);
    let builtin = config.agents.clone();
    let offered = settings.file.apply(&mut config)?;
    config.secrets.extend(arguments.protect);
    let mut reloader = AgentReloader::new(StartedWith {
        named_file: arguments.host.config.clone(),
        file: settings.file,
        data_directory: settings.data_directory,
        builtin,
        offered,
    });
    let mut stop = StopSignals::listen()?;
    let runner = RunnerConfig {
        server: config,
        reload: Box::new(move || reloader.reload()),
    };
    let on_ready = || {
        tracing::info!(version = env!("CARGO_PKG_VERSION"), "the runner is ready");
        if let Err(error) = output::print_data(READY_LINE) {
            tracing::warn!(%error, "failed to report that the runner is ready");
        }
    };
    run_runner(runner, on_ready, stop.wait()).await?;
    Ok(ExitCode::SUCCESS)
}

/// Returns how a host with these options starts its runner. `secrets` are files of the host that
/// agents must not access.
pub(crate) fn runner_launch(
    options: &HostOptions,
    config: &ServerConfig,
    is_verbose: bool,
) -> anyhow::Result<RunnerLaunch> {
    let program = std::env::current_exe().context("find the program of the runner")?;
    let mut arguments: Vec<OsString> = vec![RUNNER_COMMAND.into()];
    arguments.extend(options.to_arguments()?);
    if is_verbose {
        arguments.push("--verbose".into());
    }
    let key = config.tls.iter().map(|tls| &tls.key);
    let log = config.wire_log.iter().map(|log| &log.path);
    for path in key.chain(log).chain(&config.secrets) {
        arguments.push("--protect".into());
        arguments.push(super::serve::absolute_path(path)?);
    }
    Ok(RunnerLaunch { program, arguments })
}

/// The signals that end a runner. Its host sends SIGTERM; the others are those of a person.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl StopSignals {
    fn listen() -> anyhow::Result<Self> {
        Ok(StopSignals {
            terminate: signal(SignalKind::terminate()).context("listen for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("listen for SIGINT")?,
            hangup: signal(SignalKind::hangup()).context("listen for SIGHUP")?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
