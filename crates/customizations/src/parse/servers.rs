//! Parses MCP server declarations of packages and workspaces.

use agenthost_core::tools::mcp::transport::{McpServerSpec, McpTransport, Template};
use agenthost_protocol::session::{ChildCustomization, McpServerCustomization, McpServerState};
use serde_json::Value;
use url::Url;

use super::{ContainerItem, ItemDetail, ItemKind, ItemLocation, MAX_NAME_CHARS, ParseContext};
use crate::syntax::jsonc::JsoncDocument;

/// Maximum number of MCP servers of a container.
const MAX_SERVERS: usize = 100;

/// An MCP server as it was declared, with placeholders.
pub type DeclaredServer = McpServerSpec<Template, Template, Template>;

/// The transport of a declared server, with placeholders.
pub type DeclaredTransport = McpTransport<Template, Template, Template>;

/// An error in the declaration of a server. The message continues after the server's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerDeclError {
    /// A declaration that is not an object.
    #[error("must be an object")]
    NotAnObject,
    /// A key with a value that is not a string, or is empty.
    #[error("has a `{0}` that is empty or not a string")]
    NotText(&'static str),
    /// A server that only supports SSE and not streamable HTTP.
    #[error(
        "supports only SSE, which the host does not support: use the URL of its streamable HTTP endpoint"
    )]
    SseOnly,
    /// An unknown `type`, truncated.
    #[error("has the type `{0}`, which is not supported")]
    UnsupportedType(String),
    /// A `url` with a scheme that is not HTTP.
    #[error("has an invalid `url`: it must be an `https://` or `http://` URL")]
    NotWebUrl,
    /// A declaration without the `command` or the `url` of its type.
    #[error("has neither a `command` nor a `url`")]
    NoTransport,
    /// A value of `args` that is not a list of strings.
    #[error("has `args` that are not a list of strings")]
    InvalidArguments,
    /// A key with a value that is not an object of strings, numbers and booleans.
    #[error("has a `{0}` that is not an object of strings")]
    InvalidMap(&'static str),
}

/// Parses a file with MCP servers, if it exists.
pub(super) fn parse_server_file(context: &mut ParseContext<'_>, path: &str) {
    if let Some(declarations) = context.read_jsonc(path) {
        parse_servers(context, path, &declarations, &[]);
    }
}

/// Parses MCP servers that are declared below the given keys of a file.
pub(super) fn parse_servers(
    context: &mut ParseContext<'_>,
    path: &str,
    declarations: &JsoncDocument,
    names: &[&str],
) {
    let mut value = declarations.get_path(names);
    let mut names = names.to_vec();
    for wrapper in ["mcpServers", "servers"] {
        if let Some(servers) = value.get(wrapper) {
            value = servers;
            names.push(wrapper);
            break;
        }
    }
    let Some(servers) = value.as_object() else {
        context.add_problem(path, "servers must be an object with names as keys");
        return;
    };
    for (name, value) in servers {
        // Without a wrapper, the file may contain other values besides servers.
        let bare = names.is_empty();
        if bare && (name.starts_with('$') || !value.is_object()) {
            continue;
        }
        match parse_transport(value) {
            Ok(Some(transport)) => {
                let Some(claimed) = claim_server_name(context, path, name) else {
                    continue;
                };
                // Finding the range takes time in proportion to the file, so it happens
                // only for servers that are accepted.
                names.push(name);
                let range = declarations.range(&names);
                names.pop();
                let location = ItemLocation {
                    path,
                    inline: name,
                    range,
                };
                add_server(context, location, claimed, transport);
            }
            // The server is declared and disabled.
            Ok(None) => {}
            Err(problem) => {
                let name = super::truncate_chars(name, 80);
                context.add_problem(path, format!("the server `{name}` {problem}"));
            }
        }
    }
}

/// Claims the name of a server, unless it is taken or the limit is reached.
fn claim_server_name(context: &mut ParseContext<'_>, path: &str, name: &str) -> Option<String> {
    let name = super::truncate_chars(name, MAX_NAME_CHARS);
    if name.is_empty() {
        context.add_problem(path, "a server has no name");
        return None;
    }
    let servers = context
        .claimed_names
        .keys()
        .filter(|(kind, _)| *kind == ItemKind::Server);
    if servers.count() >= MAX_SERVERS {
        context.add_problem(path, format!("there are more than {MAX_SERVERS} servers"));
        return None;
    }
    context
        .claim_name(ItemKind::Server, &name, path)
        .then_some(name)
}

