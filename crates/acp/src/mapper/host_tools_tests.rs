//! A table of the encodings in which agents report the tool of a call.

use agenthost_protocol::ids::{ClientId, CustomizationId};
use agenthost_protocol::wire;
use serde_json::json;

use super::*;

fn host_tools() -> HostToolSet {
    let client = |name: &str, original_name: &str| ClientTool {
        client: ClientId::from("editor"),
        name: name.to_owned(),
        definition: wire::from_str(&json!({"name": original_name}).to_string()).unwrap(),
    };
    let server = |name: &str, original_name: &str| McpTool {
        server: CustomizationId::from("weather"),
        name: name.to_owned(),
        original_name: original_name.to_owned(),
        title: None,
        description: None,
        ui: None,
    };
    HostToolSet {
        client_tools: vec![
            client("run", "run"),
            client("run_tests", "run_tests"),
            client("editor_open", "open"),
        ],
        server_tools: vec![
            server("weather_get-forecast", "get-forecast"),
            server("a.b", "b"),
        ],
    }
}

fn recognize_name(hints: &CallHints<'_>) -> Option<String> {
    let tool = host_tools().recognize_tool(hints);
    tool.map(|tool| tool.original_name().to_owned())
}

#[test]
fn host_tools_are_recognized_by_title_or_name() {
    let table = [
        // claude, qwen
        ("mcp__agenthost__run_tests", Some("run_tests")),
        // codex
        ("Tool: agenthost/run_tests", Some("run_tests")),
        ("mcp.agenthost.run_tests", Some("run_tests")),
        ("agenthost/run_tests", Some("run_tests")),
        // goose
        ("agenthost: run_tests", Some("run_tests")),
        ("agenthost__run_tests", Some("run_tests")),
        // gemini, qwen
        ("run_tests (agenthost MCP Server)", Some("run_tests")),
        (
            "run_tests (agenthost MCP Server): {\"a\": 1}",
            Some("run_tests"),
        ),
        ("mcp_agenthost_run_tests", Some("run_tests")),
        // opencode, copilot, fast-agent
        ("agenthost_run_tests", Some("run_tests")),
        ("agenthost-run_tests", Some("run_tests")),
        ("agenthost/run_tests({\"a\": 1})", Some("run_tests")),
        ("[agenthost] run_tests", Some("run_tests")),
        ("run_tests [agenthost]", Some("run_tests")),
        // A name that is the beginning of another.
        ("mcp__agenthost__run", Some("run")),
        ("agenthost: run all", Some("run")),
        // One that the agent can't write as it is.
        ("mcp__agenthost__weather_get-forecast", Some("get-forecast")),
        ("mcp__agenthost__weather_get_forecast", Some("get-forecast")),
        ("mcp__agenthost__a_b", Some("b")),
        // One that is called otherwise by its client.
        ("mcp__agenthost__editor_open", Some("open")),
        // Those of others, and what only looks like it.
        ("run_tests", None),
        ("mcp__other__run_tests", None),
        ("run_tests (other MCP Server)", None),
        ("run_tests (agenthosts MCP Server)", None),
        ("mcp__agenthost__unknown", None),
        ("mcp__agenthost__open", None),
        ("run `agenthost run_tests`", None),
        ("agenthost run all", None),
        ("`agenthost run`", None),
        ("agenthost --run", None),
        ("agenthost/run/main.rs", None),
        ("agenthost", None),
        ("agenthosts: run", None),
        ("", None),
    ];
    for (text, expected) in table {
        let cases = [
            CallHints {
                title: Some(text),
                ..CallHints::default()
            },
            CallHints {
                name: Some(text),
                ..CallHints::default()
            },
            CallHints {
                title: Some("something else"),
                meta_name: Some(text),
                ..CallHints::default()
            },
        ];
        for hints in cases {
            assert_eq!(recognize_name(&hints).as_deref(), expected, "{text}");
        }
    }
}

#[test]
fn host_tools_are_recognized_by_arguments_or_meta() {
    let input = json!({"server": "agenthost", "tool": "run_tests", "arguments": {"a": 1}});
    let hints = CallHints {
        title: Some("Run the tests"),
        input: Some(&input),
        ..CallHints::default()
    };
    assert_eq!(recognize_name(&hints).as_deref(), Some("run_tests"));
    assert_eq!(unwrap_arguments(&input), &json!({"a": 1}));
    let plain = json!({"arguments": {"a": 1}});
    assert_eq!(unwrap_arguments(&plain), &plain);
    let meta = json!({"some": {"mcp": {"serverName": "agenthost", "toolName": "run"}}});
    let hints = CallHints {
        meta: meta.as_object(),
        ..CallHints::default()
    };
    assert_eq!(recognize_name(&hints).as_deref(), Some("run"));
    let other = json!({"server": "other", "tool": "run"});
    let hints = CallHints {
        input: Some(&other),
        ..CallHints::default()
    };
    assert_eq!(recognize_name(&hints), None);
}
