//! MCP Apps: user interfaces of MCP servers for the results of their tools.
//!
//! A tool names the resource with its app (`_meta.ui.resourceUri`). The resource is HTML, read
//! through the channel of the server. Everything in it comes from the server and is not trusted:
//! the domains that the app wants to use are reduced to plain host names here, because they
//! become part of the policy of its frame.

use agenthost_protocol::chat::{
    ChatState, ResponsePart, ToolCall, ToolCallContributor, ToolCallHead, ToolCallResult,
    ToolInput, ToolResultContent,
};
use agenthost_protocol::ids::{CustomizationId, ToolCallId, TurnId};
use agenthost_protocol::session::{
    ChildCustomization, Customization, McpServerCustomization, SessionState,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{self, Json, Object};
use serde::Serialize;
use serde_json::json;

/// Maximum length of the URI of an app.
const MAX_URI_BYTES: usize = 2_048;

/// Maximum size of the HTML of an app, in base64 too.
const MAX_HTML_BYTES: usize = 4 * 1024 * 1024;

/// Maximum number of domains of an app; further ones are ignored. The host accepts no more.
const MAX_DOMAINS: usize = 32;

/// Maximum length of a domain, and of one of its labels, as in DNS.
const MAX_DOMAIN_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// The MIME type of an app and its parameter.
const MEDIA_TYPE: &str = "text/html";
const MEDIA_PROFILE: (&str, &str) = ("profile", "mcp-app");

/// An MCP server whose apps can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppServer {
    /// Channel for requests to the server.
    pub channel: Uri,
    /// `true` if apps can call tools of the server.
    pub serves_tools: bool,
}

/// The reason for which an app cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppError {
    /// The server does not have the resource.
    Missing,
    /// The resource is not an app.
    WrongType,
    /// The HTML is too large.
    TooLarge,
}

/// An app, ready for its frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AppDocument {
    /// The HTML, or the HTML in base64.
    #[serde(flatten)]
    pub html: AppHtml,
    /// Domains of network requests over `https`, as `HOST`, `*.HOST` or with `:PORT`.
    pub connect: Vec<String>,
    /// Domains of connections over `wss`.
    pub socket: Vec<String>,
    /// Domains of scripts, styles, images, fonts and media.
    pub resource: Vec<String>,
    /// Number of declared domains that the frame does not allow.
    pub ignored: usize,
}

/// The HTML of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AppHtml {
    Text(String),
    /// HTML in UTF-8, encoded in base64.
    Base64(String),
}

/// A tool call as its app gets it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AppCall {
    /// Arguments of the call, once they are complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Object>,
    /// Result of the call in the form of MCP, once the user has accepted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// `true` if the call was denied or skipped.
    pub cancelled: bool,
}

/// Returns the app of a tool call: its URI, and the server that has it. Only calls that an MCP
/// server executes have apps.
pub fn app_of_call(head: &ToolCallHead) -> Option<(&str, &CustomizationId)> {
    let Some(ToolCallContributor::Mcp(server)) = &head.contributor else {
        return None;
    };
    let uri = head.meta.as_ref()?.get("ui")?.get("resourceUri")?;
    let uri = uri.as_str().filter(|uri| uri.starts_with("ui://"))?;
    (uri.len() <= MAX_URI_BYTES).then_some((uri, &server.customization_id))
}

/// Returns the servers of a session whose apps can be shown, with their ids.
pub fn app_servers(session: &SessionState) -> impl Iterator<Item = (&CustomizationId, AppServer)> {
    let all = session.customizations.iter().flat_map(|all| all.items());
    let servers = all.flat_map(|customization| {
        let own = match customization {
            Customization::McpServer(server) => Some(&**server),
            Customization::Plugin(_) | Customization::Directory(_) | Customization::Unknown(_) => {
                None
            }
        };
        let children = customization.children().into_iter().flatten();
        let children = children.filter_map(|child| match child {
            ChildCustomization::McpServer(server) => Some(&**server),
            ChildCustomization::Agent(_)
            | ChildCustomization::Skill(_)
            | ChildCustomization::Prompt(_)
            | ChildCustomization::Rule(_)
            | ChildCustomization::Hook(_)
            | ChildCustomization::Unknown(_) => None,
        });
        own.into_iter().chain(children)
    });
    servers.filter_map(|server| Some((&server.base.id, AppServer::of_server(server)?)))
}

