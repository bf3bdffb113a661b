//! Files of the host itself stay its own, also in folders that are granted.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::mpsc::channel;
use std::time::Duration;

use agenthost_core::{
    CheckpointId, DiffEndpoint, DiffRange, FileAccess, FileRequest, RequestFailure,
};
use agenthost_protocol::resource::ResourceWatchState;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use agenthost_workspace::{
    ChangeTracker, DirectoryWatch, FileService, ProtectedPaths, SearchLimits, search_files, uri_of,
};
use serde_json::json;

use crate::files::Disk;

/// A granted folder with a data directory in it: a token, a worktree, and links
/// that lead there.
fn disk() -> Disk {
    let mut disk = Disk::new();
    fs::create_dir_all(disk.path("data/changes/worktrees/1")).unwrap();
    fs::write(disk.path("data/token"), "secret").unwrap();
    fs::write(disk.path("data/changes/worktrees/1/file"), "work").unwrap();
    fs::create_dir(disk.path("src")).unwrap();
    fs::write(disk.path("src/file"), "").unwrap();
    symlink(disk.path("data"), disk.path("link")).unwrap();
    symlink(disk.path("data/token"), disk.path("src/token-link")).unwrap();
    // As a link that is relative is followed inside of the folder.
    symlink("../data", disk.path("src/relative")).unwrap();
    symlink("../data/token", disk.path("src/relative-token")).unwrap();
    let data = disk.path("data");
    disk.protected = ProtectedPaths::new([data.clone()], [data.join("changes/worktrees")]);
    disk.files = FileService::default().with_protected_paths(disk.protected.clone());
    disk
}

fn execute(disk: &Disk, method: &str, mut params: Json) -> Result<(), RequestFailure> {
    params["channel"] = json!("ahp-root://");
    let text = params.to_string();
    let request = match method {
        "read" => FileRequest::Read(wire::from_str(&text).unwrap()),
        "list" => FileRequest::List(wire::from_str(&text).unwrap()),
        "resolve" => FileRequest::Resolve(wire::from_str(&text).unwrap()),
        "write" => FileRequest::Write(Box::new(wire::from_str(&text).unwrap())),
        "delete" => FileRequest::Delete(wire::from_str(&text).unwrap()),
        "mkdir" => FileRequest::MakeDirectory(wire::from_str(&text).unwrap()),
        "copy" => FileRequest::Copy(wire::from_str(&text).unwrap()),
        "move" => FileRequest::Move(wire::from_str(&text).unwrap()),
        other => panic!("{other}"),
    };
    disk.files.execute(&disk.roots, &request).map(drop)
}

fn is_refused(done: &Result<(), RequestFailure>) -> bool {
    matches!(done, Err(RequestFailure::NotGranted { .. }))
}

#[test]
fn access_to_host_files_is_rejected() {
    let disk = disk();
    for name in [
        "data/token",
        "link/token",
        "src/token-link",
        "src/relative/token",
        "src/relative-token",
    ] {
        for method in ["read", "resolve"] {
            let done = execute(&disk, method, json!({"uri": disk.uri(name)}));
            assert!(is_refused(&done), "{method} {name}: {done:?}");
        }
        let written = json!({"uri": disk.uri(name), "data": "", "encoding": "utf-8"});
        let done = execute(&disk, "write", written);
        assert!(is_refused(&done), "write {name}: {done:?}");
        let copied = json!({"source": disk.uri(name), "destination": disk.uri("stolen")});
        let done = execute(&disk, "copy", copied);
        assert!(is_refused(&done), "copy {name}: {done:?}");
    }
    for name in ["data", "link", "src/relative", "data/changes"] {
        let done = execute(&disk, "list", json!({"uri": disk.uri(name)}));
        assert!(is_refused(&done), "list {name}: {done:?}");
        let new = disk.uri(&format!("{name}/new/file"));
        let written = json!({"uri": new, "data": "", "encoding": "utf-8"});
        let done = execute(&disk, "write", written);
        assert!(is_refused(&done), "write {new}: {done:?}");
        let done = execute(&disk, "mkdir", json!({"uri": new}));
        assert!(is_refused(&done), "mkdir {new}: {done:?}");
    }
    assert_eq!(
        fs::read_to_string(disk.path("data/token")).unwrap(),
        "secret"
    );
    assert!(!disk.path("data/new").exists() && !disk.path("stolen").exists());
}

