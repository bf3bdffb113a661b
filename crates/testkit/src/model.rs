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

use self::http::{Asked, Response};
use self::script::Answer;

/// How long a model that was told to be slow takes for each piece.
const SLOW: Duration = Duration::from_millis(100);

/// The name of the model.
pub const NAME: &str = "fake-model";

/// A model that runs. It stops when it is dropped.
#[derive(Debug)]
pub struct FakeModel {
    address: SocketAddr,
    /// Takes calls, and owns the tasks that answer them.
    _listener: JoinSet<()>,
}

/// What a service of models speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
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
    pub async fn start(notes: Option<PathBuf>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let mut task = JoinSet::new();
        task.spawn(listen(listener, notes.map(Arc::new)));
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

async fn listen(listener: TcpListener, notes: Option<Arc<PathBuf>>) {
    let mut calls = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    calls.spawn(attend(stream, notes.clone()));
                }
            }
            Some(_) = calls.join_next() => {}
        }
    }
}

/// Answers one call. Whoever goes away in the middle needs no answer.
async fn attend(mut stream: TcpStream, notes: Option<Arc<PathBuf>>) {
    let Ok(Some(asked)) = http::read(&mut stream).await else {
        return;
    };
    let (response, did) = respond(&asked);
    if let Some(notes) = notes {
        let note =
            json!({"method": asked.method, "path": asked.path, "did": did, "asked": asked.body});
        http::note(&notes, &note);
    }
    http::write(&mut stream, response).await.unwrap_or_default();
}

/// What is answered, and what that was, for the notes.
fn respond(asked: &Asked) -> (Response, String) {
    if asked.method != "POST" {
        let model = json!({"id": NAME, "object": "model", "name": NAME});
        let list = json!({"object": "list", "data": [model]});
        return (Response::Json(200, list), "list".to_owned());
    }
    if asked.path.contains("count_tokens") || asked.path.contains("countTokens") {
        let count = json!({"input_tokens": 10, "totalTokens": 10});
        return (Response::Json(200, count), "count".to_owned());
    }
    let Some(dialect) = dialect(&asked.path) else {
        let error = json!({"error": {"message": "there is nothing here"}});
        return (Response::Json(404, error), "nothing".to_owned());
    };
    let request = match dialect {
        Dialect::Completions => completions::read(&asked.body),
        Dialect::Responses => responses::read(&asked.body),
        Dialect::Messages => messages::read(&asked.body),
        Dialect::Generate => generate::read(&asked.body),
    };
    let answer = script::answer(&request);
    let did = format!("{answer:?}").chars().take(300).collect();
    (speak(dialect, asked, &answer), did)
}

fn dialect(path: &str) -> Option<Dialect> {
    let path = path.split('?').next().unwrap_or_default();
    let endings = [
        ("/chat/completions", Dialect::Completions),
        ("/responses", Dialect::Responses),
        ("/messages", Dialect::Messages),
        (":streamGenerateContent", Dialect::Generate),
        (":generateContent", Dialect::Generate),
    ];
    let found = endings.iter().find(|(ending, _)| path.ends_with(ending));
    found.map(|(_, dialect)| *dialect)
}

fn speak(dialect: Dialect, asked: &Asked, answer: &Answer) -> Response {
    let pieces = match answer {
        Answer::Fail(status) => {
            let error = json!({
                "type": "error",
                "error": {"type": "api_error", "code": status, "message": "the model was told to fail"},
            });
            return Response::Json(*status, error);
        }
        Answer::Pieces(pieces) | Answer::Slow(pieces) => pieces,
    };
    let streamed = asked.body.get("stream").and_then(Value::as_bool) == Some(true)
        || asked.path.contains(":streamGenerateContent");
    if !streamed {
        return Response::Json(
            200,
            match dialect {
                Dialect::Completions => completions::whole(pieces),
                Dialect::Responses => responses::whole(pieces),
                Dialect::Messages => messages::whole(pieces),
                Dialect::Generate => generate::whole(pieces),
            },
        );
    }
    let events = match dialect {
        Dialect::Completions => completions::events(pieces),
        Dialect::Responses => responses::events(pieces),
        Dialect::Messages => messages::events(pieces),
        Dialect::Generate => generate::events(pieces),
    };
    let pause = match answer {
        Answer::Slow(_) => SLOW,
        Answer::Pieces(_) | Answer::Fail(_) => Duration::ZERO,
    };
    Response::Events(events, pause)
}

/// How many tokens it says it has read and written.
const READ: u64 = 100;
const WRITTEN: u64 = 10;

/// A name that no other call has.
fn unique(prefix: &str) -> String {
    static GIVEN: AtomicU64 = AtomicU64::new(1);
    format!("{prefix}{}", GIVEN.fetch_add(1, Ordering::Relaxed))
}

/// An event of a stream.
fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// An event of a stream, with the name that it has in `type`.
fn named(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str);
    format!("event: {}\n{}", name.unwrap_or_default(), event(data))
}

/// The text of a message: itself, or that of its parts.
fn text_of(content: Option<&Value>) -> String {
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
fn items<'a>(of: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    of.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// A member that is text, or nothing.
fn word<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