impl AppServer {
    fn of_server(server: &McpServerCustomization) -> Option<Self> {
        let capabilities = &server.mcp_app.as_ref()?.capabilities;
        capabilities.server_resources.as_ref()?;
        Some(AppServer {
            channel: server.channel.clone()?,
            serves_tools: capabilities.server_tools.is_some(),
        })
    }
}

impl std::fmt::Display for AppError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            AppError::Missing => "the server does not have the app",
            AppError::WrongType => "the resource is not an app (text/html;profile=mcp-app)",
            AppError::TooLarge => "the app is larger than 4 MB",
        })
    }
}

impl AppDocument {
    /// Returns the app in the result of `resources/read`.
    ///
    /// # Errors
    ///
    /// Returns [`AppError`] if the result has no app with this URI.
    pub fn of_result(uri: &str, result: &Json) -> Result<Self, AppError> {
        let contents = result.get("contents").and_then(Json::as_array);
        let mut contents = contents.into_iter().flatten();
        let content =
            contents.find(|content| content.get("uri").and_then(Json::as_str) == Some(uri));
        let content = content.ok_or(AppError::Missing)?;
        let text = |key: &str| content.get(key).and_then(Json::as_str);
        if !text("mimeType").is_some_and(is_app_type) {
            return Err(AppError::WrongType);
        }
        let html = match (text("text"), text("blob")) {
            (Some(html), _) => AppHtml::Text(html.to_owned()),
            (None, Some(blob)) => AppHtml::Base64(blob.to_owned()),
            (None, None) => return Err(AppError::Missing),
        };
        let (AppHtml::Text(content_text) | AppHtml::Base64(content_text)) = &html;
        if content_text.len() > MAX_HTML_BYTES {
            return Err(AppError::TooLarge);
        }
        let mut document = AppDocument {
            html,
            connect: Vec::new(),
            socket: Vec::new(),
            resource: Vec::new(),
            ignored: 0,
        };
        let policy = content
            .get("_meta")
            .and_then(|meta| meta.get("ui")?.get("csp"));
        if let Some(policy) = policy {
            document.add_domains(policy);
        }
        Ok(document)
    }

    fn add_domains(&mut self, policy: &Json) {
        let declared = |key: &str| {
            policy
                .get(key)
                .and_then(Json::as_array)
                .into_iter()
                .flatten()
        };
        for source in declared("connectDomains") {
            match parse_source(source) {
                Some(("https", domain)) => {
                    self.add_domain(domain, |document| &mut document.connect)
                }
                Some(("wss", domain)) => self.add_domain(domain, |document| &mut document.socket),
                _ => self.ignored += 1,
            }
        }
        for source in declared("resourceDomains") {
            match parse_source(source) {
                Some(("https", domain)) => {
                    self.add_domain(domain, |document| &mut document.resource)
                }
                _ => self.ignored += 1,
            }
        }
        // The frame allows no frames in it and no other base.
        self.ignored += declared("frameDomains").count() + declared("baseUriDomains").count();
    }

    fn add_domain(&mut self, domain: String, list: fn(&mut Self) -> &mut Vec<String>) {
        if list(self).contains(&domain) {
            return;
        }
        if self.connect.len() + self.socket.len() + self.resource.len() < MAX_DOMAINS {
            list(self).push(domain);
        } else {
            self.ignored += 1;
        }
    }
}

/// Splits a declared source into its scheme and a domain that is safe in a policy.
fn parse_source(source: &Json) -> Option<(&str, String)> {
    let (scheme, rest) = source.as_str()?.split_once("://")?;
    let domain = rest.strip_suffix('/').unwrap_or(rest);
    is_domain(domain).then(|| (scheme, domain.to_ascii_lowercase()))
}

