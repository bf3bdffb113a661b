//! Recording of the test results in the documentation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::agent_chat::StepResult;
use crate::agent_entry::{Entry, names};

const BEGIN: &str = "<!-- tried: begin; written by `./test agents` -->";
const END: &str = "<!-- tried: end -->";

/// The verdict of a failed test.
const WRONG: &str = "**no**";

/// The result of a test.
pub(crate) struct TestResult {
    pub(crate) what: &'static str,
    pub(crate) happened: StepResult<String>,
}

/// Returns the path of the documentation of agents.
fn page() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    crates.parent().unwrap().join("docs/agents.md")
}

/// Replaces the results of an agent. The results of other agents and text by people stay.
pub(crate) fn write(entry: &Entry, results: &[TestResult]) {
    let page = page();
    let text = std::fs::read_to_string(&page).unwrap_or_default();
    let (before, rest) = text.split_once(BEGIN).unwrap_or((&text, END));
    let (section, after) = rest.split_once(END).unwrap_or((rest, "\n"));
    let mut agents = read(section);
    let known = agents.remove(&entry.id).unwrap_or_default();
    agents.insert(entry.id.clone(), table(entry, results, &known));
    let mut section = String::new();
    for id in names() {
        if let Some(table) = agents.get(&id) {
            section.push_str(&format!("\n### {id}\n\n{}\n", table.trim()));
        }
    }
    let text = format!("{before}{BEGIN}\n{section}\n{END}{after}");
    std::fs::write(page, text).unwrap();
}

/// Splits the recorded results into the tables of the agents.
fn read(section: &str) -> BTreeMap<String, String> {
    let agents = section.split("\n### ").skip(1);
    let agents = agents.filter_map(|agent| agent.split_once('\n'));
    agents
        .map(|(id, table)| (id.trim().to_owned(), table.to_owned()))
        .collect()
}

/// Returns the table of an agent with the new results. Results of tests that did not run this time
/// stay.
fn table(entry: &Entry, results: &[TestResult], before: &str) -> String {
    let packages: Vec<_> = entry
        .packages
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    let packages = packages.join(", ");
    let row = |line: &str| Some((line.split(" | ").next()?.to_owned(), line.to_owned()));
    let lines = before.lines().filter(|line| line.starts_with("| "));
    let mut rows: Vec<_> = lines.skip(1).filter_map(row).collect();
    for results in results {
        let (verdict, words) = match &results.happened {
            Ok(words) => ("yes", words),
            Err(words) => (WRONG, words),
        };
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = words.replace('|', "\\|").replace('<', "&lt;");
        let name = format!("| {}", results.what);
        let line = format!("{name} | {verdict} | {words} |");
        match rows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = line,
            None => rows.push((name, line)),
        }
    }
    let wrong = format!(" | {WRONG} | ");
    let well = rows.iter().filter(|(_, line)| !line.contains(&wrong));
    let (well, all) = (well.count(), rows.len());
    let mut table = format!("{packages}: {well} of {all}.\n\n");
    table.push_str("| task | passed | result |\n|---|---|---|\n");
    for (_, line) in rows {
        table.push_str(&line);
        table.push('\n');
    }
    table
}
