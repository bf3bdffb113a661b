//! A minimal HTTP client for MCP servers.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::output::text_field;

/// An MCP server at an HTTP URL.
pub(super) struct HttpToolServer {
    host: String,
    path: String,
    headers: Vec<(String, String)>,
    session_id: Option<String>,
}

impl HttpToolServer {
    /// Creates a client from a server declaration in the ACP encoding.
    pub(super) fn new(given: &Value) -> Result<Self, String> {
        let url = text_field(given, "url");
        let rest = url.strip_prefix("http://").ok_or("it is not by HTTP")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let headers = given.get("headers").and_then(Value::as_array);
        let headers = headers.into_iter().flatten();
        let headers = headers.map(|header| {
            let (name, value) = (text_field(header, "name"), text_field(header, "value"));
            (name.to_owned(), value.to_owned())
        });
        Ok(HttpToolServer {
            host: host.to_owned(),
            path: format!("/{path}"),
            headers: headers.collect(),
            session_id: None,
        })
    }

    /// Sends a message and returns the response: null, or a message.
    pub(super) fn post(&mut self, message: &Value) -> Result<Value, String> {
        let answer = self.exchange(&message.to_string());
        let answer = answer.map_err(|error| error.to_string())?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("it is no answer")?;
        let status = head.split_whitespace().nth(1).unwrap_or_default();
        if !status.starts_with('2') {
            return Err(format!("it answered {status}"));
        }
        for line in head.lines() {
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("mcp-session-id")
            {
                self.session_id = Some(value.trim().to_owned());
            }
        }
        let mut lines = body.lines();
        let event = lines.find_map(|line| line.strip_prefix("data: "));
        Ok(serde_json::from_str(event.unwrap_or(body)).unwrap_or_default())
    }

    /// Sends a request with HTTP/1.0, where the response ends with the connection.
    fn exchange(&self, body: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(&self.host)?;
        let mut head = format!("POST {} HTTP/1.0\r\nHost: {}\r\n", self.path, self.host);
        let visit = self.session_id.iter();
        let visit = visit.map(|visit| ("Mcp-Session-Id".to_owned(), visit.clone()));
        for (name, value) in self.headers.iter().cloned().chain(visit) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("Content-Type: application/json\r\n");
        head.push_str("Accept: application/json, text/event-stream\r\n");
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}
