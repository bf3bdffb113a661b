//! The tools of a server, as it lists them.

use std::time::Duration;

use agenthost_protocol::label::clean_label;
use agenthost_protocol::session::{McpAppCapabilities, McpServerApps};
use agenthost_protocol::wire::{Json, Object};
use agenthost_stdx::text::truncate_chars;
use rmcp::model::ServerCapabilities;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::handle::{ProgressListener, ServerCallError, ServerHandle};

/// Most tools of a server that are looked at.
const MAX_TOOLS: usize = 1_000;

/// Most pages of a list that are asked for: one could have no end.
const MAX_LIST_PAGES: usize = 100;

/// Longest name of a tool, in bytes.
const MAX_TOOL_NAME_BYTES: usize = 256;

/// Longest description of a tool and its arguments, in bytes.
const MAX_TOOL_BYTES: usize = 256 * 1024;

/// Longest description that clients get to see, in characters.
const MAX_SHOWN_DESCRIPTION_CHARS: usize = 500;

/// How long a page may take.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// A tool of a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListedTool {
    /// What the server calls it.
    pub(crate) name: String,
    /// Its name for people.
    pub(crate) title: Option<String>,
    /// The app that shows what it does.
    pub(crate) ui: Option<Json>,
    /// All that the server said of it.
    pub(crate) definition: Object,
}

impl ListedTool {
    /// What it does, cut short.
    pub(crate) fn description(&self) -> Option<String> {
        let said = self.definition.get("description")?.as_str()?;
        Some(truncate_chars(said, MAX_SHOWN_DESCRIPTION_CHARS))
    }

    /// Whether agents get to see it: some are for apps alone.
    pub(crate) fn is_for_models(&self) -> bool {
        let ui = self.ui.as_ref();
        let visible = ui.and_then(|ui| ui.get("visibility")?.as_array());
        visible.is_none_or(|visible| visible.iter().any(|one| one == "model"))
    }
}

/// What a server listed.
#[derive(Debug, Default)]
pub(crate) struct ToolList {
    /// What can be used.
    pub(crate) tools: Vec<ListedTool>,
    /// What is wrong with the rest.
    pub(crate) problem: Option<String>,
}

/// Why the tools of a server are not known.
#[derive(Debug)]
pub(crate) enum ToolListError {
    /// It could not be asked.
    Call(ServerCallError),
    /// What it answered is no list.
    NotAList,
}

/// Lists all tools of a server. What is malformed is left out, and said so.
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

/// A list, as far as it is known.
#[derive(Default)]
pub(crate) struct ToolListBuilder {
    tools: Vec<ListedTool>,
    /// How many were no tools, or had the name of another one.
    rejected: usize,
    /// Whether there are more than are looked at.
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
                "{wrong} of the tools that it lists can't be used: they have no name or arguments, \
                 are too long, or are there twice"
            )),
        };
        let cut = self.is_truncated.then(|| {
            let count = self.tools.len();
            format!("of the tools that it lists only the first {count} are used")
        });
        let all: Vec<_> = wrong.into_iter().chain(cut).collect();
        ToolList {
            problem: (!all.is_empty()).then(|| all.join("; ")),
            tools: self.tools,
        }
    }
}

/// What apps of a server may do by its channel: what it can do itself
/// (MCP-13).
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
    // How apps were named at first.
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
    fn tools_are_believed_as_far_as_they_make_sense() {
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
