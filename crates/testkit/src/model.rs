//! A model for real agents, on this machine, that does what it is told.
//!
//! It speaks what the services of models speak: chat completions, responses,
//! messages, and generated content, all of them as streams. What it does is
//! what the last line of the user's last message says that it knows (see
//! [`script`]), so a test with a real agent is a sentence.
//!
//! `http` is how it is asked, `script` what it does, and there is a file for
//! each way to speak.

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

/// How long a model that was told to be slow takes for each piece.
const SLOW_PIECE_DELAY: Duration = Duration::from_millis(100);

/// The name of the model.
pub const MODEL_NAME: &str = "fake-model";

/// A model that runs. It stops when it is dropped.
#[derive(Debug)]
pub struct FakeModel {
    address: SocketAddr,
    /// Takes calls, and owns the tasks that answer them.
    _listener: JoinSet<()>,
}

/// What a service of models speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModelDialect {
    Completions,
    Responses,
    Messages,
    Generate,
}

impl FakeModel {
    /// Starts a model on a free port of this machine. What it was asked is
    /// noted in a file, a line each, for whoever wonders what an agent did.
    ///
    /// # Errors
    ///
    /// If there is no port to listen on.
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

    /// Where it is, without a path: `http://127.0.0.1:PORT`.
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

/// Answers one call. Whoever goes away in the middle needs no answer.
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

/// What is answered, and what that was, for the notes.
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

/// How many tokens it says it has read and written.
const INPUT_TOKENS: u64 = 100;
const OUTPUT_TOKENS: u64 = 10;

/// A name that no other call has.
fn unique_id(prefix: &str) -> String {
    static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    format!("{prefix}{}", NEXT_ID.fetch_add(1, Ordering::Relaxed))
}

/// An event of a stream.
fn sse_event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// An event of a stream, with the name that it has in `type`.
fn named_sse_event(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str);
    format!("event: {}\n{}", name.unwrap_or_default(), sse_event(data))
}

/// The text of a message: itself, or that of its parts.
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

/// The members of a list; none if it is not there.
fn array_items<'a>(of: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    of.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// A member that is text, or nothing.
fn text_member<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
