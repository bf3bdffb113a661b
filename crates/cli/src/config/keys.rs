//! All keys of the configuration file with their meanings.

/// A key of the configuration file and its documentation.
pub(crate) struct ConfigKey {
    pub(crate) name: &'static str,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the documentation is checked by it")
    )]
    pub(crate) meaning: &'static str,
}

/// All keys. A test checks that `docs/configuration.md` has the same table.
pub(crate) const KEYS: &[ConfigKey] = &[
    key("listen", "address to listen on; port 0 takes a free one"),
    key(
        "allow_plain",
        "let `listen` be an address that other machines can reach, without TLS",
    ),
    key("socket", "Unix socket to listen on"),
    key("data_dir", "where to keep what is remembered"),
    key(
        "durability",
        "what a message survives before it is seen: `process` or `power`",
    ),
    key(
        "allowed_origins",
        "web pages that may connect, such as `https://example.org`",
    ),
    key(
        "allowed_hosts",
        "names that clients may call the host by, such as `box.lan:8123`",
    ),
    key(
        "readable_folders",
        "folders that clients may look into, besides those of sessions",
    ),
    key(
        "writable_folders",
        "folders that clients may change, besides those of sessions",
    ),
    key("shell", "shell of terminals, a path"),
    key("tls.certificate", "certificate for `listen`, a PEM file"),
    key("tls.key", "private key of the certificate, a PEM file"),
    key(
        "auto_agents",
        "offer the agents that are known and installed",
    ),
    key(
        "default_agent",
        "agent of sessions that name none, by its `id`",
    ),
    key(
        "agents.id",
        "name of an agent for programs, as in `--agent`; that of one that is known changes it",
    ),
    key("agents.name", "its name for people"),
    key("agents.enabled", "whether it is offered"),
    key(
        "agents.command",
        "program that speaks ACP, and its arguments",
    ),
    key(
        "agents.env",
        "variables of its environment; `$NAME` stands for what the host has there",
    ),
    key(
        "agents.allow_trusting",
        "let clients choose what makes it do everything without asking",
    ),
    key(
        "agents.trusting",
        "values of modes and options that make it do so, besides those that are known",
    ),
    key(
        "agents.sign_in",
        "how to sign in, for people, when it wants that",
    ),
    key(
        "agents.token_env",
        "variable of its environment for tokens of clients (`authenticate`)",
    ),
    key(
        "agents.token_resource",
        "what such a token has to be for, an `https` address",
    ),
    key(
        "agents.files",
        "let it read and write files through the host, inside of the session's folders",
    ),
    key(
        "agents.terminals",
        "let it run commands through the host, in terminals that all can watch",
    ),
    key(
        "agents.host_tools",
        "give it the tools of clients and of servers that the host runs",
    ),
    key("agents.mcp_servers.name", "name of a server of tools (MCP)"),
    key(
        "agents.mcp_servers.command",
        "program of the server, that the agent starts",
    ),
    key("agents.mcp_servers.args", "its arguments"),
    key(
        "agents.mcp_servers.env",
        "variables of its environment; `$NAME` as above",
    ),
    key(
        "agents.mcp_servers.url",
        "address of a server that runs already, in place of `command`",
    ),
    key(
        "agents.mcp_servers.headers",
        "what to send to it with each request; a word may be `$NAME`",
    ),
    key(
        "customizations",
        "read what customizes agents (rules, skills, plugins, …) and offer them tools",
    ),
    key("plugins.path", "folder of a plugin, may begin with `~/`"),
    key(
        "plugins.url",
        "git repository of a plugin, in place of `path`; `agenthost customizations fetch` gets it",
    ),
    key("plugins.reference", "branch, tag or commit of it"),
    key(
        "plugins.archive",
        "archive of a plugin (zip, tar.gz), a file or an `https` address, in place of `path`",
    ),
    key("plugins.agents", "agents that it is for, by their `id`"),
    key(
        "mcp_servers.name",
        "name of a server of tools (MCP) that the host runs for all sessions",
    ),
    key("mcp_servers.command", "program of the server"),
    key("mcp_servers.args", "its arguments"),
    key(
        "mcp_servers.env",
        "variables of its environment; `$NAME` as above",
    ),
    key(
        "mcp_servers.url",
        "address of a server that runs already, in place of `command`",
    ),
    key(
        "mcp_servers.headers",
        "what to send to it with each request; a word may be `$NAME`",
    ),
    key("limits.message_bytes", "largest message of a client"),
    key("limits.connections", "most clients at a time"),
    key("limits.subscriptions", "most subscriptions of a client"),
    key(
        "limits.sessions",
        "most sessions at a time; more can't be created",
    ),
    key(
        "limits.in_flight",
        "most messages of a client that are being dealt with",
    ),
    key(
        "limits.rate",
        "most messages of a client in a second; more have to wait",
    ),
    key(
        "limits.outbox_bytes",
        "most bytes that wait for a client before it is disconnected",
    ),
    key(
        "limits.idle_seconds",
        "silence after which a client is gone",
    ),
    key(
        "limits.grace_seconds",
        "how long a client may be away before it is forgotten",
    ),
    key(
        "retention.actions",
        "most actions that a client may have missed and still be sent one by one",
    ),
    key("retention.days", "how long they are kept"),
    key("retention.megabytes", "how much space they may take"),
];

const fn key(name: &'static str, meaning: &'static str) -> ConfigKey {
    ConfigKey { name, meaning }
}
