//! Tests that SECURITY.md and docs/reliability.md name: each of them exists.

use crate::{WORKSPACE, read, workspace_root};

/// Pages whose tables name tests in the last column, as "crate: `file::test`, `file`; crate: …".
const PAGES: &[&str] = &["SECURITY.md", "docs/reliability.md"];

/// A test, or a file of tests, as a page names it.
#[derive(Debug, PartialEq)]
struct CitedTest<'a> {
    crate_name: &'a str,
    path: &'a str,
}

/// Returns the tests in the last column of a row.
fn cited_tests<'a>(row: &'a str, crates: &[&str]) -> Vec<CitedTest<'a>> {
    let column = row
        .strip_suffix(" |")
        .and_then(|row| row.rsplit_once(" | "));
    let Some((_, column)) = column else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let groups = column
        .split("; ")
        .filter_map(|group| group.split_once(": "));
    for (crate_name, tests) in groups {
        if !crates.contains(&crate_name) {
            continue;
        }
        let quoted = tests.split('`').skip(1).step_by(2);
        // Commands are quoted, too.
        let quoted = quoted.filter(|path| !path.contains(' '));
        found.extend(quoted.map(|path| CitedTest { crate_name, path }));
    }
    found
}

/// Returns `true` if a crate has the file and, if the path names one, the test or module in it.
fn exists(cited: &CitedTest<'_>) -> bool {
    let mut names = cited.path.split("::");
    let file = names.next().unwrap_or_default();
    let last = names.last();
    WORKSPACE.files.iter().any(|source| {
        let path = source.path.trim_end_matches(".rs");
        let is_in_file = path.ends_with(&format!("/{file}")) || path.contains(&format!("/{file}/"));
        let has_test = match last {
            Some(test) => is_in_file && declares(&source.text, test),
            // A test in the main file of an integration binary.
            None => is_in_file || declares(&source.text, file),
        };
        source.crate_name == cited.crate_name && has_test
    })
}

/// Returns `true` if a file has a test or module, or a line with its name in a macro that makes it.
fn declares(text: &str, name: &str) -> bool {
    let declared = ["fn ", "mod "].map(|kind| format!("{kind}{name}"));
    declared.iter().any(|declared| text.contains(declared))
        || text.lines().any(|line| line.trim() == name)
}

#[test]
fn tests_that_pages_name_exist() {
    let crates: Vec<_> = WORKSPACE
        .files
        .iter()
        .map(|source| source.crate_name.as_str())
        .collect();
    let mut missing = Vec::new();
    let mut count = 0;
    for page in PAGES {
        let text = read(&workspace_root().join(page));
        for cited in text.lines().flat_map(|row| cited_tests(row, &crates)) {
            count += 1;
            if !exists(&cited) {
                missing.push(format!("{page}: {}: `{}`", cited.crate_name, cited.path));
            }
        }
    }
    assert!(count > 40, "only {count} tests were found in the tables");
    assert!(missing.is_empty(), "these tests do not exist: {missing:#?}");
}

#[test]
fn cited_tests_are_parsed_from_rows() {
    let row = "| a | b | server: `page::x`, `auth`; `web/tests/a.mjs`; cli: `devices` (by hand) |";
    let test = |crate_name, path| CitedTest { crate_name, path };
    let expected = [
        test("server", "page::x"),
        test("server", "auth"),
        test("cli", "devices"),
    ];
    assert_eq!(cited_tests(row, &["server", "cli"]), expected);
}
