//! Specifications of MCP servers and their transports.

use std::ops::Deref;
use std::path::PathBuf;

/// An MCP server, as a configuration or a package declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerSpec<T = String, V = T, D = PathBuf> {
    /// The name of the server.
    pub name: String,
    /// The transport that connects to the server.
    pub transport: McpTransport<T, V, D>,
}

/// The transport of an MCP server.
///
/// `T` is the type of texts, `V` that of the values of environment variables and headers, `D`
/// that of the working directory. With `String` everything is resolved; a [`Template`] has
/// placeholders such as `${NAME}`, an [`EnvRef`] may name a variable of the host.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport<T = String, V = T, D = PathBuf> {
    /// A program that speaks MCP on its standard input and output.
    Stdio {
        /// The program to run.
        command: T,
        /// The arguments of the program.
        arguments: Vec<T>,
        /// Environment variables in addition to those that every program gets.
        environment: Vec<(String, V)>,
        /// The working directory of the program.
        directory: Option<D>,
    },
    /// A running server, over streamable HTTP.
    Http {
        /// The URL of the server.
        url: T,
        /// Headers that are sent with each request.
        headers: Vec<(String, V)>,
    },
}

/// Text with placeholders such as `${NAME}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(pub String);

/// A value in which `$NAME` stands for a variable in the environment of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvRef(pub String);

impl Deref for Template {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<String> for Template {
    fn from(text: String) -> Self {
        Template(text)
    }
}

impl From<&str> for Template {
    fn from(text: &str) -> Self {
        Template(text.to_owned())
    }
}

impl From<String> for EnvRef {
    fn from(text: String) -> Self {
        EnvRef(text)
    }
}

/// Omits the values, which may be secret.
impl<T, V, D> std::fmt::Debug for McpTransport<T, V, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self {
            McpTransport::Stdio { .. } => "Stdio",
            McpTransport::Http { .. } => "Http",
        };
        f.debug_struct(kind).finish_non_exhaustive()
    }
}
