//! Tests that a resource watch reports the changes in a folder, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use agenthost_core::RequestFailure;
use agenthost_protocol::resource::{ResourceChange, ResourceChangeType, ResourceWatchState};
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use agenthost_workspace::DirectoryWatch;
use serde_json::json;

use crate::files::Disk;

type ChangeReceiver = Receiver<Vec<ResourceChange>>;

fn begin(
    disk: &Disk,
    name: &str,
    more: Json,
) -> Result<(DirectoryWatch, ChangeReceiver), RequestFailure> {
    let mut watch = json!({"root": disk.uri(name), "recursive": false});
    watch
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let watch: ResourceWatchState = wire::from_str(&watch.to_string()).unwrap();
    let (tell, told) = channel();
    let watch = DirectoryWatch::start(&disk.roots, &disk.protected, &watch, move |changes| {
        drop(tell.send(changes))
    })?;
    Ok((watch, told))
}

/// Collects changes until a file is reported. Returns the last change of each file.
fn until(disk: &Disk, told: &ChangeReceiver, last: &str) -> BTreeMap<String, ResourceChangeType> {
    let mut all = BTreeMap::new();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !all.contains_key(last) {
        let left = deadline.saturating_duration_since(Instant::now());
        let changes = told
            .recv_timeout(left)
            .unwrap_or_else(|_| panic!("{last} not in {all:?}"));
        assert!(!changes.is_empty(), "never nothing (WAT-4)");
        for change in changes {
            let root = disk.roots[0].uri.as_str();
            let name = change.uri.as_str().strip_prefix(root).unwrap();
            let name = name.trim_start_matches('/').to_owned();
            // On a busy machine, a new file and its content may be reported separately.
            let new = all.get(&name) == Some(&ResourceChangeType::Added)
                && change.r#type == ResourceChangeType::Updated;
            if !new {
                all.insert(name, change.r#type);
            }
        }
    }
    all
}

/// WAT-3, WAT-4.
#[test]
fn changes_are_reported() {
    use ResourceChangeType::{Added, Deleted, Updated};
    let disk = Disk::new();
    fs::create_dir(disk.path("deep")).unwrap();
    fs::write(disk.path("old"), "").unwrap();
    fs::write(disk.path("gone"), "").unwrap();
    fs::write(disk.path("moved"), "").unwrap();
    let (_all, all) = begin(&disk, "", json!({"recursive": true})).unwrap();
    let (_flat, flat) = begin(&disk, "", json!({})).unwrap();
    fs::write(disk.path("new"), "1").unwrap();
    fs::write(disk.path("old"), "2").unwrap();
    fs::remove_file(disk.path("gone")).unwrap();
    fs::rename(disk.path("moved"), disk.path("there")).unwrap();
    fs::write(disk.path("deep/below"), "3").unwrap();
    fs::write(disk.path("last"), "4").unwrap();
    let expected = [
        ("deep/below", Added),
        ("gone", Deleted),
        ("last", Added),
        ("moved", Deleted),
        ("new", Added),
        ("old", Updated),
        ("there", Added),
    ];
    let named = |changes: BTreeMap<String, ResourceChangeType>| -> Vec<_> {
        let known = |name: &String| expected.iter().any(|(other, _)| other == name);
        changes
            .into_iter()
            .filter(|(name, _)| known(name))
            .collect()
    };
    let expected = expected.map(|(name, kind)| (name.to_owned(), kind));
    assert_eq!(named(until(&disk, &all, "last")), expected);
    let flat = named(until(&disk, &flat, "last"));
    assert_eq!(flat, &expected[1..], "what is below is not watched");
}

/// A file that is replaced is reported as the same file, and patterns exclude what they match.
#[test]
fn excluded_files_are_not_reported() {
    let disk = Disk::new();
    fs::write(disk.path("one"), "").unwrap();
    let (_one, one) = begin(&disk, "one", json!({})).unwrap();
    let some = json!({
        "recursive": true, "excludes": {"items": ["node_modules", "*.tmp"]},
        "includes": {"items": ["**/*.rs", "*.rs", "last"]},
    });
    let (_some, some) = begin(&disk, "", some).unwrap();
    fs::create_dir(disk.path("node_modules")).unwrap();
    fs::write(disk.path("node_modules/a.rs"), "").unwrap();
    fs::write(disk.path("b.tmp"), "").unwrap();
    fs::write(disk.path("c.txt"), "").unwrap();
    fs::write(disk.path("d.rs"), "").unwrap();
    fs::write(disk.path("next"), "new").unwrap();
    fs::rename(disk.path("next"), disk.path("one")).unwrap();
    fs::write(disk.path("last"), "").unwrap();
    let told: Vec<_> = until(&disk, &some, "last").into_keys().collect();
    assert_eq!(told, ["d.rs", "last"]);
    let told: Vec<_> = until(&disk, &one, "one").into_keys().collect();
    assert_eq!(told, ["one"]);
}

/// A watch can't be started on a folder outside of the granted ones, and ends when it is dropped.
#[test]
fn a_watch_stays_in_its_granted_folder() {
    let disk = Disk::new();
    symlink(disk.outside.path(), disk.path("out")).unwrap();
    let refused = begin(&disk, "out", json!({"recursive": true}));
    assert!(
        matches!(refused, Err(RequestFailure::NotGranted { .. })),
        "{refused:?}"
    );
    let missing = begin(&disk, "none", json!({}));
    assert!(
        matches!(missing, Err(RequestFailure::UnknownChannel(_))),
        "{missing:?}"
    );
    let bad = begin(&disk, "", json!({"excludes": {"items": ["[a"]}}));
    assert!(
        matches!(bad, Err(RequestFailure::InvalidParams(_))),
        "{bad:?}"
    );
    let (watch, told) = begin(&disk, "", json!({"recursive": true})).unwrap();
    fs::write(disk.outside.path().join("secret"), "").unwrap();
    fs::write(disk.path("last"), "").unwrap();
    let names: Vec<_> = until(&disk, &told, "last").into_keys().collect();
    assert_eq!(names, ["last"], "links are not followed");
    drop(watch);
    fs::write(disk.path("later"), "").unwrap();
    assert!(told.recv_timeout(Duration::from_secs(10)).is_err());
}

/// Returns the numbers of open inotify instances of this process, and of their watches of a folder.
fn inotify(folder: &std::path::Path) -> (usize, usize) {
    use std::os::unix::fs::MetadataExt;
    let inode = format!(" ino:{:x} ", fs::metadata(folder).unwrap().ino());
    let (mut instances, mut watches) = (0, 0);
    for entry in fs::read_dir("/proc/self/fd").unwrap().flatten() {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        if target.to_str() == Some("anon_inode:inotify") {
            instances += 1;
            let info = std::path::Path::new("/proc/self/fdinfo").join(entry.file_name());
            let info = fs::read_to_string(info).unwrap_or_default();
            watches += info.lines().filter(|line| line.contains(&inode)).count();
        }
    }
    (instances, watches)
}

/// By default, a user has 128 inotify instances for all programs.
#[test]
fn three_hundred_watches_share_one_inotify_instance() {
    let disk = Disk::new();
    let watches: Vec<_> = (0..300)
        .map(|number| {
            let name = format!("folder-{number}");
            fs::create_dir(disk.path(&name)).unwrap();
            begin(&disk, &name, json!({"recursive": number % 2 == 0})).unwrap()
        })
        .collect();
    let (instances, _) = inotify(disk.inside.path());
    assert!((1..=2).contains(&instances), "{instances} instances");
    for number in 0..watches.len() {
        fs::write(disk.path(&format!("folder-{number}/new")), "").unwrap();
    }
    for (number, (_, told)) in watches.iter().enumerate() {
        let name = format!("folder-{number}/new");
        let names: Vec<_> = until(&disk, told, &name).into_keys().collect();
        assert_eq!(names, [name]);
    }
}

#[test]
fn an_ended_watch_releases_unshared_inotify_watches() {
    let disk = Disk::new();
    fs::create_dir_all(disk.path("a/b")).unwrap();
    fs::create_dir(disk.path("other")).unwrap();
    // Keeps the instance open.
    let (_other, _) = begin(&disk, "other", json!({})).unwrap();
    let counts = || ["a", "a/b"].map(|name| inotify(&disk.path(name)).1);
    let (tree, _) = begin(&disk, "a", json!({"recursive": true})).unwrap();
    let (second, _) = begin(&disk, "a", json!({"recursive": true})).unwrap();
    let (flat, told) = begin(&disk, "a", json!({})).unwrap();
    assert_eq!(counts(), [1, 1]);
    drop(tree);
    assert_eq!(counts(), [1, 1]);
    drop(second);
    assert_eq!(counts(), [1, 0]);
    fs::write(disk.path("a/last"), "").unwrap();
    let names: Vec<_> = until(&disk, &told, "a/last").into_keys().collect();
    assert_eq!(names, ["a/last"]);
    drop(flat);
    assert_eq!(counts(), [0, 0]);
}

/// A folder may have content before it is watched, and may be removed and created again: all
/// watches that include it report that.
#[test]
fn new_and_removed_directories_are_tracked() {
    let disk = Disk::new();
    let (_one, one) = begin(&disk, "", json!({"recursive": true})).unwrap();
    let (_two, two) = begin(&disk, "", json!({"recursive": true})).unwrap();
    for round in 0..3 {
        fs::create_dir_all(disk.path("a/b/c")).unwrap();
        fs::write(disk.path("a/b/c/file"), "").unwrap();
        for told in [&one, &two] {
            until(&disk, told, "a/b/c/file");
        }
        fs::write(disk.path("a/b/c/later"), "").unwrap();
        for told in [&one, &two] {
            until(&disk, told, "a/b/c/later");
        }
        let moved = format!("moved-{round}");
        fs::rename(disk.path("a"), disk.path(&moved)).unwrap();
        fs::write(disk.path(&format!("{moved}/b/c/last")), "").unwrap();
        for told in [&one, &two] {
            until(&disk, told, &format!("{moved}/b/c/last"));
        }
        fs::remove_dir_all(disk.path(&moved)).unwrap();
    }
}
