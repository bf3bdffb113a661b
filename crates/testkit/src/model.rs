//! A fake model for real agents, on loopback, that runs scripts.
//!
//! It implements the streaming APIs of model providers: chat completions, responses,
//! messages, and generated content. The last line of the user's last message that is a
//! known command decides the response (see [`script`]), so a test with a real agent is one
//! sentence.
//!
//! `http` contains the transport, `script` the behaviour, and there is a file for each API.

mod completions;
mod generate;
mod http;
mod messages;
mod responses;
pub mod script;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use self::http::{ModelHttpCall, ModelHttpResponse};
use self::script::ModelAnswer;

/// Delay before each chunk of a slow response.
const SLOW_PIECE_DELAY: Duration = Duration::from_millis(100);

/// The name of the model in all APIs.
pub const MODEL_NAME: &str = "fake-model";

/// A running fake model, which stops when it is dropped.
#[derive(Debug)]
pub struct FakeModel {
    address: SocketAddr,
    /// The task that accepts connections and owns the tasks that serve them.
    _listener: JoinSet<()>,
}

/// The API of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModelDialect {
    Completions,
    Responses,
    Messages,
    Generate,
}

impl FakeModel {
    /// Starts a model on a free port of this machine. It logs the requests to a file, one
    /// line each, to debug the behaviour of an agent.
    ///
    /// # Errors
    ///
    /// If no port is available.
    pub async fn start(call_log: Option<PathBuf>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let mut task = JoinSet::new();
        task.spawn(accept_calls(listener, call_log.map(Arc::new)));
        Ok(FakeModel {
            address,
            _listener: task,
        })
    }

    /// Returns its URL without a path: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn accept_calls(listener: TcpListener, call_log: Option<Arc<PathBuf>>) {
    let mut calls = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    calls.spawn(serve_call(stream, call_log.clone()));
                }
            }
            Some(_) = calls.join_next() => {}
        }
    }
}

/// Serves one request. Errors mean that the agent has disconnected, and are ignored.
async fn serve_call(mut stream: TcpStream, call_log: Option<Arc<PathBuf>>) {
    let Ok(Some(call)) = http::read_call(&mut stream).await else {
        return;
    };
    let (response, did) = respond(&call);
    if let Some(notes) = call_log {
        let note =
            json!({"method": call.method, "path": call.path, "did": did, "asked": call.body});
        http::append_log(&notes, &note);
    }
    http::write_response(&mut stream, response)
        .await
        .unwrap_or_default();
}

/// Returns the response, and a summary of it for the log.
fn respond(call: &ModelHttpCall) -> (ModelHttpResponse, String) {
    if call.method != "POST" {
        let model = json!({"id": MODEL_NAME, "object": "model", "name": MODEL_NAME});
        let list = json!({"object": "list", "data": [model]});
        return (ModelHttpResponse::Json(200, list), "list".to_owned());
    }
    if call.path.contains("count_tokens") || call.path.contains("countTokens") {
        let count = json!({"input_tokens": 10, "totalTokens": 10});
        return (ModelHttpResponse::Json(200, count), "count".to_owned());
    }
    let Some(dialect) = parse_dialect(&call.path) else {
        let error = json!({"error": {"message": "there is nothing here"}});
        return (ModelHttpResponse::Json(404, error), "nothing".to_owned());
    };
    let request = match dialect {
        ModelDialect::Completions => completions::parse_request(&call.body),
        ModelDialect::Responses => responses::parse_request(&call.body),
        ModelDialect::Messages => messages::parse_request(&call.body),
        ModelDialect::Generate => generate::parse_request(&call.body),
    };
    let answer = script::answer_request(&request);
    let did = format!("{answer:?}").chars().take(300).collect();
    (encode_answer(dialect, call, &answer), did)
}

fn parse_dialect(path: &str) -> Option<ModelDialect> {
    let path = path.split('?').next().unwrap_or_default();
    let endings = [
        ("/chat/completions", ModelDialect::Completions),
        ("/responses", ModelDialect::Responses),
        ("/messages", ModelDialect::Messages),
        (":streamGenerateContent", ModelDialect::Generate),
        (":generateContent", ModelDialect::Generate),
    ];
    let found = endings.iter().find(|(ending, _)| path.ends_with(ending));
    found.map(|(_, dialect)| *dialect)
}

fn encode_answer(
    dialect: ModelDialect,
    call: &ModelHttpCall,
    answer: &ModelAnswer,
) -> ModelHttpResponse {
    let pieces = match answer {
        ModelAnswer::Fail(status) => {
            let error = json!({
                "type": "error",
                "error": {"type": "api_error", "code": status, "message": "the model was told to fail"},
            });
            return ModelHttpResponse::Json(*status, error);
        }
        ModelAnswer::Pieces(pieces) | ModelAnswer::Slow(pieces) => pieces,
    };
    let streamed = call.body.get("stream").and_then(Value::as_bool) == Some(true)
        || call.path.contains(":streamGenerateContent");
    if !streamed {
        return ModelHttpResponse::Json(
            200,
            match dialect {
                ModelDialect::Completions => completions::full_response(pieces),
                ModelDialect::Responses => responses::full_response(pieces),
                ModelDialect::Messages => messages::full_response(pieces),
                ModelDialect::Generate => generate::full_response(pieces),
            },
        );
    }
    let events = match dialect {
        ModelDialect::Completions => completions::stream_events(pieces),
        ModelDialect::Responses => responses::stream_events(pieces),
        ModelDialect::Messages => messages::stream_events(pieces),
        ModelDialect::Generate => generate::stream_events(pieces),
    };
    let pause = match answer {
        ModelAnswer::Slow(_) => SLOW_PIECE_DELAY,
        ModelAnswer::Pieces(_) | ModelAnswer::Fail(_) => Duration::ZERO,
    };
    ModelHttpResponse::Events(events, pause)
}

/// The token usage in responses.
const INPUT_TOKENS: u64 = 100;
const OUTPUT_TOKENS: u64 = 10;

/// Returns an id that is unique in this process.
fn unique_id(prefix: &str) -> String {
    static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    format!("{prefix}{}", NEXT_ID.fetch_add(1, Ordering::Relaxed))
}

/// Encodes an event of a stream.
fn sse_event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// Encodes an event of a stream, with its `type` as the event name.
fn named_sse_event(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str);
    format!("event: {}\n{}", name.unwrap_or_default(), sse_event(data))
}

/// Returns the text of a message: a string, or the texts of its parts.
fn message_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| match part {
                Value::String(text) => Some(text.as_str()),
                part => part.get("text")?.as_str(),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// Returns the items of a list member; none if it does not exist.
fn array_items<'a>(of: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    of.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Returns a member that is text, or an empty string.
fn text_member<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
