//! Spawns an agent process: its command line, its environment and the errors of its start.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use agenthost_core::SessionEnvironment;
use agenthost_process::{
    ChildConfig, ChildPipes, ChildSpawnError, ManagedChild, SignalScope, inherited_environment,
};
use tokio::process::Command;

/// The command line and environment of an agent.
#[derive(Clone, PartialEq, Eq)]
pub struct AgentLaunch {
    /// The program, as a path or a name in `PATH`.
    pub program: String,
    /// The arguments after the program.
    pub arguments: Vec<String>,
    /// Additional environment variables of this agent. The value `$NAME` refers to a variable
    /// of the host.
    pub environment: Vec<(String, String)>,
}

/// Prints only the names of variables, because their values may be secret.
impl std::fmt::Debug for AgentLaunch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("AgentLaunch")
            .field("program", &self.program)
            .field("arguments", &self.arguments.len())
            .field("environment", &names)
            .finish()
    }
}

/// The reason why an agent process could not be spawned.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The working directory of the agent does not exist.
    #[error("start `{program}`: the folder `{}` does not exist", folder.display())]
    Folder {
        /// The program of the agent.
        program: String,
        /// The folder that does not exist.
        folder: PathBuf,
    },
    /// The program does not exist.
    #[error("start `{0}`: program not found")]
    Missing(String),
    /// The operating system returned an error.
    #[error("start `{program}`: {source}")]
    System {
        /// The program of the agent.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Spawns an agent in a folder. With a directory for pid files, the next host kills the agent
/// if this host is killed.
pub(crate) fn spawn_agent(
    launch: &AgentLaunch,
    environment: &SessionEnvironment,
    folder: &Path,
    pid_dir: Option<&Path>,
) -> Result<(ManagedChild, ChildPipes), SpawnError> {
    let program = || launch.program.clone();
    if !folder.is_dir() {
        return Err(SpawnError::Folder {
            program: program(),
            folder: folder.to_owned(),
        });
    }
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.arguments)
        .current_dir(folder)
        .env_clear()
        .envs(agent_environment(launch, environment));
    let config = ChildConfig {
        pid_dir,
        signal_scope: SignalScope::Tree,
        signal_failure: "failed to signal the process group of an agent",
    };
    ManagedChild::spawn(command, &config).map_err(|error| match error {
        ChildSpawnError::Start(source) if source.kind() == io::ErrorKind::NotFound => {
            SpawnError::Missing(program())
        }
        ChildSpawnError::Start(source) | ChildSpawnError::PidFile(source) => SpawnError::System {
            program: program(),
            source,
        },
    })
}

/// Returns the environment of an agent, which also applies to commands that the host runs for
/// it. Variables of the session replace those of the host, and the launch parameters replace
/// both.
pub(crate) fn agent_environment(
    launch: &AgentLaunch,
    session: &SessionEnvironment,
) -> Vec<(OsString, OsString)> {
    let mut all: BTreeMap<OsString, OsString> = inherited_environment().collect();
    let variables = session.variables();
    all.extend(variables.map(|(name, value)| (name.into(), value.into())));
    for (name, value) in &launch.environment {
        let reference = value.strip_prefix('$');
        let from_session = reference.and_then(|reference| session.get(reference));
        let resolved = from_session
            .map(OsString::from)
            .or_else(|| resolve_reference(value));
        // References to variables that neither has are left out.
        match resolved {
            Some(resolved) => all.insert(name.into(), resolved),
            None => all.remove(OsStr::new(name)),
        };
    }
    all.into_iter().collect()
}

/// Returns a value, or the host's variable that it refers to.
pub(crate) fn resolve_reference(value: &str) -> Option<OsString> {
    match value.strip_prefix('$') {
        Some(reference) => std::env::var_os(reference),
        None => Some(value.into()),
    }
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
