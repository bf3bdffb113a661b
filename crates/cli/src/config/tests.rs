use std::collections::BTreeMap;

use agenthost_acp::HostToolAccess;
use agenthost_agents::Agent;
use agenthost_protocol::ids::ProviderId;

use super::*;

fn error(text: &str) -> String {
    format!("{:#}", parse_config(text).unwrap_err())
}

#[test]
fn an_unknown_key_is_rejected_with_a_suggestion() {
    assert_eq!(
        error("listen = '127.0.0.1:1'\n[limits]\nconections = 3"),
        "line 3: unknown key `limits.conections`; did you mean `limits.connections`?"
    );
    assert_eq!(
        error("lisen = 1"),
        "line 1: unknown key `lisen`; did you mean `listen`?"
    );
    assert!(error("[zzzzzzzzzz]\na = 1").contains("the keys are listen, "));
    assert!(error("limits = 3").contains("unknown key `limits`"));
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
        shell = "/bin/zsh"
        terminal_variables = ["MY_TOKEN"]
        tls = { certificate = "/c.pem", key = "/k.pem" }
        auto_agents = false
        default_agent = "other"
        customizations = true
        plugins = [
            { path = "/p", agents = ["goose"] },
            { url = "https://example.org/p.git", reference = "main" },
            { archive = "/p.zip" },
        ]
        mcp_servers = [
            { name = "m", command = "m", args = ["-x"], env = { A = "$A" } },
            { name = "n", url = "http://127.0.0.1/mcp", headers = { Authorization = "Bearer $TOKEN" } },
        ]
        [limits]
        message_bytes = 1
        connections = 2
        subscriptions = 3
        sessions = 12
        in_flight = 4
        rate = 5
        outbox_bytes = 6
        idle_seconds = 7
        grace_seconds = 8
        detach_hours = 14
        remembered_clients = 13
        [retention]
        actions = 9
        days = 10
        megabytes = 11
        client_days = 14
        session_days = 15
        session_megabytes = 16
        [redaction]
        patterns = ["corp-[0-9]+"]
        [[agents]]
        id = "goose"
        name = "Goose"
        command = ["goose", "acp"]
        env = { GOOSE_MODE = "approve", OPENAI_API_KEY = "$OPENAI_API_KEY" }
        files = true
        terminals = true
        host_tools = false
        mcp_servers = [
            { name = "one", command = "one", args = ["-x"], env = { A = "$A" } },
            { name = "two", url = "http://127.0.0.1/mcp", headers = { Authorization = "Bearer $TOKEN" } },
        ]
        [[agents]]
        id = "other"
        command = ["other"]
        allow_trusting = true
        trusting = ["boss"]
        sign_in = "ask the boss"
        token_env = "OTHER_TOKEN"
        token_resource = "https://example.org/other"
        [[agents]]
        id = "hidden"
        command = ["hidden"]
        enabled = false
    "#;
    for key in KEYS {
        let name = key.name.rsplit('.').next().unwrap();
        assert!(text.contains(&format!("{name} = ")), "{name}");
    }
    let file = parse_config(text).unwrap();
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
    assert_eq!(config.shell.as_deref(), Some(Path::new("/bin/zsh")));
    assert_eq!(config.tls.unwrap().key, Path::new("/k.pem"));
    let limits = config.limits;
    assert_eq!(
        (
            limits.message_limits.bytes,
            limits.connections,
            limits.subscriptions,
            limits.in_flight
        ),
        (1, 2, 3, 4)
    );
    assert_eq!((limits.messages_per_second, limits.outbox_bytes), (5, 6));
    assert_eq!(limits.sessions, 12);
    assert_eq!(
        (limits.idle_timeout.as_secs(), limits.grace_period.as_secs()),
        (7, 8)
    );
    assert_eq!(limits.remembered_clients, 13);
    assert_eq!(limits.detach_timeout.as_secs(), 14 * 60 * 60);
    assert_eq!(limits.client_retention.as_secs(), 14 * 24 * 60 * 60);
    let retention = config.retention;
    assert_eq!((retention.actions, retention.bytes), (9, 11 * 1024 * 1024));
    assert_eq!(retention.age, Millis(864_000_000));
    let sessions = SessionRetention {
        age: Some(Millis(15 * 86_400_000)),
        bytes: Some(16 * 1024 * 1024),
    };
    assert_eq!(config.session_retention, sessions);
    assert_eq!(config.redactor.redact("corp-1"), "[redacted]");
    let agents = config.agents.iter().map(|agent| agent.info());
    let agents: Vec<_> = agents
        .map(|info| (info.provider, info.display_name))
        .collect();
    let named = |id: &str, name: &str| (ProviderId::from(id), name.to_owned());
    let expected = [
        named("other", "other"),
        named("shell", "Shell"),
        named("goose", "Goose"),
    ];
    assert_eq!(agents, expected);
    let infos: Vec<_> = config.agents.iter().map(|agent| agent.info()).collect();
    let resources = infos[0].protected_resources.as_ref().unwrap();
    assert_eq!(resources[0].resource, "https://example.org/other");
    // `allow_trusting` is set for the first agent, and not for the other one.
    assert!(config.agents[0].forbidden_values().is_empty());
    assert!(!config.agents[2].forbidden_values().is_empty());
}

