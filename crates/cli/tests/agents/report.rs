//! What was tried, written into the documentation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::entry::{Entry, names};
use crate::talk::Told;

const BEGIN: &str = "<!-- tried: begin; written by `./test --agents` -->";
const END: &str = "<!-- tried: end -->";

/// What happened when something was tried.
pub(crate) struct Tried {
    pub(crate) what: &'static str,
    pub(crate) happened: Told<String>,
}

/// The documentation of agents.
fn page() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    crates.parent().unwrap().join("docs/agents.md")
}

/// Replaces what is said about an agent. What is said about others, and what
/// people wrote, stays.
pub(crate) fn write(entry: &Entry, tried: &[Tried]) {
    let page = page();
    let text = std::fs::read_to_string(&page).unwrap_or_default();
    let (before, rest) = text.split_once(BEGIN).unwrap_or((&text, END));
    let (section, after) = rest.split_once(END).unwrap_or((rest, "\n"));
    let mut agents = read(section);
    agents.insert(entry.id.clone(), table(entry, tried));
    let mut section = String::new();
    for id in names() {
        if let Some(table) = agents.get(&id) {
            section.push_str(&format!("\n### {id}\n\n{}\n", table.trim()));
        }
    }
    let text = format!("{before}{BEGIN}\n{section}\n{END}{after}");
    std::fs::write(page, text).unwrap();
}

/// What stands there, by agent.
fn read(section: &str) -> BTreeMap<String, String> {
    let agents = section.split("\n### ").skip(1);
    let agents = agents.filter_map(|agent| agent.split_once('\n'));
    agents
        .map(|(id, table)| (id.trim().to_owned(), table.to_owned()))
        .collect()
}

fn table(entry: &Entry, tried: &[Tried]) -> String {
    let packages: Vec<_> = entry
        .packages
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    let packages = packages.join(", ");
    let well = tried.iter().filter(|tried| tried.happened.is_ok()).count();
    let all = tried.len();
    let mut table = format!("{packages}: {well} of {all}.\n\n");
    table.push_str("| tried | as it should be | what happened |\n|---|---|---|\n");
    for tried in tried {
        let (verdict, words) = match &tried.happened {
            Ok(words) => ("yes", words),
            Err(words) => ("**no**", words),
        };
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = words.replace('|', "\\|").replace('<', "&lt;");
        table.push_str(&format!("| {} | {verdict} | {words} |\n", tried.what));
    }
    table
}
