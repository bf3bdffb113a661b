//! Runs a fuzz target over its committed seeds.
//!
//! The unit tests of each crate with a fuzz target include this file, so that
//! every seed, and with it every regression, is checked on a stable toolchain.

use std::path::{Path, PathBuf};

/// Calls `check` with every file in `fuzz/corpus/<target>`.
pub(crate) fn check_seeds(target: &str, check: fn(&[u8])) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = root.join("fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&corpus).unwrap();
    let mut seeds: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    seeds.sort();
    assert!(!seeds.is_empty(), "no seeds in {}", corpus.display());
    for seed in seeds {
        // Shown only if the test fails: the last one is the culprit.
        println!("{}", seed.display());
        check(&std::fs::read(&seed).unwrap());
    }
}
