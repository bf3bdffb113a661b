//! Ids of obligations: every id that the project cites is explained in docs/obligations.md.

use std::collections::{BTreeMap, BTreeSet};

use crate::lexer::is_word;
use crate::pages::pages;
use crate::{WORKSPACE, read, relative_path, workspace_root};

/// The page that explains all ids.
const PAGE: &str = "docs/obligations.md";

/// An id begins with at most this many letters.
const MAX_PREFIX_LETTERS: usize = 4;

/// An id ends with at most this many digits.
const MAX_NUMBER_DIGITS: usize = 3;

/// A failure message lists at most this many ids.
const MAX_LISTED_IDS: usize = 20;

/// A row of the page names at most this many tests.
const MAX_NAMED_TESTS: usize = 3;

/// Prefixes of standards and names that look like ids.
const OTHER_PREFIXES: &[&str] = &[
    "AES", "BSD", "CVE", "GPL", "HTTP", "ISO", "MIT", "OSC", "RFC", "SHA", "TLS", "UTF",
];

/// Returns the ids in a text, each with its line.
pub(crate) fn cited_ids(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices('-') {
            let before = &line[..at];
            let prefix_length = before.len() - before.trim_end_matches(is_word).len();
            let prefix = &before[before.len() - prefix_length..];
            let after = &line[at + 1..];
            let number = &after[..after.len() - after.trim_start_matches(is_word).len()];
            let is_id = (1..=MAX_PREFIX_LETTERS).contains(&prefix.len())
                && prefix.chars().all(|c| c.is_ascii_uppercase())
                && (1..=MAX_NUMBER_DIGITS).contains(&number.len())
                && number.chars().all(|c| c.is_ascii_digit());
            if is_id && !OTHER_PREFIXES.contains(&prefix) {
                found.push((format!("{prefix}-{number}"), index + 1));
            }
        }
    }
    found
}

/// Returns the ids that have a row with an anchor, `<a id="…"></a>` before the id.
fn explained_ids() -> BTreeSet<String> {
    let page = read(&workspace_root().join(PAGE));
    let mut found = BTreeSet::new();
    for row in page.lines() {
        let anchor = row.strip_prefix("| <a id=\"");
        if let Some((anchor, rest)) = anchor.and_then(|row| row.split_once("\"></a>")) {
            let id = rest.split(' ').next().unwrap_or_default();
            assert_eq!(
                anchor,
                id.to_ascii_lowercase(),
                "the anchor of {id} in {PAGE}"
            );
            assert!(found.insert(id.to_owned()), "{PAGE} has two rows for {id}");
        }
    }
    assert!(!found.is_empty(), "{PAGE} has no rows");
    found
}

#[test]
fn obligations_are_explained() {
    let mut cited = BTreeMap::new();
    for source in &WORKSPACE.files {
        for (id, line) in cited_ids(&source.text) {
            cited.entry(id).or_insert_with(|| source.place(line));
        }
    }
    for page in pages() {
        for (id, line) in cited_ids(&read(&page)) {
            let place = || format!("{}:{line}", relative_path(&page));
            cited.entry(id).or_insert_with(place);
        }
    }
    let explained = explained_ids();
    let missing: Vec<_> = cited
        .iter()
        .filter(|(id, _)| !explained.contains(*id))
        .map(|(id, place)| format!("{place} {id}"))
        .collect();
    let listed = &missing[..missing.len().min(MAX_LISTED_IDS)];
    assert!(
        missing.is_empty(),
        "{} ids have no row in {PAGE}: correct the id, or add a row: {listed:#?}",
        missing.len(),
    );
}

/// Returns the tests that cite each id, as crate and file.
fn tests_by_id() -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    for source in &WORKSPACE.files {
        let is_test = source.path.contains("/tests/") || source.is_test_file;
        let stem = source.path.rsplit('/').next().unwrap_or_default();
        let stem = stem.strip_suffix(".rs").unwrap_or(stem);
        for (id, line) in cited_ids(&source.text) {
            if is_test || source.is_test_line(line) {
                let test = format!("{} {stem}", source.crate_name);
                found.entry(id).or_default().insert(test);
            }
        }
    }
    found
}

/// Returns the page with the tests that cite each id in its last column.
fn with_tests(page: &str, tests: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut filled = String::with_capacity(page.len());
    for row in page.lines() {
        let id = row.strip_prefix("| <a id=").and_then(|row| {
            let (_, rest) = row.split_once("</a>")?;
            rest.split(' ').next()
        });
        let columns = id.and_then(|_| row.strip_suffix(" |")?.rsplit_once(" | "));
        match (id, columns) {
            (Some(id), Some((start, _))) => {
                let tests = tests.get(id).into_iter().flatten();
                let mut names: Vec<_> = tests.map(String::as_str).collect();
                if names.len() > MAX_NAMED_TESTS {
                    names.truncate(MAX_NAMED_TESTS);
                    names.push("…");
                }
                let names = if names.is_empty() {
                    "-".to_owned()
                } else {
                    names.join(", ")
                };
                filled.push_str(&format!("{start} | {names} |\n"));
            }
            _ => filled.push_str(&format!("{row}\n")),
        }
    }
    filled
}

/// `UPDATE_TIDY=1` writes the column again.
#[test]
fn the_page_names_the_tests_of_each_obligation() {
    let path = workspace_root().join(PAGE);
    let page = read(&path);
    let filled = with_tests(&page, &tests_by_id());
    if std::env::var_os("UPDATE_TIDY").is_some() {
        std::fs::write(&path, &filled).unwrap();
        return;
    }
    let lines = page.lines().zip(filled.lines());
    let wrong: Vec<_> = lines.filter(|(is, should)| is != should).collect();
    assert!(
        wrong.is_empty(),
        "the tests of {} rows of {PAGE} are not those that cite them; write them with \
         UPDATE_TIDY=1: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(3)]
    );
}

/// Prints the ids; run it with `--nocapture`. A test can cover an obligation without naming it.
#[test]
fn obligations_without_a_test_are_printed() {
    let mut tested = BTreeSet::new();
    for source in &WORKSPACE.files {
        let is_test = source.path.contains("/tests/") || source.is_test_file;
        let ids = cited_ids(&source.text).into_iter();
        let ids = ids.filter(|(_, line)| is_test || source.is_test_line(*line));
        tested.extend(ids.map(|(id, _)| id));
    }
    let explained = explained_ids();
    let untested: Vec<_> = explained.difference(&tested).map(String::as_str).collect();
    println!(
        "{} of {} obligations are named by no test: {}",
        untested.len(),
        explained.len(),
        untested.join(", ")
    );
}

#[test]
fn obligation_ids_are_recognized() {
    let id = |prefix: &str, number: &str| format!("{prefix}-{number}");
    let text = format!(
        "({}) UTF-8 {} {} {} see-{}",
        id("DSP", "6"),
        id("DSP", "6b"),
        id("LONGER", "6"),
        id("DSP", "1234"),
        id("ROOT", "16"),
    );
    let ids: Vec<_> = cited_ids(&text).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [id("DSP", "6"), id("ROOT", "16")]);
}
