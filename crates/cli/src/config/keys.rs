//! All keys of the configuration file with their meanings.

/// A key of the configuration file and its documentation.
pub(crate) struct ConfigKey {
    pub(crate) name: &'static str,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a test compares it with the documentation")
    )]
    pub(crate) meaning: &'static str,
}

/// All keys. A test checks that `docs/configuration.md` has the same table.
pub(crate) const KEYS: &[ConfigKey] = &[
    key("listen", "address to listen on; port 0 selects a free port"),
    key(
        "allow_plain",
        "allow `listen` to be an address that other machines can reach, without TLS",
    ),
    key("socket", "Unix socket to listen on"),
    key("data_dir", "directory for sessions, log and token"),
    key(
        "durability",
        "failure that published actions survive: `process` (host is killed) or `power` (power cut)",
    ),
    key(
        "allowed_origins",
        "origins of web pages that may connect, such as `https://example.org`",
    ),
    key(
        "allowed_hosts",
        "values of the `Host` header to accept, such as `box.lan:8123`",
    ),
    key(
        "readable_folders",
        "folders that clients may read, besides those of sessions",
    ),
    key(
        "writable_folders",
        "folders that clients may change, besides those of sessions",
    ),
    key("shell", "path of the shell for terminals"),
    key(
        "terminal_variables",
        "names of environment variables that sessions get from the terminal they are created in, besides the usual ones",
    ),
    key("tls.certificate", "certificate for `listen`, a PEM file"),
    key("tls.key", "private key of the certificate, a PEM file"),
    key("auto_agents", "offer all known agents that are installed"),
    key(
        "default_agent",
        "`id` of the agent for sessions that do not name one",
    ),
    key(
        "agents.id",
        "id of the agent, as in `--agent`; the id of a known agent changes that agent",
    ),
    key("agents.name", "display name of the agent"),
    key("agents.enabled", "offer the agent to clients"),
    key(
        "agents.command",
        "program that speaks ACP, and its arguments",
    ),
    key(
        "agents.env",
        "environment variables of the agent; the value `$NAME` refers to a variable of the host",
    ),
    key(
        "agents.allow_trusting",
        "allow modes and options in which the agent does everything without approval",
    ),
    key(
        "agents.trusting",
        "values of such modes and options, besides those that are known",
    ),
    key(
        "agents.sign_in",
        "sign-in instructions for users, shown when the agent requires a sign-in",
    ),
    key(
        "agents.token_env",
        "environment variable of the agent for tokens from clients (`authenticate`)",
    ),
    key(
        "agents.token_resource",
        "resource that these tokens are for, an `https` URL",
    ),
    key(
        "agents.files",
        "let the agent read and write files through the host, inside the folders of the session",
    ),
    key(
        "agents.terminals",
        "let the agent run commands through the host, in terminals that clients can watch",
    ),
    key(
        "agents.host_tools",
        "give the agent the tools of clients and of the MCP servers that the host runs",
    ),
    key(
        "agents.mcp_servers.name",
        "name of an MCP server that the agent starts or connects to itself",
    ),
    key("agents.mcp_servers.command", "program of the server"),
    key("agents.mcp_servers.args", "arguments of the program"),
    key(
        "agents.mcp_servers.env",
        "environment variables of the program; `$NAME` as above",
    ),
    key(
        "agents.mcp_servers.url",
        "URL of a running server, in place of `command`",
    ),
    key(
        "agents.mcp_servers.headers",
        "HTTP headers of each request; each word can be `$NAME`",
    ),
    key(
        "customizations",
        "read customizations (rules, skills, plugins, …) and offer tools to agents",
    ),
    key("plugins.path", "folder of a plugin; can begin with `~/`"),
    key(
        "plugins.url",
        "git repository of a plugin, in place of `path`; `agenthost customizations fetch` downloads it",
    ),
    key(
        "plugins.reference",
        "branch, tag or commit of the repository",
    ),
    key(
        "plugins.archive",
        "archive of a plugin (zip, tar.gz), a file or an `https` URL, in place of `path`",
    ),
    key("plugins.agents", "`id`s of the agents that get the plugin"),
    key(
        "mcp_servers.name",
        "name of an MCP server that the host runs for all sessions",
    ),
    key("mcp_servers.command", "program of the server"),
    key("mcp_servers.args", "arguments of the program"),
    key(
        "mcp_servers.env",
        "environment variables of the program; `$NAME` as above",
    ),
    key(
        "mcp_servers.url",
        "URL of a running server, in place of `command`",
    ),
    key(
        "mcp_servers.headers",
        "HTTP headers of each request; each word can be `$NAME`",
    ),
    key("limits.message_bytes", "maximum size of a client message"),
    key(
        "limits.connections",
        "maximum number of concurrent connections",
    ),
    key(
        "limits.subscriptions",
        "maximum number of subscriptions of a connection",
    ),
    key(
        "limits.sessions",
        "maximum number of sessions; beyond it, `createSession` fails",
    ),
    key(
        "limits.in_flight",
        "maximum number of messages of a connection that are being processed",
    ),
    key(
        "limits.rate",
        "maximum number of messages of a connection per second; further messages wait",
    ),
    key(
        "limits.outbox_bytes",
        "maximum size of the send queue of a connection; a client that exceeds it is disconnected",
    ),
    key(
        "limits.idle_seconds",
        "time without any message or pong after which a connection is closed",
    ),
    key(
        "limits.grace_seconds",
        "time that a disconnected client has to reconnect before the host releases its tools and its places in sessions",
    ),
    key(
        "limits.detach_hours",
        "time that agents and terminals go on without a host, after it has crashed or was stopped with `--keep`",
    ),
    key(
        "limits.remembered_clients",
        "maximum number of clients that can reconnect after that; the longest absent is forgotten first",
    ),
    key(
        "retention.actions",
        "maximum number of actions in the log; a client that missed more gets snapshots",
    ),
    key("retention.days", "maximum age of an action in the log"),
    key("retention.megabytes", "approximate maximum size of the log"),
    key(
        "retention.client_days",
        "time for which a client that has left can reconnect",
    ),
    key(
        "retention.session_days",
        "time after which an unused session is removed",
    ),
    key(
        "retention.session_megabytes",
        "maximum size of all sessions; beyond it, unused ones are removed, archived ones first",
    ),
    key(
        "redaction.patterns",
        "regular expressions of secrets that are masked in logs, in addition to the usual formats",
    ),
];

const fn key(name: &'static str, meaning: &'static str) -> ConfigKey {
    ConfigKey { name, meaning }
}
