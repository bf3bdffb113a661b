//! The tree of files: order, layouts, limits, hostile names.

use std::fmt::Write;

use expect_test::{Expect, expect};

use super::*;

const ROOT: &str = "file:///work";

fn entries(names: &[&str]) -> Vec<DirectoryEntry> {
    let entries = names.iter().map(|name| {
        let folder = name.ends_with('/');
        DirectoryEntry {
            name: name.trim_end_matches('/').to_owned(),
            r#type: if folder { "directory" } else { "file" }.to_owned(),
        }
    });
    entries.collect()
}

fn tree(names: &[&str]) -> FileTree {
    let mut tree = FileTree::default();
    assert!(tree.set_roots(&[Uri::from(ROOT)]));
    tree.set_entries(&Uri::from(ROOT), entries(names));
    tree
}

fn check(tree: &FileTree, expected: &Expect) {
    let mut text = String::new();
    for row in tree.rows() {
        let mark = match row.kind {
            FileRowKind::Folder if row.expanded => "v",
            FileRowKind::Folder => ">",
            FileRowKind::File => "-",
            FileRowKind::Loading => "…",
            FileRowKind::Empty => "empty",
            FileRowKind::Failed => "failed",
            FileRowKind::More => "more",
        };
        let indent = "  ".repeat(row.depth);
        let omitted = row.omitted.map(|count| count.to_string());
        let parts = [mark, &row.label, omitted.as_deref().unwrap_or("")];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        writeln!(text, "{indent}{}", parts.join(" ")).unwrap();
    }
    expected.assert_eq(&text);
}

#[test]
fn folders_come_first_and_dot_files_are_hidden() {
    let mut tree = tree(&["b.rs", "Zed/", "A.rs", "src/", ".git/", ".env"]);
    check(
        &tree,
        &expect![[r#"
        > src
        > Zed
        - A.rs
        - b.rs
    "#]],
    );
    tree.set_shows_hidden(true);
    check(
        &tree,
        &expect![[r#"
        > .git
        > src
        > Zed
        - .env
        - A.rs
        - b.rs
    "#]],
    );
}

#[test]
fn an_open_folder_shows_its_content_inside() {
    let mut tree = tree(&["src/", "a.rs"]);
    let src = Uri::from("file:///work/src");
    assert!(tree.expand(src.clone()));
    check(
        &tree,
        &expect![[r#"
        v src
          …
        - a.rs
    "#]],
    );
    assert_eq!(
        tree.retain_shown(),
        SortedSet::from_iter([Uri::from(ROOT), src.clone()])
    );
    tree.set_entries(&src, entries(&["deep/"]));
    let deep = child_uri(&src, "deep");
    tree.expand(deep.clone());
    tree.set_entries(&deep, Vec::new());
    check(
        &tree,
        &expect![[r#"
        v src
          v deep
            empty
        - a.rs
    "#]],
    );
    // Closing a folder closes those in it, and forgets their content.
    tree.collapse(&src);
    assert_eq!(tree.retain_shown(), SortedSet::from_iter([Uri::from(ROOT)]));
    tree.expand(src);
    check(
        &tree,
        &expect![[r#"
        v src
          …
        - a.rs
    "#]],
    );
}

#[test]
fn a_folder_that_disappears_is_not_read_any_more() {
    let mut tree = tree(&["src/"]);
    tree.expand(Uri::from("file:///work/src"));
    assert_eq!(tree.retain_shown().len(), 2);
    tree.set_entries(&Uri::from(ROOT), entries(&["other/"]));
    assert_eq!(tree.retain_shown(), SortedSet::from_iter([Uri::from(ROOT)]));
}

#[test]
fn several_roots_are_rows_and_narrow_screens_show_one_folder() {
    let mut tree = FileTree::default();
    tree.set_roots(&[Uri::from(ROOT), Uri::from("file:///lib%20x")]);
    check(
        &tree,
        &expect![[r#"
        > work
        > lib x
    "#]],
    );
    assert!(tree.retain_shown().is_empty());
    tree.set_layout(TreeLayout::Flat);
    let inner = Uri::from("file:///work/a%20b/c");
    tree.enter(Some(inner.clone()));
    assert_eq!(tree.retain_shown(), SortedSet::from_iter([inner.clone()]));
    tree.set_entries(&inner, entries(&["d/", "e"]));
    tree.expand(child_uri(&inner, "d"));
    check(
        &tree,
        &expect![[r#"
        > d
        - e
    "#]],
    );
    let labels: Vec<_> = tree.crumbs().into_iter().map(|crumb| crumb.label).collect();
    assert_eq!(labels, ["work", "a b", "c"]);
    tree.enter(None);
    assert_eq!(tree.rows().len(), 2);
    assert!(tree.crumbs().is_empty());
    // Other roots are those of another session.
    assert!(!tree.set_roots(&[Uri::from(ROOT), Uri::from("file:///lib%20x")]));
    assert!(tree.set_roots(&[]) && tree.rows().is_empty());
}

#[test]
fn hostile_names_are_escaped_and_stay_in_their_folder() {
    let tree = tree(&[
        "<img src=x>",
        "cod\u{202e}txt.exe",
        "two\nlines",
        "a%2Fb",
        "..",
        "up/../../etc",
        "",
        "twin",
        "twin",
    ]);
    check(
        &tree,
        &expect![[r#"
        - <img src=x>
        - a%2Fb
        - cod\u{202e}txt.exe
        - twin
        - two lines
    "#]],
    );
    let rows = tree.rows();
    assert_eq!(rows[1].uri.as_str(), "file:///work/a%252Fb");
    assert_eq!(rows[2].name.as_deref(), Some("cod\u{202e}txt.exe"));
    assert_eq!(rows[4].uri.as_str(), "file:///work/two%0Alines");
    assert_eq!(rows[0].name, None);
}

#[test]
fn lists_are_limited_and_report_the_omitted_entries() {
    let names: Vec<_> = (0..MAX_FOLDER_ROWS + 7).map(|n| format!("f{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut tree = tree(&names);
    let rows = tree.rows();
    assert_eq!(rows.len(), MAX_FOLDER_ROWS + 1);
    assert_eq!(rows.last().unwrap().omitted, Some(7));
    for number in 0..MAX_OPEN_FOLDERS {
        assert!(tree.expand(Uri::from(format!("{ROOT}/{number}"))));
    }
    assert!(!tree.expand(Uri::from("file:///work/one-more")));
    let roots: Vec<_> = (0..1_000)
        .map(|n| Uri::from(format!("file:///{n}")))
        .collect();
    tree.set_roots(&roots);
    assert_eq!(tree.rows().len(), MAX_ROOTS);
}

#[test]
fn a_refused_folder_shows_the_reason() {
    let mut tree = tree(&["secret/"]);
    let secret = Uri::from("file:///work/secret");
    tree.expand(secret.clone());
    let failure = FolderFailure {
        reason: "not granted\u{202e}".to_owned(),
        can_request: true,
    };
    tree.set_failure(&secret, failure);
    check(
        &tree,
        &expect![[r#"
        v secret
          failed not granted\u{202e}
    "#]],
    );
    let row = &tree.rows()[1];
    assert!(row.can_request && row.uri == secret);
    assert_ne!(row.key(), tree.rows()[0].key());
}
