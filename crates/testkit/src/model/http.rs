//! A minimal HTTP server for agents: one request per connection.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// Maximum size of a request body in bytes. Agents send the whole conversation each time.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Maximum length of a header line in bytes; the next constant limits their number.
const MAX_LINE_BYTES: u64 = 64 * 1024;
const MAX_HEADER_LINES: usize = 200;

/// An HTTP request of an agent.
#[derive(Debug)]
pub(super) struct ModelHttpCall {
    pub(super) method: String,
    /// The path with its query.
    pub(super) path: String,
    /// The JSON body; null if it is not JSON.
    pub(super) body: Value,
}

/// The response to a request.
#[derive(Debug)]
pub(super) enum ModelHttpResponse {
    /// A status and a JSON document.
    Json(u16, Value),
    /// A stream of events, with a delay before each.
    Events(Vec<String>, Duration),
}

/// Reads a request; `None` if the connection was closed without one.
pub(super) async fn read_call(stream: &mut TcpStream) -> io::Result<Option<ModelHttpCall>> {
    let mut reader = BufReader::new(stream);
    let first = read_header_line(&mut reader).await?;
    let mut words = first.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let (method, path) = (method.to_owned(), path.to_owned());
    let mut length = 0;
    let mut chunked = None;
    for _ in 0..MAX_HEADER_LINES {
        let header = read_header_line(&mut reader).await?.to_ascii_lowercase();
        let Some((name, value)) = header.split_once(':') else {
            break;
        };
        match (name, value.trim()) {
            ("content-length", value) => length = value.parse().unwrap_or(0),
            ("transfer-encoding", "chunked") => chunked = Some(()),
            ("expect", _) => {
                let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
                reader.get_mut().write_all(go_on).await?;
            }
            _ => {}
        }
    }
    let body = match chunked {
        Some(()) => read_chunked_body(&mut reader).await?,
        None => read_sized_body(&mut reader, length).await?,
    };
    Ok(Some(ModelHttpCall {
        method,
        path,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    }))
}

/// Writes the response and shuts the connection down.
pub(super) async fn write_response(
    stream: &mut TcpStream,
    response: ModelHttpResponse,
) -> io::Result<()> {
    match response {
        ModelHttpResponse::Json(status, body) => {
            let body = body.to_string();
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\n\
                 content-length: {length}\r\nconnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(body.as_bytes()).await?;
        }
        ModelHttpResponse::Events(events, pause) => {
            let head = "HTTP/1.1 200 Said\r\ncontent-type: text/event-stream\r\n\
                        cache-control: no-store\r\nconnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).await?;
            for event in events {
                tokio::time::sleep(pause).await;
                stream.write_all(event.as_bytes()).await?;
                stream.flush().await?;
            }
        }
    }
    stream.shutdown().await
}

/// Appends a line to a log file. Errors are ignored, because the log is only for debugging.
pub(super) fn append_log(path: &Path, note: &Value) {
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path);
    if let Ok(mut file) = file {
        file.write_all(format!("{note}\n").as_bytes())
            .unwrap_or_default();
    }
}

async fn read_header_line(reader: &mut BufReader<&mut TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    reader.take(MAX_LINE_BYTES).read_line(&mut line).await?;
    Ok(line.trim_end().to_owned())
}

async fn read_sized_body(
    reader: &mut BufReader<&mut TcpStream>,
    length: usize,
) -> io::Result<Vec<u8>> {
    if length > MAX_BODY_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await?;
    Ok(body)
}

async fn read_chunked_body(reader: &mut BufReader<&mut TcpStream>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let length = read_header_line(reader).await?;
        let length = usize::from_str_radix(&length, 16).unwrap_or(0);
        if body.len() + length > MAX_BODY_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        body.extend(read_sized_body(reader, length).await?);
        read_header_line(reader).await?;
        if length == 0 {
            return Ok(body);
        }
    }
}
