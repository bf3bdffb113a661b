//! Fetches and validates the tool list of a server.

use std::time::Duration;

use agenthost_protocol::label::clean_label;
use agenthost_protocol::session::{McpAppCapabilities, McpServerApps};
use agenthost_protocol::wire::{Json, Object};
use agenthost_stdx::text::truncate_chars;
use rmcp::model::ServerCapabilities;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::handle::{ProgressListener, ServerCallError, ServerHandle};

/// Maximum number of tools of a server; further ones are ignored.
const MAX_TOOLS: usize = 1_000;

/// Maximum number of pages that are requested, because a server could return a next page
/// forever.
const MAX_LIST_PAGES: usize = 100;

/// Maximum length of a tool name; tools with a longer one are rejected.
const MAX_TOOL_NAME_BYTES: usize = 256;

/// Maximum size of a tool definition as JSON; larger ones are rejected.
const MAX_TOOL_BYTES: usize = 256 * 1024;

/// Maximum length of the description that clients see. Agents get the complete one.
const MAX_SHOWN_DESCRIPTION_CHARS: usize = 500;

/// Timeout for one page of the list.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// A valid tool of a server's list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListedTool {
    /// Name of the tool at the server.
    pub(crate) name: String,
    /// Title for users, cleaned and truncated.
    pub(crate) title: Option<String>,
    /// The MCP App metadata of the tool.
    pub(crate) ui: Option<Json>,
    /// The complete definition as the server sent it.
    pub(crate) definition: Object,
}

impl ListedTool {
    /// Returns the description, truncated for clients.
    pub(crate) fn description(&self) -> Option<String> {
        let said = self.definition.get("description")?.as_str()?;
        Some(truncate_chars(said, MAX_SHOWN_DESCRIPTION_CHARS))
    }

    /// Returns `true` if agents may see the tool. Some tools are for MCP Apps only.
    pub(crate) fn is_for_models(&self) -> bool {
        self.is_visible_to("model")
    }

    /// Returns `true` if MCP Apps may call the tool. Some tools are for agents only.
    pub(crate) fn is_for_apps(&self) -> bool {
        self.is_visible_to("app")
    }

    /// A tool without a list of audiences is for all of them.
    fn is_visible_to(&self, audience: &str) -> bool {
        let ui = self.ui.as_ref();
        let visible = ui.and_then(|ui| ui.get("visibility")?.as_array());
        visible.is_none_or(|visible| visible.iter().any(|one| one == audience))
    }
}

/// The result of listing the tools of a server.
#[derive(Debug, Default)]
pub(crate) struct ToolList {
    pub(crate) tools: Vec<ListedTool>,
    /// Error message if tools were rejected or left out.
    pub(crate) problem: Option<String>,
}

/// The error of a failed tool list.
#[derive(Debug)]
pub(crate) enum ToolListError {
    /// The request to the server failed.
    Call(ServerCallError),
    /// The result has no array of tools.
    NotAList,
}

/// Lists all tools of a server. Invalid tools are left out and reported in
/// [`ToolList::problem`].
pub(crate) async fn list_tools(
    handle: &ServerHandle,
    cancel: &CancellationToken,
) -> Result<ToolList, ToolListError> {
    if handle.capabilities().tools.is_none() {
        return Ok(ToolList::default());
    }
    let mut builder = ToolListBuilder::default();
    let mut cursor: Option<Json> = None;
    for _ in 0..MAX_LIST_PAGES {
        let params = cursor.take().map(|cursor| ("cursor".to_owned(), cursor));
        let params = Object::from_iter(params);
        let asked = handle.request(
            "tools/list",
            params,
            ProgressListener::Ignored,
            LIST_TIMEOUT,
            cancel,
        );
        let mut page = asked.await.map_err(ToolListError::Call)?;
        match page.get_mut("tools").map(Json::take) {
            Some(Json::Array(listed)) => builder.add_page(listed),
            Some(_) | None if builder.tools.is_empty() => return Err(ToolListError::NotAList),
            Some(_) | None => builder.is_truncated = true,
        }
        cursor = page.get_mut("nextCursor").map(Json::take);
        cursor = cursor.filter(|cursor| cursor.as_str().is_some_and(|text| !text.is_empty()));
        if cursor.is_none() || builder.is_full() {
            break;
        }
    }
    builder.is_truncated |= cursor.is_some();
    Ok(builder.finish())
}

/// Collects the pages of a tool list.
#[derive(Default)]
pub(crate) struct ToolListBuilder {
    tools: Vec<ListedTool>,
    /// Number of invalid tools and of duplicate names.
    rejected: usize,
    /// `true` if the server has more tools than the limits allow.
    is_truncated: bool,
}

