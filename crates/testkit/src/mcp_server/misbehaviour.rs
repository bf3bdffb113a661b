//! Faulty behaviours of the test server.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is what a server says"
)]

use std::io::Write;
use std::time::Duration;

/// Misbehaves at startup. Returns `true` if the server should run afterwards.
pub(super) async fn misbehave(how: &str) -> bool {
    match how {
        "hang" => std::future::pending().await,
        "refuse" => {
            let mut line = String::new();
            drop(std::io::stdin().read_line(&mut line));
            println!(r#"{{"jsonrpc":"2.0","id":0,"error":{{"code":-32000,"message":"go away"}}}}"#);
            false
        }
        "die" => {
            eprintln!("there is no configuration");
            eprintln!(
                "the key is {}",
                std::env::var("TEST_SECRET").unwrap_or_default()
            );
            std::process::exit(2)
        }
        "junk" => {
            println!("starting up… {{not json");
            println!(r#"{{"level":"info","message":"json, but no message"}}"#);
            println!("[1,2,3]");
            println!("null");
            let mut output = std::io::stdout().lock();
            drop(output.write_all(b"\xff\xfe\n\n\r\n"));
            drop(output.flush());
            true
        }
        "mixed" => {
            let good = r#"{"name":"good","inputSchema":{"type":"object"}}"#;
            let wrong = r#"null,{"name":7},{"name":"bare"}"#;
            serve_tool_list(&format!(r#"{{"tools":[{good},{wrong},{good}]}}"#));
            false
        }
        "nolist" => {
            serve_tool_list(r#"{"tools":{"good":{}}}"#);
            false
        }
        "huge" => {
            let piece = vec![b'x'; 1024 * 1024];
            let mut output = std::io::stdout().lock();
            for _ in 0..20 {
                drop(output.write_all(&piece));
            }
            drop(output.write_all(b"\n"));
            drop(output.flush());
            true
        }
        "stubborn" => {
            // A descendant in its own process group, which survives its parent.
            let started = std::process::Command::new("setsid")
                .args(["sleep", "1000"])
                .spawn();
            if let Err(error) = started {
                eprintln!("start something that stays: {error}");
            }
            true
        }
        _ => true,
    }
}

/// Performs the handshake as a correct server, and returns the given list of tools.
fn serve_tool_list(tools: &str) {
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let Ok(asked) = serde_json::from_str::<serde_json::Value>(&line) else {
            continue;
        };
        let (id, method) = (asked.get("id"), asked.get("method"));
        let method = method.and_then(serde_json::Value::as_str);
        let result = match (method, id) {
            (Some("initialize"), _) => {
                r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}"#
            }
            (Some("tools/list"), _) => tools,
            (_, _) => "{}",
        };
        if let Some(id) = id {
            println!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        }
    }
}

/// Keeps a stubborn server running after its connection has ended.
pub(super) async fn linger(how: &str) {
    if how == "stubborn" {
        tokio::time::sleep(Duration::from_secs(1000)).await;
    }
}
