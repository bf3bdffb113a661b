//! Tests for the search of files by name.

use std::fs;
use std::path::Path;
use std::time::Duration;

use agenthost_workspace::{ProtectedPaths, SearchLimits, path_of, search_files, uri_of};
use tempfile::TempDir;

const BOUNDS: SearchLimits = SearchLimits {
    max_results: 10,
    max_files: 10_000,
    timeout: Duration::from_secs(30),
};

fn create_files(files: &[(&str, &str)]) -> TempDir {
    let place = TempDir::new().unwrap();
    for (path, content) in files {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    place
}

fn find(place: &Path, query: &str) -> Vec<String> {
    let found = search_files(
        &[uri_of(place).unwrap()],
        &ProtectedPaths::default(),
        query,
        BOUNDS,
    );
    for file in &found {
        assert!(path_of(&file.uri).unwrap().exists(), "{file:?}");
    }
    found.into_iter().map(|file| file.path).collect()
}

#[test]
fn results_are_ordered_by_relevance() {
    let place = create_files(&[
        ("src/main.rs", ""),
        ("src/domain.rs", ""),
        ("main/readme.md", ""),
        ("docs/m-a-i-n.md", ""),
        ("README.md", ""),
        ("with space & ä.txt", ""),
    ]);
    let found = find(place.path(), "main");
    let expected = [
        "main",
        "src/main.rs",
        "main/readme.md",
        "src/domain.rs",
        "docs/m-a-i-n.md",
    ];
    assert_eq!(found, expected);
    assert_eq!(find(place.path(), "src/ma")[0], "src/main.rs");
    assert_eq!(find(place.path(), "./src/main.rs")[0], "src/main.rs");
    assert_eq!(find(place.path(), "README")[0], "README.md");
    assert_eq!(find(place.path(), "with")[0], "with space & ä.txt");
    assert!(find(place.path(), "nothing like it").is_empty());
    // An empty query finds the nearest files first.
    let all = find(place.path(), "");
    assert_eq!(&all[..4], ["src", "docs", "main", "README.md"]);
}

#[test]
fn ignored_files_are_not_found() {
    let place = create_files(&[
        (".gitignore", "target\n*.log\n"),
        ("target/out.rs", ""),
        ("src/out.rs", ""),
        ("src/.gitignore", "secret.rs\n"),
        ("src/secret.rs", ""),
        ("out.log", ""),
        (".env", ""),
        (".git/out", ""),
    ]);
    assert_eq!(find(place.path(), "out"), ["src/out.rs"]);
    assert!(find(place.path(), "secret").is_empty());
    assert!(find(place.path(), "env").is_empty());
}

#[test]
fn symlinks_are_not_followed() {
    let outside = create_files(&[("passwords.txt", "")]);
    let inside = create_files(&[("own.txt", "")]);
    std::os::unix::fs::symlink(outside.path(), inside.path().join("out")).unwrap();
    std::os::unix::fs::symlink(inside.path(), inside.path().join("loop")).unwrap();
    assert!(find(inside.path(), "passwords").is_empty());
    assert_eq!(find(inside.path(), "own"), ["own.txt"]);
}

#[test]
fn results_files_and_time_are_limited() {
    let names: Vec<_> = (0..200).map(|i| format!("file-{i:03}")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
    let place = create_files(&files);
    let uri = uri_of(place.path()).unwrap();
    assert_eq!(find(place.path(), "file").len(), 10);
    let few = SearchLimits {
        max_files: 3,
        ..BOUNDS
    };
    assert_eq!(
        search_files(
            std::slice::from_ref(&uri),
            &ProtectedPaths::default(),
            "file",
            few
        )
        .len(),
        3
    );
    let no_time = SearchLimits {
        timeout: Duration::ZERO,
        ..BOUNDS
    };
    assert!(search_files(&[uri], &ProtectedPaths::default(), "file", no_time).is_empty());
    // Folders that do not exist, and URIs that are not folders, have no files.
    let nowhere = ["file:///does/not/exist", "https://example/", "nonsense"];
    let nowhere = nowhere.map(agenthost_protocol::uri::Uri::from);
    assert!(search_files(&nowhere, &ProtectedPaths::default(), "", BOUNDS).is_empty());
}
