//! Errors of agents that speak ACP, grouped by the reaction that a caller has to them.

use std::fmt;
use std::time::Duration;

use agenthost_agents::HostGone;
use agenthost_workspace::ContentError;

use super::process_pool::launch::SpawnError;
use super::transport::AgentCallError;

/// The reason why an agent failed to start or stopped working.
#[derive(Debug, thiserror::Error)]
pub enum AcpError {
    /// The process of the agent did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The agent requires the user to sign in first.
    #[error("the agent requires you to sign in: {message}\nhint: {hint}")]
    AuthRequired {
        /// The error message of the agent.
        message: String,
        /// The instructions for signing in.
        hint: String,
    },
    /// The agent can't sign the user in by the requested method.
    #[error(transparent)]
    SignIn(#[from] SignInError),
    /// The agent rejected a request with this error message.
    #[error("{0}")]
    Rejected(String),
    /// The agent opened a session without an id.
    #[error("the agent opened a session without an id")]
    MissingSessionId,
    /// The agent lacks a feature that a request needs.
    #[error(transparent)]
    Unsupported(#[from] UnsupportedFeature),
    /// The agent process exited or closed its standard output.
    #[error("the agent ended{}{}", detail(.reason), detail(.stderr_line))]
    Gone {
        /// The error of the connection, if there was one.
        reason: Option<String>,
        /// The last line that the agent wrote to stderr.
        stderr_line: Option<String>,
    },
    /// The agent exceeded a timeout.
    #[error(transparent)]
    Timeout(#[from] AgentTimeout),
    /// The host has stopped and receives no more events.
    #[error(transparent)]
    HostGone(#[from] HostGone),
    /// Content of an imported session could not be stored.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// A step of the startup failed.
    #[error("{step}: {source}")]
    Step {
        /// The step that failed.
        step: AgentStep,
        /// The error of this step.
        source: Box<AcpError>,
    },
    /// An error together with a line on stderr that may explain it.
    #[error("{source}: {stderr_line}")]
    WithStderr {
        /// The error without the stderr line.
        source: Box<AcpError>,
        /// The last line that the agent wrote to stderr.
        stderr_line: String,
    },
}

/// The reason why the process of an agent did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The session has no folder to work in.
    #[error("an agent needs a folder to work in")]
    NoFolder,
    /// A folder of the session is on another machine.
    #[error("the folder of this session is not on this machine")]
    RemoteFolder,
    /// The program could not be spawned.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

/// The reason why an agent can't sign the user in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    /// The method with this id requires a terminal.
    #[error("the sign-in method `{0}` requires a terminal")]
    NeedsTerminal(String),
    /// The agent offers no method with this id.
    #[error("the agent has no sign-in method `{0}`")]
    UnknownMethod(String),
}

/// A feature that an agent lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedFeature {
    /// The version of ACP that the host speaks.
    #[error("the agent speaks another version of ACP")]
    ProtocolVersion,
    /// A list of the agent's sessions.
    #[error("this agent does not list its sessions")]
    ListSessions,
    /// The deletion of the agent's sessions.
    #[error("this agent does not delete its sessions")]
    DeleteSessions,
    /// The import of an agent session into a new session of the host.
    #[error("this agent cannot resume sessions, or another session of the host uses this one")]
    ImportSession,
}

/// The timeout that an agent exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AgentTimeout {
    /// No response to a request outside of a session of the host; the agent is still running.
    #[error("no response within {} s", .0.as_secs())]
    Probe(Duration),
    /// No response to a request; the host has killed the agent.
    #[error("the agent did not respond in time and was killed")]
    Response,
    /// No end of a cancelled turn; the host has killed the agent.
    #[error("the agent did not stop when its turn was cancelled, and was killed")]
    Cancel,
}

/// A step of the startup of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentStep {
    /// The first request, `initialize`, which negotiates the protocol.
    Initialize,
    /// The request for a new agent session.
    OpenSession,
    /// The request to resume the agent session with this id.
    ResumeSession(String),
}

impl fmt::Display for AgentStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentStep::Initialize => f.write_str("start the agent"),
            AgentStep::OpenSession => f.write_str("open a session"),
            AgentStep::ResumeSession(id) => write!(f, "resume its session `{id}`"),
        }
    }
}

impl AcpError {
    /// Adds the step that failed to the error.
    pub(crate) fn in_step(self, step: AgentStep) -> Self {
        let source = Box::new(self);
        AcpError::Step { step, source }
    }

    /// Adds the last line that the agent wrote to stderr, unless the text of the error contains
    /// it already.
    pub(crate) fn with_stderr_line(self, stderr_line: String) -> Self {
        if self.to_string().contains(&stderr_line) {
            return self;
        }
        match self {
            AcpError::Gone {
                reason,
                stderr_line: None,
            } => AcpError::Gone {
                reason,
                stderr_line: Some(stderr_line),
            },
            error => AcpError::WithStderr {
                source: Box::new(error),
                stderr_line,
            },
        }
    }
}

impl From<AgentCallError> for AcpError {
    fn from(error: AgentCallError) -> Self {
        match error {
            AgentCallError::Rejected { message, .. } => AcpError::Rejected(message),
            AgentCallError::Gone => AcpError::Gone {
                reason: None,
                stderr_line: None,
            },
        }
    }
}

/// Returns the text that a detail adds to an error message.
fn detail(detail: &Option<String>) -> String {
    let detail = detail.as_ref();
    detail.map_or_else(String::new, |detail| format!(": {detail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_an_ended_agent_has_its_reason_and_stderr_line() {
        let gone = |reason: Option<&str>, stderr_line: Option<&str>| AcpError::Gone {
            reason: reason.map(str::to_owned),
            stderr_line: stderr_line.map(str::to_owned),
        };
        assert_eq!(gone(None, None).to_string(), "the agent ended");
        assert_eq!(
            gone(Some("a"), Some("b")).to_string(),
            "the agent ended: a: b"
        );
        let same = gone(Some("no key"), None).with_stderr_line("no key".to_owned());
        assert_eq!(same.to_string(), "the agent ended: no key");
        let more = gone(Some("a"), None).with_stderr_line("no key".to_owned());
        assert_eq!(more.to_string(), "the agent ended: a: no key");
    }

    #[test]
    fn error_text_includes_the_failed_step_and_stderr() {
        let rejected = AcpError::Rejected("no".to_owned());
        let failed = rejected.in_step(AgentStep::ResumeSession("s".to_owned()));
        let failed = failed.with_stderr_line("no key".to_owned());
        assert_eq!(failed.to_string(), "resume its session `s`: no: no key");
        let timeout = AcpError::from(AgentTimeout::Probe(Duration::from_secs(45)));
        assert_eq!(timeout.to_string(), "no response within 45 s");
    }
}