/// Returns `true` for `HOST`, `*.HOST` and both with `:PORT`.
fn is_domain(text: &str) -> bool {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let is_port = |port: &str| {
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        is_number && port.parse().is_ok_and(|port: u16| port > 0)
    };
    let (name, min_labels) = match host.strip_prefix("*.") {
        Some(name) => (name, 2),
        None => (host, 1),
    };
    let is_label = |label: &str| {
        let mut bytes = label.bytes();
        (1..=MAX_LABEL_BYTES).contains(&label.len())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    host.len() <= MAX_DOMAIN_BYTES
        && port.is_none_or(is_port)
        && name.split('.').all(is_label)
        && name.split('.').count() >= min_labels
}

fn is_app_type(mime_type: &str) -> bool {
    let mut parts = mime_type.split(';').map(str::trim);
    let is_html = parts
        .next()
        .is_some_and(|kind| kind.eq_ignore_ascii_case(MEDIA_TYPE));
    let (name, profile) = MEDIA_PROFILE;
    let is_profile = |part: &str| {
        let field = part.split_once('=');
        field.is_some_and(|(key, value)| {
            key.trim().eq_ignore_ascii_case(name) && value.trim().trim_matches('"') == profile
        })
    };
    is_html && parts.any(is_profile)
}

/// Finds a tool call of a chat.
pub fn find_call<'a>(chat: &'a ChatState, turn: &TurnId, id: &ToolCallId) -> Option<&'a ToolCall> {
    let ended = chat.turns.iter().find(|ended| ended.id == *turn);
    let active = chat
        .active_turn
        .as_ref()
        .filter(|active| active.id == *turn);
    let parts = ended.map(|turn| &turn.response_parts);
    let parts = parts.or(active.map(|turn| &*turn.response_parts))?;
    let calls = parts.items().filter_map(|part| match part {
        ResponsePart::ToolCall(part) => Some(&part.tool_call),
        ResponsePart::Markdown(_)
        | ResponsePart::ContentRef(_)
        | ResponsePart::Reasoning(_)
        | ResponsePart::SystemNotification(_)
        | ResponsePart::InputRequest(_)
        | ResponsePart::Error(_)
        | ResponsePart::Unknown(_) => None,
    });
    let mut calls = calls.filter(|call| call.head().is_some_and(|head| head.tool_call_id == *id));
    calls.next()
}

impl AppCall {
    /// Returns what the app of a tool call may know about it now.
    pub fn of_call(call: &ToolCall) -> Self {
        let (parameters, result, cancelled) = match call {
            ToolCall::Streaming(_) | ToolCall::Unknown(_) => return AppCall::default(),
            ToolCall::PendingConfirmation(call) => (&call.parameters, None, false),
            ToolCall::Running(call) => (&call.parameters, None, false),
            ToolCall::AuthRequired(call) => (&call.parameters, None, false),
            // The user may still deny the result.
            ToolCall::PendingResultConfirmation(call) => (&call.parameters, None, false),
            ToolCall::Completed(call) => (&call.parameters, Some(tool_result(&call.result)), false),
            ToolCall::Cancelled(call) => (&call.parameters, None, true),
        };
        let input = match &parameters.tool_input {
            Some(ToolInput::Inline(text)) => wire::from_str(text).unwrap_or_default(),
            Some(ToolInput::Referenced(_)) | None => Object::default(),
        };
        AppCall {
            input: Some(input),
            result,
            cancelled,
        }
    }
}

/// Returns a result in the form of MCP.
fn tool_result(result: &ToolCallResult) -> Json {
    let content = result
        .content
        .iter()
        .flatten()
        .filter_map(|content| match content {
            ToolResultContent::Text(text) => Some(json!({"type": "text", "text": text.text})),
            ToolResultContent::EmbeddedResource(embedded) => {
                let kind = match embedded.content_type.split('/').next() {
                    Some(kind @ ("image" | "audio")) => kind,
                    _ => return None,
                };
                let (data, mime_type) = (&embedded.data, &embedded.content_type);
                Some(json!({"type": kind, "data": data, "mimeType": mime_type}))
            }
            ToolResultContent::Resource(_)
            | ToolResultContent::FileEdit(_)
            | ToolResultContent::Terminal(_)
            | ToolResultContent::Subagent(_)
            | ToolResultContent::Unknown(_) => None,
        });
    let mut converted = json!({"content": content.collect::<Vec<_>>(), "isError": !result.success});
    if let (Some(structured), Some(fields)) =
        (&result.structured_content, converted.as_object_mut())
    {
        // Agents pass on the whole result, directly or as a `result`, or only the data in it.
        let whole = structured.get("result").and_then(Json::as_object);
        let whole = whole.unwrap_or(structured);
        let data = match whole.get("structuredContent") {
            Some(data) => Some(data.clone()),
            None if whole.contains_key("content") => None,
            None => Some(Json::Object(structured.clone())),
        };
        if let Some(data) = data {
            fields.insert("structuredContent".to_owned(), data);
        }
    }
    converted
}

#[cfg(test)]
#[path = "mcp_app_tests.rs"]
mod tests;
