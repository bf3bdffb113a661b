//! Process of an MCP server with pipes.

use std::io;
use std::path::Path;

use agenthost_core::tools::mcp::transport::McpTransport;
use agenthost_process::{
    ChildConfig, ChildPipes, ChildSpawnError, ManagedChild, SignalScope, inherited_environment,
};
use tokio::process::Command;

/// Number of lines of standard error that an error message quotes.
const MAX_TAIL_LINES: usize = 3;

/// A running server process. On drop it is killed with all of its descendants.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: ManagedChild,
    /// Values that are removed from the quoted lines of standard error.
    secrets: Vec<String>,
}

/// The error of a server process that could not be spawned.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerSpawnError {
    /// The transport is not standard input and output.
    #[error("the transport of the server is not standard input and output")]
    NotAProgram,
    /// The program does not exist.
    #[error(
        "start `{0}`: program not found\nhint: install it, or add its folder to PATH of the host"
    )]
    NotFound(String),
    /// The system refused to start the program, or to write its pid file.
    #[error("start `{program}`: {source}")]
    Io { program: String, source: io::Error },
}

impl ServerProcess {
    /// Spawns a server. With a directory for pid files, the next host kills the server if this
    /// host is killed.
    pub(crate) fn spawn(
        transport: &McpTransport,
        pid_dir: Option<&Path>,
    ) -> Result<(Self, ChildPipes), ServerSpawnError> {
        let McpTransport::Stdio {
            command: program,
            arguments,
            environment,
            directory,
        } = transport
        else {
            return Err(ServerSpawnError::NotAProgram);
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(inherited_environment())
            .envs(environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
        let config = ChildConfig {
            pid_dir,
            signal_scope: SignalScope::Group,
            signal_failure: "failed to signal an MCP server",
        };
        let spawned = ManagedChild::spawn(command, &config);
        let (child, pipes) = spawned.map_err(|error| spawn_error(program, error))?;
        let secrets = environment.iter().map(|(_, value)| value.clone()).collect();
        Ok((ServerProcess { child, secrets }, pipes))
    }

    /// Ends the server and all of its descendants. The caller has closed its standard input.
    /// Returns the last lines of standard error.
    pub(crate) async fn shutdown(self) -> String {
        let stderr_tail = self.child.shutdown().await;
        stderr_tail
            .last_lines(MAX_TAIL_LINES, &self.secrets)
            .join("\n")
    }
}

fn spawn_error(program: &str, error: ChildSpawnError) -> ServerSpawnError {
    let (ChildSpawnError::Start(source) | ChildSpawnError::PidFile(source)) = error;
    let program = program.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound => ServerSpawnError::NotFound(program),
        _ => ServerSpawnError::Io { program, source },
    }
}