fn program(folder: &Path, name: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join(name);
    std::fs::write(&path, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Returns the state of each agent, with the programs of a folder.
fn offer_states(folder: &Path, text: &str) -> Vec<String> {
    let file = parse_config(text).unwrap();
    let candidates = file.candidates_on_path(folder.as_os_str(), None).unwrap();
    let shown = candidates.into_iter().filter_map(|candidate| {
        let what = match &candidate.offer_state {
            OfferState::Offered(agent) => {
                let launch = agent.launch();
                let program = Path::new(&launch.program).file_name().unwrap();
                let program = program.to_str().unwrap();
                format!(
                    "{} = {program} {}",
                    candidate.name,
                    launch.arguments.join(" ")
                )
            }
            OfferState::NeverAsks => "never asks".to_owned(),
            OfferState::Hidden => "hidden".to_owned(),
            OfferState::Missing => return None,
        };
        Some(format!("{}: {}", candidate.id, what.trim()))
    });
    shown.collect()
}

#[test]
fn installed_known_agents_are_offered() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert!(offer_states(folder, "").is_empty());
    for name in ["goose", "gemini", "pi-acp", "pi"] {
        program(folder, name);
    }
    let goose = "goose: goose = goose acp --with-builtin developer";
    let gemini = "gemini: Gemini = gemini --acp";
    assert_eq!(offer_states(folder, ""), [gemini, goose, "pi: never asks"]);
    assert!(offer_states(folder, "auto_agents = false").is_empty());
    let changed = "
        [[agents]]
        id = 'goose'
        name = 'My goose'
        [[agents]]
        id = 'gemini'
        enabled = false
        [[agents]]
        id = 'pi'
        allow_trusting = true
        [[agents]]
        id = 'qwen'
        command = ['/opt/qwen', '--acp', '-y']
        [[agents]]
        id = 'mine'
        command = ['mine']
    ";
    let qwen = "qwen: Qwen Code = qwen --acp -y";
    let mine = "goose: My goose = goose acp --with-builtin developer";
    let expected = [
        "gemini: hidden",
        mine,
        qwen,
        "pi: pi = pi-acp",
        "mine: mine = mine",
    ];
    assert_eq!(offer_states(folder, changed), expected);
    // Configured agents are offered also without `auto_agents`.
    let named = format!("auto_agents = false\n{changed}");
    assert_eq!(offer_states(folder, &named), expected);
}

#[test]
fn the_environment_of_a_known_agent_can_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "goose");
    let text = "[[agents]]\nid = 'goose'\nenv = { GOOSE_MODE = 'smart_approve', MINE = '1' }";
    let file = parse_config(text).unwrap();
    let candidates = file
        .candidates_on_path(folder.path().as_os_str(), None)
        .unwrap();
    let goose = candidates
        .into_iter()
        .find(|one| one.id == "goose")
        .unwrap();
    let OfferState::Offered(goose) = goose.offer_state else {
        panic!("goose is not offered");
    };
    let environment: BTreeMap<_, _> = goose.launch().environment.into_iter().collect();
    let found = |name: &str| environment.get(name).map(String::as_str);
    assert_eq!(found("GOOSE_MODE"), Some("smart_approve"));
    assert_eq!(found("GOOSE_TELEMETRY_ENABLED"), Some("false"));
    // A reference, which is resolved when the agent starts.
    assert_eq!(found("OPENAI_API_KEY"), Some("$OPENAI_API_KEY"));
    assert_eq!(found("MINE"), Some("1"));
}