fn add_server(
    context: &mut ParseContext<'_>,
    location: ItemLocation<'_>,
    name: String,
    transport: DeclaredTransport,
) {
    let server = McpServerCustomization {
        base: context.item_base(ItemKind::Server, location, &name),
        enablement: None,
        state: McpServerState::Stopped,
        channel: None,
        mcp_app: None,
    };
    context.parsed.items.push(ContainerItem {
        child: ChildCustomization::McpServer(Box::new(server)),
        name: name.clone(),
        path: location.path.to_owned(),
        detail: ItemDetail::Server(DeclaredServer { name, transport }),
    });
}

/// Parses the transport of a server; `None` if the server is disabled.
fn parse_transport(value: &Value) -> Result<Option<DeclaredTransport>, ServerDeclError> {
    let Some(object) = value.as_object() else {
        return Err(ServerDeclError::NotAnObject);
    };
    if object.get("disabled") == Some(&Value::Bool(true)) {
        return Ok(None);
    }
    let text = |key: &'static str| match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(ServerDeclError::NotText(key)),
    };
    let kind = match text("type")? {
        Some(kind) => Some(kind),
        None => text("transport")?,
    };
    // VS Code writes `type: http` for both and distinguishes them by `transport`.
    let kind = match text("transport")?.as_deref() {
        Some("sse") => Some("sse".to_owned()),
        Some(_) | None => kind,
    };
    match kind.as_deref() {
        Some("stdio" | "local" | "http" | "streamable-http" | "streamableHttp" | "remote")
        | None => {}
        Some("sse") => return Err(ServerDeclError::SseOnly),
        Some(other) => {
            let other = super::truncate_chars(other, 40);
            return Err(ServerDeclError::UnsupportedType(other));
        }
    }
    let program = matches!(kind.as_deref(), Some("stdio" | "local"));
    match (text("command")?, text("url")?) {
        (Some(command), _) if program || kind.is_none() => Ok(Some(DeclaredTransport::Stdio {
            command: command.into(),
            arguments: parse_texts(object.get("args"))?,
            environment: parse_pairs(object.get("env"), "env")?,
            directory: text("cwd")?.map(Template),
        })),
        (_, Some(url)) if !program => {
            if !is_possible_web_url(&url) {
                return Err(ServerDeclError::NotWebUrl);
            }
            Ok(Some(DeclaredTransport::Http {
                url: url.into(),
                headers: parse_pairs(object.get("headers"), "headers")?,
            }))
        }
        _ => Err(ServerDeclError::NoTransport),
    }
}

/// Returns `true` if a URL is or may become an HTTP URL. Of a URL with placeholders only
/// the beginning is known; the rest is checked when it is used.
fn is_possible_web_url(url: &str) -> bool {
    match url.split_once('$') {
        None => Url::parse(url)
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()),
        Some((known, _)) => match known.split_once(':') {
            Some((scheme, _)) => ["http", "https"].contains(&scheme.to_lowercase().as_str()),
            None => true,
        },
    }
}

fn parse_texts(value: Option<&Value>) -> Result<Vec<Template>, ServerDeclError> {
    let wrong = || ServerDeclError::InvalidArguments;
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(values)) => values
            .iter()
            .map(|value| value.as_str().map(Template::from).ok_or_else(wrong))
            .collect(),
        Some(_) => Err(wrong()),
    }
}

fn parse_pairs(
    value: Option<&Value>,
    key: &'static str,
) -> Result<Vec<(String, Template)>, ServerDeclError> {
    let wrong = || ServerDeclError::InvalidMap(key);
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(object)) => object
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| match value {
                Value::String(text) => Ok((name.clone(), Template(text.clone()))),
                Value::Number(number) => Ok((name.clone(), Template(number.to_string()))),
                Value::Bool(flag) => Ok((name.clone(), Template(flag.to_string()))),
                Value::Null | Value::Array(_) | Value::Object(_) => Err(wrong()),
            })
            .collect(),
        Some(_) => Err(wrong()),
    }
}
