//! Probes agents (does the agent start, is the user signed in) and signs users in.
//!
//! Each function takes a bounded time and leaves no process of the agent running.

pub(crate) mod session_list;
pub(crate) mod sign_in;

use std::path::Path;
use std::time::Duration;

use agenthost_core::SessionEnvironment;
use agenthost_stdx::text::truncate_chars;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use super::probe::sign_in::{SignInKind, SignInMethod, TerminalSignIn};
use crate::agent::AcpAgent;
use crate::connection::{AgentCall, AgentConnection};
use crate::error::{AcpError, AgentTimeout, SignInError};
use crate::process_pool::launch::{AgentLaunch, agent_environment, spawn_agent};
use crate::transport::{AgentCallError, AgentMessage};

/// The timeout for each request of a probe. The first start of some agents takes ten seconds on
/// an idle machine.
pub(crate) const STEP_TIMEOUT: Duration = Duration::from_secs(45);

/// The timeout for a program to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);

/// The timeout for a sign-in: the user may have to find a browser and a password.
const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(600);

/// The result of probing an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// The version that the agent reports.
    pub version: Option<String>,
    /// The sign-in methods that the agent offers.
    pub sign_in_methods: Vec<SignInMethod>,
    /// The sign-in state of the user.
    pub sign_in_state: SignInState,
}

/// The sign-in state of the user with an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignInState {
    /// The user is signed in; at least, the agent opened a session and has credentials where it
    /// looks for them.
    SignedIn,
    /// The user is not signed in; instructions for signing in.
    SignedOut(String),
    /// The state could not be determined; the error.
    Unknown(String),
}

/// Starts an agent, opens a session in a folder, and shuts the agent down. No prompt is sent.
///
/// # Errors
///
/// Returns an error if the agent does not start or does not answer.
pub async fn probe_agent(agent: &AcpAgent, folder: &Path) -> Result<ProbeReport, AcpError> {
    let mut connection = AgentConnection::start(agent, folder).await?;
    let report = run_probe(agent, &mut connection, folder).await;
    shutdown_agent(connection, report).await
}

/// Signs the user in, by a method that the agent executes itself.
///
/// # Errors
///
/// Returns an error if the agent has no such method, or if the sign-in failed.
pub async fn sign_in(agent: &AcpAgent, folder: &Path, method: &str) -> Result<(), AcpError> {
    let mut connection = AgentConnection::start(agent, folder).await?;
    let result = authenticate(&mut connection, method).await;
    shutdown_agent(connection, result).await
}

/// Returns the version that a program prints, within a timeout; `None` if it prints nothing.
pub async fn program_version(launch: &AgentLaunch, arguments: &[String]) -> Option<String> {
    let launch = AgentLaunch {
        arguments: arguments.to_vec(),
        ..launch.clone()
    };
    let folder = std::env::temp_dir();
    let (process, mut pipes) =
        spawn_agent(&launch, &SessionEnvironment::default(), &folder, None).ok()?;
    drop(pipes.stdin);
    let line = tokio::time::timeout(VERSION_TIMEOUT, first_line(&mut pipes.stdout)).await;
    // The stderr output does not contain the version.
    process.shutdown().await;
    let line = line.ok()??;
    let printable = line.chars().filter(|letter| !letter.is_control());
    Some(printable.take(60).collect())
}

/// Returns the first line that is not empty.
async fn first_line(output: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut lines = BufReader::new(output.take(4096)).split(b'\n');
    // A read error ends the output.
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        if !line.is_empty() {
            return Some(line);
        }
    }
    None
}

/// Returns the command with which the user signs in, to be run in a terminal.
pub fn sign_in_command(agent: &AcpAgent, sign_in: &TerminalSignIn) -> std::process::Command {
    let mut launch = agent.launch();
    let mut command = match &sign_in.program {
        Some(program) => std::process::Command::new(program),
        None => {
            let mut command = std::process::Command::new(&launch.program);
            command.args(&launch.arguments);
            command
        }
    };
    let is_overridden = |name: &String| sign_in.environment.iter().any(|(other, _)| other == name);
    launch.environment.retain(|(name, _)| !is_overridden(name));
    command
        .args(&sign_in.arguments)
        .env_clear()
        .envs(agent_environment(&launch, &SessionEnvironment::default()))
        .envs(sign_in.environment.iter().cloned());
    command
}

