//! Sizes of files, folders, functions and of the host, and the crates that handle processes.

use std::collections::{BTreeMap, BTreeSet};

use crate::ceilings::{Measure, Measurement, check};
use crate::lexer::is_word;
use crate::sources::{Source, closing_brace, leading_word, strip_visibility};
use crate::{WORKSPACE, Workspace};

/// Sources have at most this many lines.
const MAX_FILE_LINES: usize = 450;

/// Functions have at most this many lines.
const MAX_FUNCTION_LINES: usize = 100;

/// Folders of [`LARGE_CRATES`] have at most this many files.
const MAX_FOLDER_FILES: usize = 12;

/// Crates that are large enough to need folders by subject.
const LARGE_CRATES: &[&str] = &["acp", "core", "mcp", "server"];

/// Counts the folders with too many files.
pub(crate) fn crowded_folders(workspace: &Workspace) -> Measurement {
    let places = folder_sizes(workspace)
        .into_iter()
        .filter(|(_, size)| *size > MAX_FOLDER_FILES)
        .map(|(folder, size)| format!("{folder}: {size} files"))
        .collect();
    Measurement::count(places, "group the files of a folder by subject")
}

/// Counts the files of the largest folder.
pub(crate) fn largest_folder(workspace: &Workspace) -> Measurement {
    let largest = folder_sizes(workspace)
        .into_iter()
        .max_by_key(|(_, size)| *size);
    let (folder, size) = largest.unwrap_or_default();
    Measurement {
        value: size as f64,
        places: vec![folder],
        advice: "group the files of a folder by subject",
    }
}

/// Counts the functions with too many lines.
pub(crate) fn long_functions(workspace: &Workspace) -> Measurement {
    let mut long = Vec::new();
    for source in workspace.sources() {
        for function in source.functions() {
            if function.line_count > MAX_FUNCTION_LINES {
                let place = source.place(function.line);
                long.push((function.line_count, format!("{place} {}", function.name)));
            }
        }
    }
    long.sort_by(|one, other| other.cmp(one));
    let places = long
        .into_iter()
        .map(|(lines, place)| format!("{place}, {lines} lines"))
        .collect();
    Measurement::count(places, "split functions by subject, at most 100 lines each")
}

/// Counts the crates that kill process groups or read procfs.
pub(crate) fn process_crates(workspace: &Workspace) -> Measurement {
    let mut crates = BTreeMap::new();
    for source in workspace.product_sources() {
        let reads_procfs = source.text.contains("\"/proc\"");
        if reads_procfs || calls(source, "killpg(") {
            crates.entry(&source.crate_name).or_insert(&source.path);
        }
    }
    let places = crates
        .into_iter()
        .map(|(name, path)| format!("{name}: {path}"))
        .collect();
    let advice = "let one crate kill process groups and read procfs for all others";
    Measurement::count(places, advice)
}

/// Counts the fields of the struct `Host` of the core.
pub(crate) fn host_fields(workspace: &Workspace) -> Measurement {
    const DECLARATION: &str = "pub struct Host {";
    let mut places = Vec::new();
    let core = workspace
        .sources()
        .filter(|source| source.crate_name == "core");
    for source in core {
        if let Some(begin) = source.code.find(DECLARATION) {
            let begin = begin + DECLARATION.len();
            let end = closing_brace(&source.code, begin - 1);
            for line in source.code[begin..end].lines() {
                let item = strip_visibility(line);
                let name = leading_word(item);
                if !name.is_empty() && item[name.len()..].trim_start().starts_with(':') {
                    places.push(format!("{} {name}", source.path));
                }
            }
        }
    }
    assert!(!places.is_empty(), "core has no `{DECLARATION}`");
    let advice = "group the fields of `Host` by subject, in structs with methods of their own";
    Measurement::count(places, advice)
}

/// Returns the number of files of every folder of the large crates.
fn folder_sizes(workspace: &Workspace) -> BTreeMap<String, usize> {
    let mut sizes = BTreeMap::new();
    for source in workspace.sources() {
        if LARGE_CRATES.contains(&source.crate_name.as_str())
            && let Some((folder, _)) = source.path.rsplit_once('/')
        {
            *sizes.entry(folder.to_owned()).or_default() += 1;
        }
    }
    sizes
}

/// Returns `true` if the text has this call, and not as the end of a longer name.
fn calls(source: &Source, call: &str) -> bool {
    source
        .text
        .match_indices(call)
        .any(|(at, _)| !source.text[..at].ends_with(is_word))
}

#[test]
fn source_files_are_short_and_none_is_called_mod() {
    let mut failures = BTreeSet::new();
    for source in &WORKSPACE.files {
        if source.path.ends_with("/mod.rs") {
            failures.insert(format!(
                "{}: call it like its folder, beside it",
                source.path
            ));
        }
        let lines = source.text.lines().count();
        if source.path.contains("/src/") && lines > MAX_FILE_LINES {
            failures.insert(format!("{} has {lines} lines: split it", source.path));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn folders_are_grouped_by_subject() {
    check(Measure::CrowdedFolders);
}

#[test]
fn the_number_of_files_in_a_folder_is_limited() {
    check(Measure::LargestFolder);
}

#[test]
fn functions_are_short() {
    check(Measure::LongFunctions);
}

#[test]
fn one_crate_handles_processes() {
    check(Measure::ProcessCrates);
}

#[test]
fn the_host_has_few_fields() {
    check(Measure::HostFields);
}
