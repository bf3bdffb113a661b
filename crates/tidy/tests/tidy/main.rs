//! Rules for the whole workspace: one binary, a module per subject.
//!
//! The tests read the source text, so they need no build of the crates that they check. Rules with
//! a number (a count, a share, a rate) keep their limits in the table of [`ceilings`].

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod ceilings;
mod cited_tests;
mod errors;
mod glossary;
mod layers;
mod lexer;
mod names;
mod obligations;
mod page;
mod pages;
mod prose;
mod sources;
mod structure;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sources::Source;

/// Crates that hold support code for tests.
const TEST_CRATES: &[&str] = &["oracles", "testkit", "tidy"];

/// Crates with the vocabulary of the specification, which the host can't choose.
const SPEC_CRATES: &[&str] = &["protocol", "protocol-derive"];

/// The Rust files of the workspace, read once for all tests of a process.
static WORKSPACE: LazyLock<Workspace> = LazyLock::new(Workspace::load);

/// Every Rust file below `crates`.
struct Workspace {
    files: Vec<Source>,
}

impl Workspace {
    fn load() -> Self {
        let root = workspace_root();
        let mut files: Vec<Source> = files_below(&root.join("crates"), "rs")
            .iter()
            .map(|path| Source::new(&relative_path(path), &read(path)))
            .collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Self { files }
    }

    /// Files of all crates that are compiled into a library or binary, without test files.
    fn sources(&self) -> impl Iterator<Item = &Source> {
        self.files
            .iter()
            .filter(|file| file.path.contains("/src/") && !file.is_test_file)
    }

    /// Sources outside of the crates that follow the vocabulary of the specification.
    fn own_sources(&self) -> impl Iterator<Item = &Source> {
        self.sources()
            .filter(|file| !SPEC_CRATES.contains(&file.crate_name.as_str()))
    }

    /// Sources of the product: neither specification nor support code for tests.
    fn product_sources(&self) -> impl Iterator<Item = &Source> {
        self.own_sources()
            .filter(|file| !TEST_CRATES.contains(&file.crate_name.as_str()))
    }
}

/// Returns the root folder of the workspace.
fn workspace_root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    crates.parent().unwrap().to_owned()
}

/// Returns the path from the root of the workspace, with `/` as the separator.
fn relative_path(path: &Path) -> String {
    let path = path.strip_prefix(workspace_root()).unwrap();
    path.to_str().unwrap().replace('\\', "/")
}

/// Returns all files below a folder with this extension, except those of build folders.
fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    pending.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Reads a file as text.
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
