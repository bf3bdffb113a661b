//! Packages of all formats.

use std::path::{Path, PathBuf};

use agenthost_customizations::package::Package;
use agenthost_customizations::parse::{Frame, Kind, Layout, Parsed, parse};
use agenthost_protocol::uri::Uri;
use expect_test::{Expect, expect};

use crate::render;

fn frame(layout: Layout) -> Frame {
    Frame {
        uri: Uri::from("x:/p"),
        owner: String::new(),
        layout,
    }
}

fn load(package: &mut Package, root: &Path, folder: &Path) {
    let mut entries: Vec<PathBuf> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            load(package, root, &path);
            continue;
        }
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        package.add(name, std::fs::read(&path).unwrap());
    }
}

fn check(name: &str, expected: Expect) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("test_data")
        .join(name);
    let mut package = Package::default();
    load(&mut package, &root, &root);
    expected.assert_eq(&render::parsed(&parse(&package, &frame(Layout::Plugin))));
}

fn of(layout: Layout, files: &[(&str, &str)]) -> Parsed {
    let mut package = Package::default();
    for (path, text) in files {
        package.add(path, text.as_bytes().to_vec());
    }
    parse(&package, &frame(layout))
}

#[test]
fn a_package_of_claude_code() {
    check("claude", expect![[""]]);
}

#[test]
fn a_portable_package() {
    check("portable", expect![[""]]);
}

#[test]
fn a_package_of_cursor() {
    check("cursor", expect![[""]]);
}

#[test]
fn a_broken_package_still_works_where_it_can() {
    check("broken", expect![[""]]);
}

#[test]
fn a_manifest_that_is_no_manifest_is_an_error() {
    for text in ["", "{", "[]", "nonsense", "\"x\""] {
        let parsed = of(
            Layout::Plugin,
            &[("plugin.json", text), ("skills/a/SKILL.md", "A.")],
        );
        assert!(parsed.items.is_empty(), "{text}");
        assert!(
            parsed.failure.unwrap().starts_with("`plugin.json`: "),
            "{text}"
        );
    }
}

#[test]
fn folders_of_one_kind() {
    let files = &[
        ("a.md", "---\ndescription: about a\n---\nA."),
        ("b/SKILL.md", "B."),
        ("b/nested/SKILL.md", "Not one of its own."),
        ("README.md", "How to add one."),
    ];
    let mut text = String::new();
    for kind in [Kind::Agent, Kind::Skill, Kind::Prompt, Kind::Rule] {
        let parsed = of(Layout::Folder(kind), files);
        text.push_str(&render::parsed(&parsed));
    }
    expect![[""]].assert_eq(&text);
}

#[test]
fn files_that_are_rules() {
    let parsed = of(
        Layout::Files(Kind::Rule),
        &[
            ("AGENTS.md", "Be kind."),
            (".github/copilot-instructions.md", "Be brief."),
        ],
    );
    expect![[""]].assert_eq(&render::parsed(&parsed));
}

#[test]
fn ids_are_the_same_whenever_and_wherever_something_is_read() {
    let files = [("skills/a/SKILL.md", "A."), ("skills/b/SKILL.md", "B.")];
    let ids = |parsed: &Parsed| -> Vec<String> {
        let children = parsed.children();
        children
            .iter()
            .map(|child| child.id().unwrap().to_string())
            .collect()
    };
    let first = ids(&of(Layout::Plugin, &files));
    assert_eq!(first, ids(&of(Layout::Plugin, &files)));
    // A new neighbour, or another name, changes nothing.
    let more = [
        ("skills/0/SKILL.md", "0."),
        ("skills/a/SKILL.md", "---\nname: renamed\n---\nA."),
        files[1],
    ];
    assert_eq!(first, ids(&of(Layout::Plugin, &more))[1..]);
}

#[test]
fn what_has_code_says_so() {
    let hook = r#"{"hooks": {"Stop": [{"command": "x"}]}}"#;
    let code = |files: &[(&str, &str)]| of(Layout::Plugin, files).code;
    assert_eq!(code(&[("skills/a/SKILL.md", "A.")]), None);
    let first = code(&[("hooks/hooks.json", hook), ("x.sh", "1")]);
    assert!(first.is_some());
    assert_ne!(first, code(&[("hooks/hooks.json", hook), ("x.sh", "2")]));
    let server = |server: &str| {
        let text = format!(r#"{{"mcpServers": {{"a": {server}}}}}"#);
        code(&[(".mcp.json", &text)]).is_some()
    };
    assert!(server(r#"{"command": "x"}"#));
    assert!(!server(r#"{"url": "https://x"}"#));
    // What is in the host's environment must not go anywhere unasked.
    assert!(server(
        r#"{"url": "https://x", "headers": {"a": "${TOKEN}"}}"#
    ));
}
