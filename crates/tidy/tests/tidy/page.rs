//! The committed page was built from the present sources.

use std::fmt::Write;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::{read, relative_path, workspace_root};

/// Crates that the WebAssembly core is built from.
const CRATES: &[&str] = &[
    "client",
    "frontend",
    "page",
    "protocol",
    "protocol-derive",
    "view",
];

/// Files beside the folders `web/src` and `web/public`.
const WEB_FILES: &[&str] = &[
    "build",
    "build.mjs",
    "order-functions.mjs",
    "package.json",
    "package-lock.json",
];

/// Returns all files that the page is made of, as `web/build` lists them.
fn page_sources() -> Vec<String> {
    let root = workspace_root();
    let mut found = Vec::new();
    for name in CRATES {
        let folder = root.join("crates").join(name);
        let files = files_in(folder.join("src"));
        let files = files.into_iter().filter(|path| {
            path.ends_with(".rs")
                && !path.ends_with("/tests.rs")
                && !path.ends_with("_tests.rs")
                && !path.contains("/tests/")
        });
        found.extend(files);
        found.push(format!("crates/{name}/Cargo.toml"));
    }
    found.extend(files_in(root.join("web/src")));
    found.extend(files_in(root.join("web/public")));
    found.extend(WEB_FILES.iter().map(|name| format!("web/{name}")));
    found.sort_unstable();
    found
}

fn files_in(folder: PathBuf) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![folder];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                found.push(relative_path(&path));
            }
        }
    }
    found
}

fn hex_digest(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

#[test]
fn the_page_is_built_from_its_sources() {
    let root = workspace_root();
    let mut listing = String::new();
    for path in page_sources() {
        let digest = hex_digest(&std::fs::read(root.join(&path)).unwrap());
        writeln!(listing, "{digest}  {path}").unwrap();
    }
    let built = read(&root.join("crates/page/dist/sources"));
    assert_eq!(
        built.trim(),
        hex_digest(listing.as_bytes()),
        "crates/page/dist is older than its sources: run ./web/build"
    );
}