impl ToolListBuilder {
    fn is_full(&self) -> bool {
        self.tools.len() >= MAX_TOOLS
    }

    pub(crate) fn add_page(&mut self, listed: Vec<Json>) {
        for one in listed {
            if self.is_full() {
                self.is_truncated = true;
                return;
            }
            let known = |tool: &ListedTool| self.tools.iter().any(|other| other.name == tool.name);
            match parse_tool(one).filter(|tool| !known(tool)) {
                Some(tool) => self.tools.push(tool),
                None => self.rejected += 1,
            }
        }
    }

    pub(crate) fn finish(self) -> ToolList {
        let wrong = match self.rejected {
            0 => None,
            wrong => Some(format!(
                "{wrong} listed tools cannot be used: they have no name or arguments, \
                 are too long, or are listed twice"
            )),
        };
        let cut = self.is_truncated.then(|| {
            let count = self.tools.len();
            format!("only the first {count} listed tools are used")
        });
        let all: Vec<_> = wrong.into_iter().chain(cut).collect();
        ToolList {
            problem: (!all.is_empty()).then(|| all.join("; ")),
            tools: self.tools,
        }
    }
}

/// Returns the capabilities that MCP Apps have through the server's channel. They are those
/// that the server declared (MCP-13).
pub(crate) fn app_capabilities(capabilities: &ServerCapabilities) -> McpServerApps {
    let changes = |listed: Option<bool>| match listed {
        Some(true) => json!({"listChanged": true}),
        Some(false) | None => json!({}),
    };
    let tools = capabilities.tools.as_ref();
    let resources = capabilities.resources.as_ref();
    McpServerApps {
        capabilities: McpAppCapabilities {
            server_tools: tools.map(|tools| changes(tools.list_changed)),
            server_resources: resources.map(|resources| changes(resources.list_changed)),
            logging: capabilities.logging.as_ref().map(|_| Object::new()),
            sampling: None,
        },
    }
}

fn parse_tool(listed: Json) -> Option<ListedTool> {
    let Json::Object(definition) = listed else {
        return None;
    };
    let name = definition.get("name")?.as_str()?.to_owned();
    definition.get("inputSchema")?.as_object()?;
    let length = serde_json::to_vec(&definition).map_or(usize::MAX, |text| text.len());
    if name.is_empty() || name.len() > MAX_TOOL_NAME_BYTES || length > MAX_TOOL_BYTES {
        return None;
    }
    let title = definition.get("title").and_then(Json::as_str);
    let annotations = definition.get("annotations");
    let title = title.or_else(|| annotations?.get("title")?.as_str());
    let title = title.map(|title| {
        let mut title = truncate_chars(title, 200);
        clean_label(&mut title);
        title
    });
    let meta = definition.get("_meta");
    let ui = meta
        .and_then(|meta| meta.get("ui"))
        .filter(|ui| ui.is_object());
    // Legacy form of the app metadata.
    let address = meta.and_then(|meta| meta.get("ui/resourceUri"));
    let address = address.filter(|address| address.is_string());
    Some(ListedTool {
        ui: ui
            .cloned()
            .or_else(|| Some(json!({"resourceUri": address?}))),
        title: title.filter(|title| !title.is_empty()),
        name,
        definition,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_fields_of_tools_are_dropped() {
        let schema = json!({"type": "object"});
        let full = parse_tool(json!({
            "name": "a", "annotations": {"title": "A\u{7}\u{202e}"}, "inputSchema": schema,
            "_meta": {"ui/resourceUri": "ui://x"}, "later": 1,
        }))
        .unwrap();
        assert_eq!(full.title.as_deref(), Some("A"));
        assert_eq!(full.ui, Some(json!({"resourceUri": "ui://x"})));
        assert_eq!(full.definition.get("later"), Some(&json!(1)));
        let app = json!({"resourceUri": "ui://y", "visibility": ["app"]});
        let newer = parse_tool(json!({"name": "b", "inputSchema": schema, "_meta": {"ui": app}}));
        assert_eq!(newer.unwrap().ui, Some(app));
        for wrong in [
            json!(null),
            json!({"name": "x"}),
            json!({"name": "", "inputSchema": schema}),
            json!({"name": 1, "inputSchema": schema}),
            json!({"name": "x".repeat(300), "inputSchema": schema}),
            json!({"name": "x", "inputSchema": schema, "description": "y".repeat(300_000)}),
        ] {
            assert_eq!(parse_tool(wrong), None);
        }
    }
}
