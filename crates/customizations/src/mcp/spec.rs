//! How a server of tools is reached.

use std::path::PathBuf;

/// A server of tools, as a configuration or a package declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerSpec {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
}

/// How a server of tools is reached. All names in values are resolved.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// The host starts it.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// What it finds in its environment, besides what any program needs.
        environment: Vec<(String, String)>,
        /// Where it starts.
        directory: Option<PathBuf>,
    },
    /// It is there already (streamable HTTP).
    Http {
        /// Where.
        url: String,
        /// What to send with each request.
        headers: Vec<(String, String)>,
    },
}

/// Leaves out what the values are: they may be secret.
impl std::fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self {
            McpTransport::Stdio { .. } => "Program",
            McpTransport::Http { .. } => "Http",
        };
        f.debug_struct(kind).finish_non_exhaustive()
    }
}
