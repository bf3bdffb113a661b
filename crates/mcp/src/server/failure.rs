//! Why a server does not run, or does not run on.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use agenthost_protocol::wire::Object;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::service::ClientInitializeError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio_util::sync::CancellationToken;

use super::handle::{ProgressListener, ServerCallError, ServerHandle};
use super::tool_list::ToolListError;
use crate::auth::challenge::AuthChallenge;

/// How long a server may take to show that it is still there.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait before a program is asked whether it is there.
pub(crate) const STDIO_PING_DELAYS: &[Duration] = &[Duration::ZERO];

/// The same for a server elsewhere: a network may be gone for a moment.
pub(crate) const HTTP_PING_DELAYS: &[Duration] = &[
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(3),
];

/// Why a program is not ready, mostly.
const ENDED_EARLY_MESSAGE: &str = "it ended before it was ready";

/// Why others are not.
const NOT_MCP_MESSAGE: &str = "it does not speak MCP as it should";

/// Longest text of a server in an error, in characters.
const MAX_QUOTED_CHARS: usize = 300;

/// Why a server does not go on.
pub(crate) enum ServerExit {
    /// It wants a token.
    AuthRequired(AuthChallenge),
    /// The token that it took is gone.
    TokenRevoked,
    /// For good.
    Failed(String),
}

/// Somebody could not reach a server: is it there? Asks as often as there are
/// pauses to make before.
pub(crate) async fn check_alive(
    handle: &ServerHandle,
    delays: &[Duration],
    forever: &CancellationToken,
) -> Option<ServerExit> {
    let mut exit = None;
    for pause in delays {
        tokio::time::sleep(*pause).await;
        let nothing = Object::new();
        let asked = handle.request(
            "ping",
            nothing,
            ProgressListener::Ignored,
            PING_TIMEOUT,
            forever,
        );
        match asked.await {
            // Whatever it says, it says something.
            Ok(_) | Err(ServerCallError::Rejected(_) | ServerCallError::Cancelled) => return None,
            Err(ServerCallError::AuthRequired(challenge)) => {
                return Some(ServerExit::AuthRequired(challenge));
            }
            Err(error @ (ServerCallError::TimedOut | ServerCallError::Disconnected)) => {
                exit = Some(ServerExit::Failed(error.to_string()));
            }
        }
    }
    exit
}

/// A reason why an authentication challenge of a server can't be answered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChallengeError {
    /// A transport without an endpoint for tokens.
    #[error("it wants a token, but can't be given one")]
    NoAuthEndpoint,
}

/// A header whose name or value is not valid in HTTP, by its name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the header `{0}` can't be sent")]
pub(crate) struct InvalidHeader(String);

/// Headers by name, or the first one that can't be sent.
pub(crate) fn build_headers(
    headers: &[(String, String)],
) -> Result<HashMap<HeaderName, HeaderValue>, InvalidHeader> {
    let named = headers.iter().map(|(name, value)| {
        let invalid = || InvalidHeader(name.clone());
        let header = HeaderName::try_from(name.as_str()).map_err(|_| invalid())?;
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| invalid())?;
        value.set_sensitive(true);
        Ok((header, value))
    });
    named.collect()
}

/// Why a server is not ready, without what it said, except for its own words
/// of refusal.
pub(crate) fn describe_start_error(error: &ClientInitializeError) -> ServerExit {
    if let Some(header) = error.auth_challenge() {
        return ServerExit::AuthRequired(AuthChallenge::parse(header));
    }
    let why = match error {
        ClientInitializeError::JsonRpcError(refused) => {
            format!("it refused: {}", truncate_text(&refused.message))
        }
        ClientInitializeError::ConnectionClosed(_) => ENDED_EARLY_MESSAGE.to_owned(),
        // A pipe that nobody reads from any more.
        ClientInitializeError::TransportError { error, .. } if error.error.is::<io::Error>() => {
            ENDED_EARLY_MESSAGE.to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => {
            match error
                .error
                .downcast_ref::<StreamableHttpError<reqwest::Error>>()
            {
                Some(StreamableHttpError::HttpStatus(error)) => {
                    format!("it answered with HTTP status {}", error.status)
                }
                Some(StreamableHttpError::Client(error)) => {
                    format!("it can't be reached: {}", innermost_cause(error))
                }
                Some(_) | None => NOT_MCP_MESSAGE.to_owned(),
            }
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no version of MCP that the host does".to_owned()
        }
        _ => NOT_MCP_MESSAGE.to_owned(),
    };
    ServerExit::Failed(why)
}

/// The first cause of an error, in short. It is what the system said; what
/// came of it may quote an address, and that may hold a secret.
fn innermost_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error.source();
    while let Some(next) = cause.and_then(std::error::Error::source) {
        cause = Some(next);
    }
    let text = cause.map_or_else(|| "the request failed".to_owned(), ToString::to_string);
    truncate_text(&text)
}

/// Why the tools of a server are not known.
pub(crate) fn describe_list_error(error: &ToolListError) -> String {
    match error {
        ToolListError::Call(error) => {
            format!("list its tools: {}", truncate_text(&error.to_string()))
        }
        ToolListError::NotAList => "what it says of its tools is no list".to_owned(),
    }
}

/// As much of a text as a person wants to read.
fn truncate_text(text: &str) -> String {
    let plain = text.chars().filter(|c| !c.is_control());
    plain.take(MAX_QUOTED_CHARS).collect()
}
