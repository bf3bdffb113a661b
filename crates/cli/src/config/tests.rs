use agenthost_protocol::ids::ProviderId;

use super::*;

fn error(text: &str) -> String {
    format!("{:#}", parse(text).unwrap_err())
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest() {
    assert_eq!(
        error("listen = '127.0.0.1:1'\n[limits]\nconections = 3"),
        "line 3: there is no key `limits.conections`; did you mean `limits.connections`?"
    );
    assert_eq!(
        error("lisen = 1"),
        "line 1: there is no key `lisen`; did you mean `listen`?"
    );
    assert!(error("[zzzzzzzzzz]\na = 1").contains("the keys are listen, "));
    assert!(error("limits = 3").contains("there is no key `limits`"));
    assert!(error("[tls]\ncertificate = 'a'").contains("missing field `key`"));
    assert!(error("durability = 'never'").contains("unknown variant `never`"));
    assert!(error("listen = ").contains("line 1"));
}

#[test]
fn every_key_is_applied() {
    let text = r#"
        listen = "127.0.0.1:8123"
        allow_plain = true
        socket = "/run/agenthost.sock"
        data_dir = "/data"
        durability = "power"
        allowed_origins = ["https://example.org"]
        allowed_hosts = ["box.lan:8123"]
        readable_folders = ["/usr/share/doc"]
        writable_folders = ["/srv/notes"]
        tls = { certificate = "/c.pem", key = "/k.pem" }
        [limits]
        message_bytes = 1
        connections = 2
        subscriptions = 3
        in_flight = 4
        rate = 5
        outbox_bytes = 6
        idle_seconds = 7
        grace_seconds = 8
        [retention]
        actions = 9
        days = 10
        megabytes = 11
        [[agents]]
        id = "goose"
        name = "Goose"
        command = ["goose", "acp"]
        env = { GOOSE_MODE = "approve", OPENAI_API_KEY = "$OPENAI_API_KEY" }
        files = true
        terminals = true
        mcp_servers = [
            { name = "one", command = "one", args = ["-x"], env = { A = "$A" } },
            { name = "two", url = "http://127.0.0.1/mcp", headers = { Authorization = "Bearer $TOKEN" } },
        ]
        [[agents]]
        id = "other"
        command = ["other"]
    "#;
    for key in KEYS {
        let name = key.name.rsplit('.').next().unwrap();
        assert!(text.contains(&format!("{name} = ")), "{name}");
    }
    let file = parse(text).unwrap();
    assert_eq!(file.data_dir.as_deref(), Some(Path::new("/data")));
    let mut config = ServerConfig::new("/data");
    file.apply(&mut config).unwrap();
    assert_eq!(config.listen, Some("127.0.0.1:8123".parse().unwrap()));
    assert_eq!(
        config.socket.as_deref(),
        Some(Path::new("/run/agenthost.sock"))
    );
    assert!(config.allow_plain);
    assert_eq!(config.durability, Durability::Power);
    assert_eq!(config.allowed_origins, ["https://example.org"]);
    assert_eq!(config.allowed_hosts, ["box.lan:8123"]);
    let roots: Vec<_> = config.roots.iter().map(|root| root.uri.as_str()).collect();
    assert_eq!(roots, ["file:///usr/share/doc", "file:///srv/notes"]);
    assert_eq!(config.tls.unwrap().key, Path::new("/k.pem"));
    let limits = config.limits;
    assert_eq!(
        (
            limits.message.bytes,
            limits.connections,
            limits.subscriptions,
            limits.in_flight
        ),
        (1, 2, 3, 4)
    );
    assert_eq!((limits.rate, limits.outbox_bytes), (5, 6));
    assert_eq!((limits.idle.as_secs(), limits.grace.as_secs()), (7, 8));
    let retention = config.retention;
    assert_eq!((retention.actions, retention.bytes), (9, 11 * 1024 * 1024));
    assert_eq!(retention.age, Millis(864_000_000));
    let agents = config.agents.iter().map(|agent| agent.info());
    let agents: Vec<_> = agents
        .map(|info| (info.provider, info.display_name))
        .collect();
    let named = |id: &str, name: &str| (ProviderId::from(id), name.to_owned());
    let expected = [
        named("shell", "Shell"),
        named("goose", "Goose"),
        named("other", "other"),
    ];
    assert_eq!(agents, expected);
}

#[test]
fn an_agent_that_can_not_be_is_refused() {
    let refused = |text: &str| {
        let applied = parse(text).and_then(|file| file.apply(&mut ServerConfig::new("/data")));
        format!("{:#}", applied.unwrap_err())
    };
    let twice = "[[agents]]\nid = 'a'\ncommand = ['a']\n";
    assert_eq!(
        refused(&twice.repeat(2)),
        "agent `a`: there is another agent of this `id`"
    );
    assert!(refused(&twice.replace("'a'\n", "'shell'\n")).contains("another agent"));
    assert!(refused(&twice.replace("'a'\n", "'a b'\n")).contains("an `id` has"));
    assert!(refused("[[agents]]\nid = 'a'\ncommand = []").contains("needs a program"));
    assert!(refused("[[agents]]\nid = 'a'").contains("missing field `command`"));
    assert_eq!(
        refused(&format!(
            "{twice}mcp_servers = [{{name = 'm', comand = 'x'}}]"
        )),
        "line 4: there is no key `agents.mcp_servers.comand`; did you mean `agents.mcp_servers.command`?"
    );
    let server = |server: &str| refused(&format!("{twice}mcp_servers = [{{name = 'm'{server}}}]"));
    assert_eq!(
        server(""),
        "agent `a`: server `m` needs a `command` or a `url`"
    );
    assert!(server(", command = 'x', url = 'y'").contains("one or the other"));
    assert!(server(", url = 'y', args = ['x']").contains("one or the other"));
    assert!(refused(&format!("{twice}files = 'all'")).contains("expected a boolean"));
    assert_eq!(
        refused("[[agents]]\nid = 'a'\ncomand = ['a']"),
        "line 3: there is no key `agents.comand`; did you mean `agents.command`?"
    );
}

#[test]
fn a_limit_of_nothing_is_refused() {
    let file = parse("[limits]\nrate = 0").unwrap();
    let refused = file.apply(&mut ServerConfig::new("/data")).unwrap_err();
    assert!(refused.to_string().starts_with("`limits.rate` must be"));
}

/// The documentation has every key, with what it means.
#[test]
fn every_key_is_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let page = std::fs::read_to_string(page).unwrap();
    for Key { name, meaning } in KEYS {
        let row = format!("| `{name}` | {meaning} |");
        assert!(page.contains(&row), "not in docs/configuration.md: {row}");
    }
}