#[test]
fn host_tools_are_offered_unless_the_config_disables_them() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "goose");
    for (text, expected) in [
        ("", HostToolAccess::Offered),
        ("host_tools = false", HostToolAccess::Withheld),
        ("host_tools = true", HostToolAccess::Offered),
    ] {
        let file = parse_config(&format!("[[agents]]\nid = \"goose\"\n{text}")).unwrap();
        let candidates = file
            .candidates_on_path(folder.path().as_os_str(), None)
            .unwrap();
        let goose = candidates.iter().find(|candidate| candidate.id == "goose");
        let OfferState::Offered(agent) = &goose.unwrap().offer_state else {
            panic!("goose is not offered");
        };
        assert_eq!(agent.host_tools(), expected, "{text}");
        assert!(
            agent
                .native_customizations()
                .contains(&"AGENTS.md".to_owned())
        );
    }
}

/// `docs/agents.md` has a row for each known agent.
#[test]
fn every_known_agent_is_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agents.md");
    let page = std::fs::read_to_string(page).unwrap();
    for agent in agenthost_acp::known_agents() {
        let command = [&agent.programs[..1], &agent.arguments].concat().join(" ");
        let trusting = match &*agent.trusting {
            _ if agent.never_asks => "always: it never asks".to_owned(),
            [] => "-".to_owned(),
            words => format!("`{}`", words.join("`, `")),
        };
        let row = format!(
            "| `{}` | {} | `{command}` | `{}` | {} | {trusting} |",
            agent.id, agent.name, agent.install, agent.sign_in
        );
        assert!(page.contains(&row), "not in docs/agents.md: {row}");
    }
}

#[test]
fn invalid_agents_are_rejected() {
    let refused = |text: &str| {
        let applied =
            parse_config(text).and_then(|file| file.apply(&mut ServerConfig::new("/data")));
        format!("{:#}", applied.unwrap_err())
    };
    let twice = "[[agents]]\nid = 'a'\ncommand = ['a']\n";
    assert_eq!(
        refused(&twice.repeat(2)),
        "line 5: agent `a`: another agent has the same `id`"
    );
    assert!(refused(&twice.replace("'a'\n", "'shell'\n")).contains("another agent"));
    assert!(refused(&twice.replace("'a'\n", "'a b'\n")).contains("an `id` has"));
    assert!(refused("[[agents]]\nid = 'a'\ncommand = []").contains("`command` is empty"));
    assert!(refused("[[agents]]\nid = 'a'").contains("`command` is required"));
    let token = "[[agents]]\nid = 'goose'\ntoken_env = 'A'";
    assert_eq!(
        refused(token),
        "line 3: agent `goose`: `token_env` requires `token_resource`"
    );
    let token = format!("{token}\ntoken_resource = 'example.org'");
    assert!(refused(&token).contains("must begin with `https://`"));
    assert!(refused("default_agent = 'nobody'").contains("agent `nobody` is not available"));
    assert_eq!(
        refused(&format!(
            "{twice}mcp_servers = [{{name = 'm', comand = 'x'}}]"
        )),
        "line 4: unknown key `agents.mcp_servers.comand`; did you mean `agents.mcp_servers.command`?"
    );
    let server = |server: &str| refused(&format!("{twice}mcp_servers = [{{name = 'm'{server}}}]"));
    assert_eq!(
        server(""),
        "line 4: agent `a`: MCP server `m`: `command` or `url` is required"
    );
    assert!(server(", command = 'x', url = 'y'").contains("use either `command`"));
    let taken = refused(&format!(
        "{twice}mcp_servers = [{{name = 'agenthost', command = 'x'}}]"
    ));
    assert!(taken.contains("the host's own server"), "{taken}");
    assert!(server(", url = 'y', args = ['x']").contains("use either `command`"));
    assert!(refused(&format!("{twice}files = 'all'")).contains("expected a boolean"));
    assert_eq!(
        refused("[[agents]]\nid = 'a'\ncomand = ['a']"),
        "line 3: unknown key `agents.comand`; did you mean `agents.command`?"
    );
}

