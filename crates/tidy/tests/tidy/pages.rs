//! Markdown pages: links lead somewhere, ids of obligations are links, sentences name the actor.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::obligations::cited_ids;
use crate::{files_below, read, relative_path, workspace_root};

/// Words that hide the actor of a sentence.
const IMPERSONAL_WORDS: &[&str] = &["nobody", "somebody", "whoever", "whomever", "whom"];

/// The page whose rows define the ids.
const OBLIGATIONS: &str = "docs/obligations.md";

/// Returns the Markdown pages for users and developers.
pub(crate) fn pages() -> Vec<PathBuf> {
    let root = workspace_root();
    let mut pages = files_below(&root.join("docs"), "md");
    let entries = std::fs::read_dir(&root).unwrap();
    let top = entries.map(|entry| entry.unwrap().path());
    pages.extend(top.filter(|path| path.extension().is_some_and(|found| found == "md")));
    pages.sort();
    pages
}

/// A line outside of code blocks, with its number.
struct ProseLine<'a> {
    text: &'a str,
    number: usize,
}

fn prose_lines(page: &str) -> Vec<ProseLine<'_>> {
    let mut in_code = false;
    let mut found = Vec::new();
    for (index, text) in page.lines().enumerate() {
        if text.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let number = index + 1;
            found.push(ProseLine { text, number });
        }
    }
    found
}

/// Returns a line without the text in backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// Returns the targets of the links and images in a line.
fn link_targets(line: &str) -> Vec<String> {
    let text = without_code(line);
    let links = text.split("](").skip(1);
    let targets = links.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    targets.collect()
}

/// Returns the anchors of a page: headings by GitHub's rule, and `<a id="…">`.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in prose_lines(page) {
        if line.text.starts_with('#') {
            let title = line.text.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter_map(|c| match c {
                ' ' => Some('-'),
                '-' | '_' => Some(c),
                _ if c.is_alphanumeric() => Some(c),
                _ => None,
            });
            found.insert(kept.collect());
        }
        for rest in line.text.split("<a id=\"").skip(1) {
            found.extend(rest.split('"').next().map(str::to_owned));
        }
    }
    found
}

/// Returns the problem of a relative link.
fn link_problem(page: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = if path.is_empty() {
        page.to_owned()
    } else {
        page.parent()?.join(path)
    };
    if !file.exists() {
        return Some(format!("there is no file `{path}`"));
    }
    let is_page = file.extension().is_some_and(|found| found == "md");
    let is_missing = !anchor.is_empty() && is_page && !anchors(&read(&file)).contains(anchor);
    is_missing.then(|| format!("`{path}` has no heading `#{anchor}`"))
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut problems = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = read(&page);
        for line in prose_lines(&text) {
            for target in link_targets(line.text) {
                count += 1;
                if let Some(problem) = link_problem(&page, &target) {
                    let place = relative_path(&page);
                    problems.push(format!("{place}:{} {problem}", line.number));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(count > 100, "only {count} links were found");
}

#[test]
fn obligations_in_pages_are_links() {
    let mut problems = Vec::new();
    for page in pages() {
        let place = relative_path(&page);
        if place == OBLIGATIONS {
            continue;
        }
        let text = read(&page);
        for line in prose_lines(&text) {
            for (id, _) in cited_ids(line.text) {
                let link = format!("{OBLIGATIONS}#{}", id.to_ascii_lowercase());
                let name = link.rsplit('/').next().unwrap_or_default();
                if !line.text.contains(name) {
                    problems.push(format!("{place}:{} {id}", line.number));
                }
            }
        }
    }
    assert!(
        problems.is_empty(),
        "write [ID](obligations.md#id): {problems:#?}"
    );
}

#[test]
fn pages_name_the_actor() {
    let mut problems = Vec::new();
    for page in pages() {
        let text = read(&page);
        for line in prose_lines(&text) {
            let prose = without_code(line.text).to_lowercase();
            let mut words = prose.split(|c: char| !c.is_alphanumeric());
            if words.any(|word| IMPERSONAL_WORDS.contains(&word)) {
                let place = relative_path(&page);
                problems.push(format!("{place}:{} {}", line.number, line.text.trim()));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn heading_anchors_follow_the_rules_of_github() {
    let page = "# One, two & `three_four`\n```\n# no heading\n```\n| <a id=\"dsp-6\"></a>\n";
    let found: Vec<_> = anchors(page).into_iter().collect();
    assert_eq!(found, ["dsp-6", "one-two--three_four"]);
    let targets = link_targets("[a](b.md#c) `[d](e)` ![f](g.svg)");
    assert_eq!(targets, ["b.md#c", "g.svg"]);
}
