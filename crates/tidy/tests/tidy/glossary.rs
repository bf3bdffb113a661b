//! The glossary names paths and types that exist.

use std::collections::BTreeSet;
use std::path::Path;

use crate::lexer::is_word;
use crate::{WORKSPACE, read, workspace_root};

const PAGE: &str = "docs/glossary.md";

/// Text in backticks, with its line.
struct CodeSpan<'a> {
    text: &'a str,
    line: usize,
}

fn code_spans(page: &str) -> Vec<CodeSpan<'_>> {
    let mut found = Vec::new();
    for (index, line) in page.lines().enumerate() {
        let spans = line.split('`').skip(1).step_by(2);
        found.extend(spans.map(|text| CodeSpan {
            text,
            line: index + 1,
        }));
    }
    found
}

/// Returns if the path of a span exists, from the root or from the folder of the crates; `None` if
/// the span is no path.
fn named_path(root: &Path, span: &str) -> Option<bool> {
    let (first, _) = span.split_once('/')?;
    let crates = root.join("crates");
    if span.contains([' ', '<', ':']) {
        None
    } else if crates.join(first).is_dir() {
        Some(crates.join(span).exists())
    } else if root.join(first).is_dir() || span.ends_with(".rs") || span.ends_with(".md") {
        Some(root.join(span).exists())
    } else {
        None
    }
}

/// Returns the type and the members of a span such as `Host` or `Host::step`.
fn named_type(span: &str) -> Option<(&str, Vec<&str>)> {
    let mut names = span.split("::");
    let name = names.next()?;
    let is_camel_case = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.contains(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric());
    let members: Vec<_> = names.map(|member| member.trim_end_matches("()")).collect();
    let are_names = members.iter().all(|member| member.chars().all(is_word));
    (is_camel_case && are_names).then_some((name, members))
}

#[test]
fn paths_of_the_glossary_exist() {
    let root = workspace_root();
    let page = read(&root.join(PAGE));
    let spans = code_spans(&page);
    let missing: Vec<_> = spans
        .iter()
        .filter(|span| named_path(&root, span.text) == Some(false))
        .map(|span| format!("{PAGE}:{} {}", span.line, span.text))
        .collect();
    assert!(
        missing.is_empty(),
        "correct the paths of moved files: {missing:#?}"
    );
    let count = spans.iter().filter_map(|span| named_path(&root, span.text));
    assert!(count.count() > 50, "{PAGE} says where terms live");
}

#[test]
fn types_of_the_glossary_exist() {
    let page = read(&workspace_root().join(PAGE));
    let mut types = BTreeSet::new();
    let mut words = BTreeSet::new();
    for source in WORKSPACE.sources() {
        types.extend(source.types().into_iter().map(|item| item.name));
        words.extend(source.code.split(|c| !is_word(c)));
    }
    let mut missing = Vec::new();
    for span in code_spans(&page) {
        if let Some((name, members)) = named_type(span.text)
            && (!types.contains(name) || members.iter().any(|member| !words.contains(member)))
        {
            missing.push(format!("{PAGE}:{} {}", span.line, span.text));
        }
    }
    assert!(
        missing.is_empty(),
        "correct the names of renamed types: {missing:#?}"
    );
}

#[test]
fn paths_and_types_of_the_glossary_are_distinguished() {
    let root = workspace_root();
    let path = |span| named_path(&root, span);
    assert_eq!(path("core/src/host.rs"), Some(true));
    assert_eq!(path("core/src/no_such_file.rs"), Some(false));
    assert_eq!(path("session/load"), None);
    assert_eq!(named_type("Host::step()"), Some(("Host", vec!["step"])));
    assert_eq!(named_type("UPDATE_TIDY"), None);
    assert_eq!(named_type("mcp:"), None);
}
