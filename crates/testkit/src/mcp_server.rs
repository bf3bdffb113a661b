//! A server of tools that does what tests need: on standard input and output,
//! or by HTTP on loopback, also behind a token.
//!
//! As a program it is none of its own: a test runs itself again, as the
//! server. What the test harness prints is noise on its output.

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

/// Set for the process that is to be the server; says how it behaves: `plain`,
/// or one of `hang`, `refuse`, `junk`, `huge`, `die`, `stubborn`, `many`,
/// `mixed`, `nolist`.
pub const SERVER_MODE_VARIABLE: &str = "AGENTHOST_TEST_MCP_SERVER";

/// Is the server, if this process is meant to be; returns otherwise. Its tools
/// are
///
/// ```text
/// echo {text}          says the text
/// add {a, b}           says the sum, as text and as data
/// slow {steps}         tells of each step, then waits to be cancelled; with
///                      `last` it answers after the last step instead
/// fail                 says that it failed
/// refuse               is no answer but an error
/// big {bytes}          says that much
/// image                shows something, with metadata
/// needs_scope          needs a token that allows more, by HTTP
/// change_tools         has another tool after that, `extra`
/// log                  logs something first
/// variable {name}      says what it finds in its environment
/// crash                complains, and is gone
/// ```
///
/// # Panics
///
/// If there is no runtime to be had.
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

/// The server itself.
#[derive(Clone, Default)]
pub struct TestServer {
    /// Whether `extra` is there.
    has_extra_tool: Arc<AtomicBool>,
    /// Whether it has more tools than anybody should look at.
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
        // Two pages, so that both are looked at.
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
