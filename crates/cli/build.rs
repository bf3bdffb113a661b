//! Composes the text of `--version`: the release, the commit and the target of the build.
//!
//! `AGENTHOST_COMMIT` overrides the commit, for builds from an archive without a repository.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=AGENTHOST_COMMIT");
    let commit = std::env::var("AGENTHOST_COMMIT").ok().or_else(git_commit);
    let commit = commit.filter(|commit| !commit.is_empty());
    let details: Vec<_> = commit.into_iter().chain(std::env::var("TARGET")).collect();
    let release = env!("CARGO_PKG_VERSION");
    println!(
        "cargo::rustc-env=AGENTHOST_VERSION={release} ({})",
        details.join(" ")
    );
}

/// Returns the commit of the working tree, if this is a clone with git installed.
fn git_commit() -> Option<String> {
    let root = Path::new("../..");
    // A source tree inside of another repository is not that repository's commit.
    if !root.join(".git").exists() {
        return None;
    }
    // HEAD changes with the branch, its log with every commit.
    for file in ["HEAD", "logs/HEAD"] {
        let path = root.join(".git").join(file);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let output = Command::new("git")
        .args(["rev-parse", "--short=9", "HEAD"])
        .current_dir(root)
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| commit.trim().to_owned())
}
