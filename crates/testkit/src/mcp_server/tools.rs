//! The tools of the test server.

use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ErrorData, JsonObject, ListToolsResult,
    ProgressNotificationParam, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

/// Returns all tools, including `extra` after a change.
pub(super) fn list_tools(changed: bool) -> Vec<Tool> {
    let names = [
        "echo",
        "add",
        "slow",
        "fail",
        "refuse",
        "big",
        "image",
        "needs_scope",
        "change_tools",
        "log",
        "variable",
        "crash",
    ];
    let extra = changed.then_some("extra");
    names.into_iter().chain(extra).map(build_tool).collect()
}

/// Returns a page of tools. Every page has a next one.
pub(super) fn tool_page(number: usize) -> ListToolsResult {
    let tools = (0..100).map(|index| build_tool(&format!("tool{number}_{index}")));
    let mut result = ListToolsResult::with_all_items(tools.collect());
    result.next_cursor = Some((number + 1).to_string());
    result
}

fn build_tool(name: &str) -> Tool {
    let title = (name == "image").then_some("Show an image");
    let app = match name {
        "image" => Some(json!({"ui": {"resourceUri": "ui://image"}})),
        "variable" => Some(json!({"ui": {"visibility": ["model"]}})),
        _ => None,
    };
    let listed = json!({
        "name": name,
        "title": title,
        "description": format!("The tool {name}"),
        "inputSchema": {"type": "object"},
        "_meta": app,
    });
    #[expect(clippy::expect_used, reason = "a test fails by panicking")]
    serde_json::from_value(listed).expect("it is a tool")
}

/// Calls a tool and returns its result.
pub(super) async fn call_tool(
    name: &str,
    arguments: JsonObject,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64).unwrap_or(0);
    let text_of = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or("");
    let said = |text: String| CallToolResult::success(vec![ContentBlock::text(text)]);
    let result = match name {
        "echo" => said(text_of("text").to_owned()),
        "add" => {
            let sum = number("a") + number("b");
            let mut result = said(sum.to_string());
            result.structured_content = Some(json!({ "sum": sum }));
            result
        }
        "slow" => {
            report_steps(number("steps"), &context).await;
            if !arguments.contains_key("last") {
                context.ct.cancelled().await;
            }
            said("done".to_owned())
        }
        "fail" => CallToolResult::error(vec![ContentBlock::text("it did not work")]),
        "refuse" => return Err(ErrorData::invalid_params("not like this", None)),
        "big" => {
            let bytes = usize::try_from(number("bytes")).unwrap_or(0);
            said("x".repeat(bytes))
        }
        "image" => {
            let image = ContentBlock::image("aW1hZ2U=", "image/png");
            let mut result = CallToolResult::success(vec![image]);
            result.meta = serde_json::from_value(json!({"made": "by hand"})).ok();
            result
        }
        "log" => {
            send_log(&context).await;
            said("logged".to_owned())
        }
        "variable" => said(std::env::var(text_of("name")).unwrap_or_default()),
        "crash" => crash(),
        _ => said(format!("{name} was called")),
    };
    Ok(result.into())
}

async fn report_steps(steps: u64, context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else {
        return;
    };
    for step in 1..=u32::try_from(steps).unwrap_or(0) {
        let mut progress = ProgressNotificationParam::new(token.clone(), f64::from(step));
        progress.message = Some(format!("step {step}"));
        drop(context.peer.notify_progress(progress).await);
    }
}

#[expect(deprecated, reason = "what servers may still do has to work")]
async fn send_log(context: &RequestContext<RoleServer>) {
    use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
    let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!("a log line"));
    drop(context.peer.notify_logging_message(message).await);
}

#[expect(clippy::print_stderr, reason = "a server that fails complains there")]
fn crash() -> ! {
    eprintln!(
        "it is all over, {}",
        std::env::var("TEST_SECRET").unwrap_or_default()
    );
    std::process::exit(3)
}
