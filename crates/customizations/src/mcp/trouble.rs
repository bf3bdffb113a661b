//! Why a server does not run, or does not run on.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use agenthost_protocol::wire::Object;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::service::ClientInitializeError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio_util::sync::CancellationToken;

use super::challenge::Challenge;
use super::link::{Link, LinkError, Listener};
use super::tools::NotListed;

/// How long a server may take to show that it is still there.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// How long to wait before a program is asked whether it is there.
pub(super) const PROGRAM: &[Duration] = &[Duration::ZERO];

/// The same for a server elsewhere: a network may be gone for a moment.
pub(super) const ELSEWHERE: &[Duration] = &[
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(3),
];

/// Why a program is not ready, mostly.
const ENDED: &str = "it ended before it was ready";

/// Why others are not.
const STRANGE: &str = "it does not speak MCP as it should";

/// Longest text of a server in an error, in characters.
const QUOTED: usize = 300;

/// Why a server does not go on.
pub(super) enum Stuck {
    /// It wants a token.
    Challenged(Challenge),
    /// The token that it took is gone.
    TokenLost,
    /// For good.
    Failed(String),
}

/// Somebody could not reach a server: is it there? Asks as often as there are
/// pauses to make before.
pub(super) async fn doubted(
    link: &Link,
    pauses: &[Duration],
    forever: &CancellationToken,
) -> Option<Stuck> {
    let mut stuck = None;
    for pause in pauses {
        tokio::time::sleep(*pause).await;
        let nothing = Object::new();
        let asked = link.request("ping", nothing, Listener::Nobody, SIGN_OF_LIFE, forever);
        match asked.await {
            // Whatever it says, it says something.
            Ok(_) | Err(LinkError::Refused(_) | LinkError::Cancelled) => return None,
            Err(LinkError::Challenged(challenge)) => return Some(Stuck::Challenged(challenge)),
            Err(error @ (LinkError::Silent | LinkError::Gone)) => {
                stuck = Some(Stuck::Failed(error.to_string()));
            }
        }
    }
    stuck
}

/// Headers by name, or the name of one that can't be sent.
pub(super) fn named(
    headers: &[(String, String)],
) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let named = headers.iter().map(|(name, value)| {
        let header = HeaderName::try_from(name.as_str()).map_err(|_| name.clone())?;
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| name.clone())?;
        value.set_sensitive(true);
        Ok((header, value))
    });
    named.collect()
}

/// Why a server is not ready, without what it said, except for its own words
/// of refusal.
pub(super) fn not_begun(error: &ClientInitializeError) -> Stuck {
    if let Some(header) = error.auth_challenge() {
        return Stuck::Challenged(Challenge::parse(header));
    }
    let why = match error {
        ClientInitializeError::JsonRpcError(refused) => {
            format!("it refused: {}", short(&refused.message))
        }
        ClientInitializeError::ConnectionClosed(_) => ENDED.to_owned(),
        // A pipe that nobody reads from any more.
        ClientInitializeError::TransportError { error, .. } if error.error.is::<io::Error>() => {
            ENDED.to_owned()
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
                    format!("it can't be reached: {}", innermost(error))
                }
                Some(_) | None => STRANGE.to_owned(),
            }
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no version of MCP that the host does".to_owned()
        }
        _ => STRANGE.to_owned(),
    };
    Stuck::Failed(why)
}

/// The first cause of an error, in short. It is what the system said; what
/// came of it may quote an address, and that may hold a secret.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error.source();
    while let Some(next) = cause.and_then(std::error::Error::source) {
        cause = Some(next);
    }
    let text = cause.map_or_else(|| "the request failed".to_owned(), ToString::to_string);
    short(&text)
}

/// Why the tools of a server are not known.
pub(super) fn not_listed(error: &NotListed) -> String {
    match error {
        NotListed::Link(error) => format!("list its tools: {}", short(&error.to_string())),
        NotListed::NoList => "what it says of its tools is no list".to_owned(),
    }
}

/// As much of a text as a person wants to read.
fn short(text: &str) -> String {
    let plain = text.chars().filter(|c| !c.is_control());
    plain.take(QUOTED).collect()
}
