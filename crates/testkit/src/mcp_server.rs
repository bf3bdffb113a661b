//! An MCP server for tests: on standard input and output, or by HTTP on loopback,
//! optionally with access tokens.
//!
//! It is not a separate program: a test runs itself again as the server. The lines that the
//! test harness prints are noise on its output.

#[path = "mcp_server/http.rs"]
mod http;
#[path = "mcp_server/misbehaviour.rs"]
mod misbehaviour;
#[path = "mcp_server/tools.rs"]
mod tools;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, InitializeResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, ServerCapabilities,
};
use rmcp::service::{RequestContext, RoleServer};

pub use http::{HttpServer, RESOURCE_PATH, TestAuth};

/// The environment variable that makes a process the server. Its value is the behaviour:
/// `plain`, or one of `hang`, `refuse`, `junk`, `huge`, `die`, `stubborn`, `many`, `mixed`,
/// `nolist`.
pub const SERVER_MODE_VARIABLE: &str = "AGENTHOST_TEST_MCP_SERVER";

/// Runs the server if this process is meant to be one; returns otherwise. Its tools are
///
/// ```text
/// echo {text}          returns the text
/// add {a, b}           returns the sum, as text and as structured content
/// slow {steps}         reports progress for each step, then waits for
///                      cancellation; with `last` it returns after the last step
/// fail                 returns a failed result
/// refuse               returns a protocol error
/// big {bytes}          returns a text of this size
/// image                returns an image, with metadata
/// needs_scope          needs a token with a wider scope, by HTTP
/// change_tools         adds another tool, `extra`
/// log                  sends a log notification first
/// variable {name}      returns the value of an environment variable
/// crash                writes to stderr and exits
/// ```
///
/// # Panics
///
/// If the Tokio runtime can't be created.
pub fn run_as_server() {
    let Ok(how) = std::env::var(SERVER_MODE_VARIABLE) else {
        return;
    };
    #[expect(clippy::expect_used, reason = "a test fails by panicking")]
    let runtime = tokio::runtime::Runtime::new().expect("there is a runtime");
    runtime.block_on(async {
        if !misbehaviour::misbehave(&how).await {
            return;
        }
        let server = TestServer {
            has_endless_tools: how == "many",
            ..TestServer::default()
        };
        let transport = rmcp::transport::io::stdio();
        if let Ok(service) = rmcp::service::serve_server(server, transport).await {
            drop(service.waiting().await);
        }
        misbehaviour::linger(&how).await;
    });
    std::process::exit(0);
}

/// The MCP server of the tests.
#[derive(Clone, Default)]
pub struct TestServer {
    /// `true` if the tool `extra` exists.
    has_extra_tool: Arc<AtomicBool>,
    /// `true` if the list of tools has no end.
    has_endless_tools: bool,
}

#[expect(deprecated, reason = "what servers may still do has to work")]
impl ServerHandler for TestServer {
    fn get_info(&self) -> InitializeResult {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_logging()
            .build();
        InitializeResult::new(capabilities)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        if self.has_endless_tools {
            let page: usize = cursor.and_then(|text| text.parse().ok()).unwrap_or(0);
            return Ok(tools::tool_page(page));
        }
        // Two pages, so that clients have to request both.
        let mut all = tools::list_tools(self.has_extra_tool.load(Ordering::SeqCst));
        let second = all.split_off(3);
        let mut result = ListToolsResult::default();
        if cursor.is_some() {
            result.tools = second;
        } else {
            result.tools = all;
            result.next_cursor = Some("second".to_owned());
        }
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.clone();
        if name == "change_tools" {
            self.has_extra_tool.store(true, Ordering::SeqCst);
            drop(context.peer.notify_tool_list_changed().await);
        }
        tools::call_tool(&name, request.arguments.unwrap_or_default(), context).await
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = Resource::new("test://greeting", "greeting");
        Ok(ListResourcesResult::with_all_items(vec![resource]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != "test://greeting" {
            return Err(ErrorData::resource_not_found(
                "there is no such thing",
                None,
            ));
        }
        let contents = ResourceContents::text("hello", request.uri);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn set_level(
        &self,
        _request: rmcp::model::SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}
