use agenthost_customizations::parse::DeclaredTransport;

use super::*;

#[test]
fn plugins_and_servers_are_parsed_without_changes() {
    let file = parse_config(
        "[[plugins]]\npath = '/opt/tools'\n\
         [[plugins]]\nurl = 'https://example.org/review.git'\nreference = 'v1'\nagents = ['goose']\n\
         [[plugins]]\narchive = 'https://example.org/x.zip'\n\
         [[mcp_servers]]\nname = 'wiki'\nurl = 'https://example.org'\nheaders = { A = 'Bearer $T' }\n",
    );
    let settings = file.unwrap().customizations().unwrap().unwrap().settings;
    let names: Vec<_> = settings.plugins.iter().map(|it| it.source.name()).collect();
    assert_eq!(names, ["tools", "review", "x"]);
    let addresses = settings.plugins.iter().map(|it| it.source.address());
    assert!(
        addresses
            .into_iter()
            .any(|it| it == "https://example.org/review.git#v1")
    );
    let agents: Vec<_> = settings
        .plugins
        .iter()
        .map(|it| it.agents.is_some())
        .collect();
    assert_eq!(agents, [false, true, false]);
    // The file refers to a variable as `$T`, packages as `${T}`.
    let DeclaredTransport::Http { headers, .. } = &settings.servers[0].transport else {
        panic!("the server has no URL");
    };
    assert_eq!(headers, &[("A".to_owned(), "Bearer ${T}".into())]);
    let off = parse_config("customizations = false\n[[plugins]]\npath = '/opt/tools'").unwrap();
    assert!(off.customizations().unwrap().is_none());
}

#[test]
fn invalid_plugins_and_servers_are_rejected() {
    let refused = |text: &str| {
        let applied =
            parse_config(text).and_then(|file| file.apply(&mut ServerConfig::new("/data")));
        format!("{:#}", applied.unwrap_err())
    };
    let plugin = |keys: &str| refused(&format!("[[plugins]]\n{keys}"));
    let one = "`[[plugins]]`: exactly one of `path`, `url` and `archive` is required";
    let one = &*format!("line 2: {one}");
    assert_eq!(plugin("agents = ['goose']"), one);
    assert_eq!(plugin("path = '/a'\nurl = 'https://b'"), one);
    assert_eq!(
        plugin("path = '~you/a'"),
        "line 2: plugin path `~you/a` is not absolute"
    );
    assert_eq!(
        plugin("path = '/a'\nreference = 'v1'"),
        "line 2: `reference` of a plugin requires `url`"
    );
    assert_eq!(
        plugin("archive = 'http://example.org/x.zip'"),
        "line 2: plugin archive `http://example.org/x.zip` is neither an absolute path nor an \
         `https` URL"
    );
    assert_eq!(
        plugin("urll = 'https://b'"),
        "line 2: unknown key `plugins.urll`; did you mean `plugins.url`?"
    );
    let server = |keys: &str| refused(&format!("[[mcp_servers]]\nname = 'm'\n{keys}"));
    assert_eq!(
        server(""),
        "line 2: MCP server `m`: `command` or `url` is required"
    );
    for keys in [
        "command = 'x'\nurl = 'y'",
        "url = 'y'\nargs = ['x']",
        "url = 'y'\nenv = { A = 'b' }",
        "command = 'x'\nheaders = { A = 'b' }",
    ] {
        assert!(server(keys).contains("use either `command`"), "{keys}");
    }
    let twice = "[[mcp_servers]]\nname = 'm'\ncommand = 'x'\n".repeat(2);
    assert_eq!(
        refused(&twice),
        "line 5: MCP server `m` is configured twice"
    );
    assert!(refused("[[mcp_servers]]\ncommand = 'x'").contains("missing field `name`"));
}

#[test]
fn a_plugin_path_may_begin_with_the_home_directory() {
    let home = absolute_env_path("HOME").unwrap();
    let file = parse_config("[[plugins]]\npath = '~/x'\n[[plugins]]\narchive = '~/y.zip'").unwrap();
    let settings = file.customizations().unwrap().unwrap().settings;
    let addresses: Vec<_> = settings
        .plugins
        .iter()
        .map(|plugin| plugin.source.address())
        .collect();
    let below = |name: &str| home.join(name).display().to_string();
    assert_eq!(addresses, [below("x"), below("y.zip")]);
}
