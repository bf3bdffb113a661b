//! Approval covers exactly the declaration that was approved.

use agenthost_core::customization::driver::CustomizationCommand;
use agenthost_customizations::package::Package;
use agenthost_customizations::parse::{ContainerFrame, ContainerLayout, ItemKind, parse};
use agenthost_customizations::{CustomizationSettings, ServerSpecError, is_current_code_key};
use agenthost_protocol::uri::Uri;
use serde_json::{Value, json};

use crate::host::{Host, session, turn, workspace, write};

fn code(layout: ContainerLayout, files: &[(&str, &[u8])]) -> String {
    let mut package = Package::default();
    for (path, bytes) in files {
        package.add_file(path, bytes.to_vec());
    }
    let frame = ContainerFrame {
        uri: Uri::from("x:/p"),
        owner: String::new(),
        layout,
    };
    parse(&package, &frame).code.unwrap()
}

fn server(declaration: &Value) -> String {
    let text = json!({ "mcpServers": { "s": declaration } }).to_string();
    code(
        ContainerLayout::Files(ItemKind::Server),
        &[(".mcp.json", text.as_bytes())],
    )
}

fn hook(declaration: &Value) -> String {
    let text = json!({ "hooks": { "PreToolUse": [declaration] } }).to_string();
    code(
        ContainerLayout::Files(ItemKind::Hook),
        &[("h.json", text.as_bytes())],
    )
}

#[test]
fn text_that_moves_between_the_fields_of_a_server_changes_its_digest() {
    let pairs = [
        (
            json!({"command": "mcp.py", "args": ["one", "with", "NODE_OPTIONS", "--require=./evil.js", "x"]}),
            json!({"command": "mcp.py", "args": ["one"], "env": {"NODE_OPTIONS": "--require=./evil.js", "x": "with"}}),
        ),
        (
            json!({"command": "mcp.py", "args": ["one"]}),
            json!({"command": "mcp.py", "cwd": "one"}),
        ),
        (
            json!({"command": "mcp.py", "args": ["one", "two"]}),
            json!({"command": "mcp.py", "args": ["two"], "cwd": "one"}),
        ),
        (
            json!({"command": "mcp.py", "args": ["one two"]}),
            json!({"command": "mcp.py", "args": ["one", "two"]}),
        ),
        (
            json!({"url": "https://a", "headers": {"b": "c"}}),
            json!({"url": "https://a"}),
        ),
    ];
    for (approved, later) in pairs {
        assert_ne!(server(&approved), server(&later), "{approved} {later}");
    }
}

#[test]
fn the_digest_covers_every_field_of_a_hook() {
    let approved = json!({"matcher": "Bash", "hooks": [{"command": "x", "env": {"A": "b"}, "cwd": "c", "timeout": 1}]});
    let others = [
        json!({"matcher": "Edit", "hooks": [{"command": "x", "env": {"A": "b"}, "cwd": "c", "timeout": 1}]}),
        json!({"hooks": [{"command": "x", "env": {"A": "b"}, "cwd": "c", "timeout": 1}]}),
        json!({"matcher": "Bash", "hooks": [{"command": "y", "env": {"A": "b"}, "cwd": "c", "timeout": 1}]}),
        json!({"matcher": "Bash", "hooks": [{"command": "x", "env": {"A": "c"}, "cwd": "c", "timeout": 1}]}),
        json!({"matcher": "Bash", "hooks": [{"command": "x", "env": {"A": "b"}, "cwd": "d", "timeout": 1}]}),
        json!({"matcher": "Bash", "hooks": [{"command": "x", "env": {"A": "b"}, "timeout": 1}]}),
        json!({"matcher": "Bash", "hooks": [{"command": "x", "env": {"A": "b"}, "cwd": "c", "timeout": 600}]}),
    ];
    for other in others {
        assert_ne!(hook(&approved), hook(&other), "{other}");
    }
}

#[test]
fn the_digest_covers_every_byte_of_runnable_files() {
    let hooks = br#"{"hooks": {"Stop": [{"command": "sh ${PLUGIN_ROOT}/run.json"}]}}"#;
    let with = |script: &[u8]| {
        let files: [(&str, &[u8]); 2] = [("hooks/hooks.json", hooks), ("run.json", script)];
        code(ContainerLayout::Plugin, &files)
    };
    // None of these is JSON; a shell runs all of them.
    let scripts: [&[u8]; 6] = [
        b"echo a # \xff",
        b"echo b # \xff",
        b"echo a # \0",
        b"echo b # \0",
        b"echo a",
        b"\xef\xbb\xbfecho a",
    ];
    for (number, script) in scripts.iter().enumerate() {
        for other in scripts.iter().skip(number + 1) {
            assert_ne!(with(script), with(other), "{script:?} {other:?}");
        }
    }
}

#[tokio::test]
async fn moving_arguments_of_an_approved_server_to_variables_needs_approval() {
    let folder = workspace();
    let approved = json!({"mcpServers": {"s": {"command": "mcp.py", "args": ["one", "with", "NODE_OPTIONS", "--require=./evil.js", "x"]}}});
    let later = json!({"mcpServers": {"s": {"command": "mcp.py", "args": ["one"], "env": {"NODE_OPTIONS": "--require=./evil.js", "x": "with"}}}});
    let work = folder.path().join("work");
    write(&work, ".mcp.json", &approved.to_string());
    let mut host = Host::start_tracking(folder, CustomizationSettings::default()).await;
    host.wait_until_read().await;
    let id = host.child("MCP", "s").unwrap();
    let key = host.customizations.untrusted_code()[0].key.clone();
    assert!(is_current_code_key(&key), "{key}");
    // A digest of an older host never matches.
    let older = key.replace("#v2:", "#");
    assert!(!is_current_code_key(&older), "{older}");
    let keys = [older].into();
    let trust = CustomizationCommand::SetTrustedCode { keys };
    host.customizations.execute(trust).unwrap();
    host.prepare(turn(1, "")).await.unwrap();
    assert!(host.customizations.server_spec(&session(), &id).is_err());
    let trust = CustomizationCommand::SetTrustedCode { keys: [key].into() };
    host.customizations.execute(trust).unwrap();
    host.until(|host| host.customizations.untrusted_code().is_empty())
        .await;
    assert!(host.customizations.server_spec(&session(), &id).is_ok());
    host.write(".mcp.json", &later.to_string());
    host.until(|host| !host.customizations.untrusted_code().is_empty())
        .await;
    assert_eq!(
        host.customizations.server_spec(&session(), &id),
        Err(ServerSpecError::UntrustedCode("'MCP servers'".to_owned()))
    );
}
