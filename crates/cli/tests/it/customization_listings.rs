//! Listings of customizations: they do not control the terminal, and they show what users have
//! turned off.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::commands::{err, out, piped, run};

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn text_of_packages_has_no_control_or_bidi_characters() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let skill = "---\nname: \"a\\u202eb\"\ndescription: \"c\\u2066d\\u001b[2J\"\n---\nText.";
    write(path, ".agents/skills/one/SKILL.md", skill);
    write(
        path,
        ".agents/skills/x\u{202e}y/SKILL.md",
        "---\na: [\n---\n",
    );
    for command in ["customizations", "doctor"] {
        let said = run(path, &[command], "");
        let said = format!("{}{}", out(&said), err(&said));
        for hidden in ['\u{202e}', '\u{2066}', '\u{1b}'] {
            assert!(!said.contains(hidden), "{command}: {said:?}");
        }
        assert!(said.contains("x\\u{202e}y"), "{command}: {said}");
    }
}

/// CUS-13: the listing shows the decisions that would apply to a new session in a folder: those for
/// this folder, and those for all folders.
#[test]
fn the_listing_shows_disabled_customizations() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let project = path.join("project");
    for skill in ["one", "two"] {
        write(
            &project,
            &format!(".agents/skills/{skill}/SKILL.md"),
            "Text.",
        );
    }
    for plugin in ["here", "everywhere", "elsewhere"] {
        write(&path, &format!("{plugin}/skills/s/SKILL.md"), "Text.");
    }
    let plugins = ["here", "everywhere", "elsewhere"];
    let plugins = plugins.map(|name| format!("[[plugins]]\npath = '{}/{name}'\n", path.display()));
    let config = format!("auto_agents = false\n{}", plugins.concat());
    std::fs::write(crate::commands::configuration(&path), config).unwrap();
    let uri = |name: &str| format!("file://{}/{name}", path.display());
    let folder = uri("project");
    let decisions = json!({
        uri("here"): {(folder.clone()): false, "*": true},
        uri("everywhere"): {"*": false},
        uri("elsewhere"): {"file:///other": false},
        format!("{}#skill:one", uri("project/.agents/skills")): {(folder): false},
    });
    set(&path, &json!({"customizationEnablement": decisions}));
    let listed = out(&run(
        &path,
        &["customizations", project.to_str().unwrap()],
        "",
    ));
    let line = |name: &str| {
        let mut lines = listed.lines();
        lines.find(|line| line.contains(name)).unwrap_or_default()
    };
    for (name, off) in [
        ("plugin  here", true),
        ("plugin  everywhere", true),
        ("plugin  elsewhere", false),
        ("skill   one", true),
        ("skill   two", false),
    ] {
        assert_eq!(line(name).contains("off"), off, "{name}: {listed}");
    }
}

/// Changes the configuration of the host through the protocol.
fn set(directory: &Path, config: &Value) {
    let mut host = piped(directory, &["serve", "--stdio"]);
    let mut input = host.stdin.take().unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let mut ask = |message: Value| {
        writeln!(input, "{message}").unwrap();
        let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        answer
    };
    ask(
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "channel": "ahp-root://", "protocolVersions": ["1.0.0"], "clientId": "a",
            "initialSubscriptions": ["ahp-root://"],
        }}),
    );
    let action = json!({"type": "root/configChanged", "config": config});
    let said = ask(
        json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": {
            "channel": "ahp-root://", "clientSeq": 1, "action": action,
        }}),
    );
    assert_eq!(said["params"]["rejectionReason"], Value::Null, "{said}");
    drop(input);
    assert!(host.wait().unwrap().success());
}

#[test]
fn a_rejected_relay_exits_with_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("tools");
    let listener = UnixListener::bind(&socket).unwrap();
    let host = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        assert!(line.contains("wrong"), "{line}");
    });
    let output = Command::new(env!("CARGO_BIN_EXE_agenthost"))
        .arg("tools-relay")
        .env("AGENTHOST_TOOLS_SOCKET", &socket)
        .env("AGENTHOST_TOOLS_SESSION", "ahp-session:/s")
        .env("AGENTHOST_TOOLS_CHAT", "ahp-chat:/s")
        .env("AGENTHOST_TOOLS_SECRET", "wrong")
        .output()
        .unwrap();
    host.join().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(out(&output), "");
    let said = err(&output);
    assert!(
        said.starts_with("error: the host rejected the secret"),
        "{said}"
    );
    assert!(!said.contains("wrong"), "{said}");
}
