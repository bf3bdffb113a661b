//! Reasons for the end of a server, and their error messages.

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

/// Timeout for the response to a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Delays before each ping of a server with pipes. One ping is enough, because a pipe does not
/// fail temporarily.
pub(crate) const STDIO_PING_DELAYS: &[Duration] = &[Duration::ZERO];

/// Delays before each ping of an HTTP server. The network may fail temporarily, so there are
/// retries.
pub(crate) const HTTP_PING_DELAYS: &[Duration] = &[
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(3),
];

/// Message for a server that exits before the handshake is complete.
const ENDED_EARLY_MESSAGE: &str = "the server closed the connection before it was ready";

/// Message for a server that violates the protocol during the handshake.
const NOT_MCP_MESSAGE: &str = "the server violated MCP in the handshake";

/// Maximum number of characters of a server's text that an error quotes.
const MAX_QUOTED_CHARS: usize = 300;

/// The reason why the connection to a server ended.
pub(crate) enum ServerExit {
    /// The server requires a token.
    AuthRequired(AuthChallenge),
    /// The token that the server accepted was removed.
    TokenRevoked,
    /// The server failed, with an error message.
    Failed(String),
}

/// Pings a server after a failed request, once after each delay, until it responds. Returns the
/// reason for its end if it does not.
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
            // An error response also shows that the server is alive.
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

/// The error of a challenge that can't be answered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChallengeError {
    /// The transport has no endpoint for tokens.
    #[error("the server requires a token, but its transport does not support tokens")]
    NoAuthEndpoint,
}

/// The name of a header whose name or value is not valid in HTTP.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid HTTP header `{0}`")]
pub(crate) struct InvalidHeader(String);

/// Builds the headers of a request, marked as sensitive. Fails with the first invalid one.
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

/// Converts a handshake error to a reason without text from the server, except for the message
/// of an error response.
pub(crate) fn describe_start_error(error: &ClientInitializeError) -> ServerExit {
    if let Some(header) = error.auth_challenge() {
        return ServerExit::AuthRequired(AuthChallenge::parse(header));
    }
    let why = match error {
        ClientInitializeError::JsonRpcError(refused) => {
            format!(
                "the server rejected the handshake: {}",
                truncate_text(&refused.message)
            )
        }
        ClientInitializeError::ConnectionClosed(_) => ENDED_EARLY_MESSAGE.to_owned(),
        // The write failed, because the server has closed its standard input.
        ClientInitializeError::TransportError { error, .. } if error.error.is::<io::Error>() => {
            ENDED_EARLY_MESSAGE.to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => {
            match error
                .error
                .downcast_ref::<StreamableHttpError<reqwest::Error>>()
            {
                Some(StreamableHttpError::HttpStatus(error)) => {
                    format!("the server responded with HTTP status {}", error.status)
                }
                Some(StreamableHttpError::Client(error)) => {
                    format!("the server cannot be reached: {}", innermost_cause(error))
                }
                Some(_) | None => NOT_MCP_MESSAGE.to_owned(),
            }
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "the server supports no version of MCP that the host supports".to_owned()
        }
        _ => NOT_MCP_MESSAGE.to_owned(),
    };
    ServerExit::Failed(why)
}

/// Returns the innermost cause of an error, truncated. It is the error of the system. The outer
/// errors may quote a URL, which can contain a secret.
fn innermost_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error.source();
    while let Some(next) = cause.and_then(std::error::Error::source) {
        cause = Some(next);
    }
    let text = cause.map_or_else(|| "the request failed".to_owned(), ToString::to_string);
    truncate_text(&text)
}

/// Returns the error message for a failed tool list.
pub(crate) fn describe_list_error(error: &ToolListError) -> String {
    match error {
        ToolListError::Call(error) => {
            format!(
                "list the tools of the server: {}",
                truncate_text(&error.to_string())
            )
        }
        ToolListError::NotAList => "the tool list of the server is malformed".to_owned(),
    }
}

/// Removes control characters and truncates the text to [`MAX_QUOTED_CHARS`].
fn truncate_text(text: &str) -> String {
    let plain = text.chars().filter(|c| !c.is_control());
    plain.take(MAX_QUOTED_CHARS).collect()
}