#[test]
fn a_folder_with_host_files_cannot_be_moved_or_deleted() {
    let mut disk = disk();
    disk.roots[0].uri = uri_of(disk.inside.path().parent().unwrap()).unwrap();
    let root = uri_of(disk.inside.path()).unwrap();
    for uri in [root.clone(), disk.uri("data"), disk.uri("data/token")] {
        let done = execute(&disk, "delete", json!({"uri": uri, "recursive": true}));
        assert!(is_refused(&done), "{uri}: {done:?}");
        let to = disk.uri("src/moved");
        let done = execute(&disk, "move", json!({"source": uri, "destination": to}));
        assert!(is_refused(&done), "{uri}: {done:?}");
    }
    // A copy leaves them out.
    let copy = tempfile::tempdir_in(disk.inside.path().parent().unwrap()).unwrap();
    let to = uri_of(&copy.path().join("copy")).unwrap();
    execute(&disk, "copy", json!({"source": root, "destination": to})).unwrap();
    assert!(copy.path().join("copy/src/file").exists());
    assert!(!copy.path().join("copy/data").exists());
}

#[test]
fn worktrees_in_the_data_directory_are_accessible() {
    let disk = disk();
    let file = disk.uri("data/changes/worktrees/1/file");
    assert_eq!(disk.read(&file).unwrap(), "work");
    let list = json!({"uri": disk.uri("data/changes/worktrees/1")});
    execute(&disk, "list", list).unwrap();
}

#[test]
fn host_files_are_not_found_by_search() {
    let disk = disk();
    let bounds = SearchLimits {
        max_results: 100,
        max_files: 10_000,
        timeout: Duration::from_secs(20),
    };
    for name in ["", "link", "data"] {
        let found = search_files(&[disk.uri(name)], &disk.protected, "token", bounds);
        let found: Vec<_> = found.into_iter().map(|file| file.path).collect();
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn host_files_are_not_watched() {
    let disk = disk();
    let begin = |name: &str| {
        let state = json!({"root": disk.uri(name), "recursive": true});
        let state: ResourceWatchState = wire::from_str(&state.to_string()).unwrap();
        let (tell, told) = channel();
        let tell = move |changes| drop(tell.send(changes));
        DirectoryWatch::start(&disk.roots, &disk.protected, &state, tell).map(|watch| (watch, told))
    };
    for name in ["data", "data/token", "link", "src/relative"] {
        let refused = begin(name);
        let refused = matches!(refused, Err(RequestFailure::NotGranted { .. }));
        assert!(refused, "{name}");
    }
    let (_watch, told) = begin("").unwrap();
    fs::write(disk.path("data/token"), "new").unwrap();
    fs::write(disk.path("data/new"), "").unwrap();
    fs::write(disk.path("last"), "").unwrap();
    let last = disk.uri("last");
    let mut seen: Vec<Uri> = Vec::new();
    while !seen.contains(&last) {
        let changes = told.recv_timeout(Duration::from_secs(20)).unwrap();
        seen.extend(changes.into_iter().map(|change| change.uri));
    }
    assert_eq!(seen, [last]);
}

#[test]
fn host_files_are_not_in_changesets() {
    let disk = disk();
    let kept = tempfile::tempdir().unwrap();
    let changes =
        ChangeTracker::new(kept.path().to_owned()).with_protected_paths(disk.protected.clone());
    let session = Uri::from("ahp-session:/1");
    let folder = [disk.uri("")];
    changes
        .take_checkpoint(&session, &folder, &CheckpointId::SessionStart, None)
        .unwrap();
    fs::write(disk.path("data/token"), "new secret").unwrap();
    fs::write(disk.path("data/new"), "").unwrap();
    fs::write(disk.path("src/file"), "changed").unwrap();
    let span = DiffRange {
        from: DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
        to: DiffEndpoint::WorkingTree,
    };
    let compared = changes.diff(&session, &folder, &span).unwrap();
    let files: Vec<_> = compared.files.iter().map(|file| file.id.as_str()).collect();
    assert_eq!(files, [disk.uri("src/file").as_str()]);
    let own = changes.take_checkpoint(
        &session,
        &[disk.uri("data")],
        &CheckpointId::SessionStart,
        None,
    );
    assert!(own.is_err(), "{own:?}");
}

#[test]
fn access_to_other_files_is_unchanged() {
    let disk = disk();
    assert_eq!(disk.roots[0].access, FileAccess::Write);
    let written = json!({"uri": disk.uri("src/new"), "data": "1", "encoding": "utf-8"});
    execute(&disk, "write", written).unwrap();
    assert_eq!(disk.read(&disk.uri("src/new")).unwrap(), "1");
    let moved = json!({"source": disk.uri("src/new"), "destination": disk.uri("moved")});
    execute(&disk, "move", moved).unwrap();
    // A link goes, and what it points to stays.
    execute(&disk, "delete", json!({"uri": disk.uri("moved")})).unwrap();
    assert!(!disk.path("moved").exists());
}