/// Shuts an agent down. Adds the last line on stderr to an error, because it may explain it.
pub(crate) async fn shutdown_agent<T>(
    connection: AgentConnection,
    outcome: Result<T, AcpError>,
) -> Result<T, AcpError> {
    let stderr_line = connection.shutdown().await;
    outcome.map_err(|error| match stderr_line {
        Some(stderr_line) => error.with_stderr_line(stderr_line),
        None => error,
    })
}

async fn run_probe(
    agent: &AcpAgent,
    connection: &mut AgentConnection,
    folder: &Path,
) -> Result<ProbeReport, AcpError> {
    let initialized = await_initialized(connection).await?;
    let version = initialized.pointer("/agentInfo/version");
    let version = version.and_then(Value::as_str);
    let version = version.map(|version| truncate_chars(version, 60));
    connection.open_session(None, &[folder.to_owned()]);
    let sign_in_state = match next_response(connection, STEP_TIMEOUT).await {
        Ok(Ok(session)) => {
            if let Some(id) = session.get("sessionId").and_then(Value::as_str) {
                connection.close_session(id);
                connection.delete_session(id);
                discard_session(connection).await;
            }
            if agent.has_credentials() {
                SignInState::SignedIn
            } else {
                SignInState::SignedOut(connection.sign_in_instructions())
            }
        }
        Ok(Err(error)) if connection.requires_sign_in(&error) => {
            SignInState::SignedOut(connection.sign_in_instructions())
        }
        Ok(Err(error)) => SignInState::Unknown(connection.to_acp_error(&error).to_string()),
        Err(error) => SignInState::Unknown(error.to_string()),
    };
    Ok(ProbeReport {
        version,
        sign_in_methods: connection.sign_in_methods.clone(),
        sign_in_state,
    })
}

async fn authenticate(connection: &mut AgentConnection, method: &str) -> Result<(), AcpError> {
    await_initialized(connection).await?;
    let offered = connection
        .sign_in_methods
        .iter()
        .find(|offered| offered.id == method);
    match offered.map(|offered| &offered.kind) {
        // On `authenticate`, the agent reads the variables in its environment.
        Some(SignInKind::Agent | SignInKind::Variables(_)) => {}
        Some(SignInKind::Terminal(_)) => {
            return Err(SignInError::NeedsTerminal(method.to_owned()).into());
        }
        None => return Err(SignInError::UnknownMethod(method.to_owned()).into()),
    }
    let params = json!({"methodId": method});
    connection.call(AgentCall::Other, "authenticate", &params);
    let response = next_response(connection, SIGN_IN_TIMEOUT).await?;
    response.map(drop).map_err(AcpError::from)
}

/// Waits for the `initialize` response and stores the capabilities.
pub(crate) async fn await_initialized(connection: &mut AgentConnection) -> Result<Value, AcpError> {
    let initialized = next_response(connection, STEP_TIMEOUT).await?;
    let initialized = initialized.map_err(|error| connection.to_acp_error(&error))?;
    connection.handle_initialized(&initialized)?;
    Ok(initialized)
}

/// Waits briefly for the responses to `session/close` and `session/delete`. The result does not
/// matter.
async fn discard_session(connection: &mut AgentConnection) {
    let timeout = Duration::from_millis(500);
    for _ in 0..2 {
        if next_response(connection, timeout).await.is_err() {
            return;
        }
    }
}

/// Returns the next response of the agent. Updates are ignored, and requests for user input are
/// cancelled.
pub(crate) async fn next_response(
    connection: &mut AgentConnection,
    timeout: Duration,
) -> Result<Result<Value, AgentCallError>, AcpError> {
    let receive = async {
        loop {
            match connection.messages.recv().await {
                Some(AgentMessage::Response(_, response)) => return Ok(response),
                Some(AgentMessage::Closed(reason)) => {
                    let stderr_line = None;
                    return Err(AcpError::Gone {
                        reason,
                        stderr_line,
                    });
                }
                None => return Err(AgentCallError::Gone.into()),
                Some(AgentMessage::Permission(_, responder)) => {
                    responder.respond(&crate::session::cancelled_outcome())
                }
                Some(AgentMessage::Elicitation(_, responder)) => {
                    responder.respond(&json!({"action": "cancel"}));
                }
                // A dropped service request is answered with an error.
                Some(AgentMessage::Update(_) | AgentMessage::Service(..)) => {}
            }
        }
    };
    let result = tokio::time::timeout(timeout, receive).await;
    result.unwrap_or_else(|_| Err(AgentTimeout::Probe(timeout).into()))
}
