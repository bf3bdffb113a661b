//! Fuzz target for the data that MCP servers and agents send.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the fuzzer sees a violated invariant as a panic"
)]

use std::io;

use agenthost_protocol::session::McpServerApps;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage, ServerResult};
use rmcp::service::{RxJsonRpcMessage, ServiceRole};
use rmcp::transport::Transport;
use rmcp::{RoleClient, RoleServer};

use super::auth::challenge::AuthChallenge;
use super::gateway::tool_names::ToolNames;
use super::server::raw_result::{unwrap_raw_result, wrap_raw_result};
use super::server::tool_list::{ToolListBuilder, app_capabilities};
use super::transport::sse::bounded_events;
use super::transport::stdio::{LineTransport, StreamEnd};

/// Parses the input as messages of a server, as messages of an agent, as an event stream and as
/// a challenge. Results of any shape must stay the same when they are wrapped and unwrapped,
/// and a stream must have the same events however it is split.
///
/// The first byte sets the size of the pieces of the stream.
pub fn mcp_responses(data: &[u8]) {
    let Some((&size, data)) = data.split_first() else {
        return;
    };
    for message in messages::<RoleClient>(data) {
        check_message(message);
    }
    drop(messages::<RoleServer>(data));
    let whole = streamed(vec![Bytes::copy_from_slice(data)]);
    let size = usize::from(size).saturating_add(1);
    let pieces = data.chunks(size).map(Bytes::copy_from_slice);
    assert_eq!(streamed(pieces.collect()), whole, "in pieces of {size}");
    if let Ok(text) = std::str::from_utf8(data) {
        let challenge = AuthChallenge::parse(text);
        let description = challenge.description.unwrap_or_default();
        assert!(!description.contains(char::is_control));
        for line in text.lines() {
            check_result(line);
        }
    }
}

/// Returns all messages of the input. The input is in memory, so reading never waits.
fn messages<Role: ServiceRole>(data: &[u8]) -> Vec<RxJsonRpcMessage<Role>> {
    let mut lines = LineTransport::new(data, tokio::io::sink(), StreamEnd::default());
    let mut all = Vec::new();
    while let Some(message) = Transport::<Role>::receive(&mut lines)
        .now_or_never()
        .unwrap()
    {
        all.push(message);
    }
    all
}

fn check_message(message: ServerJsonRpcMessage) {
    if let JsonRpcMessage::Response(response) = message {
        if let ServerResult::InitializeResult(result) = &response.result {
            let apps = app_capabilities(&result.capabilities);
            let text = serde_json::to_string(&apps).unwrap();
            assert_eq!(wire::from_str::<McpServerApps>(&text), Ok(apps));
        }
        check_listing(unwrap_raw_result(&response.result));
    }
}

/// Checks that a JSON result stays the same when `rmcp` deserializes it.
fn check_result(line: &str) {
    let Ok(result) = serde_json::from_str::<Json>(line) else {
        return;
    };
    if result.get("protocolVersion").is_some() {
        return;
    }
    let mut message = serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": result});
    wrap_raw_result(&mut message);
    let Ok(JsonRpcMessage::Response(response)) =
        serde_json::from_value::<ServerJsonRpcMessage>(message)
    else {
        panic!("a sealed result is a response");
    };
    assert_eq!(unwrap_raw_result(&response.result), result);
    check_listing(result);
}

/// Checks the parser and the name assignment with a result as a page of `tools/list`.
fn check_listing(mut page: Json) {
    let Some(Json::Array(tools)) = page.get_mut("tools").map(Json::take) else {
        return;
    };
    let count = tools.len();
    let mut listing = ToolListBuilder::default();
    listing.add_page(tools);
    let listed = listing.finish();
    assert!(listed.tools.len() == count || listed.problem.is_some());
    let mut names = ToolNames::default();
    let mut given = Vec::new();
    for tool in &listed.tools {
        assert!(tool.description().unwrap_or_default().chars().count() <= 500);
        assert!(tool.is_for_models() || tool.ui.is_some());
        let name = names.assign_name("server", &tool.name);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(name.chars().all(plain) && name.len() <= 48);
        given.push(name);
    }
    given.sort();
    given.dedup();
    assert_eq!(given.len(), listed.tools.len(), "names are unique");
}

/// Returns the data of all events of a stream, or `None` if a line is invalid. The events
/// before that error depend on how the stream is split.
fn streamed(pieces: Vec<Bytes>) -> Option<Vec<Option<String>>> {
    let pieces = pieces.into_iter().map(Ok::<_, io::Error>);
    let read: Vec<_> =
        FutureExt::now_or_never(bounded_events(stream::iter(pieces), None).collect()).unwrap();
    let data = read
        .into_iter()
        .map(|event| event.ok().map(|event| event.data));
    data.collect()
}

#[cfg(test)]
#[path = "../../../fuzz/seeds.rs"]
mod seeds;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_of_the_corpus_passes() {
        seeds::check_seeds("mcp_responses", mcp_responses);
    }
}
