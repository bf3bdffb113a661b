//! Trying an agent out: does it answer, is somebody signed in. And signing in.
//!
//! Whatever happens, it takes a bounded time, and nothing of the agent is left
//! running.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use super::agent::AcpAgent;
use super::live::{Call, Live};
use super::process::{AcpLaunch, Process, environment};
use super::sign_in::{SignInMethod, SignInWay, TerminalSignIn};
use super::wire::{AUTHENTICATION_REQUIRED, CallError, Incoming};

/// How long an agent may take for each step. The first start of some takes ten
/// seconds, on a machine that has nothing else to do.
pub(super) const STEP: Duration = Duration::from_secs(45);

/// How long a program may take to say its version.
const VERSION: Duration = Duration::from_secs(5);

/// How long somebody may take to sign in: there is a browser to find, and a
/// password.
const SIGN_IN: Duration = Duration::from_secs(600);

/// What came of trying an agent out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination {
    /// Its version, as it says.
    pub version: Option<String>,
    /// The ways to sign in that it offers.
    pub methods: Vec<SignInMethod>,
    /// Whether somebody is signed in.
    pub signed_in: SignedIn,
}

/// Whether somebody is signed in with an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignedIn {
    /// As far as it takes to begin a session.
    Yes,
    /// Nobody is; what to do.
    No(String),
    /// It could not be found out; why not.
    Unknown(String),
}

/// Starts an agent, has it begin a session in a folder, and ends it. Nothing is
/// said in the session.
///
/// # Errors
///
/// In words, if it does not start or does not answer.
pub async fn examine(agent: &AcpAgent, folder: &Path) -> Result<Examination, String> {
    let mut live = Live::start(agent, folder).await?;
    let examined = look(&mut live, folder).await;
    finish(live, examined).await
}

/// Has an agent sign somebody in, by a method that it does itself.
///
/// # Errors
///
/// In words, if there is no such method or it did not work.
pub async fn sign_in(agent: &AcpAgent, folder: &Path, method: &str) -> Result<(), String> {
    let mut live = Live::start(agent, folder).await?;
    let done = authenticate(&mut live, method).await;
    finish(live, done).await
}

/// What a program says its version is, if it says one. Bounded, too.
pub async fn program_version(launch: &AcpLaunch, arguments: &[String]) -> Option<String> {
    let launch = AcpLaunch {
        arguments: arguments.to_vec(),
        ..launch.clone()
    };
    let folder = std::env::temp_dir();
    let (process, mut pipes) = Process::spawn(&launch, &folder, None).ok()?;
    drop(pipes.stdin);
    let line = tokio::time::timeout(VERSION, first_line(&mut pipes.stdout)).await;
    // What it complained of says nothing about its version.
    drop(process.end().await);
    let line = line.ok()??;
    let plain = line.chars().filter(|letter| !letter.is_control());
    Some(plain.take(60).collect())
}

/// The first line that has something in it.
async fn first_line(output: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut lines = BufReader::new(output.take(4096)).split(b'\n');
    // What can't be read is not there.
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        if !line.is_empty() {
            return Some(line);
        }
    }
    None
}

/// The program that somebody signs in with, ready to be run in a terminal.
pub fn sign_in_command(agent: &AcpAgent, way: &TerminalSignIn) -> std::process::Command {
    let mut launch = agent.launch();
    let mut command = match &way.program {
        Some(program) => std::process::Command::new(program),
        None => {
            let mut command = std::process::Command::new(&launch.program);
            command.args(&launch.arguments);
            command
        }
    };
    let named = |name: &String| way.environment.iter().any(|(other, _)| other == name);
    launch.environment.retain(|(name, _)| !named(name));
    command
        .args(&way.arguments)
        .env_clear()
        .envs(environment(&launch))
        .envs(way.environment.iter().cloned());
    command
}

/// Ends an agent. If it did not answer, what it complained of may say why.
pub(super) async fn finish<T>(live: Live, outcome: Result<T, String>) -> Result<T, String> {
    let complaint = live.end().await;
    outcome.map_err(|reason| match complaint {
        Some(complaint) if !reason.contains(&complaint) => format!("{reason}: {complaint}"),
        _ => reason,
    })
}

async fn look(live: &mut Live, folder: &Path) -> Result<Examination, String> {
    let initialized = start(live).await?;
    let version = initialized.pointer("/agentInfo/version");
    let version = version.and_then(Value::as_str);
    let version = version.map(|version| version.chars().take(60).collect());
    live.open_session(None, &[folder.to_owned()]);
    let signed_in = match answer(live, STEP).await {
        Ok(Ok(session)) => {
            if let Some(id) = session.get("sessionId").and_then(Value::as_str) {
                live.close_session(id);
                live.delete_session(id);
                settle(live).await;
            }
            SignedIn::Yes
        }
        Ok(Err(CallError::Refused { code, .. })) if code == AUTHENTICATION_REQUIRED => {
            SignedIn::No(live.how_to_sign_in())
        }
        Ok(Err(error)) => SignedIn::Unknown(live.explain(&error)),
        Err(reason) => SignedIn::Unknown(reason),
    };
    Ok(Examination {
        version,
        methods: live.methods.clone(),
        signed_in,
    })
}

async fn authenticate(live: &mut Live, method: &str) -> Result<(), String> {
    start(live).await?;
    let known = live.methods.iter().find(|known| known.id == method);
    match known.map(|known| &known.way) {
        // It takes what it finds in its environment when it is told to.
        Some(SignInWay::Agent | SignInWay::Variables(_)) => {}
        Some(SignInWay::Terminal(_)) => {
            return Err(format!("`{method}` is nothing that the agent does itself"));
        }
        None => return Err(format!("the agent has no method `{method}` to sign in")),
    }
    let params = json!({"methodId": method});
    live.call(Call::Other, "authenticate", &params);
    let answered = answer(live, SIGN_IN).await?;
    answered.map(drop).map_err(|error| error.to_string())
}

/// Waits until the agent has said what it can do.
pub(super) async fn start(live: &mut Live) -> Result<Value, String> {
    let initialized = answer(live, STEP).await?;
    let initialized = initialized.map_err(|error| live.explain(&error))?;
    live.initialized(&initialized)?;
    Ok(initialized)
}

/// Lets go of a session that was only for trying; whether the agent did is not
/// worth waiting for long.
async fn settle(live: &mut Live) {
    let patience = Duration::from_millis(500);
    for _ in 0..2 {
        if answer(live, patience).await.is_err() {
            return;
        }
    }
}

/// The next answer of an agent. Nothing else that it says matters here, and
/// nobody is there to be asked.
pub(super) async fn answer(
    live: &mut Live,
    within: Duration,
) -> Result<Result<Value, CallError>, String> {
    let next = async {
        loop {
            match live.incoming.recv().await {
                Some(Incoming::Answer(_, answer)) => return Ok(answer),
                Some(Incoming::Closed(reason)) => {
                    let words = "the agent ended".to_owned();
                    return Err(reason.map_or(words.clone(), |reason| format!("{words}: {reason}")));
                }
                None => return Err("the agent ended".to_owned()),
                Some(Incoming::Permission(_, reply)) => reply.send(&super::chat::cancelled()),
                Some(Incoming::Elicitation(_, reply)) => {
                    reply.send(&json!({"action": "cancel"}));
                }
                // A service that is dropped is answered with an error.
                Some(Incoming::Update(_) | Incoming::Service(..)) => {}
            }
        }
    };
    let answered = tokio::time::timeout(within, next).await;
    answered.unwrap_or_else(|_| Err(format!("nothing came in {} s", within.as_secs())))
}
