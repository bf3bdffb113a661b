//! Fuzz targets for packages: Markdown with front matter, and manifests.

#![expect(
    clippy::unwrap_used,
    reason = "the fuzzer sees a violated invariant as a panic"
)]

use std::collections::BTreeSet;

use agenthost_protocol::session::{ChildCustomization, LoadState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;

use super::{
    ContainerFrame, ContainerLayout, ItemDetail, ItemKind, MAX_NAME_CHARS, ParsedContainer, parse,
};
use crate::package::{Package, is_usable_name};
use crate::syntax::front_matter;

/// Maximum input size. Larger inputs would only measure the time of parsing.
const MAX_INPUT_BYTES: usize = 16 * 1024;

/// The separator of the files of a package; the rest of the line is the path.
const SEPARATOR: &str = "@@ ";

/// Parses front matter, then the same text as each kind of Markdown file.
pub fn front_matter(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if text.len() > MAX_INPUT_BYTES {
        return;
    }
    let top = front_matter::split_front_matter(text, &mut front_matter::ParseBudget::default());
    assert!(text.ends_with(top.body), "the body is the end of the text");
    if let Some(problem) = &top.problem {
        assert!(top.values.is_empty() && problem.chars().count() < 250);
    }
    let mut package = Package::default();
    for path in [
        "skills/x/SKILL.md",
        "agents/x.md",
        "commands/x.md",
        "rules/x.mdc",
    ] {
        package.add_file(path, data.to_vec());
    }
    check(&package, ContainerLayout::Plugin);
    let mut package = Package::default();
    package.add_file("x.md", data.to_vec());
    for kind in [
        ItemKind::Agent,
        ItemKind::Skill,
        ItemKind::Command,
        ItemKind::Prompt,
        ItemKind::Rule,
    ] {
        check(&package, ContainerLayout::Folder(kind));
        check(&package, ContainerLayout::Files(kind));
    }
}

/// Parses a package. Input that begins with a separator lists its files; other input is
/// used as manifest, hooks and MCP servers at once.
pub fn manifests(data: &[u8]) {
    if data.len() > MAX_INPUT_BYTES {
        return;
    }
    let text = String::from_utf8_lossy(data);
    let mut package = Package::default();
    match text.strip_prefix(SEPARATOR) {
        Some(files) => {
            for file in files.split(&format!("\n{SEPARATOR}")) {
                let (path, content) = file.split_once('\n').unwrap_or((file, ""));
                // The readers of packages skip other names.
                if path.split('/').all(is_usable_name) {
                    package.add_file(path, content.as_bytes().to_vec());
                }
            }
        }
        None => {
            for path in ["plugin.json", "hooks.json", ".mcp.json"] {
                package.add_file(path, data.to_vec());
            }
        }
    }
    check(&package, ContainerLayout::Plugin);
    for kind in [ItemKind::Hook, ItemKind::Server] {
        check(&package, ContainerLayout::Folder(kind));
        check(&package, ContainerLayout::Files(kind));
    }
}

fn check(package: &Package, layout: ContainerLayout) {
    let frame = ContainerFrame {
        uri: Uri::from("fuzz:/package"),
        owner: String::new(),
        layout,
    };
    let parsed = parse(package, &frame);
    match parsed.load_state(None) {
        LoadState::Loaded => assert!(parsed.problems.is_empty()),
        LoadState::Loading => unreachable!("it was read"),
        LoadState::Degraded(problem) | LoadState::Error(problem) => {
            assert!(!problem.message.is_empty());
        }
    }
    let mut ids = BTreeSet::new();
    for item in &parsed.items {
        assert!(
            ids.insert(item.child.id().unwrap()),
            "two items have one id"
        );
        assert!(!item.name.is_empty() && item.name.chars().count() <= 2 * MAX_NAME_CHARS);
        assert!(package.file(&item.path).is_some(), "no file {}", item.path);
        check_child(&item.child);
    }
    check_code(&parsed);
    let again = parse(package, &frame);
    assert_eq!(again.children(), parsed.children(), "parsing is a function");
    assert_eq!(again.problems, parsed.problems);
}

/// Checks that clients can decode the customization.
fn check_child(child: &ChildCustomization) {
    let text = serde_json::to_string(child).unwrap();
    assert_eq!(wire::from_str(&text).as_ref(), Ok(child));
}

/// Checks that a container with code has a digest, which an approval needs.
fn check_code(parsed: &ParsedContainer) {
    let runs = parsed.items.iter().any(|item| match &item.detail {
        ItemDetail::Hooks(hooks) => !hooks.is_empty(),
        ItemDetail::Server(_) => true,
        ItemDetail::Agent(_)
        | ItemDetail::Skill(_)
        | ItemDetail::Command(_)
        | ItemDetail::Prompt(_)
        | ItemDetail::Rule(_) => false,
    });
    assert!(!runs || parsed.code.is_some(), "code without a digest");
}
