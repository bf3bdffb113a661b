//! Offers agents that are installed or configured while the host runs.
//!
//! A thread watches the configuration file and the folders of `PATH`, so that an idle host does
//! nothing. A task reads the file again and looks for the programs. A file with an error is
//! rejected as a whole: the host goes on with the previous one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agenthost_agents::Agent;
use agenthost_server::{AgentReplacer, ServerConfig};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::program_watch::ProgramWatch;
use crate::config::{self, FileConfig, OfferedAgents};

/// Replaces the agents of a host when they change. Ends when it is dropped.
#[derive(Debug)]
pub(super) struct AgentReload {
    requests: mpsc::Sender<()>,
    _task: JoinSet<()>,
}

/// The configuration with which a host was started.
pub(crate) struct StartedWith {
    /// The file that was named on the command line.
    pub(crate) named_file: Option<PathBuf>,
    pub(crate) file: FileConfig,
    pub(crate) data_directory: PathBuf,
    /// The agents that do not depend on the configuration.
    pub(crate) builtin: Vec<Arc<dyn Agent>>,
    pub(crate) offered: OfferedAgents,
}

impl AgentReload {
    pub(super) fn start(started: StartedWith, replacer: AgentReplacer) -> Self {
        // One request is enough: it covers all changes until it is handled.
        let (requests, receiver) = mpsc::channel(1);
        let reloader = AgentReloader::new(started);
        let watch = ProgramWatch::start(requests.clone());
        let watch = watch
            .inspect_err(|error| {
                tracing::warn!(
                    %error,
                    "failed to watch for new agents: they are found after a restart or SIGHUP"
                );
            })
            .ok();
        let mut task = JoinSet::new();
        task.spawn(run(reloader, watch, receiver, replacer));
        AgentReload {
            requests,
            _task: task,
        }
    }

    /// Reads the configuration and looks for agents again, without waiting for the end.
    pub(super) fn request(&self) {
        // A full queue has a request that is not handled yet.
        if self.requests.try_send(()).is_err() {
            tracing::debug!("the agents are about to be read already");
        }
    }
}

async fn run(
    mut reloader: AgentReloader,
    mut watch: Option<ProgramWatch>,
    mut requests: mpsc::Receiver<()>,
    replacer: AgentReplacer,
) {
    if let Some(watch) = &mut watch {
        watch.follow(&reloader.started.file, reloader.path.as_deref());
    }
    while requests.recv().await.is_some() {
        let worked = tokio::task::spawn_blocking(move || {
            let agents = reloader.reload();
            if let Some(watch) = &mut watch {
                watch.follow(&reloader.started.file, reloader.path.as_deref());
            }
            (reloader, watch, agents)
        });
        // The runtime shuts down.
        let Ok((next_reloader, next_watch, agents)) = worked.await else {
            return;
        };
        (reloader, watch) = (next_reloader, next_watch);
        if let Some(agents) = agents {
            replacer.replace(agents).await;
        }
    }
}

/// Reads the configuration of agents again.
pub(crate) struct AgentReloader {
    /// The path of the configuration file, which may not exist.
    path: Option<PathBuf>,
    started: StartedWith,
    /// The last file that was compared for changes that need a restart.
    restart_file: FileConfig,
    /// The last problem, which is logged once.
    last_problem: Option<String>,
}

impl AgentReloader {
    pub(crate) fn new(started: StartedWith) -> Self {
        AgentReloader {
            path: config_path(started.named_file.as_deref()),
            restart_file: started.file.clone(),
            last_problem: None,
            started,
        }
    }

    /// Returns all agents, if they have changed.
    pub(crate) fn reload(&mut self) -> Option<Vec<Arc<dyn Agent>>> {
        let read = self.read_valid_file();
        let file = match read {
            Ok(file) => {
                self.report_restart(&file);
                self.started.file = file;
                &self.started.file
            }
            // Programs may have been installed nevertheless.
            Err(problem) => {
                self.report(format!("{problem:#}"), "rejected the configuration");
                &self.started.file
            }
        };
        let started = &self.started;
        let pid_dir = ServerConfig::new(&started.data_directory).pid_dir();
        let offered = match file.offered_agents(&started.builtin, &started.offered, &pid_dir) {
            Ok(offered) => offered,
            Err(problem) => {
                self.report(format!("{problem:#}"), "the agents stay as they are");
                return None;
            }
        };
        if offered.is_same(&started.offered) {
            return None;
        }
        tracing::info!(agents = ?offered.ids(), "agents have changed");
        let all = offered.with_builtin(&started.builtin);
        self.started.offered = offered;
        Some(all)
    }

    /// Reads the file again and checks all of it.
    fn read_valid_file(&mut self) -> anyhow::Result<FileConfig> {
        let file = FileConfig::load(self.started.named_file.as_deref())?;
        file.apply(&mut ServerConfig::new(&self.started.data_directory))?;
        self.last_problem = None;
        Ok(file)
    }

    fn report(&mut self, problem: String, outcome: &str) {
        if self.last_problem.as_ref() != Some(&problem) {
            tracing::error!(problem, "{outcome}");
            self.last_problem = Some(problem);
        }
    }

    fn report_restart(&mut self, file: &FileConfig) {
        if self.restart_file.needs_restart_for(file) {
            tracing::warn!("the configuration has changes that take effect after a restart");
            self.restart_file = file.clone();
        }
    }
}

fn config_path(named: Option<&Path>) -> Option<PathBuf> {
    match named {
        // A path that can't be made absolute is not watched.
        Some(named) => std::path::absolute(named).ok(),
        None => config::default_config_path(),
    }
}