/// The text of the line may contain a secret, so it is not in the error.
#[test]
fn a_value_of_another_type_is_refused_with_its_line_and_key() {
    assert_eq!(
        error("listen = '127.0.0.1:1'\n[limits]\nsessions = 1\nrate = [1]"),
        "line 4: `limits.rate`: invalid type: sequence, expected u32"
    );
    assert_eq!(
        error("[[agents]]\nid = 'a'\n[[agents]]\nid = 'b'\nenv = { KEY = 3, OTHER = 'secret' }"),
        "line 5: `agents.env.KEY`: invalid type: integer `3`, expected a string"
    );
    assert!(error("shell = '/bin/sh'\nlisten = ").starts_with("line 2: "));
}

#[test]
fn a_value_that_is_not_possible_is_refused_with_its_line() {
    let refused = |text: &str| {
        let file = parse_config(text).unwrap();
        let applied = file.apply(&mut ServerConfig::new("/data"));
        format!("{:#}", applied.unwrap_err())
    };
    assert_eq!(
        refused("shell = '/bin/sh'\nreadable_folders = [\n  '/a',\n  'b',\n]"),
        "line 4: `readable_folders`: `b` is not an absolute path"
    );
    assert!(refused("\ndefault_agent = 'nobody'").starts_with("line 2: `default_agent`: "));
    assert!(refused("[[plugins]]\npath = '/p'\n\n[[plugins]]\npath = 'p'").starts_with("line 5: "));
    assert_eq!(
        refused("[redaction]\npatterns = [\n  'a',\n  'b*',\n]"),
        "line 4: `redaction.patterns`: pattern `b*`: it matches the empty text"
    );
    let twice = "[[mcp_servers]]\nname = 'm'\ncommand = 'm'\n";
    assert_eq!(
        refused(&twice.repeat(2)),
        "line 5: MCP server `m` is configured twice"
    );
}

#[test]
fn no_session_is_removed_by_a_limit_of_zero() {
    for key in ["session_days", "session_megabytes"] {
        let file = parse_config(&format!("[retention]\n{key} = 0")).unwrap();
        let refused = file.apply(&mut ServerConfig::new("/data")).unwrap_err();
        let message = "must be greater than 0: with 0, no session is kept";
        assert_eq!(
            format!("{refused:#}"),
            format!("line 2: `retention.{key}` {message}")
        );
    }
    let mut config = ServerConfig::new("/data");
    FileConfig::default().apply(&mut config).unwrap();
    assert!(!config.session_retention.is_limited());
}

#[test]
fn a_limit_of_zero_is_rejected() {
    let file = parse_config("[limits]\nrate = 0").unwrap();
    let refused = file.apply(&mut ServerConfig::new("/data")).unwrap_err();
    let refused = format!("{refused:#}");
    assert!(
        refused.starts_with("line 2: `limits.rate` must be"),
        "{refused}"
    );
}

/// `docs/configuration.md` has every key with its meaning.
#[test]
fn every_key_is_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let page = std::fs::read_to_string(page).unwrap();
    for ConfigKey { name, meaning } in KEYS {
        let row = format!("| `{name}` | {meaning} |");
        assert!(page.contains(&row), "not in docs/configuration.md: {row}");
    }
}
